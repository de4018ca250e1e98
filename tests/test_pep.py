"""Split-TCP proxies: their end-to-end results, errors and benefit."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.live.hosts import plan
from longpipe.run import simulate
from longpipe.store.packing import pack, unpack

GEO: dict[str, Any] = {
    "kind": "dumbbell",
    "sources": 1,
    "access_rate": "1 Gbit/s",
    "access_delay": "30 ms",
    "trunk_rate": "50 Mbit/s",
    "trunk_delay": "270 ms",
    "exit_delay": "1 ms",
}
TCP: dict[str, Any] = {"recovery": "sack", "receiver_window": "auto", "mss": "1460 B"}


def scenario(pep: dict[str, Any] | None, **fields: Any) -> Scenario:  # noqa: ANN401 - fields of a scenario
    network = {**GEO, "pep": pep} if pep else GEO
    traffic = {"kind": "transfer", "size": "4 MB"}
    return Scenario(
        defaults="1996",
        **{
            "framing": "ip",
            "switch": {"buffer": "1000 packets"},
            "duration": "60 s",
            "network": network,
            "tcp": TCP,
            "traffic": traffic,
            **fields,
        },
    )


def test_a_split_file_takes_the_rounds_of_the_long_part_alone() -> None:
    split = simulate(scenario({"buffer": "8 MB"}), 1)
    whole = simulate(scenario(None), 1)
    completion = [result.flows["completion_s"][0] for result in (split, whole)]
    # 4 MB take twelve rounds of slow start; 60 ms of each round are spent before the proxy.
    assert 0.06 * 8 < completion[1] - completion[0] < 0.06 * 14
    part = split.relays.iloc[0]
    assert (part["connection"], part["flow"], part["onward"]) == ("flow1-to-switch1", "flow1", "flow1")
    assert part["delivered_bytes"] == split.flows["delivered_bytes"][0] == 4_000_000
    assert part["held_buffer_bytes"] == 0
    assert 0 < part["mean_buffer_bytes"] < part["peak_buffer_bytes"] <= 8e6
    assert len(split.flows) == 1
    assert len(whole.relays) == 0


def test_the_proxy_has_a_tcp_of_its_own() -> None:
    own = {"buffer": "8 MB", "tcp": {"initial_window": "100 segments", "congestion": "cubic"}}
    resolved = scenario(own).resolve()
    last, first = (flow["tcp"] for flow in resolved["flows"])
    assert (last["congestion"]["kind"], last["initial_window_segments"]) == ("cubic", 100)
    assert (first["congestion"], first["initial_window_segments"]) == ("aimd", 1)
    quick, slow = (simulate(scenario(pep), 1).flows["completion_s"][0] for pep in (own, {"buffer": "8 MB"}))
    assert quick < slow - 2


def test_a_buffer_below_the_product_bounds_the_long_part() -> None:
    result = simulate(scenario({"buffer": "500 KB"}, traffic="greedy"), 1)
    # The rate is 0.5 MB per 542 ms.
    assert 0.75 < result.throughputs_bps[0] / (8 * 500_000 / 0.542) <= 1
    assert result.relays["peak_buffer_bytes"][0] <= 500_000


def test_a_stored_run_keeps_its_parts() -> None:
    traced = scenario({"buffer": "1 MB"}, duration="5 s", traces={"cwnd": True})
    result = simulate(traced, 1)
    again = unpack(traced, 1, pack(result).summary)
    assert again.relays.to_dict("list") == result.relays.to_dict("list")
    assert set(result.traces["cwnd"]["flow"]) == {"flow1", "flow1-to-switch1"}


def test_routes_through_a_graph_are_split_at_each_proxy() -> None:
    link = {"rate": "10 Mbit/s", "delay": "10 ms"}
    graph = {
        "kind": "graph",
        "nodes": [
            {"name": "a", "kind": "host"},
            {"name": "r", "kind": "switch", "pep": {"buffer": "200 KB"}},
            {"name": "s", "kind": "switch", "pep": {"buffer": "100 KB"}},
            {"name": "b", "kind": "host"},
        ],
        "links": [{"between": pair, **link} for pair in (["a", "r"], ["r", "s"], ["s", "b"])],
        "flows": [{"name": "there", "from": "a", "to": "b"}, {"name": "back", "from": "b", "to": "a"}],
    }
    result = simulate(scenario(None, network=graph, duration="5 s", traffic="greedy"), 1)
    assert list(result.flows["flow"]) == ["there", "back"]
    assert list(result.relays["connection"]) == ["there-to-r", "there-to-s", "back-to-s", "back-to-r"]
    assert list(result.relays["flow"]) == ["there", "there", "back", "back"]
    assert (result.throughputs_bps > 8.5e6).all()


def test_proxy_splits_tcp_but_not_quic_traffic() -> None:
    groups = [
        {"name": "web", "count": 2, "traffic": "web"},
        {"name": "quic", "traffic": "web", "split": False},
        {"name": "video", "traffic": "adaptive-video"},
        {"name": "call", "traffic": "voice"},
    ]
    network = {**GEO, "group": groups, "pep": {"buffer": "1 MB"}}
    del network["sources"]
    split = scenario(None, network=network, duration="40 s")
    result = simulate(split, 1)
    assert list(result.flows["flow"]) == ["web1", "web2", "quic", "video", "call"]
    assert list(result.relays["connection"]) == ["web1-to-switch1", "web2-to-switch1", "video-to-switch1"]
    assert list(result.web["flow"]) == ["web1", "web2", "quic"]
    assert list(result.videos["flow"]) == ["video"]
    whole = simulate(split.with_(**{"network.pep": None}), 1)
    # A client draws the same requests with and without a proxy.
    for name in ("web1", "quic"):
        requests = [run.files[run.files["flow"] == name] for run in (result, whole)]
        assert all(requests[0][column].equals(requests[1][column]) for column in ("requested_s", "size_bytes"))


def test_arriving_flows_are_split_with_their_sizes_and_arrivals() -> None:
    traffic = {"kind": "flow-arrivals", "rate": 2, "sizes": {"kind": "fixed", "size": "50 KB"}}
    split, whole = (simulate(scenario(pep, traffic=traffic), 1) for pep in ({"buffer": "1 MB"}, None))
    times = [result.completions["completion_s"] - result.completions["arrival_s"] for result in (split, whole)]
    assert list(split.completions["arrival_s"]) == list(whole.completions["arrival_s"])
    # 50 KB take six rounds of slow start from one segment; 60 ms of each round are spent before the proxy.
    assert (times[1] - times[0]).median() == pytest.approx(5 * 0.06, abs=0.06)
    assert split.relays["sent_bytes"][0] >= split.flows["delivered_bytes"][0]
    assert list(split.relays["connection"]) == ["flow1-to-switch1"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"network": {**GEO, "pep": {"buffer": "2 KB"}}},
            "network.pep.buffer: 2000 B; needs at least two full segments (2920 B)",
        ),
        ({"network": {**GEO, "pep": {}}}, "network.pep.buffer: "),
    ],
)
def test_unsplittable_traffic_is_rejected_in_one_line(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(None, **fields).resolve()
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_real_programs_and_proxies_are_not_in_one_scenario() -> None:
    with pytest.raises(
        ScenarioError, match=r"network\.pep: a proxy splits .*; real programs need .* or a graph with a"
    ):
        plan(Scenario.example("geo-pep"))
