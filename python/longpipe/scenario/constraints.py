"""Constraints across the fields of a part, as data.

Python evaluates them here; the lab evaluates the exported form (`Constraint.described`). A constraint is violated if
all clauses of its condition hold, as in "max_rto * tick > '10000 s' and phase.kind is 'fixed'". An operand is a field,
`PART.FIELD`, a product of two fields, or a constant; `none` is an absent value. `is` and `is not` compare values as
written; `is not` holds for fields that a part does not have. `<`, `<=`, `>` and `>=` compare quantities in base units,
and do not hold for absent fields and for 'unlimited'.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, get_args

if TYPE_CHECKING:
    from longpipe.scenario.base import Model
    from longpipe.units import Dimension

_CLAUSE: Final = re.compile(r"([a-z_.]+)(?: \* ([a-z_.]+))? (<=|>=|<|>|is not|is) ('[^']*'|\S+)")
_FIELD: Final = re.compile(r"\{([a-z_.]+)\}")
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Clause:
    """A comparison: the product of fields with a field or a constant."""

    fields: tuple[str, ...]
    compare: str
    # A field's name, or None for a constant.
    other: str | None
    constant: str | float | bool | None

    def holds(self, part: Model) -> bool:
        """Returns whether a part, whose fields are valid, satisfies the clause."""
        if self.compare in ("is", "is not"):
            return (_get(part, self.fields[0]) == self.constant) is (self.compare == "is")
        values = [_value(part, name) for name in self.fields]
        # The constant of a product has the unit of the last factor.
        right, kind = self.constant, values[-1][1]
        if self.other is not None:
            right, _ = _value(part, self.other)
        elif isinstance(right, str) and kind is not None:
            right = kind.parse(right)
        numbers = [value for value, _ in values]
        if not all(isinstance(number, int | float) for number in (right, *numbers)):
            return False
        return _ORDER[self.compare](math.prod(numbers), right)

    @property
    def needs_kind(self) -> bool:
        """Returns whether the clause holds only for one kind of a part."""
        return self.compare == "is" and self.fields[0].endswith(".kind") and isinstance(self.constant, str)

    def described(self) -> dict[str, Any]:
        """Returns the clause as plain data."""
        right = {"field": self.other} if self.other is not None else {"constant": self.constant}
        return {"fields": list(self.fields), "compare": self.compare, **right}


@dataclass(frozen=True)
class Constraint:
    """A problem of a field that exists if a condition holds; the message names fields in braces.

    `remedy` is a field with the value that the field of the condition's first clause needs.
    """

    field: str
    condition: str
    message: str
    remedy: tuple[str, object] | None = None

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses of the condition."""
        return tuple(_clause(text) for text in self.condition.split(" and "))

    @property
    def operands(self) -> set[str]:
        """The fields that the condition compares, without their parts."""
        names = [name for clause in self.clauses for name in (*clause.fields, clause.other) if name is not None]
        return {name.partition(".")[0] for name in names}

    @property
    def cause(self) -> str:
        """The field of the first clause, without its part: the setting that needs another one."""
        return self.clauses[0].fields[0].partition(".")[0]

    def is_violated(self, part: Model) -> bool:
        """Returns whether the condition holds for a part."""
        return all(clause.holds(part) for clause in self.clauses)

    def problem(self, part: Model) -> tuple[str, str] | None:
        """Returns the field and the message if the part violates the constraint."""
        if not self.is_violated(part):
            return None
        return self.field, _FIELD.sub(lambda match: _shown(_get(part, match[1])), self.message)

    def described(self) -> dict[str, Any]:
        """Returns the constraint as plain data."""
        return {
            "field": self.field,
            "clauses": [clause.described() for clause in self.clauses],
            "message": self.message,
        }


def violations(part: Model) -> Iterator[tuple[str, str]]:
    """Yields the field and the message of each constraint that a part, whose fields are valid, violates."""
    always, by_kind = _by_kind(type(part))
    constraints = [*always]
    for path, of_kind in by_kind.items():
        constraints += of_kind.get(_get(part, path), ())
    for _, constraint in sorted(constraints, key=_NUMBER):
        if (problem := constraint.problem(part)) is not None:
            yield problem


_Numbered = list[tuple[int, Constraint]]
_NUMBER: Final = operator.itemgetter(0)


@cache
def _by_kind(model: Any) -> tuple[_Numbered, dict[str, dict[object, _Numbered]]]:  # noqa: ANN401 - a class of models
    """Returns the numbered constraints of a class of models that need no kind, and the others by the kind of a part.

    Most constraints of a connection concern one congestion control, so that few need to be evaluated.
    """
    always: _Numbered = []
    by_kind: dict[str, dict[object, _Numbered]] = {}
    for numbered in enumerate(model.constraints):
        clauses = (clause for clause in numbered[1].clauses if clause.needs_kind)
        if (clause := next(clauses, None)) is None:
            always.append(numbered)
        else:
            by_kind.setdefault(clause.fields[0], {}).setdefault(clause.constant, []).append(numbered)
    return always, by_kind


def _clause(text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}; needs FIELD < FIELD, or FIELD is 'CONSTANT'")
    first, second, compare, right = match.groups()
    fields = (first,) if second is None else (first, second)
    if right.startswith("'"):
        return Clause(fields, compare, None, right.strip("'"))
    if right in _CONSTANTS:
        return Clause(fields, compare, None, _CONSTANTS[right])
    if right[0].isdigit():
        return Clause(fields, compare, None, float(right))
    return Clause(fields, compare, right, None)


def _get(part: Model, path: str) -> Any:  # noqa: ANN401 - a value of any field
    """Returns the value of a field as specified; None if the part does not have it."""
    value: Any = part
    for name in _names(path):
        value = getattr(value, name, None)
    return value


def _value(part: Model, path: str) -> tuple[Any, Dimension | None]:
    """Returns the value of a field for comparisons, and its dimension if it is a quantity.

    Both are None if the part does not have the field.
    """
    owner: Any = part
    *parts, name = _names(path)
    for parent in parts:
        owner = getattr(owner, parent, None)
    if owner is None:
        return None, None
    model: Any = type(owner)
    value, kind = getattr(owner, name, None), _declared(model, name)
    if kind is None or value is None or value == "unlimited":
        return value, kind
    return kind.parse(value), kind


@cache
def _names(path: str) -> list[str]:
    return path.split(".")


@lru_cache(maxsize=4096)
def _declared(model: Any, name: str) -> Dimension | None:  # noqa: ANN401 - a class of models, which mypy cannot hash
    """Returns the dimension that a class of models declares for a field."""
    field = model.model_fields.get(name)
    if field is None:
        return None
    dimensions = (getattr(entry, "dimension", None) for entry in (*field.metadata, *_metadata(field.annotation)))
    return next((dimension for dimension in dimensions if dimension is not None), None)


def _metadata(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - any type annotation
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from _metadata(part)


def _shown(value: Any) -> str:  # noqa: ANN401 - a value of any field
    """Formats a value for messages."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
