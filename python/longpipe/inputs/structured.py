"""Parses TOML and JSON, with limits on depth, on the digits of numbers, and on the lengths of keys and strings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.inputs.bytes import MAX_BYTES, read_bytes
from longpipe.inputs.text import decode, read_text

MAX_TOML_BYTES: Final = 64 << 20
# Maximum nesting depth, larger than in any scenario.
MAX_DEPTH: Final = 64
MAX_KEY: Final = 200
# Maximum length of a text; the longest text in a scenario is a path.
MAX_TEXT: Final = 4096
# Maximum number of brackets and commas in a JSON text, because each costs about 60 bytes of memory.
MAX_ITEMS: Final = 40_000_000
_MAX_DIGITS: Final = 64
_WHOLE: Final = range(-(2**63), 2**64)
_DIGITS: Final = re.compile(rf"[0-9][0-9_]{{{_MAX_DIGITS},}}")
# Matches a part of a dotted key; Python's parser takes quadratic time in the number of parts.
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY: Final = re.compile(rf"(?<![A-Za-z0-9_.-])(?:{_PART}\.[ \t]*+){{{MAX_DEPTH}}}")


class NoTomlError(ScenarioError):
    """Text that is not valid TOML."""


def load_toml(file: str | Path, needs: str = "a TOML file") -> dict[str, Any]:
    """Returns the fields of a TOML file."""
    return parse_toml(read_text(file, needs, max_bytes=MAX_TOML_BYTES), str(file))


def parse_toml(text: str, location: str) -> dict[str, Any]:
    """Returns the fields of TOML text. Raises a ScenarioError that names `where`, and the line or the field."""
    if match := _LONG_KEY.search(text):
        raise ScenarioError(f"{_at(location, text, match)}: a key of many parts; needs at most {MAX_DEPTH}")
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NoTomlError(f'{location}: not TOML, {_short(error)}; needs lines such as: duration = "10 s"') from None
    except RecursionError:
        raise ScenarioError(f"{location}: not TOML, too deep; needs at most {MAX_DEPTH} nested tables") from None
    except ValueError as error:
        # The error is not a TOMLDecodeError if a number has more digits than Python converts, or if a date is in the
        # year 0.
        long = _DIGITS.search(text)
        reason = f"a number of {len(long[0])} digits" if long else _short(error)
        at = _at(location, text, long) if long else location
        raise ScenarioError(f"{at}: not TOML, {reason}; needs at most 64 bits") from None
    check_values(location, fields)
    return fields


def load_json(file: str | Path, needs: str, *, max_bytes: int = MAX_BYTES) -> Any:  # noqa: ANN401 - any value
    """Returns the value of a JSON file."""
    return parse_json(read_bytes(file, needs, max_bytes=max_bytes), str(file), needs)


def parse_json(content: bytes, location: str, needs: str) -> Any:  # noqa: ANN401 - any value
    """Returns the value of JSON text. Raises a ScenarioError that names `where` and the line.

    Integers of more than 64 bits become floats; NaN and infinities are rejected, as in RFC 8259.
    """
    # Imported here because it takes 20 ms and most commands do not need it.
    import orjson

    text = decode(location, content, needs)
    items = sum(map(text.count, ",[{"))
    if items > MAX_ITEMS:
        raise ScenarioError(f"{location}: {items} brackets and commas; needs {needs} with at most {MAX_ITEMS}")
    try:
        return orjson.loads(text)
    except json.JSONDecodeError as error:
        at = f"{location}:{error.lineno}" if text else location
        raise ScenarioError(f"{at}: not JSON, {_short(error.msg)} at character {error.colno}; needs {needs}") from None


def check_values(location: str, fields: dict[str, Any]) -> None:
    """Raises ScenarioError if fields are nested more deeply, or if names or values are longer, than in any scenario."""
    for path, key, value, depth in _walk(fields):
        if len(key) > MAX_KEY:
            raise ScenarioError(f"{location}: {path[:60]}...: a name of {len(key)} characters; needs at most {MAX_KEY}")
        if depth > MAX_DEPTH:
            raise ScenarioError(f"{location}: {path[:60]}...: too deep; needs at most {MAX_DEPTH} nested tables")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise ScenarioError(f"{location}: {path}: {len(value)} characters; needs at most {MAX_TEXT}")
        if isinstance(value, int) and value not in _WHOLE:
            raise ScenarioError(f"{location}: {path}: a number of {value.bit_length()} bits; needs at most 64")


def _walk(fields: dict[str, Any]) -> Iterator[tuple[str, str, Any, int]]:
    """Yields the dotted path, the key, the value and the depth of every value, without recursion."""
    waiting: list[tuple[str, str, Any, int]] = [(key, key, value, 1) for key, value in fields.items()]
    while waiting:
        location = waiting.pop()
        yield location
        path, _, value, depth = location
        if isinstance(value, dict):
            waiting += [(f"{path}.{name}", name, inner, depth + 1) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{i}]", "", inner, depth + 1) for i, inner in enumerate(value)]


def _at(location: str, text: str, match: re.Match[str]) -> str:
    return f"{location}:{text.count(chr(10), 0, match.start()) + 1}"


def _short(error: object) -> str:
    text = str(error)
    return text if len(text) <= 200 else f"{text[:140]}...{text[-50:]}"
