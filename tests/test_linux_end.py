"""User-mode Linux at the ends of flows: deterministic runs, in which only TCP is Linux's, and failures of the guest."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import psutil
import pytest
from rich.console import Console

from longpipe import Result, RunError, Scenario, ScenarioError, linux_end, simulate
from longpipe.cli.run.tables import show
from longpipe.ip import bottleneck, packet_bytes
from longpipe.linux_end import kernel as linux_kernel
from longpipe.scenario import Stack
from longpipe.scenario.stack import CONTROLS, LINUX
from longpipe.units import TIME
from longpipe_evidence.validate.linux import MSS, LinuxControl
from thorough import THOROUGH

LACKING = linux_kernel.problem()
kernel = pytest.mark.skipif(LACKING is not None, reason=f"user-mode Linux: {LACKING}")
TABLES = Path(__file__).parent / "data" / "linux"
# Rate [bit/s] of IP packets that corresponds to 10 Mbit/s of packets with Ethernet headers, as in tests/data/linux.
WIRE_BPS = 10_000_000 * 1500 / 1514


def path(traffic: dict[str, Any], duration: str = "3 s", buffer: str = "101 packets", **others: object) -> Scenario:
    """Returns one flow over 10 Mbit/s and 100 ms: the path of controls.csv (see longpipe_evidence.validate.linux_compare)."""
    network: dict[str, Any] = {
        "kind": "dumbbell",
        "sources": 1,
        "trunk_rate": f"{WIRE_BPS:.0f} bit/s",
        # Each of the two other links has a delay of 5 us.
        "trunk_delay": "49.99 ms",
        "access_rate": "1 Gbit/s",
        "access_delay": "5 us",
    }
    network |= own if isinstance(own := others.pop("network", {}), dict) else {}
    if "group" in network:
        del network["sources"]
    fields: dict[str, Any] = {"framing": "ip", "duration": duration, "network": network, "switch": {"buffer": buffer}}
    return Scenario(defaults="1996", **fields | {"traffic": {"kind": "stack", "stack": "linux"} | traffic} | others)


def state(result: Result, number: int = 0) -> dict[str, Any]:
    return {str(name): value for name, value in result.stacks.to_dict("records")[number].items()}


def counted(result: Result, number: int = 0) -> dict[str, Any]:
    return {str(name): value for name, value in result.flows.to_dict("records")[number].items()}


def guests(parent: int | None = None) -> list[psutil.Process]:
    """Returns the processes of the guests that a process has started, by default this one."""
    children = psutil.Process(parent).children(recursive=True)
    return [one for one in children if alive(one) and linux_kernel.PROGRAM in program_of(one)]


def kernel_of(processes: list[psutil.Process]) -> psutil.Process:
    """Returns the process that started the others of a guest; the order of process numbers says nothing about it."""
    numbers = {one.pid for one in processes}
    (found,) = (one for one in processes if one.ppid() not in numbers)
    return found


def program_of(process: psutil.Process) -> str:
    """Returns the program of a process, or an empty string if it has just ended."""
    try:
        return "".join(process.cmdline()[:1])
    except psutil.NoSuchProcess:
        return ""


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# Runs


@kernel
def test_runs_are_bit_identical_with_and_without_observation() -> None:
    first = simulate(path({"congestion": "bbr"}), seed=3)
    second = simulate(path({"congestion": "bbr"}, traces={"cwnd": True}), seed=3)
    assert first.state_hash == second.state_hash
    assert first.stacks.equals(second.stacks)
    windows = second.traces["cwnd"]
    # Samples are 100 ms apart; in Startup, BBR's window exceeds the initial ten segments of 1448 bytes.
    assert windows.cwnd_bytes.max() > 14_480
    assert guests() == []


@kernel
def test_transfer_time_agrees_with_the_path() -> None:
    result = simulate(path({"size": "2 MB"}, buffer="unlimited"))
    found, row = state(result), counted(result)
    # A 60-byte SYN and its answer, each over two 1 Gbit/s links and one link with the trunk's rate.
    round_trip_s = 2 * (0.05 + 60 * 8 * (2 / 1e9 + 1 / WIRE_BPS))
    assert found["handshake_s"] == pytest.approx(round_trip_s, abs=2e-6)
    # The receiver's last ACK has no data, and the sender measures in microseconds.
    assert found["min_rtt_s"] == pytest.approx(round_trip_s, abs=2e-3)
    assert (found["mtu_bytes"], found["closed"], found["timeouts"], row["timeouts"]) == (1448, "", 0, 0)
    assert row["delivered_bytes"] == 2_000_000
    assert row["sent_bytes"] == 2_000_000
    assert row["sent_segments"] == -(-2_000_000 // 1448)
    assert row["retransmitted_segments"] == 0
    least_s = 1.5 * round_trip_s + 2_000_000 / 1448 * 1500 * 8 / WIRE_BPS
    # The window needs several round trips to fill the path.
    assert least_s < row["completion_s"] < least_s + 6 * round_trip_s


# Rate and rate of the return link [bit/s], buffer [packet], and Linux's retransmissions in 10 s.
SLOW_RETURNS = [(10_000_000, 200_000, 83, 0), (10_000_000, 250_000, 41, 41), (5_000_000, 166_666, 62, 29)]


def over_a_slow_return(traffic: Any, rate_bps: int, return_bps: int, packets: int) -> int:  # noqa: ANN401 - any kind
    """Returns the retransmissions of BBR if ACKs of single segments queue on the return link."""
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="10 s",
        network={
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_rate": f"{rate_bps} bit/s",
            "trunk_delay": "50 ms",
            "return_rate": f"{return_bps} bit/s",
            "return_buffer": "1000 packets",
        },
        switch={"buffer": f"{packets} packets"},
        traffic=traffic,
        tcp={"profile": "linux-6", "congestion": "bbr", "hz": 100, "pacing_burst": "1 segment"},
    )
    return int(simulate(scenario).flows.retransmitted_segments[0])


@pytest.mark.parametrize(("rate_bps", "return_bps", "packets", "expected"), SLOW_RETURNS)
def test_bbr_over_slow_return_retransmits_as_linux(rate_bps: int, return_bps: int, packets: int, expected: int) -> None:
    assert over_a_slow_return("greedy", rate_bps, return_bps, packets) == pytest.approx(expected, abs=2)


@kernel
@pytest.mark.parametrize(("rate_bps", "return_bps", "packets", "expected"), SLOW_RETURNS)
def test_linux_over_slow_return_retransmits_as_recorded(
    rate_bps: int, return_bps: int, packets: int, expected: int
) -> None:
    linux = {"kind": "stack", "stack": "linux", "congestion": "bbr"}
    assert over_a_slow_return(linux, rate_bps, return_bps, packets) == expected


@kernel
def test_lost_packets_equal_linuxs_retransmissions() -> None:
    result = simulate(path({"congestion": "cubic"}, duration="6 s", buffer="20 packets"))
    (port,) = bottleneck_counters(result)
    lost, row = port["packets_lost_overflow"], counted(result)
    assert lost > 0
    assert row["fast_retransmits"] >= 1
    # At the end some losses may not have been detected yet.
    assert row["retransmitted_segments"] == pytest.approx(lost, abs=2)


@kernel
def test_timeouts_in_an_outage_are_counted_and_explained() -> None:
    dropped = {"arriving": "drop", "waiting": "drop", "in_service": "drop", "in_flight": "drop"}
    network = {"path": {"outages": {"intervals": [["1 s", "2 s"]], **dropped}}}
    result = simulate(path({"congestion": "cubic"}, network=network, buffer="unlimited"))
    assert counted(result)["timeouts"] == state(result)["timeouts"] >= 1
    assert [one.limited_by for one in result.flow_limits] == ["outage"]


@kernel
@pytest.mark.parametrize(("congestion", "ecn"), [("cubic", True), ("dctcp", False)])
def test_ecn_marks_reach_linux(congestion: str, ecn: bool) -> None:
    switch = {"buffer": "1000 packets", "policy": {"kind": "codel", "ecn": True}}
    result = simulate(path({"congestion": congestion, "ecn": ecn}, switch=switch))
    (port,) = bottleneck_counters(result)
    assert port["packets_marked"] > 0
    assert port["packets_lost_aqm"] == 0
    assert counted(result)["retransmitted_segments"] == 0
    # Without reductions, the window would fill the buffer of 1000 packets.
    assert state(result)["cwnd_bytes"] < 500 * 1448


@kernel
def test_hosts_share_a_guest_and_a_path_with_modeled_flows() -> None:
    linux = {"kind": "stack", "stack": "linux", "congestion": "cubic"}
    group = [
        {"name": "first", "traffic": linux},
        {"name": "late", "traffic": linux | {"congestion": "reno"}, "start": {"kind": "fixed", "at": "1 s"}},
        {"name": "model", "traffic": "greedy"},
    ]
    result = simulate(path({}, network={"group": group}))
    assert list(result.stacks.flow) == ["first", "late"]
    first, late = (state(result, number)["handshake_s"] for number in (0, 1))
    assert first == pytest.approx(0.1002, abs=1e-3)
    assert late > 1.1
    assert (result.flows.delivered_bytes > 50_000).all()
    total_bps = 8 * result.flows.delivered_bytes.sum() / 3
    assert 0.7 * WIRE_BPS < total_bps < WIRE_BPS
    assert guests() == []


@kernel
def test_linux_ends_work_over_cells_and_large_packets() -> None:
    result = simulate(path({"size": "500 kB", "longest_packet": "9000 B"}, framing="aal5", buffer="4000 cells"))
    assert counted(result)["delivered_bytes"] == 500_000
    assert state(result)["mtu_bytes"] == 8948


@kernel
def test_a_connection_that_cannot_be_made_is_reported() -> None:
    result = simulate(path({}, network={"trunk_loss": {"kind": "bernoulli", "probability": 1.0}}, duration="140 s"))
    # tcp_syn_retries = 6: 1 + 2 + 4 + 8 + 16 + 32 + 64 s.
    assert state(result)["closed_s"] == pytest.approx(127, rel=0.05)
    assert state(result)["closed"] == "Connection timed out"
    (line,) = [line for line in result.warnings if "lost its connection" in line]
    assert line.endswith("Connection timed out")


# Controls: the queue is longpipe's, and everything else is as in Linux's tables.


def tabled(control: str, duration: str) -> Result:
    """Runs a control over the path of controls.csv, as longpipe_evidence.validate.linux_compare describes it."""
    wire = packet_bytes(MSS, timestamps=True)
    links = bottleneck(round(WIRE_BPS), wire, wire - MSS, TIME.parse("100 ms"))
    return simulate(path({"congestion": control}, duration=duration, network=links), seed=1)


# Results of Linux 6.1.176 over the same path with its own queue.
ROWS = pd.read_csv(TABLES / "controls.csv").set_index("control")


@kernel
def test_vegas_loses_the_same_packets_over_both_queues() -> None:
    (port,) = bottleneck_counters(tabled("vegas", "6 s"))
    assert port["packets_lost_overflow"] == ROWS["drops"]["vegas"]


@kernel
@pytest.mark.parametrize("control", list(ROWS.index) if THOROUGH else [])
def test_goodput_and_losses_equal_those_over_linuxs_queue(control: str) -> None:
    # In the table, the connection is established 1.2 s before it sends, so BBR's ProbeRTTs are earlier there.
    begin_s, end_s = (21, 61) if control == "bbr" else (20, 60)
    begin, end = (tabled(control, f"{second} s") for second in (begin_s, end_s))
    delivered = counted(end)["delivered_bytes"] - counted(begin)["delivered_bytes"]
    assert delivered * 8 / 40e6 == pytest.approx(ROWS["goodput_mbps"][control], rel=0.006)
    (port,) = bottleneck_counters(end)
    assert port["packets_lost_overflow"] == pytest.approx(ROWS["drops"][control], rel=0.15)


def bottleneck_counters(result: Result) -> list[dict[str, Any]]:
    """Returns the counters of the bottleneck."""
    found = result.ports[result.ports.port == "switch1->switch2"].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in found]


# Programs of the user


def script(folder: Path, name: str, text: str) -> str:
    """Writes a Python program, and returns the command that runs it."""
    (folder / name).write_text(text)
    return f"python -S {folder / name}"


SENDS = """
import socket, sys, time
peer = socket.create_connection(("peer", 7000))
for _ in range(100):
    peer.sendall(bytes(10_000))
peer.shutdown(socket.SHUT_WR)
print(peer.recv(100).decode(), "at", time.monotonic_ns() % 10**6, flush=True)
print("congestion", peer.getsockopt(socket.IPPROTO_TCP, 13, 16).split(bytes(1))[0].decode())
"""
READS = """
import socket, time
listener = socket.create_server(("", 7000))
began = time.monotonic()
while True:
    connection, address = listener.accept()
    size = 0
    while data := connection.recv(1 << 16):
        size += len(data)
    connection.sendall(f"got {size} from {address[0]}".encode())
    connection.close()
    print("served in", round(time.monotonic() - began, 2), flush=True)
"""


def programs(result: Result) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in result.programs.to_dict("records")]


@kernel
def test_programs_at_both_ends_are_bit_identical(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traffic = {
        "congestion": "reno",
        "command": script(tmp_path, "sends.py", SENDS),
        "serve": script(tmp_path, "reads.py", READS),
    }
    scenario = path(traffic, start={"kind": "fixed", "at": "500 ms"})
    first, second = (simulate(scenario, seed=5) for _ in range(2))
    assert first.state_hash == second.state_hash
    assert first.programs.equals(second.programs)
    command, serve = programs(first)
    assert (command["host"], command["field"], command["exit_code"]) == ("source1", "command", 0)
    assert command["output"].startswith("got 1000000 from 10.0.0.1 at ")
    assert command["output"].endswith("congestion reno\n")
    assert command["errors"] == ""
    assert command["started_s"] == pytest.approx(0.5, abs=1e-6)
    # The server waits for its next client until the run ends.
    assert (serve["host"], serve["field"]) == ("sink1", "serve")
    assert pd.isna(serve["exit_code"])
    assert pd.isna(serve["ended_s"])
    assert serve["started_s"] == pytest.approx(0, abs=1e-6)
    assert serve["output"] == f"served in {command['ended_s'] - 0.05:.2f}\n"
    row = counted(first)
    assert row["delivered_bytes"] == 1_000_000
    assert row["completion_s"] == pytest.approx(command["ended_s"])
    assert row["sent_bytes"] == 1_000_000 + row["retransmitted_bytes"]
    assert not [line for line in first.warnings if "exit code" in line or "had not ended" in line]
    assert guests() == []
    show(first, Console(width=100, color_system=None))
    shown = capsys.readouterr().out
    assert f" {command['ended_s']:.6g} " in shown
    assert "ended: time from the start of the run" in shown


@kernel
def test_the_output_and_exit_code_of_failures_are_reported(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo out; echo why >&2; exit 3"]
    result = simulate(path({"command": command, "serve": ["sh", "-c", "kill -KILL $$"]}, duration="1 s"))
    mine, served = programs(result)
    assert (mine["output"], mine["errors"], mine["exit_code"]) == ("out\n", "why\n", 3)
    assert served["exit_code"] == 128 + signal.SIGKILL
    assert pd.isna(counted(result)["completion_s"])
    lines = [line for line in result.warnings if "exit code" in line]
    assert lines[0] == "flow1: sh -c 'echo out; echo why >&2; exit 3' on source1 ended with exit code 3: why"
    assert lines[1] == "flow1: sh -c 'kill -KILL $$' on sink1 ended with exit code 137"


@kernel
def test_a_warning_on_a_command_with_line_breaks_has_one_line() -> None:
    result = simulate(path({"command": ["sh", "-c", "echo out\nexit 3"]}, duration="1 s"))
    assert "flow1: sh -c 'echo out exit 3' on source1 ended with exit code 3" in result.warnings


@kernel
def test_unfinished_program_is_reported_with_its_output(tmp_path: Path) -> None:
    command = script(tmp_path, "waits.py", "import time\nprint('waits', flush=True)\ntime.sleep(1000)\n")
    result = simulate(path({"command": command}, duration="1 s"))
    (mine,) = programs(result)
    assert pd.isna(mine["exit_code"])
    assert mine["output"] == "waits\n"
    assert f"flow1: {command} on source1 had not ended before the run did" in result.warnings


@kernel
def test_programs_cannot_write_the_machines_files(tmp_path: Path) -> None:
    lines = f"""
import os, tempfile
print(os.getcwd())
print(open(tempfile.mkstemp()[1], "w").write("yes"))
open({str(tmp_path / "new")!r}, "w")
"""
    result = simulate(path({"command": script(tmp_path, "writes.py", lines)}, duration="1 s"))
    (mine,) = programs(result)
    assert mine["output"] == f"{Path.cwd()}\n3\n"
    assert "Read-only file system" in mine["errors"]
    assert not (tmp_path / "new").exists()


@kernel
@pytest.mark.parametrize(("ecn", "least", "most"), [(0, 0, 0), (1, 200, 300), (2, 1, 50)])
def test_each_packet_has_its_own_codepoint(tmp_path: Path, ecn: int, least: int, most: int) -> None:
    lines = f"""
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, {ecn})
for _ in range(300):
    own.sendto(bytes(1000), ("peer", 9))
"""
    switch = {"buffer": "1000 packets", "policy": {"kind": "dualpi2"}}
    result = simulate(path({"command": script(tmp_path, "sends.py", lines)}, switch=switch, duration="1 s"))
    (port,) = bottleneck_counters(result)
    # All packets arrive within milliseconds. The low-latency queue, which receives ECT(1) packets, marks those that
    # waited for more than 1 ms.
    assert least <= port["packets_marked"] <= most


# Bad input


def test_controls_of_linux_ends_are_those_of_the_comparison() -> None:
    assert set(CONTROLS[LINUX]) == set(get_args(LinuxControl))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"congestion": "bbr3"}, "congestion: bbr3; linux has cubic, reno, bbr, bic,"),
        ({"crypto": "null"}, "crypto: null; linux has no such setting"),
        ({"workload": "requests"}, "workload: requests; linux has no such setting"),
        ({"stack": "quinn", "ecn": True}, "ecn: True; quinn has no such setting"),
        ({"longest_packet": "70 kB"}, "longest_packet"),
        ({"stack": "quinn", "command": "true"}, "command: ('true',); quinn has no such setting"),
        ({"command": "no-such-program -x"}, "traffic: command: no program 'no-such-program'; needs one on PATH"),
        ({"command": "true", "serve": "no-such-program"}, "traffic: serve: no program 'no-such-program'"),
        ({"command": "sh 'mine"}, "needs a command line"),
        ({"command": ""}, "traffic: command: empty; needs a program and its arguments"),
        ({"serve": "true"}, "needs a command"),
        ({"command": "true", "size": "1 MB"}, "size: 1 MB; the command decides how much it sends"),
    ],
)
def test_other_settings_are_rejected(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        path(fields)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_missing_kernel_reports_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_end, "_installed", lambda: None)
    scenario = path({})
    assert scenario.resolved["flows"][0]["traffic"]["version"] == "not installed"
    with pytest.raises(ScenarioError) as raised:
        simulate(scenario)
    assert str(raised.value).startswith("traffic.stack: linux is not installed; needs `apt install user-mode-linux")


def test_a_program_that_has_changed_is_not_run(tmp_path: Path) -> None:
    scenario = path({"command": script(tmp_path, "mine.py", "print(1)")})
    first = scenario.digest()
    (tmp_path / "mine.py").write_text("print(2)")
    assert path({"command": f"python -S {tmp_path / 'mine.py'}"}).digest() != first
    if LACKING is None:
        with pytest.raises(ScenarioError, match=r"traffic.command: python -S .*mine.py has changed; needs the files"):
            simulate(scenario)


@kernel
def test_other_kernel_version_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(linux_end, "version", lambda: "5.10.1")
        scenario = path({})
        assert scenario.resolved["flows"][0]["traffic"]["version"] == "5.10.1"
    with pytest.raises(ScenarioError, match=r"linux 5\.10\.1; needs a machine with that kernel; this one has 6\."):
        simulate(scenario)


@kernel
def test_a_guest_that_does_not_boot_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(linux_end, "_first_process", lambda: tmp_path / "init")
    with pytest.raises(ScenarioError) as raised:
        simulate(path({}))
    assert 'traffic of flow "flow1": the guest has ended (signal: 6 (SIGABRT)): Kernel panic' in str(raised.value)
    assert "\n" not in str(raised.value)


# Processes


@kernel
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_terminated_run_leaves_no_guest(tmp_path: Path, end: signal.Signals) -> None:
    (file := tmp_path / "long.toml").write_text(path({}, duration="1000 s").to_toml())
    command = [sys.executable, "-m", "longpipe", "run", str(file), "--no-store"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path) as run:
        try:
            # The processes are the kernel, its first process, the sender and the receiver.
            wait(lambda: len(guests(run.pid)) == 4)
            found = guests(run.pid)
            run.send_signal(end)
            assert run.wait(60) != 0
            wait(lambda: not any(map(alive, found)))
        finally:
            run.kill()
    assert [one.name for one in tmp_path.iterdir()] == ["long.toml"]


@kernel
def test_killed_guest_ends_the_run_with_one_line() -> None:
    found: list[psutil.Process] = []

    def kill() -> None:
        wait(lambda: len(guests()) == 4)
        found.extend(guests())
        kernel_of(found).kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RunError) as raised:
        simulate(path({}, duration="1000 s"))
    killer.join()
    assert "flow1: linux 6." in str(raised.value)
    assert "the guest has ended (signal: 9 (SIGKILL))" in str(raised.value)
    wait(lambda: not any(map(alive, found)))


def wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_description_names_the_stack() -> None:
    assert "linux (TCP of user-mode Linux)" in str(Stack.model_fields["stack"].description)


@kernel
def test_linux_ends_work_over_a_starlink_path() -> None:
    example = Scenario.example("starlink")
    result = simulate(
        example.with_(traffic={"kind": "stack", "stack": "linux", "congestion": "cubic"}, duration="2 s"), seed=1
    )
    assert result.total_bps > 1e6
    # The path's own round trip, of which 11 ms lie between server and point of presence.
    assert 0.02 < state(result)["srtt_s"] < 0.3
