"""Logs of commands that print no time: snapshots, each preceded by a line with the time that `date +%s.%N` prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from longpipe.errors import ScenarioError
from longpipe.inputs.numbers import unix_ns
from longpipe.measured.columns import Named
from longpipe.measured.content import Content
from longpipe.measured.recording import Moved
from longpipe.measured.texts import unix_ns_of_date

# Lines of a snapshot, with their line numbers.
Lines = list[tuple[int, str]]
Key = TypeVar("Key")
Value = TypeVar("Value")


def is_reset(previous: Mapping[str, float], current: Mapping[str, float]) -> bool:
    """Returns whether a counter has decreased."""
    return any(count < previous.get(name, count) for name, count in current.items())


@dataclass
class Run(Generic[Value]):
    """Consecutive snapshots of a subject: the first line, the numbers of each snapshot, and the latest value.

    The columns `at` and `line` of the numbers are the times [s] and the lines of the snapshots.
    """

    line: int
    last: Value
    rows: Named = field(default_factory=Named)
    # The latest value of each counter.
    counted: dict[str, float] = field(default_factory=dict)


@dataclass
class Runs(Generic[Value]):
    """The runs of a subject, each of which begins when a counter has decreased.

    `numbers` returns the numbers of a value that are kept, and `counters` those that only increase.
    """

    numbers: Callable[[Value], Mapping[str, float]]
    counters: Callable[[Value], Mapping[str, float]]
    runs: list[Run[Value]] = field(default_factory=list)

    def add(self, at: float, line: int, value: Value) -> None:
        """Adds the value of a snapshot at a time [s]."""
        counted = self.counters(value)
        run = self.runs[-1] if self.runs else None
        if run is None or is_reset(run.counted, counted):
            run = Run(line, value)
            self.runs.append(run)
        run.last = value
        run.counted |= counted
        run.rows.append({"at": at, "line": line, **self.numbers(value)})


@dataclass(frozen=True)
class Times:
    """Whether a log has times, and the first of these as Unix time [ns]."""

    are_known: bool
    begin_ns: int | None


class Snapshots:
    """The snapshots of a log, each with its time [s] since the first one; all times are 0 if the log has none.

    A snapshot begins at a line that is a time or, in a log without times, at a line for which `begins` holds. They are
    read whenever they are iterated over.
    """

    def __init__(self, content: Content, begins: Callable[[str], bool], is_content: Callable[[str], bool]) -> None:
        self._content, self._begins, self._is_content = content, begins, is_content
        stamps_ns = (stamp for _, line in content.timed_lines if (stamp := _time(line)) is not None)
        begin_ns = next(stamps_ns, None)
        self.times = Times(begin_ns is not None, begin_ns)
        # Time [s] between the first and the last snapshot, known after an iteration.
        self.length_s = 0.0

    def __iter__(self) -> Iterator[tuple[float, Lines]]:
        """Yields time and lines of each snapshot.

        Raises ScenarioError if times decrease, or if a line for which `is_content` holds precedes the first time.
        """
        file, begin_ns = self._content.file, self.times.begin_ns
        time_s, lines, latest_ns = 0.0, Lines(), None
        for number, line in self._content.timed_lines:
            stamp_ns = _time(line)
            if stamp_ns is not None and begin_ns is not None:
                if latest_ns is not None and stamp_ns < latest_ns:
                    decrease_s = (latest_ns - stamp_ns) / 1e9
                    raise ScenarioError(
                        f"{file}:{number}: {decrease_s:.3g} s before the previous time; needs increasing times"
                    )
                if latest_ns is not None:
                    yield time_s, lines
                latest_ns, time_s, lines = stamp_ns, (stamp_ns - begin_ns) / 1e9, Lines()
                self.length_s = time_s
            elif line.strip():
                if begin_ns is not None and latest_ns is None:
                    # Lines before the first time, such as the command's heading, do not belong to a snapshot.
                    if self._is_content(line):
                        raise ScenarioError(
                            f"{file}:{number}: a snapshot before the first time; needs a time before each snapshot"
                        )
                    continue
                if begin_ns is None and self._begins(line) and lines:
                    yield time_s, lines
                    lines = Lines()
                lines.append((number, line))
        if latest_ns is not None or lines:
            yield time_s, lines


def by_key(
    file: str,
    snapshots: Snapshots,
    parse: Callable[[Lines], Iterable[tuple[int, Key, Value]]],
    numbers: Callable[[Value], Mapping[str, float]],
    counters: Callable[[Value], Mapping[str, float]],
) -> dict[Key, Runs[Value]]:
    """Returns the runs of each key; `parse` yields line, key and value of each subject in a snapshot.

    Raises ScenarioError if a key occurs twice in a snapshot with a time, because the second one is another snapshot.
    """
    runs_by_key: dict[Key, Runs[Value]] = {}
    for at, lines in snapshots:
        keys_of_snapshot: set[Key] = set()
        for line, key, value in parse(lines):
            if snapshots.times.are_known and key in keys_of_snapshot:
                raise ScenarioError(f"{file}:{line}: a snapshot without a time; needs a time before each snapshot")
            keys_of_snapshot.add(key)
            if key not in runs_by_key:
                runs_by_key[key] = Runs(numbers, counters)
            runs_by_key[key].add(at, line, value)
    return runs_by_key


def _time(line: str) -> int | None:
    """Returns the Unix time [ns] in a line that contains only a time, as Unix time or in ISO 8601."""
    text = line.strip().replace(",", ".")
    if not text or not text[0].isdigit() or len(text) > 40:
        return None
    # A Unix time in seconds has had nine digits or more since 1973; a shorter number is not a time.
    time_ns = unix_ns(text) if len(text.partition(".")[0]) >= 9 else None
    if time_ns is not None or not re.match(r"\d{4}-\d\d-\d\d[T ]", text):
        return time_ns
    return unix_ns_of_date(text)


def steps(points: Iterable[tuple[float, ...]]) -> Iterator[Moved]:
    """Yields a counter's increases, each with start and end [s] of its interval, which may have no length."""
    for (begin_s, previous), (end_s, value) in pairwise(points):
        yield begin_s, end_s, value - previous
