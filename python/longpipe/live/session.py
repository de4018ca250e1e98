"""A live run: ends with their commands, and the thread that carries packets between them."""

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

from longpipe.errors import ScenarioError
from longpipe.live import outside, records
from longpipe.live.carrier import USUAL, Attached, Carrier, Settings
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import Plan
from longpipe.live.spaces import End, open_end

_LOOK_S: Final = 0.02


@dataclass(frozen=True)
class LiveRun:
    """Result of a live run: exit status of the first command, and certificate of the path."""

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
) -> LiveRun:
    """Runs commands, by host, until the first of them ends; calls `progress` about once a second.

    With `to_outside` the last host is connected to the Internet, by pasta and over IPv4.

    Raises ScenarioError for invalid input, and RunError if the machine does not permit the run or fails.
    """
    if not commands:
        raise ScenarioError("--at: no command; needs one at least")
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
        with _signals_passed_on(ends), carrier:
            for end in ends:
                if end is not first:
                    end.start()
            if len(commands) > 1:
                time.sleep(settings.head_start_s)
            first.start()
            _wait(first, carrier, progress)
            status = first.status()
            for end in ends:
                end.close()
        kinds = tuple(f"{end.host.name}: {end.kind}" for end in ends)
        certificate = carrier.certificate(sum(end.dropped for end in ends), kinds, settings.limit_s)
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


def _wait(first: End, carrier: Carrier, progress: Callable[[dict[str, Any]], None] | None) -> None:
    told = time.monotonic()
    while first.status() is None and carrier.is_alive():
        time.sleep(_LOOK_S)
        if progress is not None and time.monotonic() - told >= 1:
            told = time.monotonic()
            progress(carrier.watch.read())


@contextlib.contextmanager
def _signals_passed_on(ends: Sequence[End]) -> Iterator[None]:
    """Context that forwards the first Ctrl-C or SIGTERM to the commands; a second one kills them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        for end in ends:
            end.signal(number if len(seen) == 1 else signal.SIGKILL)

    before = {one: signal.signal(one, pass_on) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
