"""Progress of a campaign."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Numbers of runs: `wanted` in total, `stored` before the start, and `done` and `failed` since then."""

    wanted: int
    stored: int
    done: int = 0
    failed: int = 0

    @property
    def ended(self) -> int:
        """Number of runs that need no more work."""
        return self.stored + self.done + self.failed


def ignore(_: Progress) -> None:
    """A callback that ignores progress."""
