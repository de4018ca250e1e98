"""Short scenario files: only the fields that differ from a file or a default on purpose, without other defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import tomli_w

from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario, change_fields
from longpipe.scenario.defaults import SCHEMA


def short_toml(scenario: Scenario, written: Mapping[str, Any], changes: Mapping[str, object]) -> str:
    """Returns TOML text of a scenario: the nested fields `written`, with `changes` to dotted fields in them.

    All fields are written if the short text would give another scenario.
    """
    fields = deepcopy(dict(written))
    fields.setdefault("name", scenario.name)
    try:
        change_fields(fields, changes)
        text = tomli_w.dumps({"schema": SCHEMA, **fields})
        if Scenario.from_toml(text).digest() == scenario.digest():
            return text
    except (ScenarioError, TypeError):
        pass
    return scenario.to_toml()


def inline_toml(value: object) -> str:
    """Formats a value as TOML in one line, as `--set` accepts it."""
    if isinstance(value, dict):
        entries = ", ".join(f"{_key(name)} = {inline_toml(element)}" for name, element in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    # The strings of JSON are strings of TOML.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{value}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
