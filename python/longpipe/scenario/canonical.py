"""Canonical JSON of resolved scenarios, which is read by the core and identifies a scenario by its digest."""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from longpipe.scenario.points import Points

_ROWS: Final = ("nodes", "links", "flows", "vbr")
# A character that JSON escapes.
_MARK: Final = "\0"
# Rows of a series per piece of text: more hold more text at once.
_PIECE: Final = 4096


def canonical_json(resolved: Mapping[str, Any]) -> str:
    """Returns a resolved scenario as JSON with its keys in order and without spaces.

    Tables that several nodes, links or flows share are encoded once.
    """
    # Kept with their texts, so that ids stay unique.
    known: dict[int, tuple[object, orjson.Fragment]] = {}
    # Texts of tables with long series, which are inserted last: the encoder would copy them several times.
    long: list[str] = []

    def encoded(table: object) -> orjson.Fragment:
        if (found := known.get(id(table))) is None:
            text = "".join(_pieces(table))
            if isinstance(table, dict) and _has_series(table):
                long.append(text)
                text = f"{_MARK}{len(long) - 1}{_MARK}"
            known[id(table)] = found = (table, orjson.Fragment(text))
        return found[1]

    # Other values are integers, text or lists of integers, which both encoders write equally.
    whole: dict[str, Any] = {
        name: [{key: encoded(v) if type(v) is dict else v for key, v in row.items()} for row in value]
        if name in _ROWS
        else encoded(value)
        for name, value in resolved.items()
    }
    parts = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS).decode().split(_MARK)
    parts[1::2] = [long[int(number)] for number in parts[1::2]]
    return "".join(parts)


def _pieces(value: object) -> Iterator[str]:
    """Yields the JSON of a value; that of a long series in pieces, because it is large."""
    if isinstance(value, Points):
        yield from _in_pieces(len(value), lambda at: ",".join([f"[{a},{b!r}]" for a, b in value[at]]))
    elif isinstance(value, array):
        yield from _in_pieces(len(value), lambda at: ",".join(map(str, value[at])))
    elif isinstance(value, dict) and _has_series(value):
        for number, name in enumerate(sorted(value)):
            yield f"{',' if number else '{'}{_json(name)}:"
            yield from _pieces(value[name])
        yield "}"
    else:
        yield _json(value)


def _has_series(table: Mapping[str, object]) -> bool:
    parts = table.values()
    return any(isinstance(one, Points | array) or (isinstance(one, dict) and _has_series(one)) for one in parts)


def _in_pieces(rows: int, text: Callable[[slice], str]) -> Iterator[str]:
    yield "["
    for begin in range(0, rows, _PIECE):
        if begin:
            yield ","
        yield text(slice(begin, begin + _PIECE))
    yield "]"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
