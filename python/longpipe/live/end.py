"""One end of the path: a process that creates a host's namespaces, sends its device to the parent, and runs a command.

`longpipe.live.spaces` starts `python -m longpipe.live.end` and controls it over a socket. The namespaces live as long
as their processes, which the kernel kills when the process that started them ends.
"""

import contextlib
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn, TextIO

from longpipe.live import calls, device, sockets

NOT_FOUND, NOT_EXECUTABLE = 127, 126
# Mount point of a temporary file system in memory.
PLACES: Final = ("/run", "/mnt", "/tmp")  # noqa: S108 - a mount of this namespace alone
HOSTS: Final = "/etc/hosts"
RESOLVERS: Final = "/etc/resolv.conf"
FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NAMESPACES: Final = calls.NEW_NETWORK | calls.NEW_MOUNTS | calls.NEW_PROCESSES


def main(number: str, parent: str) -> NoReturn:
    """Creates an end, and runs its command, as requested over the socket with this descriptor."""
    calls.die_with_parent(int(parent))
    with socket.socket(fileno=int(number)) as control:
        wanted: dict[str, Any] = json.loads(control.recv(1 << 20))
        try:
            made = _made(wanted)
        except OSError as error:
            said = {"error": error.strerror or str(error), "errno": error.errno, "what": error.filename or ""}
            control.send(json.dumps(said).encode())
            sys.exit(1)
        calls.die_with_parent(int(parent))
        message = {"device": made.kind, "ethernet": made.ethernet}
        socket.send_fds(control, [json.dumps(message).encode()], [made.descriptor])
        os.close(made.descriptor)
        try:
            if not control.recv(1):
                sys.exit(1)
        except KeyboardInterrupt:
            # Ctrl-C came before the command started.
            sys.exit(128 + signal.SIGINT)
        control.setblocking(True)
        sys.exit(_run(wanted["command"], control))


def _made(request: dict[str, Any]) -> device.Device:
    _own_namespaces(as_user=request["as_user"])
    calls.mount("none", "/", "none", calls.RECURSIVE | calls.PRIVATE)
    with _in_memory() as place:
        if place is not None:
            _put_over(HOSTS, place, Path(HOSTS).read_text(encoding="utf-8") + "\n".join(request["hosts"]) + "\n")
            if request["outside"] == "there":
                _put_over(RESOLVERS, place, f"nameserver {request['resolver']}\n")
    made = device.opened(request["device"], request["mtu"])
    device.configure(request["mtu"], request["address"], request["address_6"], request["outside"], request["others"])
    # All users may use ping.
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 2147483647")
    return made


def _own_namespaces(*, as_user: bool) -> None:
    """Creates namespaces for this process, as root or within a user namespace."""
    if not as_user:
        try:
            return calls.unshare(_NAMESPACES)
        except PermissionError:
            pass
    user, group = os.geteuid(), os.getegid()
    calls.unshare(_NAMESPACES | calls.NEW_USER)
    # Only the current user is mapped, to the same user ID.
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return None


@contextlib.contextmanager
def _in_memory() -> Iterator[Path | None]:
    """Yields a temporary folder in memory, or None if it cannot be mounted.

    Files in it that are mounted elsewhere persist.
    """
    place = next((place for place in PLACES if Path(place).is_dir()), None)
    try:
        calls.mount("longpipe", str(place), "tmpfs")
    except OSError:
        yield None
        return
    yield Path(str(place))
    calls.unmount(str(place))


def _put_over(file: str, place: Path, text: str) -> None:
    """Mounts a file over one of the machine's files, in this namespace; ignores failure, because names are optional."""
    with contextlib.suppress(OSError):
        made = place / Path(file).name
        made.write_text(text, encoding="utf-8")
        calls.mount(str(made), str(Path(file).resolve()), "none", calls.BIND)


def _run(command: list[str], control: socket.socket) -> int:
    """Runs the command in a PID namespace, where the end of the first process kills all others. Returns its status."""
    # The command mounts the /proc of its own PID namespace, to which this process does not belong.
    with Path(device.COUNTERS).open(encoding="ascii") as counters:
        return _run_in_child(command, control, counters)


def _run_in_child(command: list[str], control: socket.socket, counters: TextIO) -> int:
    child = os.fork()
    if child == 0:
        control.close()
        # 0, because the parent is in another PID namespace.
        calls.die_with_parent(0)
        with contextlib.suppress(OSError):
            calls.mount("proc", "/proc", "proc")
        os._exit(_first_process(command))
    _forward(child)
    # SIGCHLD is blocked, so that `sigtimedwait` reports it even if the child ends while the sockets are sampled.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    with sockets.Sampler() as sampler:
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            sampler.sample()
            signal.sigtimedwait([signal.SIGCHLD], sockets.APART_S)
    status = ended[1]
    with contextlib.suppress(OSError):
        said = {"dropped": device.dropped(counters), "connections": sampler.connections()}
        control.send(json.dumps(said).encode())
    return _code(status)


def _first_process(command: list[str]) -> int:
    """Runs the command, if any, and reaps orphans. Returns the command's status."""
    if not command:
        # The kernel delivers a signal to the first process of a namespace only if the process handles or blocks it.
        signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        signal.sigwait(FORWARDED)
        return 0
    runs = os.fork()
    if runs == 0:
        for signal_number in FORWARDED:
            signal.signal(signal_number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            os.execvp(command[0], command)  # noqa: S606 - the user's own command
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            sys.stderr.write(f"longpipe live: {command[0]}: cannot be run, {reason}\n")
            sys.stderr.flush()
            os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)
    _forward(runs)
    while True:
        ended, status = os.wait()
        if ended == runs:
            return _code(status)


def _forward(process: int) -> None:
    def pass_on(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    for signal_number in FORWARDED:
        signal.signal(signal_number, pass_on)


def _code(status: int) -> int:
    """Returns an exit status as a shell does: 128 plus the signal's number if a signal ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main(*sys.argv[1:])
