"""Logs of commands that print no time: snapshots, each preceded by a line with the time that `date +%s.%N` prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from longpipe.errors import ScenarioError
from longpipe.inputs.numbers import unix_ns
from longpipe.measured.content import Content
from longpipe.measured.fields import unix_of_date
from longpipe.measured.recording import Moved

# Lines of a snapshot, with their line numbers.
Lines = list[tuple[int, str]]
Key = TypeVar("Key")
Value = TypeVar("Value")


class Row(NamedTuple, Generic[Value]):
    """What a snapshot shows of a subject: its time [s], its line, and a value."""

    at: float
    line: int
    value: Value


@dataclass(frozen=True)
class Times:
    """Whether a log has times, and the first of these as Unix time [ns]."""

    known: bool
    begin_ns: int | None


def split(
    content: Content, begins: Callable[[str], bool], is_content: Callable[[str], bool]
) -> tuple[list[tuple[float, Lines]], Times]:
    """Returns the snapshots, each with its time [s] since the first one; all times are 0 if the log has none.

    A snapshot begins at a line that is a time or, in a log without times, at a line for which `begins` holds. Raises
    ScenarioError if times decrease, or if a line for which `is_content` holds precedes the first time.
    """
    stamps = [stamp for _, line in content.timed_lines if (stamp := _time(line)) is not None]
    first = stamps[0] if stamps else None
    snapshots: list[tuple[float, Lines]] = []
    latest = None
    for number, line in content.timed_lines:
        stamp = _time(line)
        if stamp is not None and first is not None:
            if latest is not None and stamp < latest:
                behind = (latest - stamp) / 1e9
                raise ScenarioError(
                    f"{content.file}:{number}: {behind:.3g} s before the previous time; needs increasing times"
                )
            latest = stamp
            snapshots.append(((stamp - first) / 1e9, []))
        elif line.strip():
            if first is not None and latest is None:
                if is_content(line):
                    raise ScenarioError(
                        f"{content.file}:{number}: a snapshot before the first time; needs a time before each snapshot"
                    )
                continue
            if not snapshots or (first is None and begins(line) and snapshots[-1][1]):
                snapshots.append((0.0, []))
            snapshots[-1][1].append((number, line))
    return snapshots, Times(first is not None, first)


def by_key(
    file: str,
    snapshots: Iterable[tuple[float, Lines]],
    parse: Callable[[Lines], Iterable[tuple[int, Key, Value]]],
    *,
    timed: bool,
) -> dict[Key, list[Row[Value]]]:
    """Returns the rows of each key; `parse` yields line, key and value of each subject in a snapshot.

    Raises ScenarioError if a key occurs twice in a snapshot with a time, because the second one is another snapshot.
    """
    found: dict[Key, list[Row[Value]]] = {}
    for at, lines in snapshots:
        seen: set[Key] = set()
        for line, key, value in parse(lines):
            if timed and key in seen:
                raise ScenarioError(f"{file}:{line}: a snapshot without a time; needs a time before each snapshot")
            seen.add(key)
            found.setdefault(key, []).append(Row(at, line, value))
    return found


def until_reset(rows: Sequence[Row[Value]], counters: Callable[[Value], Mapping[str, float]]) -> list[list[Row[Value]]]:
    """Returns the rows of a subject in parts, each of which begins when a counter has decreased."""
    parts: list[list[Row[Value]]] = []
    latest: dict[str, float] = {}
    for row in rows:
        now = counters(row.value)
        if not parts or any(value < latest.get(name, value) for name, value in now.items()):
            parts.append([])
            latest = {}
        parts[-1].append(row)
        latest |= now
    return parts


def _time(line: str) -> int | None:
    """Returns the Unix time [ns] in a line that contains only a time, as Unix time or in ISO 8601."""
    text = line.strip().replace(",", ".")
    if not text or not text[0].isdigit() or len(text) > 40:
        return None
    found = unix_ns(text) if len(text.partition(".")[0]) >= 9 else None
    if found is not None or not re.match(r"\d{4}-\d\d-\d\d[T ]", text):
        return found
    return unix_of_date(text)


def span(snapshots: list[tuple[float, Lines]]) -> float:
    """Returns the time [s] between the first and the last snapshot."""
    return snapshots[-1][0] - snapshots[0][0] if snapshots else 0.0


def steps(points: Iterable[tuple[float, float]]) -> Iterator[Moved]:
    """Yields a counter's increases, each with begin and end [s] of its interval, which may have no length."""
    for (before, previous), (at, value) in pairwise(points):
        yield before, at, value - previous
