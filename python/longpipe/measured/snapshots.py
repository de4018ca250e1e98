"""Logs of commands that print no time: snapshots, each preceded by a line with the time that `date +%s.%N` prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from longpipe.errors import ScenarioError
from longpipe.inputs.numbers import unix_ns
from longpipe.measured.content import Content
from longpipe.measured.fields import unix_of_date
from longpipe.measured.recording import Moved

# Lines of a snapshot, with their line numbers.
Lines = list[tuple[int, str]]


@dataclass(frozen=True)
class Times:
    """Whether a log has times, and the first of these as Unix time [ns]."""

    known: bool
    begin_ns: int | None


def split(content: Content, begins: Callable[[str], bool]) -> tuple[list[tuple[float, Lines]], Times]:
    """Returns the snapshots, each with its time [s] since the first one; all times are 0 if the log has none.

    A snapshot begins at a line that is a time or, in a log without times, at a line for which `begins` holds.
    """
    stamps = [stamp for _, line in content.lines if (stamp := _time(line)) is not None]
    first = stamps[0] if stamps else None
    snapshots: list[tuple[float, Lines]] = []
    latest = first
    for number, line in content.lines:
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
            if not snapshots or (first is None and begins(line) and snapshots[-1][1]):
                snapshots.append((0.0, []))
            snapshots[-1][1].append((number, line))
    return snapshots, Times(first is not None, first)


def _time(line: str) -> int | None:
    """Returns the Unix time [ns] in a line that contains only a time, as Unix time or in ISO 8601."""
    text = line.strip()
    if not text or not text[0].isdigit() or len(text) > 40:
        return None
    found = unix_ns(text) if len(text.partition(".")[0]) >= 9 else None
    if found is not None or not re.match(r"\d{4}-\d\d-\d\d[T ]", text):
        return found
    return unix_of_date(text.replace(",", "."))


def span(snapshots: list[tuple[float, Lines]]) -> float:
    """Returns the time [s] between the first and the last snapshot."""
    return snapshots[-1][0] - snapshots[0][0] if snapshots else 0.0


def steps(points: Iterable[tuple[float, float]]) -> Iterator[Moved]:
    """Yields a counter's increases, each with begin and end [s] of its interval.

    A counter that decreased was reset at an unknown time, so the interval of the reset has no increase.
    """
    for (before, previous), (at, value) in pairwise(points):
        if at > before and value >= previous:
            yield before, at, value - previous
