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
    processes = []
    while process > 1:
        process = int((_PROCESSES / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
        processes.append(process)
    return processes


def namespaces_below(process: int) -> set[str]:
    """Returns the namespaces of a process's descendants, as `net:[4026532000]`, without those of this process."""
    own_spaces = _namespaces(_PROCESSES / "self")
    below: set[str] = set()
    for folder in _processes():
        with contextlib.suppress(OSError, IndexError):
            if process in ancestors(int(folder.name)):
                below |= _namespaces(folder)
    return below - own_spaces


def _namespaces(folder: Path) -> set[str]:
    names = set()
    for kind in _KINDS:
        with contextlib.suppress(OSError):
            names.add((folder / "ns" / kind).readlink().name)
    return names


def held(namespaces: Set[str]) -> set[str]:
    """Returns the given namespaces that a process, a descriptor or a mount still uses."""
    used: set[str] = set()
    for folder in _processes():
        used |= _namespaces(folder) & namespaces
        with contextlib.suppress(OSError):
            used |= {file.readlink().name for file in (folder / "fd").iterdir()} & namespaces
        with contextlib.suppress(OSError):
            mounted = (folder / "mountinfo").read_text(errors="replace").split()
            used |= set(mounted) & namespaces
    return used


def processes_with(words: Set[str]) -> set[int]:
    """Returns the processes whose command line contains one of the words."""
    processes = set()
    for folder in _processes():
        with contextlib.suppress(OSError):
            text = (folder / "cmdline").read_text(errors="replace")
            if any(word in text for word in words):
                processes.add(int(folder.name))
    return processes


def interfaces() -> set[str]:
    """Returns the network interfaces of this process's namespace."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}
