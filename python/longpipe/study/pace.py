"""Speed at which a process finishes runs."""

import math
import time
from collections.abc import Callable
from typing import Final

# Time constant [s] with which earlier runs lose their weight.
MEMORY_S: Final = 3.0


class Pace:
    """The estimated work (`design.cost`) of runs that end per second, from recent runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since_s = clock()
        self._work = self._seconds = 0.0

    def ended(self, work: float) -> None:
        """Adds the work of runs that have ended now."""
        now_s = self._clock()
        passed_s, self._since_s = now_s - self._since_s, now_s
        kept = math.exp(-passed_s / MEMORY_S)
        self._work = kept * self._work + work
        self._seconds = kept * self._seconds + passed_s

    def work_in(self, seconds: float) -> float:
        """Returns the work that is expected to end within some time; 0 before the first run has ended."""
        return self._work / self._seconds * seconds if self._seconds else 0.0
