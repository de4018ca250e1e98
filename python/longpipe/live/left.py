"""Finds processes and namespaces of a run that still exist."""

import contextlib
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final

_KINDS: Final = ("net", "mnt", "pid", "user")
_PROCESSES: Final = Path("/proc")


def _processes() -> Iterator[Path]:
    return (folder for folder in _PROCESSES.iterdir() if folder.name.isdigit())


def ancestors(process: int) -> list[int]:
    """Returns the ancestors of a process, starting with its parent."""
    found = []
    while process > 1:
        process = int((_PROCESSES / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
        found.append(process)
    return found


def namespaces_below(process: int) -> set[str]:
    """Returns the namespaces of a process's descendants, as `net:[4026532000]`, without those of this process."""
    own = _namespaces(_PROCESSES / "self")
    found: set[str] = set()
    for folder in _processes():
        with contextlib.suppress(OSError, IndexError):
            if process in ancestors(int(folder.name)):
                found |= _namespaces(folder)
    return found - own


def _namespaces(folder: Path) -> set[str]:
    found = set()
    for kind in _KINDS:
        with contextlib.suppress(OSError):
            found.add((folder / "ns" / kind).readlink().name)
    return found


def held(namespaces: Set[str]) -> set[str]:
    """Returns the given namespaces that a process, a descriptor or a mount still uses."""
    found: set[str] = set()
    for folder in _processes():
        found |= _namespaces(folder) & namespaces
        with contextlib.suppress(OSError):
            found |= {file.readlink().name for file in (folder / "fd").iterdir()} & namespaces
        with contextlib.suppress(OSError):
            mounted = (folder / "mountinfo").read_text(errors="replace").split()
            found |= set(mounted) & namespaces
    return found


def processes_with(words: Set[str]) -> set[int]:
    """Returns the processes whose command line contains one of the words."""
    found = set()
    for folder in _processes():
        with contextlib.suppress(OSError):
            text = (folder / "cmdline").read_text(errors="replace")
            if any(word in text for word in words):
                found.add(int(folder.name))
    return found


def interfaces() -> set[str]:
    """Returns the network interfaces of this process's namespace."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}
