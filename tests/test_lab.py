"""The lab's page and Python resolve a scenario equally, and report equal errors."""

import base64
import copy
import datetime as dt
import gzip
import hashlib
import json
import math
import random
import re
import shutil
import subprocess
import sys
import tomllib
import webbrowser
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

from lab_scenarios import Drawn
from longpipe import _core, lab
from longpipe.cli import app
from longpipe.errors import RunError
from longpipe.examples import EXAMPLES, MOVING, example
from longpipe.lab import beyond
from longpipe.lab.description import description
from longpipe.lab.exercises import exercises
from longpipe.lab.fields import models
from longpipe.lab.presets import presets
from longpipe.run import simulate
from longpipe.scenario import Scenario, ScenarioError
from longpipe.scenario.defaults import fields_of_file
from longpipe_evidence.papers.presets import presets as presets_of_papers
from mistakes import mistaken
from strategies import fields, ip_fields_of_the_lab
from test_constraints import CASES
from test_repetition import EXCESSIVE
from thorough import examples

ROOT = Path(__file__).parent.parent
RESOLVER = ROOT / "lab" / "build" / "resolve.mjs"
built = pytest.mark.skipif(
    not RESOLVER.exists() or shutil.which("node") is None, reason="the lab is not built: make lab"
)

KNOBS: dict[str, tuple[object, ...]] = {
    "network.sources": (1, 2, 15),
    "network.trunk_rate": ("1.5 Mbit/s", "45 Mbit/s", "1 Gbit/s"),
    "network.trunk_delay": ("0 s", "5 us", "12.5 ms", "275 ms"),
    "network.access_rate": ("10 Mbit/s", "149.76 Mbit/s"),
    "network.return_rate": ("2 Mbit/s",),
    "network.return_buffer": ("30 packets", "0.7 BDP", "unlimited"),
    "network.trunk_loss": (
        "none",
        {"kind": "bernoulli", "probability": 1e-4},
        {"kind": "bit-errors", "rate": 1e-7},
        {"kind": "packets", "indices": [9, 3, 3]},
    ),
    "framing": ("aal5", "ip"),
    "switch.buffer": ("0.25 BDP", "2 BDP", "1000 cells", "64 packets", "64 KB", "unlimited", "1 cell", "20 ms", "1 us"),
    "network.group": (
        [{"name": "near", "count": 2}, {"name": "far", "access_delay": "40 ms", "exit_delay": "1 ms"}],
        [{"name": "far", "count": 3, "exit_delay": "90 ms", "direction": "back"}],
    ),
    "switch.policy": (
        "tail-drop",
        "epd",
        "selective-drop",
        {"kind": "fba", "threshold": 0.7, "z": 1},
        "red",
        {"kind": "red", "unit": "cells", "min": 100, "max": 300},
        "codel",
        "dualpi2",
        {"kind": "dualpi2", "nqb": True, "protection": "rfc9957"},
        {"kind": "nqb", "size": "5 ms", "protection": "off"},
        "drr",
    ),
    "network.return_policy": ("ack-filter", {"kind": "sfq", "perturb": "10 s"}),
    "network.host_policy": ("fq-codel", "epd", {"kind": "strict-priority", "classes": 2}),
    "network.host_buffer": ("100 packets", "0.5 BDP", "2 ms", "3 cells"),
    "network.send_jitter": ("1 ms",),
    "network.pep": (
        {"buffer": "1 MB"},
        {"buffer": "100 KB", "at": "switch2", "tcp": {"mss": "1460 B", "receiver_window": "auto"}},
        {"buffer": "9 KB", "tcp": {"recovery": "rack"}},
    ),
    "tcp.ecn": (
        "classic",
        "dctcp",
        {"kind": "dctcp", "ect": 1},
        {"kind": "classic", "abe": True},
        {"kind": "accurate", "ect": 1},
        {"kind": "accurate", "option": True},
    ),
    "tcp.recovery": ("vanilla", "tahoe", "newreno", "sack", "rack", {"kind": "reno", "guard": True}),
    "tcp.congestion": (
        "aimd",
        "vegas",
        "highspeed",
        "ledbat",
        "ledbat-plus-plus",
        {"kind": "scalable", "decrease": 0.25},
        {"kind": "vegas", "beta": 9},
        {"kind": "cubic", "hystart": "search"},
        {"kind": "linux-reno", "hystart": "search"},
        "copa",
        {"kind": "c4", "rules": "picoquic"},
        {"kind": "prague", "rtt_target": "10 ms"},
    ),
    "tcp.careful_resume": ("off", "previous", {"kind": "saved", "cwnd": "1 MB", "rtt": "600 ms", "max_jump": "1 MB"}),
    "tcp.rapid_start": ("draft", "quicly"),
    "tcp.receiver_control": ("off", "rledbat", {"kind": "rledbat", "target": "20 ms"}),
    "tcp.rate_limited": ("none", "linux", "rfc9002", {"kind": "ietf", "shrink": True}),
    "tcp.mss": ("100 B", "1460 B", "9180 B"),
    "tcp.receiver_window": ("auto", "64 KiB", "8704000 B", "1 GiB", "50 B"),
    "tcp.window_scale": (3, "as needed"),
    "tcp.initial_window": ("1 segment", "10 segments"),
    "tcp.initial_ssthresh": ("unlimited", "64 KB"),
    "tcp.ack": ("immediate", "delayed", "linux", {"kind": "delayed", "segments": "3 segments", "timeout": "40 ms"}),
    "tcp.timer": ("coarse", "fine", {"kind": "fine", "min_rto": "200 ms", "timestamps": True}),
    "tcp.tahoe": ({"guard": True}, {"guard": False}),
    "traffic": (
        "greedy",
        "web",
        {"kind": "transfer", "size": "8 MB"},
        {"kind": "stream", "rate": "5 Mbit/s", "bursts": {"off": "1 s"}},
        {"kind": "cbr", "rate": "1 Mbit/s"},
        {"kind": "on-off", "rate": "2 Mbit/s", "payload": "172 B", "times": {"kind": "pareto", "shape": 1.2}},
        {"kind": "self-similar", "rate": "100 kbit/s", "sources": 20},
        "video",
    ),
    "start": ("fixed", {"kind": "random", "over": "100 ms"}, {"kind": "staggered", "interval": "3 s"}),
    "stop": ({"kind": "at", "at": "3 s"}, {"kind": "after", "after": "60 s"}),
    "duration": ("7 s", "100 s"),
}

WRONG: list[dict[str, Any]] = [
    {"duration": "5"},
    {"duration": 5},
    {"duration": "1e-30 s"},
    {"duration": "1.23456789 ps"},
    {"tcp": {"recovry": "rack"}},
    {"network": {"kind": "dumbbell", "return_policy": "ack-filter"}},
    {"framing": "ip", "network": {"group": [{"name": "a", "class": 2}]}, "switch": {"policy": "weighted-priority"}},
    {"framing": "ip", "switch": {"policy": {"kind": "dualpi2", "marking": {"kind": "ramp", "min": "3 ms"}}}},
    {"framing": "ip", "traffic": {"kind": "cbr", "rate": "1 bit/s"}},
    {"framing": "ip", "traffic": "poisson"},
    {"name": ""},
    {"engine": "fast"},
    {"tcp": 5},
    {"start": 3},
    {"switch": 3},
    {"switch": {"policy": 3}},
    {"switch": {"scheduler": []}},
    {"switch": {"policy": "RED"}},
    {"network": {"kind": "dumbbell", "vbr": 3}},
    {"network": {"kind": "dumbbell", "trunk_loss": 0.01}},
    {"network": {"kind": "dumbbell", "trunk_loss": "1 %"}},
    {"network": {"kind": "dumbbell", "trunk_loss": True}},
    {"framing": "ip", "tcp": {"ecn": True}},
    {"tcp": {"timer": {"kind": "coarse", "phase": 3}}},
    {"tcp": {"sack": 3}},
    {"tcp": {"recovery": "cubic"}},
    {"tcp": {"congestion": "bbr"}},
    {"tcp": {"recovery": "tcp_sack"}},
    {"tcp": {"congestion": "bbr3"}},
    {"tcp": {"congestion": "ledbat"}},
    {"tcp": {"congestion": "ledbat", "timer": "fine"}},
    {"tcp": {"profile": "linux-2"}},
    {"tcp": {"recovery": "sac"}},
    {"tcp": {"timer": {"kind": "coarse", "min_rto": "50 ticks"}}},
    {"tcp": {"timer": {"kind": "fine", "max_rto": "1 us"}}},
    {"tcp": {"congestion": {"kind": "vegas", "alpha": 4.0}}},
    {"tcp": {"mss": "70000 B", "receiver_window": "x", "initial_ssthresh": "x"}},
    {"tcp": {"window_scale": 0, "receiver_window": "1 MB"}},
    {"switch": {"policy": "choke"}},
    {"framing": "ip", "switch": {"policy": {"kind": "cake", "overhead": 300}}},
    {"switch": {"policy": "red"}},
    {"framing": "ip", "switch": {"policy": {"kind": "red", "min": 9, "max": 3}}},
    {"framing": "ip", "switch": {"policy": {"kind": "red", "gap": "drawn"}}},
    {"framing": "ip", "switch": {"policy": {"kind": "red", "unit": "cells"}}},
    {"switch": {"policy": {"kind": "red", "unit": "cells", "ecn": True}}},
    {"framing": "ip", "switch": {"policy": {"kind": "red", "per_vc": True}}},
    {"framing": "ip", "switch": {"policy": {"kind": "fq-codel", "target": "200 ms"}}},
    {"framing": "ip", "switch": {"policy": "step-marking"}},
    {"tcp": {"ecn": "classic"}},
    {"framing": "ip", "tcp": {"congestion": "dctcp"}},
    {"framing": "ip", "tcp": {"congestion": "prague", "recovery": "rack", "ecn": "accurate"}},
    {"tcp": {"congestion": "copa"}},
    {"tcp": {"careful_resume": "previous"}},
    {"tcp": {"careful_resume": "saved", "recovery": "rack", "congestion": "cubic"}},
    {"switch": {"policy": {"kind": "epd", "threshold": 2}}},
    {"switch": {"policy": {"kind": "tail-drop", "threshold": 0.5, "limit": 3}}},
    {"network": {"kind": "dumbbell", "trunk_loss": {"kind": "none", "rate": 3}}, "tcp": {"tick": "1 ms"}},
    {"switch": {"buffer": "3 cells"}},
    {"switch": {"buffer": "1.5 cells"}},
    {"switch": {"buffer": "1001 s"}},
    {"framing": "ip", "switch": {"buffer": "1 us"}},
    {"framing": "ip", "switch": {"buffer": "30 cells"}},
    {"framing": "ip", "switch": {"policy": "epd", "ties": "rotating"}},
    {"network": {"sources": 5}},
    {"network": {"kind": "dumbbell", "sources": 2.5}},
    {"network": {"kind": "dumbbell", "trunk_rate": "10 Mbp"}},
    {"network": {"kind": "dumbbell", "vbr": {}}},
    {"network": {"kind": "dumbbell", "group": []}},
    {"network": {"kind": "dumbbell", "group": [{"name": "a", "count": 2}, {"name": "b", "tcp": {"mss": "1 MB"}}]}},
    {"network": {"kind": "dumbbell", "group": [{"name": "a"}, {"name": "b", "tcp": {"receiver_window": "1 B"}}]}},
    {"network": {"kind": "dumbbell", "group": [{"name": "a"}, {"name": "a"}, {"name": "a"}]}},
    {"network": {"kind": "dumbbell", "group": [{"name": "a", "count": 2}, {"name": "a2"}]}},
    {"network": {"kind": "dumbbell", "group": [{"name": "a1"}, {"name": "a", "count": 2}]}},
    {"network": {"kind": "dumbbell", "group": [{"name": "a", "count": 11}, {"name": "a1", "count": 2}]}},
    {"network": {"kind": "graph"}},
    {"start": {"kind": "fixed", "at": "11 s"}},
    {"start": {"kind": "staggered", "interval": "5 s"}},
    {"traffic": {"kind": "web", "spacing_to": "1 ms"}},
    {"traffic": {"kind": "web", "class_shares": [0.5, 0.4]}},
    {"traffic": "transfer"},
]


def of_page(tables: list[dict[str, Any]], *modules: Path) -> list[dict[str, Any]]:
    """Returns the scenarios that the page resolves; `modules` are files that it has."""
    return of_texts([[tomli_w.dumps(table)] for table in tables], *modules)


def of_texts(texts: list[list[str]], *modules: Path) -> list[dict[str, Any]]:
    """Returns the scenarios that the page resolves from TOML, with its form for the core if the page cannot make it."""
    done = subprocess.run(
        ["node", str(RESOLVER), *map(str, modules)], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_python(table: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"core": json.loads(json.dumps(Scenario(**fields_of_file(table, "TOML text")).resolve()))}
    except ScenarioError as error:
        return {"problems": list(error.problems)}


def assert_equal(tables: list[dict[str, Any]], *modules: Path) -> None:
    for table, page in zip(tables, of_page(tables, *modules), strict=True):
        assert page == of_python(table), table


def turned(table: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    below = table.get(first, {"kind": "dumbbell"} if first == "network" else {})
    return {
        **table,
        first: turned({"kind": below} if isinstance(below, str) else below, rest, value) if rest else value,
    }


def without_none(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {name: without_none(one) for name, one in value.items() if one is not None}
    return [without_none(one) for one in value] if isinstance(value, list) else value


def all_presets() -> list[dict[str, Any]]:
    """Returns the presets that the page contains."""
    return [*presets(ROOT / "scenarios"), *presets_of_papers()]


@built
def test_every_preset_is_resolved_as_python_does() -> None:
    tables = [preset["fields"] for preset in all_presets() if "core" not in preset]
    assert len(tables) > 30
    assert_equal(tables)


def test_presets_are_all_examples_and_scenario_files() -> None:
    found = {preset["name"]: preset for preset in all_presets()}
    assert set(EXAMPLES) | {file.stem for file in (ROOT / "scenarios").glob("*.toml")} <= set(found)
    resolved = {name: preset["core"] for name, preset in found.items() if "core" in preset}
    assert resolved.keys() == set(MOVING)
    assert all(core == Scenario(**found[name]["fields"]).resolved_json() for name, core in resolved.items())


@built
def test_random_settings_are_resolved_as_in_python() -> None:
    draw = random.Random(18)
    tables = []
    for _ in range(500):
        table: dict[str, Any] = {}
        for path in draw.sample(sorted(KNOBS), draw.randint(1, 9)):
            table = turned(table, path, draw.choice(KNOBS[path]))
        tables.append(table)
    assert_equal(tables)
    accepted = sum("core" in of_python(table) for table in tables)
    assert 100 < accepted < 400


@built
def test_invalid_files_are_refused_as_in_python() -> None:
    files = [*(ROOT / "scenarios").glob("*.toml"), *(ROOT / "python" / "longpipe" / "examples").glob("*.toml")]
    tables = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(files)]
    draw = random.Random(61)
    texts = [tomli_w.dumps(mistaken(draw.choice(tables), draw, tables)) for _ in range(examples(300, 5000))]
    # As read from a file, in which tables are behind other values.
    wrong = [tomllib.loads(text) for text in texts]
    pages = of_page(wrong)
    supported = [
        (table, page)
        for table, page in zip(wrong, pages, strict=True)
        if not any("this page" in problem for problem in page.get("problems", ()))
    ]
    assert len(supported) > len(wrong) / 2
    for table, page in supported:
        assert page == of_python(table), table


# A field of each type, and values of each type of TOML.
OF_EACH_TYPE = (
    "network.sources", "tcp.window_scale", "tcp.ecn.ect", "tcp.hz", "switch.policy.z", "network.trunk_loss.probability",
    "network.trunk_loss.indices", "traffic.class_shares", "traffic.kilobyte", "tcp.pacing", "traces.cwnd", "framing", "name",
    "duration", "switch.buffer", "tcp.mss", "tcp.receiver_window", "switch", "start",
)  # fmt: skip
OF_EACH_KIND: tuple[object, ...] = (
    "5", "0.5", "1", "yes", "true", "True", "", "5 s", True, False, 0, 1, 5, -1, 2**63 - 1, 0.0, 1.0, 5.0, -0.5, 2.5, 1e300,
    math.inf, math.nan, [], [1], ["1"], [True], [0.5, 0.5], [[1]], {}, {"kind": 1}, {"kind": True}, {"a": "b"},
    dt.date(2026, 1, 1), dt.time(7, 30),
)  # fmt: skip
WITH_KINDS: dict[str, dict[str, Any]] = {
    "tcp.ecn": {"framing": "ip", "tcp": {"ecn": {"kind": "dctcp"}}},
    "switch.policy": {"switch": {"policy": {"kind": "fba"}}},
    "network.trunk_loss": {"network": {"kind": "dumbbell", "trunk_loss": {"kind": "bernoulli"}}},
    "traffic": {"traffic": {"kind": "web"}},
}


@built
@pytest.mark.parametrize("path", OF_EACH_TYPE)
def test_value_of_each_type_is_accepted_or_refused_as_in_python(path: str) -> None:
    table = copy.deepcopy(WITH_KINDS.get(path.rpartition(".")[0], {}))
    if path.endswith("indices"):
        table = {"network": {"kind": "dumbbell", "trunk_loss": {"kind": "packets"}}}
    assert_equal([turned(table, path, value) for value in OF_EACH_KIND])


@built
@pytest.mark.parametrize(
    "own", [{}, {"stop": {"kind": "after", "after": "3 s"}}, {"return_route": ["b", "s", "c", "a"]}]
)
def test_proxies_of_graphs_split_connections_as_in_python(own: dict[str, Any]) -> None:
    nodes: list[dict[str, Any]] = [{"name": name, "kind": "host"} for name in "abd"]
    nodes += [{"name": "c", "kind": "switch", "pep": {"buffer": "1 MB", "tcp": {"mss": "1000 B"}}}]
    nodes += [{"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch", "pep": {"buffer": "64 KB"}}]
    pairs = ("ac", "ct", "tb", "cs", "sb", "td")
    links = [{"between": list(pair), "rate": "9 Mbit/s", "delay": "5 ms"} for pair in pairs]
    flows = [
        {"name": "f", "from": "a", "to": "b", **own},
        {"name": "g", "from": "d", "to": "a", "tcp": {"mss": "536 B"}},
    ]
    rest = {
        "framing": "ip",
        "start": {"kind": "staggered", "interval": "1 s"},
        "traffic": {"kind": "transfer", "size": "1 MB"},
    }
    hosts = [[{**node, "pep": {"buffer": "1 MB"}} if node["name"] == "a" else node for node in nodes], nodes]
    assert_equal(
        [{**rest, "network": {"kind": "graph", "nodes": one, "links": links, "flows": flows}} for one in hosts]
    )


@built
def test_quantities_computed_with_floats_are_read_as_in_python() -> None:
    draw = random.Random(2)
    tables: list[dict[str, Any]] = []
    for _ in range(200):
        first, second = round(draw.uniform(10, 100), draw.randint(0, 6)), round(draw.uniform(0, 9), draw.randint(0, 6))
        unit = draw.choice(["us", "ms", "s", "min"])
        tables.append({"duration": f"{first - second} {unit}", "network": {"kind": "dumbbell", "sources": 1}})
    assert_equal(tables)
    assert any(len(table["duration"]) > 16 and "core" in of_python(table) for table in tables)


@built
def test_controllers_have_the_rules_of_their_profile_as_in_python() -> None:
    """Tests the options that `RULES` sets: alone, with specified ones, with `tcp.vegas`, and in a group's own TCP."""
    controllers: list[dict[str, Any]] = [
        *({"congestion": kind} for kind in ("cubic", "highspeed", "scalable", "vegas", "bic", "aimd")),
        *({"congestion": {"kind": kind, "rules": "linux"}} for kind in ("cubic", "highspeed", "scalable", "vegas")),
        {"congestion": {"kind": "cubic", "rules": "rfc-9438"}},
        {"congestion": {"kind": "highspeed", "rules": "rfc-3649"}},
        {"congestion": {"kind": "scalable", "decrease": 0.25}},
        {"congestion": {"kind": "vegas", "rules": "brakmo-1995"}},
        {"congestion": {"kind": "vegas", "beta": 9}},
        {"congestion": "vegas", "vegas": {"alpha": 3, "beta": 5.5}},
        {"congestion": "vegas", "vegas": {"alpha": 1, "beta": 3.0}},
        {"congestion": "vegas", "vegas": {"rules": "linux"}},
        {"congestion": {"kind": "vegas", "gamma": 2}, "vegas": {"alpha": 3, "beta": 6}},
    ]
    tables: list[dict[str, Any]] = []
    for own in controllers:
        for profile in ({}, {"profile": "classic"}, {"profile": "linux-6"}):
            rest: dict[str, Any] = {"framing": "ip", "switch": {"buffer": "100 packets"}}
            tables.append({**rest, "tcp": {**profile, **own}})
            for outer in ({}, {"profile": "linux-6"}, {"profile": "linux-6", "vegas": {"beta": 7}}):
                group = [{"name": "a", "count": 1, "tcp": {**profile, **own}}, {"name": "b", "count": 1}]
                tables.append({**rest, "tcp": outer, "network": {"kind": "dumbbell", "group": group}})
    # Options without a kind are those of the profile's kind.
    for own in ({"congestion": {"beta": 0.8}}, {"recovery": {"frto": False}}):
        tables += [{**rest, "tcp": {"profile": "linux-6", **own}}]
    assert_equal(tables)
    # Vegas in `linux-6` keeps 2 to 4 segments in queues (tcp_vegas.c).
    (page,) = of_page([{**rest, "tcp": {"profile": "linux-6", "congestion": "vegas"}}])
    for flow in page["core"]["flows"]:
        assert flow["tcp"]["vegas"] == {"alpha": 2, "beta": 4, "gamma": 1, "rules": "linux"}


@built
def test_drawn_fields_are_resolved_as_python_does() -> None:
    drawn = Drawn(61)
    tables = [drawn.scenario() for _ in range(examples(100, 500))]
    assert_equal(tables)
    assert sum("core" in of_python(table) for table in tables) > len(tables) / 2


@built
def test_random_scenarios_over_any_network_are_resolved_as_python_does() -> None:
    tables: list[dict[str, Any]] = []

    @settings(max_examples=examples(40, 500), database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(fields, ip_fields_of_the_lab())
    def draw(cells: dict[str, Any], packets: dict[str, Any]) -> None:
        tables.extend(without_none([cells, packets]))

    draw()
    assert_equal(tables)


@pytest.fixture(scope="module")
def refusals() -> list[dict[str, Any]]:
    return of_page(WRONG)


@built
def test_well_known_names_of_controls_are_explained_as_in_python() -> None:
    tables: list[dict[str, Any]] = [{"tcp": {"congestion": name}} for name in ("newreno", "tcp_vegas", "tcp_lp")]
    for table, page in zip(tables, of_page(tables), strict=True):
        # The page has fewer controls.
        of_page_and_python = [found["problems"][0].partition("accepts")[0] for found in (page, of_python(table))]
        assert of_page_and_python[0] == of_page_and_python[1]


@built
@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: str(WRONG[number]))
def test_invalid_scenarios_are_rejected_with_the_messages_of_the_command_line(
    number: int, refusals: list[dict[str, Any]]
) -> None:
    found = of_python(WRONG[number])
    assert "problems" in found
    assert refusals[number] == found


@built
@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"warm_up": "1 s"}, "warm_up:"),
        ({"traffic": {"kind": "own-stack", "command": "python mine.py"}}, "traffic: 'own-stack';"),
        ({"traffic": "voice"}, "traffic: 'voice';"),
        ({"traffic": {"kind": "flow-arrivals", "load": 0.5}}, "traffic: 'flow-arrivals';"),
        ({"traffic": "adaptive-video"}, "traffic: 'adaptive-video';"),
        ({"tcp": {"congestion": {"kind": "python", "class": "mine.py:Mine"}}}, "tcp.congestion: 'python';"),
    ],
)
def test_features_missing_in_the_lab_are_rejected_as_such(table: dict[str, Any], what: str) -> None:
    (page,) = of_page([{"framing": "ip", **table}])
    assert page == {"problems": [f"{what} is not supported on this page; longpipe run supports it"]}


# Scenarios with a part that the page does not support, and the field that is reported.
BEYOND: tuple[tuple[dict[str, Any], str], ...] = (
    ({"warm_up": "1 s"}, "warm_up"),
    ({"traffic": "voice"}, "traffic"),
    ({"traffic": {"kind": "flow-arrivals", "load": 0.5, "sizes": {"kind": "fixed", "size": "1 MB"}}}, "traffic"),
    (
        {"network": {"kind": "dumbbell", "group": [{"name": "a"}, {"name": "b", "traffic": "voice"}]}},
        "network.group[1].traffic",
    ),
    ({"network": {"kind": "dumbbell", "path": {"kind": "moving", "rate": [["0 s", "1 Mbit/s"]]}}}, "network.path"),
)


@pytest.mark.parametrize(
    ("table", "field"),
    [row for row in BEYOND if row[1] != "network.path"],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_command_rejects_features_that_the_page_lacks(table: dict[str, Any], field: str) -> None:
    scenario = Scenario(defaults="1996", **{"framing": "ip", "switch": {"buffer": "50 packets"}, **table})
    with pytest.raises(ScenarioError, match=rf"^{re.escape(field)}: .*longpipe run does$"):
        lab.fragment(scenario)


def test_command_rejects_jitter_with_a_table_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "two.dist"
    file.write_text("-4096 4096\n", encoding="utf-8")
    jitter = {"kind": "jitter", "delay": "20 ms", "jitter": "10 ms", "distribution": str(file)}
    with pytest.raises(ScenarioError, match=r"^network\.conditioners\[0\]\.distribution: .*; needs uniform, normal"):
        lab.fragment(Scenario.example("fiber").with_(**{"network.conditioners": [jitter]}))
    assert "core=" not in lab.fragment(
        Scenario.example("fiber").with_(**{"network.conditioners": [{**jitter, "distribution": "normal"}]})
    )


def test_each_missing_part_is_a_separate_problem() -> None:
    with pytest.raises(ScenarioError) as raised:
        lab.fragment(Scenario.example("starlink").with_(warm_up="1 s"))
    assert [problem.split(":")[0] for problem in raised.value.problems] == ["warm_up", "network.path"]


def test_link_beyond_the_page_contains_the_resolved_scenario() -> None:
    starlink = Scenario.example("starlink").with_(**{"network.path.seed": 3})
    access = {"network.access": {"kind": "docsis", "max_rate": "20 Mbit/s"}}
    assert "&core=" not in lab.fragment(Scenario.example("fiber").with_(**access))
    seed, fields, core = lab.fragment(starlink, 7).split("&")
    assert seed == "#seed=7"
    assert Scenario.from_toml(unpacked(fields.removeprefix("s="))) == starlink
    assert json.loads(unpacked(core.removeprefix("core="))) == starlink.resolved
    with pytest.raises(
        ScenarioError, match=r"^network\.path: \d+ characters in the address of the lab; needs at most 100000"
    ):
        lab.fragment(starlink.with_(duration="2 h"))


@built
def test_link_whose_resolved_form_belongs_to_other_fields_is_refused() -> None:
    expanded = [preset for preset in presets(ROOT / "scenarios") if "core" in preset]
    texts = [[tomli_w.dumps(preset["fields"]), preset["core"]] for preset in expanded]
    assert texts
    assert all("core" in page for page in of_texts(texts))
    starlink = Scenario.example("starlink").with_(**{"tcp.receiver_window": "auto"})
    toml, core = starlink.to_toml(), starlink.core_json()
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda form: form.update(framing="aal5"),
        lambda form: form["links"][0].update(rate_bps=1000),
        lambda form: form["links"][0].update(conditioners=[]),
        lambda form: form["flows"][0]["tcp"].update(recovery="sack"),
        lambda form: form["flows"][0].update(route=[]),
        lambda form: form["nodes"].pop(),
    ]
    forged = [json.loads(core) for _ in changes]
    for form, change in zip(forged, changes, strict=True):
        change(form)
    whole, *others = of_texts([[toml, core], *([toml, json.dumps(form)] for form in forged)])
    assert whole["core"] == json.loads(core)
    refused = ["core: not the form of these fields; needs an unchanged link of longpipe lab"]
    assert others == [{"problems": refused}] * len(changes)


def unpacked(letters: str) -> str:
    return zlib.decompress(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))).decode()


@built
def test_the_command_rejects_a_scenario_if_the_page_does() -> None:
    files = [file.read_text() for file in (ROOT / "scenarios").glob("*.toml")] + [example(name) for name in EXAMPLES]
    scenarios = [Scenario.from_toml(text) for text in files]
    scenarios += [
        Scenario(defaults="1996", **{"framing": "ip", "switch": {"buffer": "50 packets"}, **table})
        for table, _ in BEYOND
    ]
    refused = [refuses(scenario) for scenario in scenarios]
    assert ["problems" in found for found in of_page([tomllib.loads(one.to_toml()) for one in scenarios])] == refused
    assert sum(refused) == len(BEYOND) + len(set(MOVING))


def refuses(scenario: Scenario) -> bool:
    """Returns whether `longpipe lab` rejects a scenario that is no preset."""
    try:
        beyond.check(scenario)
    except ScenarioError:
        return True
    return False


@pytest.mark.parametrize("name", MOVING)
def test_an_example_that_the_page_cannot_resolve_is_opened_as_its_preset(tmp_path: Path, name: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(example(name), encoding="utf-8")
    assert lab.fragment(file, 7) == f"#preset={name}&seed=7"
    (preset,) = (one for one in presets(None) if one["name"] == name)
    assert "core" in preset


def section(content: bytes) -> bytes:
    """Returns a custom section of a WebAssembly module without a name."""
    return bytes([0, len(content) + 1, 0]) + content


@built
def test_modules_are_resolved_and_refused_as_python_does(tmp_path: Path) -> None:
    """Compares digest, text of parameters, clock, and the errors about unknown parameters and changed files."""
    file = tmp_path / "mine.wasm"
    facts = (b"interface=1", b"parameter=beta:real", b"parameter=gain:integer", b"parameter=name:text")
    file.write_bytes(b"\0asm\x01\0\0\0" + b"".join(section(b"\1longpipe\1" + fact + b"\0") for fact in facts))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    settings: list[dict[str, Any]] = [
        {},
        {"parameters": {"gain": 2, "beta": 0.5}},
        {"parameters": {"beta": 1e-7, "gain": True, "name": "a b"}},
        {"parameters": {"beta": 1.0}, "hz": 100, "digest": digest},
        {"parameters": {"bet": 1.0}},
        {"parameters": {"beta": [1]}},
        {"parameters": 5},
        {"parameters": {f"p{i}": i for i in range(65)}},
        {"digest": "0" * 64},
        {"digest": "x"},
        {"hz": 5000},
        {"speed": 1},
    ]
    tables: list[dict[str, Any]] = [
        {"framing": "ip", "tcp": {"congestion": {"kind": "module", "file": str(file), **own}}} for own in settings
    ]
    tables.append({**tables[1], "tcp": {**tables[1]["tcp"], "recovery": "rack", "hz": 300}})
    flow = {"name": "a", "tcp": {"congestion": {"kind": "module", "file": str(file), "parameters": {"beta": 2.5}}}}
    tables.append({"framing": "ip", "network": {"kind": "dumbbell", "group": [flow, {"name": "b"}]}})
    assert_equal(tables, file)
    assert sum("core" in of_python(table) for table in tables) == 6
    (page,) = of_page(tables[:1])
    needs = "needs a WebAssembly module (.wasm) that was opened before or together with this"
    assert page == {"problems": [f"tcp.congestion.file: '{file}'; is not in this page, {needs}"]}


@built
def test_excessive_repetition_is_rejected_as_in_python() -> None:
    assert_equal([fields for _, fields in EXCESSIVE])


@built
def test_constraints_are_worded_as_on_the_command_line() -> None:
    # The page rejects adaptive video and live media.
    shown = [changes for (model, _), changes, _ in CASES if model not in {"AdaptiveVideo", "Media"}]
    tables: list[dict[str, Any]] = []
    for changes in shown:
        table: dict[str, Any] = {"framing": "ip", "switch": {"buffer": "20 packets"}}
        for path, value in changes.items():
            table = turned(table, path, value)
        tables.append(table)
    assert len(tables) > 20
    assert_equal(tables)


def test_page_knows_every_part_and_every_unit() -> None:
    described = models()
    assert {"Scenario", "Dumbbell", "Graph", "Tcp", "Web", "Fba", "OnOff", "VbrFlow"} <= set(described)
    duration = next(field for field in described["Scenario"]["fields"] if field["name"] == "duration")
    assert (duration["default"], duration["type"]["low"], duration["type"]["suffix"]) == ("10 s", "1 ps", "ps")
    json.dumps(described, allow_nan=False)


def test_script_prints_the_data_of_the_page() -> None:
    script = ROOT / "lab" / "describe.py"
    done = subprocess.run([sys.executable, script, ROOT / "scenarios"], capture_output=True, text=True, check=True)
    assert done.stdout == json.dumps(description(all_presets()))


def test_the_command_opens_the_page_with_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    page.touch()
    opened: list[str] = []
    monkeypatch.setattr(lab, "PAGE", page)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    scenario = str(ROOT / "scenarios" / "lan-5-epd.toml")
    done = CliRunner().invoke(app, ["lab", scenario, "--seed", "7"], catch_exceptions=False)
    assert done.exit_code == 0
    assert opened == [done.stdout.strip()]
    assert opened[0].startswith(f"{page.as_uri()}#seed=7&s=")
    assert CliRunner().invoke(app, ["lab", "--print"]).stdout.strip() == str(page)
    assert len(opened) == 1
    with pytest.raises(ScenarioError, match=r"^--seed: needs FILE\.toml$"):
        CliRunner().invoke(app, ["lab", "--seed", "7"], catch_exceptions=False)


def test_lab_prints_address_in_published_page() -> None:
    scenario = str(ROOT / "scenarios" / "lan-5-epd.toml")
    base = "https://example.org/lab.html"
    done = CliRunner().invoke(app, ["lab", scenario, "--seed", "7", "--print", "--base", base], catch_exceptions=False)
    assert done.stdout == f"{base}{lab.fragment(Path(scenario), 7)}\n"
    assert done.stderr == ""
    with pytest.raises(ScenarioError, match=r"^--base: 'lab\.html#'; needs a URL without '#'"):
        CliRunner().invoke(app, ["lab", "--print", "--base", "lab.html#"], catch_exceptions=False)
    with pytest.raises(ScenarioError, match=r"^--base: needs --print$"):
        CliRunner().invoke(app, ["lab", "--base", base], catch_exceptions=False)


def test_a_page_of_another_engine_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    monkeypatch.setattr(lab, "PAGE", page)
    page.write_text(f'<script>var a={{version:"0.2.0",engine:"{_core.__engine__}",models:{{}}}}</script>')
    assert lab.outdated() is None
    assert CliRunner().invoke(app, ["lab", "--print"]).stderr == ""
    page.write_text('<script>var a={version:"0.2.0",engine:"3",models:{}}</script>')
    warning = f"the page has engine 3, longpipe has {_core.__engine__}, so results may differ; needs make lab"
    assert CliRunner().invoke(app, ["lab", "--print"]).stderr == f"warning: {page}: {warning}\n"
    assert warning in " ".join(CliRunner().invoke(app, ["doctor"]).stdout.split())


def test_the_engine_of_the_built_page_is_found() -> None:
    if lab.PAGE.exists():
        assert lab._ENGINE.search(lab.PAGE.read_text(encoding="utf-8")) is not None


def test_a_notebook_shows_the_page_with_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make lab-test` opens such an output in Chromium, and compares the state hash."""
    page = tmp_path / "page.html"
    page.write_bytes(b"<title>page</title>")
    monkeypatch.setattr(lab, "PAGE", page)
    file = ROOT / "scenarios" / "lan-5-epd.toml"
    html = lab.embed(Scenario.from_toml(file), 7, height=500)._repr_html_()
    packed = re.search(r'atob\("([^"]+)"\)', html)
    assert packed is not None
    assert gzip.decompress(base64.b64decode(packed[1])) == page.read_bytes()
    assert f'.src = address + "{lab.fragment(file, 7)}"' in html
    assert "height: 500px" in html
    assert '.src = address + ""' in lab.embed()._repr_html_()
    for wrong in (0, -5, 10**6, "90%", 500.0, True):
        with pytest.raises(ScenarioError, match=r"^height: .*; needs a whole number of pixels from 200 to 10000$"):
            lab.embed(height=wrong)  # type: ignore[arg-type]
    monkeypatch.setattr(lab, "PAGE", tmp_path / "missing.html")
    with pytest.raises(RunError, match=r"missing\.html is missing; needs a build of longpipe that contains the page"):
        lab.embed()


def test_a_widget_shows_a_scenario_and_returns_that_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make lab-test` displays the widget in Chromium."""
    pytest.importorskip("anywidget")
    page = tmp_path / "page.html"
    page.write_bytes(b"<title>page</title>")
    monkeypatch.setattr(lab, "PAGE", page)
    file = ROOT / "scenarios" / "lan-5-epd.toml"
    widget = lab.widget(file, 7, height=500)
    assert gzip.decompress(widget.page) == page.read_bytes()
    assert (widget.height, widget.fragment) == (500, lab.fragment(file, 7))
    assert (widget.scenario, widget.seed) == (Scenario.from_toml(file), 7)
    with pytest.raises(RunError, match=r"^lab: the page has not completed a run; needs the widget as the output of"):
        _ = widget.state_hash
    # The page reports a run.
    seen: list[object] = []
    widget.observe(lambda change: seen.append(change["new"]["state_hash"]), names="shown")
    widget.shown = {"toml": 'framing = "ip"\nduration = "3 s"\n', "seed": str(2**64 - 1), "state_hash": "0123"}
    assert widget.scenario == Scenario(defaults="1996", framing="ip", duration="3 s")
    assert (widget.seed, widget.state_hash, seen) == (2**64 - 1, "0123", ["0123"])
    widget.unobserve_all()
    sent: list[object] = []
    monkeypatch.setattr(widget, "send", sent.append)
    widget.show(Scenario.example("fiber"))
    assert widget.scenario == Scenario.example("fiber")
    assert sent == [{"fragment": lab.fragment(Scenario.example("fiber"))}]
    # Without a scenario, the page shows its lesson, which Python learns from the first run.
    lesson = lab.widget()
    assert lesson.fragment == ""
    with pytest.raises(RunError, match=r"^lab: the page has not completed a run"):
        _ = lesson.scenario
    with pytest.raises(ScenarioError, match=r"^height: 0; needs a whole number of pixels"):
        lab.widget(height=0)
    with pytest.raises(ScenarioError, match=r"^seed: 7; needs a scenario"):
        lab.widget(seed=7)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(RunError, match=r"^lab: anywidget is not installed; get it: pip install 'longpipe\[widget\]'$"):
        lab.widget()


def test_missing_page_reports_how_to_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "PAGE", tmp_path / "page.html")
    with pytest.raises(RunError, match=r"`make lab` in its sources, which requires node 18.19.*docs/lab.md"):
        lab.address()
    with pytest.raises(ScenarioError, match=r"nope\.toml: cannot be read"):
        lab.address(Path("nope.toml"))


def test_links_of_the_pages_lead_to_existing_presets_and_steps() -> None:
    names = {preset["name"] for preset in all_presets()}
    link = re.compile(r"\(lab\.md#((?:preset|step|exercise)=[^)]*)\)")
    links = [found for page in (ROOT / "docs").glob("*.md") for found in link.findall(page.read_text())]
    assert len(links) > 20
    assert {found.removeprefix("preset=") for found in links if found.startswith("preset=")} <= names
    places = {f"step={number}" for number in range(1, 9)} | {f"exercise={number}" for number in range(1, 13)}
    assert {found for found in links if not found.startswith("preset=")} <= places


def test_exercise_names_the_buffer_and_the_rtt_of_its_path() -> None:
    exercise = exercises()[0]
    assert isinstance(exercise.why, str)
    said = re.search(r"0\.43 BDP keeps the link busy all the time, here ([\d.]+) ms", exercise.why)
    rtt = re.search(r"so the RTT grows from (\d+) ms to a second", exercise.text)
    assert said is not None
    assert rtt is not None
    changes = {"duration": "1 s", "traces.rtt": True, "switch.buffer": "1 s", "tcp.mss": "1448 B"}
    least_ms = 1000 * simulate(Scenario(**exercise.scenario).with_(**changes)).traces["rtt"]["rtt_s"].min()
    assert int(rtt[1]) == int(least_ms)
    assert float(said[1]) == pytest.approx(0.43 * int(rtt[1]), abs=0.05)
