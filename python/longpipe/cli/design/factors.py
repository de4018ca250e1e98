"""Factors of a design as text: `[NAME:]FIELD=LEVEL,...`, with ranges, tables and named levels."""

import re
from dataclasses import dataclass
from typing import Any, Final

from longpipe.cli.toolkit.naming import check_path, number_or_text, value_of
from longpipe.design import Factor
from longpipe.design.factor import Level, by_label, labels_of
from longpipe.design.ranges import Range
from longpipe.errors import ScenarioError
from longpipe.inputs import NoTomlError, parse_toml
from longpipe.scenario import Scenario
from longpipe.scenario.reference import may_be_absent

# A named level that is a table: split={at="switch1"}.
_NAMED: Final = re.compile(r"([A-Za-z][\w .-]*?)\s*=\s*(\{.*\})", re.DOTALL)


def parse_factor(text: str, base: Scenario | None = None, option: str = "--factor") -> Factor:
    """Parses a factor "[NAME:]FIELD=LEVEL,..."; levels are TOML values or plain text.

    A range such as "0.05..4 BDP" stands for its levels that give different runs of the scenario `base`.
    """
    name_and_field, equals, levels_text = text.partition("=")
    name, _, field = name_and_field.rpartition(":")
    if not (field.strip() and equals and levels_text.strip()):
        raise ScenarioError(f"{option}: {text!r}; accepts FIELD=LEVEL,LEVEL as in tcp.recovery=vanilla,reno")
    field = field.strip()
    check_path(option, field)
    if base is not None and (value_range := Range.parse(levels_text, option)) is not None:
        return Factor.over(field, value_range.levels_of(base, field), name.strip() or None)
    try:
        levels = parse_toml(f"levels = [{levels_text}]", option)["levels"]
    except NoTomlError:
        levels = [_level(field, level, option) for level in _split(levels_text)]
        if any(isinstance(level, _Labeled) or level is None for level in levels):
            return Factor.over(field, _labeled(field, levels), name.strip() or None)
    return Factor.over(field, levels, name.strip() or None)


@dataclass(frozen=True)
class _Labeled:
    """A named level, as in split={at="switch1", buffer="4 MB"}."""

    label: str
    value: object


def _split(text: str) -> list[str]:
    """Splits levels at commas outside of braces, brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _level(field: str, text: str, option: str) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns a level: a TOML table as a dict, a number, None for `none` if the field may be absent, or the text."""
    named = _NAMED.fullmatch(text)
    if named is not None:
        return _Labeled(named[1].strip(), _level(field, named[2], option))
    if text == "none" and may_be_absent(field):
        return None
    if not text.startswith("{"):
        return number_or_text(text)
    return value_of(text, option)


def _labeled(field: str, levels: list[object]) -> dict[Level, object]:
    """Returns the values of named and unnamed levels by their labels. Raises ScenarioError if a label occurs twice."""
    unnamed = iter(labels_of(field, [level for level in levels if not isinstance(level, _Labeled)]))
    return by_label(
        field,
        ((level.label, level.value) if isinstance(level, _Labeled) else (next(unnamed), level) for level in levels),
    )
