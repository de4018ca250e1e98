"""Executes the runs of a regression test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longpipe.ci.measured import SenderRun, measured
from longpipe.ci.plan import size_bytes, subject_flows, with_sender

if TYPE_CHECKING:
    from longpipe.ci.plan import RegressionPlan
    from longpipe.fairness.controls import Sender
    from longpipe.result import Result
    from longpipe.scenario import Scenario
    from longpipe.study import Runner


def runs_of(plan: RegressionPlan, sender: Sender, runner: Runner) -> dict[str, list[SenderRun]]:
    """Returns the runs of a sender by scenario, with the seeds 1, 2, … of the plan.

    Raises ScenarioError if the sender cannot drive the subject of a scenario, and RunError if a run fails.
    """
    seeds = range(1, plan.seeds + 1)
    scenarios = {name: with_sender(scenario, sender) for name, scenario in plan.scenarios.items()}
    runner.complete((scenario, seed) for scenario in scenarios.values() for seed in seeds)
    return {
        name: [_run(plan.scenarios[name], runner.require(scenario, seed)) for seed in seeds]
        for name, scenario in scenarios.items()
    }


def _run(scenario: Scenario, result: Result) -> SenderRun:
    return measured(result, subject_flows(scenario), size_bytes(scenario))
