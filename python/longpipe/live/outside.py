"""The way from the far end to the outside: pasta, of Debian's passt, from its namespace to this machine's sockets.

`python -m longpipe.live.outside` keeps it: pasta changes its credentials, and then no longer ends with its parent.
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
# What asks for names there, which pasta takes to the machine's own resolver.
RESOLVER: Final = "10.255.255.253"
LONGEST_S: Final = 20.0
_LOOK_S: Final = 0.05
_QUIET: Final = ("--quiet", "--foreground", "--config-net", "--ipv4-only")
# No port of either side is bound at the other.
_NO_PORTS: Final = ("-t", "none", "-u", "none", "-T", "none", "-U", "none")


def check() -> None:
    """RunError unless pasta is installed."""
    if shutil.which("pasta") is None:
        raise RunError("--outside: pasta is not installed; get it: apt install passt")


def opened(process: int, parent: int) -> subprocess.Popen[str]:
    """Pasta for the network namespace of a process, once it is ready; RunError if it fails."""
    keeper = subprocess.Popen(  # noqa: S603 - this package
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
            raise RunError(f"--outside: pasta: {reason}; needs /dev/net/tun that may be opened, and a default route")
        time.sleep(_LOOK_S)
    close(keeper)
    raise RunError(f"--outside: pasta was not ready within {LONGEST_S:g} s; needs a default route of this machine")


def close(keeper: "subprocess.Popen[str]") -> None:
    """Ends it."""
    keeper.terminate()
    keeper.wait()
    if keeper.stderr is not None:
        keeper.stderr.close()


def _is_ready(process: int) -> bool:
    """Whether the namespace has a way to everywhere."""
    rows = [line.split() for line in Path(f"/proc/{process}/net/route").read_text().splitlines()[1:]]
    return any(row[:2] == [INTERFACE, "00000000"] for row in rows)


def main(process: str, parent: str) -> NoReturn:
    """Runs pasta until told to end, or until the parent is gone."""
    calls.die_with_parent(int(parent), signal.SIGTERM)
    # The namespaces are of this user.
    user = ("--runas", "0") if Path("/proc/self").stat().st_uid == 0 else ()
    words = ["pasta", *_QUIET, *_NO_PORTS, "--ns-ifname", INTERFACE, "--dns-forward", RESOLVER, *user, process]
    with subprocess.Popen(words) as running:  # noqa: S603 - of this machine, by name

        def end(_number: int, _frame: FrameType | None) -> None:
            running.kill()

        signal.signal(signal.SIGTERM, end)
        sys.exit(running.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
