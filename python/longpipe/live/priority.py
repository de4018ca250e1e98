"""Real-time priority of a thread."""

import os
from dataclasses import dataclass
from typing import Final

from longpipe.live import calls

PRIORITY: Final = 10


@dataclass(frozen=True)
class Priority:
    """Whether the thread has real-time priority, and an explanation."""

    is_real_time: bool
    text: str


def hurry(*, wanted: bool) -> Priority:
    """Sets real-time priority for this thread only, if that is permitted, and removes its timer slack."""
    calls.wake_in_time()
    if not wanted:
        return Priority(is_real_time=False, text="ordinary priority, as requested")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        text = f"no real-time priority, {reason}: needs root, CAP_SYS_NICE or ulimit -r {PRIORITY}"
        return Priority(is_real_time=False, text=text)
    return Priority(is_real_time=True, text=f"real-time priority {PRIORITY} (SCHED_FIFO)")
