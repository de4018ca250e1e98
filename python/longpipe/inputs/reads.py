"""The names of the input files that this process has read, and the number of reads."""

from __future__ import annotations

from pathlib import Path

_names: set[str] = set()
_count = 0


def note(file: str | Path) -> None:
    """Records that a file is read."""
    global _count
    _names.add(str(file))
    _count += 1


def count() -> int:
    """Returns the number of reads. It is larger after a computation that depends on a file than before it."""
    return _count


def is_read(name: str) -> bool:
    """Returns whether this process has read a file with this name."""
    return name in _names
