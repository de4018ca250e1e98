"""CPU time that its host took from a virtual machine (steal time)."""

import contextlib
import os
from pathlib import Path
from typing import Final

# "cpu", then ticks of all processors: user, nice, system, idle, iowait, irq, softirq, steal, ... (proc_stat(5)).
STATISTICS: Final = Path("/proc/stat")
_STEAL: Final = 8


def stolen_s(statistics: Path = STATISTICS) -> float | None:
    """Returns the total steal time [s] of all processors since boot; None if it is not counted."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(statistics.read_text().split("\n", 1)[0].split()[_STEAL]) / os.sysconf("SC_CLK_TCK")
    return None


def stolen_since(before_s: float | None, statistics: Path = STATISTICS) -> float | None:
    """Returns the increase [s] of the steal time since it was `before_s`."""
    now_s = stolen_s(statistics)
    return None if before_s is None or now_s is None else now_s - before_s


def shown(taken_s: float | None, elapsed_s: float) -> str:
    """Returns a clause about the steal time, or an empty string if there was none."""
    if not taken_s or elapsed_s <= 0:
        return ""
    return f"; the host took {taken_s * 1e3:.0f} ms of their time, {100 * taken_s / elapsed_s:.1f} % of one"
