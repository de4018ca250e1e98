"""The sixteen congestion control modules of Linux in longpipe, compared with longpipe's controllers and with Linux 6.1."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linux_measures import at, goodput_mbps
from linux_source import KERNELS, NAMES, module
from longpipe import Scenario, simulate
from longpipe.controls.compiler import build
from longpipe.controls.usage import usage
from longpipe.result import Result
from longpipe_evidence.validate.linux import MSS, LinuxCase, LinuxFlow
from longpipe_evidence.validate.linux_compare import scenario
from longpipe_evidence.validate.linux_tables import SEGMENTS
from thorough import one_in

TABLES = Path(__file__).parent / "data" / "linux"
CONTROLS = pd.read_csv(TABLES / "controls.csv").set_index("control")
MODULES = pd.read_csv(TABLES / "modules.csv")
TRANSFERS = pd.read_csv(TABLES / "module-transfers.csv.gz").fillna("")
LOSSES = pd.read_csv(TABLES / "losses.csv").fillna("").query("control == 'cubic'").set_index("list")["lost"]
# A sample is used because compiling takes two seconds per module.
CHOSEN = one_in(3, NAMES)
# Modules that use functions that Linux 6.1 lacks.
CHANGED = ("dctcp", "lp")
# Controllers of longpipe that follow the code of a module with the same name.
NATIVE = [name for name in CHOSEN if name not in ("bbr", "cdg", "lp", "nv")]
# Modules that are in Linux's table; Reno is not a module.
IN_TABLE = [name for name in CHOSEN if name in CONTROLS.index]
# Lists of lost packets after which a module in longpipe sends different segments than in Linux. BBR's pacing timer
# expires within 1 us of an ACK, and the order of these events decides between a new segment and a retransmission; in
# Linux either order occurs: see docs/linux.md. HighSpeed's window counts ACKs, which
# differ after a hole is filled.
TRANSFERRED_OTHERWISE: dict[str, list[int]] = {"bbr": [4, 5, 7, 16, 17, 18, 19], "highspeed": [19]}

MARKING = {"switch": {"buffer": "100 packets", "policy": {"kind": "step-marking", "threshold": 20}}, "tcp.ecn": "dctcp"}


def case(**fields: Any) -> Scenario:  # noqa: ANN401 - fields of any type
    """Returns a one-minute greedy flow over 10 Mbit/s, 100 ms and 100 packets, as in Linux's table, with changes."""
    return scenario(LinuxCase(flows=(LinuxFlow(control="cubic"),), **fields))


def with_module(path: Scenario, name: str, kernel: str = KERNELS[0], **parameters: int) -> Scenario:
    table = {"kind": "module", "file": str(module(name, kernel)), "parameters": parameters}
    marks = MARKING if name == "dctcp" else {}
    return path.with_(**{"tcp.congestion": table, "network.group": [sender(path)], **marks})


def sender(path: Scenario) -> dict[str, Any]:
    """Returns the group of a path's only flow with the scenario's congestion control."""
    group = path.model_dump()["network"]["group"][0]
    return {"name": group["name"], "start": group["start"], "traffic": group["traffic"]}


def with_native(path: Scenario, name: str) -> Scenario:
    marks = MARKING if name == "dctcp" else {}
    return path.with_(**{"tcp.congestion": name, "network.group": [sender(path)], **marks})


@pytest.mark.parametrize("name", CHOSEN)
def test_unmodified_module_builds_and_runs(name: str) -> None:
    built = build([module(name)])
    assert built.linux == "6.1"
    assert [source.path.name for source in built.sources[1:]] == (["tcp_vegas.c"] if name == "yeah" else [])
    assert usage(str(module(name))).missing == {}
    # tcp_cdg backs off at random as soon as RTTs increase, and so takes longer to fill the path.
    duration_s = 60 if name == "cdg" else 20
    result = simulate(with_module(case(duration=f"{duration_s} s"), name))
    assert result.replaced == ()
    # The path has 10 Mbit/s, of which headers take 3.5 %.
    assert goodput_mbps(result, 0, duration_s) / 9.65 > (0.7 if name == "cdg" else 0.85)
    assert result.flows["timeouts"].sum() == 0


@pytest.mark.parametrize("name", sorted({*CHOSEN, *CHANGED}))
@pytest.mark.parametrize("kernel", KERNELS[1:])
def test_a_newer_module_has_the_results_of_the_first_kernel(kernel: str, name: str) -> None:
    """From 6.1 to 6.12, no module's algorithm changes, and load balancing is off by default (net.ipv4.tcp_plb_enabled).

    The path has losses, timeouts and idle times.
    """
    source = module(name, kernel)
    # cong_control, which only BBR has, takes four arguments since Linux 6.10.
    assert build([source]).linux == ("6.10" if name == "bbr" else "6.1")
    assert usage(str(source)).missing == {}
    lose = (100, *range(1000, 1300), 4000)
    path = case(duration="15 s", lose=lose)
    video = path.with_(**{"network.group": [{**sender(path), "traffic": "adaptive-video"}]})
    for each in (path, video):
        first, newer = (simulate(with_module(each, name, one)) for one in (KERNELS[0], kernel))
        assert first.flows["timeouts"].sum() > 0
        assert first.state_hash == newer.state_hash


def lists(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in str(LOSSES[name]).split())


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("losses", ["queue", "single", "early", "bursts"])
def test_a_module_and_the_controller_of_its_name_agree_bit_by_bit(name: str, losses: str) -> None:
    """Two implementations of one algorithm in one simulator have equal windows, sequence numbers and RTTs at all times."""
    lose = {} if losses == "queue" else {"lose": lists(losses), "rate": "100 Mbit/s", "buffer": 100_000}
    path = case(duration="20 s", **lose)
    assert simulate(with_module(path, name)).state_hash == simulate(with_native(path, name)).state_hash


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize(
    ("sources", "network", "switch"),
    [
        (2, {"trunk_rate": "20 Mbit/s", "trunk_delay": "50 ms"}, {"buffer": "100 packets"}),
        (5, {"trunk_rate": "10 Mbit/s", "trunk_delay": "5 ms"}, {"buffer": "20 packets"}),
        (3, {"trunk_rate": "20 Mbit/s", "trunk_delay": "50 ms"}, {"buffer": "100 packets", "policy": "red"}),
        (3, {"trunk_rate": "22 Mbit/s", "trunk_delay": "6 ms"}, {"buffer": "23 packets"}),
        (2, {"trunk_rate": "2.5 Gbit/s", "trunk_delay": "4 ms"}, {"buffer": "500 packets"}),
    ],
)
def test_a_module_and_the_controller_of_its_name_agree_with_several_flows(
    name: str, sources: int, network: dict[str, object], switch: dict[str, object]
) -> None:
    """HyStart may end slow start during a recovery, and DCTCP's marks may arrive after a timeout."""
    fields = {
        "duration": "5 s" if "Gbit" in str(network) else "20 s",
        "framing": "ip",
        "tcp": {"profile": "linux-6", **({"ecn": "dctcp"} if name == "dctcp" else {})},
        "switch": {**switch, **({"policy": {"kind": "step-marking", "threshold": 20}} if name == "dctcp" else {})},
        "network": {"kind": "dumbbell", "sources": sources, "access_rate": "10 Gbit/s", **network},
    }
    path = Scenario.model_validate({"defaults": "1996", **fields})
    module_of_it = {"kind": "module", "file": str(module(name))}
    hashes = {simulate(path.with_(**{"tcp.congestion": one})).state_hash for one in (module_of_it, name)}
    assert len(hashes) == 1


def windows(result: Result, times: np.ndarray) -> np.ndarray:
    return np.asarray(at(times, result.traces["cwnd"], "cwnd_bytes"))


def test_bbr_agrees_with_its_module_except_for_step_times() -> None:
    """longpipe's BBR computes in real numbers, but Linux's computes in units of 2⁻²⁴ segments per µs, rounded down.

    A window of two bandwidth-delay products is rounded up to pairs of segments, so a rate that is lower by 2e-4 may
    give one pair less. A state may also change up to a round trip earlier or later. Therefore ProbeRTT, from 10 to 11
    s, may last a round trip longer, because the delayed ACKs of its four segments leave at ticks of the kernel's clock.
    """
    path = case(duration="20 s").with_(**{"tcp.preconnect": "0 s"})
    own, module = simulate(with_native(path, "bbr")), simulate(with_module(path, "bbr"))
    times = np.arange(200, 19_900) / 1000
    ours = windows(own, times)
    shifts = range(-100, 101, 2)
    nearest = np.min([np.abs(windows(module, times + shift / 1000) - ours) for shift in shifts], axis=0)
    assert nearest.max() <= max(2 * MSS, 0.02 * ours.max())
    for start, end in ((2, 10), (11, 20)):
        assert goodput_mbps(module, start, end) == pytest.approx(goodput_mbps(own, start, end), rel=0.002)
    round_trip_s = 0.1
    most = round_trip_s * goodput_mbps(own, 11, 20)
    assert goodput_mbps(module, 10, 11) == pytest.approx(goodput_mbps(own, 10, 11), abs=most)


@pytest.mark.parametrize("name", [name for name in IN_TABLE if name != "bbr"])
def test_module_behaves_as_in_linux(name: str) -> None:
    result, linux = simulate(with_module(case(), name)), CONTROLS.loc[name]
    assert goodput_mbps(result, 20, 60) == pytest.approx(linux["goodput_mbps"], rel=0.006)
    steady = at(np.arange(200, 600) / 10, result.traces["rtt"], "srtt_s")
    assert np.median(steady) * 1e3 == pytest.approx(linux["median_srtt_ms"], rel=0.03)
    assert int(result.ports["packets_lost_overflow"].sum()) == pytest.approx(linux["drops"], rel=0.15)


@pytest.mark.parametrize("name", IN_TABLE)
def test_module_sends_linuxs_segments_under_any_losses(name: str) -> None:
    """A transfer of 200 segments with 20 lists of lost packets: the order of segments is equal, except for
    TRANSFERRED_OTHERWISE.
    """
    other = []
    for row in TRANSFERS[TRANSFERS["control"] == name].itertuples():
        flow = LinuxFlow(control="cubic", size=f"{SEGMENTS * MSS} B")
        lose = tuple(int(number) for number in str(row.lost).split())
        path = scenario(LinuxCase(buffer=1000, duration="100 s", lose=lose, flows=(flow,)))
        sent = simulate(with_module(path, name)).traces["sequence"].query("event == 0")["sequence_bytes"] // MSS
        if " ".join(map(str, sent)) != row.segments:
            other.append(row.list)
    assert len(TRANSFERS[TRANSFERS["control"] == name]) == 20
    assert other == TRANSFERRED_OTHERWISE.get(name, [])


def test_bbr_module_behaves_as_in_linux_in_each_phase() -> None:
    linux = pd.read_csv(TABLES / "phases.csv").query("round_trip == '100 ms' and control == 'bbr'")
    results = [simulate(with_module(case(), "bbr"), seed) for seed in range(3)]
    ours = [goodput_mbps(result, 20, 60) for result in results]
    assert min(ours) <= linux["goodput_mbps"].max() * 1.006
    assert max(ours) >= linux["goodput_mbps"].min() * 0.994


def test_parameters_of_linux_modules_take_effect() -> None:
    """tcp_cubic's beta is the factor of a reduction in units of 1/1024, and hystart=0 disables the early end of slow
    start.
    """
    path = case(duration="10 s", buffer=400)
    slow, fast = (simulate(with_module(path, "cubic", hystart=on)) for on in (1, 0))
    peaks = [result.traces["cwnd"].query("time_s < 2")["cwnd_bytes"].max() for result in (slow, fast)]
    assert peaks[1] > 2 * peaks[0]


def rows(name: str) -> pd.DataFrame:
    return MODULES.query("control == @name")


@pytest.mark.parametrize("name", [name for name in CHOSEN if name in ("lp", "nv", "vegas", "yeah")])
def test_controls_available_only_as_modules_behave_as_in_linux(name: str) -> None:
    result, (linux,) = simulate(with_module(case(), name), 1), rows(name).itertuples()
    assert goodput_mbps(result, 20, 60) == pytest.approx(linux.goodput_mbps, rel=0.006)
    steady = at(np.arange(200, 600) / 10, result.traces["rtt"], "srtt_s")
    assert np.median(steady) * 1e3 == pytest.approx(linux.median_srtt_ms, rel=0.03)
    assert int(result.ports["packets_lost_overflow"].sum()) == pytest.approx(linux.drops, rel=0.15)


# Relative difference of a mean of CDG from the table's eight draws that is larger than three standard errors. These draws
# are high: the mean over 207 runs of Linux is 8.19 Mbit/s, and that over 160 seeds of longpipe is 8.19, too.
CDG_BEYOND = {"goodput_mbps": -0.0338}


def test_cdg_backs_off_as_often_as_in_linux() -> None:
    """Compares the mean over eight draws of Linux with the mean over 24 draws of longpipe."""
    results = [simulate(with_module(case(), "cdg"), seed) for seed in range(24)]
    for name, start, end, most in (("goodput_mbps", 20, 60, 0.03), ("first_goodput_mbps", 0, 5, 0.15)):
        linux = rows("cdg")[name]
        ours = [goodput_mbps(result, start, end) for result in results]
        spread = np.hypot(np.std(ours, ddof=1) / len(ours) ** 0.5, linux.std() / len(linux) ** 0.5)
        if name in CDG_BEYOND:
            assert np.mean(ours) / linux.mean() - 1 == pytest.approx(CDG_BEYOND[name], abs=0.002)
        else:
            assert abs(np.mean(ours) - linux.mean()) <= 3 * spread
        assert spread < most * linux.mean()
