"""Canonical JSON of resolved scenarios: the core reads it, and its digest names a scenario."""

import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

_ROWS: Final = ("nodes", "links", "flows", "vbr")


def canonical_json(resolved: Mapping[str, Any]) -> str:
    """Returns a resolved scenario as JSON with its keys in order and without spaces.

    Tables within a node, a link or a flow are encoded once for all that share them.
    """
    # Kept beside their texts, so that no two have one id.
    known: dict[int, tuple[object, orjson.Fragment]] = {}

    def encoded(table: object) -> orjson.Fragment:
        if (found := known.get(id(table))) is None:
            known[id(table)] = found = (table, orjson.Fragment(_json(table)))
        return found[1]

    # What is not a table is a whole number, text or a list of whole numbers there, which both encoders write alike.
    whole: dict[str, Any] = {
        name: [{key: encoded(v) if type(v) is dict else v for key, v in row.items()} for row in value]
        if name in _ROWS
        else encoded(value)
        for name, value in resolved.items()
    }
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
