"""Transfers data between both ends of aioquic over UDP sockets of the loopback interface, in real time.

One thread runs both ends, like `benches/loopback.c` for stacks that are objects. benches/more_stacks.py runs it. Prints
the number of packets that the sender sent and the CPU time [s].

    .venv/bin/python benches/loopback.py BYTES
"""

import runpy
import select
import socket
import sys
import time
from pathlib import Path
from typing import Final

from longpipe.end import End, Setup

FILE: Final = Path(__file__).parent.parent / "integrations" / "stacks" / "aioquic_end.py"
MOST_BYTES: Final = 1452
BUFFER_BYTES: Final = 4 << 20
PS_PER_NS: Final = 1000
# Longest time without a look at the ends [s].
CHECKED_S: Final = 0.01


def serve(end: End, own: socket.socket, now: int) -> None:
    """Lets an end receive what has arrived and act, if there is anything to do."""
    arrived = False
    while True:
        try:
            payload = own.recv(1 << 16)
        except BlockingIOError:
            break
        arrived = True
        end.receive(now, payload, 0)
    due = end.due()
    if arrived or (due is not None and due <= now):
        for datagram in end.wake(now):
            own.send(datagram.payload)


def main() -> None:
    """Transfers the data."""
    make = runpy.run_path(str(FILE))["Aioquic"]
    setups = [Setup(sends, seed, 0, MOST_BYTES, {"size": sys.argv[1]}) for seed, sends in ((1, True), (2, False))]
    ends: list[End] = [make(setup) for setup in setups]
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in ends]
    for own in sockets:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        own.bind(("127.0.0.1", 0))
        own.setblocking(False)
    for own, other in zip(sockets, reversed(sockets), strict=True):
        own.connect(other.getsockname())
    begin, cpu_s = time.monotonic_ns(), time.process_time()
    while ends[1].report().completed_ps is None:
        now = (time.monotonic_ns() - begin) * PS_PER_NS
        for end, own in zip(ends, sockets, strict=True):
            serve(end, own, now)
        due = min((time_ps for end in ends if (time_ps := end.due()) is not None), default=now)
        select.select(sockets, [], [], min(CHECKED_S, max(0.0, (due - now) / 1e12)))
    print(ends[0].report().sent_packets, time.process_time() - cpu_s)  # noqa: T201


if __name__ == "__main__":
    main()
