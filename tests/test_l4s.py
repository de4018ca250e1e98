"""TCP Prague and Copa compared with their closed forms."""

from math import ceil, sqrt
from typing import Any

import pytest

from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe_evidence.validate.coupled_law import COUPLING, TARGET_S, cubic_rate, prague_rate, predicted_share
from longpipe_evidence.validate.coupled_model import modeled_share

PACKET_BITS = 12_000
PRAGUE: dict[str, Any] = {"congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}}


def beside_cubic(flows: int, rate_bps: float, rtt_s: float, duration_s: int) -> Result:
    groups = [
        {"name": "prague", "count": flows, "tcp": PRAGUE},
        {"name": "cubic", "count": flows, "tcp": {"congestion": "cubic"}},
    ]
    scenario = Scenario(defaults="1996").with_(
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


def share_of_prague(flows: int, rate_bps: float, rtt_s: float, interval_s: tuple[int, int]) -> float:
    begin, end = (beside_cubic(flows, rate_bps, rtt_s, duration).flows["delivered_bytes"] for duration in interval_s)
    delivered = end - begin
    return float(delivered[:flows].sum() / delivered.sum())


@pytest.mark.parametrize(
    ("flows", "rate_bps", "rtt_s", "interval_s"),
    [
        (5, 100e6, 0.05, (10, 30)),
        # Prague reduces its window every second RTT: a period of 25 ms would give 0.57.
        (1, 20e6, 0.02, (10, 60)),
    ],
)
def test_prague_and_cubic_share_dualpi2_by_the_coupled_law(
    flows: int, rate_bps: float, rtt_s: float, interval_s: tuple[int, int]
) -> None:
    """One reduction of CUBIC changes p' by at most a fifth here. Elsewhere p' returns to 0: see docs/queues.md."""
    law = predicted_share(rate_bps / PACKET_BITS, rtt_s, flows)
    assert law.swing < 0.25
    assert share_of_prague(flows, rate_bps, rtt_s, interval_s) == pytest.approx(law.share, rel=0.1)


def test_share_with_varying_p_follows_the_varying_model() -> None:
    """A reduction of CUBIC sets p' to 0 here, so that the law for a constant p' does not apply."""
    packets_per_s, rtt_s = 20e6 / PACKET_BITS, 0.1
    law, share = predicted_share(packets_per_s, rtt_s), share_of_prague(1, 20e6, rtt_s, (50, 250))
    assert law.swing > 3
    assert share > 1.3 * law.share
    assert share == pytest.approx(modeled_share(packets_per_s, rtt_s, 50, 250), rel=0.1)


def test_model_with_constant_p_agrees_with_the_law() -> None:
    law = predicted_share(20e6 / PACKET_BITS, 0.02)
    assert law.swing < 0.25
    assert modeled_share(20e6 / PACKET_BITS, 0.02, 20, 60) == pytest.approx(law.share, rel=0.05)


def test_prague_s_rate_solves_its_equation() -> None:
    # From 25 ms on m² = 6 (1 - p), so that the rate is independent of the RTT below 25 ms only if that divides 25 ms.
    assert prague_rate(0.01, 0.05) == pytest.approx(sqrt(6 * 0.99) / 0.01 / 0.05)
    assert prague_rate(0.01, 0.025) == prague_rate(0.01, 0.0125) == pytest.approx(sqrt(6 * 0.99) / 0.01 / 0.025)
    for rtt_s, period_s in ((0.02, 0.04), (0.011, 0.033), (0.024, 0.048)):
        marks = 0.01 * period_s * prague_rate(0.01, rtt_s)
        assert marks**2 == pytest.approx(2 * ceil(marks) * 0.99 * (period_s / 0.025) ** 2)


@pytest.mark.parametrize(
    ("rate_bps", "rtt_s", "share", "swing"),
    [(20e6, 0.01, 0.52, 0.19), (200e6, 0.1, 0.26, 17.2), (200e6, 0.05, 0.41, 10.3)],
)
def test_predictions_equal_the_table(rate_bps: float, rtt_s: float, share: float, swing: float) -> None:
    law = predicted_share(rate_bps / PACKET_BITS, rtt_s)
    assert law.share == pytest.approx(share, abs=0.005)
    assert law.swing == pytest.approx(swing, rel=0.02)
    marks, drops = COUPLING * law.probability, law.probability**2
    total = prague_rate(marks, rtt_s) + cubic_rate(drops, rtt_s + TARGET_S)
    assert total == pytest.approx(rate_bps / PACKET_BITS, rel=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"network.access_rate": "10 Gbit/s"},
        {"network.access_delay": "5 us"},
        {"network.trunk_delay": "1 ms"},
        {"network.trunk_rate": "1 Gbit/s"},
        {"network.sources": 2},
        {"tcp.mss": "1460 B"},
        {"tcp.mss": "536 B"},
        {"tcp.ack": "immediate"},
        {"tcp.timer": "coarse"},
    ],
)
def test_prague_alone_uses_the_link(changes: dict[str, Any]) -> None:
    """Prague paces about one window per RTT, but its window is still full, so that it grows until packets are marked."""
    scenario = Scenario(defaults="1996").with_(
        framing="ip",
        duration="60 s",
        network={
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "trunk_rate": "50 Mbit/s",
            "trunk_delay": "10 ms",
        },
        switch={"buffer": "1000 packets", "policy": "dualpi2"},
        tcp={"profile": "linux-6", **PRAGUE},
    )
    assert simulate(scenario.with_(**changes)).efficiency > 0.95


@pytest.mark.parametrize("control", ["aimd", "cubic", "linux-reno", "hybla"])
def test_pacing_and_controls_measure_srtt_exactly_with_a_coarse_timer(control: str) -> None:
    """SRTT is 87.5 ms in ticks, but the RTT is 20 ms."""
    scenario = Scenario(defaults="1996").with_(
        framing="ip",
        duration="30 s",
        warm_up="10 s",
        network={
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Gbit/s",
            "trunk_rate": "50 Mbit/s",
            "trunk_delay": "10 ms",
        },
        switch={"buffer": "1000 packets"},
        tcp={"recovery": "rack", "congestion": control, "pacing": True, "receiver_window": "auto"},
    )
    assert simulate(scenario).efficiency > 0.99


def test_prague_needs_accurate_ecn_with_ect_1() -> None:
    for ecn, found in (("off", "off"), ("dctcp", "dctcp"), ("accurate", "accurate with ect = 0")):
        tcp = {"profile": "linux-6", "congestion": "prague", "ecn": ecn}
        with pytest.raises(ScenarioError, match=rf"tcp\.ecn: {found}; needs \{{kind = 'accurate', ect = 1\}}"):
            Scenario(defaults="1996").with_(**{"framing": "ip", "switch.buffer": "100 packets", "tcp": tcp})


@pytest.mark.parametrize(("flows", "delta"), [(1, 0.5), (4, 0.5), (2, 0.25)])
def test_copa_keeps_1_over_delta_packets_per_flow_queued(flows: int, delta: float) -> None:
    """According to Arun and Balakrishnan 2018, section 2, there are 1/δ packets at equilibrium.

    The window of one flow cycles between 0 and 2.5/δ, with a mean of 1.25/δ.
    """
    rate_bps = 50e6
    result = simulate(
        Scenario(defaults="1996").with_(
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
