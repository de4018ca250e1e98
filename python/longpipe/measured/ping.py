"""Output of `ping -D`: RTTs, each with the Unix time at which the reply arrived."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs.numbers import scaled
from longpipe.measured.content import Content
from longpipe.measured.recording import Recording, Subject, kept, series

NAME: Final = "ping -D"
_REPLY: Final = re.compile(
    r"(?:\[(\d{1,12}\.\d{1,9})\] )?\d+ bytes from (.+?): icmp_seq=(\d{1,7}) ttl=\d+ time=(\d{1,9}(?:\.\d{1,9})?) ms(.*)"
)
_TARGET: Final = re.compile(r"PING (\S+?) ?\(([^()]*(?:\([^()]*\))?)\)[ :]*.*")
_TOTALS: Final = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) received,.*")
_LEAST_MEAN_MOST: Final = re.compile(
    r"rtt min/avg/max/mdev = ([\d.]{1,20})/([\d.]{1,20})/([\d.]{1,20})/([\d.]{1,20}) ms.*"
)
# icmp_seq has 16 bits.
_WRAP: Final = 1 << 16
_MOST_PROBES: Final = 10_000_000
_NS: Final = Fraction(10**9)


def recognises(content: Content) -> bool:
    """Returns whether the text contains a reply or ping's first line."""
    return any(_REPLY.fullmatch(line) or _TARGET.fullmatch(line) for line in content.begins.splitlines())


def read(content: Content) -> Recording:
    """Returns the RTTs. Requests without a reply count as lost."""
    replies: dict[int, tuple[int, float]] = {}
    target, duplicates, begins, wraps = "", 0, False, 0
    sent: int | None = None
    latest: int | None = None
    for number, line in enumerate(content.lines, 1):
        if head := _TARGET.fullmatch(line):
            target, begins = head[1], True
        elif totals := _TOTALS.fullmatch(line):
            sent = int(totals[1])
        elif reply := _REPLY.fullmatch(line):
            if reply[1] is None:
                raise ScenarioError(f"{content.file}:{number}: a reply without its time; needs `ping -D`")
            target = target or reply[2]
            seq = int(reply[3]) % _WRAP + wraps * _WRAP
            if latest is not None and seq < latest - _WRAP // 2:
                wraps, seq = wraps + 1, seq + _WRAP
            latest = seq if latest is None else max(seq, latest)
            at = scaled(reply[1], _NS) or 0
            if seq in replies:
                duplicates += 1
            else:
                replies[seq] = (at, float(reply[4]) / 1e3)
    if not replies:
        raise ScenarioError(f"{content.file}: no reply with its time; needs what `ping -D` prints")
    return _recording(content.file, target, replies, duplicates, sent, begins=begins)


def _recording(
    file: str, target: str, replies: dict[int, tuple[int, float]], duplicates: int, sent: int | None, *, begins: bool
) -> Recording:
    requests = {seq: at - round(rtt * 1e9) for seq, (at, rtt) in replies.items()}
    begin = min(requests.values())
    ordered = sorted(replies)
    # Sequence numbers begin at 1, and only the summary shows whether the last requests were lost.
    first, last = 1 if begins else ordered[0], max(ordered[-1], sent or 0)
    if last - first > _MOST_PROBES:
        raise ScenarioError(f"{file}: {last - first + 1} requests; needs at most {_MOST_PROBES}")
    times = {seq: (requests[seq] - begin) / 1e9 for seq in ordered}
    lost = _missing(times, first, last)
    notes = []
    if any(later < earlier for earlier, later in pairwise(times.values())):
        notes.append("the clock jumps back, or requests are out of order: times around it are wrong")
    counters = {
        "sent": (float(len(ordered) + len(lost)), "packets"),
        "received": (float(len(ordered)), "packets"),
        "duplicates": (float(duplicates), "packets"),
    }
    path = Subject(
        target,
        "path",
        kept(
            series("rtt", ((times[seq], replies[seq][1]) for seq in ordered), "at the time of the request"),
            series("losses", ((at, 1.0) for at in lost), "a request without a reply, at its interpolated time"),
        ),
        counters,
    )
    ends = [*times.values(), *lost]
    unknown = ("rates, and the direction of a delay or loss: ping measures round trips",)
    return Recording(
        file, "ping -D", "ping of iputils", None, begin, max(ends) - min(0.0, *ends), (path,), unknown, tuple(notes)
    )


def _missing(times: dict[int, float], first: int, last: int) -> list[float]:
    """Returns the times of the requests without a reply, interpolated or extrapolated at the mean interval."""
    known = sorted(times)
    low, high = known[0], known[-1]
    interval = (times[high] - times[low]) / (high - low) if high > low else 1.0
    found = [times[low] - (low - seq) * interval for seq in range(first, low)]
    for before, after in pairwise(known):
        step = (times[after] - times[before]) / (after - before)
        found += [times[before] + (seq - before) * step for seq in range(before + 1, after)]
    return found + [times[high] + (seq - high) * interval for seq in range(high + 1, last + 1)]
