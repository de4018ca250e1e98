"""Runs the load inside the guest: flows over one path, with TCP_INFO every 100 ms and a capture at the sender.

python -S -m longpipe_evidence.validate.linux_guest.load MODULES SHARE

runs one case after another, because a start of the guest takes longer than most cases. It reads SHARE/N/case.json for N
= 0, 1, ..., and writes SHARE/N/series.csv, SHARE/N/sender.pcap if requested and, last, SHARE/N/result.json.
"""

import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from longpipe_evidence.validate.linux_guest import datagrams, path, tcpinfo
from longpipe_evidence.validate.linux_guest.capture import DeviceCapture
from longpipe_evidence.validate.linux_guest.losses import Losses

TCP_CONGESTION: Final = 13
PR_SET_TIMERSLACK: Final = 29
# Interval at which the application fills its buffer [s].
WRITE_S: Final = 0.02
# Minimum time between the last connection and the first write, in seconds and in round trips.
IDLE_S: Final = 1.0
IDLE_ROUND_TRIPS: Final = 2
MAX_FLOWS: Final = 16
CHUNK: Final = bytes(1 << 16)
# Modules whose functions a congestion control uses.
NEEDS: Final = {"tcp_yeah": ("tcp_vegas",)}
MODULES: Final = ("veth", "sch_netem", "sch_tbf", "sch_ingress", "cls_bpf", "cls_matchall", "act_police")


class Flow:
    """One connection: its controller, start time [s], and amount of data [bytes] (None: unlimited)."""

    def __init__(self, flow: dict[str, Any]) -> None:
        self.start, self.left = float(flow["start_s"]), flow["bytes"]
        self.size, self.done = self.left, False
        self.is_bbr = flow["control"] == "bbr"
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, flow["control"].encode())
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["dscp"] << 2)
        while True:
            try:
                self.socket.connect((path.RECEIVER, path.PORT))
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        self.socket.setblocking(False)

    def write(self, now: float) -> None:
        """Writes until the buffer is full or all data is written; writes nothing before the flow's start."""
        if now < self.start:
            return
        try:
            while self.left is None or self.left > 0:
                sent = self.socket.send(CHUNK if self.left is None else CHUNK[: self.left])
                if self.left is not None:
                    self.left -= sent
        except BlockingIOError:
            pass

    def info(self) -> dict[str, int]:
        """Returns the connection's TCP_INFO."""
        return tcpinfo.read(self.socket, bbr=self.is_bbr)

    def abort(self) -> None:
        """Resets the connection, so that none of its data remains in the kernel."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        self.socket.close()


def receive() -> None:
    """Runs the receiving application in its own process; it reads data immediately, until SIGUSR1 or the end."""
    children: dict[int, socket.socket] = {}

    def end(*_: object) -> None:
        for child, connection in children.items():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            connection.close()
        children.clear()

    signal.signal(signal.SIGUSR1, end)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((path.RECEIVER, path.PORT))
    listening.listen(MAX_FLOWS)
    while True:
        connection, _ = listening.accept()
        child = os.fork()
        if child == 0:
            buffer = bytearray(1 << 20)
            while connection.recv_into(buffer, len(buffer), socket.MSG_TRUNC):
                pass
            os._exit(0)
        children[child] = connection


def run(case: dict[str, Any], share: Path) -> dict[str, Any]:
    """Runs a case and writes the series."""
    losses = Losses(case["lost_packets"]) if case["lost_packets"] else None
    if losses is not None:
        losses.attach("d", "d0")
    capture = DeviceCapture("a0", share / "sender.pcap") if case["capture"] else None
    flows = [Flow(flow) for flow in case["flows"]]
    time.sleep(IDLE_S + IDLE_ROUND_TRIPS * 2 * case["delay_s"])
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    if capture is not None:
        capture.begin(time.clock_gettime(time.CLOCK_REALTIME))
    rows: list[str] = []
    samples = round(case["interval_s"] / WRITE_S)
    rates, delays = ({round(at_s / WRITE_S): to for at_s, to in case[name]} for name in ("rates", "delays"))
    for step in range(round(case["duration_s"] / WRITE_S) + 1):
        time.sleep(max(0.0, begin + step * WRITE_S - time.clock_gettime(time.CLOCK_MONOTONIC)))
        _change(case, rates.get(step), delays.get(step))
        if step % samples == 0:
            rows += _sample(flows, step * WRITE_S)
        for flow in flows:
            flow.write(step * WRITE_S)
        if capture is not None:
            capture.drain()
        if all(flow.done for flow in flows):
            break
    counters = _counted(flows, losses)
    if capture is not None:
        capture.close()
    head = ",".join(("time_s", "flow", *tcpinfo.COLUMNS))
    (share / "series.csv").write_text("\n".join([head, *rows]) + "\n")
    for flow in flows:
        flow.abort()
    return counters


def _change(case: dict[str, Any], rate: int | None, delay_s: float | None) -> None:
    """Changes the bottleneck's rate [bit/s] and the path's delay [s], if they are given."""
    if rate is not None:
        path.set_rate(case, rate)
    if delay_s is not None:
        path.set_delay(case, delay_s)


def _counted(flows: list[Flow], losses: Losses | None) -> dict[str, Any]:
    """Returns counters of the queue, the link and each connection."""
    counted = path.counters() | {"flows": [flow.info() for flow in flows]}
    return counted if losses is None else counted | {"by_number": losses.lost}


def _sample(flows: list[Flow], now: float) -> list[str]:
    """Writes a row of the series for each flow."""
    rows = []
    for number, flow in enumerate(flows):
        info = flow.info()
        rows.append(f"{now:.2f},{number}," + ",".join(str(info[name]) for name in tcpinfo.COLUMNS))
        # The SYN counts as one byte.
        flow.done = flow.size is not None and info["bytes_acked"] > flow.size
    return rows


def one(case: dict[str, Any], share: Path, receiver: "subprocess.Popen[bytes]") -> None:
    """Runs a case over the path prepared for it, and writes the results into its folder."""
    counters = run(case, share)
    receiver.send_signal(signal.SIGUSR1)
    _leave(counters, share)


def _leave(message: dict[str, Any], share: Path) -> None:
    """Writes a case's result into its folder, under its final name only once complete."""
    message["kernel"] = os.uname().release
    # The host waits for the file's name, and must not find an incomplete file.
    (share / "written").write_text(json.dumps(message))
    (share / "written").rename(share / "result.json")


def main(modules: Path, share: Path) -> None:
    """Runs every case of the shared folder by number; only the path's settings change between cases."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    receiver, number, device = None, 0, False
    while (file := share / str(number) / "case.json").exists():
        case = json.loads(file.read_text())
        if "datagrams" in case:
            path.load_modules(modules, [*datagrams.MODULES])
            if not device:
                datagrams.build()
                device = True
            _leave(datagrams.run(case, share / str(number)), share / str(number))
            number += 1
            continue
        controls = sorted({f"tcp_{flow['control']}" for flow in case["flows"]})
        needed = [module for control in controls for module in NEEDS.get(control, ())]
        discipline = f"sch_{case['discipline'].split()[0]}"
        path.load_modules(modules, [*MODULES, discipline, *needed, *controls])
        if receiver is None:
            path.build(case)
            receiver = subprocess.Popen(  # noqa: S603 - runs in the guest
                ["ip", "netns", "exec", "b", sys.executable, "-S", "-m", __spec__.name, "receive"]  # noqa: S607
            )
        else:
            path.change(case)
        one(case, share / str(number), receiver)
        number += 1
    if receiver is not None:
        receiver.kill()


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive()
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
