"""Cellular links: slots, grants, retransmissions below IP, shared cells, errors, and agreement of both engines."""

from pathlib import Path
from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.cautions.cautions import seedless
from longpipe.units import TIME

PHONE: dict[str, Any] = {
    "framing": "ip",
    "duration": "5 s",
    "network": {
        "kind": "dumbbell",
        "sources": 1,
        "trunk_rate": "40 Mbit/s",
        "trunk_delay": "0 s",
        "return_rate": "200 Mbit/s",
        "return_buffer": "1000 packets",
        "access_delay": "10 ms",
        "access": {"kind": "cellular", "direction": "up"},
        "return_access": {"kind": "cellular", "direction": "down"},
    },
    "switch": {"buffer": "1000 packets"},
    "tcp": {"profile": "linux-6"},
}


def phone(**changes: object) -> Scenario:
    return Scenario.model_validate({"defaults": "1996", **PHONE}).with_(**changes)


def both(**fields: object) -> dict[str, object]:
    return {f"network.{way}.{name}": value for way in ("access", "return_access") for name, value in fields.items()}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"preset": "lte", "fading": "10 ms"},
        {"rlc": "um", "block_error": 0.3, "harq_transmissions": 2},
        {"block_error": 0.5, "harq_transmissions": 1, "rlc_retransmissions": 2, "scheduler": "round-robin"},
        {"cqi": [["0 s", 15], ["2 s", 3], ["3 s", 0], ["4 s", 9]], "scheduler": "maximum-rate"},
        {"cell": "cell", "handover_every": "700 ms", "promotion": "341 ms"},
        {"handover_every": "1 s", "forwarding": False, "drx_cycle": "160 ms", "drx_inactivity": "5 ms"},
    ],
)
def test_reference_engine_gives_equal_results(fields: dict[str, object]) -> None:
    runs = [simulate(phone(engine=engine, **both(**fields)), seed=2) for engine in ("trains", "reference")]
    assert runs[0].state_hash == runs[1].state_hash
    assert runs[0].throughputs_bps[0] > 1e5


def test_losses_of_the_radio_are_delays_above_it() -> None:
    call = {"kind": "cbr", "rate": "2 Mbit/s", "payload": "1172 B"}
    delays = {}
    for error in (0, 0.2):
        result = simulate(phone(traffic=call, **both(block_error=error)))
        port = result.ports.set_index("port").loc["switch1->switch2"]
        counted = result.datagrams.iloc[0]
        assert port["packets_lost_access"] == 0
        # The last datagrams are still on their way.
        assert counted["sent"] - counted["received"] < 20
        assert (port["retransmissions"] > 0) == (error > 0)
        delays[error] = counted["mean_delay_s"]
    # A share of 0.2 of the blocks waits for a round trip of HARQ, and the packets behind them.
    assert delays[0] + 0.001 < delays[0.2] < delays[0] + 0.02


def test_queueing_delay_follows_from_the_queue_length() -> None:
    overload = {"kind": "cbr", "rate": "60 Mbit/s", "payload": "1472 B"}
    # The queue of srsRAN Project has 6 172 672 bytes, which take 0.99 s at 50 Mbit/s.
    changes = {"traffic": overload, "network.trunk_rate": "50 Mbit/s", "switch.buffer": f"{6_172_672 // 1500} packets"}
    result = simulate(phone(duration="20 s", **changes, **both(block_error=0)))
    assert result.datagrams.iloc[0]["max_delay_s"] == pytest.approx(0.99 + 0.01, rel=0.03)
    assert result.ports.set_index("port").loc["switch1->switch2"]["packets_lost_access"] == 0


def test_upload_fills_the_slots_of_the_uplink() -> None:
    result = simulate(phone(**both(block_error=0)))
    # Headers of access, IP and TCP, and a part of the start.
    assert 0.85 * 40e6 < result.throughputs_bps[0] < 40e6
    port = result.ports.set_index("port").loc["switch1->switch2"]
    assert 0 < port["grants_used"] <= port["grants"]
    assert port["airtime_s"] < 0.3 * 5
    assert result.flow_limits[0].limited_by != "access"


def test_users_of_a_cell_share_its_slots() -> None:
    shared = {"kind": "cellular", "cell": "cell", "direction": "down", "preset": "lte", "block_error": 0}
    users = [f"user{i}" for i in range(4)]
    network = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": "host"} for name in ("server", *users)] + [{"name": "enb", "kind": "switch"}],
        "links": [{"between": ["server", "enb"], "rate": "1 Gbit/s", "delay": "10 ms"}]
        + [{"between": ["enb", name], "rate": "40 Mbit/s", "delay": "0 s", "access": shared} for name in users],
        "flows": [{"name": name, "from": "server", "to": name} for name in users],
    }
    scenario = {"framing": "ip", "duration": "10 s", "network": network, "switch": {"buffer": "200 packets"}}
    result = simulate(Scenario.model_validate(scenario | {"tcp": {"profile": "linux-6"}}))
    assert 0.8 * 40e6 < sum(result.throughputs_bps) < 40e6
    assert result.fairness > 0.95


def test_trace_of_grants_agrees_with_the_counters() -> None:
    result = simulate(phone(**{"traces.grants": True}, **both(block_error=0.1)))
    rows = result.traces["grants"]
    port = result.ports.set_index("port").loc["switch1->switch2"]
    counts = rows[rows["port"] == "switch1->switch2"]["action"].value_counts()
    assert counts["transmission"] == port["grants_used"]
    assert counts["request"] == port["requests"]
    assert abs(counts["retransmission"] - port["retransmissions"]) <= 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network.access.cqi": [["0 s", 9]], "network.access.quality": [["0 s", 0.5]]}, "network.access.quality: beside cqi; needs only one of quality and cqi"),
        ({"network.trunk_rate": "100 kbit/s"}, "network.access.resource_blocks: 51; needs at most "),
        ({"network.access.request_period": "0.5 ms"}, "network.access.request_period: 0.5 ms; "),
        ({"network.access.cell": "a", "network.return_access.cell": "a", "network.return_access.preset": "lte"}, "network.return_access.slot: 1 ms; needs 0.5 ms, as the first link of its cell"),
    ],
)  # fmt: skip
def test_unsuitable_access_is_rejected_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        phone(**changes)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_handover_interrupts_a_call() -> None:
    call = {"kind": "cbr", "rate": "2 Mbit/s", "payload": "1172 B"}
    changes = {"traffic": call, "network.access.handover_every": "2 s", "network.access.handover_interruption": "80 ms"}
    result = simulate(phone(**changes, **both(block_error=0)))
    counted = result.datagrams.iloc[0]
    # The first packet of the interruption waits for its end, a request and a grant.
    assert 0.08 + 0.01 < counted["max_delay_s"] < 0.08 + 0.05
    assert counted["median_delay_s"] < 0.03


def test_promotion_delays_the_first_packet() -> None:
    transfer = {"traffic": {"kind": "transfer", "size": "500 B"}, "tcp.handshake": True}
    times = [
        simulate(phone(**transfer, **both(cell="cell", block_error=0, promotion=promotion))).flows["completion_s"][0]
        for promotion in (None, "341 ms")
    ]
    assert times[1] - times[0] == pytest.approx(0.341, abs=0.02)


def write_recording(folder: Path) -> dict[str, str]:
    """Writes a recording, of which the first 2 s are left out, and returns the fields of its access."""
    light, heavy, sizes = (folder / name for name in ("light.txt", "heavy.txt", "sizes.txt"))
    light.write_text("".join(f"{time} {20 + time % 7} 0 1 2 3 5\n" for time in range(0, 9000, 150)))
    heavy.write_text("".join(f"{time}\n" for time in range(0, 9000, 2)))
    sizes.write_text("".join(f"{size} {size / 500}\n" for size in range(100, 1500, 100)))
    return {"kind": "cellreplay", "light": str(light), "heavy": str(heavy), "size_offsets": str(sizes)}


def test_recording_is_replayed(tmp_path: Path) -> None:
    changes = {"network.access": write_recording(tmp_path), "network.return_access": None, "tcp.mss": "1348 B"}
    runs = [simulate(phone(engine=engine, **changes)) for engine in ("trains", "reference")]
    assert runs[0].state_hash == runs[1].state_hash
    # 1400 bytes each 2 ms.
    assert 0.8 * 5.6e6 < runs[0].throughputs_bps[0] < 5.6e6
    port = runs[0].ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_lost_overflow"] == 0
    assert port["waiting_for_grant_s"] > 3


@pytest.mark.parametrize("queue", ["drop-tail", "drop-head", "codel"])
def test_queue_of_a_recording_drops_packets(queue: str, tmp_path: Path) -> None:
    access = {**write_recording(tmp_path), "queue": queue, "queue_packets": 30}
    changes = {"network.access": access, "network.return_access": None, "tcp.mss": "1348 B"}
    runs = [simulate(phone(engine=engine, **changes)) for engine in ("trains", "reference")]
    assert runs[0].state_hash == runs[1].state_hash
    port = runs[0].ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_lost_access"] > 0
    assert port["packets_lost_overflow"] == 0
    # The light stage holds packets for at most 32 ms.
    assert port["packets_held"] < 60


def test_recording_accepts_packets_of_an_opportunity(tmp_path: Path) -> None:
    changes = {"network.access": write_recording(tmp_path), "network.return_access": None}
    with pytest.raises(ScenarioError, match=r"needs at most 1400 bytes with headers, as with tcp\.mss = 1348"):
        simulate(phone(**changes))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("light", "0 20 0\n150 x 0\n", "light.txt:2: '150 x 0'; needs whole milliseconds"),
        ("light", "0 20 0\n", "network.access.light: 0 trains; needs at least 3 after skip"),
        ("light", "2000 20 0\n2100 20\n2200 20 0\n", "network.access.light: a line of 2 numbers; needs lines of time"),
        ("heavy", "1 2\n", "heavy.txt:1: '1 2'; needs one time in milliseconds"),
        ("heavy", "2005\n2001\n", "network.access.heavy: time 2001; needs nondecreasing times"),
        ("size_offsets", "100 1\n300 2\n", "size_offsets.txt:2: '300 2'; needs 200 and an offset"),
    ],
)
def test_unsuitable_recording_is_rejected(name: str, text: str, message: str, tmp_path: Path) -> None:
    fields = write_recording(tmp_path)
    file = tmp_path / f"{name}.txt"
    file.write_text(text)
    changes = {"network.access": fields | {name: str(file)}, "network.return_access": None, "tcp.mss": "1348 B"}
    with pytest.raises(ScenarioError) as raised:
        phone(**changes).resolve()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"queue_packets": 30}, "network.access.queue: infinite; needs a kind that has limits, such as drop-tail"),
        ({"queue": "codel"}, "network.access.queue_packets: absent; needs a limit of packets or bytes"),
        (
            {"queue": "drop-tail", "queue_size": "9 KB", "codel_target": "5 ms"},
            "network.access.queue: without codel; needs codel for its target and interval",
        ),
    ],
)
def test_unsuitable_queue_of_a_recording_is_rejected(fields: dict[str, object], message: str, tmp_path: Path) -> None:
    changes = {"network.access": write_recording(tmp_path) | fields, "network.return_access": None}
    with pytest.raises(ScenarioError) as raised:
        phone(**changes, **{"tcp.mss": "1348 B"}).resolve()
    assert str(raised.value) == message


def test_runs_depend_on_the_seed() -> None:
    assert not seedless(phone())


def test_access_accepts_other_names_of_its_kind() -> None:
    with pytest.raises(ScenarioError, match="cellular"):
        phone(**{"network.access": {"kind": "5g"}})


@pytest.mark.parametrize(("duration", "quality"), [("3 ms", 1.0), ("1 s", 2.0)])
def test_blocks_may_exceed_the_nominal_rate(duration: str, quality: float) -> None:
    access = {"kind": "cellular", "direction": "down", "quality": [["0 s", quality]]}
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Gbit/s",
        "trunk_rate": "10 Mbit/s",
        "access": access,
    }
    traffic = {"kind": "cbr", "rate": "100 Mbit/s", "payload": "1400 B"}
    result = simulate(
        Scenario(
            defaults="1996",
            framing="ip",
            duration=duration,
            network=network,
            traffic=traffic,
            switch={"buffer": "100 packets"},
        )
    )
    port = next(row for row in result.ports.to_dict("records") if row["port"] == "switch1->switch2")
    assert 8 * port["bytes_out"] > 10e6 * TIME.parse(duration) / 1e12
