"""Time in which tasks of this machine waited for a processor, which delays the programs on a path."""

import contextlib
import re
from pathlib import Path
from typing import Final

# Pressure stall information: the total time [us] in which some task waited for a processor.
PRESSURE: Final = Path("/proc/pressure/cpu")
_SOME: Final = re.compile(r"^some .*total=(\d+)", re.MULTILINE)
# Share of the time above which programs may have been delayed noticeably.
_NOTABLE: Final = 0.01


def waited_s(pressure: Path = PRESSURE) -> float | None:
    """Returns the total time [s] since boot in which some task waited for a processor; None if it is not counted."""
    with contextlib.suppress(OSError):
        if (match := _SOME.search(pressure.read_text())) is not None:
            return int(match[1]) / 1e6
    return None


def waited_since(before_s: float | None, pressure: Path = PRESSURE) -> float | None:
    """Returns the increase [s] of the time since it was `before_s`."""
    now_s = waited_s(pressure)
    return None if before_s is None or now_s is None else now_s - before_s


def shown(time_s: float | None, elapsed_s: float) -> str | None:
    """Returns a line if tasks waited for more than 1 % of the elapsed time, which delays programs; None otherwise."""
    if time_s is None or elapsed_s <= 0 or time_s <= _NOTABLE * elapsed_s:
        return None
    percent = min(100.0, 100 * time_s / elapsed_s)
    return (
        f"tasks of this machine waited for a processor {percent:.0f} % of the time; programs may have been slower than "
        f"on an idle machine"
    )
