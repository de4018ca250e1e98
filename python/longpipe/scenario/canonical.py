"""Canonical JSON of resolved scenarios, which is read by the core and identifies a scenario by its digest."""

import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

_ROWS: Final = ("nodes", "links", "flows", "vbr")


def canonical_json(resolved: Mapping[str, Any]) -> str:
    """Returns a resolved scenario as JSON with its keys in order and without spaces.

    Tables that several nodes, links or flows share are encoded once.
    """
    # Kept with their texts, so that ids stay unique.
    known: dict[int, tuple[object, orjson.Fragment]] = {}

    def encoded(table: object) -> orjson.Fragment:
        if (found := known.get(id(table))) is None:
            known[id(table)] = found = (table, orjson.Fragment(_json(table)))
        return found[1]

    # Other values are integers, text or lists of integers, which both encoders write equally.
    whole: dict[str, Any] = {
        name: [{key: encoded(v) if type(v) is dict else v for key, v in row.items()} for row in value]
        if name in _ROWS
        else encoded(value)
        for name, value in resolved.items()
    }
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
