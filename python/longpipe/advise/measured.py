"""Measures of a run by name, and numbers with the measures' units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longpipe.analysis.asked import NamedMeasure
from longpipe.analysis.measures import measure, names
from longpipe.analysis.readable import UNITS, column_of, readable
from longpipe.errors import ScenarioError, nearest
from longpipe.report.parts import number

if TYPE_CHECKING:
    from longpipe.result import Result
    from longpipe.scenario import Scenario

# Measures between 0 and 1 that have no unit.
_SHARES: Final = ("efficiency", "fairness")
_NUMBER: Final = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*)?")


@dataclass(frozen=True)
class Measured:
    """A measure of each run: its name, its unit in texts, the divisor that converts to it, and its computation."""

    name: str
    unit: str
    scale: float
    of: Callable[[Result], float]

    @classmethod
    def parse(cls, text: str, scenarios: Iterable[Scenario]) -> Measured:
        """Returns the measure of this name: one of every run, such as "efficiency", or "flow:bulk.throughput".

        Raises ScenarioError for an unknown measure, and for one that a scenario does not have.
        """
        scenarios = list(scenarios)
        column = column_of(text.strip())
        known = [name for name in names(scenarios[0]) if all(name in names(one) for one in scenarios)]
        if column in known:
            shown = readable(column)
            return cls(text.strip(), shown.unit, shown.scale, lambda result: float(measure(result)[column]))
        if ":" not in text and not text.strip().startswith("web."):
            raise ScenarioError(f"measure: {text!r}; {nearest(text, known)}, or as in flow:FLOW.throughput, web.p95")
        asked = NamedMeasure.parse(text)
        for scenario in scenarios:
            asked.check(scenario)
        return cls(asked.name, asked.unit, asked.scale, asked)

    @property
    def is_share(self) -> bool:
        """Whether the values lie between 0 and 1."""
        return self.unit == "share" or self.name.rpartition(".")[2] in _SHARES

    def quantity(self, text: str, option: str) -> tuple[float, bool]:
        """Parses a number in the measure's unit; returns it with whether it is relative ("2 %" of a measure's value).

        A share may be given in percent, which is not relative.
        """
        match = _NUMBER.fullmatch(text.strip())
        if match is None:
            raise ScenarioError(f"{option}: {text!r}; accepts a number with its unit, {self._example()}")
        value, unit = float(match[1]), (match[2] or "").strip()
        if unit == "%":
            return value / 100, not self.is_share
        if self.unit in ("", "share"):
            if unit:
                raise ScenarioError(f"{option}: {text!r}; {self.name} has no unit, accepts {self._example()}")
            return value, False
        if unit not in UNITS or _kind(unit) != _kind(self.unit):
            units = ", ".join(one for one in UNITS if _kind(one) == _kind(self.unit))
            raise ScenarioError(f"{option}: {text!r}; {self.name} needs a unit: {units}")
        return value * UNITS[unit], False

    def text(self, value: float, *, signed: bool = False) -> str:
        """Formats a value in the measure's unit."""
        shown = number(value / self.scale, 3)
        sign = "+" if signed and value > 0 else ""
        return f"{sign}{shown} {self.unit}" if self.unit not in ("", "share") else f"{sign}{shown}"

    def _example(self) -> str:
        if self.unit in ("", "share"):
            return "as in 0.01 or '1 %'"
        return f"as in '{'10' if self.scale != 1 else '0.5'} {self.unit}'"


def _kind(unit: str) -> str:
    """Returns the kind of quantity that a unit measures."""
    if unit.endswith(("bit/s", "B/s")):
        return "rate"
    return "size" if unit.endswith("B") else "time"
