"""UDP Prague fills a link with DualPI2, shares it with Prague, and gives flows of different RTTs similar rates."""

import udp_prague_witness
from longpipe import Scenario, simulate

L4S = {"kind": "accurate", "ect": 1}


def test_witness_table_is_that_of_independent_program() -> None:
    lines = udp_prague_witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [udp_prague_witness.HEADER, *udp_prague_witness.rows()]


def rates_mbps(*groups: dict[str, object], duration: str = "40 s") -> list[float]:
    """Returns the throughput of one flow of each group [Mbit/s] over 50 Mbit/s and DualPI2 in the second half."""
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
        switch={"buffer": "10000 packets", "policy": {"kind": "dualpi2", "marking": "step", "scheduler": "weighted"}},
        tcp={"profile": "linux-6", "ecn": L4S},
    )
    return [float(rate) / 1e6 for rate in simulate(scenario, 1).flows["throughput_bps"]]


def test_flow_alone_fills_the_link() -> None:
    (rate,) = rates_mbps({"tcp": {"congestion": "udp-prague"}})
    assert rate > 0.85 * 50


def test_rates_depend_little_on_rtts_of_5_and_20_ms() -> None:
    udp_prague: dict[str, object] = {"tcp": {"congestion": "udp-prague"}}
    short, long = rates_mbps(udp_prague, {**udp_prague, "access_delay": "7.5 ms"})
    # Rates in inverse proportion to the RTT, as without a virtual RTT, would differ by a factor of four.
    assert 1 / 2 < short / long < 2


def test_shares_the_link_with_tcp_prague() -> None:
    udp, tcp = rates_mbps({"tcp": {"congestion": "udp-prague"}}, {"tcp": {"congestion": "prague"}})
    assert 0.5 < udp / tcp < 2


def test_maximum_rate_limits_it() -> None:
    (rate,) = rates_mbps({"tcp": {"congestion": {"kind": "udp-prague", "max_rate": "10 Mbit/s"}}})
    assert 8 < rate < 10
