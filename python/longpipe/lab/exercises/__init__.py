"""Exercises of the lab, each described by a file: one field is set such that a measure satisfies a bound."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from longpipe.inputs import load_toml

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True)
class Choice:
    """A value of the field, and its text."""

    words: str
    value: Any


@dataclass(frozen=True)
class Exercise:
    """An exercise whose answer is the smallest or the largest choice with which `measure` is within the bounds.

    `measure` is `efficiency`, `timeouts`, or `share`: the fraction of the throughput that the flow `flow` gets. `why`
    explains the answer, or is a table of explanations by loss recovery. `vary` contains the values of fields that
    differ between the students of a homework.
    """

    title: str
    text: str
    task: str
    look: str
    why: str | Mapping[str, str]
    field: str
    label: str
    choices: Sequence[Choice]
    wanted: Literal["smallest", "largest"]
    measure: Literal["efficiency", "timeouts", "share"]
    scenario: Mapping[str, Any]
    vary: Mapping[str, Sequence[Any]]
    flow: str | None = None
    least: float | None = None
    most: float | None = None

    def answer(self, measured: Sequence[float]) -> int | None:
        """Returns the index of the correct choice, given the measured value of each choice; None if there is none."""
        meets = [i for i, value in enumerate(measured) if self._is_met_by(value)]
        return (meets[0] if self.wanted == "smallest" else meets[-1]) if meets else None

    def _is_met_by(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def of_page(self) -> dict[str, Any]:
        """Returns what the page needs, in a form for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "vary" and value is not None}


@cache
def exercises() -> tuple[Exercise, ...]:
    """Returns all exercises, in the order of their numbers."""
    return tuple(_exercise(load_toml(file)) for file in sorted(_FOLDER.glob("*.toml")))


def _exercise(table: dict[str, Any]) -> Exercise:
    unit = table.pop("unit", None)
    choices = [Choice(_words(value, unit), value) for value in table.pop("choices")]
    return Exercise(choices=choices, **table)


def _words(value: object, unit: str | None) -> str:
    """Returns the text of a choice; a list is shown as the number of its items."""
    words = str(len(value)) if isinstance(value, list) else str(value)
    return f"{words} {unit.removesuffix('s') if words == '1' else unit}" if unit else words
