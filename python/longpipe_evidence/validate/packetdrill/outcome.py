"""Outcome of a script."""

from dataclasses import dataclass
from typing import Final, Literal

# Maximum number of characters shown of a statement, which can have many lines.
_SHOWN: Final = 200
# Maximum number of unknown names that are shown, and maximum length of each [characters].
_MAX_NAMES: Final = 8
_LONGEST_NAME: Final = 40

Verdict = Literal["pass", "differs", "not understood"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one script."""

    script: str
    verdict: Verdict
    # Line at which the script ended, unless it passed, and the reason.
    line: int | None = None
    words: str = ""
    # Number of assertions that were skipped, and the unknown fields that they use.
    unchecked: int = 0
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Returns the outcome as one line."""
        place = "" if self.line is None else f":{self.line}"
        names = ", ".join(name[:_LONGEST_NAME] for name in self.unknown[:_MAX_NAMES])
        unchecked = f"; {self.unchecked} assertions of {names} not checked" if self.unchecked else ""
        words = f": {self.words[:_SHOWN]}" if self.words else ""
        return f"{self.script}{place}: {self.verdict}{words}{unchecked}"


class DiffersError(Exception):
    """A segment or a value differs from the script's; `line` is set unless it is the statement's line."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.line = line


class NotUnderstoodError(Exception):
    """A statement that this runner does not support."""

    def __init__(self, words: str, line: int) -> None:
        super().__init__(words)
        self.line = line
