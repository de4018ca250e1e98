"""Effect of a change of a scenario: paired runs with the same seeds, over the uncertainty of a fitted path."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.analysis.dimensions import BITS_PER_SECOND, SECONDS, text_of
from longpipe.analysis.measure import parse_all
from longpipe.errors import ScenarioError
from longpipe.fit.path_file import read
from longpipe.fit.series import FlowSeries, simulated
from longpipe.result import duration_s
from longpipe.run import simulate
from longpipe.scenario import Scenario
from longpipe.units import RATE, TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from longpipe.analysis.measure import Measure, Specification

    Numbers = NDArray[np.float64]

# Share of a run that precedes the measurement of goodput and RTT.
STEADY: Final = 1 / 3
SEEDS: Final = 20
LEAST_SEEDS: Final = 3
# Standard deviations in half of a 95 % interval.
_NORMAL: Final = 1.96


@dataclass(frozen=True)
class ComparedMeasure:
    """One measure of the baseline, of the changed scenario, and their difference: (mean, half of the 95 % interval).

    `observed` is the captured flow's value, None without estimates. `runs` is the 95 % prediction interval of a
    single changed run under a normal distribution.
    """

    name: str
    unit: str
    observed: float | None
    baseline: tuple[float, float]
    changed: tuple[float, float]
    difference: tuple[float, float]
    runs: tuple[float, float]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The effect of a change. `estimates` are those of `longpipe fit`, None for a scenario that was not fitted."""

    scenario: Scenario
    changes: Mapping[str, object]
    seeds: int
    measures: tuple[ComparedMeasure, ...]
    baseline: FlowSeries
    changed: FlowSeries
    estimates: Mapping[str, Any] | None


def whatif(
    path: Path,
    changes: Mapping[str, object],
    seeds: int = SEEDS,
    measures: Iterable[Specification] = (),
    progress: Callable[[float], None] = lambda done: None,
) -> WhatIf:
    """Runs the scenario of a file with and without changes, `seeds` times each.

    `measures` are measured in addition to goodput, RTT and losses, in the format of `Design.measures`.

    If estimates of `longpipe fit` are next to the file, each pair of runs draws rate, RTT, buffer and loss from their
    intervals, so that the result's intervals include the uncertainty of the fit.
    """
    if not changes:
        raise ScenarioError("--set: missing; accepts FIELD=VALUE, as in tcp.congestion=bbr3")
    if seeds < LEAST_SEEDS:
        raise ScenarioError(f"--seeds: {seeds}; needs at least {LEAST_SEEDS}")
    scenario = Scenario.from_toml(path)
    changed = scenario.with_(**changes)
    asked = parse_all(measures)
    for measure in asked:
        measure.check(scenario)
        measure.check(changed)
    fitted = read(path)
    random = np.random.default_rng(0)
    draws = [_drawn(scenario, fitted, random) if fitted else {} for _ in range(seeds)]
    draws[0] = {}
    traced = {"traces.sequence": True, "traces.rtt": True}
    unit = "packets" if scenario.framing == "ip" else "cells"

    def both(seed: int) -> tuple[FlowSeries, FlowSeries, dict[str, float], dict[str, float]]:
        pair = []
        for more in ({}, changes):
            one = scenario.with_(**{**draws[seed], **traced, **more})
            result = simulate(one, seed=seed)
            own = {measure.name: measure(result) / _unit(measure)[1] for measure in asked}
            pair.append((simulated(result, duration_s(one)), _measures(result, unit) | own))
        (first, before), (second, after) = pair
        return first, second, before, after

    found = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for one in pool.map(both, range(seeds)):
            found.append(one)
            progress(len(found) / seeds)
    seen = _observed(fitted) if fitted else {}
    compared = tuple(
        _measure(name, of, seen.get(name), [one[2][name] for one in found], [one[3][name] for one in found])
        for name, of in (
            *(("goodput", "bit/s"), ("median RTT", "s"), ("losses", unit)),
            *((measure.name, _unit(measure)[0]) for measure in asked),
        )
    )
    return WhatIf(scenario, dict(changes), seeds, compared, found[0][0], found[0][1], fitted)


def _unit(measure: Measure) -> tuple[str, float]:
    """Returns the unit of a measure's values in results, bit/s or s for a rate or a time, and its divisor."""
    if measure.dimension in (BITS_PER_SECOND, SECONDS):
        return text_of(measure.dimension), 1 / measure.factor
    return measure.unit, measure.scale


def _measures(result: Any, unit: str) -> dict[str, float]:  # noqa: ANN401 - a result
    columns = result.part("traces")
    rtt, sequence = columns["rtt"], columns["sequence"]
    end = duration_s(result.scenario)
    begin = end * STEADY
    event, times = np.asarray(sequence["event"]), np.asarray(sequence["time_s"])
    flow = np.asarray(sequence["flow"])
    moved = 0.0
    for number in np.unique(flow):
        acks = (event == 1) & (flow == number)
        progress = np.maximum.accumulate(np.asarray(sequence["sequence_bytes"], dtype=float)[acks])
        if len(progress):
            before = np.searchsorted(times[acks], begin, side="right") - 1
            moved += progress[-1] - (progress[before] if before >= 0 else 0.0)
    samples, at = np.asarray(rtt["rtt_s"], dtype=float), np.asarray(rtt["time_s"])
    late = samples[(at > begin) & ~np.isnan(samples)]
    ports = result.ports
    lost = sum(float(ports[name].sum()) for name in ports.columns if name.startswith(f"{unit}_lost_"))
    return {
        "goodput": 8 * moved / (end - begin),
        "median RTT": float(np.median(late)) if len(late) else float("nan"),
        "losses": lost,
    }


def _observed(fitted: Mapping[str, Any]) -> dict[str, float]:
    """Returns the measures of the captured flow."""
    series = {name: np.array(values, dtype=float) for name, values in fitted["series"].items()}
    # A short series needs a first point: at the start, nothing was delivered.
    time, moved = (np.append(0.0, series[name]) for name in ("time_s", "delivered_bytes"))
    late = time > STEADY * time[-1]
    first = int(np.argmax(late)) - 1
    goodput = 8 * (moved[-1] - moved[first]) / (time[-1] - time[first])
    return {
        "goodput": float(goodput),
        "median RTT": float(np.nanmedian(series["rtt_s"][late[1:]])),
        "losses": float(len(series["lost_s"])),
    }


def _measure(name: str, unit: str, observed: float | None, before: list[float], after: list[float]) -> ComparedMeasure:
    from scipy.stats import t

    one, other = np.array(before), np.array(after)
    count = len(one)
    deviations = float(t.ppf(0.975, count - 1))
    factor = deviations / count**0.5
    # Quantiles of a few runs would be exceeded by more than 5 % of further ones.
    half = deviations * float(other.std(ddof=1)) * (1 + 1 / count) ** 0.5
    low, high = max(float(other.mean()) - half, 0.0), float(other.mean()) + half

    def mean(values: Numbers) -> tuple[float, float]:
        return float(values.mean()), factor * float(values.std(ddof=1))

    return ComparedMeasure(name, unit, observed, mean(one), mean(other), mean(other - one), (low, high))


def _drawn(scenario: Scenario, fitted: Mapping[str, Any], random: np.random.Generator) -> dict[str, object]:
    """Returns fields with values from the estimates' intervals, normally distributed about the file's values."""
    network: Any = scenario.network
    if network.kind != "dumbbell":
        return {}
    rows = fitted["estimates"]
    changes: dict[str, object] = {}
    rate, delay = _near(rows.get("rate"), random), _near(rows.get("base RTT"), random)
    longer_ps = delay * rows["base RTT"]["value"] * 1e12 if delay else 0.0
    if rate:
        changes["network.trunk_rate"] = _scaled(network.trunk_rate, 1 + rate)
    if delay:
        changes["network.trunk_delay"] = _shifted(network.trunk_delay, longer_ps)
    # Over time, the delays and rates of the series replace those of the trunk.
    if getattr(network.path, "kind", "") == "moving" and (rate or delay):
        path = network.path.model_dump(exclude_unset=True)
        if network.path.rate:
            path["rate"] = [[at, _scaled(step, 1 + rate)] for at, step in network.path.rate]
        if network.path.delay:
            path["delay"] = [[at, _shifted(step, longer_ps)] for at, step in network.path.delay]
        changes["network.path"] = path
    buffer = _near(rows.get("buffer"), random)
    if buffer:
        changes["switch.buffer"] = f"{max(1, round(rows['buffer']['value'] * (1 + buffer)))} packets"
    loss = _near(rows.get("loss"), random)
    if loss and getattr(network.trunk_loss, "kind", "") == "bernoulli":
        changes["network.trunk_loss.probability"] = max(0.0, network.trunk_loss.probability * (1 + loss))
    return changes


def _scaled(rate: str, factor: float) -> str:
    return f"{max(1, round(RATE.parse(rate) * factor))} bit/s"


def _shifted(delay: str, by_ps: float) -> str:
    return f"{max(0, round(TIME.parse(delay) + by_ps))} ps"


def _near(row: Mapping[str, Any] | None, random: np.random.Generator) -> float:
    """Returns a relative deviation drawn from an estimate's interval; 0 if the estimate has no interval."""
    if not row or row.get("low") is None or row.get("high") is None or not row["value"]:
        return 0.0
    deviation = (row["high"] - row["low"]) / (2 * _NORMAL) / row["value"]
    return float(random.normal(0.0, deviation))
