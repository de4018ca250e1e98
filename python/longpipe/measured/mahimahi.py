"""Logs of mahimahi's mm-link (`--uplink-log`) and its traces: opportunities, arrivals, departures and drops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.measured.columns import Columns
from longpipe.measured.content import Content
from longpipe.measured.recording import Recording, Subject, binned_rate, kept, series
from longpipe.measured.runs import joined, split_at

NAME: Final = "log or trace of mahimahi"
# Number of bytes that an opportunity can deliver (PACKET_SIZE in mahimahi's link_queue.hh: the MTU and 4 bytes of TUN).
_OPPORTUNITY: Final = 1504
# Times are whole milliseconds.
_TICK_NS: Final = 1_000_000
_LATEST_MS: Final = 10**11
_EVENT: Final = re.compile(
    r"(\d{1,14}) (?:(\+) (\d{1,9})|(#) (\d{1,9})|(-) (\d{1,9}) (\d{1,9})|(d) (\d{1,9}) (\d{1,12}))"
)
_COMMENT: Final = re.compile(r"# (mahimahi|command line|queue|init timestamp|base timestamp)\b[: ]*(.{0,500}).*")
_INSTANT: Final = re.compile(r"\d{1,12}")
_TIMESTAMP: Final = re.compile(r"\d{1,15}")
_TIME: Final = re.compile(r"\d{1,15}(?= )")
# The trace and the name of a link in the first line of a log.
_LINK: Final = re.compile(r"mm-link \((?P<trace>.*)\) \[(?P<name>\w+)\].*")


def recognizes(content: Content) -> bool:
    """Returns whether the text begins like a log of mm-link, or contains only whole numbers."""
    first = content.begins.lstrip()
    return first.startswith("# mahimahi") or _is_trace(content)


def _is_trace(content: Content) -> bool:
    head = content.begins.split("\n")[:50]
    return bool(_INSTANT.fullmatch(head[0].strip())) and all(_INSTANT.fullmatch(line.strip()) for line in head[:-1])


def read(content: Content) -> Recording:
    """Returns the link that a log describes, or the capacity that a trace describes."""
    if _is_trace(content):
        return _of_trace(content)
    parts = split_at(content, lambda line: line.startswith("# mahimahi"), _time)
    return joined([(part.lines[0][0], _of_log(part)) for part in parts])


def _time(line: str) -> float | None:
    number = _TIME.match(line)
    return None if number is None else float(number[0])


def _of_trace(content: Content) -> Recording:
    """Returns the capacity of a trace, whose lines are the times [ms] at which a packet can be delivered."""
    instants = Columns(1)
    for line, text in content.lines:
        # `int` rejects some control characters that `strip` removes.
        number = text.strip()
        if not _INSTANT.fullmatch(number) or int(number) > _LATEST_MS:
            raise ScenarioError(f"{content.file}:{line}: {shown(text)}; needs a whole number of milliseconds")
        if len(instants) and int(number) < instants[-1][0]:
            latest = f"{instants[-1][0]:.0f}"
            raise ScenarioError(f"{content.file}:{line}: {int(number)} ms after {latest} ms; needs increasing times")
        instants.append(int(number))
    end = instants[-1][0] / 1e3
    if not end:
        raise ScenarioError(f"{content.file}:{len(instants)}: 0 ms; needs a last line above 0")
    opportunities = ((at / 1e3, _OPPORTUNITY) for (at,) in instants)
    rate = binned_rate(opportunities, 0.0, end, "opportunities of 1504 bytes", tick_ns=_TICK_NS)
    counters = {
        "opportunities": (float(len(instants)), "opportunities"),
        "capacity": (8 * _OPPORTUNITY * len(instants) / end, "bit/s"),
    }
    unknown = ("delays and losses: a trace contains only opportunities to send",)
    link = Subject("link", "path", kept(rate), counters)
    return Recording(content.file, "mahimahi trace", "mahimahi", None, None, end, (link,), unknown)


@dataclass
class _Head:
    """The comments of a log: the times [ms] to which it refers, None if it lacks them, and what they state."""

    base: int | None = None
    init: int | None = None
    name: str = "link"
    facts: dict[str, str] = field(default_factory=dict)

    def add(self, comment: re.Match[str]) -> None:
        """Adds a comment line of a log's head."""
        text = comment[2].strip()
        number = int(text) if _TIMESTAMP.fullmatch(text) else None
        if comment[1] == "base timestamp":
            self.base = number
        elif comment[1] == "init timestamp":
            self.init = number
        elif comment[1] in ("command line", "queue"):
            self.facts[comment[1]] = text
        elif link := _LINK.fullmatch(text):
            self.name = f"{link['name'].lower()} ({link['trace']})"


def _of_log(content: Content) -> Recording:
    """Returns the link of a log of mm-link, from its arrivals, departures, drops and delivery opportunities."""
    head = _Head()
    events = {kind: Columns(3) for kind in "+#-d"}
    for line, text in content.lines:
        if comment := _COMMENT.fullmatch(text):
            head.add(comment)
        elif text.strip():
            event = _EVENT.fullmatch(text.strip())
            if event is None or int(event[1]) > _LATEST_MS * 100:
                raise ScenarioError(
                    f"{content.file}:{line}: {shown(text)}; needs an event of mm-link, as in '12 - 1504 40'"
                )
            kind = next(group for group in (event[2], event[4], event[6], event[9]) if group)
            numbers = [float(group) for group in event.groups()[1:] if group and group[0].isdigit()]
            events[kind].append(int(event[1]), numbers[0], numbers[-1])
    times = [columns.column(0) for columns in events.values() if len(columns)]
    if not times:
        location = f"{content.file}:{content.lines[0][0]}"
        raise ScenarioError(f"{location}: no event; needs a log of a link that carried packets")
    earliest, latest = min(float(time.min()) for time in times), max(float(time.max()) for time in times)
    first = earliest if head.base is None else min(float(head.base), earliest)
    end = (latest - first) / 1e3

    def of(kind: str) -> Iterator[tuple[float, float, float]]:
        return (((at - first) / 1e3, value, other) for at, value, other in events[kind])

    link = Subject(
        head.name,
        "path",
        kept(
            binned_rate(
                ((at, size) for at, size, _ in of("-")),
                0.0,
                end,
                "bytes that departed, including 4 bytes of TUN header per packet",
                tick_ns=_TICK_NS,
            ),
            series("delay", ((at, ms / 1e3) for at, _, ms in of("-")), "in the queue, at the departure"),
            series("losses", ((at, packets) for at, packets, _ in of("d")), "packets dropped by the queue"),
        ),
        _counters(events, end),
        head.facts,
    )
    begin = None if head.init is None or head.init < 10**11 else head.init * 10**6
    unknown = ("flows and round trips: the log covers one direction of a link",)
    return Recording(content.file, "mm-link log", "mahimahi", None, begin, end, (link,), unknown)


def _counters(events: dict[str, Columns], end: float) -> dict[str, tuple[float, str]]:
    """Returns the counters of a log of `end` seconds; those of events that it should have, but lacks, are unknown."""
    counters = {
        "arrived": (float(len(events["+"])), "packets"),
        "departed": (float(len(events["-"])), "packets"),
        "bytes departed": (sum(size for _, size, _ in events["-"]), "bytes"),
        "dropped": (sum(packets for _, packets, _ in events["d"]), "packets"),
        "bytes dropped": (sum(size for _, _, size in events["d"]), "bytes"),
    }
    if not len(events["+"]):
        del counters["arrived"]
    if len(events["#"]):
        counters["opportunities"] = (float(len(events["#"])), "opportunities")
        if end:
            counters["capacity"] = (8 * sum(size for _, size, _ in events["#"]) / end, "bit/s")
    return counters
