"""Distances between the measured quartiles of WetLinks and two paths: the Starlink path, and an example before it.

Only the quartiles of the measured distributions are known. The Kolmogorov-Smirnov distance is the greatest difference
of the distribution functions at the measured quartiles; the Wasserstein distance is the mean absolute difference of the
quartiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from longpipe import Scenario
from longpipe.scenario.paths import trunk
from longpipe_evidence.validate.starlink import PAYLOAD, PS, TEST_S, Effort, drawn_tests

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    Numbers = npt.NDArray[np.float64]

FILE: Final = Path("tests/data/starlink/before.toml")
_SHARES: Final = (0.25, 0.5, 0.75)
_UNITS: Final = {"down": "Mbit/s", "up": "Mbit/s", "bent-pipe": "ms"}
# Time between values of a mean over a test [s], and number of tests of the example.
_STEP_S: Final = 0.01
_TESTS: Final = 1000


class Distance(NamedTuple):
    """Distances to the measured quartiles of a quantity: of the example, and of the Starlink path."""

    quantity: str
    unit: str
    kolmogorov_smirnov: tuple[float, ...]
    wasserstein: tuple[float, ...]


def distances(rows: pd.DataFrame, effort: Effort, file: Path = FILE) -> list[Distance]:
    """Returns the distances of the example in a file and of the Starlink path to the measured quartiles."""
    measured = rows.set_index("id")["value"]
    tests = [test for batch in range(effort.batches) for test in drawn_tests(batch, effort.tests)]
    rtts = np.array([test.rtt_ms for test in tests])
    starlink = {
        "down": np.array([test.down.mean() for test in tests]), "up": np.array([test.up.mean() for test in tests]),
        "bent-pipe": rtts[~np.isnan(rtts)],
    }  # fmt: skip
    example = _values_of_example(Scenario.from_toml(file.read_text(encoding="utf-8")))
    distances_of_quantities = []
    for name, unit in _UNITS.items():
        quartiles = np.array([measured[f"{name}-p{share:.0%}".rstrip("%")] for share in _SHARES])
        paths = example[name], starlink[name]
        kolmogorov_smirnov = tuple(_kolmogorov_smirnov(values, quartiles) for values in paths)
        wasserstein = tuple(_wasserstein(values, quartiles) for values in paths)
        distances_of_quantities.append(Distance(name, unit, kolmogorov_smirnov, wasserstein))
    return distances_of_quantities


def _kolmogorov_smirnov(values: Numbers, quartiles: Numbers) -> float:
    reached = np.searchsorted(np.sort(values), quartiles, side="right") / len(values)
    return float(np.abs(reached - _SHARES).max())


def _wasserstein(values: Numbers, quartiles: Numbers) -> float:
    return float(np.abs(np.quantile(values, _SHARES) - quartiles).mean())


def _values_of_example(scenario: Scenario) -> Mapping[str, Numbers]:
    """Returns mean rates [Mbit/s] and RTTs [ms] of tests at random times of a scenario whose paths change in steps."""
    resolved = scenario.resolve()
    links = [resolved["links"][trunk(resolved, back=back)] for back in (False, True)]
    end = max(rate[0] for link in links for rate in link["motion"]["service"]["steps"]) / PS
    random = Random("example")  # noqa: S311 - a simulation
    times = np.array([random.uniform(0, end - TEST_S) for _ in range(_TESTS)])[:, None] + np.arange(0, TEST_S, _STEP_S)

    def values_at_times(steps: Iterable[Sequence[float]]) -> Numbers:
        begins, values = np.array(list(steps), dtype=float).T
        at_times: Numbers = values[np.searchsorted(begins / PS, times, side="right") - 1]
        return at_times

    losses = values_at_times(links[0]["loss"]["steps_ps"])
    rates = [values_at_times(link["motion"]["service"]["steps"]) * PAYLOAD / 1e6 for link in links]
    delays = [values_at_times(link["motion"]["delay"]["knots_ps"]) / PS * 1e3 for link in links]
    return {
        "down": (rates[0] * (1 - losses)).mean(axis=1), "up": rates[1].mean(axis=1),
        "bent-pipe": (delays[0] + delays[1]).mean(axis=1),
    }  # fmt: skip
