"""Simulated runs compared with closed forms from the literature."""

import numpy as np
import pytest

from closed_forms import BBR_PHASES, BBR_PROBE_GAIN, bbr_probe_rtt_share, dctcp_queue, pftk_bps
from longpipe import Result, Scenario, simulate
from longpipe.analysis.closed_forms import mathis_bps, md1_wait_s
from longpipe.scenario.datagrams import HEADERS

MSS = 1460
TRUNK = "switch1->switch2"


def link(rate: str, rtt_ms: float, duration: str, **fields: object) -> Scenario:
    """Returns one flow over a link whose hosts add no delay and practically no transmission time."""
    network = {
        "kind": "dumbbell", "sources": 1, "access_rate": "100 Gbit/s", "trunk_rate": rate, "trunk_delay": f"{rtt_ms / 2} ms",
        "access_delay": "0 s", "exit_delay": "0 s",
    }  # fmt: skip
    tcp = {"congestion": "aimd", "recovery": "sack", "mss": f"{MSS} B", "receiver_window": "64 MiB", "ack": "immediate"}
    base = {
        "framing": "ip",
        "duration": duration,
        "network": network,
        "switch": {"buffer": "10000 packets"},
        "tcp": tcp,
    }
    return Scenario(defaults="1996").with_(**base).with_(**fields)


def throughput_bps(scenario: Scenario) -> float:
    return float(simulate(scenario).throughputs_bps.sum())


@pytest.mark.parametrize(("ack", "acked"), [("immediate", 1), ("delayed", 2)])
@pytest.mark.parametrize("every", [2000, 8000])
def test_reno_with_periodic_losses_has_the_throughput_of_mathis(every: int, ack: str, acked: int) -> None:
    losses = {"kind": "periodic", "interval": every}
    scenario = link("1 Gbit/s", 20, "80 s", warm_up="16 s", **{"network.trunk_loss": losses, "tcp.ack": ack})
    assert throughput_bps(scenario) == pytest.approx(mathis_bps(MSS, 0.02, 1 / every, acked), rel=0.07)


@pytest.mark.parametrize("loss", [0.01, 0.03, 0.06])
def test_reno_with_timeouts_has_the_throughput_of_padhye_and_others(loss: float) -> None:
    timer = {"kind": "fine", "min_rto": "1 s", "granularity": "1 ms"}
    losses = {"kind": "bernoulli", "probability": loss}
    scenario = link(
        "1 Gbit/s", 100, "600 s", **{"network.trunk_loss": losses, "tcp.recovery": "reno", "tcp.timer": timer}
    )
    assert throughput_bps(scenario) == pytest.approx(pftk_bps(MSS, 0.1, loss, 1.0), rel=0.1)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_poisson_datagrams_wait_as_in_m_d_1(load: float) -> None:
    payload = 1250 - HEADERS
    traffic = {"kind": "poisson", "rate": f"{10 * load} Mbit/s", "payload": f"{payload} B"}
    result = simulate(link("10 Mbit/s", 0, "300 s", traffic=traffic))
    # The transmission of a packet takes 1 ms, which is not part of the wait.
    wait_s = result.measure("datagrams:flow1.delay") - 0.001
    assert wait_s == pytest.approx(md1_wait_s(load, 0.001), rel=0.02)


def dctcp(threshold: int, flows: int) -> Result:
    """Runs DCTCP flows over a 1 Gbit/s path with an RTT of 4 ms, which holds 333 packets of 1500 bytes."""
    step = {"kind": "step-marking", "threshold": threshold}
    marking = {"switch.policy": step, "tcp.congestion": "dctcp", "tcp.ecn": "dctcp", "network.sources": flows}
    return simulate(link("1 Gbit/s", 4, "3 s", warm_up="1 s", **marking, **{"traces.vc_queue": True}))


@pytest.mark.parametrize("flows", [1, 2])
def test_the_queue_of_dctcp_is_the_sawtooth_of_alizadeh_and_others(flows: int) -> None:
    result, expected = dctcp(100, flows), dctcp_queue(100, 1e9 / 8 / 1500 * 0.004, flows)
    trace = result.traces["vc_queue"]
    held = (
        trace[(trace["port"] == TRUNK) & (trace["time_s"] > 1)].groupby("time_s")["queue_packets"].sum().astype(float)
    )
    assert held.max() == pytest.approx(expected.largest, abs=2)
    if flows == 1:
        # Even two flows are not always synchronized.
        assert held.min() == pytest.approx(expected.smallest, abs=4)


def test_dctcp_fills_the_link_with_a_threshold_above_a_seventh_of_the_pipe() -> None:
    """C RTT / 7 is 48 packets."""
    assert dctcp(60, 1).efficiency > 0.9999
    assert dctcp(10, 1).efficiency < 0.995


def bbr() -> Result:
    bbr = {"tcp": {"profile": "linux-6", "congestion": "bbr"}, "switch.buffer": "4 BDP"}
    return simulate(link("20 Mbit/s", 40, "60 s", **bbr, **{"traces.rtt": True}))


def test_bbr_probes_bandwidth_every_eight_rtts_and_rtt_every_10_s() -> None:
    """The gains are 1.25, 0.75 and six times 1, each for a minimum RTT; ProbeRTT has four segments in flight for 200 ms."""
    result = bbr()
    trace = result.traces["rtt"]
    times, rtts = trace["time_s"].to_numpy(), trace["rtt_s"].to_numpy()
    steady = (times > 12) & (times < 20)
    least = rtts[steady].min()
    assert least == pytest.approx(0.0412, rel=0.05)
    # Linux probes until 1.25 BDP and an allowance of 8 segments are in flight: three bursts of 2, and 2 in this phase
    # (bbr_quantization_budget).
    assert rtts[steady].max() == pytest.approx(BBR_PROBE_GAIN * least + 8 * 0.0006, rel=0.02)
    high = rtts[steady] > 1.125 * least
    cycles = np.count_nonzero(high[1:] & ~high[:-1])
    assert cycles == pytest.approx(8 / (BBR_PHASES * least), rel=0.1)
    assert 1 - result.efficiency == pytest.approx(bbr_probe_rtt_share(0.04), abs=0.01)
