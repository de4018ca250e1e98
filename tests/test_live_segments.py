"""Segmentation and checksum offload: the kernel at the other end accepts all packets."""

import hashlib
import platform
from itertools import product
from pathlib import Path

import pytest

from live_programs import counted, python
from longpipe.live.measures import path
from thorough import one_in

_TOGETHER = tuple(int(part) for part in platform.release().split(".")[:2]) >= (6, 2) and Path("/dev/net/tun").exists()

SEND = """
import hashlib, socket, sys
address = socket.getaddrinfo("sink1", 5000, socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET)[0]
data = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(50000))
with socket.socket(address[0], socket.SOCK_STREAM) as s:
    s.connect(address[4])
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    print(s.recv(4000).decode(), end="")
"""
TAKE = """
import hashlib, pathlib, socket, sys
server = socket.create_server(("", 5000), family=socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET)
s = server.accept()[0]
found = hashlib.sha256()
while data := s.recv(1 << 20):
    found.update(data)
names, values = [line.split()[1:] for line in pathlib.Path("/proc/net/snmp").read_text().splitlines() if line[:4] == "Tcp:"]
s.sendall((found.hexdigest() + " " + dict(zip(names, values))["InCsumErrors"]).encode())
s.close()
"""
LENGTHS = """
import socket, sys, time
s = socket.socket(socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 700)  # UDP_SEGMENT
s.bind(("", 5001))
s.settimeout(20)
for n in range(5):
    s.sendto(bytes([n]) * 10000, ("sink1", 5000))
time.sleep(0.5)
s.sendto(b"end", ("sink1", 5000))
print(s.recv(4000).decode(), end="")
"""
HEAR = """
import socket, sys
s = socket.socket(socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
s.settimeout(20)
found = []
while True:
    data, who = s.recvfrom(70000)
    if data == b"end":
        break
    found.append((len(data), data == data[:1] * len(data)))
s.sendto(f"{found.count((700, True))} {found.count((200, True))} {len(found)}".encode(), who)
"""

NUMBERED = """
import socket, sys, time
s = socket.socket(socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET, socket.SOCK_DGRAM)
s.connect(socket.getaddrinfo("b", 5000, s.family, s.type)[0][4])
s.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
for burst in range(20):
    s.send(b"".join(b"%050d" % (30 * burst + n) * 2 for n in range(30)))
    time.sleep(0.02)
print(s.recv(4000).decode(), end="")
"""
COUNT = """
import socket, struct, sys
s = socket.socket(socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 104, int(sys.argv[2]))  # UDP_GRO
s.bind(("", 5000))
s.settimeout(20)
found, together = [], 0
while len(found) < 600:
    data, said, _, who = s.recvmsg(70000, 100)
    size = struct.unpack("i", said[0][2])[0] if said else len(data)
    together += len(data) > size
    found += [data[at : at + size] for at in range(0, len(data), size)]
s.sendto(f"{found == [b'%050d' % n * 2 for n in range(600)]} {together > 0}".encode(), who)
"""


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("version", ["4", "6"])
def test_tcp_segments_arrive_complete_with_right_checksums(idle: str, tmp_path: Path, version: str) -> None:
    found = counted(
        tmp_path, idle, "--alone",
        "--at", "source1", f"{python(tmp_path, 'send', SEND)} {version}",
        "--at", "sink1", f"{python(tmp_path, 'take', TAKE)} {version}",
    )  # fmt: skip
    data = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(50000))
    assert found["stdout"].split() == [hashlib.sha256(data).hexdigest(), "0"]
    # 1.6 MB are sent in packets of the permitted length, few of which are sent twice.
    assert 1_600_000 / 1448 < found["entered"] < 4 * 1_600_000 / 1448
    assert (found["unfit"], found["overrun"], found["refused"]) == (0, 0, 0)


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("version", one_in(2, ["6", "4"]))
def test_datagrams_sent_together_arrive_one_by_one(idle: str, tmp_path: Path, version: str) -> None:
    found = counted(
        tmp_path, idle, "--alone",
        "--at", "source1", f"{python(tmp_path, 'lengths', LENGTHS)} {version}",
        "--at", "sink1", f"{python(tmp_path, 'hear', HEAR)} {version}",
    )  # fmt: skip
    # 10 000 bytes are sent as 14 datagrams of 700 bytes and one of 200.
    assert found["stdout"].split() == ["70", "5", "75"]
    assert found["unfit"] == 0


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(("takes_many", "version"), one_in(3, list(product([False, True], ["4", "6"]))))
def test_datagrams_sent_together_are_received_joined_on_request(tmp_path: Path, version: str, takes_many: bool) -> None:
    file = tmp_path / "fast.toml"
    file.write_text(path("10 Gbit/s", "1 ms").to_toml())
    found = counted(
        tmp_path, str(file), "--alone",
        "--at", "a", f"{python(tmp_path, 'numbered', NUMBERED)} {version}",
        "--at", "b", f"{python(tmp_path, 'count', COUNT)} {version} {takes_many:d}",
    )  # fmt: skip
    # All datagrams arrive in order and complete; a program that accepts several at once gets them together, if the
    # kernel supports this (since 6.2).
    whole, together = found["stdout"].split()
    assert whole == "True"
    assert together == str(takes_many) or not _TOGETHER
    assert (found["unfit"], found["refused"]) == (0, 0)
