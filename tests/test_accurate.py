"""Accurate ECN: the counters in captures, and the reaction of senders."""

from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from longpipe import Result, Scenario, simulate
from pcap import needs_tshark, tshark
from thorough import one_in

TRUNK: Final = "switch1->switch2"
LINK: Final = Scenario(defaults="1996", name="link", duration="10 s").with_(
    **{
        "framing": "ip",
        "network.sources": 1,
        "network.trunk_rate": "10 Mbit/s",
        "network.access_rate": "1 Gbit/s",
        "network.trunk_delay": "20 ms",
        "network.access_delay": "0 s",
        "network.exit_delay": "0 s",
        "switch.buffer": "500 packets",
        "switch.policy": {"kind": "red", "ecn": True},
        "tcp.profile": "linux-6",
        "tcp.mss": "1448 B",
        "tcp.receiver_window": "auto",
        "tcp.ecn": "accurate",
    }
)
# Position of the flags AE, CWR and ECE in the header, and the modulus and initial value of the counter that they form.
FLAGS_SHIFT, CYCLE, FIRST = 6, 8, 5
SYN, CE, ECT = 0x002, 3, (2, 1)


def trunk(result: Result) -> dict[str, Any]:
    return {str(name): value for name, value in result.ports.set_index("port").loc[TRUNK].items()}


def ace(packets: pd.DataFrame) -> "pd.Series[int]":
    return packets["tcp.flags"].map(lambda flags: int(flags, 16) >> FLAGS_SHIFT & (CYCLE - 1))


@needs_tshark
@pytest.mark.parametrize(
    "changes", [{}, {"tcp.recovery": "sack"}, {"tcp.ack": "immediate"}], ids=["rack", "sack", "each"]
)
def test_rfc_9768_every_ack_of_a_capture_counts_the_marked_packets_before_it(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "sink.pcapng"
    result = simulate(LINK.with_(duration="20 s", **changes), captures={"host:sink1": path})
    assert trunk(result)["packets_marked"] > 2 * CYCLE
    packets = tshark(path, "ip.dsfield.ecn", "tcp.flags", "tcp.len")
    packets = packets[packets["tcp.flags"].map(lambda flags: not int(flags, 16) & SYN)].iloc[1:]
    data = packets["tcp.len"].astype(int) > 0
    marks = (packets["ip.dsfield.ecn"].astype(int) == CE).cumsum()
    counted = (marks + FIRST) % CYCLE
    assert (ace(packets)[~data] == counted[~data]).all()
    # Packets towards the sender cannot be marked.
    assert (ace(packets)[data] == FIRST).all()


@needs_tshark
def test_rfc_9768_section_3_1_capture_contains_the_negotiation(tmp_path: Path) -> None:
    path = tmp_path / "sink.pcapng"
    simulate(LINK.with_(duration="1 s"), captures={"host:sink1": path})
    # The SYN has AE, CWR and ECE; the ACK has only CWR, because neither SYN could be marked.
    assert list(ace(tshark(path, "tcp.flags"))[:3]) == [7, 2, 2]


@needs_tshark
@pytest.mark.parametrize(
    ("ect", "changes"),
    one_in(2, list(product([0, 1], [{}, {"tcp.timer.timestamps": False}, {"tcp.recovery": "sack"}]))),
    ids=str,
)
def test_rfc_9768_section_3_2_3_every_ack_of_a_capture_counts_the_bytes_before_it(
    changes: dict[str, Any], ect: int, tmp_path: Path
) -> None:
    path = tmp_path / "sink.pcapng"
    changed = {
        "tcp.ecn": {"kind": "accurate", "option": True, "ect": ect},
        "switch.policy": {"kind": "step-marking", "threshold": 10},
        # Losses cause gaps in the data, so that some ACKs carry two SACK blocks.
        "network.trunk_loss": {"kind": "bernoulli", "probability": 0.001},
    }
    simulate(LINK.with_(duration="20 s", **changed, **changes), captures={"host:sink1": path})
    counters = [f"tcp.options.acc_ecn.{name}" for name in ("ee0b", "eceb", "ee1b")]
    packets = tshark(path, "ip.dsfield.ecn", "tcp.flags", "tcp.len", "tcp.options.sack.count", *counters)
    packets = packets[packets["tcp.flags"].map(lambda flags: not int(flags, 16) & SYN)].iloc[1:]
    length, field = packets["tcp.len"].astype(int), packets["ip.dsfield.ecn"].astype(int)
    acks = length == 0
    capable = ECT[ect]
    marked, unmarked = (length.where(field == said, 0).cumsum() % 2**24 for said in (CE, capable))
    assert marked.iloc[-1] > 0
    own, other = (counters[0], counters[2]) if ect == 0 else (counters[2], counters[0])
    told = packets[acks][counters].astype(float)
    assert (told[counters[1]] == marked[acks]).all()
    assert (told[own] == (unmarked[acks] + 1) % 2**24).all()
    # The counter of the unused codepoint keeps its initial value, and the option omits it if two SACK blocks leave no
    # space.
    room = packets[acks]["tcp.options.sack.count"].fillna("0").astype(int) < 2
    if "tcp.timer.timestamps" in changes:
        assert (told[other] == 1).all()
    else:
        assert (told[other][room] == 1).all()
        assert told[other][~room].isna().all()
        assert (~room).any()


@pytest.mark.parametrize("congestion", ["cubic", "linux-reno", "dctcp", "bbr"])
@pytest.mark.parametrize("option", [False, True])
def test_both_engines_agree(congestion: str, option: bool) -> None:
    ecn = {"kind": "accurate", "option": option}
    scenario = LINK.with_(**{"network.sources": 3, "tcp.congestion": congestion, "duration": "5 s", "tcp.ecn": ecn})
    fast = simulate(scenario)
    assert fast.state_hash == simulate(scenario.with_(engine="reference")).state_hash
    assert trunk(fast)["packets_marked"] > 0
    assert congestion == "bbr" or fast.flows["mark_reductions"].min() > 0


@pytest.mark.parametrize("congestion", ["cubic", "linux-reno"])
def test_accurate_ecn_reduces_as_often_as_classic_echoes(congestion: str) -> None:
    """With either feedback there is one reduction per window: the mean delivered bytes over four draws of RED agree
    within 2 %.
    """
    delivered = {}
    for ecn in ("classic", "accurate"):
        scenario = LINK.with_(**{"duration": "60 s", "tcp.ecn": ecn, "tcp.congestion": congestion})
        delivered[ecn] = sum(int(simulate(scenario, seed).flows["delivered_bytes"][0]) for seed in range(4))
    assert delivered["accurate"] == pytest.approx(delivered["classic"], rel=0.02)


def test_dctcp_marked_share_equals_that_with_its_own_feedback() -> None:
    """If there is one ACK per packet, both kinds of feedback report for each packet whether it was marked."""
    step = {"kind": "step-marking", "threshold": 20}
    changes = {"duration": "30 s", "tcp.congestion": "dctcp", "tcp.ack": "immediate", "switch.policy": step}
    shares = [
        port["packets_marked"] / port["packets_out"]
        for port in (trunk(simulate(LINK.with_(**changes, **{"tcp.ecn": ecn}))) for ecn in ("dctcp", "accurate"))
    ]
    assert shares[1] == pytest.approx(shares[0], rel=0.03)


def test_filtered_acks_soon_stop_counting_as_marks() -> None:
    """No packet is marked, but an ACK that covers many packets may hide an overflow of the counter.

    The sender assumes such an overflow until it knows the mean number of packets per ACK.
    """
    scenario = LINK.with_(
        **{
            "duration": "30 s",
            "network.return_rate": "40 kbit/s",
            "network.return_buffer": "100 packets",
            "network.return_policy": "ack-filter",
            "switch.policy": "tail-drop",
        }
    )
    assert simulate(scenario).flows["mark_reductions"][0] <= 10
