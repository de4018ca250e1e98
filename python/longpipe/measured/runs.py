"""Files with several runs of a tool, such as logs to which each run is appended.

A reset of the tool's header, of its sequence numbers or of its times begins a run. Readers read each run on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from longpipe.measured.content import Content
from longpipe.measured.recording import Recording, Series, Subject

# Number of runs whose first lines a note lists.
_LISTED: Final = 5


def split_at(
    content: Content, is_header: Callable[[str], bool], time_of: Callable[[str], float | None]
) -> list[Content]:
    """Returns the runs of a text file: one begins with a header after other lines, or where the time decreases.

    `time_of` returns the time in a line, or None for a line without time.
    """
    begins = [0]
    latest: float | None = None
    has_begun = False
    for index, (_, line) in enumerate(content.lines):
        at = time_of(line)
        is_first = has_begun and is_header(line)
        if is_first or (at is not None and latest is not None and at < latest):
            begins.append(index)
            latest, has_begun = None, False
        latest = latest if at is None else at
        has_begun = has_begun or bool(line.strip())
    if len(begins) == 1:
        return [content]
    return [content.of_lines(content.lines[begin:end]) for begin, end in zip(begins, [*begins[1:], None], strict=True)]


def joined(runs: Sequence[tuple[int, Recording]]) -> Recording:
    """Returns one recording of all runs, each with its first line, in the order of the file.

    Paths and queues with the same key are one subject over all runs: their counters are summed, and are unknown if a
    run does not have them. Flows of different runs are different connections. A run without absolute time begins at the
    end of the run before it.
    """
    first = runs[0][1]
    if len(runs) == 1:
        return first
    recordings = [recording for _, recording in runs]
    begins_ns = [recording.begin_ns for recording in recordings if recording.begin_ns is not None]
    anchor = min(begins_ns, default=None)
    offsets: list[float] = []
    end = 0.0
    for recording in recordings:
        offsets.append(end if recording.begin_ns is None or anchor is None else (recording.begin_ns - anchor) / 1e9)
        end = offsets[-1] + recording.duration_s
    of_key: dict[tuple[str, ...], list[tuple[float, float, Subject]]] = {}
    for number, (recording, offset) in enumerate(zip(recordings, offsets, strict=True)):
        for index, subject in enumerate(recording.subjects):
            subject_key = (
                (f"{number}", f"{index}") if subject.kind == "flow" else (subject.kind, subject.key or subject.name)
            )
            of_key.setdefault(subject_key, []).append((offset, recording.duration_s, subject))
    lines = [f"{line}" for line, _ in runs[:_LISTED]] + (["..."] if len(runs) > _LISTED else [])
    notes = [f"the file contains {len(runs)} runs, which begin at lines {', '.join(lines)}"]
    if len(begins_ns) < len(runs):
        notes.append("the time between runs is unknown where the file has no absolute time: they follow one another")
    versions = _unique(recording.version for recording in recordings if recording.version)
    return replace(
        first,
        version=", ".join(versions) or None,
        begin_ns=anchor,
        duration_s=max(offset + recording.duration_s for offset, recording in zip(offsets, recordings, strict=True)),
        subjects=tuple(_merged(of_subject) for of_subject in of_key.values()),
        unknown=_unique(text for recording in recordings for text in recording.unknown),
        notes=_unique((*notes, *(text for recording in recordings for text in recording.notes))),
    )


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _merged(runs: list[tuple[float, float, Subject]]) -> Subject:
    """Returns a subject over its runs, each with its start [s], its length [s] and the subject as it is in the run."""
    subjects = [subject for _, _, subject in runs]
    parts: dict[tuple[str, str], list[Series]] = {}
    for begin, _, subject in runs:
        for series in subject.series:
            spans = None if series.intervals_s is None else series.intervals_s + begin
            moved = replace(series, time_s=series.time_s + begin, intervals_s=spans)
            parts.setdefault((series.quantity, series.unit), []).append(moved)
    counters = {
        name: (_total([(subject.counters[name][0], length) for _, length, subject in runs], unit), unit)
        for name, (_, unit) in subjects[0].counters.items()
        if all(subject.counters.get(name, (0.0, ""))[1] == unit for subject in subjects)
    }
    facts = {
        name: value
        for name, value in subjects[0].facts.items()
        if all(subject.facts.get(name) == value for subject in subjects)
    }
    return replace(subjects[0], series=tuple(map(_over, parts.values())), counters=counters, facts=facts)


def _total(values: Sequence[tuple[float, float]], unit: str) -> float:
    """Returns the sum of counts; rates are weighted by the lengths [s] of the runs."""
    if unit != "bit/s":
        return sum(value for value, _ in values)
    lengths = sum(length for _, length in values)
    return sum(value * length for value, length in values) / lengths if lengths else 0.0


def _over(parts: list[Series]) -> Series:
    """Returns the values of several series of the same quantity in the order of their times."""
    import numpy as np

    times = np.concatenate([part.time_s for part in parts])
    order = np.argsort(times, kind="stable")
    spans = [part.intervals_s for part in parts if part.intervals_s is not None]
    return replace(
        parts[0],
        time_s=times[order],
        numbers=np.concatenate([part.numbers for part in parts])[order],
        intervals_s=np.concatenate(spans)[order] if len(spans) == len(parts) else None,
    )
