"""Time-varying links in scenarios: their resolved form, results, and errors."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import run
from longpipe import Scenario, pictures, simulate
from longpipe.errors import ScenarioError
from longpipe.examples import MOVING
from longpipe.pictures.kinds.path import interval_s, path_series
from longpipe.satellites import Constellation, round_trips, shell, station
from longpipe.scenario.framings import FOR_PACKETS

MS = 10**9
# The header of files written by `longpipe satellites`.
TRIPS = "time_s,from,to,rtt_ns,links\n"


def over(path: object, duration: str = "10 s", **network: object) -> Scenario:
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": duration,
        "switch": {"buffer": "100 packets"},
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "path": path, **network},
        "tcp": {"recovery": "newreno", "mss": "1460 B", "receiver_window": "100 KB", "timer": "fine"},
    }
    return Scenario(defaults="1996", **fields)


def motions(scenario: Scenario) -> list[dict[str, Any]]:
    return [link.get("motion") for link in scenario.resolve()["links"]]


def test_path_applies_to_both_directions_by_default() -> None:
    delay = [["0 s", "20 ms"], ["5 s", "30 ms"]]
    assert motions(over({"delay": delay}))[2] == motions(over({"delay": delay}))[3]
    one_way = over({"delay": delay}, return_path={"kind": "moving"})
    assert motions(one_way)[3] == {"order": "fifo"}
    assert motions(one_way)[2] == {
        "order": "fifo",
        "delay": {"knots_ps": [[0, 20 * MS], [5000 * MS, 30 * MS]], "between": "linear", "at": "end"},
    }
    # The sizes of buffers and windows are computed from the maximum delay.
    assert [link["delay_ps"] for link in over({"delay": delay}).resolve()["links"]][2:4] == [30 * MS, 30 * MS]
    assert Scenario.from_toml(one_way.to_toml()).digest() == one_way.digest()


def test_constant_path_equals_a_static_link() -> None:
    stands = over(None)
    moves = over({"delay": [["0 s", "5 us"]], "rate": [["0 s", "10 Mbit/s"]]})
    assert stands.digest() != moves.digest()
    one, other = simulate(stands), simulate(moves)
    assert one.flows.equals(other.flows)
    assert other.ports["packets_lost_outage"].sum() == other.ports["overtakings"].sum() == 0


def test_a_scenario_takes_a_path_over_satellites_in_one_line() -> None:
    scenario = over({"shell": "kuiper-630", "from": "Manila", "to": "Dalian", "step": "100 ms"}, "20 s")
    knots = np.array(motions(scenario)[2]["delay"]["knots_ps"])
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    found = round_trips(kuiper, [station("Manila"), station("Dalian")], duration_s=20, step_s=0.1)
    # If two points have the same time, the second one belongs to the new route.
    latest = dict(knots.tolist())
    delays = [latest[round(1e12 * time)] for time in found.times_s]
    assert np.abs(np.array(delays) / 1e12 - found.rtt_s[:, 0] / 2).max() < 0.6e-9
    assert len(knots) - len(latest) == len(found.changes) - 1 == 1
    assert (knots % 1000 == 0).all()
    assert motions(scenario)[2]["order"] == "free"
    result = simulate(scenario)
    assert result.efficiency > 0.8


def test_start_selects_an_instant_of_the_shell(tmp_path: Path) -> None:
    manila = {"shell": "kuiper-630", "from": "Manila", "to": "Dalian"}
    after, date = (over({**manila, "begin": begin}, "2 s") for begin in ("60 s", "2000-01-01T01:01:00+01:00"))
    assert after.digest() == date.digest()
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    found = round_trips(kuiper, [station("Manila"), station("Dalian")], duration_s=61, step_s=60)
    assert motions(date)[2]["delay"]["knots_ps"][0][1] / 1e12 == pytest.approx(found.rtt_s[1, 0] / 2, abs=1e-9)
    assert Scenario.from_toml(date.to_toml()).network.path.begin == "2000-01-01T00:01:00"  # type: ignore[union-attr]
    for begin in ("60 s", "2000-01-01T00:01"):
        file = tmp_path / "rtt.csv"
        done = run("satellites", "kuiper-630", "Manila", "Dalian", "--duration", "1", "--begin", begin, "-o", file)
        assert done.returncode == 0, done.stderr
        rtt_ns = float(file.read_text().splitlines()[1].split(",")[3])
        assert rtt_ns == pytest.approx(1e9 * found.rtt_s[1, 0], abs=1e-3)
    graph = over({**manila, "as": "graph", "begin": "2000-01-01T00:01:00"}, "2 s", trunk_rate="10 Mbit/s")
    assert graph.digest() == over({**manila, "as": "graph", "begin": "60 s"}, "2 s", trunk_rate="10 Mbit/s").digest()


def test_satellite_path_accepts_additional_outages() -> None:
    path = {"shell": "kuiper-630", "from": "Manila", "to": "Dalian", "step": "100 ms"}
    handovers = {"every": "5 s", "phase": "2 s", "gap": "50 ms", "waiting": "drop"}
    plain, moved = (motions(over({**path, **more}, "12 s"))[2] for more in ({}, {"outages": handovers}))
    assert moved["delay"] == plain["delay"]
    assert "outages" not in plain
    assert moved["outages"]["intervals_ps"] == [[at * 1000 * MS, at * 1000 * MS + 50 * MS] for at in (2, 7)]
    assert moved["outages"]["waiting"] == "drop"


def test_satellites_command_writes_a_valid_path(tmp_path: Path) -> None:
    file = tmp_path / "rtt.csv"
    done = run("satellites", "kuiper-630", "Manila", "Dalian", "--duration", "5", "--step", "0.5", "-o", file)
    assert done.returncode == 0, done.stderr
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    found = round_trips(kuiper, [station("Manila"), station("Dalian")], duration_s=5, step_s=0.5)
    motion = motions(over({"file": str(file)}))[2]
    times_ps, delays_ps = np.array(motion["delay"]["knots_ps"]).T
    assert times_ps / 1e12 == pytest.approx(found.times_s)
    assert delays_ps / 1e12 == pytest.approx(found.rtt_s[:, 0] / 2, abs=1e-12)
    assert (motion["delay"]["between"], "outages" in motion) == ("hold", False)


def test_round_trips_of_satellites_accept_a_rate(tmp_path: Path) -> None:
    file = tmp_path / "rtt.csv"
    rows = ["0,a,b,40000000,4,50", "1,a,b,,0,50", "2,a,b,60000000,6,20 Mbit/s", "3,a,b,60000000,6,"]
    file.write_text("\n".join([f"{TRIPS.strip()},rate [Mbit/s]", *rows]) + "\n")
    motion = motions(over({"file": str(file)}))[2]
    steps = [[0, 50 * 10**6], [1000 * MS, 50 * 10**6], [2000 * MS, 20 * 10**6]]
    assert motion["service"] == {"kind": "steps", "steps": steps}
    assert motion["delay"]["knots_ps"] == [[0, 20 * MS], [2000 * MS, 30 * MS], [3000 * MS, 30 * MS]]
    assert motion["outages"]["intervals_ps"] == [[1000 * MS, 2000 * MS]]


def test_instants_without_a_route_in_round_trips_are_outages(tmp_path: Path) -> None:
    rows = ["0,a,b,40000000,4", "1,a,b,,0", "2,a,b,,0", "3,a,b,60000000.5,6"]
    (tmp_path / "rtt.csv").write_text("\n".join(["time_s,from,to,rtt_ns,links", *rows]) + "\n")
    motion = motions(over({"file": str(tmp_path / "rtt.csv")}))[2]
    assert motion["delay"]["knots_ps"] == [[0, 20 * MS], [3000 * MS, 30 * MS + 250]]
    assert motion["outages"]["intervals_ps"] == [[1000 * MS, 3000 * MS]]


def test_round_trips_without_a_route_at_both_ends_are_outages(tmp_path: Path) -> None:
    rows = ["0,a,b,,0", "1,a,b,40000000,4", "2,a,b,41000000,4", "3,a,b,,0", "4,a,b,,0"]
    (tmp_path / "rtt.csv").write_text("\n".join([TRIPS.strip(), *rows]) + "\n")
    scenario = over({"file": str(tmp_path / "rtt.csv")}, "20 s")
    intervals = motions(scenario)[2]["outages"]["intervals_ps"]
    assert intervals[0] == [0, 1000 * MS]
    assert intervals[1][0] == 3000 * MS
    assert intervals[1][1] >= 20 * 1000 * MS
    assert simulate(scenario).flows["delivered_bytes"].sum() > 0
    (tmp_path / "rtt.csv").write_text("\n".join([TRIPS.strip(), rows[0], rows[3]]) + "\n")
    with pytest.raises(ScenarioError, match="no route at any instant; needs a round trip in at least one row"):
        over({"file": str(tmp_path / "rtt.csv")}).resolve()


@pytest.mark.parametrize("begin", ["2000-01-01T00:01:40", "2000-01-01T00:01:40Z", "2000-01-01T01:01:40+01:00"])
def test_start_is_a_toml_date_or_text(begin: str) -> None:
    path = 'path = {{ shell = "kuiper-630", from = "Manila", to = "Dalian", begin = {} }}'
    own = f'duration = "2 s"\nframing = "ip"\n[network]\nkind = "dumbbell"\nsources = 1\n{path}'
    written, quoted = (Scenario.from_toml(own.format(value)) for value in (begin, f'"{begin}"'))
    assert written.digest() == quoted.digest()
    assert Scenario.from_toml(written.to_toml()).digest() == quoted.digest()
    after = Scenario.from_toml(own.format('"100 s"'))
    assert written.resolve()["links"] == after.resolve()["links"]
    with pytest.raises(ScenarioError, match=rf"^duration: {re.escape(begin[:19])}\S*; accepts ps, ns"):
        Scenario.from_toml(own.format('"1 s"').replace('"2 s"', begin, 1))


def test_rate_of_zero_holds_packets_and_keeps_sent_bits() -> None:
    # The rate is 1 Mbit/s for the first half of each second, then 0.
    path = {"rate": [["0 s", "1 Mbit/s"], ["500 ms", "0 bit/s"]], "rate_cycle": "1 s"}
    result = simulate(over(path, return_path={"kind": "moving"}))
    assert result.attainable_bps == pytest.approx(0.5e6 * 1460 / 1500)
    trunk = result.ports.set_index("port").loc["switch1->switch2"]
    assert trunk["bytes_out"] * 8 <= 5e6
    assert trunk["utilization"] > 0.9


def test_losses_before_an_early_timeout_in_an_outage_are_repaired() -> None:
    # The buffer of 100 packets overflows, and the path holds all packets for 3 s: the reduction after the timeout is
    # undone, and RACK detects the losses before it. The transmission of 10 MB on the trunk takes 6.9 s, in addition to
    # the 3 s outage; with a second timeout, the transfer would take 13.3 s.
    path = {"outages": {"intervals": [["2.7 s", "5.7 s"]]}}
    rates = {"access_rate": "1 Gbit/s", "trunk_rate": "12 Mbit/s", "trunk_delay": "20 ms"}
    silent = over(path, duration="20 s", return_path={"kind": "moving"}, **rates)
    file = {"traffic": {"kind": "transfer", "size": "10 MB"}, "tcp": {"profile": "linux-6"}}
    completion_s = simulate(silent.with_(**file)).flows["completion_s"].iloc[0]
    handshake_s = 0.04
    alone_s = handshake_s + 10e6 * 8 / (12e6 * 1448 / 1500) + 3
    assert alone_s < completion_s < alone_s + 0.1


def test_outages_drop_queued_and_propagating_packets_as_configured() -> None:
    delay: dict[str, Any] = {"delay": [["0 s", "20 ms"]]}
    held = simulate(over({**delay, "outages": {"every": "2 s", "phase": "1 s", "gap": "200 ms"}}))
    assert held.ports[["packets_lost_outage", "packets_lost_on_wire"]].to_numpy().sum() == 0
    drops = {"waiting": "drop", "in_flight": "drop", "arriving": "drop", "in_service": "drop"}
    lost = simulate(over({**delay, "outages": {"every": "2 s", "phase": "1 s", "gap": "200 ms", **drops}}))
    trunk = lost.ports.set_index("port").loc["switch1->switch2"]
    # The difference is the rest of a window, plus the data in transit during 20 ms.
    assert trunk["packets_lost_outage"] > 40
    assert trunk["packets_lost_on_wire"] > 10


def test_packets_overtake_each_other_where_the_delay_falls_and_order_is_free() -> None:
    falls = [["0 s", "50 ms"], ["5 s", "50 ms"], ["5 s", "20 ms"]]
    free, fifo = (simulate(over({"delay": falls, "order": order})) for order in ("free", "fifo"))
    trunk = free.ports.set_index("port").loc["switch1->switch2"]
    # At 10 Mbit/s, 25 packets are sent in 30 ms, each of which arrives before all remaining ones.
    assert 23 <= trunk["overtakings"] == trunk["furthest_overtaking"] <= 26
    assert fifo.ports["overtakings"].sum() == 0
    # They arrive alternately with the packets that they overtook, so no ACK arrives three times.
    assert (free.flows["duplicate_acks"].sum(), fifo.flows["duplicate_acks"].sum()) == (24, 0)
    assert free.flows["fast_retransmits"].sum() == 0


def test_a_schedule_of_mahimahi_is_read_from_a_file_and_hashed(tmp_path: Path) -> None:
    file = tmp_path / "cell.down"
    file.write_text("0\n2\n2\n5\n")
    scenario = over({"file": str(file)}, return_path={"kind": "moving"})
    assert motions(scenario)[2]["service"] == {
        "kind": "opportunities", "instants_ps": [0, 2 * MS, 2 * MS, 5 * MS], "bytes": 1504, "header_bytes": 4,
    }  # fmt: skip
    assert simulate(scenario).throughputs_bps.sum() == pytest.approx(4 * 1460 * 8 / 5e-3, rel=0.02)
    file.write_text("0\n2\n2\n6\n")
    assert over({"file": str(file)}).digest() != scenario.digest()


def test_a_series_is_read_from_csv(tmp_path: Path) -> None:
    file = tmp_path / "path.csv"
    file.write_text("time,rate,delay,loss\n0,10 Mbit/s,0.02,\n1.5,5e6,30 ms,0.25\n2,,,0\n")
    (link,) = (link for link in over({"file": str(file)}).resolve()["links"][2:3])
    assert link["motion"]["service"] == {"kind": "steps", "steps": [[0, 10**7], [1500 * MS, 5 * 10**6]]}
    assert link["motion"]["delay"]["knots_ps"] == [[0, 20 * MS], [1500 * MS, 30 * MS]]
    assert link["loss"] == {"kind": "over-time", "steps_ps": [[1500 * MS, 0.25], [2000 * MS, 0.0]]}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.down", "1\n\n2\n", "a.down:2: ''; needs a whole number of milliseconds"),
        ("a.down", "3\n2\n", "a.down:2: 2 ms after 3 ms; needs nondecreasing times"),
        ("a.down", "0\n0\n", "a.down:2: 0 ms; needs a last line above 0"),
        ("a.down", "-1\n", "a.down:1: '-1'; needs a whole number of milliseconds"),
        ("a.down", "", "a.down: 0 lines; needs 1 to 10000000, each with a time in milliseconds"),
        ("a.csv", "time,rate\n0,1e6\n0,2e6\n", "a.csv:3: time 0 ps after 0 ps; needs increasing times"),
        ("a.csv", "time,delay\n0,-1 ms\n", "a.csv:2: delay -1 ms; needs 0 to 1000 s"),
        ("a.csv", "time,delay\n0,inf\n", "a.csv:2: delay 'inf'; needs a number, or one with a unit, as in '5 ms'"),
        (
            "a.csv",
            "time,dely\n0,1\n",
            "a.csv:1: column 'dely'; did you mean 'delay'? accepts time, rate, delay, rtt, loss",
        ),
        ("a.csv", "time,loss\n0,2\n", "a.csv:2: loss '2'; needs a probability of 0 to 1"),
        ("a.csv", "time,loss\n0\n", "a.csv:2: 1 cells; needs 2: time, loss"),
        ("a.csv", "time_s,from,rtt_ns\n0,a,1\n", "a.csv:1: column 'from'; accepts time, rate, delay, rtt, loss"),
        ("a.csv", f"{TRIPS}0,a,b,1,2\n0,a,c,1,2\n", "a.csv:3: a - c after a - b; needs round trips of one pair"),
        (
            "a.csv",
            f"{TRIPS.strip()},rat\n0,a,b,1,2,3\n",
            "a.csv:1: column 'rat' after links; needs rate, as in 'rate [Mbit/s]', or none",
        ),
        (
            "a.csv",
            f"{TRIPS.strip()},rate,rate_bps\n0,a,b,1,2,3,3\n",
            "a.csv:1: 2 columns after links; needs at most one, of rates",
        ),
        ("a.csv", f"{TRIPS}0,a,b,x,2\n", "a.csv:2: rtt_ns 'x'; needs a number, or one with a unit, as in '5 ms'"),
        ("a.csv", f"{TRIPS}0,a,b\n", "a.csv:2: 3 cells; needs 5: time_s, from, to, rtt_ns, links"),
        ("a.csv", "time,rate,delay\n1,,1\n2,1e6,\n", "a.csv: rate: begins at 1 s; needs a first step at 0 s"),
    ],
)
def test_files_that_are_wrong_are_named_by_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError) as caught:
        over({"file": str(tmp_path / name)})
    assert str(caught.value).removeprefix(f"{tmp_path}/") == said


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ({"delay": [["1 s", "1 ms"], ["0 s", "1 ms"]]}, "network.path.delay: 1 s and then 0 s; needs increasing times"),
        ({"rate": [["0 s", "0 bit/s"]]}, "network.path.rate: always 0 bit/s; needs a rate above 0 at some time"),
        ({"outages": {"every": "1 s", "gap": "1 s"}}, "network.path.outages.gap: 1 s; needs less than every, 1 s"),
        ({"shell": "oneweb", "from": "London", "to": "Sydney"}, "network.path: London - Sydney: no route over oneweb at any instant; needs stations that see the same satellite, or satellites that links connect (at the start, London sees 2 satellites, Sydney sees 1 satellite)"),
        ({"shell": "oneweb", "from": "London", "to": "Sydney", "begin": "soon"}, "network.path.begin: 'soon'; needs a time after the shell's epoch, 2000-01-01T00:00:00, as in '60 s', or a date and time in UTC, as in 2000-01-01T00:01"),
        ({"kind": "orbit"}, "network.path: 'orbit'; accepts moving, file, coded, satellites, elements, starlink"),
    ],
)  # fmt: skip
def test_invalid_paths_are_rejected(path: object, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        over(path)
    assert str(caught.value) == said


def of_cells(path: object, **fields: object) -> Scenario:
    network: Any = {"kind": "dumbbell", "sources": 2, "path": path, "return_path": {"kind": "moving"}}
    tcp: Any = {"recovery": "newreno", "timer": "fine"}
    return Scenario(defaults="1996", duration="1 s", network=network, switch={"buffer": "4000 cells"}, tcp=tcp).with_(
        **fields
    )


def test_cell_link_with_equal_endpoints_keeps_its_delay() -> None:
    stands, moves = of_cells(None), of_cells({"delay": [["0 s", "5 us"]], "rate": [["0 s", "155.52 Mbit/s"]]})
    assert stands.resolve()["links"][4].get("motion") is None
    one, other = simulate(stands), simulate(moves)
    assert one.flows.equals(other.flows)
    counts = [name for name in one.ports if str(name).startswith(("cells_", "frames_"))]
    assert one.ports[counts].equals(other.ports[counts])


def test_outages_drop_cells_and_frames_with_them() -> None:
    drop: dict[str, object] = {
        "every": "200 ms",
        "phase": "100 ms",
        "gap": "20 ms",
        "arriving": "drop",
        "waiting": "drop",
    }
    delay: object = [["0 s", "1 ms"], ["1 s", "3 ms"]]
    lossy = of_cells({"delay": delay, "outages": {**drop, "in_service": "drop", "in_flight": "drop"}})
    result = simulate(lossy)
    port = result.ports.set_index("port").loc["switch1->switch2"]
    assert port["cells_lost_outage"] > 0
    assert port["cells_lost_on_wire"] > 0
    lost = port[[name for name in port.index if name.startswith("cells_lost")]].sum()
    assert port["cells_in"] == port["cells_out"] + lost + port["cells_held"]
    held = simulate(of_cells({"delay": delay, "outages": {**drop, "arriving": "hold", "waiting": "hold"}}))
    assert held.ports["cells_lost_outage"].sum() == held.ports["cells_lost_on_wire"].sum() == 0
    assert held.efficiency > result.efficiency


def test_path_invalid_for_cells_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "link.down").write_text("1\n2\n", encoding="utf-8")
    delay = {"delay": [["0 s", "1 ms"]]}
    vbr: Any = {"switch.scheduler": "priority", "network.vbr": {"period": "10 ms"}}
    for path, fields, said in (
        ({"file": str(tmp_path / "link.down")}, {}, "network.path: a schedule of packet transmissions; needs framing 'ip'"),
        ({**delay, "order": "free"}, {}, "network.path.order: free; needs 'fifo' under AAL5, because the cells of a circuit keep their order"),
        (delay, vbr, "network.vbr: vbr crosses a time-varying link; needs static links"),
    ):  # fmt: skip
        with pytest.raises(ScenarioError) as caught:
            of_cells(path, **fields)
        assert str(caught.value) == said


@pytest.mark.parametrize("name", MOVING)
def test_time_varying_examples_run_and_are_drawn(name: str) -> None:
    scenario = Scenario.example(name).with_(duration="20 s")
    # CUBIC is limited by losses where they are not caused by congestion.
    assert 0.2 < simulate(scenario.with_(**{"tcp.congestion": "bbr"})).efficiency < 1
    series = path_series(scenario)
    assert set(series) == {"switch1->switch2", "switch2->switch1"}
    down = series["switch1->switch2"]
    assert down["rate_bps"].nunique() > 1
    assert down["time_s"].is_monotonic_increasing
    assert pictures.path(scenario).axes


def test_a_delay_that_jumps_between_knots_is_drawn_as_a_jump() -> None:
    knots = [["0 s", "20 ms"], ["1 s", "22 ms"], ["1 s", "30 ms"], ["2 s", "32 ms"]]
    scenario = Scenario(defaults="1996", duration="2 s").with_(
        **{"framing": "ip", "switch.buffer": "1 BDP", "network.path": {"delay": knots, "between": "linear"}}
    )
    table = path_series(scenario)["switch1->switch2"]
    assert table["time_s"].tolist() == [0.0, 1.0, 1.0, 2.0]
    assert table["delay_s"].tolist() == pytest.approx([0.020, 0.022, 0.030, 0.032])


def test_rates_of_a_schedule_are_means_over_stated_intervals_at_whole_numbers(tmp_path: Path) -> None:
    """A schedule that jumps from 24 to 6 Mbit/s at 2 s has only these two rates, over the whole run and over a part."""
    fast, slow = [t for t in range(1, 2001) for _ in range(2)], range(2002, 4001, 2)
    (tmp_path / "a.down").write_text("".join(f"{t}\n" for t in (*fast, *slow)))
    fields = {"framing": "ip", "switch.buffer": "1 BDP", "network.path": {"file": str(tmp_path / "a.down")}}
    scenario = Scenario(defaults="1996", duration="59 s").with_(**fields)
    for span_s, width_s in (((0.0, 59.0), 0.2), ((1.0, 5.0), 0.01)):
        rates = path_series(scenario, span_s)["switch1->switch2"].dropna().set_index("time_s")["rate_bps"] / 1e6
        assert interval_s(span_s) == width_s
        assert set(rates.round(9)) == {24.064, 6.016}
        assert rates[rates < 10].index[0] == pytest.approx(2.0)
    title = pictures.path(scenario).get_suptitle()
    assert title.endswith("rates of schedules are means over 0.2 s each")


def test_equal_directions_of_a_path_are_both_visible() -> None:
    """Draws a delay that varies little in relation to its size, the same in both directions."""
    knots = [["0 s", "23 ms"], ["1 s", "24 ms"], ["2 s", "23 ms"]]
    scenario = Scenario(defaults="1996", duration="2 s").with_(
        **{"framing": "ip", "switch.buffer": "1 BDP", "network.path": {"delay": knots, "between": "linear"}}
    )
    delay = pictures.path(scenario).axes[1]
    forward, back = delay.lines
    assert np.array_equal(forward.get_ydata(), back.get_ydata())
    assert (forward.get_linestyle(), back.get_linestyle()) == ("-", "--")
    assert delay.get_ylim() == pytest.approx((0, 1.05 * 24))


def test_the_title_of_a_path_contains_the_changes(tmp_path: Path) -> None:
    scenario = Scenario.example(MOVING[0]).with_(duration="2 s")
    (tmp_path / "own.toml").write_text(scenario.to_toml())
    drawn = run("plot", "own.toml", "path", "--set", "network.trunk_delay=7 ms", "-o", "path.svg", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert f"{scenario.name}, network.trunk_delay=7 ms: links over time" in (tmp_path / "path.svg").read_text()


def test_a_picture_of_a_path_explains_its_outages_once() -> None:
    fields = {"switch.buffer": "1 BDP", "network.path": {"outages": {"every": "1 s", "phase": "500 ms"}}}
    figure = pictures.path(Scenario(defaults="1996", duration="4 s", framing="ip").with_(**fields))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "switch1->switch2", "switch2->switch1", "outage"
    ]  # fmt: skip


def test_a_picture_of_a_path_needs_one() -> None:
    with pytest.raises(ScenarioError, match=r"^path: no link is time-varying; needs network.path"):
        pictures.path(Scenario(defaults="1996"))


# Fields that disciplines require.
REQUIRED: dict[str, dict[str, Any]] = {
    "step-marking": {"threshold": 20},
    "strict-priority": {"classes": 2},
    "weighted-priority": {"weights": [2, 1]},
}


@pytest.mark.parametrize("kind", FOR_PACKETS)
def test_every_discipline_runs_in_front_of_every_transmitter(kind: str, tmp_path: Path) -> None:
    schedule = tmp_path / "schedule"
    schedule.write_text("1\n2\n3\n7\n", encoding="utf-8")
    paths: dict[str, object] = {
        "rate": {"rate": [["0 s", "10 Mbit/s"], ["1 s", "2 Mbit/s"], ["2 s", "6 Mbit/s"]]},
        "outages": {
            "outages": {"every": "700 ms", "gap": "30 ms", "waiting": "drop", "in_service": "drop", "arriving": "drop"}
        },
        "schedule": {"file": str(schedule)},
        "coded": {"symbol_rate": "5 Mbaud", "esn0": [["0 s", 12.0], ["1 s", 3.0], ["2 s", 12.0]]},
    }
    policy = {"kind": kind, **REQUIRED.get(kind, {})}
    for name, path in paths.items():
        scenario = over(path, "3 s", trunk_delay="10 ms", sources=2).with_(**{"switch.policy": policy})
        result = simulate(scenario)
        reference = simulate(scenario.with_(engine="reference"))
        assert result.state_hash == reference.state_hash, name
        port = result.ports.set_index("port").loc["switch1->switch2"]
        assert port["packets_out"] > 100, name
        lost = port[[one for one in port.index if one.startswith("packets_lost")]].sum()
        assert port["packets_in"] == port["packets_out"] + lost + port["packets_held"], name


def test_codel_keeps_the_delay_of_a_slow_link_near_its_target() -> None:
    """According to RFC 8289, CoDel limits a standing queue to 5 ms plus the sawtooth of the window.

    Tail drop fills the buffer.
    """
    slow = {"rate": [["0 s", "20 Mbit/s"], ["10 s", "5 Mbit/s"]]}
    held = {}
    for policy in ("tail-drop", "codel", "fq-codel", "pie"):
        scenario = over(slow, "60 s", trunk_delay="10 ms").with_(
            **{"switch.policy": policy, "switch.buffer": "200 packets", "traces.queue": True}
        )
        queue = simulate(scenario).traces["queue"]
        late = queue[(queue["port"] == "switch1->switch2") & (queue["time_s"] > 30)]
        held[policy] = late["queue_packets"].median() * 1500 * 8 / 5e6
    assert held["tail-drop"] > 0.1
    assert held["codel"] < 0.03
    assert held["fq-codel"] < 0.03
    assert held["pie"] < 0.05
