"""Connects the far end to the Internet through pasta (Debian package passt), over this machine's sockets.

`python -m longpipe.live.outside` supervises pasta, which changes its credentials and is therefore no longer terminated
when its parent ends.
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
LONGEST_S: Final = 20.0
_LOOK_S: Final = 0.05
_QUIET: Final = ("--quiet", "--foreground", "--config-net", "--ipv4-only")
# Options of pasta: no ports are forwarded.
_NO_PORTS: Final = ("-t", "none", "-u", "none", "-T", "none", "-U", "none")


def check() -> None:
    """Raises RunError unless pasta is installed."""
    if shutil.which("pasta") is None:
        raise RunError("--outside: pasta is not installed; get it: apt install passt")


def opened(process: int, parent: int) -> subprocess.Popen[str]:
    """Starts pasta for a process's network namespace, and waits until it is ready. Raises RunError if it fails."""
    keeper = subprocess.Popen(  # noqa: S603 - runs this package
        [sys.executable, "-m", "longpipe.live.outside", str(process), str(parent)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        if _is_ready(process):
            return keeper
        if keeper.poll() is not None:
            said = keeper.stderr.read() if keeper.stderr else ""
            lines = [line for line in said.splitlines() if "syslog" not in line]
            reason = lines[-1] if lines else "ended at once"
            raise RunError(f"--outside: pasta: {reason}; needs access to /dev/net/tun, and a default route")
        time.sleep(_LOOK_S)
    close(keeper)
    raise RunError(f"--outside: pasta was not ready within {LONGEST_S:g} s; needs a default route of this machine")


def close(keeper: "subprocess.Popen[str]") -> None:
    """Ends pasta and its supervisor."""
    keeper.terminate()
    keeper.wait()
    if keeper.stderr is not None:
        keeper.stderr.close()


def _is_ready(process: int) -> bool:
    """Returns whether the namespace has a default route."""
    rows = [line.split() for line in Path(f"/proc/{process}/net/route").read_text().splitlines()[1:]]
    return any(row[:2] == [INTERFACE, "00000000"] for row in rows)


def main(process: str, parent: str) -> NoReturn:
    """Runs pasta until this process is terminated or the parent has ended."""
    calls.die_with_parent(int(parent), signal.SIGTERM)
    # By default pasta changes from root to an unprivileged user, who may not enter root's namespaces.
    user = ("--runas", "0") if Path("/proc/self").stat().st_uid == 0 else ()
    words = ["pasta", *_QUIET, *_NO_PORTS, "--ns-ifname", INTERFACE, "--dns-forward", RESOLVER, *user, process]
    with subprocess.Popen(words) as running:  # noqa: S603 - a program of this machine, found by name

        def end(_number: int, _frame: FrameType | None) -> None:
            running.kill()

        signal.signal(signal.SIGTERM, end)
        sys.exit(running.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
