"""The time for which the host of a virtual machine ran others while a processor of this one had something to do."""

import contextlib
import os
from pathlib import Path
from typing import Final

# "cpu", then ticks of all processors: user, nice, system, idle, iowait, irq, softirq, steal, ... (proc_stat(5)).
STATISTICS: Final = Path("/proc/stat")
_STEAL: Final = 8


def stolen_s(statistics: Path = STATISTICS) -> float | None:
    """Since the machine began, of all processors together [s]; None where it isn't counted."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(statistics.read_text().split("\n", 1)[0].split()[_STEAL]) / os.sysconf("SC_CLK_TCK")
    return None


def taken_since(before_s: float | None, statistics: Path = STATISTICS) -> float | None:
    """What was taken since `stolen_s` was that [s]."""
    now_s = stolen_s(statistics)
    return None if before_s is None or now_s is None else now_s - before_s


def shown(taken_s: float | None, elapsed_s: float) -> str:
    """In words, after others; none where nothing was taken."""
    if not taken_s or elapsed_s <= 0:
        return ""
    return f"; the host took {taken_s * 1e3:.0f} ms of their time, {100 * taken_s / elapsed_s:.1f} % of one"
