"""Criteria by which fits are judged."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

# CoDel and FQ-CoDel count as equal, because they are the same queue for a single flow.
_ALIKE: Final = {"codel": "fq-codel"}

Row = dict[str, Any]


@dataclass(frozen=True)
class FitCriterion:
    """Result of a criterion: numbers of cases that meet it and in all, required share, and a phrase per failing case.

    `note` says which cases are not judged.
    """

    name: str
    met: int
    of: int
    share: float
    misses: tuple[str, ...]
    note: str = ""

    @property
    def holds(self) -> bool:
        """Returns whether enough cases meet the criterion; true if there are none."""
        return self.met >= self.share * self.of - 1e-9


def criterion(name: str, rows: Iterable[Row], problem: Callable[[Row], str], share: float) -> FitCriterion:
    """Counts the rows without a problem; `problem` returns an empty text, or a phrase."""
    judged = [(row, problem(row)) for row in rows]
    misses = tuple(f"{row['kind']} {row['number']} {row['control']}: {text}" for row, text in judged if text)
    return FitCriterion(name, len(judged) - len(misses), len(judged), share, misses)


def queue_of_linux(row: Row) -> str:
    """Returns longpipe's name of the queue that the capture passed."""
    return "tail-drop" if row["discipline"] == "pfifo" else str(row["discipline"].replace("_", "-"))


def is_queue_right(row: Row) -> bool:
    """Returns whether the queue of the capture is the most likely one, or equals it."""
    truth = queue_of_linux(row)
    stated = [row["queue"], *row["same_queues"].split()]
    return _ALIKE.get(truth, truth) in [_ALIKE.get(queue, queue) for queue in stated]
