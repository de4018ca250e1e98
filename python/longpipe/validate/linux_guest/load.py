"""The load inside the guest: flows over one path, their TCP_INFO every 100 ms, and what the sender's device sees.

    python -S -m longpipe.validate.linux_guest.load MODULES SHARE

reads SHARE/case.json; writes SHARE/series.csv, SHARE/sender.pcap where asked for and, last, SHARE/result.json.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from longpipe.validate.linux_guest import path, tcpinfo
from longpipe.validate.linux_guest.capture import Capture
from longpipe.validate.linux_guest.losses import Losses

TCP_CONGESTION: Final = 13
PR_SET_TIMERSLACK: Final = 29
# The application writes all that its buffer takes this often [s].
WRITE_S: Final = 0.02
CHUNK: Final = bytes(1 << 16)
MODULES: Final = ("veth", "sch_netem", "sch_tbf", "sch_ingress", "cls_bpf")


class Flow:
    """One connection: its control, when it starts [s], how much it sends [bytes] (None: all it can)."""

    def __init__(self, flow: dict[str, Any]) -> None:
        self.start, self.left = float(flow["start_s"]), flow["bytes"]
        self.size, self.done = self.left, False
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, flow["control"].encode())
        while True:
            try:
                self.socket.connect((path.RECEIVER, path.PORT))
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        self.socket.setblocking(False)

    def write(self, now: float) -> None:
        """Writes until the buffer is full, or all there is; nothing before its start."""
        if now < self.start:
            return
        try:
            while self.left is None or self.left > 0:
                sent = self.socket.send(CHUNK if self.left is None else CHUNK[: self.left])
                if self.left is not None:
                    self.left -= sent
        except BlockingIOError:
            pass


def receive(flows: int) -> None:
    """The receiving application, in a process of its own: takes all at once, to the end."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((path.RECEIVER, path.PORT))
    listening.listen(flows)
    for _ in range(flows):
        connection, _ = listening.accept()
        if os.fork() == 0:
            buffer = bytearray(1 << 20)
            while connection.recv_into(buffer, len(buffer), socket.MSG_TRUNC):
                pass
            os._exit(0)


def run(case: dict[str, Any], share: Path) -> dict[str, Any]:
    """Runs a case; writes the series."""
    losses = Losses(case["lost_packets"]) if case["lost_packets"] else None
    if losses is not None:
        losses.attach("d", "d0")
    capture = Capture("a0", share / "sender.pcap") if case["capture"] else None
    flows = [Flow(flow) for flow in case["flows"]]
    time.sleep(1 + 4 * case["delay_s"])
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    if capture is not None:
        capture.begin(time.clock_gettime(time.CLOCK_REALTIME))
    rows: list[str] = []
    samples = round(case["interval_s"] / WRITE_S)
    for step in range(round(case["duration_s"] / WRITE_S) + 1):
        time.sleep(max(0.0, begin + step * WRITE_S - time.clock_gettime(time.CLOCK_MONOTONIC)))
        if step % samples == 0:
            rows += _sample(flows, step * WRITE_S)
        for flow in flows:
            flow.write(step * WRITE_S)
        if capture is not None:
            capture.drain()
        if all(flow.done for flow in flows):
            break
    told = path.counters() | {"flows": [tcpinfo.read(flow.socket) for flow in flows]}
    if losses is not None:
        told["by_number"] = losses.lost
    if capture is not None:
        capture.close()
    head = ",".join(("time_s", "flow", *tcpinfo.COLUMNS))
    (share / "series.csv").write_text("\n".join([head, *rows]) + "\n")
    return told


def _sample(flows: list[Flow], now: float) -> list[str]:
    """A row of the series for each flow."""
    rows = []
    for number, flow in enumerate(flows):
        told = tcpinfo.read(flow.socket)
        rows.append(f"{now:.2f},{number}," + ",".join(str(told[name]) for name in tcpinfo.COLUMNS))
        # The SYN counts as a byte.
        flow.done = flow.size is not None and told["bytes_acked"] > flow.size
    return rows


def main(modules: Path, share: Path) -> None:
    """One case, from the modules on."""
    case = json.loads((share / "case.json").read_text())
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    controls = {f"tcp_{flow['control']}" for flow in case["flows"]}
    discipline = f"sch_{case['discipline'].split()[0]}"
    path.load_modules(modules, [*MODULES, discipline, *sorted(controls)])
    path.build(case)
    receiver = subprocess.Popen(  # noqa: S603 - in the guest
        ["ip", "netns", "exec", "b", sys.executable, "-S", "-m", __spec__.name, "receive", str(len(case["flows"]))]  # noqa: S607
    )
    told = run(case, share)
    receiver.kill()
    told["kernel"] = os.uname().release
    (share / "result.json").write_text(json.dumps(told))


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
