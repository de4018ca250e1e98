"""Random paths whose bottleneck is CAKE, for comparisons of Linux's sch_cake with longpipe's `cake`."""

from random import Random
from typing import Final

from longpipe_evidence.validate.linux import LinuxCase, LinuxControl, LinuxFlow

PATHS: Final = 16
# Number of runs of each path, whose means are compared, because single packets decide some of the results.
SEEDS: Final = 3
MAX_FLOWS: Final = 8
# Controls of which each flow draws one; BBR is drawn for a fifth of the flows.
CONTROLS: Final[tuple[LinuxControl, ...]] = ("cubic", "reno", "cubic", "reno", "bbr")
# CAKE's overhead options: for Ethernet, for ADSL with PPPoE and LLC/SNAP, and for VDSL with PPPoE.
FRAMINGS: Final = ("raw", "overhead 40 atm", "overhead 30 ptm")
# DSCPs of CAKE's tins for bulk, best effort, video and voice.
DSCPS: Final = (8, 0, 34, 46)


def draw_cake(number: int) -> LinuxCase:
    """Draws a path with CAKE: 2 to 50 Mbit/s, 10 to 200 ms, and one to eight flows that use CUBIC, Reno or BBR.

    Paths with odd numbers have ECN, and half of the paths, drawn at random, have four tins.
    """
    random = Random(f"cake path {number}")  # noqa: S311 - not used for cryptography

    def log_uniform(low: float, high: float) -> float:
        return float(low * (high / low) ** random.random())

    rate_kbps, round_trip_ms = round(log_uniform(2e3, 50e3), -2), log_uniform(10, 200)
    has_tins = random.random() < 1 / 2
    words = [
        f"cake bandwidth {rate_kbps:.0f}kbit",
        "diffserv4" if has_tins else "besteffort",
        random.choice(("flows", "triple-isolate")),
        random.choice(FRAMINGS),
    ]
    flows = tuple(
        LinuxFlow(
            control=random.choice(CONTROLS),
            start=f"{flow / 2:g} s",
            dscp=random.choice(DSCPS) if has_tins else 0,
        )
        for flow in range(random.randint(1, MAX_FLOWS))
    )
    return LinuxCase(
        rate=f"{rate_kbps:.0f} kbit/s",
        round_trip=f"{round_trip_ms:.0f} ms",
        discipline=" ".join(words),
        ecn=number % 2 == 1,
        flows=flows,
        duration="30 s",
    )
