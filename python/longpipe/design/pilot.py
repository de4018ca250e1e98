"""Processor time of a design, measured on first runs of some of its points."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from longpipe.design import cost
from longpipe.scenario.stack import VERSIONS

if TYPE_CHECKING:
    from longpipe.design.design import Design
    from longpipe.executors import Job
    from longpipe.scenario import Scenario

# Processor time of the first runs [s], the largest estimate of the very first one, and the most runs of a point.
WITHIN_S: Final = 3.0
LONGEST_S: Final = 5.0
MOST_REPLICATIONS: Final = 3
# Places of successive points in the list of points have this distance, modulo 1, so that few of them cover the list.
_GOLDEN: Final = 0.6180339887


def measured_cost(design: Design) -> cost.Cost | None:
    """Returns the cost of a design, with its processor time measured on first runs as they would run in a study.

    Returns None if all runs may take longer than LONGEST_S, or if other processes do a part of the work.
    """
    # Imported here because the database takes longer to load than a design.
    from longpipe.store import Store
    from longpipe.study import Runner

    if any(map(_runs_programs, design.scenarios)) or min(map(cost.estimated_cpu_s, design.scenarios)) > LONGEST_S:
        return None
    with closing(Store()) as store, ThreadPoolExecutor(1) as pool:
        runner = Runner(store, pool)

        def measure(jobs: Sequence[Job]) -> float:
            began_s = time.process_time()
            runner.complete(jobs)
            return time.process_time() - began_s

        return extrapolated(design, measure)


def extrapolated(design: Design, measure: Callable[[Sequence[Job]], float]) -> cost.Cost:
    """Returns the cost of a design from the processor time [s] that `measure` returns for runs of some points.

    The estimate of the design (`cost.cpu_s`) is multiplied by the ratio of measured to estimated time of these runs.
    """
    estimates = [cost.estimated_cpu_s(scenario) for scenario in design.scenarios]
    shortest = min(range(len(estimates)), key=estimates.__getitem__)
    # The first run of a process also loads modules, so only the second one is measured.
    trial = [(design.scenarios[shortest], design.first_seed + i) for i in range(2)]
    measure(trial[:1])
    spent_s = measure(trial[1:])
    ratio = spent_s / estimates[shortest]
    chosen: list[Job] = []
    work = 0.0
    for replication in range(min(design.replications, MOST_REPLICATIONS)):
        for point in sorted(range(len(estimates)), key=lambda place: place * _GOLDEN % 1):
            if ratio * (work + estimates[point]) <= WITHIN_S - spent_s:
                chosen.append((design.scenarios[point], design.first_seed + 2 + replication))
                work += estimates[point]
    if chosen:
        ratio = measure(chosen) / work
    planned = design.cost()
    return replace(planned, cpu_s=ratio * planned.cpu_s, measured=len(chosen) or 1)


def _runs_programs(scenario: Scenario) -> bool:
    """Returns whether a part of the work is done by other processes, whose time is not measured."""
    sources = (flow["traffic"] for flow in scenario.resolved["flows"])
    return any(one["kind"] == "stack" and one["stack"] not in VERSIONS for one in sources)
