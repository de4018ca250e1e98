"""Links with medium access: resolution, errors, counters, and agreement of both engines."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.cautions.cautions import seedless
from longpipe.lab import beyond

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
    return Scenario.model_validate(GEO).with_(**changes)


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
        ({"network.return_access.superframe": "1 ms", "network.return_rate": "100 kbit/s"}, "network.return_access.superframe: 1 ms; needs at least the duration of a burst"),
        ({"network.return_access.constant_rate": "1 Mbit/s"}, "network.return_access.constant_rate: 1000000 bit/s; needs constant rates that fit"),
        ({"network.return_access.preset": "sns3", "network.trunk_delay": "400 ms"}, "network.return_access.preset: sns3; needs a link delay of at most 300 ms, not 400 ms"),
        ({"network.return_access.requests": "none"}, "network.return_access.requests: none; needs rbdc or vbdc"),
        ({"network.return_access.waveform": 2}, "network.return_access.waveform: 2; "),
    ],
)  # fmt: skip
def test_unsuitable_access_is_rejected_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        geo(**changes)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


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


def test_lab_rejects_medium_access() -> None:
    with pytest.raises(ScenarioError, match=r"network\.return_access: grants capacity on request, which the lab"):
        beyond.check(geo())


def test_access_accepts_the_name_of_its_kind() -> None:
    assert geo(**{"network.return_access": "dvb-rcs2"}) == geo()
