"""Processes with runs in flight: who they are, and whether they still live."""

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

# A process that has not been heard of for so long is taken for dead [s]; it gives a sign of life each third of that.
LEASE_S: Final = 60.0


@cache
def machine() -> str:
    """What tells processes whose numbers can be compared: host, its start, and on Linux the space of the numbers."""
    start, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    linux = [start.read_text(encoding="ascii").strip(), str(space.stat().st_ino)] if space.exists() else []
    return "/".join((platform.node(), *linux))


@dataclass(frozen=True)
class Owner:
    """A process, by default this one, as its leases name it."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    machine: str = field(default_factory=machine)
    pid: int = field(default_factory=os.getpid)
    began: float = field(default_factory=lambda: psutil.Process().create_time())


# Owners of this process that have not ended.
_LIVING: Final[set[str]] = set()


def is_dead(owner: Owner, heartbeat: float, now: float) -> bool:
    """Whether an owner is gone: at once if its process was of this machine and ended, otherwise after `LEASE_S`."""
    if owner.machine == machine():
        try:
            process = psutil.Process(owner.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            # The time at which a process began moves with the clock; another process with its number is rare.
            if abs(process.create_time() - owner.began) < 1.0:
                return owner.pid == os.getpid() and owner.id not in _LIVING
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            pass
    return now - heartbeat > LEASE_S


class Heartbeat:
    """A thread that gives signs of life until it is stopped."""

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
