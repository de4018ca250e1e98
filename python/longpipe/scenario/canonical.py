"""Canonical JSON of resolved scenarios, which is read by the core and identifies a scenario by its digest."""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from longpipe.scenario.points import Points

_ROWS: Final = ("nodes", "links", "flows", "vbr")
# Tables of integers and text, of which most flows of a large network may have one each.
_OWN: Final = ("start", "stop")
# Characters that JSON escapes.
_MARK: Final = "\0"
# Number of rows per piece of text. A larger number would keep more text, or copies of more rows, in memory at once.
_PIECE: Final = 1024


def canonical_json(resolved: Mapping[str, Any]) -> str:
    """Returns a resolved scenario as JSON with its keys in order and without spaces.

    Tables that several nodes, links or flows share are encoded once.
    """
    known: dict[int, orjson.Fragment] = {}
    # Texts of tables with long series. They are inserted last, because the encoder would copy them several times.
    long: list[str] = []

    def encoded(table: dict[str, Any]) -> orjson.Fragment:
        if (fragment := known.get(id(table))) is None:
            text = "".join(_pieces(table))
            if _has_series(table):
                long.append(text)
                text = f"{_MARK}{len(long) - 1}{_MARK}"
            known[id(table)] = fragment = orjson.Fragment(text)
        return fragment

    pieces: list[str] = []
    for name in sorted(resolved):
        pieces += ["," if pieces else "{", _json(name), ":"]
        pieces += _rows(resolved[name], encoded) if name in _ROWS else _pieces(resolved[name])
    text = "".join([*pieces, "}"])
    if not long:
        return text
    parts = text.split(_MARK)
    parts[1::2] = [long[int(number)] for number in parts[1::2]]
    return "".join(parts)


def _rows(rows: Sequence[dict[str, Any]], encoded: Callable[[dict[str, Any]], orjson.Fragment]) -> Iterator[str]:
    """Yields the JSON of rows in pieces, because copies of all rows would take much memory."""
    # Names of the fields that are tables, except those of starts, which the rows' own encoder writes as fast.
    tables = [*{key: None for row in rows for key, value in row.items() if type(value) is dict and key not in _OWN}]
    # Texts of a row's tables, by the identity of the tables, because many rows of a large network share tables.
    known: dict[tuple[int, ...], dict[str, orjson.Fragment]] = {}
    yield "["
    for begin in range(0, len(rows), _PIECE):
        copies = []
        for row in rows[begin : begin + _PIECE]:
            own = tuple(map(id, map(row.get, tables)))
            if (texts := known.get(own)) is None:
                known[own] = texts = {name: encoded(row[name]) for name in tables if type(row.get(name)) is dict}
            copies.append({**row, **texts})
        # Other values are integers, text, or lists and tables of them, for which both encoders write the same text.
        text = orjson.dumps(copies, option=orjson.OPT_SORT_KEYS).decode()[1:-1]
        yield f",{text}" if begin else text
    yield "]"


def _pieces(value: object) -> Iterator[str]:
    """Yields the JSON of a value. That of a long series is yielded in pieces, because it is large."""
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
    return any(isinstance(part, Points | array) or (isinstance(part, dict) and _has_series(part)) for part in parts)


def _in_pieces(rows: int, text: Callable[[slice], str]) -> Iterator[str]:
    yield "["
    for begin in range(0, rows, _PIECE):
        if begin:
            yield ","
        yield text(slice(begin, begin + _PIECE))
    yield "]"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
