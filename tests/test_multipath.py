"""Multipath QUIC: one noq connection over two paths, each with its own routes."""

from typing import Any

import pytest

from longpipe import Result, Scenario, ScenarioError, simulate, stacks
from longpipe.verdicts.limits import limit_lines

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")

RATES_BPS = (20e6, 10e6)
# Payload of a packet of 1480 bytes, the largest of noq's MTU discovery, as a fraction of the packet.
PAYLOAD = 1452 / 1480
CUT = {
    "kind": "moving",
    "outages": {
        "intervals": [["4 s", "1000 s"]], "arriving": "drop", "waiting": "drop", "in_service": "drop",
        "in_flight": "drop",
    },
}  # fmt: skip
QUIC = {"kind": "stack", "stack": "noq"}
SECOND = {"kind": "stack-path", "of": "quic"}


def two_paths(flows: dict[str, dict[str, Any]], duration: str = "10 s", **first: object) -> Scenario:
    """Returns a client and a server with two disjoint paths, of 20 and 10 Mbit/s; `first` are fields of the first."""
    links: list[dict[str, Any]] = []
    routes = [["client", f"r{i}", f"s{i}", "server"] for i in (1, 2)]
    for i, (rate_bps, delay, others) in enumerate(zip(RATES_BPS, ("20 ms", "30 ms"), (first, {}), strict=True), 1):
        trunk = {"between": [f"r{i}", f"s{i}"], "rate": f"{rate_bps / 1e6} Mbit/s", "delay": delay, "buffer": "1 BDP"}
        access = {"rate": "1 Gbit/s", "delay": "1 ms"}
        links += [
            {"between": ["client", f"r{i}"], **access},
            trunk | others,
            {"between": [f"s{i}", "server"], **access},
        ]
    names = dict.fromkeys(name for route in routes for name in route)
    nodes = [{"name": name, "kind": "host" if name in ("client", "server") else "switch"} for name in names]
    ways = {"quic": routes[0], "second": routes[1]}
    network = {
        "kind": "graph",
        "nodes": nodes,
        "links": links,
        "flows": [
            {"name": name, "from": "client", "to": "server", "route": ways[name], "traffic": traffic}
            for name, traffic in flows.items()
        ],
    }
    return Scenario(defaults="1996", framing="ip", duration=duration, network=network)


def goodput_bps(flows: dict[str, dict[str, Any]]) -> tuple[float, list[float]]:
    """Returns the goodput of the first flow, and the payload rate of each path, from 10 to 20 s."""
    early, late = (simulate(two_paths(flows, duration)) for duration in ("10 s", "20 s"))
    bits = 8 * (late.flows.delivered_bytes[0] - early.flows.delivered_bytes[0])
    if len(flows) == 1:
        return bits / 10, []
    return bits / 10, list(8 * (late.stacks.received_bytes - early.stacks.received_bytes) / 10)


@needs_stacks
def test_goodput_over_disjoint_paths_is_the_sum_of_their_capacities() -> None:
    both, payloads_bps = goodput_bps({"quic": QUIC, "second": SECOND})
    # Both bottlenecks are always busy with full packets.
    for payload_bps, rate_bps in zip(payloads_bps, RATES_BPS, strict=True):
        assert payload_bps == pytest.approx(rate_bps * PAYLOAD, rel=1e-3)
    alone = [goodput_bps({name: QUIC})[0] for name in ("quic", "second")]
    assert both == pytest.approx(sum(alone), rel=5e-3)


@needs_stacks
def test_runs_are_bit_identical_and_count_each_path() -> None:
    scenario = two_paths({"quic": QUIC, "second": SECOND}, "3 s").with_(**{"traces.arrivals": True})
    results = [simulate(scenario) for _ in range(2)]
    assert results[0].state_hash == results[1].state_hash
    rows, ports = results[0].flows, results[0].ports.set_index("port")
    for sent, port in zip(results[0].stacks.datagrams, ("client->r1", "client->r2"), strict=True):
        assert sent == ports.packets_in[port]
    assert rows.delivered_bytes[1] == 0
    assert rows.sent_segments[1] > 0
    arrived = results[0].traces["arrivals"].groupby("flow", observed=True)["bytes"].sum()
    assert list(arrived[rows.flow]) == list(results[0].stacks.received_bytes)


def paths_of(result: Result) -> list[dict[str, Any]]:
    """Returns the rows of both paths."""
    return [{str(name): value for name, value in row.items()} for row in result.stacks.to_dict("records")]


@needs_stacks
def test_random_numbers_of_the_controls_of_all_paths_are_derived_from_the_seed() -> None:
    # BBRv3 draws when to probe for bandwidth.
    quic = QUIC | {"congestion": "bbr3"}
    hashes = {simulate(two_paths({"quic": quic, "second": SECOND}), seed=1).state_hash for _ in range(2)}
    assert len(hashes) == 1


@needs_stacks
def test_null_cryptography_survives_updates_of_the_keys() -> None:
    # noq updates its keys during the run. It compares packet numbers of all paths to detect late packets with old keys.
    flows = {"quic": QUIC | {"congestion": "reno"}, "second": SECOND}
    results = [simulate(two_paths({**flows, "quic": flows["quic"] | {"crypto": kind}})) for kind in ("tls", "null")]
    assert results[1].stacks.closed[0] == ""
    tls, null = (result.flows.delivered_bytes[0] for result in results)
    assert null == pytest.approx(tls, rel=0.01)


@needs_stacks
@pytest.mark.parametrize("status", ["available", "backup"])
def test_data_continue_on_the_other_path_after_an_idle_timeout(status: str) -> None:
    flows = {"quic": QUIC | {"path_idle_timeout": "1 s"}, "second": SECOND | {"status": status}}
    whole = simulate(two_paths(flows))
    cut = simulate(two_paths(flows, path=CUT))
    first, second = paths_of(cut)
    # The last packet that the client receives was sent before the cut at 4 s.
    assert 4.9 < first["abandoned_s"] < 5.1
    assert not second["abandoned_s"] > 0
    assert cut.stacks.closed[0] == ""
    # Before the cut the backup path carries no data; afterwards it carries 10 Mbit/s.
    unused = paths_of(whole)[1]["received_bytes"]
    assert (unused < 20_000) == (status == "backup")
    after_s = (10 - 5) if status == "backup" else 10 - 0.2
    assert 0.75 < 8 * second["received_bytes"] / after_s / RATES_BPS[1] < PAYLOAD


@needs_stacks
def test_responses_use_both_paths() -> None:
    result = simulate(
        two_paths({"quic": QUIC | {"workload": "requests", "requests": 2, "size": "5 MB"}, "second": SECOND})
    )
    assert result.stacks.responses[0] == 2
    assert result.stacks.received_bytes.min() > 2e6


@pytest.mark.parametrize(
    ("flows", "line"),
    [
        (
            {"quic": QUIC, "second": SECOND | {"of": "other"}},
            "network.flows[1].traffic.of: other; needs the name of a flow whose traffic is the stack noq: quic",
        ),
        (
            {"quic": QUIC | {"stack": "quinn"}, "second": SECOND},
            "network.flows[1].traffic.of: quic; needs the name of a flow whose traffic is the stack noq, and there is none",
        ),
    ],
)
def test_a_path_needs_a_connection_of_noq(flows: dict[str, dict[str, Any]], line: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        two_paths(flows).resolve()
    assert str(refused.value) == line


def test_a_connection_has_at_most_eight_paths() -> None:
    network = {
        "kind": "dumbbell",
        "trunk_rate": "20 Mbit/s",
        "trunk_delay": "10 ms",
        "group": [{"name": "quic", "traffic": QUIC}, {"name": "more", "count": 8, "traffic": SECOND}],
    }
    with pytest.raises(ScenarioError, match=r"network.group\[1\].traffic.of: quic, which has 9 paths; needs at most 8"):
        Scenario(defaults="1996", framing="ip", duration="1 s", network=network).resolve()


def test_only_noq_has_an_idle_timeout_of_paths() -> None:
    with pytest.raises(ScenarioError, match="path_idle_timeout: 1 s; quinn has only one path"):
        two_paths({"quic": {**QUIC, "stack": "quinn", "path_idle_timeout": "1 s"}})
    with pytest.raises(ScenarioError, match="path_idle_timeout: 1 us; needs 1 ms to 2400 h"):
        two_paths({"quic": {**QUIC, "path_idle_timeout": "1 us"}})


@needs_stacks
def test_additional_path_does_not_count_as_a_flow() -> None:
    result = simulate(two_paths({"quic": QUIC, "second": SECOND}))
    first, second = result.flow_limits
    assert (first.limited_by, second.limited_by) == ("link", "-")
    (line,) = limit_lines(result.flow_limits)
    assert line.startswith("link: 1 of 1 flows")
    assert result.fairness == 1


@needs_stacks
def test_a_stack_without_timeouts_is_not_limited_by_timeouts() -> None:
    result = simulate(two_paths({"quic": QUIC | {"congestion": "bbr3"}, "second": SECOND}))
    assert result.flows["timeouts"].isna().tolist() == [True, True]
    assert result.flow_limits[0].limited_by == "link"
