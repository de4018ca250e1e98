"""Expected results of the browser's runs as JSON: presets, random scenarios and modules, computed by the native core.

Runs longer than SHORT are cut there. With LONGPIPE_THOROUGH=1 (`make validate`), presets are run completely, and there
are more random scenarios.
"""

import base64
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, reject, seed, settings
from hypothesis import strategies as st

from longpipe import RunError, Scenario, ScenarioError, simulate
from longpipe.homework import Task
from longpipe.lab import embed, fragment
from longpipe.lab.exercises import exercises
from longpipe.lab.presets import presets
from longpipe.units import TIME
from longpipe_evidence.papers.presets import presets as presets_of_papers

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from strategies import fields, ip_fields_of_the_lab  # noqa: E402
from test_control_languages import EVERY_HOOK, MISBEHAVES, RUST, WASM32, rust  # noqa: E402
from test_modules import PATH, with_module  # noqa: E402
from thorough import THOROUGH, examples  # noqa: E402

RANDOM = examples(100, 500)
SHORT = "3 s"


def entry(scenario: Scenario) -> dict[str, object]:
    """Returns a scenario's text, and the result of its run with seed 1."""
    result = simulate(scenario, seed=1)
    numbers = {
        name: None if value != value else value
        for name, value in (
            ("efficiency", result.efficiency),
            ("efficiency_back", result.efficiencies.get("efficiency_back", math.nan)),
            ("fairness", result.fairness),
        )
    }
    return {"toml": scenario.to_toml(), "state_hash": result.state_hash, **numbers}


def all_presets() -> list[dict[str, Any]]:
    """Returns the presets that the page contains."""
    return [*presets(ROOT / "scenarios"), *presets_of_papers()]


def of_presets(*, resolved: bool) -> dict[str, dict[str, object]]:
    """Returns shortened presets: those that the page resolves, or those that it contains `resolved`."""
    found = {}
    for preset in all_presets():
        if ("core" in preset) != resolved:
            continue
        scenario = Scenario(**preset["fields"])
        if TIME.parse(scenario.duration) > TIME.parse(SHORT) and not THOROUGH:
            scenario = scenario.with_(duration=SHORT)
        found[preset["name"]] = entry(scenario)
        if resolved:
            found[preset["name"]]["core"] = scenario.resolved_json()
    return found


def of_whole(name: str) -> dict[str, object]:
    """Returns the result of a whole preset, as the page opens it."""
    (preset,) = (one for one in all_presets() if one["name"] == name)
    return {"preset": name, "state_hash": simulate(Scenario(**preset["fields"]), seed=1).state_hash}


def of_links() -> list[dict[str, Any]]:
    """Returns scenarios with links that the page cannot resolve, as fragments of its address, with hashes by seed."""
    starlink = Scenario.example("starlink").with_(**{"duration": SHORT, "network.path.seed": 3})
    steps = {"kind": "moving", "rate": [["0 s", "20 Mbit/s"], ["1 s", "5 Mbit/s"]]}
    varying = {"network.path": steps, "network.return_path": {"kind": "moving"}}
    fiber = Scenario.example("fiber").with_(duration=SHORT)
    policer = {"kind": "policer", "rate": "50 Mbit/s", "burst": "1 MB"}
    scenarios = [
        starlink,
        starlink.with_(**varying),
        fiber.with_(**varying, **{"network.conditioners": [policer]}),
    ]
    return [
        {"fragment": fragment(one, 7), "state_hashes": {seed: simulate(one, seed).state_hash for seed in (7, 8)}}
        for one in scenarios
    ]


def of_embedded() -> dict[str, str]:
    """Returns the output of a notebook's cell with the page, and the state hash of the scenario that it shows."""
    scenario = Scenario.example("fiber").with_(duration=SHORT)
    return {"html": embed(scenario, 7)._repr_html_(), "state_hash": simulate(scenario, 7).state_hash}


def of_widget() -> list[dict[str, str]]:
    """Returns two scenarios that a widget shows, as fragments of the page's address, with their state hashes."""
    scenarios = [Scenario.example(name).with_(duration=SHORT) for name in ("fiber", "geo")]
    return [{"fragment": fragment(one, 7), "state_hash": simulate(one, 7).state_hash} for one in scenarios]


def of_homework() -> list[dict[str, str]]:
    """Returns, for each exercise, a student's task as the fragment of the page's address, its answer and the code."""
    tasks = [Task.drawn("Ada", number, 1) for number in range(1, len(exercises()) + 1)]
    answers = [(task, answer) for task in tasks if (answer := task.answer()) is not None]
    return [
        {"fragment": task.link(""), "answer": task.exercise.choices[answer].words, "code": task.code(answer)}
        for task, answer in answers
    ]


def of_random() -> list[dict[str, object]]:
    """Returns random scenarios of every kind, the same ones each time."""
    found: list[dict[str, object]] = []

    @seed(1)
    @settings(max_examples=RANDOM, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(fields, ip_fields_of_the_lab()))
    def draw(table: dict[str, Any]) -> None:
        try:
            scenario = Scenario(defaults="1996", **table)
        except ScenarioError:
            # Both refuse it, as tests/test_lab.py checks.
            reject()
        if len(found) < RANDOM:
            found.append(entry(scenario))

    draw()
    return found


def of_directions() -> list[dict[str, object]]:
    """Returns runs in which data are sent from switch2 to switch1, alone and beside data in the other direction."""
    groups = [{"name": "up", "direction": "back"}, {"name": "down", "count": 2}]
    paths = [
        Scenario.example("fiber").with_(duration=SHORT),
        Scenario(defaults="1996", duration="1 s", network={"kind": "dumbbell"}),
    ]
    networks = [(path, sources, chosen) for path in paths for sources, chosen in ((1, groups[:1]), (3, groups))]
    return [
        entry(path.with_(**{"network.sources": sources, "network.group": chosen})) for path, sources, chosen in networks
    ]


def of_modules() -> dict[str, object]:
    """Returns controllers in WebAssembly, the results of their runs, and messages about invalid values and failures."""
    with tempfile.TemporaryDirectory() as folder:
        control, every_hook, misbehaves = (rust(one, Path(folder), WASM32) for one in (RUST, EVERY_HOOK, MISBEHAVES))
        path = PATH.with_(duration=SHORT, **{"traces.cwnd": False})
        lossy = {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.005}}
        marks = {"tcp.ecn": "classic", "switch.policy": {"kind": "red", "ecn": True}, "tcp.initial_rtt": "100 ms"}
        marks |= {"tcp.initial_window": "150 segments"}
        module = {"kind": "module", "file": str(control)}
        groups = [{"name": str(i), "tcp": {"congestion": {**module, "parameters": {"gain": i}}}} for i in (1, 2, 3)]
        cells = Scenario.from_toml(f'duration = "{SHORT}"\nnetwork = {{kind = "dumbbell", sources = 3}}')
        runs = [
            with_module(control, path),
            with_module(control, path.with_(**lossy), beta=0.8, gain=2),
            with_module(control, cells),
            with_module(every_hook, path.with_(**lossy)),
            with_module(every_hook, path.with_(**lossy, **marks), share=0.5),
            with_module(every_hook, path.with_(**{"network.sources": 3})),
            path.with_(**{"network.sources": 4, "network.group": [*groups, {"name": "cubic"}]}),
        ]
        (preset,) = (one for one in all_presets() if one["name"] == "lan-5-epd")
        nonsense = [simulate(with_module(misbehaves, path, misbehaves=which)).replaced for which in (1, 2)]
        failures = []
        for which in (3, 5, 6):
            try:
                simulate(with_module(misbehaves, path, misbehaves=which))
            except RunError as error:
                failures.append(str(error).replace(f"{folder}/", ""))
        return {
            "files": {
                one.name: base64.b64encode(one.read_bytes()).decode() for one in (control, every_hook, misbehaves)
            },
            "runs": [entry(run) for run in runs],
            "misbehaves": with_module(misbehaves, path, misbehaves=7654321).to_toml(),
            "chosen": {
                "preset": preset["name"],
                "state_hash": simulate(with_module(control, Scenario(**preset["fields"])), seed=1).state_hash,
            },
            "replaced": [line.replace(f"{folder}/", "") for lines in nonsense for line in lines],
            "failures": failures,
        }


expected = {
    "presets": of_presets(resolved=False),
    "resolved": of_presets(resolved=True),
    "whole": of_whole("starlink"),
    "links": of_links(),
    "embedded": of_embedded(),
    "widget": of_widget(),
    "homework": of_homework(),
    "random": of_random(),
    "directions": of_directions(),
    "modules": of_modules(),
}
json.dump(expected, sys.stdout)
