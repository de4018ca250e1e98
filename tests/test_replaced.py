"""Warnings about rates and delays that paths replace, for every kind of path and every place of a path."""

import json
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from pydantic import TypeAdapter

from longpipe import Scenario
from longpipe.cautions.cautions import cautions
from longpipe.scenario.motion import OwnSatellites
from longpipe.scenario.motion import Path as AnyPath
from longpipe.scenario.starlink import Starlink

BASE: Final = """
framing = "ip"
duration = "5 s"
switch.buffer = "100 packets"
tcp.receiver_window = "auto"
tcp.mss = "1448 B"
"""
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
    "lens.csv": (
        {"file": "lens.csv"},
        "timestamp,rtt,uplink,downlink\n1705744800000000000,30,15,15\n1705744801000000000,31,15,16\n",
    ),
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
    """Returns a dumbbell over IP, whose receiver's window fills any path."""
    return Scenario.from_toml(BASE).with_(
        **{f"network.{field}": value for field, value in {"sources": 1, **network}.items()}
    )


def graph(**link: object) -> Scenario:
    """Returns two hosts behind two switches, whose link has the given fields."""
    links: list[dict[str, object]] = [
        {"between": ["a", "r1"], "rate": "1 Gbit/s", "delay": "1 ms"},
        {"between": ["r1", "r2"], **link},
        {"between": ["r2", "b"], "rate": "1 Gbit/s", "delay": "1 ms"},
    ]
    nodes = [{"name": name, "kind": "host" if name in "ab" else "switch"} for name in ("a", "r1", "r2", "b")]
    flows = [{"name": "f", "from": "a", "to": "b"}]
    return scenario().with_(network={"kind": "graph", "nodes": nodes, "links": links, "flows": flows})


def of_rates(scenario: Scenario) -> list[str]:
    """Returns the warnings about rates."""
    return [line for line in cautions(scenario) if "rate: " in line]


def test_each_kind_of_path_is_tested() -> None:
    paths: TypeAdapter[object] = TypeAdapter(AnyPath)
    kinds = {type(paths.validate_python(path)) for path, *_ in (*RATED.values(), *UNRATED.values())}
    # Paths over satellites of one's own are resolved like those over a shell. A Starlink path has rates for both
    # directions (tests/test_starlink.py).
    assert kinds == set(get_args(get_args(AnyPath)[0])) - {OwnSatellites, Starlink}


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
def test_replaced_rates_of_return_path_and_graph_cause_warnings(kind: str, tmp_path: Path) -> None:
    path, content, rates = RATED[kind]
    moved = written(path, content, tmp_path)
    back = scenario(trunk_rate="20 Mbit/s", return_path=moved)
    has = f"network.return_path has {rates}"
    assert of_rates(back) == [f"network.return_rate: not given, 20 Mbit/s determines sizes in BDP and auto; {has}"]
    assert of_rates(back.with_(**{"network.return_rate": "50 Mbit/s"})) == [
        f"network.return_rate: 50 Mbit/s {ONLY}; {has}"
    ]
    has = f"network.links[1].path has {rates}"
    assert of_rates(graph(rate="90 Mbit/s", delay="20 ms", return_rate="10 kbit/s", path=moved)) == [
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


def test_a_delay_that_a_path_replaces_causes_a_warning() -> None:
    pytest.importorskip("sgp4")
    path = {"shell": "starlink-550", "from": "London", "to": "New York"}
    changed = Scenario.example("geo").with_(**{"network.path": path, "duration": "5 s"})
    (line,) = (line for line in cautions(changed) if "trunk_delay" in line)
    assert line.startswith("network.trunk_delay: 290 ms is not used; network.path has delays of 21.")
    # The delay of this example is among those of its path, and the default delay was not chosen.
    for other in (Scenario.example("starlink"), scenario(path=path)):
        assert not any("trunk_delay" in line for line in cautions(other))


def test_every_field_that_a_path_replaces_causes_a_warning(tmp_path: Path) -> None:
    (tmp_path / "radio.csv").write_text(
        "time,rate,delay\n0,20Mbit/s,20ms\n1,80Mbit/s,40ms\n2,10Mbit/s,60ms\n", encoding="utf-8"
    )
    base = scenario(path={"file": str(tmp_path / "radio.csv")}, trunk_rate="20 Mbit/s", trunk_delay="40 ms")
    assert cautions(base) == []
    rates, delays = "network.path has rates of 10 Mbit/s to 80 Mbit/s", "network.path has delays of 20 ms to 60 ms"
    both = " in both directions; for a constant return direction, set network.return_path = {kind = 'moving'}"
    for field, value, said in (
        # The delay is within the path's range, but not among its delays.
        ("trunk_delay", "50 ms", f"is not used; {delays}"),
        ("return_delay", "50 ms", f"is not used; {delays}{both}"),
        ("return_rate", "50 Mbit/s", f"only determines sizes in BDP and auto; {rates}{both}"),
        ("trunk_rate", "90 Mbit/s", f"only determines sizes in BDP and auto; {rates}"),
    ):
        assert cautions(base.with_(**{f"network.{field}": value})) == [f"network.{field}: {value} {said}"]
    # A rate of the return path of its own replaces nothing where that path has delays only.
    own = {"network.return_path": {"delay": [["0 s", "10 ms"]]}, "network.return_rate": "50 Mbit/s"}
    assert cautions(base.with_(**own)) == []


def test_replaced_return_rate_and_delay_cause_a_warning() -> None:
    link = {"rate": "100 Mbit/s", "delay": "20 ms", "return_rate": "1 Mbit/s"}
    path = {"rate": [["0 s", "20 Mbit/s"]]}
    rate = "network.links[1].return_rate: 1 Mbit/s only determines sizes in BDP and auto; network.links[1].path has a "
    found = [line for line in cautions(graph(**link, path=path, return_delay="5 ms")) if "return_" in line]
    constant = "for a constant return direction, set network.links[1].return_path = {kind = 'moving'}"
    assert found == [f"{rate}rate of 20 Mbit/s in both directions; {constant}"]
    own = graph(**link, return_path={"rate": [["0 s", "1 Mbit/s"]]})
    assert not [line for line in cautions(own) if "return_" in line]


def test_default_rate_unlike_the_paths_rates_causes_a_warning() -> None:
    path = {"kind": "moving", "rate": [["0 s", "4 Mbit/s"], ["2 s", "20 Mbit/s"]]}
    changed = scenario(path=path)
    (line,) = (line for line in cautions(changed) if "trunk_rate" in line)
    assert line == (
        "network.trunk_rate: not given, 155.52 Mbit/s determines sizes in BDP and auto; "
        "network.path has rates of 4 Mbit/s to 20 Mbit/s"
    )
    assert not any("trunk_rate" in line for line in cautions(changed.with_(**{"network.trunk_rate": "20 Mbit/s"})))
