"""Satellite routes as a graph: the routes, delays and packet arrivals agree with `longpipe satellites`."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

from longpipe import Result, Scenario, simulate, stacks
from longpipe.cautions.cautions import cautions
from longpipe.errors import ScenarioError
from longpipe.live.hosts import plan
from longpipe.pictures.kinds.path import path_series
from longpipe.satellites import Constellation, RoundTrips, round_trips, shell, station
from longpipe.scenario.summary import summary_lines
from longpipe.verdicts.limits import remedies

REFERENCE: Final = Path(__file__).parent / "data" / "satellites"
MANILA_DALIAN: Final = {"shell": "kuiper-630", "from": "Manila", "to": "Dalian", "as": "graph", "step": "100 ms"}
PS: Final = 10**12
MS: Final = 10**9
TOML_LINE: Final = re.compile(r"set network\.path to \{ .* \}")
needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")


def over(path: dict[str, Any], duration: str = "60 s", **fields: object) -> Scenario:
    network = {"kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "access_delay": "0 s", "exit_delay": "0 s"}
    all_fields: dict[str, Any] = {
        "framing": "ip",
        "duration": duration,
        "network": {**network, "trunk_rate": "10 Mbit/s", "path": path},
        "switch": {"buffer": "101 packets"},
        "tcp": {"mss": "1380 B", "recovery": "newreno", "timer": "fine", "receiver_window": "1 MB"},
    }
    return Scenario(defaults="1996", **{**all_fields, **fields})


def routes(scenario: Scenario, flow: int = 0, way: str = "route") -> list[tuple[float, list[str]]]:
    """Returns a flow's routes, as names of nodes, for each time [s]."""
    resolved = scenario.resolve()
    names, links = [node["name"] for node in resolved["nodes"]], resolved["links"]
    own = resolved["flows"][flow]
    changes = [{"at_ps": 0, **own}, *own.get("rerouting", {"changes": []})["changes"]]
    return [
        (change["at_ps"] / PS, [names[links[change[way][0]]["from"]], *(names[links[k]["to"]] for k in change[way])])
        for change in changes
    ]


def satellites(names: list[str]) -> tuple[int, ...]:
    """Returns the numbers of the satellites among these nodes."""
    return tuple(int(name.removeprefix("sat-")) for name in names if name.startswith("sat-") and "down" not in name)


@pytest.fixture(scope="module")
def found() -> RoundTrips:
    """Returns what `longpipe satellites` computes for MANILA_DALIAN."""
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    return round_trips(kuiper, [station("Manila"), station("Dalian")], duration_s=60, step_s=0.1)


def test_routes_are_those_of_the_satellites_command(found: RoundTrips) -> None:
    scenario = over(MANILA_DALIAN)
    expected = [(time, path) for time, _, path in found.changes]
    assert len(expected) == 3
    assert [(time, satellites(names)) for time, names in routes(scenario)] == expected
    back = [(time, satellites(names)[::-1]) for time, names in routes(scenario, way="return_route")]
    assert back == expected
    # The station and the last satellite have transmitters, and all routes that are used have nodes.
    first = routes(scenario)[0][1]
    assert first[:4] == ["source1", "switch1", "switch1-up", "sat-184"]
    assert first[-4:] == ["sat-217", "sat-217-down", "switch2", "sink1"]
    used = {one for _, path in expected for one in path}
    nodes = [node["name"] for node in scenario.resolve()["nodes"]]
    assert {one for one in nodes if one.startswith("sat-") and "down" not in one} == {f"sat-{one}" for one in used}


def test_the_delays_of_a_route_s_links_sum_up_to_its_round_trip(found: RoundTrips) -> None:
    table = path_series(over(MANILA_DALIAN))["flow1"]
    # If two rows have the same time, the second one belongs to the new route.
    sums = table.drop_duplicates("time_s", keep="last").set_index("time_s")["delay_s"]
    delays = np.interp(found.times_s, sums.index, sums)
    assert np.abs(2 * delays - found.rtt_s[:, 0]).max() < 1e-8


def probe(path: dict[str, Any], duration: str, **changes: object) -> Result:
    """Returns a scenario with datagrams of 125 bytes, one per second from 0.5 s on, over very fast links."""
    fast = {
        "network.trunk_rate": "10 Tbit/s",
        "network.access_rate": "10 Tbit/s",
        "start": {"kind": "fixed", "at": "500 ms"},
    }
    traffic = {"kind": "cbr", "rate": "1 kbit/s", "payload": "97 B"}
    return simulate(over(path, duration, traffic=traffic).with_(**{**fast, **changes}))


def test_graph_of_unlimited_rates_equals_a_single_link() -> None:
    held = {"between": "hold", "step": "1 s"}
    link = probe({**MANILA_DALIAN, "as": "link", **held}, "60 s").datagrams.iloc[0]
    graph = probe({**MANILA_DALIAN, **held}, "60 s").datagrams.iloc[0]
    assert (link["received"], graph["received"]) == (60, 60)
    # The delays of up to six links are each rounded to a nanosecond; the transmission of 1000 bits takes 100 ps on each
    # of up to ten links, and on three further links.
    for name in ("min_delay_s", "mean_delay_s", "max_delay_s"):
        assert 0 <= graph[name] - link[name] - 3e-10 < 6 * 0.5e-9 + 1e-9


def test_a_packet_alone_takes_half_of_the_published_round_trip() -> None:
    published = pd.read_csv(REFERENCE / "kuiper_630_rtt_ns.csv.gz").set_index("time_ns")["Manila - Dalian"]
    often = {"kind": "cbr", "rate": "10 kbit/s", "payload": "97 B"}
    scenario = over(MANILA_DALIAN, "18 s", traffic=often)
    fast = {"network.trunk_rate": "10 Tbit/s", "network.access_rate": "10 Tbit/s"}
    graph = simulate(scenario.with_(**fast)).datagrams.iloc[0]
    one_way_s = published[published.index < 18e9].to_numpy() / 2e9
    assert graph["min_delay_s"] == pytest.approx(one_way_s.min(), abs=1e-6)
    assert graph["max_delay_s"] == pytest.approx(one_way_s.max(), abs=1e-6)


def test_two_pairs_meet_between_satellites() -> None:
    """Flows from Manila and from a place 50 km north of it, to Dalian and to Beijing: all stations select their
    satellites.
    """
    access = {"rate": "1 Gbit/s", "delay": "0 s"}
    links: list[dict[str, Any]] = [
        {"between": [f"{name}-host", name], **access} for name in ("manila", "north", "dalian", "beijing")
    ]
    pairs = (("manila", "Manila", "dalian", "Dalian"), ("north", "15.05,120.98", "beijing", "Beijing"))
    for a, place, b, city in pairs:
        path = {**MANILA_DALIAN, "from": place, "to": city}
        links.append({"between": [a, b], "rate": "10 Mbit/s", "delay": "0 s", "path": path})
    nodes = [
        {"name": name, "kind": "host" if "-host" in name else "switch"} for one in links for name in one["between"]
    ]
    nodes = list({node["name"]: node for node in nodes}.values())
    flows = [{"name": a, "from": f"{a}-host", "to": f"{b}-host"} for a, _, b, _ in pairs]

    def run(of: list[dict[str, Any]]) -> Result:
        network = {"kind": "graph", "nodes": nodes, "links": links, "flows": of}
        traffic = {"kind": "cbr", "rate": "8 Mbit/s", "payload": "1222 B"}
        return simulate(over(MANILA_DALIAN, "5 s", network=network, traffic=traffic))

    together, alone = run(flows), run(flows[:1])
    one, other = (routes(together.scenario, flow)[0][1] for flow in (0, 1))
    assert satellites(one) == satellites(other) == (184, 183, 217)
    assert set(one) & set(other) == {"sat-184", "sat-183", "sat-217", "sat-217-down"}
    # Each flow has its own uplink, and both flows share the queue of the link from satellite 184 to 183.
    assert alone.datagrams["lost"].iloc[0] == 0
    ports = together.ports.set_index("port")
    used, lost = ports["utilization"].to_dict(), ports["packets_lost_overflow"].to_dict()
    assert used["sat-184->sat-183"] > 0.99
    # The lost packets are an excess of 6 Mbit/s over 5 s, minus the packets that fit into the queue.
    assert lost["sat-184->sat-183"] == pytest.approx(5 * 600 - 101, abs=10)
    assert sum(lost.values()) == lost["sat-184->sat-183"]
    # A rate belongs to all links of the constellation, so that no change of a single field raises it.
    assert [limit.remedy for limit in together.flow_limits] == [None, None]


def test_the_picture_of_a_graph_states_the_rates_of_its_transmitters() -> None:
    """Behind a transmitter, packets are passed on at once, which is no rate of the scenario."""
    nodes = [{"name": name, "kind": "host" if name in "ad" else "switch"} for name in "abcd"]
    links: list[dict[str, Any]] = [
        {"between": pair, "rate": "1 Gbit/s", "delay": "1 ms"} for pair in (["a", "b"], ["c", "d"])
    ]
    links.append({"between": ["b", "c"], "rate": "20 Mbit/s", "delay": "0 s", "path": MANILA_DALIAN})
    flows = [{"name": "flow", "from": "a", "to": "d"}]
    network = {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    series = path_series(over(MANILA_DALIAN, "1 s", network=network))
    assert len(series) > 1
    assert {rate for table in series.values() for rate in table["rate_bps"]} == {20e6}


def test_the_remedy_of_an_outage_keeps_the_delay_of_the_route() -> None:
    scenario = over({**RIO_PETERSBURG, "outages": {"arriving": "drop"}}, "20 s")
    remedy = remedies(scenario, simulate(scenario).columns)["flow1"]["outage"]
    fixed = remedy.applied_to(scenario)
    assert TOML_LINE.fullmatch(remedy.in_words)
    assert tomllib.loads(f"path = {remedy.in_words.split(' to ', 1)[1]}")["path"] == remedy.value
    [(_, delay_ps)] = fixed.resolved["links"][2]["motion"]["delay"]["knots_ps"]
    assert delay_ps / PS == pytest.approx(path_series(scenario)["flow1"]["delay_s"].iloc[0], abs=1e-9)


RIO_PETERSBURG: Final = {**MANILA_DALIAN, "from": "Rio de Janeiro", "to": "Saint Petersburg", "begin": "150 s"}


def test_packets_wait_or_are_lost_without_a_route() -> None:
    held, lost = (
        probe({**RIO_PETERSBURG, "outages": {"arriving": arriving}}, "20 s", start={"kind": "fixed", "at": "0 s"})
        for arriving in ("hold", "drop")
    )
    # There is no route from 155.4 s to 165.1 s; datagrams are sent at 156, 157, ... 165 s in this time.
    assert (held.datagrams["lost"].iloc[0], lost.datagrams["lost"].iloc[0]) == (0, 10)
    assert held.datagrams["max_delay_s"].iloc[0] == pytest.approx(9.1 + 0.057, abs=0.02)
    assert lost.ports.set_index("port")["packets_lost_rerouting"].to_dict()["source1->switch1"] == 10


@pytest.mark.parametrize("as_", ["link", "graph"])
def test_a_path_without_a_route_at_its_start_waits_or_drops(as_: str) -> None:
    """The route appears 5.1 s after 160 s, as in the run above that begins at 150 s."""
    found = {}
    for arriving in ("hold", "drop"):
        path = {**RIO_PETERSBURG, "begin": "160 s", "as": as_, "outages": {"arriving": arriving}}
        result = probe(path, "20 s", start={"kind": "fixed", "at": "0 s"})
        found[arriving] = result.datagrams.iloc[0]
    assert found["hold"]["lost"] == 0
    assert found["hold"]["max_delay_s"] == pytest.approx(5.1 + found["drop"]["max_delay_s"], abs=0.1)
    # Datagrams are sent at 0, 1, ... 5 s while there is no route.
    assert found["hold"]["received"] - found["drop"]["received"] == 6


def test_reordering_by_route_changes_is_counted_from_end_to_end() -> None:
    """The one link reorders packets itself, so that there the end-to-end count is that of its port."""
    fast = {"network.trunk_rate": "10 Tbit/s", "network.access_rate": "10 Tbit/s"}
    traffic = {"kind": "cbr", "rate": "10 Mbit/s", "payload": "97 B"}
    graph, link = (
        simulate(over({**MANILA_DALIAN, "as": as_}, "60 s", traffic=traffic).with_(**fast)) for as_ in ("graph", "link")
    )
    assert link.flows["reordered_packets"].item() == link.ports["overtakings"].sum() > 10
    assert graph.flows["reordered_packets"].item() == link.flows["reordered_packets"].item()
    assert graph.ports["overtakings"].sum() == 0


def test_packets_in_flight_keep_their_route_or_are_dropped() -> None:
    kept, dropped = (simulate(over({**MANILA_DALIAN, "rerouting": rerouting})) for rerouting in ("keep", "drop"))
    assert kept.ports["packets_lost_rerouting"].sum() == 0
    assert 10 < dropped.ports["packets_lost_rerouting"].sum() < 200
    for result in (kept, dropped):
        ports = result.ports
        lost = ports.filter(like="packets_lost_").drop(columns="packets_lost_rerouting").sum(axis=1)
        assert (ports["packets_in"] == ports["packets_out"] + lost + ports["packets_held"]).all()
        reference = simulate(result.scenario.with_(engine="reference"))
        assert reference.state_hash == result.state_hash


def test_digests_and_files_keep_a_graph() -> None:
    scenario = over(MANILA_DALIAN, "20 s")
    assert Scenario.from_toml(scenario.to_toml()).digest() == scenario.digest()
    as_link = over({**MANILA_DALIAN, "as": "link"}, "20 s")
    assert as_link.digest() == over({k: v for k, v in MANILA_DALIAN.items() if k != "as"}, "20 s").digest()
    assert as_link.digest() != scenario.digest()


@pytest.mark.parametrize(
    ("path", "network", "said"),
    [
        ({"as": "web"}, {}, "network.path.as: 'web'"),
        ({"rate": [["0 s", "5 Mbit/s"]]}, {}, "network.path: rate with shell; needs one of them: a satellite path"),
        ({"rerouting": "lose"}, {}, "network.path.rerouting: 'lose'; accepts keep, drop"),
        ({"as": "link", "rerouting": "drop"}, {}, "network.path.rerouting: drop; needs as = 'graph'"),
        ({"order": "fifo"}, {}, "network.path.order: fifo; a graph needs free"),
        ({"at": "start"}, {}, "network.path.at: start; a graph needs end"),
        ({"outages": {"in_flight": "drop"}}, {}, "network.path.outages.in_flight: drop; a graph"),
        (
            {"to": "-89,0"},
            {},
            "network.path: Manila - -89,0: no route over kuiper-630 at any instant; needs stations that see the same",
        ),
        ({}, {"return_rate": "5 Mbit/s"}, "network.path.as: graph, with return_rate; needs links that are equal"),
        ({}, {"trunk_loss": {"kind": "bernoulli", "probability": 0.1}}, "network.path.as: graph, with a loss"),
    ],
)
def test_invalid_constellation_is_rejected_in_one_line(
    path: dict[str, Any], network: dict[str, Any], said: str
) -> None:
    fields = {"kind": "dumbbell", "sources": 1, "path": {**MANILA_DALIAN, **path}, **network}
    with pytest.raises(ScenarioError) as refused:
        over({}, "10 s", network=fields)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_cells_are_rejected_and_every_queue_is_accepted() -> None:
    with pytest.raises(ScenarioError, match=r"network\.path: satellites; carries packets, needs framing 'ip'"):
        over(MANILA_DALIAN, "10 s", framing="aal5", switch={})
    over(MANILA_DALIAN, "10 s", switch={"buffer": "100 packets", "policy": "codel"})


TRAFFIC: Final[list[dict[str, Any]]] = [
    {"kind": "flow-arrivals", "rate": 5, "sizes": {"kind": "fixed", "size": "20 KB"}},
    {"kind": "web"},
    {"kind": "adaptive-video"},
    {"kind": "transfer", "size": "1 MB"},
]


@pytest.mark.parametrize("rerouting", ["keep", "drop"])
@pytest.mark.parametrize("traffic", TRAFFIC, ids=lambda traffic: traffic["kind"])
def test_traffic_crosses_changing_routes_equally_in_both_engines(traffic: dict[str, Any], rerouting: str) -> None:
    scenario = over({**MANILA_DALIAN, "step": "1 s", "rerouting": rerouting}, traffic=traffic)
    assert len(routes(scenario)) > 1
    found = simulate(scenario)
    assert found.flows["delivered_bytes"].item() > 0
    assert simulate(scenario.with_(engine="reference")).state_hash == found.state_hash


def test_an_arriving_flow_has_the_delay_of_the_route_of_its_time() -> None:
    """A flow of one segment takes half of the RTT of `longpipe satellites`, over links without transmission times."""
    traffic = {"kind": "flow-arrivals", "rate": 1, "sizes": {"kind": "fixed", "size": "100 B"}}
    fast = {"network.trunk_rate": "10 Tbit/s", "network.access_rate": "10 Tbit/s"}
    path = {**MANILA_DALIAN, "step": "100 ms", "rerouting": "drop"}
    arrived = simulate(over(path, traffic=traffic).with_(**fast)).completions
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    found = round_trips(kuiper, [station("Manila"), station("Dalian")], duration_s=60, step_s=0.1)
    assert len(arrived) > 30
    for arrival_s, completion_s in arrived[["arrival_s", "completion_s"]].to_numpy(dtype=float):
        rtt_s = np.interp(arrival_s, found.times_s, found.rtt_s[:, 0])
        changes = [time for time, _, _ in found.changes if arrival_s - 0.1 < time < arrival_s + 0.1]
        assert changes or completion_s - arrival_s == pytest.approx(rtt_s / 2, abs=1e-6)


def test_a_proxy_splits_connections_over_changing_routes() -> None:
    pep = {"at": "switch1", "buffer": "1 MB"}
    path = {**MANILA_DALIAN, "step": "1 s", "outages": {"arriving": "drop"}}
    for traffic in (TRAFFIC[0], TRAFFIC[1]):
        scenario = over(path, traffic=traffic, network={**over(path).network.model_dump(exclude_none=True), "pep": pep})
        found = simulate(scenario)
        assert found.flows["delivered_bytes"].sum() > 0
        assert simulate(scenario.with_(engine="reference")).state_hash == found.state_hash


@needs_stacks
def test_a_real_stack_crosses_changing_routes() -> None:
    traffic = {"kind": "stack", "stack": "quinn", "size": "2 MB"}
    scenario = over({**MANILA_DALIAN, "step": "1 s"}, "40 s", traffic=traffic)
    assert len(routes(scenario)) > 1
    flow = simulate(scenario).flows.iloc[0]
    assert flow["delivered_bytes"] == 2_000_000


def test_live_programs_cross_changing_routes() -> None:
    planned = plan(over({**MANILA_DALIAN, "step": "1 s"}))
    flows = json.loads(planned.resolved_json)["flows"]
    assert all(flow["foreign"] and flow["rerouting"]["changes"] for flow in flows)


def test_the_default_buffer_of_a_graph_is_stated() -> None:
    (line,) = (line for line in cautions(over(MANILA_DALIAN, "10 s", switch={})) if "buffer" in line)
    assert line.startswith("switch.buffer: not given, routers have 1 BDP (")
    assert not [line for line in cautions(over(MANILA_DALIAN, "10 s")) if "buffer" in line]


@pytest.mark.parametrize("step", ["1 s", "100 ms"])
def test_output_header_states_the_longest_rtt_of_all_routes(step: str) -> None:
    path = {"shell": "starlink-550", "from": "London", "to": "New York", "step": step}
    link = over({**path}, "20 s")
    graph = over({**path, "as": "graph"}, "20 s")
    longest = [float(re.findall(r"round trip at most ([0-9.]+) ms", summary_lines(one)[0])[0]) for one in (link, graph)]
    assert longest[0] <= longest[1] <= 1.005 * longest[0]
