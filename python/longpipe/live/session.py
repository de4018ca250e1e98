"""A live run: the ends with their commands, and the thread that carries packets between them in time with the clock."""

import contextlib
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal

from longpipe import _core
from longpipe.errors import RunError, ScenarioError
from longpipe.live import calls, records
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import Plan
from longpipe.live.spaces import End, open_end

Way = Literal["any", "tun", "packet"]

# Real-time priority of the thread that carries packets: before all that has none.
PRIORITY: Final = 10
_LOOK_S: Final = 0.02
_PACKET_LEVEL: Final = 263
_PACKET_STATISTICS: Final = 6


@dataclass(frozen=True)
class Settings:
    """How the machine carries the packets."""

    # "tun", "packet" (AF_PACKET over a veth pair), or the first that works.
    device: Way = "any"
    # In a user namespace even where root needs none.
    as_user: bool = False
    # How long the clock is looked at rather than slept for.
    spin_s: float = 50e-6
    # What is later counts as late.
    limit_s: float = 1e-3
    # By SCHED_FIFO, if that is permitted.
    real_time: bool = True
    # What all commands but the first have of a start.
    head_start_s: float = 0.5


@dataclass(frozen=True)
class LiveRun:
    """A live run that is over: the first command's exit status, and what the path can vouch for."""

    status: int
    certificate: Certificate


def run(
    plan: Plan,
    commands: Mapping[str, Sequence[str]],
    *,
    seed: int = 1,
    settings: Settings = Settings(),
    record: Path | None = None,
    capture: Path | None = None,
    alone: bool = False,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> LiveRun:
    """Runs commands, by host, until the first of them ends; `progress` hears about once a second how it goes.

    Raises ScenarioError for input that can't be run, and RunError where the machine does not permit it or fails.
    """
    if not commands:
        raise ScenarioError("--at: no command; needs one at least")
    with contextlib.ExitStack() as stack:
        ends = _open(stack, plan, commands, settings)
        if record is not None:
            records.begin(record, plan, seed, alone=alone)
        carrier = _Carrier(plan, ends, seed, settings, (record, capture))
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
        found = carrier.result()
    overrun = sum(end.dropped for end in ends) + carrier.overrun
    kinds = tuple(f"{end.host.name}: {end.kind}" for end in ends)
    machine: dict[str, Any] = {"overrun": overrun, "priority": carrier.priority, "devices": kinds}
    certificate = Certificate(**found, **machine, limit_s=settings.limit_s)
    return LiveRun(1 if status is None else status, certificate)


def _open(
    stack: contextlib.ExitStack, plan: Plan, commands: Mapping[str, Sequence[str]], settings: Settings
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
        )
        stack.callback(end.close)
        ends.append(end)
    return ends


def _wait(first: End, carrier: "_Carrier", progress: Callable[[dict[str, Any]], None] | None) -> None:
    told = time.monotonic()
    while first.status() is None and carrier.is_alive():
        time.sleep(_LOOK_S)
        if progress is not None and time.monotonic() - told >= 1:
            told = time.monotonic()
            progress(carrier.watch.read())


@contextlib.contextmanager
def _signals_passed_on(ends: Sequence[End]) -> Iterator[None]:
    """Ctrl-C and SIGTERM go to the commands, a second time to none: then all is killed."""
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


class _Carrier:
    """The thread that carries packets, from `with` to its end."""

    def __init__(
        self, plan: Plan, ends: Sequence[End], seed: int, settings: Settings, files: tuple[Path | None, Path | None]
    ) -> None:
        self.watch = _core.LiveWatch()
        self.priority = "ordinary priority, as asked"
        self.overrun = 0
        self._plan, self._seed, self._settings = plan, seed, settings
        # The record, and the capture.
        self._files = [None if file is None else str(file) for file in files]
        self._result: dict[str, Any] | None = None
        self._error: BaseException | None = None
        # To ask packet sockets what they have dropped.
        self._sockets = [socket.socket(fileno=os.dup(end.descriptor)) for end in ends if end.kind == "packet"]
        hosts = []
        for end in ends:
            addresses = [end.host.address, *([end.host.address_6] if plan.has_ipv6 else [])]
            hosts.append((addresses, end.descriptor, end.ethernet))
        self._hosts = hosts
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._carry, name="longpipe-live", daemon=True)

    def __enter__(self) -> "_Carrier":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._stopped)
        self._thread.join()
        for one in self._sockets:
            _, dropped = struct.unpack("II", one.getsockopt(_PACKET_LEVEL, _PACKET_STATISTICS, 8))
            self.overrun += dropped
            one.close()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def result(self) -> dict[str, Any]:
        if isinstance(self._error, _core.ScenarioError):
            raise ScenarioError(str(self._error)) from None
        if isinstance(self._error, OSError):
            raise RunError(f"live: {(self._error.strerror or str(self._error)).lower()}") from None
        if self._error is not None or self._result is None:
            raise RunError(f"live: {self._error}; a defect of longpipe")
        found = dict(self._result)
        del found["flows_delivered_bytes"]
        return found

    def _carry(self) -> None:
        try:
            self._hurry()
            settings = self._settings
            self._result = _core.live_run(
                self._plan.resolved_json,
                self._seed,
                self._hosts,
                self._plan.ways,
                self._plan.mtu,
                (round(settings.spin_s * 1e9), round(settings.limit_s * 1e9)),
                self._stop,
                self.watch,
                *self._files,
            )
        except BaseException as error:
            self._error = error

    def _hurry(self) -> None:
        """Real-time priority for this thread alone, and timers without slack."""
        calls.wake_in_time()
        if self._settings.real_time:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
                self.priority = f"real-time priority {PRIORITY} (SCHED_FIFO)"
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                self.priority = f"no real-time priority, {reason}: needs root, CAP_SYS_NICE or ulimit -r {PRIORITY}"
