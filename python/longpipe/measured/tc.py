"""Logs of `tc -s qdisc`, as text or JSON: counters and backlogs of Linux's queues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.fields import decimal, get, optional, text
from longpipe.measured.recording import Recording, Series, Subject, kept, rates, series
from longpipe.measured.snapshots import Lines, span, split, steps

NAME: Final = "tc -s qdisc"
_QUEUE: Final = re.compile(r"qdisc (\S+) (\S+) (?:dev (\S+) )?(.*)")
_SENT: Final = re.compile(r"Sent (\d+) bytes (\d+) pkts? \(dropped (\d+), overlimits (\d+) requeues (\d+)\).*")
_BACKLOG: Final = re.compile(r"backlog (\d+(?:\.\d+)?)([KMG]?)b (\d+)p requeues \d+.*", re.IGNORECASE)
# Counters specific to disciplines (fq_codel, codel, pie, red), written as a name and a number.
_MORE: Final = re.compile(
    r"\b(maxpacket|drop_overlimit|new_flow_count|ecn_mark|drop_overmemory|count|lastcount|marked|early|pdrop) (\d+)\b"
)
# tc prints sizes in units of 1024 bytes.
_PREFIXES: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_UNITS: Final = {
    "bytes": "bytes",
    "packets": "packets",
    "drops": "packets",
    "overlimits": "events",
    "requeues": "events",
    "backlog": "bytes",
    "qlen": "packets",
}
Counters = dict[str, float]


def recognises(content: Content) -> bool:
    """Returns whether the content contains queues as tc prints them."""
    if content.is_json:
        first = content.json_values[0][1]
        return isinstance(first, list) and bool(first) and get(first[0], "kind") is not None and _has_counters(first[0])
    return any(_QUEUE.fullmatch(line.strip()) for line in content.begins.splitlines())


def _has_counters(value: object) -> bool:
    return isinstance(value, dict) and {"drops", "packets"} <= value.keys()


def read(content: Content) -> Recording:
    """Returns the queues of a log."""
    found: dict[str, list[tuple[float, Counters]]] = {}
    if content.is_json:
        begin, length, known = None, 0.0, False
        for where, value in content.json_values:
            for name, counters in _of_json(where, value):
                found.setdefault(name, []).append((0.0, counters))
    else:
        snapshots, times = split(content, lambda _: False)
        begin, length, known = times.begin_ns, span(snapshots), times.known
        for at, lines in snapshots:
            for name, counters in _of_text(lines):
                found.setdefault(name, []).append((at, counters))
    subjects = tuple(_subject(name, rows, timed=known) for name, rows in found.items())
    if not subjects:
        raise ScenarioError(f"{content.file}: no queue with counters; needs what `tc -s qdisc` prints (not without -s)")
    unknown = ["delays and flows: tc only counts packets of a queue"]
    if not known:
        unknown.insert(0, "times: the log has none; print `date +%s.%N` before each `tc -s qdisc`")
    return Recording(content.file, "tc -s qdisc", "tc of iproute2", None, begin, length, subjects, tuple(unknown))


def _of_json(where: str, value: object) -> Iterator[tuple[str, Counters]]:
    for number, one in enumerate(value if isinstance(value, list) else []):
        place = f"{where}: [{number}]"
        counters = {key: found for key in _UNITS if (found := optional(place, one, key)) is not None}
        if _has_counters(one):
            yield _name(text(one, "dev"), text(one, "kind"), text(one, "handle")), counters


def _name(device: str | None, kind: str | None, handle: str | None) -> str:
    return " ".join(part for part in (device, kind, handle) if part)


def _of_text(lines: Lines) -> Iterator[tuple[str, Counters]]:
    name, counters = None, Counters()
    for _, line in lines:
        words = line.strip()
        if queue := _QUEUE.fullmatch(words):
            if name is not None and counters:
                yield name, counters
            name, counters = _name(queue[3], queue[1], queue[2]), Counters()
        elif sent := _SENT.fullmatch(words):
            names = ("bytes", "packets", "drops", "overlimits", "requeues")
            counters |= dict(zip(names, map(_known, sent.groups()), strict=True))
        elif backlog := _BACKLOG.fullmatch(words):
            counters["backlog"] = _known(backlog[1]) * _PREFIXES[backlog[2].upper()]
            counters["qlen"] = _known(backlog[3])
        else:
            counters |= {key: _known(number) for key, number in _MORE.findall(words)}
    if name is not None and counters:
        yield name, counters


def _known(number: str) -> float:
    # Numbers with more than 64 bits are not counters.
    return decimal(number) or 0.0


def _subject(name: str, rows: list[tuple[float, Counters]], *, timed: bool) -> Subject:
    last = rows[-1][1]
    counters = {key: (value, _UNITS.get(key, "events")) for key, value in last.items()}
    found: tuple[Series, ...] = ()
    if timed:

        def points(key: str) -> Any:  # noqa: ANN401 - an iterator over pairs
            return ((at, one[key]) for at, one in rows if key in one)

        since = "since the previous snapshot"
        found = kept(
            rates(steps(points("bytes")), f"sent {since}"),
            series("losses", ((at, more) for _, at, more in steps(points("drops")) if more), f"dropped {since}"),
            series("backlog", points("backlog"), "at the snapshot", "bytes"),
        )
    return Subject(name, "queue", found, counters)
