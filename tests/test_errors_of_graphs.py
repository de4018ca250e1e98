from itertools import pairwise
from typing import Any

import pytest

from longpipe import Scenario
from test_errors import message

LINK: dict[str, Any] = {"rate": "1 Mbit/s", "delay": "1 ms"}
GRAPH: dict[str, Any] = {
    "kind": "graph",
    "nodes": [{"name": "a", "kind": "host"}, {"name": "s", "kind": "switch"}, {"name": "b", "kind": "host"}],
    "links": [{"between": ["a", "s"], **LINK}, {"between": ["s", "b"], **LINK}],
    "flows": [{"name": "f", "from": "a", "to": "b"}],
}


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("nodes", [], "network.nodes: empty; needs at least two hosts"),
        ("flows", [], "network.flows: empty; needs at least one flow"),
        (
            "nodes",
            [3, *GRAPH["nodes"][1:]],
            "network.nodes[0]: 3; needs a table of fields: name, kind, send_jitter, pep",
        ),
        (
            "nodes",
            [*GRAPH["nodes"], {"name": "a", "kind": "host"}],
            "network.nodes[3].name: 'a' is the name of network.nodes[0]; needs a unique name",
        ),
        (
            "flows",
            GRAPH["flows"] * 2,
            "network.flows[1].name: 'f' is the name of network.flows[0]; needs a unique name",
        ),
        (
            "nodes",
            [{"name": "a", "kind": "router"}, *GRAPH["nodes"][1:]],
            "network.nodes[0].kind: 'router'; accepts host, switch",
        ),
        (
            "links",
            [*GRAPH["links"], {"between": ["b", "s"], **LINK}],
            "network.links[2].between: b and s are already linked; needs each pair once",
        ),
        (
            "links",
            [*GRAPH["links"], {"between": ["s", "c"], **LINK}],
            "network.links[2].between: 'c' is not a node; accepts a, s, b",
        ),
        (
            "links",
            [*GRAPH["links"], {"between": ["s", "s"], **LINK}],
            "network.links[2].between: both are 's'; needs two different nodes",
        ),
        ("links", GRAPH["links"][:1], "network.flows[0]: no path from 'a' to 'b'; needs links through switches"),
        (
            "links",
            [{"between": ["a", "s"], "rate": "1 Mbit/s"}],
            "network.links[0].delay: missing; needs a propagation delay [time], as in '5 ms'",
        ),
        (
            "flows",
            [{"name": "f", "from": "a", "to": "s"}],
            "network.flows[0].to: 's' is not a host; accepts a, b",
        ),
        ("flows", [{"name": "f", "from": "a", "to": "a"}], "network.flows[0].to: 'a' is also the sender; needs another host"),
        (
            "flows",
            [{"name": "f", "from": "a", "to": "b", "route": ["a", "b"]}],
            "network.flows[0].route: a -> b; is not connected, there is no link between 'a' and 'b'",
        ),
        (
            "flows",
            [{"name": "f", "from": "a", "to": "b", "route": ["a", "s"]}],
            "network.flows[0].route: a -> s; needs to lead from 'a' to 'b'",
        ),
        (
            "flows",
            [{"name": "f", "from": "a", "to": "b", "tcp": {"mss": "0 B"}}],
            "network.flows[0].tcp.mss: 0 B; needs 1 B to 65000 B",
        ),
        (
            "flows",
            [{"name": "f", "from": "a", "to": "b", "tcp": {"receiver_window": "100 B"}}],
            "network.flows[0].tcp.receiver_window: 100 B; needs at least one segment (512 B)",
        ),
        ("flows", [{"name": "f g", "from": "a", "to": "b"}], "network.flows[0].name: 'f g'; needs 1 to 64 letters, digits, '_', '.' or '-'"),
    ],
)  # fmt: skip
def test_bad_graph_is_rejected_with_its_place(part: str, value: object, expected: str) -> None:
    assert (
        message(
            lambda: Scenario(
                defaults="1996", network=Scenario(defaults="1996").with_(network={**GRAPH, part: value}).network
            )
        )
        == expected
    )


VBR_GRAPH: dict[str, Any] = {
    **GRAPH,
    "nodes": [*GRAPH["nodes"], *({"name": name, "kind": "host"} for name in "cde")],
    "links": [
        *GRAPH["links"],
        {"between": ["c", "s"], **LINK},
        {"between": ["s", "d"], **LINK},
        {"between": ["c", "e"], **LINK},
    ],
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"from": "a", "to": "d"}, "network.vbr[0].from: 'a' sends other cells too; needs its own host"),
        ({"from": "c", "to": "x"}, "network.vbr[0].to: 'x' is not a host; accepts a, b, c, d, e"),
        ({"from": "c", "to": "c"}, "network.vbr[0].to: 'c' is also the sender; needs another host"),
        (
            {"from": "c", "to": "d", "rate": "2 Mbit/s"},
            "network.vbr[0].rate: 2 Mbit/s; needs at most the rate of its slowest link, 1 Mbit/s",
        ),
        ({"from": "c", "to": "e"}, "network.vbr[0].route: c -> e; needs a switch between its two hosts"),
    ],
)
def test_bad_vbr_source_is_rejected_with_its_place(source: dict[str, str], expected: str) -> None:
    network = {**VBR_GRAPH, "vbr": [{"name": "v", **source}]}
    assert (
        message(lambda: Scenario(defaults="1996").with_(network=network, **{"switch.scheduler": "priority"}))
        == expected
    )


def test_path_longer_than_the_time_range_is_rejected() -> None:
    switches = [f"s{i}" for i in range(1000)]
    nodes = [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}]
    nodes += [{"name": name, "kind": "switch"} for name in switches]
    links = [{**LINK, "between": ends, "delay": "1000 s"} for ends in pairwise(["a", *switches, "b"])]
    network = {**GRAPH, "nodes": nodes, "links": links}
    assert message(lambda: Scenario(defaults="1996").with_(network=network)).splitlines() == [
        f"network.flows[0].{way}: 1001 links of 1001000 s in total; needs at most 1000000 s"
        for way in ("route", "return_route")
    ]
