"""Longpipe's profile of Linux beside what Linux did: the tables in data/linux, which the kernel need not be there for."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from longpipe import simulate
from longpipe.result import Result
from longpipe.validate.linux import MSS, LinuxCase, LinuxControl, LinuxFlow
from longpipe.validate.linux_compare import scenario

TABLES = Path(__file__).parent / "data" / "linux"
CONTROLS = pd.read_csv(TABLES / "controls.csv").set_index("control")
LOSSES = pd.read_csv(TABLES / "losses.csv").fillna("")
TRANSFERS = pd.read_csv(TABLES / "transfers.csv").fillna("").set_index(["control", "list"])

# What is not as near to Linux's as 15 % of the packets lost, 3 % or 5 % of round trips: by how much, as docs/linux.md says.
LOST_BEYOND = {"hybla": -0.56, "highspeed": 0.45, "scalable": 0.23, "illinois": 0.19}
ROUND_TRIP_BEYOND = {"bic": -0.0303}
PATHS_BEYOND = {("cubic", "12900000 bit/s"): -0.054}
# Linux's receiver's window until it grows, and the lists in which what it does depends on that, or on its handshake.
FIRST_WINDOW = "65160 B"
ELSEWHERE = {8, 10}

Floats = npt.NDArray[np.float64]


def run(control: str, *, size: str | None = None, changes: dict[str, Any] | None = None, **case: Any) -> Result:  # noqa: ANN401 - fields of every type
    flow = LinuxFlow.model_validate({"control": control, "size": size})
    return simulate(scenario(LinuxCase(flows=(flow,), **case), **(changes or {})), 1)


def at(times: Floats, trace: pd.DataFrame, column: str) -> Floats:
    place = np.searchsorted(trace["time_s"].to_numpy(), times, side="right") - 1
    found: Floats = trace[column].to_numpy(dtype=float)[np.maximum(place, 0)]
    return found


def goodput_mbps(result: Result, begin: float, end: float) -> float:
    acks = result.traces["sequence"].query("event == 1")
    first, last = at(np.array([begin, end]), acks, "sequence_bytes")
    return float(last - first) * 8 / (end - begin) / 1e6


def lost(numbers: object) -> tuple[int, ...]:
    return tuple(int(number) for number in str(numbers).split())


@pytest.mark.parametrize(
    "control",
    ["reno", "cubic", "hybla", "westwood", "htcp", "illinois", "veno", "scalable", "highspeed", "bic"],
)
def test_ten_controls_do_what_linux_s_do_over_a_full_queue(control: LinuxControl) -> None:
    result, linux = run(control), CONTROLS.loc[control]
    assert goodput_mbps(result, 20, 60) == pytest.approx(linux["goodput_mbps"], rel=0.01)
    assert goodput_mbps(result, 0, 5) == pytest.approx(linux["first_goodput_mbps"], rel=0.05)
    steady = at(np.arange(200, 600) / 10, result.traces["rtt"], "srtt_s")
    longer = np.median(steady) * 1e3 / linux["median_srtt_ms"] - 1
    assert abs(longer) <= 0.03 or longer == pytest.approx(ROUND_TRIP_BEYOND.get(control), abs=0.0005)
    drops = int(result.ports["packets_lost_overflow"].sum())
    more = drops / linux["drops"] - 1
    assert abs(more) <= 0.15 or more == pytest.approx(LOST_BEYOND.get(control), abs=0.01)
    assert result.flows["timeouts"].sum() == 0


@pytest.mark.parametrize("control", ["cubic", "reno"])
@pytest.mark.parametrize("losses", ["single", "early", "bursts"])
def test_windows_over_time_are_linux_s_where_losses_are(losses: str, control: LinuxControl) -> None:
    (linux,) = LOSSES.query("list == @losses and control == @control").itertuples()
    result = run(control, lose=lost(linux.lost), rate="100 Mbit/s", buffer=100_000, duration="40 s")
    series = pd.read_csv(TABLES / "losses-series.csv.gz").query("list == @losses and control == @control")
    window = at(series["time_s"].to_numpy(), result.traces["cwnd"], "cwnd_bytes") / MSS
    assert (np.abs(window / series["cwnd"].to_numpy() - 1) <= 0.05).mean() > 0.98
    assert result.flows["retransmitted_segments"].sum() == linux.retransmissions


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_lost_packets_are_sent_again_in_linux_s_order(control: LinuxControl) -> None:
    sent = pd.read_csv(TABLES / "transfers-sent.csv.gz").query("control == @control")
    other = []
    for number, linux in sent.groupby("list"):
        lose = lost(TRANSFERS["lost"][control, number])
        fixed = {"tcp.receiver_window": FIRST_WINDOW}
        result = run(control, size=f"{200 * MSS} B", lose=lose, buffer=1000, duration="100 s", changes=fixed)
        ours = result.traces["sequence"].query("event == 0")["sequence_bytes"] // MSS
        if list(ours) != list(linux["segment"]):
            other.append(number)
    assert set(other) == ELSEWHERE


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_over_random_paths_without_losses_by_chance_goodput_and_round_trips_are_linux_s(control: LinuxControl) -> None:
    paths = pd.read_csv(TABLES / "paths.csv").query("control == @control and loss == 0")
    assert len(paths) == 9
    for linux in paths.itertuples():
        path = {name: getattr(linux, name) for name in ("rate", "round_trip", "buffer", "duration")}
        result, end = run(control, **path), float(str(linux.duration).split()[0])
        steady = at(np.arange(end * 10 // 3, end * 10) / 10, result.traces["rtt"], "srtt_s")
        assert goodput_mbps(result, end / 3, end) == pytest.approx(linux.goodput_mbps, rel=0.001)
        longer = np.median(steady) * 1e3 / float(str(linux.median_srtt_ms)) - 1
        beyond = PATHS_BEYOND.get((control, str(linux.rate)))
        assert abs(longer) <= 0.05 or longer == pytest.approx(beyond, abs=0.001)
