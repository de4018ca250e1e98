"""Cellular links: slots, grants, retransmissions below IP, shared cells, errors, and agreement of both engines."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.cautions.cautions import seedless

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
    return Scenario.model_validate(PHONE).with_(**changes)


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


def test_runs_depend_on_the_seed() -> None:
    assert not seedless(phone())


def test_access_accepts_other_names_of_its_kind() -> None:
    with pytest.raises(ScenarioError, match="cellular"):
        phone(**{"network.access": {"kind": "5g"}})
