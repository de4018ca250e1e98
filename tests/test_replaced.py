"""Warnings about rates and delays that paths replace, for every kind of path and every place of a path."""

import json
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from pydantic import TypeAdapter

from longpipe import Scenario
from longpipe.analysis.cautions import cautions
from longpipe.scenario.motion import OwnSatellites
from longpipe.scenario.motion import Path as AnyPath

MEAN: Final = "a mean rate of 1203 kbit/s"
STEPS: Final = "rates of 2 Mbit/s to 6 Mbit/s"
DEFAULT: Final = "not given, 155.52 Mbit/s determines sizes in BDP and auto"
ONLY: Final = "only determines sizes in BDP and auto"
CONSTANT: Final = " in both directions; for a constant return direction, set {}.return_path = {{kind = 'moving'}}"
# A path of each kind and format that has rates of its own, with the content of its file and its rates in words.
RATED: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    # Over 5 s, an opportunity of 1504 bytes every 10 ms.
    "cell.down": ({"file": "cell.down"}, "10\n20\n30\n", MEAN),
    "path.csv": ({"file": "path.csv"}, "time,rate [Mbit/s]\n0,2\n1,6\n", STEPS),
    "rtt.csv": (
        {"file": "rtt.csv"}, "time_s,from,to,rtt_ns,links,rate [Mbit/s]\n0,a,b,30000000,2,2\n1,a,b,31000000,2,6\n", STEPS,
    ),
    "steps": ({"rate": [["0 s", "2 Mbit/s"], ["1 s", "6 Mbit/s"]]}, "", STEPS),
    "cycle": ({"rate": [["0 s", "2 Mbit/s"], ["1 s", "6 Mbit/s"]], "rate_cycle": "2 s"}, "", STEPS),
    "symbols": (
        {"symbol_rate": "2 Mbaud", "esn0": [["0 s", 1.0], ["1 s", 12.0]], "between": "hold"}, "",
        "rates of 1977716 bit/s to 6600368 bit/s",
    ),
    "modcods.csv": (
        {"symbol_rate": "2 Mbaud", "esn0": [["0 s", 1], ["1 s", 12]], "between": "hold", "modcods": "modcods.csv"},
        "modcod,esn0,efficiency\na,0,1\nb,10,3\n", STEPS,
    ),
}  # fmt: skip
# Paths whose rate is that of the link.
UNRATED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "delay": ({"delay": [["0 s", "20 ms"]]}, ""),
    "outages": ({"outages": {"every": "2 s"}}, ""),
    "constant": ({"kind": "moving"}, ""),
    "delay.csv": ({"file": "delay.csv"}, "time,delay,loss\n0,5 ms,0\n1,6 ms,0\n"),
    "lens.csv": ({"file": "lens.csv"}, "timestamp,rtt,uplink,downlink\n0,30,15,15\n1000000000,31,15,16\n"),
    "irtt.json": (
        {"file": "irtt.json"},
        json.dumps(
            {
                "round_trips": [
                    {
                        "timestamps": {"client": {"send": {"monotonic": 1}}},
                        "delay": {"rtt": 30_000_000},
                        "lost": "false",
                    }
                ]
            }
        ),
    ),
    "satellites": ({"shell": "starlink-550", "from": "London", "to": "New York"}, ""),
    "routers": ({"shell": "starlink-550", "from": "London", "to": "New York", "as": "graph"}, ""),
}


def written(path: dict[str, Any], content: str, folder: Path) -> dict[str, Any]:
    """Writes the file of a path, if it has one, and returns the path with the file's full name."""
    moved = dict(path)
    for field in ("file", "modcods"):
        if field in path:
            (folder / path[field]).write_text(content, encoding="utf-8")
            moved[field] = str(folder / path[field])
    return moved


def scenario(**network: object) -> Scenario:
    """Returns a dumbbell over IP."""
    return Scenario.from_toml('framing = "ip"\nduration = "5 s"\nswitch.buffer = "100 packets"').with_(
        **{f"network.{field}": value for field, value in {"sources": 1, **network}.items()}
    )


def of_rates(scenario: Scenario) -> list[str]:
    """Returns the warnings about rates."""
    return [line for line in cautions(scenario) if "rate: " in line]


def test_each_kind_of_path_is_tested() -> None:
    paths: TypeAdapter[object] = TypeAdapter(AnyPath)
    kinds = {type(paths.validate_python(path)) for path, *_ in (*RATED.values(), *UNRATED.values())}
    # Paths over satellites of one's own are resolved like those over a shell.
    assert kinds == set(get_args(get_args(AnyPath)[0])) - {OwnSatellites}


@pytest.mark.parametrize("kind", RATED)
def test_a_path_with_rates_causes_warnings_about_rates_that_only_determine_sizes(kind: str, tmp_path: Path) -> None:
    path, content, rates = RATED[kind]
    has = f"network.path has {rates}"
    plain = scenario(path=written(path, content, tmp_path))
    assert of_rates(plain) == [f"network.trunk_rate: {DEFAULT}; {has}"]
    # A rate within those of the path was given for sizes.
    sized = plain.with_(**{"network.trunk_rate": "1.2 Mbit/s" if rates == MEAN else "4 Mbit/s"})
    assert of_rates(sized) == []
    given = sized.with_(**{"network.trunk_rate": "90 Mbit/s", "network.return_rate": "10 kbit/s"})
    assert of_rates(given) == [
        f"network.trunk_rate: 90 Mbit/s {ONLY}; {has}",
        f"network.return_rate: 10 kbit/s {ONLY}; {has}{CONSTANT.format('network')}",
    ]
    # The remedy of the warning: the return direction has its constant rate.
    constant = sized.with_(**{"network.return_rate": "10 kbit/s", "network.return_path": {"kind": "moving"}})
    assert of_rates(constant) == []
    links = constant.resolve()["links"]
    assert ["service" in link.get("motion", {}) for link in links] == [False, False, True, False, False, False]


@pytest.mark.parametrize("kind", RATED)
def test_a_return_path_and_a_link_of_a_graph_with_rates_cause_warnings(kind: str, tmp_path: Path) -> None:
    path, content, rates = RATED[kind]
    moved = written(path, content, tmp_path)
    back = scenario(trunk_rate="20 Mbit/s", return_path=moved)
    has = f"network.return_path has {rates}"
    assert of_rates(back) == [f"network.return_rate: not given, 20 Mbit/s determines sizes in BDP and auto; {has}"]
    assert of_rates(back.with_(**{"network.return_rate": "50 Mbit/s"})) == [
        f"network.return_rate: 50 Mbit/s {ONLY}; {has}"
    ]
    links: list[dict[str, object]] = [
        {"between": ["a", "r1"], "rate": "1 Gbit/s", "delay": "1 ms"},
        {"between": ["r1", "r2"], "rate": "90 Mbit/s", "delay": "20 ms", "return_rate": "10 kbit/s", "path": moved},
        {"between": ["r2", "b"], "rate": "1 Gbit/s", "delay": "1 ms"},
    ]
    network = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": "host" if name in "ab" else "switch"} for name in ("a", "r1", "r2", "b")],
        "links": links,
        "flows": [{"name": "f", "from": "a", "to": "b"}],
    }
    has = f"network.links[1].path has {rates}"
    assert of_rates(scenario().with_(network=network)) == [
        f"network.links[1].rate: 90 Mbit/s {ONLY}; {has}",
        f"network.links[1].return_rate: 10 kbit/s {ONLY}; {has}{CONSTANT.format('network.links[1]')}",
    ]


@pytest.mark.parametrize("kind", UNRATED)
def test_a_path_without_rates_has_those_of_the_link(kind: str, tmp_path: Path) -> None:
    if "satellites" in kind or "routers" in kind:
        pytest.importorskip("sgp4")
    path, content = UNRATED[kind]
    back = {} if kind == "routers" else {"return_rate": "1 Mbit/s"}
    assert of_rates(scenario(path=written(path, content, tmp_path), **back)) == []


def test_a_delay_that_routes_over_satellites_replace_causes_a_warning() -> None:
    pytest.importorskip("sgp4")
    said = "network.trunk_delay: 290 ms is not used; network.path has the delays of satellites"
    assert said in cautions(scenario(path=UNRATED["routers"][0], trunk_delay="290 ms"))
