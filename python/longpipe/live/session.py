"""A live run: the hosts at the path's ends with their commands, and the thread that carries packets between them."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

from longpipe.errors import RunError, ScenarioError
from longpipe.live import outside, records, sockets
from longpipe.live.carrier import USUAL, Attached, Carrier, Settings
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import Plan
from longpipe.live.real_flows import real_flows, with_path
from longpipe.live.spaces import End, open_end
from longpipe.live.utc import wait_until
from longpipe.live.waiting import LONGEST_WAIT_S
from longpipe.run import check_seed

_LOOK_S: Final = 0.02
# Time [s] after which waiting until a program listens is reported.
_SILENT_S: Final = 1.0
# A server that starts a daemon and exits is not a process of the host any more.
_DAEMON: Final = "; a server needs to run in the foreground, as nginx with -g 'daemon off;'"


@dataclass(frozen=True)
class LiveRun:
    """Result of a live run: the first command's exit status, and the path's certificate."""

    status: int
    certificate: Certificate


def run(
    plan: Plan,
    commands: Mapping[str, Sequence[str]],
    *,
    seed: int = 1,
    settings: Settings = USUAL,
    record: Path | None = None,
    capture: Path | None = None,
    alone: bool = False,
    to_outside: bool = False,
    progress: Callable[[dict[str, Any]], None] | None = None,
    wait_for: tuple[str, int] | None = None,
    longest_wait_s: float = LONGEST_WAIT_S,
    tell: Callable[[str], None] = lambda line: None,
    longest_s: float | None = None,
) -> LiveRun:
    """Runs commands, by host, until the first of them ends; calls `progress` about once a second.

    `progress` receives the counters of the path at the time `elapsed_s`; `delivered_bytes` holds the bytes that the
    path delivered to each host by then.

    The first command starts half a second after the others, or once a program at the host of `wait_for` listens on its
    port. The run waits for that at most `longest_wait_s`; `tell` is called with a line if it takes longer than a
    second, and with another one when the program listens. After `longest_s` the first command is terminated.

    With `to_outside`, pasta connects the last host to the Internet over IPv4.

    Raises ScenarioError for invalid input, and RunError if the machine does not permit the run or fails.
    """
    if not commands:
        raise ScenarioError("--at: no command; needs at least one")
    check_seed(seed)
    records.check_places(record, capture)
    if to_outside:
        outside.check()
        # pasta cannot enter a namespace that root owns.
        settings = replace(settings, as_user=True)
    with contextlib.ExitStack() as stack:
        ends = _open(stack, plan, commands, settings, to_outside=to_outside)
        if record is not None:
            records.begin(record, plan, seed, alone=alone)
        attached = [_attached(plan, end) for end in ends]
        carrier = Carrier(plan, attached, seed, settings, (record, capture), to_outside=to_outside)
        first = next(end for end in ends if end.host.name == next(iter(commands)))
        with _signals_passed_on(ends), contextlib.ExitStack() as carried:
            if not settings.begins_with_program:
                wait_until(settings.begins_at_s, tell)
                carried.enter_context(carrier)
            _start_others(ends, first, settings.head_start_s if len(commands) > 1 and wait_for is None else 0.0)
            if wait_for is not None:
                server = next(end for end in ends if end.host.name == wait_for[0])
                _wait_for(server, wait_for[1], first, carrier, longest_wait_s, tell)
            if settings.begins_with_program:
                carried.enter_context(carrier)
            # A signal may have ended the first end before its command starts.
            with contextlib.suppress(ConnectionError):
                first.start()
            _wait(first, ends, carrier, progress, longest_s)
            status = first.status()
            for end in ends:
                end.close()
            if status is None:
                # The command was terminated after `longest_s`.
                status = first.status()
        kinds = tuple(f"{end.host.name}: {end.kind}" for end in ends)
        names = {address: end.host.name for end in ends for address in (end.host.address, end.host.address_6)}
        connections = {end.host.name: end.connections for end in ends}
        flows = real_flows(connections, names, carrier.connections())
        certificate = carrier.certificate(sum(end.dropped for end in ends), kinds)
        flows = with_path(flows, plan, certificate.ports, certificate.elapsed_s)
        certificate = replace(certificate, flows=flows)
    return LiveRun(1 if status is None else status, certificate)


def _attached(plan: Plan, end: End) -> Attached:
    addresses = [end.host.address, *([end.host.address_6] if plan.has_ipv6 else [])]
    return Attached(addresses, end.kind, end.descriptor, end.ethernet)


def _open(
    stack: contextlib.ExitStack,
    plan: Plan,
    commands: Mapping[str, Sequence[str]],
    settings: Settings,
    *,
    to_outside: bool,
) -> list[End]:
    """Opens the end of each real host, and closes all of them with `stack`."""
    ends = []
    for host in plan.hosts:
        end = open_end(
            host,
            plan.hosts,
            commands.get(host.name, ()),
            mtu=plan.mtu,
            has_ipv6=plan.has_ipv6,
            device=settings.device,
            as_user=settings.as_user,
            reads=host.name == next(iter(commands)),
            outside=None if not to_outside else "here" if host is plan.hosts[-1] else "there",
        )
        stack.callback(end.close)
        ends.append(end)
    if to_outside:
        stack.callback(outside.close, outside.opened(ends[-1].process.pid, os.getpid()))
    return ends


def _start_others(ends: Sequence[End], first: End, head_start_s: float) -> None:
    """Starts the commands of all ends but the first, and gives them a head start."""
    for end in ends:
        if end is not first:
            end.start()
    time.sleep(head_start_s)


def _wait_for(end: End, port: int, first: End, carrier: Carrier, longest_s: float, tell: Callable[[str], None]) -> None:
    """Waits until a program at this host listens; raises RunError if it ends or takes too long.

    Returns early if a signal ends the first end, or if the carrier ends, whose certificate then raises the error.
    """
    began_s = time.monotonic()
    until_s, is_announced = began_s + longest_s, False
    while not sockets.listens(end.process.pid, port):
        if first.status() is not None or carrier.has_ended():
            return
        if not is_announced and time.monotonic() - began_s >= _SILENT_S:
            is_announced = True
            tell(f"waiting until a program at {end.host.name} listens on port {port}, for at most {longest_s:g} s")
        if (status := end.status()) is not None:
            raise RunError(
                f"--wait-for: the command at {end.host.name} ended, status {status}, before port {port}"
                f"{'' if status else _DAEMON}"
            )
        if time.monotonic() > until_s:
            raise RunError(
                f"--wait-for: no program listens on port {port} of {end.host.name} after {longest_s:g} s; "
                "needs another port, or a longer --wait-at-most"
            )
        time.sleep(_LOOK_S)
    if is_announced:
        tell(f"port {port} of {end.host.name} is open after {time.monotonic() - began_s:.1f} s")


def _wait(
    first: End,
    ends: Sequence[End],
    carrier: Carrier,
    progress: Callable[[dict[str, Any]], None] | None,
    longest_s: float | None,
) -> None:
    """Waits until the first command ends, the carrier fails, or `longest_s` have passed; reports progress."""
    began = reported = time.monotonic()
    while first.status() is None and carrier.is_alive():
        time.sleep(_LOOK_S)
        if longest_s is not None and time.monotonic() - began >= longest_s:
            return
        if progress is not None and time.monotonic() - reported >= 1:
            reported = time.monotonic()
            progress(carrier.counters())


@contextlib.contextmanager
def _signals_passed_on(ends: Sequence[End]) -> Iterator[None]:
    """Context manager that forwards the first Ctrl-C or SIGTERM to the commands; a second one kills them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        for end in ends:
            end.signal(number if len(seen) == 1 else signal.SIGKILL)

    before = {
        signal_number: signal.signal(signal_number, pass_on)
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
