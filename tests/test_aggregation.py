"""Link aggregation compared with closed forms, with ns-3's recorded 802.11n throughput, and between both engines."""

from typing import Any

import numpy as np
import pytest

from longpipe import Result, Scenario, simulate
from longpipe.errors import ScenarioError

LENGTH = 1000


def batched(aggregation: dict[str, Any], rate: str = "100 Mbit/s", **changes: object) -> Scenario:
    """Returns 1000-byte datagrams (including headers) over a 50 Mbit/s trunk that sends in batches."""
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": "4 s",
        "switch": {"buffer": "200 packets"},
        "traffic": {"kind": "poisson", "rate": rate, "payload": f"{LENGTH - 28} B"},
        "traces": {"arrivals": True, "delay": True},
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Gbit/s",
            "trunk_rate": "50 Mbit/s",
            "access_delay": "0 s",
            "trunk_delay": "0 s",
            "exit_delay": "0 s",
            "conditioners": [{"kind": "aggregation", **aggregation}],
        },
    }
    return Scenario(defaults="1996", **fields).with_(**changes)


@pytest.mark.parametrize(
    ("aggregation", "packets", "cycle_us"),
    [
        # If the line is free, the time is the overhead plus n (L + h) 8 / R.
        ({"overhead": "200 us"}, 64, 200 + 64 * 160),
        ({"overhead": "1 ms", "packet_overhead": "250 B", "max_size": "20 KB"}, 16, 1000 + 16 * 200),
        ({"max_packets": 3, "max_duration": "400 us"}, 2, 2 * 160),
        # The transmission starts at the first multiple of the interval after that.
        ({"interval": "4 ms"}, 25, 4000),
        ({"interval": "4 ms", "overhead": "810 us"}, 19, 4000),
        ({"interval": "1 ms", "max_packets": 16, "max_duration": "10 ms"}, 16, 3000),
        # A packet that is longer than a batch forms its own batch.
        ({"interval": "1 ms", "max_size": "999 B"}, 1, 1000),
    ],
)
def test_a_saturated_link_sends_full_batches(aggregation: dict[str, Any], packets: int, cycle_us: float) -> None:
    """A cycle with n packets of L + h bytes takes the overhead plus n (L + h) 8 / R, rounded up to a multiple of the
    interval.
    """
    scenario = batched(aggregation)
    result = simulate(scenario)
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash
    port = result.ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_out"] == pytest.approx(packets * 4e6 / cycle_us, abs=3 * packets)
    # The 10 Gbit/s exit link spreads a batch by 0.8 us per packet.
    times = result.traces["arrivals"]["time_s"].to_numpy()
    begins = np.flatnonzero(np.diff(times) > 2e-6) + 1
    # The rate is measured after the queue has filled.
    assert set(np.diff(begins)[50:]) == {packets}
    np.testing.assert_allclose(np.diff(times[begins])[50:], cycle_us / 1e6, atol=1e-9)


def test_a_packet_waits_half_an_interval_at_low_load() -> None:
    """Uniformly distributed arrivals wait on average for T / 2, the overhead, and the other packets of their batch."""
    result = simulate(batched({"interval": "4 ms", "overhead": "1 ms"}, "400 kbit/s", duration="100 s"))
    waits = result.traces["delay"].query("port == 'switch1->switch2'")["delay_s"]
    # At 50 packets/s, 0.2 other packets of 160 us each arrive per interval on average.
    assert waits.mean() == pytest.approx(2e-3 + 1e-3 + 0.2 * 160e-6, rel=0.02)
    assert 1e-3 <= waits.min() < 1.01e-3
    assert 4.99e-3 < waits.max() <= 5e-3 + 5 * 160e-6


def _packets_out(result: Result) -> int:
    """Returns the number of packets that the trunk sent."""
    ports = result.ports
    return int(ports["packets_out"][ports["port"] == "switch1->switch2"].iloc[0])


def test_one_wi_fi_station_has_the_throughput_of_ns3() -> None:
    """ns-3's examples/wireless/wifi-aggregation.cc asserts 58.5 to 59.5 Mbit/s of payload: HT MCS 7 at 65 Mbit/s.

    The parameters are: UDP payloads of 1472 bytes, A-MPDUs of up to 65 535 bytes and 5.484 ms with a preamble of 36 us
    (IEEE 802.11-2016 table 19-25), 44 bytes per MPDU (QoS header 26, LLC/SNAP 8, FCS 4, delimiter 4, padding 2).
    Overhead: AIFS[BE] 43 us, mean backoff 7.5 slots of 9 us, preamble 36 us, SIFS 16 us, BlockAck at 24 Mbit/s 32 us.
    """
    aggregation = {
        "overhead": "194.5 us",
        "packet_overhead": "44 B",
        "max_size": "65535 B",
        "max_duration": "5448 us",
    }
    changes: dict[str, Any] = {"network.trunk_rate": "65 Mbit/s", "traffic.payload": "1472 B", "traces.arrivals": False}
    result = simulate(batched(aggregation, **changes))
    goodput = _packets_out(result) * 1472 * 8 / 4e6
    assert goodput == pytest.approx(59.0, rel=0.05)
    # Without aggregation, in network B of this example, the throughput is 30 to 31 Mbit/s, with an ACK of 28 us.
    alone = {"overhead": "190.5 us", "packet_overhead": "38 B", "max_packets": 1}
    result = simulate(batched(alone, **changes))
    goodput = _packets_out(result) * 1472 * 8 / 4e6
    assert goodput == pytest.approx(30.5, rel=0.05)


@pytest.mark.parametrize("policy", ["tail-drop", "codel", "fq-codel", "red", "pie", "drr"])
@pytest.mark.parametrize("path", [None, {"kind": "moving", "rate": [["0 s", "20 Mbit/s"], ["1 s", "5 Mbit/s"]]}])
def test_both_engines_aggregate_behind_every_kind_of_queue(policy: str, path: dict[str, Any] | None) -> None:
    changes: dict[str, Any] = {
        "traffic": "greedy",
        "switch.policy": policy,
        "network.sources": 2,
        "traces.arrivals": False,
    }
    changes |= {"duration": "3 s", "network.path": path}
    scenario = batched({"interval": "3 ms", "overhead": "500 us", "max_packets": 8}, **changes)
    result = simulate(scenario)
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash
    assert result.ports.set_index("port").loc["switch1->switch2"]["packets_out"] > 1000


@pytest.mark.parametrize(
    ("conditioners", "message"),
    [
        (
            [{"kind": "aggregation", "interval": "1 ms", "overhead": "1 ms"}],
            "network.conditioners[0].overhead: 1 ms; needs less than interval, 1 ms",
        ),
        (
            [{"kind": "aggregation"}, {"kind": "tbf", "rate": "1 Mbit/s", "burst": "16 KB"}],
            "network.conditioners[0]: aggregation; not together with tbf at the same port",
        ),
        ([{"kind": "aggregation"}] * 2, "network.conditioners[1]: aggregation; needs at most one aggregation"),
    ],
)
def test_invalid_conditioners_are_rejected(conditioners: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        batched({}).with_(**{"network.conditioners": conditioners}).resolve()
    assert str(caught.value) == message


def test_batches_longer_than_the_ramp_of_dualpi2_take_prague_s_share() -> None:
    """Packets that wait for a batch are marked without a standing queue (docs/how-to/l4s-over-bursty-links.md)."""
    low_latency = {"congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}}
    changes: dict[str, Any] = {
        "duration": "20 s",
        "traffic": "greedy",
        "traces": {},
        "network.trunk_rate": "100 Mbit/s",
        "network.trunk_delay": "10 ms",
        "network.group": [{"name": "prague", "tcp": low_latency}, {"name": "cubic", "tcp": {}}],
        "tcp.profile": "linux-6",
        "switch": {"buffer": "1000 packets", "policy": "dualpi2"},
    }
    shared = batched({"interval": "4 ms", "max_packets": 100_000}, **changes)

    def share(least: str, most: str) -> float:
        marking = {"kind": "ramp", "min": least, "max": most}
        flows = simulate(shared.with_(**{"switch.policy.marking": marking})).flows.set_index("flow")["throughput_bps"]
        return float(flows["prague"] / flows.sum())

    assert share("800 us", "1200 us") < 0.1
    # The coupled law predicts 0.59 to 0.73 for the RTTs of 20 to 32 ms (validate/coupled_law.py).
    assert 0.55 < share("8 ms", "12 ms") < 0.75
