"""Flows marked NQB (RFC 9956) have short delays beside CUBIC, and traffic protection keeps them short beside queue builders.

The path has 20 Mbit/s, so a packet of 1500 bytes takes 0.6 ms. Ten flows of 64 kbit/s are marked NQB, and one flow of CUBIC
fills the default queue.
"""

from typing import Any

import pytest

import queue_protection_witness
from longpipe import Result, Scenario, simulate

# One-way delay of a packet of 188 bytes without queues: 10 ms of propagation, and the transmission over three links.
EMPTY_S = 0.010 + 188 * 8 / 20e6 + 2 * 188 * 8 / 1e9

OFF = {"kind": "nqb", "protection": "off"}
ON = {"kind": "nqb"}
DUAL = {"kind": "dualpi2", "nqb": True}
PROTECTED = {**DUAL, "protection": "rfc9957"}


def run(policy: dict[str, Any] | str, cheat: dict[str, Any] | None = None) -> Result:
    """Returns a run of the NQB flows, CUBIC, and another flow that is marked NQB."""
    groups: list[dict[str, Any]] = [
        {
            "name": "voice",
            "count": 10,
            "class": 45,
            "traffic": {"kind": "cbr", "rate": "64 kbit/s", "payload": "160 B"},
        },
        {"name": "bulk", "tcp": {"congestion": "cubic"}},
    ]
    if cheat is not None:
        groups.append({"name": "cheat", "class": 45, **cheat})
    scenario = Scenario(
        framing="ip",
        duration="12 s",
        warm_up="4 s",
        network={
            "kind": "dumbbell",
            "access_rate": "1 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_rate": "20 Mbit/s",
            "trunk_delay": "10 ms",
            "group": groups,
        },
        switch={"buffer": "100 ms", "policy": policy},
        tcp={"profile": "linux-6"},
    )
    return simulate(scenario, 1)


def voice_queueing_ms(result: Result, quantile: str = "p99_delay_s") -> float:
    """Returns the largest quantile of the queueing delays of the ten flows."""
    delays = result.datagrams.set_index("flow")[quantile]
    return 1e3 * float(delays[delays.index.str.startswith("voice")].max() - EMPTY_S)


def share(result: Result, name: str) -> float:
    """Returns the part of the link that a flow gets, counted in packets of IP."""
    rates = result.flows.set_index("flow")["throughput_bps"]
    return float(rates[rates.index.str.startswith(name)].sum()) / 20e6


CONSTANT = {"traffic": {"kind": "cbr", "rate": "15 Mbit/s"}}
CUBIC = {"tcp": {"congestion": "cubic"}}


def test_witness_table_is_that_of_independent_program() -> None:
    lines = queue_protection_witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [queue_protection_witness.HEADER, *queue_protection_witness.rows()]


@pytest.mark.parametrize("policy", [ON, OFF, DUAL, PROTECTED, "fq", "fq-codel"])
def test_marked_flows_wait_less_than_two_milliseconds_beside_cubic(policy: dict[str, Any] | str) -> None:
    # A packet waits for the rest of the packet in transmission, and in round robin for one more: 1.2 ms, and for those of
    # the nine other flows that arrive in the same moment, of 0.075 ms each.
    result = run(policy)
    assert voice_queueing_ms(result) < 2
    assert share(result, "bulk") > 0.9 * (1 - 10 * 64e3 / 20e6)


def test_unmarked_queue_delays_the_same_flows() -> None:
    assert voice_queueing_ms(run("tail-drop"), "median_delay_s") > 40


def test_marked_flow_gets_no_more_than_half_of_the_link_without_protection() -> None:
    result = run(OFF, CONSTANT)
    assert share(result, "cheat") == pytest.approx(0.5, abs=0.05)
    # The queue of 10 ms is full, and drains at half of the rate.
    assert voice_queueing_ms(result, "median_delay_s") == pytest.approx(20, abs=2)


@pytest.mark.parametrize("cheat", [CONSTANT, CUBIC], ids=["constant", "cubic"])
def test_protection_moves_queue_builders_and_keeps_delays_short(cheat: dict[str, Any]) -> None:
    protected = run(ON, cheat)
    assert voice_queueing_ms(protected) < 5 < voice_queueing_ms(run(OFF, cheat))
    queues = protected.queues.query("port == 'switch1->switch2'").set_index("queue")
    assert queues["packets_lost_overflow"]["nqb"] == 0


def test_protection_moves_most_packets_of_a_builder_within_a_second() -> None:
    def in_nqb_queue(end: str) -> float:
        result = simulate(run(ON, CONSTANT).scenario.with_(warm_up="0 s", duration=end), 1)
        return float(result.queues.query("port == 'switch1->switch2' and queue == 'nqb'")["bytes_in"].iloc[0])

    # In the second second, the builder's packets take less than the rate of the NQB queue.
    assert 8 * (in_nqb_queue("2 s") - in_nqb_queue("1 s")) < 10e6


def test_marked_flow_below_its_share_is_not_moved() -> None:
    result = run(ON, {"traffic": {"kind": "cbr", "rate": "5 Mbit/s", "payload": "472 B"}})
    queues = result.queues.query("port == 'switch1->switch2'").set_index("queue")
    # Ten flows of 64 kbit/s, and one of 5 Mbit/s, for 8 s.
    assert queues["bytes_in"]["nqb"] == pytest.approx(10 * 64e3 + 5e6, rel=0.001)
    assert voice_queueing_ms(result) < 5


def test_protection_of_dualpi2_shortens_the_delay_beside_a_marked_flow_of_cubic() -> None:
    assert voice_queueing_ms(run(PROTECTED, CUBIC)) < 0.5 * voice_queueing_ms(run(DUAL, CUBIC))


@pytest.mark.parametrize("policy", [ON, PROTECTED])
def test_both_engines_agree(policy: dict[str, Any]) -> None:
    scenario = run(policy, CONSTANT).scenario.with_(duration="3 s", warm_up="0 s")
    assert simulate(scenario, 1).state_hash == simulate(scenario.with_(engine="reference"), 1).state_hash
