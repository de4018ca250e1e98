"""Data from textbook examples of designed experiments, as data frames."""

from itertools import product

import pandas as pd


def two_level(factors: str, responses: list[float], replications: int = 1) -> pd.DataFrame:
    """Returns points in standard order: the first factor changes fastest, and replications of a point are consecutive."""
    points = [dict(zip(factors, reversed(levels), strict=True)) for levels in product((-1, 1), repeat=len(factors))]
    rows = [point for point in points for _ in range(replications)]
    return pd.DataFrame(rows).assign(y=[float(y) for y in responses])


# Jain 1991, section 17.2: performance [MIPS] of a workstation by memory size and cache size.
MEMORY_CACHE = two_level("ab", [15, 45, 25, 75])
# Jain 1991, example 18.1: the same experiment with three replications.
MEMORY_CACHE_REPLICATED = two_level("ab", [15, 18, 12, 45, 48, 51, 25, 28, 19, 75, 75, 81], 3)

# Jain 1991, example 19.1: a 2^(7-4) design, D = AB, E = AC, F = BC, G = ABC.
SEVEN_IN_EIGHT = two_level("abc", [20, 35, 7, 42, 36, 50, 45, 82]).assign(
    d=lambda x: x.a * x.b, e=lambda x: x.a * x.c, f=lambda x: x.b * x.c, g=lambda x: x.a * x.b * x.c
)

# Jain 1991, example 20.1: code size [bytes] on three processors.
CODE_SIZE = pd.DataFrame(
    {
        "processor": ["R"] * 5 + ["V"] * 5 + ["Z"] * 5,
        "y": [144.0, 120, 176, 288, 144, 101, 144, 211, 288, 72, 130, 180, 141, 374, 302],
    }
)

# Jain 1991, example 21.1: time [ms] of five workloads with two caches, one cache and no cache.
CACHES = pd.DataFrame(
    [
        {"workload": workload, "caches": caches, "y": y}
        for workload, times in {
            "ASM": (54.0, 55.0, 106.0),
            "TECO": (60.0, 60.0, 123.0),
            "SIEVE": (43.0, 43.0, 120.0),
            "DHRYSTONE": (49.0, 52.0, 111.0),
            "SORT": (49.0, 50.0, 108.0),
        }.items()
        for caches, y in zip(("two", "one", "none"), times, strict=True)
    ]
)

# Montgomery, Design and Analysis of Experiments, table 5.1: battery life [h] by material and temperature [°F].
BATTERY = pd.DataFrame(
    [
        {"material": material, "temperature": temperature, "y": float(life)}
        for (material, temperature), lives in {
            (1, 15): (130, 155, 74, 180),
            (1, 70): (34, 40, 80, 75),
            (1, 125): (20, 70, 82, 58),
            (2, 15): (150, 188, 159, 126),
            (2, 70): (136, 122, 106, 115),
            (2, 125): (25, 70, 58, 45),
            (3, 15): (138, 110, 168, 160),
            (3, 70): (174, 120, 150, 139),
            (3, 125): (96, 104, 82, 60),
        }.items()
        for life in lives
    ]
)
# The data without four values, in R: d <- data.frame(y, m, t)[-c(1, 2, 17, 36), ].
BATTERY_UNBALANCED = BATTERY.drop(index=[0, 1, 16, 35])

# Montgomery, table 3.1: etch rate by power [W].
ETCHING = pd.DataFrame(
    {
        "power": [160] * 5 + [180] * 5 + [200] * 5 + [220] * 5,
        "y": [575.0, 542, 530, 539, 570, 565, 593, 590, 579, 610, 600, 651, 610, 637, 629, 725, 700, 715, 685, 710],
    }
)

# Montgomery, table 4.3: yield of vascular grafts [%] by pressure [psi], with batches of resin as blocks.
GRAFTS = pd.DataFrame(
    [
        {"pressure": pressure, "batch": batch, "y": y}
        for pressure, yields in {
            8500: (90.3, 89.2, 98.2, 93.9, 87.4, 97.9),
            8700: (92.5, 89.5, 90.6, 94.7, 87.0, 95.8),
            8900: (85.5, 90.8, 89.6, 86.2, 88.0, 93.4),
            9100: (82.5, 89.5, 85.6, 87.4, 78.9, 90.7),
        }.items()
        for batch, y in enumerate(yields, 1)
    ]
)

# Montgomery, table 6.10: filtration rate in an unreplicated 2^4 design.
FILTRATION = two_level("abcd", [45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96])
# Montgomery, example 8.1: half of this design, with D = ABC.
FILTRATION_HALF = FILTRATION[FILTRATION.a * FILTRATION.b * FILTRATION.c == FILTRATION.d]
