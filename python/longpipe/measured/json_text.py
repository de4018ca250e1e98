"""Tolerant reader of JSON in measured files: one value, several values, JSON lines, JSON text sequences (RFC 7464).

Tools are interrupted, write "-nan", or print text around their JSON. Damaged parts are skipped, and a line about each
kind of defect is returned. Values are never guessed: a number that is not a number becomes null.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.inputs.structured import MAX_ITEMS

# Values of a file, each with its place in messages.
Placed = list[tuple[str, Any]]

RECORD_SEPARATOR: Final = "\x1e"
# Brackets, skipping strings, so that brackets in strings do not count.
# A string does not contain line ends, so that a stray quotation mark affects one line.
_STRING: Final = r'"(?:[^"\\\n]++|\\[^\n])*+"'
_TOKENS: Final = re.compile(rf"{_STRING}|[\[\]{{}}]")
# Literals of printf for values that are not numbers, skipping strings.
_NOT_A_NUMBER: Final = re.compile(
    r'"(?:[^"\\]++|\\.)*+"|-?\b(?:nan|inf(?:inity)?)\b(?:\([^()\n"]{0,20}\))?', re.IGNORECASE
)
_COMMA_AT_END: Final = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])")
# Maximum depth of objects and lists, which is that of orjson.
_MAX_DEPTH: Final = 1024
_CLOSING: Final = {"{": "}", "[": "]"}
_MAYBE_NOT_A_NUMBER: Final = re.compile(r"\b(?:nan|inf)", re.IGNORECASE)
# Maximum number of damaged elements that are removed from one value.
_MAX_REPAIRS: Final = 20
# Maximum number of characters that are searched for values: a multiple of the text's length and a constant.
_MAX_SEARCHED, _MIN_SEARCHED = 5, 1_000_000


@dataclass
class ParsedJson:
    """The values of a file, and a line about each kind of defect."""

    values: Placed = field(default_factory=list)
    defects: list[str] = field(default_factory=list)


@dataclass
class _Open:
    """An object or list that has not ended. Positions are indices of characters."""

    bracket: str
    begin: int
    # Number of complete elements that are objects or lists.
    elements: int = 0
    # End of the last complete element.
    end_of_element: int = 0
    # End of the object or list itself; 0 if it is unknown.
    end: int = 0


class _Damage(Exception):  # noqa: N818 - never leaves this module
    """Reason and position of a defect."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


def _loads(text: str) -> Any:  # noqa: ANN401 - any value
    """Returns the value of a JSON text. Raises _Damage if it is not valid."""
    # Imported here because it takes 20 ms and most commands do not need it.
    import orjson

    try:
        return orjson.loads(text)
    except json.JSONDecodeError as error:
        raise _Damage(error.msg, error.pos) from None


def values(file: str, text: str, needs: str) -> ParsedJson:
    """Returns the JSON values in a text. Raises ScenarioError if it has none."""
    items = sum(map(text.count, ",[{"))
    if items > MAX_ITEMS:
        raise ScenarioError(f"{file}: {items} brackets and commas; needs {needs} with at most {MAX_ITEMS}")
    is_sequence = RECORD_SEPARATOR in text[:64]
    if is_sequence or _is_lines(text):
        parsed = _of_records(file, text)
        if not parsed.values:
            kind = "a JSON text sequence without a value" if is_sequence else "JSON without a value"
            raise ScenarioError(f"{file}: {kind}; needs {needs}")
        return parsed
    try:
        return ParsedJson([(file, _loads(text))])
    except _Damage as damage:
        return _Damaged(file, text).read(damage)


def _is_lines(text: str) -> bool:
    """Returns whether the first line is a whole JSON object and another line follows."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip() or not first.rstrip().endswith("}"):
        return False
    try:
        return isinstance(_loads(_numbers_only(first)[0]), dict)
    except _Damage:
        return False


def _of_records(file: str, text: str) -> ParsedJson:
    """Reads a value from each line or, after a record separator, from several lines."""
    parsed = ParsedJson()
    damaged: list[tuple[int, str]] = []
    replaced = 0
    for number, record in _records(text):
        try:
            try:
                value = _loads(record)
            except _Damage:
                usable, count = _numbers_only(record)
                value = _loads(usable)
                replaced += count
        except _Damage as damage:
            damaged.append((number, str(damage)))
            continue
        parsed.values.append((f"{file}:{number}", value))
    if damaged:
        number, reason = damaged[0]
        if not parsed.values:
            raise ScenarioError(f"{file}:{number}: not JSON, {reason}; needs a JSON value")
        records = "a record is" if len(damaged) == 1 else f"{len(damaged)} records are"
        location = "in line" if len(damaged) == 1 else "the first in line"
        parsed.defects.append(f"{records} damaged and skipped, {location} {number} ({reason})")
    _note_numbers(replaced, parsed)
    return parsed


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Yields the line number and the text of each record; a record without a separator is a line."""
    number = 1
    for part in text.split(RECORD_SEPARATOR) if RECORD_SEPARATOR in text[:64] else [text]:
        lines = part.split("\n")
        if RECORD_SEPARATOR in text[:64] and not _is_lines(part):
            if record := part.strip():
                yield number + part[: len(part) - len(part.lstrip())].count("\n"), record
        else:
            for index, line in enumerate(lines):
                if stripped := line.strip():
                    yield number + index, stripped
        number += len(lines) - 1


class _Damaged:
    """A text that is not one JSON value, in which values are searched for."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        usable, self._replaced = _numbers_only(text)
        self._text = _COMMA_AT_END.sub(lambda match: match[0] if match[0].startswith('"') else "", usable)
        self._parsed = ParsedJson()

    def read(self, first: _Damage) -> ParsedJson:
        """Returns the values; `first` is the defect that is reported if there are none."""
        text, parsed = self._text, self._parsed
        position = 0
        # End of the last value, and number of characters outside of values.
        end_of_value, outside = 0, 0
        # Number of characters that may still be searched.
        budget = _MAX_SEARCHED * len(text) + _MIN_SEARCHED
        while budget > 0 and (begin := self._next(position)) is not None:
            end, stack = _extent(text, begin)
            budget -= (len(text) if end is None else end) - begin
            until, value = self._truncated(begin, stack) if end is None else self._whole(begin, end)
            if value is None:
                position = begin + 1 if end is None else end
                continue
            outside += len(text[end_of_value:begin].strip())
            is_first = not parsed.values and not text[:begin].strip()
            parsed.values.append((self._file if is_first else f"{self._file}:{self._line(begin)}", value))
            position = end_of_value = until
        if not parsed.values:
            raise ScenarioError(f"{self._file}:{self._line(first.at)}: not JSON, {first}; needs JSON")
        outside += len(text[end_of_value:].strip())
        if outside:
            parsed.defects.append(f"{outside} characters of text around the JSON are ignored")
        _note_numbers(self._replaced, parsed)
        return parsed

    def _line(self, at: int) -> int:
        """Returns the number of the line that contains a position."""
        return bisect_right(self._line_ends, at - 1) + 1

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    def _next(self, position: int) -> int | None:
        """Returns the position of the next opening bracket; None if there is none."""
        brackets = [at for at in (self._text.find("{", position), self._text.find("[", position)) if at >= 0]
        return min(brackets, default=None)

    def _whole(self, begin: int, end: int) -> tuple[int, Any]:
        """Returns the end and the value of an object or list, without damaged elements; None if it cannot be read."""
        piece, lines = self._text[begin:end], list[int]()
        while True:
            try:
                value = _loads(piece)
                break
            except _Damage as damage:
                smaller = _without(piece, damage.at)
                if smaller is None or len(lines) >= _MAX_REPAIRS:
                    return end, None
                lines.append(self._line(begin + damage.at))
                piece = smaller
        if not _is_content(value):
            return end, None
        if lines:
            count = "an element is" if len(lines) == 1 else f"{len(lines)} elements are"
            self._parsed.defects.append(f"{count} damaged and skipped, at line {lines[0]}")
        return end, value

    def _truncated(self, begin: int, stack: list[_Open]) -> tuple[int, Any]:
        """Returns a value that does not end, without its incomplete elements; None if it has no whole element."""
        best = max(
            stack, key=lambda opened: (opened.bracket == "[" and opened.elements > 0, opened.elements), default=None
        )
        if best is None or not best.elements:
            return begin + 1, None
        closing = "".join(_CLOSING[opened.bracket] for opened in reversed(stack[: stack.index(best) + 1]))
        try:
            value = _loads(self._text[begin : best.end_of_element] + closing)
        except _Damage:
            return begin + 1, None
        if not _is_content(value):
            return begin + 1, None
        line = self._line(best.end_of_element)
        self._parsed.defects.append(
            f"the JSON ends early or is damaged; it is read up to its last whole element, at line {line}"
        )
        return len(self._text), value


def _extent(text: str, begin: int) -> tuple[int | None, list[_Open]]:
    """Returns the end of the object or list at `begin`, or None and the open brackets at a mismatch or the end.

    A value that is nested too deeply counts as one that does not end.
    """
    stack: list[_Open] = []
    for token in _TOKENS.finditer(text, begin):
        piece = token[0]
        if piece in _CLOSING:
            stack.append(_Open(piece, token.start()))
            if len(stack) > _MAX_DEPTH:
                break
        elif piece in "]}":
            if _CLOSING[stack[-1].bracket] != piece:
                return None, stack
            stack.pop()
            if not stack:
                return token.end(), []
            stack[-1].elements += 1
            stack[-1].end_of_element = token.end()
    return None, stack


def _is_content(value: object) -> bool:
    """Returns whether a value is a non-empty object, or a list of objects; others occur in the text around JSON."""
    return bool(value) and (isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict)))


def _without(piece: str, at: int) -> str | None:
    """Returns a value without the element that contains a defect; None if the defect is in no list of objects.

    Of nested lists, the one with the most elements is the list of records.
    """
    stack, ends = _around(piece, at)
    lists = [(opened.elements, depth) for depth, opened in enumerate(stack) if opened.bracket == "["]
    if not lists:
        return None
    count, depth = max(lists, key=lambda opened: (opened[0], -opened[1]))
    if not count:
        return None
    if depth + 1 == len(stack):
        # The defect is between elements.
        following = [bracket for bracket in (piece.find("{", at), piece.find("[", at)) if bracket >= 0]
        return piece[: ends[depth]] + "," + piece[min(following) :] if following and ends[depth] else None
    begin, end = stack[depth + 1].begin, stack[depth + 1].end
    if not end:
        return None
    before, after = piece[:begin].rstrip(), piece[end:].lstrip()
    return before + after[1:] if after.startswith(",") else before.removesuffix(",") + after


def _around(text: str, at: int) -> tuple[list[_Open], list[int]]:
    """Returns the objects and lists that contain `at`, outermost first, with the ends of their elements before `at`.

    Their elements after `at` are counted, too.
    """
    stack: list[_Open] = []
    around: list[_Open] | None = None
    ends: list[int] = []
    for token in _TOKENS.finditer(text):
        if around is None and token.start() >= at:
            around, ends = list(stack), [opened.end_of_element for opened in stack]
        piece = token[0]
        if piece in _CLOSING:
            stack.append(_Open(piece, token.start()))
        elif piece in "]}" and stack:
            stack.pop().end = token.end()
            if stack:
                stack[-1].elements += 1
                stack[-1].end_of_element = token.end()
    return (stack, [opened.end_of_element for opened in stack]) if around is None else (around, ends)


def _numbers_only(text: str) -> tuple[str, int]:
    """Returns a text in which null replaces literals that are not numbers, and their count."""
    if not _MAYBE_NOT_A_NUMBER.search(text):
        return text, 0
    count = 0

    def null(match: re.Match[str]) -> str:
        nonlocal count
        if match[0].startswith('"'):
            return match[0]
        count += 1
        return "null"

    return _NOT_A_NUMBER.sub(null, text), count


def _note_numbers(count: int, parsed: ParsedJson) -> None:
    """Adds the defect that `count` values were not numbers."""
    if count:
        values_are = "a value is" if count == 1 else f"{count} values are"
        parsed.defects.append(f"{values_are} written as nan or inf, and unknown")
