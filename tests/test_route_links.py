"""Graphs over satellites: settings of kinds of links and stations, handovers, failures, gateways, links by a rule."""

import heapq
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from sgp4.api import WGS72, Satrec
from sgp4.exporter import export_tle
from typer.testing import CliRunner

from longpipe import Result, Scenario, simulate
from longpipe.cli import app
from longpipe.errors import ScenarioError
from longpipe.satellites import Constellation, station
from longpipe.satellites.grid import grid_links
from longpipe.satellites.positions import earth_fixed_m
from longpipe.satellites.shells import parse_shell
from test_constellations import MANILA_DALIAN, over, routes, satellites

PS: Final = 10**12
CBR: Final = {"kind": "cbr", "rate": "4 Mbit/s", "payload": "1222 B"}
DROP: Final[dict[str, Any]] = {"outages": {"arriving": "drop"}}


def graph(duration: str = "10 s", traffic: dict[str, Any] = CBR, **path: object) -> Scenario:
    return over({**MANILA_DALIAN, **path}, duration, traffic=traffic, start={"kind": "fixed", "at": "0 s"})


def ports(result: Result) -> dict[str, dict[str, Any]]:
    return {row["port"]: {str(name): value for name, value in row.items()} for row in result.ports.to_dict("records")}


def test_each_kind_of_links_has_its_own_rate_and_buffer() -> None:
    scenario = graph(
        uplink={"rate": "2 Mbit/s", "buffer": "20 packets"},
        downlink={"rate": "50 Mbit/s"},
        crosslink={"rate": "1 Gbit/s"},
    )
    resolved = scenario.resolve()
    names = [node["name"] for node in resolved["nodes"]]
    links = {f"{names[link['from']]}->{names[link['to']]}": link for link in resolved["links"]}
    assert links["switch1->switch1-up"]["rate_bps"] == links["switch2->switch2-up"]["rate_bps"] == 2_000_000
    assert links["switch1->switch1-up"]["buffer"]["limit"] == 20
    assert links["sat-217->sat-217-down"]["rate_bps"] == 50_000_000
    assert links["sat-184->sat-183"]["rate_bps"] == 1_000_000_000
    assert links["sat-184->sat-183"]["buffer"]["limit"] == 101
    result = simulate(scenario)
    # 1250 bytes per packet: 400 packets arrive per second, and 200 leave.
    assert ports(result)["switch1->switch1-up"]["packets_lost_overflow"] == pytest.approx(2000 - 20, abs=3)
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash


def test_losses_of_radio_links_follow_the_queue() -> None:
    loss = {"kind": "bernoulli", "probability": 0.25}
    result = simulate(graph(uplink={"loss": loss}))
    up, radio = ports(result)["switch1->switch1-up"], ports(result)["switch1-up->sat-184"]
    assert up["packets_out"] == radio["packets_in"] == 4000
    assert radio["packets_lost_injected"] == pytest.approx(1000, abs=4 * (4000 * 0.25 * 0.75) ** 0.5)
    # ACKs or data in the other direction have their own uplink, at Dalian.
    assert sum(port["packets_lost_injected"] for port in ports(result).values()) == radio["packets_lost_injected"]


def test_settings_of_a_station_replace_those_of_all_stations() -> None:
    stations = [
        {"place": "Manila", "uplink": {"rate": "3 Mbit/s"}},
        {"place": "Dalian", "downlink": {"rate": "9 Mbit/s"}},
    ]
    found = ports(simulate(graph(uplink={"rate": "5 Mbit/s"}, stations=stations)))
    resolved = graph(uplink={"rate": "5 Mbit/s"}, stations=stations).resolve()
    names = [node["name"] for node in resolved["nodes"]]
    rates = {f"{names[link['from']]}->{names[link['to']]}": link["rate_bps"] for link in resolved["links"]}
    assert (rates["switch1->switch1-up"], rates["switch2->switch2-up"]) == (3_000_000, 5_000_000)
    # Dalian has a transmitter of its own at each satellite.
    assert rates["sat-217->sat-217-down-switch2"] == 9_000_000
    assert found["sat-217-down-switch2->switch2"]["packets_out"] > 0


def test_rates_and_outages_over_time_apply_to_a_kind_of_links(tmp_path: Path) -> None:
    series = tmp_path / "uplink.csv"
    series.write_text("time,rate [Mbit/s]\n0,8\n5,2\n")
    found = simulate(graph(uplink={"variation": {"file": str(series)}}))
    # From 5 s on, half of 4 Mbit/s passes.
    lost = ports(found)["switch1->switch1-up"]["packets_lost_overflow"]
    assert lost == pytest.approx(1000 - 101, abs=3)
    outages = {"intervals": [["2 s", "3 s"]], "arriving": "drop"}
    found = simulate(graph(crosslink={"variation": {"outages": outages}}))
    assert ports(found)["sat-184->sat-183"]["packets_lost_outage"] == pytest.approx(400, abs=2)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ({"uplink": {"rate": "2 Mbit/s"}}, "network.path.uplink.rate"),
        ({"crosslink": {"rate": "2 Mbit/s"}}, "network.path.crosslink.rate"),
        (
            {"uplink": {"rate": "3 Mbit/s"}, "stations": [{"place": "Manila", "uplink": {"rate": "2 Mbit/s"}}]},
            "network.path.stations.0.uplink.rate",
        ),
        (
            {"stations": [{"place": "Dalian", "downlink": {"rate": "2 Mbit/s"}}]},
            "network.path.stations.0.downlink.rate",
        ),
    ],
)
def test_remedy_names_the_rate_of_the_links_that_limit(path: dict[str, Any], field: str) -> None:
    scenario = over({**MANILA_DALIAN, "step": "1 s", **path}, "10 s")
    before = simulate(scenario)
    (found,) = before.flow_limits
    assert found.remedy is not None
    assert found.remedy.field == field
    assert simulate(found.remedy.applied_to(scenario)).total_bps > 1.05 * before.total_bps


def test_outages_of_the_path_are_times_without_a_route() -> None:
    times = {"intervals": [["2 s", "3 s"]], "every": "4 s", "phase": "5 s", "gap": "500 ms"}
    dropped = simulate(graph(outages={**times, "arriving": "drop"}))
    # Outages from 2 to 3, 5 to 5.5 and 9 to 9.5 s.
    assert dropped.datagrams["lost"].item() == pytest.approx(400 + 200 + 200, abs=3)
    held = simulate(graph(traffic={**CBR, "rate": "100 kbit/s"}, outages=times))
    assert held.datagrams["lost"].item() == 0
    assert held.datagrams["max_delay_s"].item() == pytest.approx(1 + held.datagrams["min_delay_s"].item(), abs=0.05)


def test_a_failed_satellite_is_avoided_while_it_fails() -> None:
    failures = [{"satellite": "kuiper-630-183", "begin": "3 s", "end": "6 s"}]
    ways = [(time, satellites(names)) for time, names in routes(graph(failures=failures))]
    assert [time for time, _ in ways] == [0, 3, 6]
    assert ways[0][1] == ways[2][1] == (184, 183, 217)
    assert ways[1][1] == shortest("kuiper-630", 3.0, ("Manila", "Dalian"), without=183)


def shortest(shell: str, time_s: float, places: tuple[str, str], without: int) -> tuple[int, ...]:
    """Returns the shortest route by Dijkstra's algorithm with a heap, without one satellite."""
    reach = reachable(shell, time_s, places, without)
    heap: list[tuple[float, tuple[str, ...]]] = [(0.0, (places[0],))]
    done: set[str] = set()
    while heap:
        length, path = heapq.heappop(heap)
        if path[-1] == places[1]:
            return tuple(map(int, path[1:-1]))
        if path[-1] not in done:
            done.add(path[-1])
            for other, more in reach[path[-1]]:
                heapq.heappush(heap, (length + more, (*path, other)))
    raise AssertionError("no route")


def reachable(shell: str, time_s: float, places: tuple[str, str], without: int) -> dict[str, list[tuple[str, float]]]:
    """Returns the neighbors of each satellite and station, with their distances [m]; one satellite has none."""
    constellation = Constellation.of_shell(parse_shell(shell))
    fixed = earth_fixed_m(constellation, np.array([time_s]))[0][0]
    reach: dict[str, list[tuple[str, float]]] = defaultdict(list)
    pairs = [(f"{a}", f"{b}", fixed[a] - fixed[b]) for a, b in constellation.links.tolist()]
    for place in places:
        vectors = fixed - station(place).earth_fixed_m
        seen = np.nonzero(np.linalg.norm(vectors, axis=1) <= (constellation.max_ground_link_m or 0))[0]
        pairs += [(place, f"{number}", vectors[number]) for number in seen]
    for a, b, vector in pairs:
        if f"{without}" not in (a, b):
            reach[a].append((b, float(np.linalg.norm(vector))))
            reach[b].append((a, float(np.linalg.norm(vector))))
    return reach


def test_another_gateway_takes_over_while_a_station_fails() -> None:
    gateways = [{"place": "Seoul", "delay": "3 ms"}]
    stations = [{"place": "Dalian", "outages": [["3 s", "6 s"]]}]
    scenario = graph(gateways=gateways, stations=stations, **DROP)
    ways = routes(scenario)
    assert [time for time, _ in ways] == [0, 3, 6]
    assert ways[0][1][-2:] == ["switch2", "sink1"]
    assert ways[1][1][-3:] == ["switch2-gateway2", "switch2", "sink1"]
    back = routes(scenario, way="return_route")
    assert back[1][1][1:4] == ["switch2", "switch2-gateway2", "switch2-gateway2-up"]
    result = simulate(scenario)
    # Packets in flight keep their route; the first ones over Seoul take longer.
    assert result.datagrams["lost"].item() == 0
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash


def serving(rule: dict[str, Any], duration: str = "300 s", step: str = "5 s") -> list[tuple[float, int]]:
    """Returns the times of changes of Manila's satellite, and the satellites."""
    station = {"place": "Manila", "handover": rule}
    ways = routes(graph(duration, stations=[station], step=step, **DROP))
    found: list[tuple[float, int]] = []
    for time, names in ways:
        own = satellites(names)
        if own and (not found or found[-1][1] != own[0]):
            found.append((time, own[0]))
    return found


def seen_from_manila(time_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns distances [m], elevations [degree], and visibility of all satellites by Hypatia's rule."""
    kuiper, own = Constellation.of_shell(parse_shell("kuiper-630")), station("Manila")
    vectors = earth_fixed_m(kuiper, np.array([time_s]))[0][0] - own.earth_fixed_m
    distances = np.linalg.norm(vectors, axis=1)
    return distances, np.degrees(np.arcsin(vectors @ own.up / distances)), distances <= (kuiper.max_ground_link_m or 0)


def test_a_station_uses_the_nearest_or_the_highest_satellite() -> None:
    for time, satellite in serving({"rule": "nearest"}):
        distances, _, _ = seen_from_manila(time)
        assert satellite == distances.argmin()
    for time, satellite in serving({"rule": "highest"}):
        _, elevations, _ = seen_from_manila(time)
        assert satellite == elevations.argmax()


def test_the_longest_visible_satellite_serves_until_it_sets() -> None:
    changes = serving({"rule": "longest-visible"})
    assert len(changes) > 1
    for (time, satellite), (until, _) in pairwise(changes):
        sets = next(t for t in np.arange(time, time + 1000) if not seen_from_manila(t)[2][satellite])
        # Visibility is sampled every 5 s, and a later handover is due at the next step.
        assert 0 <= until - sets < 5.001
        visible = np.nonzero(seen_from_manila(time)[2])[0]
        remaining = {
            int(one): next(t for t in np.arange(time, time + 1000, 5) if not seen_from_manila(t)[2][one])
            for one in visible
        }
        assert remaining[satellite] == max(remaining.values())


def test_a_station_dwells_on_a_visible_satellite() -> None:
    changes = serving({"rule": "nearest", "dwell": "150 s"})
    free = serving({"rule": "nearest"})
    assert len(changes) < len(free)
    for (time, satellite), (until, _) in pairwise(changes):
        assert until - time >= 150 or not seen_from_manila(until)[2][satellite]


def test_a_table_chooses_the_satellite(tmp_path: Path) -> None:
    table = tmp_path / "handovers.csv"
    visible = np.nonzero(seen_from_manila(0)[2] & seen_from_manila(60)[2])[0][:2].tolist()
    table.write_text(f"time,satellite\n0,{visible[0]}\n20,kuiper-630-{visible[1]}\n")
    assert serving({"rule": "table", "table": str(table)}, "50 s") == [(0, visible[0]), (20, visible[1])]


def test_a_handover_interrupts_the_route() -> None:
    rule = {"rule": "nearest", "gap": "150 ms"}
    changes = serving(rule)
    ways = routes(graph("300 s", stations=[{"place": "Manila", "handover": rule}], step="5 s", **DROP))
    gaps = [(time, following) for (time, names), (following, _) in pairwise(ways) if len(names) < 5]
    assert [begin for begin, _ in gaps] == pytest.approx([time - 0.15 for time, _ in changes[1:]])
    assert all(end - begin == pytest.approx(0.15) for begin, end in gaps)


def within_a_turn(satellite: Any) -> Satrec:  # noqa: ANN401 - a Satrec
    """Returns the satellite with a mean anomaly below 360 degrees, as TLEs need it."""
    own = Satrec()
    since = satellite.jdsatepoch - 2_433_281.5 + satellite.jdsatepochF
    angles = (satellite.argpo, satellite.inclo, satellite.mo % (2 * np.pi), satellite.no_kozai, satellite.nodeo)
    own.sgp4init(WGS72, "i", satellite.satnum, since, 0.0, 0.0, 0.0, satellite.ecco, *angles)
    return own


def elements_of(shell: str, folder: Path) -> str:
    own = Constellation.of_shell(parse_shell(shell))
    lines = [line for satellite in own.satellites for line in export_tle(within_a_turn(satellite))]
    file = folder / "own.tle"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


@pytest.mark.parametrize("shell", ["10x12:780:86.4:3", "20x20:1200:53:7"])
def test_the_grid_of_elements_is_that_of_a_walker_shell(shell: str) -> None:
    own = Constellation.of_shell(parse_shell(shell))
    assert grid_links(own.satellites, np.zeros(len(own.names))).tolist() == own.links.tolist()


def test_the_grid_has_no_links_at_the_seam_and_at_most_four_per_satellite() -> None:
    for name, count in (("iridium", 121), ("kuiper-630", 2312)):
        links = grid_links(Constellation.of_shell(parse_shell(name)).satellites, np.zeros(2 * count)[: len_of(name)])
        assert len(links) == count
        assert np.bincount(links.ravel()).max() == 4


def len_of(shell: str) -> int:
    return parse_shell(shell).satellites


def test_elements_with_a_grid_form_the_graph_of_the_shell(tmp_path: Path) -> None:
    shell = "20x20:1200:53:7"
    path = {"from": "Manila", "to": "Dalian", "as": "graph", "step": "1 s", "least_elevation": 25.0}
    of_shell = over({**path, "shell": shell}, "60 s")
    of_file = over({**path, "elements": elements_of(shell, tmp_path), "links": "grid"}, "60 s")
    assert [(time, satellites(names)) for time, names in routes(of_file)] == [
        (time, satellites(names)) for time, names in routes(of_shell)
    ]
    delays = [[link["delay_ps"] for link in one.resolve()["links"]] for one in (of_file, of_shell)]
    # The angles of a TLE have four decimals [degree], which is 13 m in orbit.
    assert np.allclose(delays[0], delays[1], atol=1e5)


def test_links_of_a_file_name_satellites_or_their_numbers(tmp_path: Path) -> None:
    file = elements_of("1x12:1200:53:0", tmp_path)
    own = Constellation.of_shell(parse_shell("1x12:1200:53:0"))
    (tmp_path / "links.txt").write_text("0 1\n1, 2\n")
    found = Constellation.of_file(file, links_from=str(tmp_path / "links.txt"))
    assert found.links.tolist() == [[0, 1], [1, 2]]
    assert len(own.links) == 12
    (tmp_path / "links.txt").write_text("0 77\n")
    with pytest.raises(ScenarioError, match=r"links\.txt:1: '77'; .*or a number from 0 to 11, or a catalog number$"):
        Constellation.of_file(file, links_from=str(tmp_path / "links.txt"))


def test_command_links_satellites_and_names_them_in_routes(tmp_path: Path) -> None:
    file, table = elements_of("20x20:1200:53:7", tmp_path), tmp_path / "routes.csv"
    arguments = ["satellites", file, "Manila", "Paris", "--links", "grid", "--duration", "2 s", "--routes", str(table)]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    row = pd.read_csv(table, dtype=str).iloc[0]
    numbers = [int(number) for number in row["satellites"].split("-")]
    names = Constellation.of_file(file).names
    assert len(numbers) > 1
    assert row["names"].split(", ") == [names[number] for number in numbers]


def test_least_elevation_of_a_shell_replaces_its_range() -> None:
    first = {e: routes(graph(least_elevation=e, **DROP))[0][1] for e in (None, 45.0)}
    assert first[None] != first[45.0]
    for names in routes(graph("60 s", least_elevation=45.0, **DROP)):
        if own := satellites(names[1]):
            assert seen_from_manila(names[0])[1][own[0]] >= 45


def test_pair_without_a_route_lists_visible_satellites() -> None:
    with pytest.raises(ScenarioError) as refused:
        graph(to="-89,0").digest()
    assert "at the start, Manila sees " in str(refused.value)
    assert "-89,0 sees none: the highest, kuiper-630-" in str(refused.value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ({"as": "link", "uplink": {"rate": "1 Mbit/s"}}, "network.path.uplink: set; needs as = 'graph'"),
        ({"uplink": {"rate": "1 bit/s"}}, "network.path.uplink.rate: 1 bit/s; needs"),
        ({"uplink": {"policy": "epd"}}, "network.path.uplink.policy: epd; is for cells"),
        ({"uplink": {"variation": {"delay": [["0 s", "1 ms"]]}}}, "network.path.uplink.variation: with delays"),
        ({"stations": [{"place": "Paris"}]}, "network.path.stations[0].place: 'Paris'"),
        ({"gateways": [{"place": "Dalian"}]}, "network.path.gateways[0].place: 'Dalian'; needs other stations"),
        ({"failures": [{"satellite": "x"}]}, "network.path: 'x'; "),
        ({"handover": {"rule": "table"}}, "network.path: handover.table: with the rule table"),
        ({"handover": {"dwell": "5 s"}}, "network.path: handover.dwell: with the rule shortest-route"),
        ({"handover": {"rule": "table", "table": "missing.csv"}}, "network.path: missing.csv: "),
        ({"outages": {"waiting": "drop"}}, "network.path.outages.waiting: drop; a graph"),
    ],
)
def test_invalid_settings_of_a_graph_are_rejected_in_one_line(path: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        graph(**path).digest()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
