"""LEDBAT, LEDBAT++ and rLEDBAT keep the queue at their target, and yield to other traffic."""

from collections.abc import Mapping
from types import ModuleType

import numpy as np
import pytest

import ledbat_witness
import rledbat_witness
from longpipe import Scenario, ScenarioError, simulate
from longpipe.scenario import Fine

STAMPS = {"kind": "fine", "min_rto": "200 ms", "timestamps": True}
LEDBAT = {"congestion": "ledbat", "initial_window": "2 segments"}


def path(rate: str, round_trip_ms: int, **changes: object) -> Scenario:
    """Returns one greedy flow; the queue has space for about four times the target."""
    network = {
        "kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "access_delay": "0 s", "exit_delay": "0 s",
        "trunk_rate": rate, "trunk_delay": f"{round_trip_ms / 2} ms",
    }  # fmt: skip
    tcp = {"recovery": "sack", "mss": "1448 B", "receiver_window": "4 MB", "timer": STAMPS, **LEDBAT}
    return Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "duration": "300 s",
            "switch.buffer": "500 packets",
            "network": network,
            "tcp": tcp,
            "traces": {"delay": True},
            **changes,
        }
    )


@pytest.mark.parametrize(("rate", "round_trip_ms"), [("10 Mbit/s", 20), ("10 Mbit/s", 200), ("2 Mbit/s", 600)])
@pytest.mark.parametrize("target_ms", [25, 100])
def test_a_lone_flow_holds_the_queue_at_its_target(rate: str, round_trip_ms: int, target_ms: int) -> None:
    congestion = {"kind": "ledbat", "target": f"{target_ms} ms"}
    result = simulate(path(rate, round_trip_ms, **{"tcp.congestion": congestion}))
    trace = result.traces["delay"]
    settled = (trace["port"] == "switch1->switch2") & (trace["time_s"] > 240)
    queueing_ms = 1e3 * trace["delay_s"][settled]
    # The queue has a whole number of packets.
    packet_ms = 8 * 1500 / (1000 * int(rate.split()[0]))
    assert np.median(queueing_ms) == pytest.approx(target_ms, rel=0.04, abs=packet_ms)
    assert queueing_ms.max() < target_ms + max(0.1 * target_ms, 2 * packet_ms)
    assert result.flows["retransmitted_segments"].iloc[0] == 0


def test_ledbat_yields_to_reno() -> None:
    groups = [{"name": "back", "tcp": LEDBAT}, {"name": "front", "tcp": {"congestion": "aimd"}, "start": "fixed"}]
    network = dict(path("10 Mbit/s", 40).network.model_dump(exclude_unset=True), group=groups)
    network.pop("sources")
    result = simulate(path("10 Mbit/s", 40, network=network))
    delivered = result.flows.set_index("flow")["delivered_bytes"]
    assert delivered.filter(like="front").sum() > 20 * delivered.filter(like="back").sum() > 0


def test_ledbat_measures_delays_by_timestamps() -> None:
    with pytest.raises(
        ScenarioError, match=r"tcp.timer: fine without timestamps; needs fine, with timestamps"
    ) as error:
        path("10 Mbit/s", 20, **{"tcp.timer": Fine()}).resolve()
    assert "\n" not in str(error.value)


PLUS = {"congestion": "ledbat-plus-plus", "initial_window": "2 segments"}


@pytest.mark.parametrize("witness", [ledbat_witness, rledbat_witness])
def test_the_witness_table_is_that_of_the_independent_program(witness: ModuleType) -> None:
    lines = witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [witness.HEADER, *witness.rows()]


@pytest.mark.parametrize("round_trip_ms", [20, 100])
def test_ledbat_plus_plus_alone_fills_the_link_below_its_target(round_trip_ms: int) -> None:
    result = simulate(path("10 Mbit/s", round_trip_ms).with_(**{"tcp.congestion": PLUS["congestion"]}))
    trace = result.traces["delay"]
    at_trunk = trace["port"] == "switch1->switch2"
    queueing_ms = 1e3 * trace["delay_s"][at_trunk & (trace["time_s"] > 60)]
    assert np.quantile(queueing_ms, 0.95) < 75
    # Slowdowns, which empty the queue, take at most a tenth of the time.
    assert queueing_ms.min() < 5
    assert result.flows["throughput_bps"].iloc[0] > 0.85 * 1e7 * 1448 / 1500
    assert result.flows["retransmitted_segments"].iloc[0] == 0


def competing(tcp: Mapping[str, object], other: Mapping[str, object], start: object) -> list[float]:
    """Returns the bytes that two flows deliver after 150 of 300 s; `other` starts at `start`."""
    groups = [{"name": "back", "tcp": tcp}, {"name": "front", "tcp": other, "start": start}]
    network = dict(path("10 Mbit/s", 40).network.model_dump(exclude_unset=True), group=groups)
    network.pop("sources")
    result = simulate(path("10 Mbit/s", 40, network=network, warm_up="150 s"))
    delivered = result.flows.set_index("flow")["delivered_bytes"]
    return [float(delivered.filter(like=name).sum()) for name in ("back", "front")]


def test_ledbat_plus_plus_yields_to_reno() -> None:
    background, foreground = competing(PLUS, {"congestion": "aimd"}, "fixed")
    assert foreground > 10 * background > 0


def test_late_ledbat_plus_plus_flow_gets_its_share() -> None:
    late = {"kind": "fixed", "at": "30 s"}
    early, latecomer = competing(PLUS, PLUS, late)
    assert 0.5 < latecomer / early < 2
    early, latecomer = competing(LEDBAT, LEDBAT, late)
    assert latecomer / early > 2


def rledbat(sender: str, **receiver: object) -> dict[str, object]:
    """Returns a connection whose receiver runs rLEDBAT."""
    return {"profile": "linux-6", "congestion": sender, "receiver_control": {"kind": "rledbat", **receiver}}


@pytest.mark.parametrize("sender", ["cubic", "bbr"])
@pytest.mark.parametrize("target_ms", [20, 60])
def test_a_receiver_of_rledbat_holds_the_queue_of_any_sender_at_its_target(sender: str, target_ms: int) -> None:
    tcp = rledbat(sender, target=f"{target_ms} ms")
    result = simulate(path("10 Mbit/s", 40, tcp=tcp, duration="150 s", warm_up="30 s"))
    trace = result.traces["delay"]
    settled = (trace["port"] == "switch1->switch2") & (trace["time_s"] > 60)
    queueing_ms = 1e3 * trace["delay_s"][settled]
    # Above the target, each RTT reduces the window in proportion to the excess; an RTT of one segment is 1.2 ms.
    assert np.quantile(queueing_ms, 0.95) < 1.25 * target_ms
    # Slowdowns take at most a tenth of the time, and a gain of 1 segment per RTT or less refills the queue.
    assert result.flows["throughput_bps"].iloc[0] > 0.8 * 1e7 * 1448 / 1500


def test_a_receiver_of_rledbat_gets_the_rate_of_a_sender_of_ledbat_plus_plus() -> None:
    modern = {"profile": "linux-6", "congestion": "ledbat-plus-plus"}
    by_sender, by_receiver = (
        simulate(path("10 Mbit/s", 40, tcp=tcp, warm_up="60 s")).flows["throughput_bps"].iloc[0]
        for tcp in (modern, rledbat("cubic"))
    )
    assert by_receiver == pytest.approx(by_sender, rel=0.03)


def test_a_receiver_of_rledbat_makes_a_sender_of_cubic_yield() -> None:
    background, foreground = competing(rledbat("cubic"), {"profile": "linux-6"}, "fixed")
    assert foreground > 10 * background > 0


def test_rledbat_needs_timestamps() -> None:
    message = "tcp.timer: fine without timestamps; needs fine, with timestamps, for receiver_control = rledbat, which "
    with pytest.raises(ScenarioError, match=message) as error:
        path(
            "10 Mbit/s", 20, **{"tcp.timer": Fine(), "tcp.congestion": "aimd", "tcp.receiver_control": "rledbat"}
        ).resolve()
    assert "\n" not in str(error.value)
