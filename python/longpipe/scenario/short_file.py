"""Short scenario files: only the fields that differ from a file or a default on purpose, without other defaults."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import tomli_w

from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario


def short_toml(scenario: Scenario, written: Mapping[str, Any], changes: Mapping[str, object]) -> str:
    """Returns TOML text of a scenario: the nested fields `written`, with `changes` to dotted fields in them.

    All fields are written if the short text would give another scenario, for example if a change sets a field of a part
    that `written` gives by its kind alone.
    """
    fields = deepcopy(dict(written))
    fields.setdefault("name", scenario.name)
    try:
        for path, value in sorted(changes.items(), key=lambda change: change[0].count(".")):
            _put(fields, path.split("."), value)
        text = tomli_w.dumps(fields)
        if Scenario.from_toml(text).digest() == scenario.digest():
            return text
    except (ScenarioError, LookupError, TypeError, ValueError):
        pass
    return scenario.to_toml()


def _put(fields: dict[str, Any], path: list[str], value: object) -> None:
    """Sets a field; raises LookupError, TypeError or ValueError if a part on its path is missing or not a table."""
    *parents, last = path
    part: Any = fields
    for name in parents:
        part = part[int(name)] if isinstance(part, list) else _table(part).setdefault(name, {})
    _table(part)[last] = value


def _table(part: object) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise TypeError
    return part
