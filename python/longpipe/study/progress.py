"""Progress of a campaign."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """Numbers of runs: `wanted` in total, `stored` before the start, and `done` and `failed` since then.

    `worked` and `left` are the work of the runs that have ended since the start and of the remaining ones, by
    `design.cost` [s]; both are 0 if they are not known. During `waited_s` [s], no run was executed: workers started, or
    other processes had claimed all runs. `executing` is the number of runs in progress, 0 if unknown. `bound`
    says whether `wanted` is exact (""), or "about", "at least" or "at most" the number of runs. `spread` contains the
    factors from `left` to the ends of its probable range, if decisions during the campaign determine the number of
    runs. A limit ends the runs after `limit_s` [s].
    """

    wanted: int
    stored: int
    done: int = 0
    failed: int = 0
    worked: float = field(default=0.0, compare=False)
    left: float = field(default=0.0, compare=False)
    bound: str = field(default="", compare=False)
    spread: tuple[float, float] = field(default=(1.0, 1.0), compare=False)
    limit_s: float = field(default=math.inf, compare=False)
    waited_s: float = field(default=0.0, compare=False)
    executing: int = field(default=0, compare=False)

    @property
    def ended(self) -> int:
        """Number of runs that need no further work."""
        return self.stored + self.done + self.failed


def ignore(_: Progress) -> None:
    """Ignores progress; the default callback."""
