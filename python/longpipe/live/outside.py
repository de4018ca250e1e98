"""Connects the far end to the Internet through pasta (Debian package passt), over this machine's sockets.

`python -m longpipe.live.outside` supervises pasta, so that pasta ends with the run: when a process changes its
credentials, as pasta does, the kernel cancels its termination at the end of its parent.
"""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from longpipe.errors import RunError
from longpipe.live import calls

INTERFACE: Final = "out0"
# Address of the resolver in the namespace; pasta forwards queries to the machine's own resolver.
RESOLVER: Final = "10.255.255.253"
# Time within which pasta must be ready, and interval at which this is checked [s].
READY_S: Final = 20.0
_POLL_S: Final = 0.05
_QUIET: Final = ("--quiet", "--foreground", "--config-net", "--ipv4-only")
# Options of pasta: no ports are forwarded.
_NO_PORTS: Final = ("-t", "none", "-u", "none", "-T", "none", "-U", "none")


def check() -> None:
    """Raises RunError unless pasta is installed."""
    if shutil.which("pasta") is None:
        raise RunError("--outside: pasta is not installed; get it: apt install passt")


def opened(process: int, parent: int) -> subprocess.Popen[str]:
    """Starts pasta for the network namespace of the process `process`, and waits until it is ready.

    Returns its supervisor, which ends when the process `parent` ends. Raises RunError if pasta fails.
    """
    supervisor = subprocess.Popen(  # noqa: S603 - runs this package
        [sys.executable, "-m", "longpipe.live.outside", str(process), str(parent)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if _is_ready(process):
            return supervisor
        if supervisor.poll() is not None:
            output = supervisor.stderr.read() if supervisor.stderr else ""
            lines = [line for line in output.splitlines() if "syslog" not in line]
            reason = lines[-1] if lines else "ended at once"
            raise RunError(f"--outside: pasta: {reason}; needs access to /dev/net/tun, and a default route")
        time.sleep(_POLL_S)
    close(supervisor)
    raise RunError(f"--outside: pasta was not ready within {READY_S:g} s; needs a default route of this machine")


def close(supervisor: "subprocess.Popen[str]") -> None:
    """Ends pasta and its supervisor."""
    supervisor.terminate()
    supervisor.wait()
    if supervisor.stderr is not None:
        supervisor.stderr.close()


def _is_ready(process: int) -> bool:
    """Returns whether the namespace has a default route through pasta's interface."""
    rows = [line.split() for line in Path(f"/proc/{process}/net/route").read_text().splitlines()[1:]]
    return any(row[:2] == [INTERFACE, "00000000"] for row in rows)


def main(process: str, parent: str) -> NoReturn:
    """Runs pasta until this process is terminated or the parent has ended."""
    calls.die_with_parent(int(parent), signal.SIGTERM)
    # By default pasta changes from root to an unprivileged user, who may not enter root's namespaces.
    user = ("--runas", "0") if Path("/proc/self").stat().st_uid == 0 else ()
    command = ["pasta", *_QUIET, *_NO_PORTS, "--ns-ifname", INTERFACE, "--dns-forward", RESOLVER, *user, process]
    with subprocess.Popen(command) as pasta:  # noqa: S603 - a program of this machine, found by name

        def end(_number: int, _frame: FrameType | None) -> None:
            pasta.kill()

        signal.signal(signal.SIGTERM, end)
        sys.exit(pasta.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
