"""Limits of real programs' connections, and the start of a client after its server listens."""

import json
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from live_programs import live
from longpipe.live.flow_limits import RealFlow, lines
from longpipe.live.real_flows import PathCounts, real_flows
from longpipe.live.sockets import parsed

# A program that sends for two seconds with a given send buffer, and pauses between writes.
SEND = """
import socket, sys, time
s = socket.socket()
if int(sys.argv[3]): s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(sys.argv[3]))
s.connect((sys.argv[1], int(sys.argv[2])))
end = time.monotonic() + 2
while time.monotonic() < end:
    s.sendall(bytes(20000))
    time.sleep(float(sys.argv[4]))
"""
# A program that listens after a second, with a given receive buffer.
RECEIVE = """
import socket, sys, time
time.sleep(1)
s = socket.socket()
if int(sys.argv[2]): s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[2]))
s.bind(("", int(sys.argv[1])))
s.listen()
c, _ = s.accept()
while c.recv(100000): pass
"""


def flow(times_s: dict[str, float], cwnd_bytes: int = 50_000) -> RealFlow:
    counters: dict[str, Any] = {"lasted_s": 10.0, "busy_s": 10.0, "window_s": 0.0, "buffer_s": 0.0, **times_s}
    return RealFlow(
        host="a", port=4000, peer="b", peer_port=80, acked_bytes=10_000_000, retransmitted=3, rtt_s=0.6, cwnd_bytes=cwnd_bytes,
        peer_window_bytes=65_535, send_buffer_bytes=87_040, **counters,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times_s", "limit", "advice"),
    [
        ({"window_s": 9.0}, "window", "raise the third value of net.ipv4.tcp_rmem, or SO_RCVBUF, at b"),
        ({"buffer_s": 6.0}, "send buffer", "raise the third value of net.ipv4.tcp_wmem, or SO_SNDBUF, at a"),
        ({"busy_s": 2.0}, "application", "the program had nothing to send"),
        ({"buffer_s": 3.0}, "congestion", "congestion control set the rate, not a loss, 3 segments retransmitted"),
    ],
)
def test_connection_has_its_longest_limit(times_s: dict[str, float], limit: str, advice: str) -> None:
    found = flow(times_s)
    assert found.limited_by == limit
    assert sum(found.shares.values()) == pytest.approx(1)
    (line,) = lines([found])
    assert line.startswith(f"a:4000 -> b:80: 8 Mbit/s, limited by {limit} ")
    assert line.endswith(advice)


def test_congestion_window_above_another_limit_does_not_limit() -> None:
    assert flow({"buffer_s": 3.0}, cwnd_bytes=90_000).shares["send buffer"] == 1
    # Linux 6.18 counts nothing for CUBIC in congestion avoidance, whose window exceeds the buffer all the time.
    assert flow({}, cwnd_bytes=90_000).shares["send buffer"] == 1
    assert flow({"window_s": 3.0}, cwnd_bytes=70_000).shares["window"] == 1


def test_send_buffer_limits_only_if_a_larger_one_helps() -> None:
    """Over 600 ms and 50 Mbit/s, slow start takes 4.8 s and sends 3.75 MB, and the rest 5.2 s."""
    geo = replace(flow({"buffer_s": 9.6}), retransmitted=0, path_bps=50e6, acked_bytes=36_000_000)
    assert geo.possible_bps == pytest.approx(8 * 36e6 / (4.8 + 0.3 + 5.2 + 0.6), rel=0.01)
    assert geo.limited_by == "slow start"
    assert str(geo).endswith(
        "limited by slow start in 10.0 s; the run is too short for the round trip, 0 segments retransmitted"
    )
    assert replace(geo, acked_bytes=20_000_000).limited_by == "send buffer"
    assert replace(geo, path_limit="link").limited_by == "link"


def test_slow_start_limits_a_short_transfer_over_geo() -> None:
    """Measured with Linux 6.18: 4 MB took 5.75 s with a send buffer of 4 MiB, and 5.74 s with one of 64 MiB.

    20 MB took 9.49 s and 8.49 s.
    """
    counters = {"lasted_s": 5.749, "busy_s": 5.648, "buffer_s": 0.0}
    short = replace(flow(counters), retransmitted=0, path_bps=50e6, acked_bytes=4_000_000, cwnd_bytes=3_792_312)
    short = replace(short, send_buffer_bytes=3_684_096)
    assert short.limited_by == "slow start"
    long = replace(short, lasted_s=9.494, busy_s=9.36, acked_bytes=20_000_000)
    assert replace(long, cwnd_bytes=6_023_680, send_buffer_bytes=4_194_304).limited_by == "send buffer"


def test_kernel_counters_are_read_at_their_offsets() -> None:
    """The layout of `inet_diag_msg` and `tcp_info` is that of <linux/inet_diag.h> and <linux/tcp.h> of Linux 6.1."""
    info = bytearray(232)
    for offset, value in ((16, 1448), (68, 600_000), (80, 100), (100, 7), (228, 65_535)):
        struct.pack_into("=I", info, offset, value)
    for offset, value in ((120, 5_000_000), (168, 9_000_000), (176, 1_000_000), (184, 2_000_000)):
        struct.pack_into("=Q", info, offset, value)
    ends = struct.pack("!HH", 4000, 80) + bytes([10, 0, 0, 1]) + bytes(12) + bytes([10, 0, 0, 7]) + bytes(12)
    head = (bytes([2, 1, 0, 0]) + ends).ljust(72, b"\0")
    memory = struct.pack("=9I", *range(100, 109))
    content = head + struct.pack("=HH", 4 + len(info), 2) + info + struct.pack("=HH", 4 + len(memory), 7) + memory
    found = parsed(bytes(content))
    assert found == {
        "port": 4000, "peer": "10.0.0.7", "peer_port": 80, "acked_bytes": 5_000_000, "retransmitted": 7, "rtt_s": 0.6,
        "cwnd_bytes": 144_800, "peer_window_bytes": 65_535, "send_buffer_bytes": 103, "busy_s": 9.0, "window_s": 1.0,
        "buffer_s": 2.0,
    }  # fmt: skip
    hosts, names = {"a": [{**found, "lasted_s": 10.0}]}, {"10.0.0.1": "a", "10.0.0.7": "b"}
    (one,) = real_flows(hosts, names, [])
    assert (one.peer, one.limited_by, one.acked_bytes, one.lasted_s) == ("b", "send buffer", 5_000_000, 10.0)
    assert one.retransmitted == 7
    (one,) = real_flows(hosts, names, [PathCounts("10.0.0.1", 4000, "10.0.0.7", 80, 5_400_000, 10.2, 9)])
    assert (one.acked_bytes, one.lasted_s, one.retransmitted) == (5_400_000, 10.2, 9)
    assert parsed(bytes(content[:100])) is None


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("buffers", "pause", "limit"),
    [((20_000, 0), 0, "send buffer"), ((0, 4000), 0, "window"), ((0, 0), 0.7, "application")],
)
def test_timing_report_states_limits_of_real_connections(
    idle: str, tmp_path: Path, buffers: tuple[int, int], pause: float, limit: str
) -> None:
    report = tmp_path / "report.json"
    for name, code in (("send.py", SEND), ("receive.py", RECEIVE)):
        (tmp_path / name).write_text(code)
    python = f"{sys.executable} {tmp_path}"
    # Without waiting, the client would connect at once, but the server listens only after a second.
    done = live(
        idle, "--alone", "--set", "network.trunk_delay=50 ms", "--json", str(report), "--wait-for", "sink1:5000",
        "--at", "source1", f"{python}/send.py sink1 5000 {buffers[0]} {pause}",
        "--at", "sink1", f"{python}/receive.py 5000 {buffers[1]}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = [one for one in json.loads(report.read_text())["flows"] if one["host"] == "source1"]
    assert (found["peer"], found["peer_port"], found["limited_by"]) == ("sink1", 5000, limit)
    assert f"limited by {limit}" in done.stderr


# A server that sends two megabytes and closes the connection at once, and a client that reads them.
GIVE = """
import socket, sys, time
s = socket.socket()
s.bind(("", int(sys.argv[1])))
s.listen()
c, _ = s.accept()
c.sendall(bytes(2_000_000))
c.close()
time.sleep(60)
"""
TAKE = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(sum(len(part) for part in iter(lambda: s.recv(100_000), b"")))
"""


@pytest.mark.usefixtures("namespaces")
def test_data_are_counted_after_the_program_has_closed(idle: str, tmp_path: Path) -> None:
    """The kernel's counters lack what happened after the latest reading."""
    report = tmp_path / "report.json"
    for name, code in (("give.py", GIVE), ("take.py", TAKE)):
        (tmp_path / name).write_text(code)
    python = f"{sys.executable} {tmp_path}"
    done = live(
        idle, "--alone", "--set", "network.trunk_delay=150 ms", "--set", "network.trunk_rate=4 Mbit/s",
        "--set", "network.trunk_loss={kind='packets', indices=[1200, 1300, 1320]}",
        "--json", str(report), "--wait-for", "source1:5000",
        "--at", "sink1", f"{python}/take.py source1 5000", "--at", "source1", f"{python}/give.py 5000",
    )  # fmt: skip
    assert done.stdout == "2000000\n"
    (found,) = [one for one in json.loads(report.read_text())["flows"] if one["host"] == "source1"]
    assert found["acked_bytes"] == 2_000_000
    # The buffer holds all data, and the last of 1370 segments are sent after the program has closed the connection.
    assert found["retransmitted"] == 3


@pytest.mark.usefixtures("namespaces")
def test_a_wait_is_reported_and_ends(idle: str) -> None:
    done = live(
        idle, "--wait-for", "sink1:5000", "--wait-at-most", "1500 ms",
        "--at", "source1", "true", "--at", "sink1", "sleep 20",
    )  # fmt: skip
    assert done.returncode == 1
    assert "live: waiting until a program at sink1 listens on port 5000, for at most 1.5 s" in done.stderr
    assert (
        "--wait-for: no program listens on port 5000 of sink1 after 1.5 s; needs another port, or a longer"
        in done.stderr
    )


@pytest.mark.usefixtures("namespaces")
def test_a_server_that_ends_is_not_waited_for(idle: str) -> None:
    done = live(idle, "--wait-for", "sink1:5000", "--at", "source1", "true", "--at", "sink1", "exit 3")
    assert done.returncode == 1
    assert "--wait-for: the command at sink1 ended, status 3, before port 5000\n" in done.stderr
    done = live(idle, "--wait-for", "sink1:5000", "--at", "source1", "true", "--at", "sink1", "true")
    assert "ended, status 0, before port 5000; a server needs to run in the foreground, as nginx with" in done.stderr
