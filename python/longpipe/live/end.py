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

# Exit statuses of a shell for commands that do not exist or cannot be run.
NOT_FOUND, NOT_EXECUTABLE = 127, 126
# Candidate mount points of a temporary file system in memory; the first existing folder is used.
MOUNT_POINTS: Final = ("/run", "/mnt", "/tmp")  # noqa: S108 - a mount of this namespace alone
# Files of host names and name servers, which each end replaces.
HOSTS: Final = "/etc/hosts"
RESOLVERS: Final = "/etc/resolv.conf"
# Signals that are passed to the command.
FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NAMESPACES: Final = calls.NEW_NETWORK | calls.NEW_MOUNTS | calls.NEW_PROCESSES


def main(number: str, parent: str) -> NoReturn:
    """Creates an end, and runs its command, as requested over the socket with this descriptor."""
    calls.die_with_parent(int(parent))
    with socket.socket(fileno=int(number)) as control:
        request: dict[str, Any] = json.loads(control.recv(1 << 20))
        try:
            host_device = _create(request)
        except OSError as error:
            failure = {"error": error.strerror or str(error), "errno": error.errno, "what": error.filename or ""}
            control.send(json.dumps(failure).encode())
            sys.exit(1)
        calls.die_with_parent(int(parent))
        message = {"device": host_device.kind, "ethernet": host_device.ethernet}
        socket.send_fds(control, [json.dumps(message).encode()], [host_device.descriptor])
        os.close(host_device.descriptor)
        try:
            if not control.recv(1):
                sys.exit(1)
        except KeyboardInterrupt:
            # Ctrl-C came before the command started.
            sys.exit(128 + signal.SIGINT)
        control.setblocking(True)
        sys.exit(_run(request["command"], control))


def _create(request: dict[str, Any]) -> device.Device:
    """Creates the namespaces, the host's files and its network device. Returns the device."""
    _own_namespaces(as_user=request["as_user"])
    calls.mount("none", "/", "none", calls.RECURSIVE | calls.PRIVATE)
    with _folder_in_memory() as folder:
        if folder is not None:
            _mount_over(HOSTS, folder, Path(HOSTS).read_text(encoding="utf-8") + "\n".join(request["hosts"]) + "\n")
            if request["outside"] == "there":
                _mount_over(RESOLVERS, folder, f"nameserver {request['resolver']}\n")
    host_device = device.open_device(request["device"], request["mtu"])
    device.configure(request["mtu"], request["address"], request["address_6"], request["outside"], request["others"])
    # All users may use ping.
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 2147483647")
    return host_device


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
def _folder_in_memory() -> Iterator[Path | None]:
    """Yields a temporary folder in memory, or None if it cannot be mounted.

    Files in it that are mounted elsewhere persist.
    """
    mount_point = str(next((folder for folder in MOUNT_POINTS if Path(folder).is_dir()), None))
    try:
        calls.mount("longpipe", mount_point, "tmpfs")
    except OSError:
        yield None
        return
    yield Path(mount_point)
    calls.unmount(mount_point)


def _mount_over(file: str, folder: Path, text: str) -> None:
    """Replaces the machine's `file`, in this namespace, by a file with this text, which it creates in `folder`.

    Ignores failure, because names are optional.
    """
    with contextlib.suppress(OSError):
        replacement = folder / Path(file).name
        replacement.write_text(text, encoding="utf-8")
        calls.mount(str(replacement), str(Path(file).resolve()), "none", calls.BIND)


def _run(command: list[str], control: socket.socket) -> int:
    """Runs the command in a PID namespace, where the end of the first process kills all others. Returns its status."""
    # The command mounts the /proc of its own PID namespace, to which this process does not belong.
    with Path(device.COUNTERS).open(encoding="ascii") as counters:
        return _run_in_child(command, control, counters)


def _run_in_child(command: list[str], control: socket.socket, counters: TextIO) -> int:
    """Runs the command in a child process, samples its sockets, and sends the samples and `counters` to the parent."""
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
        report = {"dropped": device.drops_of_queue(counters), "connections": sampler.connections()}
        control.send(json.dumps(report).encode())
    return _code(status)


def _first_process(command: list[str]) -> int:
    """Runs the command, if any, and reaps orphans. Returns the command's status."""
    if not command:
        # The kernel delivers a signal to the first process of a namespace only if the process handles or blocks it.
        signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        signal.sigwait(FORWARDED)
        return 0
    child = os.fork()
    if child == 0:
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
    _forward(child)
    while True:
        ended, status = os.wait()
        if ended == child:
            return _code(status)


def _forward(process: int) -> None:
    """Passes signals that would end this process to the process with this ID instead."""

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
