"""Processor time of a design, measured on first runs of some of its points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from longpipe.design import cost
from longpipe.scenario.module import modules_of
from longpipe.scenario.stack import VERSIONS
from longpipe.store import pack

if TYPE_CHECKING:
    from longpipe.design.design import Design
    from longpipe.executors import Job
    from longpipe.result import Result
    from longpipe.scenario import Scenario
    from longpipe.store import Packed, Store

# Processor time of the first runs together, and of each of them [s], and the most runs of a point.
WITHIN_S: Final = 3.0
LONGEST_S: Final = 0.7
MAX_REPLICATIONS: Final = 3
# Share of the time of a study for which the first runs may take, because they are executed one after another.
SHARE: Final = 0.1
# Places of successive points in the list of points have this distance, modulo 1, so that few of them cover the list.
_GOLDEN: Final = 0.6180339887


class Measured(NamedTuple):
    """Processor time of a run: of the whole run, and the part of it that was spent before the run was stopped [s]."""

    cpu_s: float
    spent_s: float

    @property
    def is_whole(self) -> bool:
        """Returns whether the run ended, so that no part of its time is extrapolated."""
        return self.spent_s >= self.cpu_s


def measured_cost(design: Design) -> cost.Cost | None:
    """Returns the cost of a design, with its processor time measured on first runs.

    Returns None if other processes do a part of the work.
    """
    # Imported here because the database takes longer to load than a design.
    from longpipe.store import Store

    if any(map(_runs_programs, design.scenarios)):
        return None
    with closing(Store()) as store:
        return extrapolated(design, lambda job, most_s: measured_run(job, most_s, store.keep))


def study_cost(store: Store, design: Design, memory: str | None = None) -> cost.Cost | None:
    """Returns the cost of a design that is a study in `store`, measured on its runs, which the store keeps.

    Runs that this machine has stored count with their durations. The measurement takes at most `SHARE` of the estimated
    time. `memory` limits each run. Returns None if other processes do a part of the work, or if a run fails.
    """
    if any(map(_runs_programs, design.scenarios)):
        return None
    seeds: list[list[int]] = [[] for _ in design.points]
    for run in design.runs():
        seeds[run.point - 1].append(run.seed)
    candidates = [
        (scenario, seed)
        for scenario, of_point in zip(design.scenarios, seeds, strict=True)
        for seed in of_point[:MAX_REPLICATIONS]
    ]
    stored_seconds = store.durations(candidates)
    kept: list[tuple[Job, Packed]] = []

    def measure(job: Job, most_s: float) -> Measured:
        scenario, seed = job
        if (stored_s := stored_seconds.get((scenario.digest(), str(seed)))) is not None:
            return Measured(stored_s, stored_s)
        return measured_run(job, most_s, lambda result, seconds: kept.append((job, pack(result, seconds))), memory)

    try:
        return extrapolated(design, measure, seeds, SHARE)
    except Exception:
        # The campaign reports the same failure, beside the results of other runs.
        return None
    finally:
        if kept:
            store.save_all(list({(job[0].digest(), job[1]): (job, packed) for job, packed in kept}.values()))


def extrapolated(
    design: Design,
    measure: Callable[[Job, float], Measured],
    seeds: Sequence[Sequence[int]] | None = None,
    share: float = math.inf,
) -> cost.Cost:
    """Returns the cost of a design from the processor time that `measure` returns for runs of some points.

    `measure` stops a run after the given processor time [s]. The estimate of the design (`cost.cpu_s`) is multiplied by
    the ratio of measured to estimated time of these runs. `seeds` are those of each point; by default, each measured
    run has a seed of its own. The runs take at most `share` of the time of the design.
    """
    planned = design.cost()
    estimates = [cost.estimated_cpu_s(scenario) for scenario in design.scenarios]
    shortest = min(range(len(estimates)), key=estimates.__getitem__)
    # The first run of a process also loads modules, so a second one is measured if there is time.
    for trial in range(2):
        seed = design.first_seed + trial if seeds is None else seeds[shortest][trial % len(seeds[shortest])]
        first = measure((design.scenarios[shortest], seed), LONGEST_S)
        if not first.is_whole:
            break
    ratio = first.cpu_s / estimates[shortest]
    left_s = min(WITHIN_S, share * ratio * planned.cpu_s) - first.spent_s
    # A trial that was stopped is not repeated, but counts as a run of its point.
    runs: dict[int, list[Measured]] = {} if first.is_whole else {shortest: [first]}
    for replication in range(min(design.replications, MAX_REPLICATIONS)):
        for point in sorted(range(len(estimates)), key=lambda place: place * _GOLDEN % 1):
            is_known = point == shortest and not first.is_whole
            if not is_known and min(ratio * estimates[point], LONGEST_S) <= left_s:
                seed = design.first_seed + 2 + replication if seeds is None else seeds[point][replication]
                pilot_run = measure((design.scenarios[point], seed), LONGEST_S)
                runs.setdefault(point, []).append(pilot_run)
                left_s -= pilot_run.spent_s
    runs = runs or {shortest: [first]}
    # Each measured point counts once, because points may differ by more than their estimates.
    means_s = [sum([run.cpu_s for run in of_point]) / len(of_point) for of_point in runs.values()]
    ratio = sum(means_s) / sum([estimates[point] for point in runs])
    measured = [run for of_point in runs.values() for run in of_point]
    parts = sum([not run.is_whole for run in measured])
    return replace(planned, cpu_s=ratio * planned.cpu_s, measured=len(measured), parts=parts)


class _StoppedError(Exception):
    """Stops a run."""


def measured_run(job: Job, most_s: float, keep: Callable[[Result, float], None], memory: str | None = None) -> Measured:
    """Returns the processor time of a run, and gives its result and duration [s] to `keep`.

    After `most_s`, stops the run and extrapolates the time.
    """
    # Imported here because it loads the core.
    from longpipe.run import simulate

    scenario, seed = job
    # A run with modules is executed by a process of its own.
    clock = time.monotonic if modules_of(scenario.resolved) else time.process_time
    began_s, reached, wall_s = clock(), 0.0, time.perf_counter()

    def look(fraction: float) -> None:
        nonlocal reached
        reached = fraction
        if fraction > 0 and clock() - began_s > most_s:
            raise _StoppedError

    try:
        result = simulate(scenario, seed, look, memory=memory)
        keep(result, time.perf_counter() - wall_s)
    except _StoppedError:
        spent_s = clock() - began_s
        return Measured(spent_s / reached, spent_s)
    spent_s = clock() - began_s
    return Measured(spent_s, spent_s)


def _runs_programs(scenario: Scenario) -> bool:
    """Returns whether a part of the work is done by other processes, whose time is not measured."""
    sources = (flow["traffic"] for flow in scenario.resolved["flows"])
    return any(source["kind"] == "stack" and source["stack"] not in VERSIONS for source in sources)
