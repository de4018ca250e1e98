"""Logs of Pantheon's tunnel: packets that entered or left one end, and merged logs with delays by flow."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.measured.columns import Columns
from longpipe.measured.content import Content
from longpipe.measured.one_way import clock_notes
from longpipe.measured.recording import Recording, Subject, binned_rate, kept, series
from longpipe.measured.runs import joined, split_at

NAME: Final = "log of Pantheon"
_HEAD: Final = re.compile(r"# (.{0,500}?) ?(ingress|egress): (\d{1,15}(?:\.\d{1,9})?)")
_TUNNEL: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) - (\d{1,18}) - (\d{1,9})")
_NUMBER: Final = r"\d{1,12}(?:\.\d{1,9})?"
_MERGED: Final = re.compile(
    rf"({_NUMBER}) (?:(\+) (\d{{1,9}})|(-) (\d{{1,9}}) (-?{_NUMBER})|(#) (\d{{1,9}}))(?: (\d{{1,6}}))?"
)
# Smallest number of milliseconds that is a Unix time.
_EPOCH_MS: Final = 1e11
_COMMENT: Final = re.compile(r"#.{0,1000}")
_INIT: Final = re.compile(r"# init timestamp: (\d{1,15}(?:\.\d{1,9})?)")
_TIME: Final = re.compile(r"\d{1,15}(?:\.\d{1,9})?(?= )")


def recognizes(content: Content) -> bool:
    """Returns whether the text has the tunnel's header, or begins with events of a merged log."""
    lines = content.begins.splitlines()[:20]
    if lines and _HEAD.fullmatch(lines[0].strip()):
        return True
    events = [line for line in lines[:-1] or lines if line.strip() and not line.startswith("#")]
    return bool(events) and all(_MERGED.fullmatch(line.strip()) for line in events)


def read(content: Content) -> Recording:
    """Returns the packets of one end, or the flows of a merged log."""
    parts = split_at(content, lambda line: bool(_HEAD.fullmatch(line.strip()) or _INIT.fullmatch(line.strip())), _time)
    return joined([(part.lines[0][0], _of_run(part)) for part in parts])


def _time(line: str) -> float | None:
    number = _TIME.match(line)
    return None if number is None else float(number[0])


def _of_run(content: Content) -> Recording:
    head = _HEAD.fullmatch(content.lines[0][1].strip())
    if head is None and _TUNNEL.fullmatch(content.lines[0][1].strip()):
        raise ScenarioError(
            f"{content.file}:{content.lines[0][0]}: a time before the previous one; needs increasing times, or the "
            "first line of another log"
        )
    return _of_tunnel(content, head[2], float(head[3])) if head else _of_merged(content)


def _of_tunnel(content: Content, end: str, init_ms: float) -> Recording:
    """Returns the packets of one end of a tunnel, which began at Unix time `init_ms`."""
    packets = Columns(2)
    for line, text in content.lines[1:]:
        if not text.strip():
            continue
        match = _TUNNEL.fullmatch(text.strip())
        if match is None:
            raise ScenarioError(
                f"{content.file}:{line}: {shown(text)}; needs MS - UID - BYTES, as in '12.345 - 7 - 1500'"
            )
        packets.append(float(match[1]) / 1e3, float(match[3]))
    if not len(packets):
        location = f"{content.file}:{content.lines[0][0]}"
        raise ScenarioError(f"{location}: no packet; needs a log of a tunnel that carried packets")
    length = max(at for at, _ in packets)
    counters = {"packets": (float(len(packets)), "packets"), "bytes": (sum(size for _, size in packets), "bytes")}
    flow = Subject(end, "flow", kept(binned_rate(packets, 0.0, length, f"bytes at the {end}")), counters)
    unknown = ("delays and losses: the log covers one end; Pantheon merges both ends' logs",)
    begin = int(init_ms * 1e6) if init_ms > _EPOCH_MS else None
    return Recording(content.file, "Pantheon tunnel log", "Pantheon", None, begin, length, (flow,), unknown)


def _of_merged(content: Content) -> Recording:
    """Returns the flows of a log in which Pantheon has merged both ends of its tunnels."""
    entered: dict[str, Columns] = defaultdict(lambda: Columns(2))
    left: dict[str, Columns] = defaultdict(lambda: Columns(3))
    capacity = Columns(2)
    begin = None
    for line, text in content.lines:
        if (init := _INIT.fullmatch(text.strip())) and float(init[1]) > _EPOCH_MS:
            begin = int(float(init[1]) * 1e6)
        if not text.strip() or _COMMENT.fullmatch(text):
            continue
        match = _MERGED.fullmatch(text.strip())
        if match is None:
            raise ScenarioError(f"{content.file}:{line}: {shown(text)}; needs MS + BYTES or MS - BYTES DELAY_MS")
        name, at = f"flow {match[9] or 1}", float(match[1]) / 1e3
        if match[7]:
            capacity.append(at, float(match[8]))
        elif match[2]:
            entered[name].append(at, float(match[3]))
        else:
            left[name].append(at, float(match[5]), float(match[6]) / 1e3)
    names = sorted(entered.keys() | left.keys(), key=lambda name: (len(name), name))
    if not names:
        location = f"{content.file}:{content.lines[0][0]}"
        raise ScenarioError(f"{location}: no packet; needs a log of a tunnel that carried packets")
    length = max(max((row[0] for packets in (entered, left) for row in packets[name]), default=0.0) for name in names)
    subjects = [_flow(name, entered[name], left[name]) for name in names]
    if len(capacity):
        # Over an emulated link, the log contains the link's opportunities to send.
        rate = binned_rate(capacity, capacity[0][0], capacity[-1][0], "opportunities to send of the link")
        subjects.append(Subject("link", "path", kept(rate), {"opportunities": (float(len(capacity)), "opportunities")}))
    least = min((delay for name in names for _, _, delay in left[name]), default=None)
    unknown = (
        "the times of losses: there is no event for packets that entered and did not leave",
        "round trips: delays are one-way",
    )
    return Recording(
        content.file, "Pantheon merged log", "Pantheon", None, begin, length, tuple(subjects), unknown,
        tuple(clock_notes({"of the tunnel": least})),
    )  # fmt: skip


def _flow(name: str, entered: Columns, left: Columns) -> Subject:
    """Returns a flow with the rate and the delay of the packets that departed."""
    # The rate is that from the flow's first packet to its last departure.
    at = left.column(0)
    times = [row[0] for row in islice(entered, 1)] + ([at.min(), at.max()] if len(at) else []) or [0.0]
    with_values = kept(
        binned_rate(((at, size) for at, size, _ in left), min(times), max(times), "bytes that departed"),
        series("delay", ((at, delay) for at, _, delay in left), "one-way, at the departure"),
    )
    counters = {"entered": (float(len(entered)), "packets"), "departed": (float(len(left)), "packets")}
    # A part of a log may lack the packets that entered before it.
    if len(entered) >= len(left):
        counters["lost"] = (float(len(entered) - len(left)), "packets")
    return Subject(name, "flow", with_values, counters)
