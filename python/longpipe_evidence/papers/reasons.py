"""Reasons why values in a reproduced table deviate from the published ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from longpipe_evidence.papers.experiments import Level

Record = Mapping[Hashable, Any]

SPREAD: Final = "The document printed a single run, and its value lies within the 95 % range of single runs here."
UNEXPLAINED: Final = "Not explained: no open setting of the document was found that comes close to it."


@dataclass(frozen=True)
class Reason:
    """An explanation, and the cells to which it applies: those whose factors have the levels of `where`."""

    text: str
    where: Mapping[str, tuple[Level, ...]]
    # "efficiency", "fairness", or both if empty.
    metric: str = ""

    def applies(self, record: Record) -> bool:
        """Returns whether the explanation applies to a row of a results table, with the factors and the `metric`."""
        if self.metric and record["metric"] != self.metric:
            return False
        return all(record[name] in levels for name, levels in self.where.items())


@dataclass
class Footnotes:
    """The explanations of a table's cells, numbered in the order of first use."""

    reasons: Iterable[Reason]
    texts: list[str] = field(default_factory=list)

    def number(self, record: Record) -> int:
        """Returns the number of a row's explanation: the paper's own, or else whether single runs include the value."""
        text = next((reason.text for reason in self.reasons if reason.applies(record)), None)
        if text is None:
            low, high = float(record["low"]), float(record["high"])
            text = SPREAD if low <= float(record["published"]) <= high else UNEXPLAINED
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1
