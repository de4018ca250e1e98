"""DOCSIS: requests and grants, shaping, proactive grants, shared channels, errors, and agreement of both engines."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate

CABLE: dict[str, Any] = {
    "framing": "ip",
    "duration": "3 s",
    "network": {
        "kind": "dumbbell",
        "sources": 1,
        "access_delay": "10 ms",
        "trunk_rate": "836 Mbit/s",
        "trunk_delay": "40 us",
        "return_rate": "1 Gbit/s",
        "return_buffer": "1000 packets",
        "access": {"kind": "docsis", "max_rate": "50 Mbit/s"},
    },
    "switch": {"buffer": "1000 packets"},
    "tcp": {"profile": "linux-6"},
}


def cable(**changes: object) -> Scenario:
    return Scenario.model_validate({"defaults": "1996", **CABLE}).with_(**changes)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"peak_rate": "80 Mbit/s", "max_burst": "1 MB"},
        {"proactive_rate": "5 Mbit/s"},
        {"proactive_rate": "20 Mbit/s", "proactive_interval": "135 us", "max_rate": None},
        {"free_share": 0.05, "free_variation": 0.5},
    ],
)
def test_reference_engine_gives_equal_results(fields: dict[str, object]) -> None:
    changes = {f"network.access.{name}": value for name, value in fields.items()}
    runs = [simulate(cable(engine=engine, **changes), seed=2) for engine in ("trains", "reference")]
    assert runs[0].state_hash == runs[1].state_hash
    assert runs[0].throughputs_bps[0] > 1e7


def test_plan_limits_an_upload() -> None:
    result = simulate(cable(duration="20 s"))
    # The plan is increased by a twentieth for headers of the MAC; segments of 1448 B have 1510 B with all headers.
    assert result.throughputs_bps[0] == pytest.approx(1.05 * 50e6 * 1448 / 1510, rel=0.02)
    limit = result.flow_limits[0]
    assert limit.limited_by == "access"
    assert limit.remedy is not None
    assert limit.remedy.in_words == "set network.access.max_rate to 836 Mbit/s"
    assert simulate(limit.remedy.applied_to(result.scenario)).throughputs_bps[0] > 2 * result.throughputs_bps[0]
    port = result.ports.set_index("port").loc["switch1->switch2"]
    assert port.requests <= port.grants + 2
    assert port.grants_used <= port.grants


def test_modems_of_a_channel_share_it() -> None:
    access = {"kind": "docsis", "cell": "channel", "free_share": 0.1}
    nodes = [{"name": name, "kind": "host"} for name in ("a", "b", "server")]
    nodes += [{"name": name, "kind": "switch"} for name in ("cm1", "cm2", "cmts")]
    plant = {"rate": "836 Mbit/s", "delay": "40 us", "buffer": "1000 packets"}
    links = [
        {"between": ["a", "cm1"], "rate": "1 Gbit/s", "delay": "0 s"},
        {"between": ["b", "cm2"], "rate": "1 Gbit/s", "delay": "0 s"},
        *({"between": [modem, "cmts"], **plant, "access": access} for modem in ("cm1", "cm2")),
        {"between": ["cmts", "server"], "rate": "1 Gbit/s", "delay": "10 ms"},
    ]
    flows = [{"name": name, "from": name, "to": "server"} for name in ("a", "b")]
    network = {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    rates = simulate(cable(network=network, duration="10 s")).throughputs_bps
    assert sum(rates) == pytest.approx(83.6e6, rel=0.08)
    assert abs(rates[0] - rates[1]) < 0.1 * rates[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frame": "1 ms", "map_interval": "500 us"}, "map_interval: 500 us; needs at least the frame, 1 ms"),
        ({"free_share": 0.0001}, "free_share: 0.0001; needs at least one free minislot per MAP interval in the mean"),
        ({"proactive_rate": "1 Tbit/s"}, "proactive_rate: 1000000000000 bit/s; needs grants of at most a frame"),
    ],
)
def test_unsuitable_parameters_are_rejected_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        simulate(cable(**{f"network.access.{name}": value for name, value in changes.items()}))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
