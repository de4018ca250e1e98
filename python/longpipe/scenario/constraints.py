"""Constraints across the fields of a part, as data, which the core evaluates (crates/scenario/src/rules.rs).

A constraint is violated if all clauses of its condition hold, as in "max_rto * tick > '10000 s' and phase.kind is
'fixed'". An operand is a field, `PART.FIELD`, a product of two fields, or a constant; `none` is an absent value. `is`,
`is not` and `is among`, which has a list of words, compare values as written; `is not` holds for fields that a part
does not have. `<`, `<=`, `>` and `>=` compare quantities in base units, and do not hold for absent fields and for
'unlimited'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from longpipe._core import Rules

if TYPE_CHECKING:
    from longpipe.scenario.base import Model

# A constant in quotes, or a word, which is a field unless it is one of `_WORDS`.
_FIELD: Final = re.compile(r"'[^']*'|([a-z_]+)(?:\.[a-z_.]+)?")
_WORDS: Final = ("and", "is", "not", "among", "none", "true", "false")
_SHOWN: Final = re.compile(r"\{([a-z_]+)")


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
    def operands(self) -> set[str]:
        """The fields that the condition compares, without their parts."""
        return {name for name in _FIELD.findall(self.condition) if name and name not in _WORDS}

    @property
    def cause(self) -> str:
        """The field of the first clause, without its part: the setting that needs another one."""
        return self.condition.split(maxsplit=1)[0].partition(".")[0]


def violated(part: Model) -> Iterator[tuple[Constraint, str]]:
    """Yields each constraint that a part, whose fields are valid, violates, with the message."""
    model: Any = type(part)
    if not model.constraints:
        return
    rules, names = _rules(model)
    fields = {name: getattr(part, name, None) for name in names}
    for number, message in rules.problems(orjson.dumps(fields, default=vars).decode()):
        yield model.constraints[number], message


def violations(part: Model) -> Iterator[tuple[str, str]]:
    """Yields the field and the message of each constraint that a part, whose fields are valid, violates."""
    yield from ((constraint.field, message) for constraint, message in violated(part))


@cache
def _rules(model: Any) -> tuple[Rules, tuple[str, ...]]:  # noqa: ANN401 - a class of models
    """Returns the constraints of a class of models for the core, and the names of the fields that they need."""
    rules = [(constraint.condition, constraint.message) for constraint in model.constraints]
    names = {name for one in model.constraints for name in (*one.operands, *_SHOWN.findall(one.message))}
    return Rules(orjson.dumps(rules).decode()), tuple(sorted(names))
