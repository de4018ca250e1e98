"""Budget of an `Advice`: a time or a number of runs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from longpipe.errors import ScenarioError

_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0}
_BUDGET: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|runs?)")


class SpentError(Exception):
    """Raised when the time limit has passed, to end the runs in progress."""


@dataclass
class Budget:
    """At most `seconds` of time or `runs` runs, counted from its creation; runs read from the store also count.

    With a number of runs, the answer does not depend on the machine; with a time, the number of replications may differ
    each time.
    """

    text: str = ""
    seconds: float = float("inf")
    runs: float = float("inf")
    # A factory is used because Sphinx would link a function as class attribute to a source page that does not exist.
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)

    def __post_init__(self) -> None:
        self._began_s = self.clock()

    @classmethod
    def parse(cls, text: str | None) -> Budget:
        """Parses "10 min" or "2000 runs"; raises ScenarioError."""
        if text is None:
            return cls()
        match = _BUDGET.fullmatch(text.strip())
        if match is None or not float(match[1]) > 0:
            raise ScenarioError(
                f"--budget: {text!r}; accepts a time or a number of runs, as in '10 min' or '2000 runs'"
            )
        amount, unit = float(match[1]), match[2]
        return cls(text, runs=amount) if unit.startswith("run") else cls(text, seconds=amount * _SECONDS[unit])

    @property
    def elapsed_s(self) -> float:
        """Time since the creation [s]."""
        return self.clock() - self._began_s

    @property
    def left_s(self) -> float:
        """Time until the limit [s]; 0 if it has passed, infinite without a time limit."""
        return max(0.0, self.seconds - self.elapsed_s)

    def check(self) -> None:
        """Raises SpentError if the time limit has passed."""
        if self.elapsed_s > self.seconds:
            raise SpentError
