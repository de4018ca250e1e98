"""Logs of `tc -s qdisc`, as text or JSON: counters and backlogs of Linux's queues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs import parse_json
from longpipe.measured.content import Content
from longpipe.measured.fields import get, optional, text
from longpipe.measured.recording import Moved, Recording, Series, Subject, kept, rates, series
from longpipe.measured.snapshots import Lines, Run, Runs, Snapshots, by_key, steps
from longpipe.measured.texts import decimal

NAME: Final = "tc -s qdisc"
_QUEUE: Final = re.compile(r"(qdisc|class) (\S+) (\S+) (?:dev (\S+) )?(.*)")
# First words of the lines that begin a queue, or something else that has counters.
_OBJECTS: Final = ("qdisc", "class", "filter", "chain", "action")
_KIND: Final = re.compile(r'"kind"\s*:\s*"')
_PARENT: Final = re.compile(r"\bparent (\S+)")
_SENT: Final = re.compile(r"Sent (\d+) bytes (\d+) pkts? \(dropped (\d+), overlimits (\d+) requeues (\d+)\).*")
# The line begins with a rate if the queue has an estimator, and in versions of iproute2 before 4.
_BACKLOG: Final = re.compile(
    r"(?:rate (\d+(?:\.\d+)?)([KMGT]?)bit \d+pps )?backlog (\d+(?:\.\d+)?)([KMG]?)b (\d+)p requeues \d+.*",
    re.IGNORECASE,
)
# Counters specific to disciplines (fq_codel, codel, pie, red), written as a name and a number.
_MORE: Final = re.compile(
    r"\b(maxpacket|drop_overlimit|new_flow_count|ecn_mark|drop_overmemory|count|lastcount|marked|early|pdrop) (\d+)\b"
)
# tc prints sizes in units of 1024 bytes, and rates in units of 1000 bits.
_PREFIXES: Final = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}
_RATE_PREFIXES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNITS: Final = {
    "bytes": "bytes",
    "packets": "packets",
    "drops": "packets",
    "overlimits": "events",
    "requeues": "events",
    "backlog": "bytes",
    "qlen": "packets",
    "estimated rate": "bit/s",
}
# Values that describe the state of a queue; the others count events since the queue exists.
_STATES: Final = ("backlog", "qlen", "estimated rate", "maxpacket", "count", "lastcount")
# Number of damaged queues whose lines a note lists.
_LISTED: Final = 5
Counters = dict[str, float]
# Device, kind, handle and parent of a queue; "" if tc does not print them.
Key = tuple[str, str, str, str]


def recognizes(content: Content) -> bool:
    """Returns whether the content contains queues as tc prints them."""
    if content.is_json:
        first = content.json_values[0][1]
        return isinstance(first, list) and any(
            get(queue, "kind") is not None and _has_counters(queue) for queue in first
        )
    return any(map(_is_queue, content.begins.splitlines()))


def _is_queue(line: str) -> bool:
    """Returns whether a line begins a queue, in text or in JSON."""
    return bool(_QUEUE.fullmatch(line.strip())) or _KIND.search(line) is not None


def _has_counters(value: object) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_UNITS)


def read(content: Content) -> Recording:
    """Returns the queues of a log. A queue is identified by its device, its parent, its handle and its kind."""
    notes: list[str] = []
    if content.is_json:
        begin, length, is_timed = None, 0.0, False
        queues: dict[Key, Runs[Counters]] = {}
        for location, value in content.json_values:
            for key, counters in _of_json(location, value):
                queues.setdefault(key, Runs(dict, _increasing)).add(0.0, 0, counters)
    else:
        snapshots = Snapshots(content, lambda _: False, _is_queue)
        queues = by_key(
            content.file, snapshots, lambda lines: _of_snapshot(content.file, lines, notes), dict, _increasing
        )
        begin, length, is_timed = snapshots.times.begin_ns, snapshots.length_s, snapshots.times.are_known
    subjects = tuple(_subject(key, of_key.runs, notes, timed=is_timed) for key, of_key in queues.items())
    if not subjects:
        raise ScenarioError(
            f"{content.file}: no queue with counters; needs the output of `tc -s qdisc` (not without -s)"
        )
    unknown = ["delays and flows: tc only counts packets of a queue"]
    if not is_timed:
        unknown.insert(0, "times: the log has none; print `date +%s.%N` before each `tc -s qdisc`")
    return Recording(
        content.file, "tc -s qdisc", "tc of iproute2", None, begin, length, subjects, tuple(unknown), tuple(notes)
    )


def _of_json(document: str, value: object) -> Iterator[tuple[Key, Counters]]:
    for number, queue in enumerate(value if isinstance(value, list) else []):
        location = f"{document}: [{number}]"
        counters = {key: count for key in _UNITS if (count := optional(location, queue, key)) is not None}
        if counters and get(queue, "kind") is not None:
            names = ("dev", "kind", "handle", "parent")
            device, kind, handle, parent = (text(queue, name) or "" for name in names)
            yield (device, kind, handle, parent), counters


def _of_snapshot(file: str, lines: Lines, notes: list[str]) -> Iterator[tuple[int, Key, Counters]]:
    """Yields the line, the key and the counters of each queue."""
    if lines and lines[0][1].lstrip().startswith("["):
        number, location = lines[0][0], f"{file}:{lines[0][0]}"
        value = parse_json("\n".join(text for _, text in lines).encode(), location, "JSON of `tc -s -j qdisc`")
        yield from ((number, key, counters) for key, counters in _of_json(location, value))
    else:
        yield from _of_text(lines, notes)


def _of_text(lines: Lines, notes: list[str]) -> Iterator[tuple[int, Key, Counters]]:
    """Yields the line, the key and the counters of each queue; `notes` gets a line for each damaged one."""
    at, key, counters = 0, None, Counters()
    for number, line in lines:
        words = line.strip()
        if words.split(" ", 1)[0] in _OBJECTS:
            if key is not None and counters:
                yield at, key, counters
            queue = _QUEUE.fullmatch(words)
            at, key, counters = number, None if queue is None else _key(queue), Counters()
        elif sent := _SENT.fullmatch(words):
            if "bytes" in counters or not at:
                # Each queue has one such line, behind its name.
                notes.append(f"the queue before line {number} is damaged and skipped")
                if key is not None:
                    yield at, key, counters
                at, key, counters = number, None, Counters()
            names = ("bytes", "packets", "drops", "overlimits", "requeues")
            counters |= _known(dict(zip(names, sent.groups(), strict=True)))
        elif backlog := _BACKLOG.fullmatch(words):
            size = _known({"backlog": backlog[3], "qlen": backlog[5], "estimated rate": backlog[1]})
            scales = {"backlog": _PREFIXES[backlog[4].upper()]}
            scales["estimated rate"] = _RATE_PREFIXES[(backlog[2] or "").upper()]
            counters |= {name: value * scales.get(name, 1) for name, value in size.items()}
        else:
            counters |= _known(dict(_MORE.findall(words)))
    if key is not None and counters:
        yield at, key, counters


def _key(queue: re.Match[str]) -> Key:
    parent = _PARENT.search(queue[5])
    kind = queue[2] if queue[1] == "qdisc" else f"class {queue[2]}"
    return queue[4] or "", kind, queue[3], parent[1] if parent else ""


def _known(numbers: dict[str, str | None]) -> Counters:
    """Returns the numbers that are counters; those with more than 64 bits are not."""
    values = {name: decimal(number or "") for name, number in numbers.items()}
    return {name: value for name, value in values.items() if value is not None}


def _increasing(counters: Counters) -> Counters:
    return {name: value for name, value in counters.items() if name not in _STATES}


def _subject(key: Key, runs: list[Run[Counters]], notes: list[str], *, timed: bool) -> Subject:
    device, kind, handle, parent = key
    name = " ".join(part for part in (device, kind, handle, parent and f"parent {parent}") if part)
    # A queue that was replaced starts to count again.
    notes += (f"{name}: its counters were reset before line {run.line}" for run in runs[1:])
    for counter in ("bytes", "backlog"):
        lacking = [line for run in runs for line in run.rows.lacking(counter, "line")]
        if 0 < len(lacking) < sum(len(run.rows) for run in runs):
            notes.append(
                f"{name}: {counter} is unknown at line {', '.join(f'{line:.0f}' for line in lacking[:_LISTED])}"
            )
    last = runs[-1].last
    counters = {}
    for counter, value in last.items():
        ends = [value] if counter in _STATES else [run.last.get(counter) for run in runs]
        if None not in ends:
            counters[counter] = (sum(end for end in ends if end is not None), _UNITS.get(counter, "events"))
    with_values: tuple[Series, ...] = ()
    if timed:
        since = "since the previous snapshot"
        backlogs = chain.from_iterable(run.rows.points("backlog", "at") for run in runs)
        with_values = kept(
            rates(_steps(runs, "bytes"), f"sent {since}"),
            series(
                "losses", ((at, increase) for _, at, increase in _steps(runs, "drops") if increase), f"dropped {since}"
            ),
            series("backlog", backlogs, "at the snapshot", "bytes"),
        )
    return Subject(name, "queue", with_values, counters)


def _steps(runs: list[Run[Counters]], name: str) -> Iterator[Moved]:
    """Yields the increases of a counter between the snapshots of each run."""
    return chain.from_iterable(steps(run.rows.points(name, "at")) for run in runs)
