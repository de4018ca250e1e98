"""Output of `ping -D`: RTTs, each with the Unix time at which the reply arrived.

A file may contain several runs of ping, one after another or interleaved. Each reply belongs to the run of its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError
from longpipe.inputs.numbers import scaled
from longpipe.measured.columns import MAX_REQUESTS, Replies
from longpipe.measured.content import Content
from longpipe.measured.recording import Recording, Subject, kept, series_of
from longpipe.measured.runs import joined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME: Final = "ping -D"
# ping prints the identifier with -v, and the hop limit and the time if it knows them (ping_common.c of iputils). Where
# the system's language writes decimal commas, RTTs have them.
_REPLY: Final = re.compile(
    r"(?:\[(?P<at>\d{1,12}[.,]\d{1,9})\] )?\d+ bytes from (?P<source>.+?): icmp_seq=(?P<seq>\d{1,7})"
    r"(?: ident=(?P<ident>\d{1,7}))?(?: ttl=\d+)?(?: time=(?P<rtt>\d{1,9}(?:[.,]\d{1,9})?) ms)?(?P<flags>(?: \(.*)?)"
)
# A request without a reply: an error of a router, or a request that `ping -O` still waits for.
_MISSED: Final = re.compile(
    r"(?:\[\d{1,12}[.,]\d{1,9}\] )?(?:From .+? icmp_seq=(\d{1,7}) .+|no answer yet for icmp_seq=(\d{1,7}))"
)
_TARGET: Final = re.compile(r"PING (\S+?) ?\(([^()]*(?:\([^()]*\))?)\)[ :]*.*")
_SUMMARY: Final = re.compile(r"--- (.+) ping statistics ---")
_TOTALS: Final = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) received,.*")
# Other lines that ping writes: none, the summary of RTTs, and messages.
_MESSAGE: Final = re.compile(r"\s*$|rtt |round-trip |ping|WARNING|Warning|pipe |\^C")
_IN_BRACKETS: Final = re.compile(r".*\(([^()]+)\)")
# icmp_seq has 16 bits.
_WRAP: Final = 1 << 16
# Number of skipped lines that a note lists.
_LISTED: Final = 5
_NS: Final = Fraction(10**9)
# Times of the same request differ by at most this time, because RTTs are rounded; clocks are adjusted in steps of less.
_SAME_NS: Final = 500_000_000


@dataclass(eq=False)
class _Run:
    """One run of ping: the replies by sequence number, each with its arrival [ns] and its RTT [s].

    Sequence numbers continue beyond 65535, where ping's begin again at 0.
    """

    replies: Replies
    line: int
    address: str
    target: str
    # Whether the file contains the beginning of the run.
    begins: bool
    ident: str | None = None
    sent: int | None = None
    # Highest sequence number of a request without a reply.
    missed: int = 0
    duplicates: int = 0
    _first: int | None = None
    _latest: int | None = None
    _arrived: int = 0

    @property
    def requests(self) -> int:
        """Highest number of a request that the lines other than replies show."""
        return max(self.sent or 0, self.missed)

    def request_ns(self, seq: int) -> int:
        """Returns the time of a request [ns]: the arrival of the reply if its RTT is unknown."""
        at, rtt = self.replies[seq]
        return (at or 0) - round((rtt or 0.0) * 1e9)

    def add(self, reply: re.Match[str], at: int) -> bool:
        """Adds a reply, unless its time or its number show that it belongs to a later run; returns whether it did."""
        rtt = None if reply["rtt"] is None else float(reply["rtt"].replace(",", ".")) / 1e3
        requested = at - round((rtt or 0.0) * 1e9)
        if at < self._arrived - _SAME_NS or (reply["ident"] and self.ident not in (None, reply["ident"])):
            return False
        seq = self._counted(int(reply["seq"]) % _WRAP, requested)
        if seq in self.replies:
            if "(DUP!)" not in reply["flags"] and abs(requested - self.request_ns(seq)) > _SAME_NS:
                return False
            self.duplicates += 1
        elif self._latest is not None and seq < self._latest and requested > self.request_ns(self._latest) + _SAME_NS:
            return False
        elif "BAD CHECKSUM" not in reply["flags"]:
            self.replies.add(seq, at, rtt)
            self._first = seq if self._first is None else self._first
            self._latest = seq if self._latest is None else max(seq, self._latest)
        self.ident = self.ident or reply["ident"]
        self._arrived = at
        return True

    def _counted(self, seq: int, requested: int) -> int:
        """Returns a sequence number counted on beyond 65535, if the time since the latest request fits."""
        if self._latest is None or self._first is None:
            return seq
        counted = self._latest - self._latest % _WRAP + seq
        if counted >= self._latest - _WRAP // 2:
            # A late reply from before the counter started again.
            return counted - _WRAP if counted > self._latest + _WRAP // 2 and counted >= _WRAP else counted
        counted += _WRAP
        if self._latest == self._first:
            return counted
        since = self.request_ns(self._latest) - self.request_ns(self._first)
        expected = since / (self._latest - self._first) * (counted - self._latest)
        return counted if requested - self.request_ns(self._latest) > expected / 2 else seq


def recognizes(content: Content) -> bool:
    """Returns whether the text contains a reply or ping's first line."""
    return any(_REPLY.fullmatch(line) or _TARGET.fullmatch(line) for line in content.begins.splitlines())


def read(content: Content) -> Recording:
    """Returns a path for each address. Requests without a reply count as lost."""
    log = _Log(content.file)
    for number, line in content.lines:
        log.add(number, line)
    if not any(run.replies for run in log.runs):
        raise ScenarioError(f"{content.file}: no reply with its time; needs the output of `ping -D`")
    runs = [run for run in log.runs if run.replies or run.requests]
    recording = joined([(run.line, _recording(content.file, run)) for run in runs])
    if not log.damaged:
        return recording
    location = ", ".join(map(str, log.damaged[:_LISTED])) + (", ..." if len(log.damaged) > _LISTED else "")
    note = f"{len(log.damaged)} lines that are not of ping -D are skipped: {location}; replies in them count as lost"
    return replace(recording, notes=(*recording.notes, note))


@dataclass
class _Log:
    """The runs of a log, in the order of their first lines."""

    file: str
    runs: list[_Run] = field(default_factory=list)
    # The run of each address, until its summary, and the run to which lines without an address belong.
    _of_address: dict[str, _Run] = field(default_factory=dict)
    _current: _Run | None = None
    # Lines of unknown forms after the first reply.
    damaged: list[int] = field(default_factory=list)
    # The runs that the latest summary may end.
    _ended: list[_Run] = field(default_factory=list)

    def add(self, number: int, line: str) -> None:
        """Processes a line; lines of other forms are ignored."""
        if reply := _REPLY.fullmatch(line):
            self._reply(number, reply)
        elif head := _TARGET.fullmatch(line):
            address = address_of(head[2])
            self._begin(_Run(Replies(self.file), number, address, _named(head[1], address), begins=True))
        elif summary := _SUMMARY.fullmatch(line):
            names = ((run, (run.address, run.target.partition(" ")[0])) for run in self._of_address.values())
            self._ended = [run for run, names_of_run in names if summary[1] in names_of_run]
        elif self._current is None:
            return
        elif totals := _TOTALS.fullmatch(line):
            # Several runs with the same name differ in their addresses, which the summary does not contain.
            fitting = [run for run in self._ended if len(run.replies) == int(totals[2])] or self._ended
            ended = self._current if self._current in fitting or not fitting else fitting[-1]
            ended.sent = int(totals[1])
            self._of_address.pop(ended.address, None)
        elif missed := _MISSED.fullmatch(line):
            if len(self._of_address) == 1:
                self._current.missed = max(self._current.missed, int(missed[1] or missed[2]))
        elif not _MESSAGE.match(line):
            self.damaged.append(number)

    def _begin(self, run: _Run) -> _Run:
        self.runs.append(run)
        self._of_address[run.address] = self._current = run
        return run

    def _reply(self, number: int, reply: re.Match[str]) -> None:
        """Adds a reply to the run of ping to which it belongs, or begins a new run."""
        if reply["at"] is None:
            raise ScenarioError(f"{self.file}:{number}: a reply without its time; needs `ping -D`")
        at, address = scaled(reply["at"].replace(",", "."), _NS) or 0, address_of(reply["source"])
        if "DIFFERENT ADDRESS" in (reply["flags"] or "") and self._current is not None:
            address = self._current.address
        run = self._of_address.get(address)
        if run is None or not run.add(reply, at):
            run = self._begin(_Run(Replies(self.file), number, address, _named(reply["source"], address), begins=False))
            run.add(reply, at)
        self._current = run


def address_of(source: str) -> str:
    """Returns the address in text such as "host.example (192.0.2.1)"."""
    match = _IN_BRACKETS.fullmatch(source)
    return match[1] if match else source


def _named(name: str, address: str) -> str:
    host = name.partition(" ")[0]
    return host if host == address else f"{host} ({address})"


def _recording(file: str, run: _Run) -> Recording:
    """Returns a run of ping as a path with RTTs and losses."""
    import numpy as np

    seqs, requests, rtts, _ = run.replies.arrays()
    has_rtt = ~np.isnan(rtts)
    # In place, because a log may have ten million replies.
    requests -= np.rint(np.where(has_rtt, rtts, 0.0) * 1e9).astype(np.int64)
    begin = int(requests.min()) if len(seqs) else None
    requests -= begin or 0
    times = requests / 1e9
    del requests
    lost = np.zeros(0)
    if len(seqs):
        # Sequence numbers begin at 1, and only the summary shows whether the last requests were lost.
        first, last = 1 if run.begins else int(seqs[0]), max(int(seqs[-1]), run.requests)
        if last - first > MAX_REQUESTS:
            raise ScenarioError(f"{file}: {last - first + 1} requests; needs at most {MAX_REQUESTS}")
        lost = missing_times(seqs, times, first, last)
    notes = list(_notes(run, times, int((~has_rtt).sum())))
    counters = {
        "sent": (float(len(seqs) + len(lost) if len(seqs) else run.requests), "packets"),
        "received": (float(len(seqs)), "packets"),
        "duplicates": (float(run.duplicates), "packets"),
    }
    path = Subject(
        run.target,
        "path",
        kept(
            series_of("rtt", times[has_rtt], rtts[has_rtt], "at the time of the request"),
            series_of("losses", lost, np.ones(len(lost)), "a request without a reply, at its interpolated time"),
        ),
        counters,
        key=run.address,
    )
    ends = [float(end) for instants in (times, lost) if len(instants) for end in (instants.min(), instants.max())] or [
        0.0
    ]
    unknown = ("rates, and the direction of a delay or loss: ping measures round trips",)
    length = max(ends) - min(0.0, *ends)
    return Recording(file, "ping -D", "ping of iputils", None, begin, length, (path,), unknown, tuple(notes))


def _notes(run: _Run, times: NDArray[np.float64], without: int) -> Iterator[str]:
    if not len(times):
        yield f"{run.target}: the run from line {run.line} on lost all {run.requests} requests, at unknown times"
    if (times[1:] < times[:-1]).any():
        yield "the clock jumps back, or requests are out of order: times around it are wrong"
    if without:
        yield f"{run.target}: {without} replies have no RTT, which needs requests of at least 16 bytes (ping -s)"


def missing_times(seqs: NDArray[np.int64], times: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """Returns the times of the requests without a reply, interpolated or extrapolated at the mean interval.

    `seqs` are the numbers of the requests with a reply, in ascending order, and `times` their times.
    """
    import numpy as np

    low, high = int(seqs[0]), int(seqs[-1])
    interval = (times[-1] - times[0]) / (high - low) if high > low else 1.0
    missing_before = times[0] - (low - np.arange(first, low)) * interval
    after = times[-1] + (np.arange(high + 1, last + 1) - high) * interval
    is_missing = np.ones(high - low + 1, dtype=bool)
    is_missing[seqs - low] = False
    missing = np.nonzero(is_missing)[0] + low
    indices = np.searchsorted(seqs, missing) - 1
    step = (times[indices + 1] - times[indices]) / (seqs[indices + 1] - seqs[indices]) if len(missing) else np.zeros(0)
    within = times[indices] + (missing - seqs[indices]) * step
    return np.concatenate([missing_before, within, after])
