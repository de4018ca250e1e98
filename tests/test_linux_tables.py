"""Longpipe's profile of Linux compared with the results of Linux in data/linux, without the kernel."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linux_measures import at, goodput_mbps, median_srtt_ms
from longpipe import Scenario, simulate
from longpipe.result import Result
from longpipe_evidence.validate.linux import MSS, LinuxCase, LinuxControl, LinuxFlow, seconds
from longpipe_evidence.validate.linux_compare import TCP, scenario
from longpipe_evidence.validate.linux_tables import draw
from thorough import one_in

TABLES = Path(__file__).parent / "data" / "linux"
CONTROLS = pd.read_csv(TABLES / "controls.csv").set_index("control")
LOSSES = pd.read_csv(TABLES / "losses.csv").fillna("")
TRANSFERS = pd.read_csv(TABLES / "transfers.csv").fillna("").set_index(["control", "list"])

# Paths without random losses: maximum relative difference of an RTT, and of the mean RTT over 36 paths of CUBIC and
# Reno.
LOSSLESS_LONGER, LOSSLESS_MEAN = 0.0125, 0.002
# Paths of this kind whose goodput differs randomly by more than 0.1 %, with the differences of goodput and RTT;
# docs/linux.md states how much Linux's own goodput varies.
LOSSLESS_BEYOND = {("reno", 23): (0.00119, 0.00708), ("reno", 24): (-0.00095, 0.0146)}
# Controls that do not lose exactly as many packets over a full queue as Linux.
LOST_BEYOND = {"reno": 1, "scalable": 1, "veno": 1}
# Those of 40 random paths with three controllers whose goodput differs from Linux's by more than 3 %, or whose RTT
# differs by more than 5 %: see docs/linux.md.
PATHS_BEYOND = {
    "cubic": {},
    "bbr": {13: {"round trip"}, 20: {"goodput"}},
    "reno": {},
}
# Lists of lost packets after which longpipe sends different segments than Linux.
ELSEWHERE: set[int] = set()


def run(control: str, *, size: str | None = None, **case: Any) -> Result:  # noqa: ANN401 - fields of any type
    flow = LinuxFlow.model_validate({"control": control, "size": size})
    return simulate(scenario(LinuxCase(flows=(flow,), **case)), 1)


def lost(numbers: object) -> tuple[int, ...]:
    return tuple(int(number) for number in str(numbers).split())


@pytest.mark.parametrize(
    "control",
    ["reno", "cubic", "hybla", "westwood", "htcp", "illinois", "veno", "vegas", "scalable", "highspeed", "bic"],
)
def test_eleven_controls_behave_as_in_linux_over_a_full_queue(control: LinuxControl) -> None:
    result, linux = run(control), CONTROLS.loc[control]
    assert goodput_mbps(result, 20, 60) == pytest.approx(linux["goodput_mbps"], rel=0.001)
    first = goodput_mbps(result, 0, 5) / linux["first_goodput_mbps"] - 1
    assert abs(first) <= 0.002
    steady = at(np.arange(200, 600) / 10, result.traces["rtt"], "srtt_s")
    assert np.median(steady) * 1e3 == pytest.approx(linux["median_srtt_ms"], rel=0.01)
    drops = int(result.ports["packets_lost_overflow"].sum())
    assert drops == pytest.approx(linux["drops"], abs=LOST_BEYOND.get(control, 0))
    assert result.flows["timeouts"].sum() == 0


@pytest.mark.parametrize(("round_trip", "buffer"), [("100 ms", 100), ("40 ms", 1000)])
def test_bbr_behaves_as_in_linux_in_each_phase(round_trip: str, buffer: int) -> None:
    linux = pd.read_csv(TABLES / "phases.csv").query("round_trip == @round_trip and control == 'bbr'")
    path = LinuxCase(round_trip=round_trip, buffer=buffer, flows=(LinuxFlow(control="bbr"),))
    results = [simulate(scenario(path), seed) for seed in range(4)]
    for what, ours, within in (
        ("goodput_mbps", [goodput_mbps(result, 20, 60) for result in results], 0.001),
        ("first_goodput_mbps", [goodput_mbps(result, 0, 5) for result in results], 0.001),
        ("median_srtt_ms", [median_srtt_ms(result, 20, 60) for result in results], 0.005),
    ):
        assert min(ours) <= linux[what].max() * (1 + within)
        assert max(ours) >= linux[what].min() * (1 - within)
    drops = [int(result.ports["packets_lost_overflow"].sum()) for result in results]
    assert drops == pytest.approx([linux["drops"].median()] * 4, rel=0.02)


# In the guest, the handshake's RTT of a path of 600 ms is measured as 600.002 or 600.001 ms, depending on the start of
# the guest, and the minimum of later RTTs as 600.001 ms (`longpipe validate linux path --csv`, column min_rtt_us).
@pytest.mark.parametrize(("handshake_us", "probe_rtt_s", "end_s"), [(600_002, 11.3, 23.1), (600_001, 7.9, 24.3)])
def test_bbr_probes_the_rtt_when_linux_does(handshake_us: int, probe_rtt_s: float, end_s: float) -> None:
    """A lower RTT by a microsecond after the handshake postpones the first ProbeRTT by 3.4 s."""
    flow = LinuxFlow(control="bbr", size="100 MB")
    case = LinuxCase(rate="50 Mbit/s", round_trip="600 ms", buffer=2500, flows=(flow,))
    result = simulate(scenario(case).with_(**{"tcp.initial_rtt": f"{handshake_us} us"}), 1)
    least = result.traces["cwnd"].query(f"cwnd_bytes == {4 * MSS}")
    assert least["time_s"].iloc[0] == pytest.approx(probe_rtt_s, abs=0.11)
    assert result.flows["completion_s"].iloc[0] == pytest.approx(end_s, rel=0.02)


@pytest.mark.parametrize(
    ("trunk", "linux"),
    [
        (("20 Mbit/s", "400 kbit/s", "150 ms", "250 packets", "20 s"), (83, 83, 83)),
        (("50 Mbit/s", "1 Mbit/s", "50 ms", "206 packets", "10 s"), (2009, 2215, 1741)),
    ],
)
def test_bbr_over_a_slow_return_link_retransmits_as_in_linux(trunk: tuple[str, ...], linux: tuple[int, ...]) -> None:
    """Compares three seeds with Linux as an end of the same path. Half a BDP of buffer and a return rate of 1/50."""
    rate, back, delay, buffer, duration = trunk
    ack = {name: value for name, value in TCP["ack"].items() if name != "write_every"}
    path = Scenario(
        defaults="1996",
        framing="ip",
        duration=duration,
        network={
            "kind": "dumbbell",
            "sources": 1,
            "trunk_rate": rate,
            "trunk_delay": delay,
            "return_rate": back,
            "return_buffer": "10000 packets",
        },
        switch={"buffer": buffer},
        tcp={**TCP, "ack": ack, "congestion": "bbr", "handshake": True},
    )
    again = [simulate(path, seed).flows["retransmitted_segments"].sum() for seed in range(1, 4)]
    assert np.mean(again) == pytest.approx(np.mean(linux), rel=0.15)


@pytest.mark.parametrize(
    ("back", "delay", "buffer", "linux", "most"),
    [
        ("125 kbit/s", "50 ms", "20 packets", (49, 49, 49, 49), 60),
        ("166667 bit/s", "20 ms", "8 packets", (97, 96), 110),
    ],
)
def test_bbr_over_slow_return_link_needs_guest_ticks_and_bursts(
    back: str, delay: str, buffer: str, linux: tuple[int, ...], most: int
) -> None:
    """Linux as an end of the same path counts ticks of 10 ms and sends single segments; the defaults are others."""
    path = Scenario(
        defaults="1996",
        framing="ip",
        duration="10 s",
        network={
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "trunk_rate": "5 Mbit/s",
            "trunk_delay": delay,
            "return_rate": back,
            "return_buffer": "10000 packets",
        },
        switch={"buffer": buffer},
        tcp={"profile": "linux-6", "congestion": "bbr"},
    )
    guest = path.with_(**{"tcp.hz": 100, "tcp.pacing_burst": "1 segment"})
    again = [simulate(guest, seed).flows["retransmitted_segments"].sum() for seed in range(1, 7)]
    assert np.mean(linux) * 0.85 <= np.median(again) <= most
    assert simulate(path, 1).flows["retransmitted_segments"].sum() > 1.5 * max(linux)


def test_bbr_matches_its_linux_commit_message() -> None:
    """CUBIC fills the queue, to an RTT of 1.09 s; BBR leaves it almost empty, at 43 ms (Linux commit 0f8782ea1497)."""
    for control, published in (("cubic", 1090), ("bbr", 43)):
        result = run(control, round_trip="40 ms", buffer=1000)
        assert median_srtt_ms(result, 20, 60) == pytest.approx(published, rel=0.11 if control == "bbr" else 0.02)


@pytest.mark.parametrize("control", ["cubic", "reno"])
@pytest.mark.parametrize("losses", ["single", "early", "bursts"])
def test_windows_over_time_equal_linuxs_with_equal_losses(losses: str, control: LinuxControl) -> None:
    (linux,) = LOSSES.query("list == @losses and control == @control").itertuples()
    result = run(control, lose=lost(linux.lost), rate="100 Mbit/s", buffer=100_000, duration="40 s")
    series = pd.read_csv(TABLES / "losses-series.csv.gz").query("list == @losses and control == @control")
    window = at(series["time_s"].to_numpy(), result.traces["cwnd"], "cwnd_bytes") / MSS
    assert (np.abs(window / series["cwnd"].to_numpy() - 1) <= 0.05).mean() > 0.98
    assert result.flows["retransmitted_segments"].sum() == linux.retransmissions


@pytest.mark.parametrize(
    ("losses", "control"),
    [("every-1000", "cubic"), ("every-1000", "reno"), ("every-10000", "cubic"), ("every-10000", "reno")],
)
def test_distant_losses_leave_linuxs_goodput(losses: str, control: LinuxControl) -> None:
    """Each loss shifts the next one, and a long queue delays a recovery's ACKs, for which the timer waits."""
    (linux,) = LOSSES.query("list == @losses and control == @control").itertuples()
    result = run(control, lose=lost(linux.lost), rate="100 Mbit/s", buffer=100_000, duration="40 s")
    assert goodput_mbps(result, 40 / 3, 40) == pytest.approx(float(str(linux.goodput_mbps)), rel=0.003)
    assert result.flows["retransmitted_segments"].sum() == linux.retransmissions


@pytest.mark.parametrize(
    ("round_trip", "buffer", "every", "goodput", "srtt_ms", "retransmissions"),
    [
        ("20 ms", 100, None, 28.692, 48.63, 165),
        ("20 ms", 1000, 500, 26.385, 21.02, 134),
        ("50 ms", 1000, 500, 12.604, 51.07, 65),
        ("100 ms", 1000, 500, 7.787, 101.44, 41),
    ],
)
def test_westwood_rounds_round_trips_of_whole_ticks_as_linux_does(
    round_trip: str, buffer: int, every: int | None, goodput: float, srtt_ms: float, retransmissions: int
) -> None:
    """Goodput [Mbit/s] and median SRTT of Linux 6.1.176 from 10 to 30 s, over 30 Mbit/s with every 500th packet lost.

    Without losses, Linux measures RTTs a microsecond above the path's, which count as a tick more. With losses, RTTs are
    also measured by timestamps in milliseconds.
    """
    lose = () if every is None else tuple(range(every, 100_000, every))
    result = run("westwood", rate="30 Mbit/s", round_trip=round_trip, buffer=buffer, lose=lose, duration="30 s")
    assert goodput_mbps(result, 10, 30) == pytest.approx(goodput, rel=0.03)
    assert median_srtt_ms(result, 10, 30) == pytest.approx(srtt_ms, rel=0.01)
    assert result.flows["retransmitted_segments"].sum() == pytest.approx(retransmissions, abs=2)


def test_westwood_counts_the_first_ack_as_linux_does() -> None:
    """The first ACK takes Linux's slow path, in which an ACK that Westwood has not counted is a segment.

    The threshold after the first recovery is that of Linux 6.1.176; without this segment, it is 24.
    """
    result = run("westwood", rate="5 Mbit/s", round_trip="460 ms", buffer=536, lose=(264,), duration="5 s")
    assert at(np.array([4.0]), result.traces["cwnd"], "ssthresh_bytes")[0] / MSS == 25


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_lost_packets_are_retransmitted_in_linuxs_order(control: LinuxControl) -> None:
    sent = pd.read_csv(TABLES / "transfers-sent.csv.gz").query("control == @control")
    other = []
    for number, linux in sent.groupby("list"):
        lose = lost(TRANSFERS["lost"][control, number])
        result = run(control, size=f"{200 * MSS} B", lose=lose, buffer=1000, duration="100 s")
        ours = result.traces["sequence"].query("event == 0")["sequence_bytes"] // MSS
        if list(ours) != list(linux["segment"]):
            other.append(number)
    assert set(other) == ELSEWHERE


@pytest.mark.parametrize("control", ["cubic", "bbr", "reno"])
def test_goodput_and_rtt_agree_on_nine_of_ten_random_paths(control: LinuxControl) -> None:
    """Compares the means of Linux's draws (one, except for BBR) with those of as many draws of longpipe."""
    paths = list(pd.read_csv(TABLES / "paths.csv").query("control == @control").groupby("path"))
    assert len(PATHS_BEYOND[control]) <= 0.1 * len(paths)
    # BBR has several draws for each path; for the other controls, the mean over all paths is also bounded.
    paths = one_in(8, paths) if control == "bbr" else paths
    beyond: dict[int, set[str]] = {}
    lossless: list[float] = []
    for name, draws in paths:
        number, linux = int(str(name)), draws[["goodput_mbps", "median_srtt_ms"]].mean()
        path, loss = draw(number)
        case = path.model_copy(update={"flows": (LinuxFlow(control=control),)})
        results, end = [simulate(scenario(case), 1 + seed) for seed in range(len(draws))], seconds(case.duration)
        goodput = np.mean([goodput_mbps(result, end / 3, end) for result in results])
        round_trip = np.mean([median_srtt_ms(result, end / 3, end) for result in results])
        more, longer = goodput / linux["goodput_mbps"] - 1, round_trip / linux["median_srtt_ms"] - 1
        if control != "bbr" and loss == 0:
            if (control, number) in LOSSLESS_BEYOND:
                assert (more, longer) == pytest.approx(LOSSLESS_BEYOND[control, number], abs=0.0002)
            else:
                assert abs(more) <= 0.001
                assert abs(longer) <= LOSSLESS_LONGER
            lossless.append(longer)
        found = {what for what, by in (("goodput", more / 0.03), ("round trip", longer / 0.05)) if abs(by) > 1}
        if found:
            beyond[number] = found
    chosen = {int(str(name)) for name, _ in paths}
    assert beyond == {number: what for number, what in PATHS_BEYOND[control].items() if number in chosen}
    assert not lossless or abs(np.mean(lossless)) <= LOSSLESS_MEAN
