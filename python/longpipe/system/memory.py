"""Memory limit of runs: as requested, or from the available memory, shared by concurrent runs."""

import os
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.units import SIZE

# Results and other processes need some of the available memory.
_SHARE: Final = 0.8
_MIN_BYTES: Final = 10**6
_FRESH_S: Final = 1.0
_CGROUPS: Final = Path("/sys/fs/cgroup")


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_bytes(memory: str | None = None) -> int:
    """Returns a limit in bytes from a text such as "4 GB"; the default is four fifths of the available memory.

    Raises ScenarioError for other text.
    """
    if memory is None:
        return int(_SHARE * available_bytes())
    try:
        limit = SIZE.parse(memory)
    except ValueError as error:
        raise ScenarioError(f"memory: {error}") from None
    if limit < _MIN_BYTES:
        raise ScenarioError(f"memory: {memory}; needs at least {SIZE.format(_MIN_BYTES)}")
    return limit


def available_bytes() -> int:
    """Returns the memory [bytes] available without swapping: the least that the machine, cgroups and rlimit allow."""
    # Cached, because a query takes half a millisecond, as long as a short run.
    return _available(int(time.monotonic() / _FRESH_S))


@lru_cache(maxsize=1)
def _available(_when: int) -> int:
    return max(0, min([_machine(), *_cgroups(), *_own()]))


def _machine() -> int:
    """Returns the machine's memory [bytes] that is available without swapping."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        # Imported here because Linux does not need it.
        import psutil

        try:
            return psutil.virtual_memory().available
        except OSError:  # Linux without /proc, as in a bare chroot
            return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def share(memory: str | None, among: int) -> str:
    """Returns an equal share of the limit for each concurrent run, as text."""
    return SIZE.format(limit_bytes(memory) // among)


def shown(number: int) -> str:
    """Formats a number of bytes, as in '3.2 GB'."""
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"


def _cgroups() -> list[int]:
    """Returns the available memory of each cgroup of this process (Linux, versions 1 and 2)."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    available = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers == "":
            root, limit_file, usage_file = _CGROUPS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit_file, usage_file = _CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            limit, used = _number(folder / limit_file), _number(folder / usage_file)
            if limit is not None and used is not None:
                # File pages of a group are reclaimable.
                available.append(limit - used + _file_pages(folder))
    return available


def _file_pages(group: Path) -> int:
    try:
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) for line in lines if line.split()[0] in ("inactive_file", "total_inactive_file")), 0
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _own() -> list[int]:
    """Returns the bytes that the limit on this process's address space leaves; empty without a limit."""
    if sys.platform == "win32":
        return []
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return []
    import psutil

    return [limit - psutil.Process().memory_info().vms]
