"""How far a campaign is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Numbers of runs: `wanted` in all, `stored` before it began, and since then `done` and `failed`."""

    wanted: int
    stored: int
    done: int = 0
    failed: int = 0

    @property
    def ended(self) -> int:
        """Runs that nothing more has to be done for."""
        return self.stored + self.done + self.failed


def ignore(_: Progress) -> None:
    """For those who don't want to know."""
