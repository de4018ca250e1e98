"""What the browser's runs must equal, as JSON: presets and random scenarios by TOML, with what the native core gives.

Runs longer than SHORT are cut there, so that all of them take less than a minute; FULL=1 runs all of each preset.
"""

import json
import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from longpipe import Scenario, simulate
from longpipe.lab.presets import presets
from longpipe.units import TIME

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from strategies import scenarios  # noqa: E402

RANDOM = 500
SHORT = "3 s"


def entry(scenario: Scenario) -> dict[str, object]:
    """A scenario's text, and what its run with seed 1 comes to."""
    result = simulate(scenario, seed=1)
    numbers = {
        name: None if value != value else value
        for name, value in (("efficiency", result.efficiency), ("fairness", result.fairness))
    }
    return {"toml": scenario.to_toml(), "state_hash": result.state_hash, **numbers}


def of_presets(*, resolved: bool) -> dict[str, dict[str, object]]:
    """Each preset, cut short: those that the page resolves, or those that it contains `resolved`."""
    found = {}
    for preset in presets(ROOT / "scenarios"):
        if ("core" in preset) != resolved:
            continue
        scenario = Scenario(**preset["fields"])
        if TIME.parse(scenario.duration) > TIME.parse(SHORT) and not os.environ.get("FULL"):
            scenario = scenario.with_(duration=SHORT)
        found[preset["name"]] = entry(scenario)
        if resolved:
            found[preset["name"]]["core"] = scenario.resolved_json()
    return found


def of_whole(name: str) -> dict[str, object]:
    """The whole run of a preset, as the page opens it."""
    (preset,) = (one for one in presets(ROOT / "scenarios") if one["name"] == name)
    return {"preset": name, "state_hash": simulate(Scenario(**preset["fields"]), seed=1).state_hash}


def of_random() -> list[dict[str, object]]:
    """Random scenarios of every kind, the same ones each time."""
    found: list[dict[str, object]] = []

    @seed(1)
    @settings(max_examples=RANDOM, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(scenarios()))
    def draw(scenario: Scenario) -> None:
        if len(found) < RANDOM:
            found.append(entry(scenario))

    draw()
    return found


expected = {
    "presets": of_presets(resolved=False),
    "resolved": of_presets(resolved=True),
    "whole": of_whole("geo-pep"),
    "random": of_random(),
}
json.dump(expected, sys.stdout)
