"""Lines of a text file that are decoded while they are read, so that a file of 1 GiB is in memory only once."""

from __future__ import annotations

import codecs
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Final, overload

from longpipe.errors import ScenarioError
from longpipe.inputs.text import MAX_LINES

# Number of bytes that are decoded at once.
_STEP: Final = 1 << 20
_SPACE: Final = b" \t\r\n\v\f"
# A line with its number in the file.
Line = tuple[int, str]


def as_utf_8(data: bytes, encoding: str) -> bytes:
    """Returns a text in UTF-8; raises UnicodeDecodeError if the data are not in the given encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    converted = bytearray()
    for at in range(0, len(data), _STEP):
        converted += decoder.decode(data[at : at + _STEP], final=at + _STEP >= len(data)).encode()
    return bytes(converted)


def is_utf_8(data: bytes) -> bool:
    """Returns whether data are text in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), _STEP):
            decoder.decode(data[at : at + _STEP], final=at + _STEP >= len(data))
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True)
class _Text:
    """A text in UTF-8 or ISO 8859-1, and the places of blocks of whole lines: first byte and number of lines before."""

    data: bytes
    encoding: str
    places: Sequence[int]
    counts: Sequence[int]
    # The latest block, because short parts of a text may be read in turn.
    latest: dict[int, list[str]] = field(default_factory=dict)

    def block(self, index: int) -> list[str]:
        """Returns the lines of a block."""
        if index not in self.latest:
            self.latest.clear()
            self.latest[index] = self._decoded(index)
        return self.latest[index]

    def _decoded(self, index: int) -> list[str]:
        text = self.data[self.places[index] : self.places[index + 1]].decode(self.encoding)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text.removesuffix("\n").split("\n")


def _text(file: str, data: bytes, encoding: str, needs: str) -> _Text:
    """Returns the text without blank lines at the end; raises ScenarioError if it has too many lines."""
    end = len(data)
    while end and data[end - 1] in _SPACE:
        end -= 1
    at = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    places, counts = [at], [0]
    while at < end:
        # The last line need not end.
        stop = data.find(b"\n", min(at + _STEP, end)) + 1 or len(data)
        part = data[at:stop]
        ends = part.count(b"\n") + part.count(b"\r") - part.count(b"\r\n")
        at = stop
        places.append(at)
        counts.append(counts[-1] + ends)
    if at > places[0]:
        # Blank lines at the end are not counted.
        blank = data[end:at]
        counts[-1] -= blank.count(b"\n") + blank.count(b"\r") - blank.count(b"\r\n")
        counts[-1] += 1
    if counts[-1] > MAX_LINES:
        raise ScenarioError(f"{file}: {counts[-1]} lines; needs {needs} of at most {MAX_LINES}")
    return _Text(data, encoding, places, counts)


@dataclass(frozen=True)
class Lines(Sequence[Line]):
    """The lines with the numbers `first` to `stop` - 1 of a text, without those of the numbers `omitted`.

    `change` replaces each line by another text.
    """

    _text: _Text
    first: int
    stop: int
    omitted: frozenset[int] = frozenset()
    change: Callable[[str], str] | None = None

    @classmethod
    def of(cls, file: str, data: bytes, encoding: str, needs: str) -> Lines:
        """Returns all lines of a text in UTF-8 or ISO 8859-1 except blank ones at the end."""
        text = _text(file, data, encoding, needs)
        return cls(text, 1, text.counts[-1] + 1)

    def without(self, *numbers: int) -> Lines:
        """Returns the lines without those of these numbers."""
        return replace(self, omitted=self.omitted.union(numbers))

    def changed(self, change: Callable[[str], str]) -> Lines:
        """Returns the lines, each replaced by what `change` returns."""
        return replace(self, change=change)

    def __len__(self) -> int:
        return self.stop - self.first - sum(self.first <= number < self.stop for number in self.omitted)

    def __iter__(self) -> Iterator[Line]:
        """Yields the lines with their numbers."""
        text, number = self._text, self.first
        for index in range(bisect_right(text.counts, number - 1) - 1, len(text.places) - 1):
            if number >= self.stop:
                return
            # Line `counts[index]` + 1 begins at `places[index]`.
            skipped = number - 1 - text.counts[index]
            lines = text.block(index)[skipped : self.stop - 1 - text.counts[index]]
            for line in lines:
                if number not in self.omitted:
                    yield number, line if self.change is None else self.change(line)
                number += 1

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> Lines: ...
    def __getitem__(self, at: int | slice) -> Line | Lines:
        """Returns a line, or consecutive lines."""
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            if step != 1:
                raise ValueError(f"step: {step}; needs 1")
            return replace(self, first=self._number(begin), stop=self._number(max(begin, end)))
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        number = self._number(at % len(self))
        return next(iter(replace(self, first=number, stop=number + 1)))

    def _number(self, place: int) -> int:
        """Returns the number of the line at a place, counted from 0."""
        number = self.first + place
        for omitted in sorted(self.omitted):
            number += self.first <= omitted <= number
        return min(number, self.stop)


class Texts:
    """Lines without their numbers; blank lines before the first one keep the numbers in messages of a table."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    @property
    def _before(self) -> int:
        return next(iter(self._lines), (1, ""))[0] - 1

    def __len__(self) -> int:
        return self._before + len(self._lines)

    def __iter__(self) -> Iterator[str]:
        """Yields the lines."""
        return chain(repeat("", self._before), (line for _, line in self._lines))


class Parts(Sequence[Line]):
    """Some of the lines of a sequence, stored as ranges of their places."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._ends = array("q")
        self._begins = array("q")

    def append(self, place: int) -> None:
        """Appends the line at a place of the sequence, behind those appended before."""
        if self._ends and self._ends[-1] == place:
            self._ends[-1] += 1
        else:
            self._begins.append(place)
            self._ends.append(place + 1)

    def __len__(self) -> int:
        return sum(self._ends) - sum(self._begins)

    def __iter__(self) -> Iterator[Line]:
        """Yields the lines with their numbers."""
        for begin, end in zip(self._begins, self._ends, strict=True):
            yield from self._lines[begin:end]

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> list[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | list[Line]:
        """Returns a line, or consecutive lines."""
        if isinstance(at, slice):
            return list(self)[at]
        if at == 0 and self._begins:
            return self._lines[self._begins[0]]
        return list(self)[at]
