"""The stacks of docs/more-stacks.md, if they are built: runs repeat bit by bit, windows shrink as RFCs say."""

import ctypes
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

import ends
from ends import path, traffic
from longpipe import Result, ScenarioError, simulate
from thorough import examples

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stacks need Linux")

RENO_BETA: Final = 0.5  # RFC 9002 section 7.3.2
CUBIC_BETA: Final = 0.7  # RFC 9438 section 4.6


@dataclass(frozen=True)
class Adapter:
    """What docs/more-stacks.md says about a stack."""

    name: str
    # Window after a loss, relative to the window before it, by control; None if the control has no fixed ratio.
    reductions: dict[str, float | None]
    # Version whose decisions `frozen` has, by control.
    version: str
    frozen: dict[str, str]


ADAPTERS: Final = (
    Adapter(
        "ngtcp2",
        {"cubic": CUBIC_BETA, "reno": RENO_BETA, "bbr": None, "bbr2": None},
        "0.12.1",
        {
            "cubic": "2a80b62be8881b4a",
            "reno": "03e2013c7c925d34",
            "bbr": "b36742ac970333b5",
            "bbr2": "50d9ed88ab6f4d5c",
        },
    ),
)
CONTROLS: Final = [(adapter, control) for adapter in ADAPTERS for control in adapter.reductions]
each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
each_control = pytest.mark.parametrize(
    ("adapter", "control"), CONTROLS, ids=[f"{adapter.name}-{control}" for adapter, control in CONTROLS]
)


def need(adapter: Adapter) -> None:
    if not ends.file_of(adapter.name).exists():
        pytest.skip(f"not built: make stacks-{adapter.name}")


def version_of(adapter: Adapter) -> str:
    """Returns the version in the table of the adapter's object."""

    class Table(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("size", ctypes.c_uint32), ("stacks", ctypes.c_char_p))

    table = Table.in_dll(ctypes.CDLL(str(ends.file_of(adapter.name))), "longpipe_ends")
    name, version = table.stacks.decode().split(" ", 1)
    assert name == adapter.name
    return str(version)


def state(result: Result) -> dict[str, Any]:
    (row,) = result.stacks.to_dict("records")
    return {str(name): value for name, value in row.items()}


@each_control
def test_a_run_has_the_same_bits_in_any_environment(adapter: Adapter, control: str, tmp_path: Path) -> None:
    need(adapter)
    program = Path(ends.__file__)
    words = [sys.executable, str(program), adapter.name, control, str(examples(4, 100))]
    # Both run at the same time, each as load for the other. The allocator of the second one fills memory with other bytes.
    environments = (
        {**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        {**os.environ, "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "MALLOC_PERTURB_": "165"}
        | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)},
    )
    folders = (Path.cwd(), tmp_path)
    running = [
        subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)
        for environment, folder in zip(environments, folders, strict=True)
    ]
    first, second = (json.loads(process.communicate(timeout=1200)[0]) for process in running)
    assert first == second
    assert len(set(first)) == len(first)


@each_control
def test_decisions_are_those_of_the_documented_version(adapter: Adapter, control: str) -> None:
    need(adapter)
    if (version := version_of(adapter)) != adapter.version:
        pytest.skip(f"{adapter.name} is {version}, not {adapter.version}")
    result = simulate(path(traffic(adapter.name, congestion=control, size=5_000_000)), seed=7)
    assert state(result)["decisions"] == adapter.frozen[control]


@each_control
def test_all_data_arrive_and_no_more_than_the_link_carries(adapter: Adapter, control: str) -> None:
    need(adapter)
    size = 5_000_000
    result = simulate(path(traffic(adapter.name, congestion=control, size=size)))
    flow, found = result.flows.iloc[0], state(result)
    assert flow.delivered_bytes == size
    # Two round trips for the handshake and the last ACK, and the data in packets with 28 bytes of headers
    assert 8 * size * 1480 / 1452 / 20e6 < flow.completion_s < 5
    assert found["handshake_s"] == pytest.approx(0.0415, abs=0.002)
    assert found["min_rtt_s"] == pytest.approx(0.0402, abs=0.0005)
    assert math.isnan(found["closed_s"])
    assert 1400 < found["mtu_bytes"] <= 1452
    assert flow.sent_segments >= size / 1452


@pytest.mark.parametrize(
    ("adapter", "control", "beta"),
    [(adapter, control, beta) for adapter in ADAPTERS for control, beta in adapter.reductions.items() if beta],
)
def test_losses_reduce_the_window_as_the_rfc_says(adapter: Adapter, control: str, beta: float) -> None:
    need(adapter)
    result = simulate(path(traffic(adapter.name, congestion=control), duration="20 s", traces={"cwnd": True}))
    windows = result.traces["cwnd"].cwnd_bytes
    ratios = (windows / windows.shift()).dropna()
    reductions = ratios[ratios < 0.97]
    assert len(reductions) == result.flows.fast_retransmits[0] >= 4
    assert reductions.tolist() == pytest.approx([beta] * len(reductions), rel=0.02)


@each_adapter
def test_requests_are_answered_one_after_another(adapter: Adapter) -> None:
    need(adapter)
    settings = {"workload": "requests", "requests": 5, "request": 200, "size": 10_000}
    found = simulate(path(traffic(adapter.name, **settings)))
    row = state(found)
    assert row["responses"] == 5
    assert found.flows.delivered_bytes[0] == 50_000
    # 10 kB fit into the initial window, so a response takes a round trip and its transmission.
    assert 0.0402 < row["mean_response_s"] <= row["max_response_s"] < 0.06


@each_adapter
def test_it_shares_a_link_with_linux_cubic(adapter: Adapter) -> None:
    need(adapter)
    group = [
        {"name": "own", "traffic": traffic(adapter.name, congestion="cubic")},
        {"name": "tcp", "traffic": "greedy"},
    ]
    network = {"kind": "dumbbell", "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms", "group": group}
    result = simulate(
        path({"kind": "transfer", "size": "1 B"}, network=network, tcp={"profile": "linux-6", "congestion": "cubic"})
    )
    assert (result.flows.throughput_bps > 2e6).all()
    assert result.flows.throughput_bps.sum() > 18e6


@each_adapter
def test_its_packets_are_in_the_trace(adapter: Adapter) -> None:
    need(adapter)
    result = simulate(path(traffic(adapter.name, congestion="cubic", size=1_000_000), traces={"packets": True}))
    events = result.traces["packets"].packet_event.value_counts()
    flow = result.flows.iloc[0]
    assert events["lost"] == flow.retransmitted_segments > 0
    assert events["sent"] == flow.sent_segments
    assert events["acknowledged"] > 0


@each_adapter
@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"congestion": "vegas"}, "congestion: vegas; needs "),
        ({"windw": 4194304}, "windw: unknown setting; needs congestion, "),
        ({"size": "much"}, "size: much; needs a "),
        ({"workload": "web"}, "workload: web; needs bulk or requests"),
    ],
)
def test_unknown_settings_are_refused_in_one_line(adapter: Adapter, settings: dict[str, Any], line: str) -> None:
    need(adapter)
    with pytest.raises(ScenarioError) as error:
        simulate(path(traffic(adapter.name, **settings)))
    assert line in str(error.value)
    assert "\n" not in str(error.value)
