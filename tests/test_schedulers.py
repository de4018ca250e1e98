"""Ports with several queues, in complete runs: shares, classes, low latency, and the return path."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.result import Result
from longpipe.run import simulate
from longpipe.scenario import Dumbbell
from longpipe.scenario.policies import AckFilter

TRUNK: dict[str, Any] = {
    "kind": "dumbbell",
    "access_rate": "1 Gbit/s",
    "access_delay": "1 ms",
    "trunk_rate": "40 Mbit/s",
    "trunk_delay": "8 ms",
    "exit_delay": "1 ms",
}
PLAIN: dict[str, Any] = {"recovery": "sack", "mss": "1448 B", "receiver_window": "4 MB", "timer": "fine"}
LINUX: dict[str, Any] = {"profile": "linux-6", "receiver_window": "4 MB"}


def counted(result: Result, port: str, column: str) -> int:
    columns = result.columns["ports"]
    return int(columns[column][columns["port"].index(port)])


def scenario(groups: list[dict[str, Any]], policy: object, **more: Any) -> Scenario:  # noqa: ANN401 - fields of a scenario
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": "60 s",
        "tcp": LINUX,
        "switch": {"buffer": "1000 packets", "policy": policy},
    }
    return Scenario(defaults="1996", **(fields | {"network": {**TRUNK, "group": groups, **more}}))


def test_scalable_and_classic_flows_share_dualpi2() -> None:
    groups = [
        {"name": "classic", "tcp": {**LINUX, "congestion": "cubic", "ecn": "classic"}},
        # With RACK-TLP, the flow would get a third (docs/queues.md).
        {"name": "low", "tcp": {**PLAIN, "congestion": "dctcp", "ecn": {"kind": "dctcp", "ect": 1}}},
    ]
    probes = [
        {"name": "slow", "traffic": {"kind": "cbr", "rate": "80 kbit/s", "payload": "172 B"}},
    ]
    result = simulate(scenario([*groups, *probes], "dualpi2"), 1)
    classic, low, _ = result.throughputs_bps
    # RFC 9332 section 1.1 requires about equal rates: within a factor of two.
    assert 0.5 < low / classic < 2
    assert classic + low > 0.9 * 40e6
    # A datagram is not a low-latency packet: it waits in the classic queue, for about 15 ms.
    row = result.datagrams.iloc[0]
    assert row["mean_delay_s"] == pytest.approx(0.010 + 0.015, abs=0.006)
    assert counted(result, "switch1->switch2", "packets_marked") > 0


def test_round_robin_gives_equal_shares_at_any_round_trip() -> None:
    groups: list[dict[str, Any]] = [
        {"name": "bulk", "count": 3},
        {"name": "greedy", "traffic": {"kind": "cbr", "rate": "100 Mbit/s", "payload": "1472 B"}},
    ]
    result = simulate(scenario(groups, "drr"), 1)
    # Each flow gets a quarter of 40 Mbit/s, of which 1448 or 1472 of every 1500 bytes are payload.
    assert result.throughputs_bps[:3] == pytest.approx(10e6 * 1448 / 1500, rel=0.01)
    assert result.throughputs_bps[3] == pytest.approx(10e6 * 1472 / 1500, rel=0.01)
    # Linux's fq also gives equal shares; it queues up to 100 packets of the unresponsive flow.
    result = simulate(scenario(groups, "fq"), 1)
    assert result.throughputs_bps[:3] == pytest.approx(10e6 * 1448 / 1500, rel=0.01)
    assert result.throughputs_bps[3] == pytest.approx(10e6 * 1472 / 1500, rel=0.01)
    # After a change of the hash, a flow has packets in both its old and its new queue, and these overtake each other,
    # so that TCP retransmits about 60 segments per change and reduces its windows. The unresponsive flow gets its
    # quarter and the remaining capacity.
    result = simulate(scenario(groups, {"kind": "sfq", "perturb": "1 s"}), 1)
    sent = float(result.flows["sent_segments"][:3].sum()) * 1500 * 8 / 60
    assert sent + result.throughputs_bps[3] * 1500 / 1472 == pytest.approx(40e6, rel=0.01)
    assert result.throughputs_bps[:3].min() > 7e6
    assert result.throughputs_bps[3] > 10e6 * 1472 / 1500


def test_first_class_has_priority() -> None:
    groups: list[dict[str, Any]] = [{"name": "call", "traffic": "voice"}, {"name": "bulk", "count": 2, "class": 1}]
    # The maximum delay is 0.3 ms for a packet of 1500 bytes in transmission, plus 2.73 ms for nine quanta of 1514
    # bytes.
    policies: tuple[tuple[object, float], ...] = (
        ("strict-priority", 0.0104),
        ({"kind": "weighted-priority", "weights": [1, 9]}, 0.0131),
    )
    for policy, most in policies:
        row = simulate(scenario(groups, policy), 1).datagrams.iloc[0]
        assert row["lost"] == 0
        assert row["max_delay_s"] < most


def test_return_port_has_a_separate_policy() -> None:
    asked = scenario([{"name": "bulk"}], "tail-drop", return_policy="ack-filter", return_rate="100 kbit/s")
    result = simulate(asked, 1)
    assert counted(result, "switch2->switch1", "packets_lost_aqm") > 0
    assert counted(result, "switch1->switch2", "packets_lost_aqm") == 0
    plain = simulate(asked.with_(**{"network.return_policy": "tail-drop"}), 1)
    assert result.throughputs_bps[0] > 1.5 * plain.throughputs_bps[0]


@pytest.mark.parametrize(
    ("policy", "group", "line"),
    [
        (
            {"kind": "weighted-priority", "weights": [3, 1]},
            {"class": 2},
            "network.group[0].class: 2; needs less than 2, the classes of weighted-priority at switch1->switch2",
        ),
        ({"kind": "weighted-priority", "weights": []}, {}, "switch.policy.weights: "),
        ({"kind": "strict-priority", "classes": 0}, {}, "switch.policy.classes: 0; needs at least 1"),
        ({"kind": "drr", "quantum": "1 B"}, {}, "switch.policy.quantum: 1 B; "),
        (
            {"kind": "dualpi2", "marking": {"kind": "ramp", "min": "2 ms"}},
            {},
            "switch.policy.marking.max: 1200 us; needs more than min, 2 ms",
        ),
        (
            {"kind": "dualpi2", "scheduler": {"kind": "weighted", "classic": 1}},
            {},
            "switch.policy.scheduler.classic: 1",
        ),
        ("tail-drop", {"tcp": {"ecn": {"kind": "dctcp", "ect": 2}}}, "network.group[0].tcp.ecn.ect: 2"),
    ],
)
def test_invalid_port_is_rejected_in_one_line(policy: object, group: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario([{"name": "a", **group}], policy)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_cells_reject_schedulers_of_ports() -> None:
    with pytest.raises(
        ScenarioError, match=r"network.return_policy: ack-filter; is for IP packets, ATM switches accept"
    ):
        Scenario(defaults="1996", network=Dumbbell(return_policy=AckFilter()))


def test_drop_from_front_signals_loss_one_queueing_delay_earlier() -> None:
    """The oldest packet is dropped instead of the newest one, which would leave only after the K packets before it."""
    packets = 200

    def first(policy: str) -> float:
        changes = {"switch.policy": policy, "switch.buffer": f"{packets} packets", "duration": "3 s"}
        built = scenario([{"name": "bulk", "tcp": PLAIN}], policy).with_(**changes, **{"traces.events": True})
        events = simulate(built).traces["events"]
        return float(events.query("kind == 'fast-retransmit'")["time_s"].iloc[0])

    # Packets have 1448 bytes of data and 40 of headers; recorded times are rounded.
    drained_s = packets * 1488 * 8 / 40e6
    assert first("tail-drop") - first("head-drop") == pytest.approx(drained_s, rel=1e-6)
