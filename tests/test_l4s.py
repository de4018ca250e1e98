"""TCP Prague and Copa compared with their closed forms."""

from math import sqrt
from typing import Any

import pytest

from longpipe import Result, Scenario, ScenarioError, simulate

PACKET_BITS = 12_000
PRAGUE: dict[str, Any] = {"congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}}


def beside_cubic(flows: int, rate_bps: float, rtt_s: float, duration_s: int) -> Result:
    groups = [
        {"name": "prague", "count": flows, "tcp": PRAGUE},
        {"name": "cubic", "count": flows, "tcp": {"congestion": "cubic"}},
    ]
    scenario = Scenario().with_(
        framing="ip",
        duration=f"{duration_s} s",
        network={
            "kind": "dumbbell",
            "sources": 2 * flows,
            "access_rate": "10 Gbit/s",
            "trunk_rate": f"{rate_bps} bit/s",
            "trunk_delay": f"{rtt_s / 2} s",
            "group": groups,
        },
        switch={"buffer": "20000 packets", "policy": "dualpi2"},
        tcp={"profile": "linux-6", "receiver_window": "64 MiB"},
        start={"kind": "random", "over": "1 s"},
    )
    return simulate(scenario, seed=1)


def predicted_share(rate_bps: float, rtt_s: float) -> float:
    """Returns the share of Prague in competition with CUBIC, one flow each, with RTTs of at least 25 ms, if p' is
    constant. Prague grows by 1 - p packets per RTT, and falls by p/2 of the window at the first of the evenly spaced
    marks after an RTT without a reduction: with m marks per RTT this happens every ceil(m) marks, so that m² = 2
    ceil(m) (1 - p), and m is the root of 6 (1 - p). The coupled law is p = 2 p' and p'² for CUBIC (RFC 9332), whose
    window is that of RFC 9438, figure 5, or of Reno. Its RTT includes the target delay.
    """
    low, high = 1e-5, 0.4
    while high / low > 1.0001:
        base = sqrt(low * high)
        rtt = rtt_s + 0.015
        prague = sqrt(6 * (1 - 2 * base)) / (2 * base) / rtt_s
        cubic = max(1.054 * (rtt / base**2) ** 0.75, sqrt(1.5) / base) / rtt
        low, high = (base, high) if (prague + cubic) * PACKET_BITS > rate_bps else (low, base)
    return float(prague / (prague + cubic))


def test_prague_and_cubic_share_dualpi2_as_the_coupled_law_says() -> None:
    """There are five flows of each, so that p' is steady: a single CUBIC flow empties its queue after each reduction."""
    begin, end = (beside_cubic(5, 100e6, 0.05, duration).flows["delivered_bytes"] for duration in (10, 30))
    delivered = end - begin
    share = delivered[:5].sum() / delivered.sum()
    assert share == pytest.approx(predicted_share(20e6, 0.05), rel=0.1)


def test_prague_needs_accurate_ecn_with_ect_1() -> None:
    for ecn, found in (("off", "off"), ("dctcp", "dctcp"), ("accurate", "accurate with ect = 0")):
        tcp = {"profile": "linux-6", "congestion": "prague", "ecn": ecn}
        with pytest.raises(ScenarioError, match=rf"tcp\.ecn: {found}; needs \{{kind = 'accurate', ect = 1\}}"):
            Scenario().with_(**{"framing": "ip", "switch.buffer": "100 packets", "tcp": tcp})


@pytest.mark.parametrize(("flows", "delta"), [(1, 0.5), (4, 0.5), (2, 0.25)])
def test_copa_keeps_1_delta_packets_of_each_flow_in_the_queue_at_equal_rates(flows: int, delta: float) -> None:
    """According to Arun and Balakrishnan 2018, section 2, there are 1/δ packets at equilibrium.

    The window of one flow cycles between 0 and 2.5/δ, with a mean of 1.25/δ.
    """
    rate_bps = 50e6
    result = simulate(
        Scenario().with_(
            **{
                "framing": "ip",
                "duration": "15 s",
                "network": {
                    "kind": "dumbbell",
                    "sources": flows,
                    "access_rate": "1 Gbit/s",
                    "trunk_rate": f"{rate_bps} bit/s",
                    "trunk_delay": "10 ms",
                },
                "switch.buffer": "2 BDP",
                "tcp": {"profile": "linux-6", "congestion": {"kind": "copa", "delta": delta}},
                "traces.delay": True,
            }
        ),
        seed=1,
    )
    delays = result.traces["delay"].query("port == 'switch1->switch2' and time_s > 5")
    queue = delays["delay_s"].mean() * rate_bps / PACKET_BITS
    assert queue == pytest.approx(1.25 * flows / delta, rel=0.2)
    rates = result.flows["throughput_bps"]
    assert rates.sum() > 0.95 * rate_bps * 1448 / 1500
    assert rates.sum() ** 2 / (flows * (rates**2).sum()) > 0.99
    assert result.flows["retransmitted_segments"].sum() == 0
