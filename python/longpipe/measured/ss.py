"""Logs of `ss -tin`: Linux's sockets at the times that the log contains before each snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.measured.columns import Columns, Named
from longpipe.measured.content import Content
from longpipe.measured.recording import Recording, Subject, kept, rates, series
from longpipe.measured.snapshots import Lines, Run, Snapshots, by_key, steps
from longpipe.measured.texts import decimal

NAME: Final = "a log of ss -tin"
_STATES: Final = "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING|UNCONN"
# With `state established`, ss omits the column of states.
_SOCKET: Final = re.compile(rf"(?:tcp\s+)?(?:({_STATES})\s+)?(\d+)\s+(\d+)\s+(\S*:\S+)\s+(\S*:\S+)(?:\s+(.*))?")
_HEAD: Final = re.compile(r"(Netid\s+)?(State\s+)?Recv-Q\s+Send-Q.*")
# Items of a socket that are counters, with their units (iproute2, misc/ss.c).
_COUNTERS: Final = {
    "bytes_sent": "bytes",
    "bytes_acked": "bytes",
    "bytes_received": "bytes",
    "bytes_retrans": "bytes",
    "segs_out": "packets",
    "segs_in": "packets",
    "data_segs_out": "packets",
    "data_segs_in": "packets",
    "delivered": "packets",
    "delivered_ce": "packets",
    "dsack_dups": "packets",
    "reord_seen": "events",
}
_SIZES: Final = {"mss": "bytes", "pmtu": "bytes"}
_TIMES: Final = ("minrtt", "rto", "busy", "rwnd_limited", "sndbuf_limited")
_DRAWN: Final = ("bytes_acked", "delivery_rate", "pacing_rate", "rtt", "cwnd")
_FLAGS: Final = {"ts", "usec_ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited"}
_LISTENING: Final = ("LISTEN", "UNCONN")
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)bps", re.IGNORECASE)
_PREFIXES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

# Items by name, each as text; a congestion control has the name "control".
Items = dict[str, str]


def recognizes(content: Content) -> bool:
    """Returns whether the text contains a line of ss about a socket."""
    return any(_HEAD.fullmatch(line.strip()) or _SOCKET.fullmatch(line.strip()) for line in content.begins.splitlines())


def read(content: Content) -> Recording:
    """Returns the sockets of a log, each with its series over the snapshots."""
    snapshots = Snapshots(
        content,
        lambda line: bool(_HEAD.fullmatch(line.strip())),
        lambda line: bool(_SOCKET.fullmatch(line.strip())),
    )
    times = snapshots.times
    sockets = by_key(content.file, snapshots, lambda lines: _sockets(content.file, lines), _numbers, _counted)
    subjects = tuple(
        _subject(name, connection, timed=times.are_known)
        for name, connections in sockets.items()
        for connection in connections.runs
    )
    if not subjects:
        raise ScenarioError(
            f"{content.file}: no TCP socket with details; needs the output of `ss -tin` while data is sent"
        )
    unknown = ["RTTs and losses of single packets: each value is the kernel's state at one instant"]
    if not times.are_known:
        unknown.insert(0, "times: the log has none; print `date +%s.%N` before each `ss -tin`")
    ordered = sorted(subjects, key=lambda socket: -socket.counters.get("bytes_acked", (0.0, ""))[0])
    return Recording(
        content.file,
        "ss -tin",
        "ss of iproute2",
        None,
        times.begin_ns,
        snapshots.length_s,
        tuple(ordered),
        tuple(unknown),
    )


def _sockets(file: str, lines: Lines) -> Iterator[tuple[int, str, Items]]:
    """Yields line, name and items of each socket.

    The items are on the line of the socket (-O), or on the next one, which is indented. Listening sockets are omitted,
    because they carry no data, and several of them may have the same addresses.
    """
    name, is_expected = "", False
    for number, line in lines:
        location = f"{file}:{number}"
        socket = _SOCKET.fullmatch(line.strip())
        if socket is not None:
            name = "" if socket[1] in _LISTENING else f"{socket[4]} > {socket[5]}"
            is_expected = "rto:" not in (socket[6] or "")
            if name and not is_expected:
                yield number, name, _items(location, socket[6])
        elif is_expected and line[:1] in ("\t", " "):
            is_expected = False
            if name:
                yield number, name, _items(location, line)
        elif line.strip() and not _HEAD.fullmatch(line.strip()):
            raise ScenarioError(f"{location}: {shown(line.strip())}; needs a socket of `ss -tin`, or a time alone")


def _items(location: str, text: str) -> Items:
    words = re.sub(r"\([^()]*\)", lambda match: match[0].replace(" ", ""), text).split()
    items: Items = {}
    for index, word in enumerate(words):
        key, colon, value = word.partition(":")
        if colon:
            items.setdefault(key, value)
        elif key in ("send", "pacing_rate", "delivery_rate") and index + 1 < len(words):
            items[key] = words[index + 1]
        elif "control" not in items and re.fullmatch(r"[a-z][a-z0-9_-]*", key) and key not in _FLAGS:
            items["control"] = key
        elif key == "app_limited":
            items[key] = "yes"
    for key in ("rtt", "cwnd", "bytes_acked", "minrtt"):
        if key in items and decimal(items[key].partition("/")[0]) is None:
            raise ScenarioError(f"{location}: {key}: {shown(items[key])}; needs a number")
    return items


def _number(items: Items, key: str) -> float | None:
    text = items.get(key, "").partition("/")[0].partition("(")[0]
    return decimal(text.removesuffix("ms"))


def _rate(items: Items, key: str) -> float | None:
    """Returns a rate [bit/s]; it is written as a plain number with -n, otherwise with a prefix."""
    match = _RATE.fullmatch(items.get(key, "").partition("/")[0])
    number = None if match is None else decimal(match[1])
    return None if match is None or number is None else number * _PREFIXES[match[2].upper()]


def _counted(items: Items) -> dict[str, float]:
    """Returns the items that only increase while a connection lasts, so that a decrease is another connection."""
    counters = {key: _number(items, key) for key in _COUNTERS}
    counters["retrans"] = decimal(items.get("retrans", "").partition("/")[2])
    return {key: value for key, value in counters.items() if value is not None}


def _numbers(items: Items) -> dict[str, float]:
    """Returns the items that are drawn over time."""
    numbers = {key: _rate(items, key) if key.endswith("_rate") else _number(items, key) for key in _DRAWN}
    numbers["retrans"] = decimal(items.get("retrans", "").partition("/")[2])
    return {key: value for key, value in numbers.items() if value is not None}


def _retransmitted(rows: Named) -> Columns:
    """Returns times and total numbers of retransmitted packets, from retrans:NOW/TOTAL, which ss omits only while 0."""
    columns = Columns(2)
    totals = rows.points("retrans", "at")
    first = next(totals, None)
    for at in rows.column("at"):
        if first is not None and at >= first[0]:
            break
        columns.append(at, 0.0)
    for at, total in chain([] if first is None else [first], totals):
        columns.append(at, total)
    return columns


def _subject(name: str, connection: Run[Items], *, timed: bool) -> Subject:
    last, rows = connection.last, connection.rows
    counters = {
        key: (value, unit) for key, unit in (_COUNTERS | _SIZES).items() if (value := _number(last, key)) is not None
    }
    counters |= {key: (ms / 1e3, "s") for key in _TIMES if (ms := _number(last, key)) is not None}
    retransmitted = _retransmitted(rows)
    counters["retransmitted"] = (retransmitted[-1][1] if len(retransmitted) else 0.0, "packets")
    facts = {key: last[key] for key in ("control",) if key in last}
    if not timed:
        rtt, cwnd = _number(last, "rtt"), _number(last, "cwnd")
        counters |= {} if rtt is None else {"rtt": (rtt / 1e3, "s")}
        counters |= {} if cwnd is None else {"cwnd": (cwnd, "packets")}
        return Subject(name, "flow", (), counters, facts)
    of_flow = kept(
        rates(steps(rows.points("bytes_acked", "at")), "acknowledged since the previous snapshot"),
        series("delivery rate", rows.points("delivery_rate", "at"), "the kernel's latest sample"),
        series("pacing rate", rows.points("pacing_rate", "at"), "the kernel's state"),
        series("smoothed rtt", ((at, ms * 1e-3) for at, ms in rows.points("rtt", "at")), "the kernel's smoothed RTT"),
        series("cwnd", rows.points("cwnd", "at"), "the kernel's state", "packets"),
        series(
            "retransmissions",
            ((at, increase) for _, at, increase in steps(retransmitted) if increase),
            "retransmitted since the previous snapshot",
        ),
    )
    return Subject(name, "flow", of_flow, counters, facts)
