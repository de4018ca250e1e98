"""The file with the measures of a baseline, which a regression test compares with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longpipe.ci.measured import MEASURES, SenderRun
from longpipe.errors import ScenarioError
from longpipe.inputs import load_json
from longpipe.store import engine_version
from longpipe.system.files import write_text

if TYPE_CHECKING:
    from longpipe.ci.plan import RegressionPlan

_AGAIN = "measure it again with `longpipe ci run --update`"


def write(plan: RegressionPlan, runs: Mapping[str, Sequence[SenderRun]]) -> None:
    """Writes the measures of a plan's runs to its baseline file."""
    scenarios = {
        name: {
            "digest": plan.scenarios[name].digest(),
            "runs": [{**run.values, "deaths": list(run.deaths)} for run in of_scenario],
        }
        for name, of_scenario in runs.items()
    }
    content = {"engine": engine_version(), "sender": plan.sender, "scenarios": scenarios}
    write_text(plan.baseline, json.dumps(content, indent=1) + "\n")


def read(plan: RegressionPlan) -> dict[str, list[SenderRun]]:
    """Returns the runs of the baseline by scenario.

    Raises ScenarioError if the file is missing or damaged, or of another engine, scenario or number of seeds.
    """
    if not plan.baseline.is_file():
        raise ScenarioError(f"{plan.baseline}: no such file; measure the baseline with `longpipe ci run --update`")
    content: Any = load_json(plan.baseline, "a baseline of longpipe ci")
    try:
        engine, scenarios = content["engine"], content["scenarios"]
        runs_by_scenario = {name: _runs(entry["runs"]) for name, entry in scenarios.items()}
        digests = {name: entry["digest"] for name, entry in scenarios.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ScenarioError(f"{plan.baseline}: not a baseline of longpipe ci; {_AGAIN}") from None
    if engine != engine_version():
        raise ScenarioError(f"{plan.baseline}: of engine {engine}, this is engine {engine_version()}; {_AGAIN}")
    for name, scenario in plan.scenarios.items():
        if digests.get(name) != scenario.digest():
            raise ScenarioError(f"{plan.baseline}: scenarios.{name}: new or changed since the baseline; {_AGAIN}")
        if len(runs_by_scenario[name]) != plan.seeds:
            raise ScenarioError(
                f"{plan.baseline}: {len(runs_by_scenario[name])} seeds; the plan has {plan.seeds}; {_AGAIN}"
            )
    return {name: runs_by_scenario[name] for name in plan.scenarios}


def _runs(rows: Sequence[Mapping[str, Any]]) -> list[SenderRun]:
    return [
        SenderRun(
            {measure.name: float(row[measure.name]) for measure in MEASURES}, [str(line) for line in row["deaths"]]
        )
        for row in rows
    ]
