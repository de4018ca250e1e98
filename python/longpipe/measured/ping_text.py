"""Output of ping without times (iputils, BusyBox, macOS and BSD, Windows in any language), and of fping, also as JSON.

The times of the requests are unknown unless fping prints them (-D) or each line has a time before it (`ts`). Requests
are then placed at the interval that the summary shows, or one second apart, the default of all these programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.numbers import scaled
from longpipe.measured import fields
from longpipe.measured.columns import MAX_REQUESTS, Replies
from longpipe.measured.content import Content
from longpipe.measured.fields import get
from longpipe.measured.lines import Line, Parts
from longpipe.measured.ping import address_of
from longpipe.measured.recording import Recording, Subject, kept, series_of
from longpipe.measured.runs import joined
from longpipe.measured.texts import NS_PER_SECOND, unix_ns_of_date

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME: Final = "ping and fping"
_DECIMAL: Final = r"\d{1,9}(?:[.,]\d{1,9})?"
_FLAG_COPY: Final = "DUP!"
_FLAG_ADDRESS: Final = "DIFFERENT ADDRESS!"
# Replies of ping in Unix systems. The words depend on the program and, in iputils, on the language.
_UNIX: Final = re.compile(
    rf"\d+ \D+? (?P<source>\S+(?: \([^()]+\))?) ?[:,] (?:icmp_)?(?:seq|req)=(?P<seq>\d{{1,7}}) .*?"
    rf"=(?P<rtt>{_DECIMAL}) ?(?P<unit>ms|us|s|毫秒)(?P<flags> \(.*)?"
)
# Replies of ping in Windows, in any language: bytes=32 time=20ms TTL=53; over IPv6, there is only the time.
_WINDOWS: Final = re.compile(
    r"(?!.*seq=)[^=]*? (?P<source>(?:\d{1,3}\.){3}\d{1,3}|[0-9a-fA-F]{0,4}:[0-9a-fA-F:.]{1,45}(?:%\w+)?)[^=:]*: ?"
    rf"(?:[^=:]+=\d+ )?[^=:<]+(?P<sign>[=<]) ?(?P<rtt>{_DECIMAL}) ?(?P<unit>ms|мс)(?: TTL=\d+)?\s*"
)
# Lines of fping for each request (-c, -l), and of its summary of each target (-C). The time (-D) is a Unix time or a
# date (--timestamp-format).
_FPING: Final = re.compile(
    rf"(?:\[(?P<at>[\w+:. -]{{10,40}})\] )?(?P<source>\S+)\s+: \[(?P<seq>\d{{1,7}})\], "
    rf"(?:\d+ bytes, (?P<rtt>{_DECIMAL}) ms|timed out|.*unreachable|error).*"
)
_FPING_ROW: Final = re.compile(rf"(?P<source>\S+)\s+: (?P<values>(?:{_DECIMAL}|-)(?: (?:{_DECIMAL}|-))*)\s*")
# Objects of `fping -J` (doc/fping-json.md of fping 5.5) that have requests; the others have statistics.
_JSON: Final = ("resp", "timeout", "vSum")
_CTIME: Final = "%a %b %d %H:%M:%S %Y"
# A reply of `ping -D`, which another module reads.
_TIMED: Final = re.compile(r"\[\d+[.,]\d+\] \d+ bytes from ")
_TIMEOUT: Final = re.compile(r"Request timeout for icmp_seq (\d{1,7})|no answer yet for icmp_seq=(\d{1,7})")
_HEAD: Final = re.compile(r"PING (\S+?) ?\(([^()]*(?:\([^()]*\))?)\)[ :]*.*")
_SUMMARY: Final = re.compile(r"--- (\S+) ping statistics ---")
_IPUTILS_HEAD: Final = re.compile(r"\) (?:from .*)?\d+(?:\(\d+\) \w+ \w+ \w+| data bytes$)(?<! data bytes)")
_WINDOWS_HEAD: Final = re.compile(r"\S[^=]* \d+ [^\d=]+:\s*")
_WINDOWS_NAME: Final = re.compile(r"(\S+) \[([^\[\]]+)\]")
_TOTALS: Final = re.compile(
    r"(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received.*?(?:time (\d{1,12}) ?ms)?"
)
# Sent, received and lost in the summary of Windows: the only line with three numbers behind equals signs.
_WINDOWS_TOTALS: Final = re.compile(r"\s*[^=]*= (\d{1,9})[^=]*= (\d{1,9})[^=]*= (\d{1,9})\s*\(.*")
_UNITS: Final = {"ms": 1e-3, "мс": 1e-3, "毫秒": 1e-3, "us": 1e-6, "s": 1.0}
_WRAP: Final = 1 << 16
_LONGEST: Final = 300
_INTERVAL_S: Final = 1.0
_BELOW: Final = "<"
_DAY_NS: Final = 86_400 * 10**9


@dataclass
class _Path:
    """The requests to a target: the time [ns] of each reply, if it is known, and its RTT [s], by sequence number."""

    replies: Replies
    # Highest number of a request, and number of the first one if the file shows it.
    last: int = -1
    first: int | None = None
    duplicates: int = 0
    # Number of RTTs that are only known to be below the stated value.
    below: int = 0
    interval_s: float | None = None
    # Time [ns] of the first request whose time is known.
    begin_ns: int | None = None

    def requests(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
        """Returns numbers, times [ns] and RTTs [s] of the requests with a reply, and which of their times are known."""
        import numpy as np

        seqs, at, rtts, is_known = self.replies.arrays()
        at -= np.where(is_known, np.rint(rtts * 1e9).astype(np.int64), 0)
        return seqs, at, rtts, is_known

    def count(self, seq: int) -> int:
        """Returns a sequence number counted on beyond 65535, and notes that the request was sent."""
        base = max(self.last, 0)
        seq = base - base % _WRAP + seq % _WRAP
        seq += _WRAP if seq < base - _WRAP // 2 else 0
        self.last = max(self.last, seq)
        return seq

    def add(self, seq: int, at: int | None, rtt: float, flags: str | None = None) -> None:
        """Adds a reply."""
        seq = self.count(seq)
        if seq in self.replies or _FLAG_COPY in (flags or ""):
            self.duplicates += 1
        else:
            self.replies.add(seq, at, rtt)
            if at is not None:
                requested = at - round(rtt * 1e9)
                self.begin_ns = requested if self.begin_ns is None else min(self.begin_ns, requested)


@dataclass(eq=False)
class _Run:
    """The lines of a run of a program, and the replies in them, by source and sequence number."""

    program: str
    lines: Parts
    address: str = ""
    name: str = ""
    seen: set[tuple[str, int]] = field(default_factory=set)
    # Range of numbers of a source of which the run has all replies: the first, and the next one.
    all_of: dict[str, tuple[int, int]] = field(default_factory=dict)
    latest: int = 0

    def has(self, source: str, seq: int) -> bool:
        """Returns whether the run has this reply, and notes that it does; the numbers of ping have 16 bits."""
        if seq < self.latest - _WRAP // 2:
            self.seen.clear()
            self.all_of.clear()
        self.latest = seq
        begin, end = self.all_of.get(source, (seq, seq))
        if begin <= seq < end:
            return True
        is_known = (source, seq) in self.seen
        self.seen.add((source, seq))
        if seq < 0:
            return is_known
        # A range stands for numbers that follow one another, because fping may number ten million requests. If many
        # numbers are missing, they were lost.
        while (source, end) in self.seen:
            self.seen.discard((source, end))
            end += 1
        if len(self.seen) > _WRAP:
            self.seen, begin, end = set(), min(begin, seq), seq + 1
        self.all_of[source] = (begin, end)
        return is_known


@dataclass
class _Log:
    """The runs in a file. A first line, another address or a repeated sequence number begins a run of ping.

    A repeated number of any target begins a run of fping, which has several targets.
    """

    lines: Sequence[Line]
    runs: list[_Run] = field(default_factory=list)
    _of_address: dict[str, _Run] = field(default_factory=dict)
    _current: _Run | None = None

    def add(self, place: int, line: str) -> None:
        """Adds the line at a place of the file's lines to its run."""
        self._current = self._run_of(line) or self._current or self._begin("")
        self._current.lines.append(place)

    def _begin(self, program: str, address: str = "", name: str = "") -> _Run:
        self.runs.append(_Run(program, Parts(self.lines), address, name))
        if address:
            self._of_address[address] = self.runs[-1]
        return self.runs[-1]

    def _run_of(self, line: str) -> _Run | None:
        """Returns the run to which a line belongs; None if it is the current one."""
        if reply := _UNIX.fullmatch(line):
            return self._of_reply(reply["source"], int(reply["seq"]) % _WRAP, reply["flags"] or "")
        if head := _HEAD.fullmatch(line):
            return self._begin("ping", address_of(head[2]), head[1])
        if summary := _SUMMARY.fullmatch(line):
            ended = next((run for run in reversed(self.runs) if summary[1] in (run.name, run.address)), None)
            self._of_address = {key: run for key, run in self._of_address.items() if run is not ended}
            return ended
        if _is_windows_head(line):
            return self._begin("ping of Windows")
        match = _FPING.fullmatch(line)
        row = _FPING_ROW.fullmatch(line) if match is None and _is_row(line) else None
        if match is None and row is None:
            return None
        # The summary of a target has no numbers.
        source, seq = (match["source"], int(match["seq"])) if match is not None else (row["source"] if row else "", -1)
        run = self._current
        if run is None or run.program != "fping" or run.has(source, seq):
            run = self._begin("fping")
            run.has(source, seq)
        return run

    def _of_reply(self, source: str, seq: int, flags: str) -> _Run:
        address = address_of(source)
        run = self._of_address.get(address)
        if run is None and _FLAG_ADDRESS in flags:
            run = self._current
        if run is None or (run.has("", seq) and _FLAG_COPY not in flags):
            run = self._begin("ping", address, source.partition(" ")[0])
            run.has("", seq)
        return run


def recognizes(content: Content) -> bool:
    """Returns whether the text contains a reply without a time before it, or a line or an object of fping."""
    if content.is_json:
        return any(_is_fping(value) for _, value in content.json_values)
    lines = [line for line in content.begins.splitlines()[:200] if len(line) <= _LONGEST]
    if any(_TIMED.match(line) for line in lines):
        return False
    return any(
        _UNIX.fullmatch(line) or _FPING.fullmatch(line) or _is_row(line) or _WINDOWS.fullmatch(line) for line in lines
    )


def _is_fping(value: object) -> bool:
    objects = (get(value, name) for name in (*_JSON, "summary", "intSum"))
    return any(get(candidate, "host") is not None for candidate in objects)


def _is_row(line: str) -> bool:
    match = _FPING_ROW.fullmatch(line)
    return match is not None and any(character in match["values"] for character in ".-")


def read(content: Content) -> Recording:
    """Returns a path for each target. Requests without a reply count as lost."""
    log = _Log(list(_json_lines(content)) if content.is_json else content.lines)
    for index, (_, line) in enumerate(log.lines):
        # Longer lines are of no known form.
        if len(line) <= _LONGEST or content.is_json:
            log.add(index, line)
    parts = [content.of_lines(run.lines) for run in log.runs]
    read_runs = [(part.lines[0][0], part_run) for part in parts if (part_run := _run(content.file, part)) is not None]
    if not read_runs:
        raise ScenarioError(f"{content.file}: no reply; needs the output of ping or fping with replies (not fping -q)")
    return joined(read_runs)


def _json_lines(content: Content) -> Iterator[tuple[int, str]]:
    """Yields the lines that fping prints without -J for the objects in a file, each with its line in the file."""
    for location, value in content.json_values:
        for kind in _JSON:
            reply = get(value, kind)
            host = get(reply, "host")
            if host is None:
                continue
            if not isinstance(host, str) or not re.fullmatch(r"\S{1,253}", host):
                raise ScenarioError(f"{location}.{kind}.host: {shown(host)}; needs a name without spaces")
            yield content.line_of(location), _json_line(f"{location}.{kind}", kind, host, reply)


def _json_line(location: str, kind: str, host: str, record: object) -> str:
    """Returns a line of fping's JSON output in the form of its text output."""
    if kind == "vSum":
        values = [{"rtt": value} for value in fields.items(location, record, "values")]
        return f"{host} : " + " ".join(
            "-" if value["rtt"] is None else _rtt(f"{location}.values", value) for value in values
        )
    seq = fields.number(location, record, "seq")
    if not 0 <= seq < 10**7 or seq != int(seq):
        raise ScenarioError(f"{location}.seq: {seq:g}; needs a whole number of at most 7 digits")
    stamp = get(record, "timestamp")
    at = "" if stamp is None else f"[{stamp}] "
    if stamp is not None and (not isinstance(stamp, str) or _fping_ns(stamp) is None):
        raise ScenarioError(f"{location}.timestamp: {shown(stamp)}; needs Unix time or a date as fping -D prints them")
    reply = "timed out" if kind == "timeout" else f"64 bytes, {_rtt(location, record)} ms"
    return f"{at}{host} : [{seq:.0f}], {reply}"


def _rtt(location: str, reply: object) -> str:
    """Returns an RTT [ms] as fping prints it without -J."""
    rtt = fields.number(location, reply, "rtt")
    if not 0 <= rtt < 10**9:
        raise ScenarioError(f"{location}.rtt: {rtt:g}; needs milliseconds")
    return f"{rtt:.6f}"


def _fping_ns(written: str) -> int | None:
    """Returns the time [ns] that `fping -D` prints, in any of the formats of --timestamp-format; otherwise None.

    Dates without a time zone are read as UTC.
    """
    if (time_ns := scaled(written, NS_PER_SECOND)) is not None:
        return time_ns
    with suppress(ValueError):
        written = datetime.strptime(written, _CTIME).isoformat()
    return unix_ns_of_date(written)


def _is_windows_head(line: str) -> bool:
    return bool(_WINDOWS_HEAD.fullmatch(line)) and not _WINDOWS.fullmatch(line) and "=" not in line


def _run(file: str, content: Content) -> Recording | None:
    """Returns the paths of a run; None if it has no request."""
    if any(_FPING.fullmatch(line) or _is_row(line) for _, line in content.lines):
        tool, paths = "fping", _of_fping(content)
    elif any(_WINDOWS.fullmatch(line) for _, line in content.lines):
        tool, paths = "ping of Windows", _of_windows(content)
    else:
        tool, paths = "ping", _of_unix(content)
    used_paths = {name: path for name, path in paths.items() if path.last >= 0}
    if not used_paths:
        return None
    begins = [begin for path in used_paths.values() if (begin := path.begin_ns) is not None]
    begin = min(begins, default=None)
    notes: list[str] = []
    subjects = []
    length = 0.0
    for name, path in used_paths.items():
        subject, end = _subject(file, name, path, begin, notes)
        subjects.append(subject)
        length = max(length, end)
    unknown = ["rates, and the direction of a delay or loss: ping measures round trips"]
    if begin is None:
        unknown.insert(0, "times: the file has none; use `ping -D`, `fping -D`, or `| ts %.s`")
    # Times without a date begin at 0.
    date = None if begin is None or begin < _DAY_NS else begin
    return Recording(file, tool, tool, None, date, length, tuple(subjects), tuple(unknown), tuple(notes))


def _of_unix(content: Content) -> dict[str, _Path]:
    """Returns the path of ping's output on Linux, macOS or BSD, by its name."""
    name, path = "", _Path(Replies(content.file))
    for number, line in content.lines:
        if head := _HEAD.fullmatch(line):
            name = head[1] if head[1] == head[2] else f"{head[1]} ({head[2]})"
            # ping of iputils, which states the length with headers, as in "56(84)", counts from 1, and others from 0.
            path.first = 1 if _IPUTILS_HEAD.search(line) else 0
        elif reply := _UNIX.fullmatch(line):
            name = name or reply["source"]
            rtt = float(reply["rtt"].replace(",", ".")) * _UNITS[reply["unit"]]
            path.add(int(reply["seq"]), content.stamp(number), rtt, reply["flags"])
        elif timeout := _TIMEOUT.match(line):
            path.count(int(timeout[1] or timeout[2]))
        elif totals := _TOTALS.fullmatch(line):
            sent = int(totals[1])
            path.last = max(path.last, sent - 1 + (path.first or 0))
            if totals[3] and sent > 1:
                path.interval_s = int(totals[3]) / 1e3 / (sent - 1)
    return {name: path}


def _of_windows(content: Content) -> dict[str, _Path]:
    """Reads the lines of requests: those from the header to the next blank line, one for each request."""
    name, path = "", _Path(Replies(content.file), first=0)
    is_within = False
    for number, line in content.lines:
        reply = _WINDOWS.fullmatch(line)
        if reply:
            is_within = True
            name = name or reply["source"]
            rtt = float(reply["rtt"].replace(",", ".")) * _UNITS[reply["unit"]]
            path.below += reply["sign"] == _BELOW
            path.add(path.last + 1, content.stamp(number), rtt)
        elif _is_windows_head(line) and path.last < 0:
            is_within = True
            if head := _WINDOWS_NAME.search(line):
                name = f"{head[1]} ({head[2]})"
        elif totals := _WINDOWS_TOTALS.fullmatch(line):
            path.last = max(path.last, int(totals[1]) - 1)
        elif is_within and line.strip():
            path.count(path.last + 1)
        elif path.last >= 0:
            is_within = False
    return {name or "path": path}


def _of_fping(content: Content) -> dict[str, _Path]:
    """Returns the paths of fping's output by their names."""
    paths: dict[str, _Path] = {}
    for number, line in content.lines:
        if match := _FPING.fullmatch(line):
            path = paths.setdefault(match["source"], _Path(Replies(content.file), first=0))
            at = content.stamp(number) if match["at"] is None else _fping_ns(match["at"])
            if match["rtt"] is None:
                path.count(int(match["seq"]))
            else:
                path.add(int(match["seq"]), at, float(match["rtt"].replace(",", ".")) / 1e3)
        elif (row := _FPING_ROW.fullmatch(line)) and _is_row(line):
            path = paths.setdefault(row["source"], _Path(Replies(content.file), first=0))
            # The summary repeats the replies that precede it.
            if path.last < 0:
                for value in row["values"].split():
                    if value == "-":
                        path.count(path.last + 1)
                    else:
                        path.add(path.last + 1, None, float(value.replace(",", ".")) / 1e3)
    return paths


def _subject(file: str, name: str, path: _Path, begin: int | None, notes: list[str]) -> tuple[Subject, float]:
    """Returns a path, and the time [s] of its last request."""
    import numpy as np

    seqs, at, rtts, is_known = path.requests()
    first = min([*seqs[:1].tolist(), *([] if path.first is None else [path.first])], default=0)
    if path.last - first > MAX_REQUESTS:
        raise ScenarioError(f"{file}: {path.last - first + 1} requests; needs at most {MAX_REQUESTS}")
    timed_seqs = seqs if is_known.all() else seqs[is_known]
    since = (at[is_known] - (begin or 0)) / 1e9
    del at, is_known
    times = _times(path, first, timed_seqs, since)
    is_lost = np.ones(len(times), dtype=bool)
    is_lost[seqs - first] = False
    if path.below:
        rtts_are = "an RTT is" if path.below == 1 else f"{path.below} RTTs are"
        notes.append(f"{name}: {rtts_are} only known to be below the stated value (<1ms), which is used")
    if begin is None:
        interval = "that of the summary" if path.interval_s is not None else "assumed"
        notes.append(f"{name}: requests are placed {path.interval_s or _INTERVAL_S:.3g} s apart ({interval})")
    counters = {
        "sent": (float(len(times)), "packets"),
        "received": (float(len(seqs)), "packets"),
        "duplicates": (float(path.duplicates), "packets"),
    }
    series = kept(
        series_of("rtt", times[seqs - first], rtts, "at the time of the request"),
        series_of(
            "losses", times[is_lost], np.ones(int(is_lost.sum())), "a request without a reply, at its interpolated time"
        ),
    )
    return Subject(name, "path", series, counters, key=address_of(name)), float(times.max()) if len(times) else 0.0


def _times(path: _Path, first: int, timed_seqs: NDArray[np.int64], since: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the time [s] of each request; unknown times are those of the interval between requests.

    `since` are the times [s] of the requests with the numbers `timed_seqs`.
    """
    import numpy as np

    interval = path.interval_s or _INTERVAL_S
    if not len(timed_seqs):
        return np.arange(path.last + 1 - first, dtype=np.float64) * interval
    low, high = int(timed_seqs[0]), int(timed_seqs[-1])
    if len(timed_seqs) == path.last + 1 - first:
        return since
    interval = float(since[-1] - since[0]) / (high - low) if high > low else interval
    every = np.arange(first, path.last + 1)
    # Times are those of the latest known request, and the interval.
    latest = np.maximum(np.searchsorted(timed_seqs, every, side="right") - 1, 0)
    every -= timed_seqs[latest]
    return np.asarray(every * interval + since[latest], dtype=np.float64)
