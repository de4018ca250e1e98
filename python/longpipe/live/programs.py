"""Small programs that measure a path from its ends: `python -m longpipe.live.programs NAME ...` at one of its hosts.

They need only sockets, and print their results.
"""

import contextlib
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_ECHO_REQUEST: Final = 8
# SO_TIMESTAMPNS of socket(7), which reports the time at which the kernel received a packet, as a struct timespec.
_TIMESTAMPS: Final = 35
_CHUNK: Final = 1 << 16
# Format of the datagram's number, with which its payload begins.
_NUMBER: Final = struct.Struct("=I")
# UDP_SEGMENT of udp(7), and the maximum number of segments that every kernel accepts.
_UDP_SEGMENT: Final = 103
_AT_ONCE: Final = 64


def ping(host: str, count: str, interval_s: str) -> None:
    """Prints the RTT [s] of each ICMP echo request that the kernel at the other end answers.

    As in ping(8), the RTT ends when this host's kernel receives the reply, and so excludes the time until this program
    wakes up.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as asking:
        asking.settimeout(10)
        asking.connect((host, 0))
        asking.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        for number in range(int(count)):
            echo = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, 0, number) + bytes(48)
            began_ns = time.time_ns()
            asking.send(echo)
            _, ((_, _, stamp), *_), *_ = asking.recvmsg(1000, 100)
            seconds, rest_ns = struct.unpack("ll", stamp)
            sys.stdout.write(f"{(seconds * 10**9 + rest_ns - began_ns) / 1e9:.9f}\n")
            sys.stdout.flush()
            time.sleep(float(interval_s))


def receive(port: str) -> None:
    """Accepts connections and reads their data, one connection after another, until it is terminated."""
    with socket.create_server(("", int(port))) as server:
        while True:
            connection, _ = server.accept()
            # A sender resets its connection if it is terminated.
            with connection, contextlib.suppress(ConnectionResetError):
                buffer = bytearray(_CHUNK)
                while connection.recv_into(buffer):
                    pass


def send(host: str, port: str, seconds: str, control: str = "") -> None:
    """Sends over TCP for `seconds`; prints the goodput [bit/s] acknowledged by the other end's kernel."""
    with _connected(host, int(port), control) as connection:
        began, chunk = time.monotonic(), bytes(_CHUNK)
        until = began + float(seconds)
        while time.monotonic() < until:
            connection.send(chunk)
        # Field tcpi_bytes_acked of struct tcp_info.
        acked = struct.unpack_from("Q", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 120)[0]
        sys.stdout.write(f"{8 * acked / (time.monotonic() - began):.0f}\n")
        # Discards unsent data.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _connected(host: str, port: int, control: str) -> socket.socket:
    until = time.monotonic() + 20
    while True:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if control:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        try:
            connection.connect((host, port))
        except ConnectionRefusedError:
            connection.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return connection


def flood(host: str, port: str, seconds: str, length: str) -> None:
    """Sends datagrams of `length` bytes as fast as possible; prints their number and the duration [s]."""
    data, sent = bytes(int(length) * _AT_ONCE), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        # The kernel splits the data into datagrams, so one call sends many.
        sending.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, int(length))
        sending.connect((host, int(port)))
        began = time.monotonic()
        until = began + float(seconds)
        while time.monotonic() < until:
            try:
                sent += sending.send(data) // int(length)
            except OSError:
                # There is no receiver yet, or the buffer is full.
                continue
        sys.stdout.write(f"{sent} {time.monotonic() - began:.6f}\n")


def ignore(port: str) -> None:
    """Opens a socket for datagrams without reading them, until it is terminated."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("", int(port)))
        signal.pause()


def talk(host: str, port: str, count: str) -> None:
    """Sends datagrams of several lengths in small bursts, with random numbers seeded by the process ID."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for number in range(int(count)):
            sending.sendto(bytes(1 + (number * 7919 + os.getpid() * 31) % 1400), (host, int(port)))
            if number % 10 == 9:
                time.sleep(0.001)


def schedule(host: str, port: str, folder: str) -> None:
    """Sends the datagrams of the file `datagrams`: each line contains an instant [ns] and a payload length [bytes].

    Each datagram contains its number. Writes the times [ns] at which they were sent to `sent.csv`.
    """
    planned = [tuple(map(int, line.split())) for line in (Path(folder) / "datagrams").read_text().splitlines()]
    sent = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.connect((host, int(port)))
        begin = time.time_ns()
        for number, (at, length) in enumerate(planned):
            time.sleep(max(0, begin + at - time.time_ns()) / 1e9)
            data = _NUMBER.pack(number).ljust(length, b"\0")
            sent.append(time.time_ns())
            sending.send(data)
    (Path(folder) / "sent.csv").write_text("sent_ns\n" + "".join(f"{at}\n" for at in sent))
    # Wait while the last datagrams are on the path.
    time.sleep(1)


def stamp(port: str, folder: str) -> None:
    """Writes each datagram's number and kernel arrival time [ns] to `arrivals.csv` until terminated."""
    with (
        (Path(folder) / "arrivals.csv").open("w", buffering=1) as file,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening,
    ):
        file.write("number,arrived_ns\n")
        listening.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        listening.bind(("", int(port)))
        while True:
            data, ((_, _, when), *_), *_ = listening.recvmsg(_CHUNK, 100)
            seconds, rest_ns = struct.unpack("ll", when)
            file.write(f"{_NUMBER.unpack_from(data)[0]},{seconds * 10**9 + rest_ns}\n")


PROGRAMS: Final[dict[str, Callable[..., None]]] = {
    "flood": flood,
    "ignore": ignore,
    "ping": ping,
    "receive": receive,
    "schedule": schedule,
    "send": send,
    "stamp": stamp,
    "talk": talk,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
