"""The resolver in crates/scenario agrees with exact arithmetic in Python, and its messages with those of Python."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs import as_graph
from longpipe import Scenario, ScenarioError
from longpipe.errors import nearest
from longpipe.units import SIZE, TIME

NAMES = st.text("abcd.-1", min_size=1, max_size=64)
# Round trip of the network, without queues.
ROUND_TRIP_PS = 2 * (5 + 20 + 5) * 10**9


def network(rate_bps: int, **link: object) -> dict[str, Any]:
    delays = {"a": "5 ms", "b": "5 ms"}
    hosts = [
        {"between": [host, switch], "rate": "10 Tbit/s", "delay": delays[host]}
        for host, switch in (("a", "s"), ("b", "t"))
    ]
    return {
        "kind": "graph",
        "nodes": [
            *({"name": name, "kind": "host"} for name in "ab"),
            *({"name": name, "kind": "switch"} for name in "st"),
        ],
        "links": [*hosts, {"between": ["s", "t"], "rate": f"{rate_bps} bit/s", "delay": "20 ms", **link}],
        "flows": [{"name": "f", "from": "a", "to": "b"}],
    }


@settings(max_examples=200, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=20, unique=True), NAMES)
def test_unknown_node_suggests_the_name_that_difflib_finds(names: list[str], word: str) -> None:
    nodes = [{"name": name, "kind": "host"} for name in names if name != word]
    nodes.append({"name": "last", "kind": "host"})
    link = {"between": [word, "last"], "rate": "1 Mbit/s", "delay": "1 ms"}
    flow = {"name": "f", "from": "last", "to": "last"}
    with pytest.raises(ScenarioError) as refused:
        Scenario(
            defaults="1996", framing="ip", network={"kind": "graph", "nodes": nodes, "links": [link], "flows": [flow]}
        )
    accepted = nearest(word, [node["name"] for node in nodes], 12)
    assert refused.value.problems == (f"network.links[0].between: {word!r} is not a node; {accepted}",)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(10**3, 10**13),
    st.decimals("0.000001", "1000000", places=6),
    st.sampled_from(["BDP", "packets", "ms", "KiB", "cells"]),
    st.sampled_from(["ip", "aal5"]),
)
def test_buffer_is_the_exact_size_rounded_down(rate_bps: int, number: Decimal, unit: str, framing: str) -> None:
    value = Fraction(str(number))
    packet, cells = 512 + 40, math.ceil((512 + 40 + 16) / 48)
    bits = rate_bps * value * (ROUND_TRIP_PS if unit == "BDP" else TIME.units.get(unit, 0)) / 10**12
    if framing == "aal5":
        exact = {"cells": value, "packets": value * cells}.get(unit, bits / (8 * 53))
        expected = None if unit == "KiB" or not cells <= math.floor(exact) <= 10**9 else ("cells", math.floor(exact))
    elif unit == "KiB":
        exact = value * SIZE.units[unit]
        expected = ("bytes", int(exact)) if exact >= packet else None
    else:
        exact = value if unit == "packets" else bits / (8 * packet)
        expected = ("packets", math.floor(exact)) if unit != "cells" and exact >= 1 else None
    fields: dict[str, Any] = {"framing": framing, "network": network(rate_bps, buffer=f"{number:f} {unit}")}
    try:
        buffer = Scenario(defaults="1996", **fields, switch={"buffer": "unlimited"}).resolved["links"][4]["buffer"]
    except ScenarioError:
        buffer = None
    whole = unit not in ("KiB", "cells") or (value * SIZE.units.get(unit, 1)).denominator == 1
    assert buffer == (None if expected is None or not whole else dict(zip(("unit", "limit"), expected, strict=True)))


@settings(max_examples=100, deadline=None)
@given(st.integers(10**3, 10**12), st.integers(1, 10**6))
def test_automatic_window_is_twice_bdp_and_buffer(rate_bps: int, packets: int) -> None:
    fields: dict[str, Any] = {"framing": "ip", "network": network(rate_bps, buffer=f"{packets} packets")}
    tcp = {"receiver_window": "auto", "mss": "1460 B"}
    (flow,) = Scenario(defaults="1996", **fields, switch={"buffer": "unlimited"}, tcp=tcp).resolved["flows"]
    bdp = rate_bps * ROUND_TRIP_PS // (8 * 10**12)
    # The port at the receiver's side has an unlimited buffer, which counts as one BDP.
    wanted = 2 * (bdp + max(bdp, packets * 1500))
    assert flow["tcp"]["receiver_window_bytes"] == min(max(64 * 1024, wanted), 2**30)


groups = st.lists(
    st.fixed_dictionaries(
        {"count": st.integers(1, 4)},
        optional={
            "direction": st.just("back"),
            "access_delay": st.sampled_from(["5 us", "3 ms"]),
            "exit_delay": st.sampled_from(["5 us", "9 ms"]),
            "start": st.sampled_from([{"kind": "staggered", "interval": "70 ms"}, {"kind": "random", "over": "1 s"}]),
            "tcp": st.sampled_from([{"receiver_window": "auto"}, {"mss": "1460 B"}]),
            "class": st.integers(0, 2),
        },
    ),
    min_size=1,
    max_size=4,
)
dumbbells = st.fixed_dictionaries(
    {"kind": st.just("dumbbell"), "group": groups},
    optional={
        "pep": st.sampled_from([{"buffer": "1 MB"}, {"buffer": "9 KB", "at": "switch2", "tcp": {"mss": "900 B"}}]),
        "host_policy": st.just("fq-codel"),
        "return_rate": st.just("2 Mbit/s"),
        "trunk_loss": st.just({"kind": "bernoulli", "probability": 0.01}),
    },
)


@settings(max_examples=100, deadline=None)
@given(dumbbells, st.sampled_from(["fixed", {"kind": "staggered", "first": "1 s", "interval": "0.1 s"}]))
def test_dumbbell_is_resolved_as_its_graph(network: dict[str, Any], start: object) -> None:
    network = {**network, "group": [{**group, "name": f"g{i}-"} for i, group in enumerate(network["group"])]}
    rest: dict[str, Any] = {
        "switch": {"buffer": "90 packets"},
        "traffic": {"kind": "transfer", "size": "1 MB"},
        "start": start,
    }
    dumbbell = Scenario(defaults="1996", framing="ip", network=network, **rest)
    assert dumbbell.digest() == dumbbell.with_(network=as_graph(dumbbell.network)).digest()


@settings(max_examples=200, deadline=None)
@given(st.integers(10**12, 10**17), st.sampled_from([1, 10**3, 10**6, 6 * 10**13, 36 * 10**14]))
def test_late_start_is_formatted_in_the_shortest_unit(at_ps: int, step_ps: int) -> None:
    at_ps -= at_ps % step_ps
    if at_ps < 10**12:
        return
    with pytest.raises(ScenarioError) as refused:
        Scenario(defaults="1996", duration="1 s", start={"kind": "fixed", "at": f"{at_ps} ps"})
    assert str(refused.value) == f"start.at: {TIME.format(at_ps)}; needs less than the duration, 1 s"
