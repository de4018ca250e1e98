"""Processor time of a design, measured on first runs of some of its points."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from longpipe.design import cost
from longpipe.scenario.module import modules_of
from longpipe.scenario.stack import VERSIONS

if TYPE_CHECKING:
    from longpipe.design.design import Design
    from longpipe.executors import Job
    from longpipe.scenario import Scenario
    from longpipe.store import Store

# Processor time of the first runs together, and of each of them [s], and the most runs of a point.
WITHIN_S: Final = 3.0
LONGEST_S: Final = 0.7
MOST_REPLICATIONS: Final = 3
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
        return extrapolated(design, lambda job, most_s: measured_run(job, most_s, store))


def extrapolated(design: Design, measure: Callable[[Job, float], Measured]) -> cost.Cost:
    """Returns the cost of a design from the processor time that `measure` returns for runs of some points.

    `measure` stops a run after the given processor time [s]. The estimate of the design (`cost.cpu_s`) is multiplied by
    the ratio of measured to estimated time of these runs.
    """
    planned = design.cost()
    estimates = [cost.estimated_cpu_s(scenario) for scenario in design.scenarios]
    shortest = min(range(len(estimates)), key=estimates.__getitem__)
    # The first run of a process also loads modules, so a second one is measured if there is time.
    for trial in range(2):
        first = measure((design.scenarios[shortest], design.first_seed + trial), LONGEST_S)
        if not first.is_whole:
            break
    ratio, left_s = first.cpu_s / estimates[shortest], WITHIN_S - first.spent_s
    # A trial that was stopped is not repeated, but counts as a run of its point.
    runs: dict[int, list[Measured]] = {} if first.is_whole else {shortest: [first]}
    for replication in range(min(design.replications, MOST_REPLICATIONS)):
        for point in sorted(range(len(estimates)), key=lambda place: place * _GOLDEN % 1):
            is_known = point == shortest and not first.is_whole
            if not is_known and min(ratio * estimates[point], LONGEST_S) <= left_s:
                one = measure((design.scenarios[point], design.first_seed + 2 + replication), LONGEST_S)
                runs.setdefault(point, []).append(one)
                left_s -= one.spent_s
    runs = runs or {shortest: [first]}
    # Each measured point counts once, because points may differ by more than their estimates.
    means_s = [sum([one.cpu_s for one in of_point]) / len(of_point) for of_point in runs.values()]
    ratio = sum(means_s) / sum([estimates[point] for point in runs])
    measured = [one for of_point in runs.values() for one in of_point]
    parts = sum([not one.is_whole for one in measured])
    return replace(planned, cpu_s=ratio * planned.cpu_s, measured=len(measured), parts=parts)


class _StoppedError(Exception):
    """Stops a run."""


def measured_run(job: Job, most_s: float, store: Store) -> Measured:
    """Returns the processor time of a run, which it stores; after `most_s`, stops it and extrapolates the time."""
    # Imported here because it loads the core.
    from longpipe.run import simulate

    scenario, seed = job
    # A run with modules is executed by a process of its own.
    clock = time.monotonic if modules_of(scenario.resolved) else time.process_time
    began_s, reached = clock(), 0.0

    def look(fraction: float) -> None:
        nonlocal reached
        reached = fraction
        if fraction > 0 and clock() - began_s > most_s:
            raise _StoppedError

    try:
        store.keep(simulate(scenario, seed, look))
    except _StoppedError:
        spent_s = clock() - began_s
        return Measured(spent_s / reached, spent_s)
    spent_s = clock() - began_s
    return Measured(spent_s, spent_s)


def _runs_programs(scenario: Scenario) -> bool:
    """Returns whether a part of the work is done by other processes, whose time is not measured."""
    sources = (flow["traffic"] for flow in scenario.resolved["flows"])
    return any(one["kind"] == "stack" and one["stack"] not in VERSIONS for one in sources)
