"""The hosts at the ends of a live path, as seen by the process that carries the packets."""

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from longpipe.errors import RunError
from longpipe.live.hosts import RealHost
from longpipe.live.outside import RESOLVER

Outside = Literal["here", "there"]

# Time limit for creating and for terminating an end [s].
LONGEST_S: Final = 30.0
GRACE_S: Final = 2.0
_WAYS: Final = (
    "needs one of root, user namespaces (kernel.unprivileged_userns_clone, user.max_user_namespaces) or CAP_SYS_ADMIN"
)


@dataclass
class End:
    """A host's namespaces, and the process that keeps them open."""

    host: RealHost
    process: subprocess.Popen[bytes]
    control: socket.socket
    kind: str
    descriptor: int
    ethernet: bytes | None
    dropped: int = 0
    # TCP connections of the host's programs: see `live.sockets`.
    connections: list[dict[str, Any]] = field(default_factory=list)

    def start(self) -> None:
        """Starts the command."""
        self.control.send(b"1")

    def signal(self, number: int) -> None:
        """Sends a signal to the command."""
        if self.process.poll() is None:
            self.process.send_signal(number)

    def status(self) -> int | None:
        """Returns the command's exit status as in a shell; None while it runs."""
        code = self.process.poll()
        return None if code is None else code if code >= 0 else 128 - code

    def close(self) -> None:
        """Terminates all of the host's processes, first with SIGTERM; this removes the namespaces."""
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(OSError, ValueError):
            self.control.setblocking(False)
            answer = json.loads(self.control.recv(1 << 18))
            self.dropped, self.connections = int(answer["dropped"]), answer["connections"]
        self.control.close()


def open_end(
    host: RealHost,
    others: Sequence[RealHost],
    command: Sequence[str],
    *,
    mtu: int,
    has_ipv6: bool,
    device: str,
    as_user: bool,
    reads: bool,
    outside: Outside | None = None,
) -> End:
    """Creates the namespaces of a host, and runs `command` in them, which controls the terminal if it `reads`.

    `outside` is the default route: "here", "there", or None. Raises RunError if it is not permitted.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - runs this package
            [sys.executable, "-m", "longpipe.live.end", str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            stdin=None if reads else subprocess.DEVNULL,
        )
    wanted = {
        "command": list(command),
        "hosts": [line for real_host in others for line in _lines(real_host, has_ipv6=has_ipv6)],
        "address": host.address,
        "address_6": host.address_6 if has_ipv6 else None,
        "mtu": mtu,
        "device": device,
        "as_user": as_user,
        "outside": outside,
        "others": [other.address for other in others if other is not host],
        "resolver": RESOLVER,
    }
    try:
        ours.settimeout(LONGEST_S)
        ours.send(json.dumps(wanted).encode())
        message, descriptors, _, _ = socket.recv_fds(ours, 1 << 16, 1)
        answer: dict[str, Any] = json.loads(message) if message else {"error": "ended at once", "errno": 0, "what": ""}
        if "error" in answer:
            raise RunError(_refused(host, answer))
        ethernet = answer["ethernet"]
        return End(
            host=host,
            process=process,
            control=ours,
            kind=answer["device"],
            descriptor=descriptors[0],
            ethernet=None if ethernet is None else bytes.fromhex(ethernet.replace(":", "")),
        )
    except BaseException as error:
        process.kill()
        process.wait()
        ours.close()
        if isinstance(error, TimeoutError):
            raise RunError(
                f"live: {host.name} was not ready within {LONGEST_S:g} s; needs a less busy machine"
            ) from None
        raise


def _lines(host: RealHost, *, has_ipv6: bool) -> list[str]:
    lines = [f"{host.address} {host.name}"]
    return [*lines, f"{host.address_6} {host.name}"] if has_ipv6 else lines


def _refused(host: RealHost, answer: dict[str, Any]) -> str:
    what = f" ({answer['what']})" if answer["what"] else ""
    reason = f"live: {host.name}: {answer['error'].lower()}{what}"
    if answer["errno"] in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS):
        return f"{reason}; {_WAYS}"
    return f"{reason}; needs a Linux kernel with network namespaces, and TUN or veth"
