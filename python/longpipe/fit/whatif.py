"""Effect of a change to a scenario: paired runs with the same random numbers, over paths that fit a capture."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.analysis.intervals import CONFIDENCE, deviation, estimate
from longpipe.analysis.quantiles import t_quantile
from longpipe.errors import ScenarioError
from longpipe.fit.draws import drawn
from longpipe.fit.model_error import GOODPUT, MEDIAN_RTT, model_error
from longpipe.fit.path_file import read
from longpipe.fit.series import TRACES, FlowSeries, simulated
from longpipe.fit.steady import STEADY, deviation_line, goodput_bps
from longpipe.measures.dimensions import BITS_PER_SECOND, SECONDS, text_of
from longpipe.measures.measure import parse_all
from longpipe.metrics.warm_up import begin_s
from longpipe.result import duration_s
from longpipe.run import simulate
from longpipe.scenario import Scenario
from longpipe.scenario.starlink import MAX_SEEDS as MAX_STARLINK_SEEDS
from longpipe.scenario.starlink_paths import has_starlink, with_starlink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from longpipe.measures.measure import Measure, Specification
    from longpipe.result import Result

    Numbers = NDArray[np.float64]

# Number of pairs of runs. At least 39 are needed for their minimum and maximum to enclose a further run with a
# probability of 95 %; with fewer, a normal distribution is assumed.
SEEDS: Final = 40
MIN_WITHOUT_DISTRIBUTION: Final = 39
MIN_SEEDS: Final = 3
# Names of the measures that each comparison has.
STANDARD: Final = (GOODPUT, MEDIAN_RTT, "losses")
# Probability of a value below a two-sided 95 % interval.
_TAIL: Final = (1 - CONFIDENCE) / 2


@dataclass(frozen=True)
class ComparedMeasure:
    """One measure in the baseline and changed scenarios, and the difference: (mean, half-width of the 95 % interval).

    The intervals of `baseline`, `changed` and `difference` enclose the mean over many runs on the path that was
    captured. If the rate is only a lower bound, that of a changed goodput is infinite, and the mean is a lower bound.
    `runs` is the 95 % prediction interval of one changed run. `observed` is the captured flow's value, None if there
    are no estimates.
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
    """The effect of a change. `estimates` are those of `longpipe fit`, None for a scenario that was not fitted.

    `baseline` and `changed` are a flow in a pair of runs of the scenario in the file, the first of `flows`. The goodput
    is the sum over `flows`, and the median RTT is that of all their samples; flows of other kinds, such as arriving
    ones, are not traced. `begin_s` is the time from which both are measured: the scenario's warm-up, or None for a
    third of the run. Warm-ups of fitted scenarios have no effect, because those of captures are unknown.
    """

    scenario: Scenario
    changes: Mapping[str, object]
    seeds: int
    measures: tuple[ComparedMeasure, ...]
    baseline: FlowSeries
    changed: FlowSeries
    estimates: Mapping[str, Any] | None
    flows: tuple[str, ...]
    begin_s: float | None

    @property
    def added_measures(self) -> tuple[ComparedMeasure, ...]:
        """The measures in addition to goodput, median RTT and losses."""
        return self.measures[len(STANDARD) :]


@dataclass(frozen=True)
class _TracedRun:
    """One run: its measures by name, and the time [s] from which they count (None for a third of the run).

    Only the runs of the picture have `series`, of the first traced flow, and the names of all traced `flows`.
    """

    values: dict[str, float]
    begin_s: float | None
    series: FlowSeries | None = None
    flows: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class _Experiment:
    """The pairs of runs of a comparison; pair `n` has the seed `n`, and the scenario `bases[n]` changed by `paths[n]`.

    `unit` is that of losses at all ports. It is None for a fitted path, of which the first flow is measured, because
    the other flows of the capture are a part of its path. `pictured` is the number of the pair for the picture.
    """

    bases: Sequence[Scenario]
    paths: Sequence[Mapping[str, object]]
    changes: Mapping[str, object]
    measures: Sequence[Measure]
    unit: str | None
    pictured: int

    def run_pairs(self, progress: Callable[[float], None]) -> list[tuple[_TracedRun, _TracedRun]]:
        """Runs all pairs in threads; `progress` receives the share of them that has been run."""
        replications: list[tuple[_TracedRun, _TracedRun]] = []
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for replication in pool.map(self._run_pair, range(len(self.paths))):
                replications.append(replication)
                progress(len(replications) / len(self.paths))
        return replications

    def _run_pair(self, number: int) -> tuple[_TracedRun, _TracedRun]:
        """Runs a pair: without the changes, and with them."""
        return self._run(number, {}), self._run(number, self.changes)

    def _run(self, number: int, settings: Mapping[str, object]) -> _TracedRun:
        is_fitted = self.unit is None
        traced = self.bases[number].with_(**self.paths[number], **TRACES).with_(**settings)
        result = simulate(traced, seed=number)
        added = {measure.name: measure(result) / _unit(measure)[1] for measure in self.measures}
        flow_numbers = [int(k) for k in np.unique(result.part("traces")["sequence"]["flow"])]
        flow_numbers = flow_numbers[:1] if is_fitted else flow_numbers
        flows = [simulated(result, duration_s(traced), k) for k in flow_numbers]
        begin = None if is_fitted else begin_s(result.columns) or None
        values = _measures(result, flows, self.unit, begin) | added
        if number != self.pictured:
            return _TracedRun(values, begin)
        names = [traced.resolved["flows"][k]["name"] for k in flow_numbers]
        return _TracedRun(values, begin, flows[0] if flows else simulated(result, duration_s(traced)), names)


def whatif(
    path: Path,
    changes: Mapping[str, object],
    seeds: int = SEEDS,
    measures: Iterable[Specification] = (),
    progress: Callable[[float], None] = lambda done: None,
) -> WhatIf:
    """Runs the scenario in a file with and without changes, `seeds` times each.

    `measures` are measured in addition to goodput, RTT and losses, in the format of `Design.measures`.

    If estimates of `longpipe fit` are next to the file, each pair of runs draws rate, RTT, buffer and loss from their
    posterior distributions (`longpipe.fit.draws`), and is repeated with other random numbers over the same drawn path,
    which separates the uncertainty of the path from the variation between runs. The intervals of goodput and median RTT
    also include longpipe's own errors (`longpipe.fit.model_error`). Over a Starlink path, each pair has other
    satellites.
    """
    if not changes:
        raise ScenarioError("--set: missing; accepts FIELD=VALUE, as in tcp.congestion=bbr3")
    if seeds < MIN_SEEDS:
        raise ScenarioError(f"--seeds: {seeds}; needs at least {MIN_SEEDS}")
    scenario = Scenario.from_toml(path)
    changed_scenario = scenario.with_(**changes)
    added_measures = parse_all(measures)
    for measure in added_measures:
        measure.check(scenario)
        measure.check(changed_scenario)
    fitted = read(path)
    random = np.random.default_rng(0)
    draws = [drawn(scenario, fitted, random) if fitted else {} for _ in range(seeds)]
    # The random numbers of a pair depend on its position in this list. The draws are followed by their repeats, and by
    # the pair for the picture.
    pairs = [*draws, *draws, {}] if fitted else draws
    pictured = len(pairs) - 1 if fitted else 0
    unit = "packets" if scenario.framing == "ip" else "cells"
    bases = [_with_other_satellites(scenario, number) for number in range(len(pairs))]
    experiment = _Experiment(bases, pairs, changes, added_measures, None if fitted else unit, pictured)
    replications = experiment.run_pairs(progress)
    observed = _observed(fitted) if fitted else {}
    counted = replications[: 2 * seeds] if fitted else replications
    before, after = [unchanged.values for unchanged, _ in counted], [changed.values for _, changed in counted]

    def columns(values: list[dict[str, float]], name: str) -> Numbers:
        """Returns a measure's values, with a row for each repeat and a column for each draw."""
        return np.array([measured[name] for measured in values]).reshape(-1, seeds)

    compared_with = (scenario, changed_scenario) if fitted else None
    is_same_control = scenario.tcp.congestion.kind == changed_scenario.tcp.congestion.kind

    def compare(name: str, unit_of_measure: str) -> ComparedMeasure:
        both_settings = columns(before, name), columns(after, name)
        errors = _errors(name, compared_with)
        measure = _measure(name, unit_of_measure, observed.get(name), *both_settings, errors, is_same_control)
        return _unbounded(measure, fitted)

    compared = tuple(
        compare(name, unit_of_measure)
        for name, unit_of_measure in (
            *zip(STANDARD, ("bit/s", "s", unit), strict=True),
            *((measure.name, _unit(measure)[0]) for measure in added_measures),
        )
    )
    baseline_run, changed_run = replications[pictured]
    assert baseline_run.series is not None and changed_run.series is not None  # noqa: PT018, S101 - runs of the picture
    return WhatIf(
        scenario=scenario,
        changes=dict(changes),
        seeds=seeds,
        measures=compared,
        baseline=baseline_run.series,
        changed=changed_run.series,
        estimates=fitted,
        flows=tuple(dict.fromkeys((*baseline_run.flows, *changed_run.flows))),
        begin_s=baseline_run.begin_s,
    )


def _with_other_satellites(scenario: Scenario, number: int) -> Scenario:
    """Returns the scenario with Starlink paths, if it has any, whose seeds are greater by a number."""
    if not has_starlink(scenario):
        return scenario
    return with_starlink(
        scenario, lambda path: path.model_copy(update={"seed": (path.seed + number) % MAX_STARLINK_SEEDS})
    )


def doubts(comparison: WhatIf) -> Iterator[str]:
    """Yields a line for each reason why differences, or predictions from a fitted path, may be wrong."""
    for name in ("duration", "warm_up"):
        if name in comparison.changes:
            yield f"--set {name}: only one run of each pair has it, so that both are measured at different times"
    if comparison.estimates is None:
        return
    yield from comparison.estimates.get("doubts", ())
    for measure in comparison.measures:
        if line := deviation_line(measure.name, measure.observed, measure.baseline):
            yield line


def _unit(measure: Measure) -> tuple[str, float]:
    """Returns the unit of a measure's values in results (bit/s for a rate, s for a time), and its divisor."""
    if measure.dimension in (BITS_PER_SECOND, SECONDS):
        return text_of(measure.dimension), 1 / measure.factor
    return measure.unit, measure.scale


def _measures(result: Result, flows: list[FlowSeries], unit: str | None, begin: float | None) -> dict[str, float]:
    """Returns the measures of a run. Goodput and RTT are NaN if no TCP flow was traced, as for arriving flows.

    Losses are packets or cells (`unit`) at all ports or, without a unit, packets of `flows`.
    """
    ports = result.ports
    lost = sum(float(ports[name].sum()) for name in ports.columns if name.startswith(f"{unit}_lost_"))
    if unit is None:
        lost = float(sum(flow.lost for flow in flows))
    return {
        GOODPUT: sum(goodput_bps(flow.grid, flow.delivered, begin_s=begin) for flow in flows) if flows else math.nan,
        MEDIAN_RTT: _median_rtt([(flow.grid, flow.rtt) for flow in flows], begin),
        "losses": lost,
    }


def _observed(fitted: Mapping[str, Any]) -> dict[str, float]:
    """Returns the measures of the captured flow."""
    series = {name: np.array(values, dtype=float) for name, values in fitted["series"].items()}
    return {
        GOODPUT: goodput_bps(series["time_s"], series["delivered_bytes"]),
        MEDIAN_RTT: _median_rtt([(series["time_s"], series["rtt_s"])]),
        "losses": float(len(series["lost_s"])),
    }


def _median_rtt(flows: list[tuple[Numbers, Numbers]], begin: float | None = None) -> float:
    """Returns the median over time of the latest RTT [s] of flows, each with its times; NaN without any."""
    late = [rtt_s[time_s > (STEADY * time_s[-1] if begin is None else begin)] for time_s, rtt_s in flows]
    samples = [rtt_s[~np.isnan(rtt_s)] for rtt_s in late]
    return float(np.median(np.concatenate(samples))) if any(map(len, samples)) else math.nan


def _measure(
    name: str,
    unit: str,
    observed: float | None,
    unchanged: Numbers,
    after: Numbers,
    errors: tuple[float, float],
    is_same_control: bool,
) -> ComparedMeasure:
    """Compares the values of pairs of runs, with a column for each draw of the path and a row for each repeat.

    `errors` are the relative model errors of both settings. With the same control, both results are wrong by the same
    factor, and so is their difference.
    """
    (baseline, baseline_width), (changed, changed_width) = mean_of_path(unchanged), mean_of_path(after)
    difference, difference_width = mean_of_path(after - unchanged)
    model_errors = errors[0] * baseline, errors[1] * changed
    low, high = single_run(after[0])
    return ComparedMeasure(
        name,
        unit,
        observed,
        (baseline, math.hypot(baseline_width, model_errors[0])),
        (changed, math.hypot(changed_width, model_errors[1])),
        (difference, math.hypot(difference_width, *((errors[0] * difference,) if is_same_control else model_errors))),
        (low * (1 - errors[1]), high * (1 + errors[1])),
    )


def _errors(name: str, scenarios: tuple[Scenario, Scenario] | None) -> tuple[float, float]:
    """Returns the relative model errors of a measure in the baseline and the changed scenario; 0 without scenarios."""
    return (model_error(scenarios[0], name), model_error(scenarios[1], name)) if scenarios else (0.0, 0.0)


def _unbounded(measure: ComparedMeasure, fitted: Mapping[str, Any] | None) -> ComparedMeasure:
    """Removes the ends of intervals that the estimates do not determine.

    These are all ends if other flows, which the path lacks, may have changed the captured one, and the upper ends of
    the changed goodput if the estimated rate is a lower bound.
    """
    rate = fitted["estimates"].get("rate") if fitted else None
    (baseline, _), (changed, _), (difference, _) = measure.baseline, measure.changed, measure.difference
    if fitted and not fitted.get("is_bounded", True):
        return replace(
            measure, baseline=(baseline, math.nan), changed=(changed, math.nan), difference=(difference, math.nan),
            runs=(math.nan, math.nan),
        )  # fmt: skip
    if measure.name != GOODPUT or rate is None or rate.get("high") is not None:
        return measure
    return replace(
        measure, changed=(changed, math.inf), difference=(difference, math.inf), runs=(measure.runs[0], math.inf)
    )


def mean_of_path(values: Numbers) -> tuple[float, float]:
    """Returns the mean, and the half-width of the 95 % interval of the mean over many runs on the captured path.

    `values` has a column for each draw of the path, and a row for each repeat over it. The variance of the path's mean
    is the variance between draws (analysis of variance of a random effect) plus that variance's standard error, because
    too few runs can hide it; the variance of the simulated mean is added. If there is only one row, the path is known,
    and all variance is between runs.
    """
    repeats, count = values.shape
    means = values.mean(axis=0)
    between = deviation(means) ** 2
    of_path = 0.0
    if repeats > 1:
        within = float(values.var(axis=0, ddof=1).mean()) / repeats
        error = math.sqrt(2 * (between**2 / (count - 1) + within**2 / (count * (repeats - 1))))
        of_path = max(between - within, 0.0) + error
    return float(means.mean()), t_quantile(CONFIDENCE, count - 1) * math.sqrt(of_path + between / count)


def single_run(values: Numbers) -> tuple[float, float]:
    """Returns the 95 % prediction interval for one further run, from independent runs.

    Two order statistics of n runs enclose a further run with a probability of 1 - 2k/(n+1), for any distribution, where
    k is the rank of each end. With fewer than 39 runs, this probability is below 95 %, and a normal distribution is
    assumed (Student's t).
    """
    count = len(values)
    rank = math.floor(_TAIL * (count + 1) + 1e-9)
    if rank:
        ordered = np.sort(values)
        return float(ordered[rank - 1]), float(ordered[-rank])
    interval = estimate(values, (0.0, math.inf))
    return interval.low, interval.high
