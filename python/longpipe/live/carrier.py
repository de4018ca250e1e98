"""Carries packets between devices in real time: a thread that runs the core's path, and its counters."""

import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from longpipe import _core
from longpipe.errors import RunError, ScenarioError
from longpipe.live.awake import Awake
from longpipe.live.certificate import Certificate
from longpipe.live.device import drops_of_socket
from longpipe.live.flow_limits import RealFlow
from longpipe.live.hosts import Plan
from longpipe.live.priority import hurry
from longpipe.live.real_flows import PathCounts
from longpipe.live.starved import waited_s, waited_since
from longpipe.live.stolen import stolen_s, stolen_since
from longpipe.run import control_error, register_classes

DeviceKind = Literal["any", "tun", "packet"]


@dataclass(frozen=True)
class Settings:
    """Settings of the thread, and of the devices and programs of a live run."""

    # "tun", "packet" (AF_PACKET over a veth pair), or "any" for the first that works.
    device: DeviceKind = "any"
    # Use a user namespace even as root.
    as_user: bool = False
    # Time for which the thread spins instead of sleeping [s].
    spin_s: float = 50e-6
    # Lateness [s] above which packets count as late, and the share of the packets that may be late.
    limit_s: float = 1e-3
    late_share: float = 0.0
    # Use SCHED_FIFO if it is permitted.
    real_time: bool = True
    # Keep processors from halting if it is permitted.
    awake: bool = True
    # Head start [s] of the other commands over the first one.
    head_start_s: float = 0.5
    # Whether the path's time begins when the first program starts, and not when longpipe is ready to carry packets.
    begins_with_program: bool = False
    # Unix time [s] at which the path's time begins; None for as soon as possible.
    begins_at_s: float | None = None


USUAL: Final = Settings()


@dataclass(frozen=True)
class Attached:
    """A host's device: its addresses, kind ("tun" or "packet"), descriptor, and the Ethernet address at its far end."""

    addresses: Sequence[str]
    kind: str
    descriptor: int
    ethernet: bytes | None


class Carrier:
    """Context manager that runs a thread that carries packets."""

    def __init__(
        self,
        plan: Plan,
        attached: Sequence[Attached],
        seed: int,
        settings: Settings,
        files: tuple[Path | None, Path | None] = (None, None),
        *,
        to_outside: bool = False,
    ) -> None:
        """Prepares the thread, which runs within the context.

        `files` are the files of the link log and of the capture, None without one. With `to_outside`, packets to
        unknown addresses go to the last host.
        """
        # Counters that the thread updates.
        self.watch = _core.LiveWatch()
        # Number of packets that packet sockets dropped.
        self.overrun = 0
        # Description of the thread's scheduling priority.
        self._priority = ""
        self._awake = Awake(wanted=settings.awake)
        # Time [s] that the hypervisor had stolen from the machine before the run, and that it stole during the run;
        # None if it is unknown.
        self._stolen_before_s: float | None = None
        self._stolen_s: float | None = None
        self._plan, self._seed, self._settings = plan, seed, settings
        register_classes(plan.scenario)
        record, capture = files
        self._record = None if record is None else str(record)
        # A capture contains one interface per host.
        self._capture = None if capture is None else (str(capture), [host.name for host in plan.hosts])
        self._result: dict[str, Any] | None = None
        self._error: BaseException | None = None
        # Kept to query the number of packets that the packet sockets dropped.
        self._sockets = [
            socket.socket(fileno=os.dup(device.descriptor)) for device in attached if device.kind == "packet"
        ]
        self._outside = len(attached) - 1 if to_outside else None
        self._hosts = [(device.addresses, device.descriptor, device.ethernet) for device in attached]
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._carry, name="longpipe-live", daemon=True)

    def __enter__(self) -> "Carrier":
        self._awake.__enter__()
        self._stolen_before_s, self._waiting_s = stolen_s(), waited_s()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._stopped)
        self._thread.join()
        self._stolen_s, self._waited_s = stolen_since(self._stolen_before_s), waited_since(self._waiting_s)
        self._awake.__exit__()
        for device_socket in self._sockets:
            self.overrun += drops_of_socket(device_socket)
            device_socket.close()

    def has_ended(self) -> bool:
        """Returns whether the thread was started and has ended, for example because of an error."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def is_alive(self) -> bool:
        """Returns whether the thread is running."""
        return self._thread.is_alive()

    def certificate(self, overrun: int, devices: tuple[str, ...], flows: tuple[RealFlow, ...] = ()) -> Certificate:
        """Returns the counters of the ended thread, and the packets that devices dropped before they were read."""
        machine: dict[str, Any] = {
            "overrun": overrun + self.overrun,
            "priority": self._priority,
            "halting": self._awake.text,
            "stolen_s": self._stolen_s,
            "waited_s": self._waited_s,
            "devices": devices,
            "flows": flows,
        }
        self._check()
        counted = {
            name: value for name, value in (self._result or {}).items() if name in Certificate.__dataclass_fields__
        }
        return Certificate(**counted, **machine, limit_s=self._settings.limit_s, late_share=self._settings.late_share)

    def connections(self) -> list[PathCounts]:
        """Returns the counts of TCP connections whose packets were carried; raises the error that ended the thread."""
        self._check()
        return [PathCounts(*counts) for counts in (self._result or {})["connections"]]

    def counters(self) -> dict[str, Any]:
        """Returns the present counters of the path; `delivered_bytes` has the bytes delivered to each host, by name."""
        counters_now = self.watch.read()
        by_host = counters_now["delivered_bytes"] or [0] * len(self._plan.hosts)
        names = [host.name for host in self._plan.hosts]
        return {**counters_now, "delivered_bytes": dict(zip(names, by_host, strict=True))}

    def _check(self) -> None:
        """Raises the error that ended the thread, if any, in one line."""
        if isinstance(self._error, _core.ScenarioError):
            raise ScenarioError(str(self._error)) from None
        if isinstance(self._error, _core.ControlError):
            raise control_error(self._error) from None
        if isinstance(self._error, OSError):
            raise RunError(f"live: {(self._error.strerror or str(self._error)).lower()}") from None
        if self._error is not None or self._result is None:
            raise RunError(f"live: {self._error}; a defect of longpipe")

    def _carry(self) -> None:
        """Runs the live path until the context ends; the target of the thread."""
        try:
            settings = self._settings
            priority = hurry(wanted=settings.real_time)
            self._priority = priority.text
            self._result = _core.live_run(
                self._plan.resolved_json,
                self._seed,
                self._hosts,
                self._plan.ways,
                self._plan.mtu,
                (round(settings.spin_s * 1e9), round(settings.limit_s * 1e9), priority.is_real_time, self._outside),
                self._stop,
                self.watch,
                self._record,
                self._capture,
            )
        except BaseException as error:
            self._error = error
