"""Completion times of files in Linux 6.1, written in one call, and in the profile linux-6; tests/data/linux/files.csv."""

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from longpipe import Scenario, simulate
from longpipe.linux_end import kernel as linux_kernel
from thorough import THOROUGH

TABLE = Path(__file__).parent / "data" / "linux" / "files.csv"
LACKING = linux_kernel.problem()
kernel = pytest.mark.skipif(LACKING is not None, reason=f"user-mode Linux: {LACKING}")
LINUX = {"kind": "stack", "stack": "linux", "congestion": "cubic"}
FILE = {"kind": "transfer"}
# Cases that the default sample includes: one write determines the times of the first three, FIN those of the others.
CASES = [(50, 30, 100_000), (50, 30, 101_000), (50, 64, 100_000), (50, 84, 102_000), (20, 30, 44_000)]


def path(traffic: dict[str, Any], rate_mbps: int, round_trip_ms: int, size_bytes: int) -> Scenario:
    """Returns one file over a path without losses; kernels with 100 ticks per second."""
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Gbit/s",
        "access_delay": "0 s",
        "exit_delay": "0 s",
        "trunk_rate": f"{rate_mbps} Mbit/s",
        "trunk_delay": f"{500 * round_trip_ms} us",
    }
    return Scenario(
        defaults="1996",
        framing="ip",
        duration="10 s",
        network=network,
        switch={"buffer": "unlimited"},
        tcp={"profile": "linux-6", "hz": 100},
        traffic={**traffic, "size": f"{size_bytes} B"},
    )


def completion_s(scenario: Scenario) -> float:
    return float(simulate(scenario).flows.completion_s[0])


def recorded() -> list[tuple[int, int, int, float]]:
    """Returns rate [Mbit/s], RTT [ms], size [byte] and Linux's completion time [s] of each recorded file."""
    with TABLE.open(newline="") as file:
        rows = [[float(field) for field in row] for row in list(csv.reader(file))[1:]]
    return [(round(rate), round(rtt), round(size), time_s) for rate, rtt, size, time_s in rows]


def test_files_take_as_long_as_in_linux() -> None:
    rows = recorded()
    assert len(rows) == 576
    for rate, rtt, size, linux_s in rows[:: 1 if THOROUGH else 4]:
        assert completion_s(path(FILE, rate, rtt, size)) == pytest.approx(linux_s, rel=1e-3), (rate, rtt, size)


def last_ack_s(scenario: Scenario) -> float:
    """Returns the time from the delivery of the last byte to the arrival of the last ACK at the sender."""
    result = simulate(scenario.with_(traces={"sequence": True}))
    return float(result.traces["sequence"].time_s.max() - result.flows.completion_s[0])


@pytest.mark.parametrize(
    ("traffic", "tcp"),
    [
        (FILE, {}),
        (FILE, {"hz": 1000}),
        (FILE, {"recovery": "sack", "congestion": "linux-reno"}),
        (FILE, {"ack": {"kind": "linux", "write_every": "20 ms"}}),
    ],
)
def test_last_segment_is_acknowledged_at_once(traffic: dict[str, Any], tcp: dict[str, Any]) -> None:
    sizes = random.Random(1).sample(range(1, 200_000), 72 if THOROUGH else 12)
    for size in [30_408, *sizes]:
        scenario = path(traffic, 20, 30, size)
        changed = Scenario.from_toml(scenario.to_toml(), {f"tcp.{name}": value for name, value in tcp.items()})
        # An ACK of 52 bytes takes 21 us at 20 Mbit/s.
        assert last_ack_s(changed) == pytest.approx(0.015021, abs=1e-5), size


def test_last_segment_of_each_write_is_acknowledged_at_once() -> None:
    stream = {"kind": "stream", "rate": "100 kbit/s", "write": "2 KB"}
    scenario = path(FILE, 20, 30, 1).with_(traffic=stream, traces={"sequence": True})
    acks = simulate(scenario).traces["sequence"].query("event == 1")
    # A write of two segments begins every 160 ms, and its ACK arrives within an RTT; before the first one, the
    # connection opens.
    ends = acks[acks.sequence_bytes % 2000 == 0]
    assert len(ends) > 50
    assert (ends.time_s[1:] % 0.16 < 0.034).all()


@kernel
@pytest.mark.parametrize(("rate_mbps", "round_trip_ms", "size_bytes"), CASES)
def test_one_write_and_fin_determine_times(rate_mbps: int, round_trip_ms: int, size_bytes: int) -> None:
    linux, model = (completion_s(path(one, rate_mbps, round_trip_ms, size_bytes)) for one in (LINUX, FILE))
    assert model == pytest.approx(linux, rel=1e-3)


@kernel
def test_recorded_files_take_as_long_as_in_this_kernel() -> None:
    rows = recorded()
    for rate, rtt, size, linux_s in rows[:: 8 if THOROUGH else 96]:
        assert completion_s(path(LINUX, rate, rtt, size)) == pytest.approx(linux_s, rel=1e-4), (rate, rtt, size)
