"""Programs for live paths, and the command that runs them."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

# A path with a delay of 10 ms in each direction and without other traffic.
IDLE = """
schema = 1
duration = "1 s"
framing = "ip"
[network]
kind = "dumbbell"
sources = 2
access_rate = "1 Gbit/s"
trunk_rate = "100 Mbit/s"
access_delay = "1 ms"
trunk_delay = "8 ms"
exit_delay = "1 ms"
[switch]
buffer = "1000 packets"
[tcp]
mss = "1460 B"
"""
SERVE = """
import socket, sys
s = socket.socket(socket.AF_INET6 if sys.argv[2:] else socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", int(sys.argv[1])))
while True:
    data, who = s.recvfrom(70000)
    s.sendto(data, who)
"""
ASK = """
import socket, sys, time
family = socket.AF_INET6 if len(sys.argv) > 4 else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.settimeout(20)
to = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), family)[0][4]
for n in range(int(sys.argv[3])):
    began = time.monotonic()
    s.sendto(b"x" * 100, to)
    s.recv(1000)
    print(time.monotonic() - began)
"""


@cache
def refused() -> str | None:
    """Returns the reason why namespaces cannot be created here; None if they can."""
    code = "from longpipe.live import calls; calls.unshare(calls.NEW_USER | calls.NEW_NETWORK)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def live(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "longpipe", "live", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def python(tmp_path: Path, name: str, code: str) -> str:
    """Returns the shell command for a Python program."""
    file = tmp_path / f"{name}.py"
    file.write_text(code)
    return f"{sys.executable} {file}"


def counted(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Returns the certificate of a successful run."""
    file = tmp_path / "certificate.json"
    done = live("--json", str(file), *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(file.read_text())
    return {**found, "stdout": done.stdout, "stderr": done.stderr}
