"""Processes with runs in progress: their identity, and whether they are alive."""

import os
import platform
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import psutil

# Time [s] without a heartbeat after which a process is considered dead; a heartbeat is written every third of it.
LEASE_S: Final = 60.0


@cache
def machine() -> str:
    """Returns the scope in which process IDs are comparable: host, boot, and on Linux the PID namespace."""
    start, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    linux = [start.read_text(encoding="ascii").strip(), str(space.stat().st_ino)] if space.exists() else []
    return "/".join((platform.node(), *linux))


@dataclass(frozen=True)
class Owner:
    """Identity of a process, by default this one, for its leases."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    machine: str = field(default_factory=machine)
    pid: int = field(default_factory=os.getpid)
    began: float = field(default_factory=lambda: psutil.Process().create_time())


# Active owners in this process.
_LIVING: Final[set[str]] = set()


def is_dead(owner: Owner, heartbeat: float, now: float) -> bool:
    """Returns whether an owner is dead.

    On this machine its process is checked; otherwise it is dead after `LEASE_S`.
    """
    if owner.machine == machine():
        try:
            process = psutil.Process(owner.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            # The comparison is tolerant, because start times depend on the clock, and reused process IDs are rare.
            if abs(process.create_time() - owner.began) < 1.0:
                return owner.pid == os.getpid() and owner.id not in _LIVING
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            pass
    return now - heartbeat > LEASE_S


class Heartbeat:
    """A thread that writes heartbeats until it is stopped."""

    def __init__(self, owner: Owner, beat: Callable[[], None]) -> None:
        _LIVING.add(owner.id)
        self._owner = owner
        self._beat = beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="longpipe-heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        _LIVING.discard(self._owner.id)
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(LEASE_S / 3):
            self._beat()
