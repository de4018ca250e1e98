"""Links with medium access: resolution, errors, counters, and agreement of both engines."""

from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from longpipe import Scenario, ScenarioError, pictures, simulate
from longpipe.cautions.cautions import seedless
from longpipe.lab import beyond
from longpipe_evidence.validate import access

FOLDER: Final = Path(__file__).parent / "data" / "access"

GEO: dict[str, Any] = {
    "framing": "ip",
    "duration": "20 s",
    "network": {
        "kind": "dumbbell",
        "sources": 1,
        "trunk_rate": "20 Mbit/s",
        "trunk_delay": "270 ms",
        "return_rate": "453 kbit/s",
        "return_buffer": "100 packets",
        "return_access": {"kind": "dvb-rcs2"},
    },
    "switch": {"buffer": "1 BDP"},
}


def geo(**changes: object) -> Scenario:
    return Scenario.model_validate({"defaults": "1996", **GEO}).with_(**changes)


def test_return_link_delays_the_handshake_by_a_grant() -> None:
    transfer = {"traffic": {"kind": "transfer", "size": "500 B"}, "tcp.handshake": True, "duration": "10 s"}
    # The SYN-ACK waits for a grant, which takes 1060 ms in the mean; a static link takes 270 ms.
    static = simulate(geo(**transfer, **{"network.return_access": None}))
    granted = simulate(geo(**transfer))
    waited = granted.flows["completion_s"][0] - static.flows["completion_s"][0]
    assert 0.4 < waited < 0.9
    port = granted.ports.set_index("port").loc["switch2->switch1"]
    assert port["requests"] >= 1
    assert port["requests_lost"] == 0
    assert 0 < port["grants_used"] <= port["grants"]
    assert port["waiting_for_grant_s"] > 0.4


def test_reference_engine_gives_equal_results() -> None:
    for preset in ("typical", "sns3", "opensand"):
        changes = {"network.return_access.preset": preset, "network.return_access.constant_rate": "16 kbit/s"}
        runs = [simulate(geo(engine=engine, **changes)) for engine in ("trains", "reference")]
        assert runs[0].state_hash == runs[1].state_hash


def test_upload_is_limited_by_access() -> None:
    upload = {"network.access": {"kind": "dvb-rcs2", "requests": "rbdc", "max_rate": "100 kbit/s"}}
    changes = {**upload, "network.return_access": None, "network.trunk_rate": "453 kbit/s", "duration": "120 s"}
    result = simulate(geo(**changes))
    assert result.flow_limits[0].limited_by == "access"
    assert 50e3 < result.throughputs_bps[0] < 100e3


def test_remedy_of_access_raises_the_goodput() -> None:
    upload = {"network.access": {"kind": "dvb-rcs2", "requests": "rbdc", "max_rate": "100 kbit/s"}}
    changes = {**upload, "network.return_access": None, "network.trunk_rate": "453 kbit/s", "duration": "120 s"}
    before = simulate(geo(**changes))
    remedy = before.flow_limits[0].remedy
    assert remedy is not None
    assert remedy.in_words == "set network.access.free_rate to 453 kbit/s"
    after = simulate(remedy.applied_to(before.scenario))
    assert after.throughputs_bps[0] > 3 * before.throughputs_bps[0]
    assert after.flow_limits[0].limited_by != "access"


def test_link_that_is_busy_has_a_remedy_that_its_access_accepts() -> None:
    network = {"kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "trunk_delay": "10 ms"}
    busy = Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": "5 s",
            "network": {**network, "trunk_rate": "143.4 Mbit/s", "return_rate": "1 Gbit/s", "access": {"kind": "wifi"}},
            "switch": {"buffer": "1000 packets"},
            "tcp": {"profile": "linux-6"},
        }
    )
    limit = simulate(busy).flow_limits[0]
    # The rates of Wi-Fi are those of the standard.
    assert (limit.limited_by, limit.remedy) == ("link", None)
    carrier = {"kind": "dvb-s2", "es_n0": [["0 s", 3.0]]}
    before = simulate(busy.with_(**{"network.access": carrier, "network.trunk_rate": "20 Mbit/s"}))
    remedy = before.flow_limits[0].remedy
    assert remedy is not None
    assert simulate(remedy.applied_to(before.scenario)).throughputs_bps[0] > 3 * before.throughputs_bps[0]


def test_trace_of_grants_agrees_with_the_counters() -> None:
    result = simulate(geo(**{"traces.grants": True, "network.return_access.request_loss": 0.1}))
    rows = result.traces["grants"]
    port = result.ports.set_index("port").loc["switch2->switch1"]
    assert set(rows["port"]) == {"switch2->switch1"}
    counts = rows["action"].value_counts()
    assert counts["transmission"] == port["grants_used"]
    assert counts["request"] + counts["lost-request"] == port["requests"]
    assert counts["lost-request"] == port["requests_lost"]
    # Each grant is a number of bursts of 38 bytes, and a volume is requested in steps of at most 512 bytes.
    assert (rows["bytes"][rows["action"] == "grant"] % 38 == 0).all()
    assert rows["time_s"].is_monotonic_increasing
    assert rows["waited_s"].sum() == pytest.approx(port["waiting_for_grant_s"], abs=1.2)


def test_random_access_shortens_the_wait_of_the_first_packet() -> None:
    transfer = {"traffic": {"kind": "transfer", "size": "500 B"}, "tcp.handshake": True, "duration": "10 s"}
    granted = simulate(geo(**transfer))
    random = simulate(geo(**transfer, **{"network.return_access.random_access": "crdsa"}))
    # Kuhn et al. 2013 report 500 ms for the first ten datagrams.
    assert 0.4 < granted.flows["completion_s"][0] - random.flows["completion_s"][0] < 0.9
    port = random.ports.set_index("port").loc["switch2->switch1"]
    assert port["attempts"] >= 2
    assert port["collisions"] == 0


def test_losses_of_random_access_are_counted_as_access() -> None:
    own = {"kind": "dvb-rcs2", "requests": "none", "random_access": "slotted-aloha", "random_access_load": 1.0}
    traffic = {"kind": "poisson", "rate": "1 kbit/s", "payload": "3 B"}
    changes = {"network.access": own, "network.return_access": None, "network.trunk_rate": "453 kbit/s"}
    runs = [
        simulate(geo(traffic=traffic, duration="200 s", engine=engine, **{**changes, "traces.drops": True}))
        for engine in ("trains", "reference")
    ]
    assert runs[0].state_hash == runs[1].state_hash
    port = runs[0].ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_lost_access"] > 0
    assert set(runs[0].traces["drops"]["cause"]) == {"access"}
    assert port["collisions"] / port["attempts"] == pytest.approx(0.632, abs=0.06)
    assert runs[0].flow_limits[0].limited_by == "random loss"


def test_numbers_of_access_are_within_their_tolerance() -> None:
    chosen = access.rows(FOLDER)
    assert len(chosen) == 56
    few = chosen[chosen["conditions"].str.contains("G=0.5|G=0.8|case=|sr-period|rtt=5|users=4|map-interval")]
    compared = list(access.compare(few, 4000))
    assert len(compared) == 22
    assert [one for one in compared if not one.holds] == []


def test_table_without_the_columns_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "random-access.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ScenarioError, match=r"random-access\.csv'; needs the columns quantity,conditions"):
        access.rows(tmp_path)


def test_picture_of_grants_names_port_and_waits() -> None:
    result = simulate(geo(**{"traces.grants": True}))
    figure = pictures.grants(result)
    assert figure.get_suptitle().endswith("waiting time for a transmission at switch2->switch1")
    waits = pictures.grant_points(result)["waited_s"]
    shown = [np.asarray(line.get_ydata(), dtype=float).max() for line in figure.axes[0].lines]
    assert max(shown) == pytest.approx(1e3 * waits.max())
    with pytest.raises(ScenarioError, match=r"^port: 'switch1->switch2' sent no data by medium access"):
        pictures.grants(result, port="switch1->switch2")
    static = simulate(geo(**{"traces.grants": True, "network.return_access": None}))
    with pytest.raises(ScenarioError, match=r"^port: no port with medium access sent data in the time shown"):
        pictures.grants(static)


def test_path_picture_states_that_waits_are_omitted() -> None:
    with pytest.raises(ScenarioError, match=r"the picture grants shows the waits at switch2->switch1$"):
        pictures.path(geo())
    moving = {"kind": "moving", "rate": [["0 s", "20 Mbit/s"], ["9 s", "5 Mbit/s"]]}
    names = ("server", "gateway", "modem", "router", "home")
    links: list[dict[str, Any]] = [
        {"between": list(pair), "rate": "20 Mbit/s", "delay": "1 ms"} for pair in pairwise(names)
    ]
    links[1] |= {"return_rate": "453 kbit/s", "return_access": {"kind": "dvb-rcs2"}}
    links[2] |= {"path": moving}
    network = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": "host" if name in ("server", "home") else "switch"} for name in names],
        "links": links,
        "flows": [{"name": "flow", "from": "server", "to": "home"}],
    }
    scenario = Scenario.model_validate(GEO | {"network": network, "switch": {"buffer": "99 packets"}})
    assert "without waits for transmissions at modem->gateway" in pictures.path(scenario).get_suptitle()


def forward(**changes: object) -> Scenario:
    own = {"network.return_access": None, "network.return_rate": "1 Mbit/s", "network.access": {"kind": "dvb-s2"}}
    return geo(**(own | changes))


def test_carrier_of_dvb_s2_is_used_without_losses() -> None:
    runs = [
        simulate(forward(engine=engine, duration="60 s", **{"tcp.receiver_window": "1 MB"}))
        for engine in ("trains", "reference")
    ]
    assert runs[0].state_hash == runs[1].state_hash
    port = runs[0].ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_lost_access"] == 0
    assert 0 < port["grants_used"] == port["grants"]
    # A window of 1 MB takes an RTT of 540 ms, and for packets of each burst the time of a frame and the filling timeout.
    assert 8e6 / 0.66 < runs[0].throughputs_bps[0] < 8e6 / 0.56


def test_frames_above_the_present_es_n0_are_lost() -> None:
    access = {"kind": "dvb-s2", "es_n0": [["0 s", 10.0], ["10 s", 10.0], ["12 s", 4.0], ["60 s", 4.0]]}
    cbr = {"kind": "cbr", "rate": "3 Mbit/s"}
    losses = {}
    for margin in (0, 7):
        changes = {"network.access": access | {"margin": margin}, "traffic": cbr, "traces.drops": True}
        result = simulate(forward(duration="30 s", **changes))
        rows = result.traces["drops"]
        assert set(rows["cause"]) <= {"access"}
        losses[margin] = rows["time_s"].to_numpy()
    assert len(losses[0]) > 100
    # Es/N0 falls by 3 dB/s below the threshold of 8PSK 3/4, and frames are sent 270 ms before they arrive.
    assert losses[0].min() == pytest.approx(10 + (10 - 7.91) / 3 - 0.27, abs=0.02)
    # The fall ends at 12 s, and the next report arrives within the interval of 1 s and 270 ms.
    assert losses[0].max() < 12 + 1 + 0.27
    assert len(losses[7]) == 0


def test_terminals_of_a_cell_share_its_capacity() -> None:
    ends = [f"{role}{i}" for role in ("home", "server") for i in range(3)]
    access = {"kind": "dvb-rcs2", "cell": "beam", "requests": "rbdc"}
    links = [
        {"between": [f"modem{i}", "gateway"], "rate": "453 kbit/s", "delay": "250 ms", "access": access}
        for i in range(3)
    ] + [{"between": [f"home{i}", f"modem{i}"], "rate": "1 Gbit/s", "delay": "1 ms"} for i in range(3)]
    links += [{"between": ["gateway", f"server{i}"], "rate": "1 Gbit/s", "delay": "1 ms"} for i in range(3)]
    network = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": "host"} for name in ends]
        + [{"name": name, "kind": "switch"} for name in ("gateway", "modem0", "modem1", "modem2")],
        "links": links,
        "flows": [{"name": f"flow{i}", "from": f"home{i}", "to": f"server{i}"} for i in range(3)],
    }
    scenario = Scenario.model_validate(
        {"framing": "ip", "duration": "120 s", "network": network, "switch": {"buffer": "1 BDP"}}
    )
    result = simulate(scenario)
    assert 0.5 * 453e3 < sum(result.throughputs_bps) < 453e3
    assert result.fairness > 0.9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"framing": "aal5", "switch.buffer": "1000 cells", "network.return_buffer": None}, "network.return_access: dvb-rcs2; needs framing 'ip'"),
        ({"network.return_path": {"kind": "moving", "delay": [["0 s", "200 ms"], ["9 s", "210 ms"]]}}, "needs a constant link"),
        ({"network.return_conditioners": [{"kind": "tbf", "rate": "1 Mbit/s", "burst": "9 KB"}]}, "network.return_access: dvb-rcs2; not together with tbf"),
        ({"network.return_policy": {"kind": "cake", "rate": "400 kbit/s"}}, "network.return_access: dvb-rcs2; not together with the rate of cake, needs a router before it"),
        ({"network.exit_access": {"kind": "wifi"}}, "network.exit_access.standard: ax; needs a link rate of 8.6, 17.2, "),
        ({"network.exit_return_access": {"kind": "docsis"}, "network.send_jitter": "1 ms"}, "network.exit_return_access: docsis; needs send_jitter 0 s, not 1 ms"),
        ({"network.return_access.superframe": "1 ms", "network.return_rate": "100 kbit/s"}, "network.return_access.superframe: 1 ms; needs at least the duration of a burst"),
        ({"network.return_access.constant_rate": "1 Mbit/s"}, "network.return_access.constant_rate: 1000000 bit/s; needs constant rates that fit"),
        ({"network.return_access.preset": "sns3", "network.trunk_delay": "400 ms"}, "network.return_access.preset: sns3; needs a link delay of at most 300 ms, not 400 ms"),
        ({"network.return_access.requests": "none"}, "network.return_access.requests: none; needs rbdc or vbdc"),
        ({"network.return_access.random_access": "crdsa", "network.return_access.random_access_slots": 200}, "network.return_access.random_access_slots: 200; needs at least 3, the copies of a burst, and at most 149, the bursts of a superframe"),
        ({"network.access": {"kind": "dvb-s2", "modcod": "QPSK 7/8"}}, "network.access.modcod: QPSK 7/8; accepts QPSK 1/4, "),
        ({"network.access": {"kind": "dvb-s2", "modcod": "QPSK 9/10", "frames": "short"}}, "network.access.modcod: QPSK 9/10; accepts QPSK 1/4, "),
        ({"network.access": {"kind": "dvb-s2", "gse_label": "4 B"}}, "network.access.gse_label: 4 B; needs 0, 3 or 6 B"),
        ({"network.return_access.waveform": 2}, "network.return_access.waveform: 2; "),
    ],
)  # fmt: skip
def test_unsuitable_access_is_rejected_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        geo(**changes)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_links_of_a_dumbbells_sinks_are_those_of_a_graph() -> None:
    carriers = {"kind": "dvb-rcs2", "waveform": 22, "cell": "beam", "carriers": 2}
    common = {"framing": "ip", "duration": "5 s", "switch": {"buffer": "200 packets"}, "traffic": "web"}
    beam = Scenario.model_validate(
        {
            "defaults": "1996",
            **common,
            "network": {
                "kind": "dumbbell", "sources": 3, "access_rate": "1 Gbit/s", "access_delay": "5 ms",
                "trunk_rate": "20 Mbit/s", "trunk_delay": "0 s", "exit_delay": "270 ms", "exit_rate": "100 Mbit/s",
                "exit_return_rate": "2348 kbit/s", "exit_return_access": carriers,
            },
        }
    )  # fmt: skip
    server = {"rate": "1 Gbit/s", "delay": "5 ms"}
    home = {
        "rate": "100 Mbit/s", "delay": "270 ms", "return_rate": "2348 kbit/s", "return_access": carriers,
    }  # fmt: skip
    numbers = range(1, 4)
    hosts = [f"{role}{i}" for role in ("source", "sink") for i in numbers]
    names = [*hosts[:3], "switch1", "switch2", *hosts[3:]]
    graph = beam.with_(
        network={
            "kind": "graph",
            "nodes": [{"name": name, "kind": "host" if name in hosts else "switch"} for name in names],
            "links": [
                *({"between": [f"source{i}", "switch1"], **server} for i in numbers),
                {"between": ["switch1", "switch2"], "rate": "20 Mbit/s", "delay": "0 s"},
                *({"between": ["switch2", f"sink{i}"], **home} for i in numbers),
            ],
            "flows": [{"name": f"flow{i}", "from": f"source{i}", "to": f"sink{i}"} for i in numbers],
        }
    )
    assert beam.resolved["links"] == graph.resolved["links"]
    runs = [simulate(beam.with_(engine=engine)) for engine in ("trains", "reference")]
    assert runs[0].state_hash == runs[1].state_hash == simulate(graph).state_hash
    used = runs[0].ports.set_index("port")["grants_used"]
    assert (used[[f"sink{i}->switch2" for i in numbers]] > 0).all()


def test_a_sink_that_waits_for_grants_is_limited_by_access() -> None:
    network = {
        "kind": "dumbbell", "access_rate": "1 Gbit/s", "trunk_rate": "100 Mbit/s", "exit_rate": "453 kbit/s",
        "exit_return_access": {"kind": "dvb-rcs2", "requests": "rbdc", "max_rate": "100 kbit/s"},
        "group": [{"name": "upload", "direction": "back"}],
    }  # fmt: skip
    upload = Scenario.model_validate(
        {"framing": "ip", "duration": "120 s", "network": network, "switch": {"buffer": "100 packets"}}
    )
    (limit,) = simulate(upload).flow_limits
    assert limit.limited_by == "access"
    assert limit.remedy is not None
    assert limit.remedy.in_words == "set network.exit_return_access.free_rate to 453 kbit/s"


def test_cell_with_different_terminals_is_rejected() -> None:
    changes = {
        "network.access": {"kind": "dvb-rcs2", "cell": "beam", "waveform": 13},
        "network.return_access": {"kind": "dvb-rcs2", "cell": "beam"},
        "network.trunk_rate": "453 kbit/s",
    }
    with pytest.raises(
        ScenarioError, match=r"network\.return_access\.waveform: 3; needs 13, as the first link of its cell"
    ):
        geo(**changes)


def test_runs_depend_on_the_seed_if_requests_are_lost() -> None:
    assert seedless(geo())
    assert not seedless(geo(**{"network.return_access.request_loss": 0.1}))


def test_lab_accepts_medium_access_without_recordings() -> None:
    beyond.check(geo())
    assert "cellreplay" in beyond.ABSENT


def test_access_accepts_the_name_of_its_kind() -> None:
    assert geo(**{"network.return_access": "dvb-rcs2"}) == geo()


def test_access_is_checked_with_its_links_rate() -> None:
    network = {"kind": "dumbbell", "sources": 3, "access_rate": "1 Gbit/s", "trunk_rate": "100 kbit/s"}
    with pytest.raises(ScenarioError, match=r"^network\.access\.resource_blocks: 51; needs at most 1,"):
        Scenario(framing="ip", network={**network, "access": "cellular"}, switch={"buffer": "50 packets"}).resolve()
