"""Executes the runs of a regression test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longpipe.ci.measured import SenderRun, measured
from longpipe.ci.plan import size_bytes, with_sender

if TYPE_CHECKING:
    from longpipe.ci.plan import RegressionPlan
    from longpipe.fairness.controls import Sender
    from longpipe.study import Runner


def runs_of(plan: RegressionPlan, sender: Sender, runner: Runner) -> dict[str, list[SenderRun]]:
    """Returns the runs of a sender by scenario, with the seeds 1, 2, … of the plan.

    Raises ScenarioError if the sender cannot drive the subject of a scenario, and RunError if a run fails.
    """
    seeds = range(1, plan.seeds + 1)
    scenarios = {name: with_sender(scenario, sender) for name, scenario in plan.scenarios.items()}
    runner.complete((scenario, seed) for scenario in scenarios.values() for seed in seeds)
    return {
        name: [measured(runner.require(scenario, seed), size_bytes(plan.scenarios[name])) for seed in seeds]
        for name, scenario in scenarios.items()
    }
