"""UDP Prague fills a link with DualPI2, shares it with Prague, and gives flows of different RTTs similar rates."""

import pytest

import udp_prague_witness
from longpipe import Scenario, simulate

L4S = {"kind": "accurate", "ect": 1}


def test_witness_table_is_that_of_independent_program() -> None:
    lines = udp_prague_witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [udp_prague_witness.HEADER, *udp_prague_witness.rows()]


def rates_mbps(
    *groups: dict[str, object], duration: str = "40 s", marking: str = "step", ack: str = "linux"
) -> list[float]:
    """Returns the throughput of one flow of each group [Mbit/s] over 50 Mbit/s and DualPI2 in the second half."""
    policy = {"kind": "dualpi2", "marking": marking, "scheduler": "weighted"}
    scenario = Scenario(
        framing="ip",
        duration=duration,
        warm_up=f"{float(duration.split()[0]) / 2:g} s",
        network={
            "kind": "dumbbell",
            "access_rate": "1 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_rate": "50 Mbit/s",
            "trunk_delay": "2.5 ms",
            "group": [{"name": f"flow{number}-", **group} for number, group in enumerate(groups)],
        },
        switch={"buffer": "10000 packets", "policy": policy},
        tcp={"profile": "linux-6", "ecn": L4S, "ack": ack},
    )
    return [float(rate) / 1e6 for rate in simulate(scenario, 1).flows["throughput_bps"]]


def test_flow_alone_fills_the_link() -> None:
    (rate,) = rates_mbps({"tcp": {"congestion": "udp-prague"}})
    assert rate > 0.85 * 50


UDP_PRAGUE: dict[str, object] = {"tcp": {"congestion": "udp-prague"}}
LONG: dict[str, object] = {**UDP_PRAGUE, "access_delay": "7.5 ms"}


@pytest.mark.parametrize("ack", ["linux", "immediate"])
def test_rates_of_flows_of_five_and_twenty_ms_are_equal_under_marks_by_probability(ack: str) -> None:
    """Both flows have a virtual RTT of 25 ms, so equal shares of marks give equal rates (prague_cc.cpp).

    The ramp marks with a probability that follows the delay, and CUBIC in the classic queue gives a coupled probability.
    """
    short, long = rates_mbps(UDP_PRAGUE, LONG, marking="ramp", ack=ack)
    assert short / long == pytest.approx(1, abs=0.1)
    cubic: dict[str, object] = {"tcp": {"congestion": "cubic", "ecn": "classic"}}
    short, long, _ = rates_mbps(UDP_PRAGUE, LONG, cubic, duration="80 s", ack=ack)
    assert short / long == pytest.approx(1, abs=0.1)


def test_step_marks_give_a_flow_of_five_ms_more_than_one_of_twenty_ms() -> None:
    short, long = rates_mbps(UDP_PRAGUE, LONG)
    # Rates in inverse proportion to the RTT, as without a virtual RTT, would differ by a factor of four.
    assert 1.1 < short / long < 2


def test_shares_the_link_with_tcp_prague() -> None:
    udp, tcp = rates_mbps({"tcp": {"congestion": "udp-prague"}}, {"tcp": {"congestion": "prague"}})
    assert 0.5 < udp / tcp < 2


def test_maximum_rate_limits_it() -> None:
    capped: dict[str, object] = {"tcp": {"congestion": {"kind": "udp-prague", "max_rate": "10 Mbit/s"}}}
    (rate,) = rates_mbps(capped, ack="immediate")
    assert rate == pytest.approx(10, rel=0.005)
    # The window is 1.25 MB/s times the RTT of 5.26 ms, 3 % and a segment more: 5 segments. If an ACK reports two segments,
    # the first of them is acknowledged with the second, so four segments take an RTT.
    rtt_s = 0.005 + 1500 * 8 * (1 / 50e6 + 2 / 1e9) + 52 * 8 * (1 / 50e6 + 2 / 1e9)
    assert int(1.25e6 * rtt_s * 1.03 / 1448 + 1) == 5
    (rate,) = rates_mbps(capped, ack="linux")
    assert rate == pytest.approx(4 * 1448 * 8 / rtt_s / 1e6, rel=0.01)
