"""How a script ended."""

from dataclasses import dataclass
from typing import Final, Literal

# Characters of a statement, which may be any number of lines.
_SHOWN: Final = 200
# Names that no assertion here knows, and their characters.
_MOST_NAMES: Final = 8
_LONGEST_NAME: Final = 40

Verdict = Literal["pass", "differs", "not understood"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one script."""

    script: str
    verdict: Verdict
    # Where it ended, if it is no pass, and why.
    line: int | None = None
    words: str = ""
    # Assertions that were passed over, and the fields that they ask for.
    unchecked: int = 0
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line."""
        place = "" if self.line is None else f":{self.line}"
        names = ", ".join(name[:_LONGEST_NAME] for name in self.unknown[:_MOST_NAMES])
        asked = f"; {self.unchecked} assertions of {names} not checked" if self.unchecked else ""
        words = f": {self.words[:_SHOWN]}" if self.words else ""
        return f"{self.script}{place}: {self.verdict}{words}{asked}"


class DiffersError(Exception):
    """What leaves here, or holds, is not what the script says; `line` if it is not that of the statement."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.line = line


class NotUnderstoodError(Exception):
    """A statement that says what this runner has no words for."""

    def __init__(self, words: str, line: int) -> None:
        super().__init__(words)
        self.line = line
