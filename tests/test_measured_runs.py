"""Files with several runs of a tool: each run is read as if it were alone in its file."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpipe import ScenarioError
from longpipe.measured import Recording, Subject
from test_measured_properties import iperf3, recorded, snapshots, spans, ss, tc
from thorough import examples

CASES: Final = settings(max_examples=examples(25, 1000), deadline=None)
BEGIN_S: Final = 1_795_860_000


def key(subject: Subject) -> tuple[str, str]:
    return subject.kind, subject.key or subject.name


def values(subjects: Sequence[Subject]) -> dict[tuple[object, ...], list[float]]:
    """Returns the values of the series of each subject, apart from their times."""
    found: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for subject in subjects:
        for one in subject.series:
            found[*key(subject), one.quantity, one.unit] += one.numbers.tolist()
    return {name: sorted(numbers) for name, numbers in found.items()}


def counts(subjects: Sequence[Subject]) -> Counter[tuple[object, ...]]:
    """Returns the sum of each counter; capacities are no sums."""
    found: Counter[tuple[object, ...]] = Counter()
    for one in subjects:
        for name, (value, unit) in one.counters.items():
            found[key(one), name, unit] += round(value) if unit != "bit/s" else 0
    return found


def check_contains(whole: Recording, parts: Sequence[Recording]) -> None:
    """Checks that a recording has the values and the counters of its parts, and no others."""
    subjects = [one for part in parts for one in part.subjects]
    expected = values(subjects)
    assert values(whole.subjects) == {name: pytest.approx(numbers, rel=1e-5) for name, numbers in expected.items()}
    assert counts(whole.subjects) == counts(subjects)
    for one in whole.subjects:
        for found in one.series:
            assert (np.diff(found.time_s) >= 0).all()


@dataclass(frozen=True)
class Pings:
    """A run of ping to an address, with the RTT [ms] of each request or None if it was lost."""

    address: str
    begin_s: float
    rtts_ms: tuple[int | None, ...]
    interval_s: float = 1.0
    host: str = ""
    head: bool = True
    summary: bool = True

    def lines(self) -> list[tuple[float, str]]:
        """Returns the lines, each with its time [s]."""
        source = f"{self.host} ({self.address})" if self.host else self.address
        found = []
        if self.head:
            found.append((self.begin_s, f"PING {self.host or self.address} ({self.address}) 56(84) bytes of data."))
        for seq, rtt in enumerate(self.rtts_ms, 1):
            if rtt is not None:
                at = self.begin_s + seq * self.interval_s + rtt / 1e3
                text = f"[{at:.6f}] 64 bytes from {source}: icmp_seq={seq % 65536} ttl=53 time={rtt} ms"
                found.append((at, text))
        if self.summary:
            count = sum(rtt is not None for rtt in self.rtts_ms)
            end = max(at for at, _ in found) + 1e-6
            found.append((end, f"\n--- {self.host or self.address} ping statistics ---"))
            found.append((end, f"{len(self.rtts_ms)} packets transmitted, {count} received, 0% packet loss, time 1ms"))
        return sorted(found, key=lambda one: one[0])

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for _, line in self.lines())


RTTS: Final = st.lists(st.one_of(st.none(), st.integers(1, 3000)), min_size=1, max_size=8)
RUNS: Final = st.builds(
    lambda address, rtts, head, summary, interval: Pings(
        address, 0.0, (20, *rtts), interval, host="" if "." in address else "www.example.net", head=head,
        summary=summary,
    ),
    st.sampled_from(["192.0.2.7", "192.0.2.8", "2001:db8::1", "2001:db8::2"]),
    RTTS,
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.2, 1.0, 10.0]),
)  # fmt: skip


@CASES
@given(st.lists(RUNS, min_size=2, max_size=4), st.permutations(range(4)))
def test_runs_of_ping_in_one_file_are_separate(runs: list[Pings], order: list[int]) -> None:
    """Runs with and without ping's first line and summary follow one another, and a later file may come first."""
    placed = [replace(run, begin_s=BEGIN_S + 3600.0 * turn) for run, turn in zip(runs, order, strict=False)]
    whole = recorded("".join(run.text for run in placed))
    check_contains(whole, [recorded(run.text) for run in placed])
    assert f"the file contains {len(runs)} runs" in "".join(whole.notes)
    assert len(whole.subjects) == len({run.address for run in runs})


@CASES
@given(st.lists(RUNS, min_size=2, max_size=4, unique_by=lambda run: run.address))
def test_interleaved_runs_of_ping_are_separate(runs: list[Pings]) -> None:
    placed = [
        replace(run, begin_s=BEGIN_S + 0.3 * turn, host=run.host and f"www{turn}.example.net")
        for turn, run in enumerate(runs)
    ]
    lines = sorted((one for run in placed for one in run.lines()), key=lambda one: one[0])
    check_contains(recorded("".join(f"{line}\n" for _, line in lines)), [recorded(run.text) for run in placed])


def without_times(text: str) -> str:
    return re.sub(r"^\[\d+\.\d+\] ", "", text, flags=re.MULTILINE)


@CASES
@given(st.lists(RUNS, min_size=2, max_size=4))
def test_runs_of_ping_without_times_are_separate(runs: list[Pings]) -> None:
    texts = [without_times(replace(run, begin_s=BEGIN_S).text) for run in runs]
    check_contains(recorded("".join(texts)), [recorded(text) for text in texts])


@CASES
@given(st.lists(RUNS, min_size=2, max_size=4, unique_by=lambda run: run.address))
def test_interleaved_runs_of_ping_without_times_are_separate(runs: list[Pings]) -> None:
    placed = [
        replace(run, begin_s=BEGIN_S + 0.3 * turn, host=run.host and f"www{turn}.example.net")
        for turn, run in enumerate(runs)
    ]
    lines = sorted((one for run in placed for one in run.lines()), key=lambda one: one[0])
    whole = recorded(without_times("".join(f"{line}\n" for _, line in lines)))
    check_contains(whole, [recorded(without_times(run.text)) for run in placed])


@CASES
@given(
    st.lists(st.lists(st.sampled_from([None, 5, 20.5, 300]), min_size=2, max_size=5), min_size=2, max_size=3),
    st.booleans(),
)
def test_runs_of_fping_in_one_file_are_separate(rtts_ms: list[list[float | None]], has_rows: bool) -> None:
    """Each run has two targets; `fping -C` writes only a row of RTTs for each of them."""

    def text(rtts: list[float | None]) -> str:
        lines = []
        for target in ("192.0.2.7", "host.example"):
            if has_rows:
                lines.append(f"{target} : {' '.join('-' if rtt is None else f'{rtt:.2f}' for rtt in (1.25, *rtts))}")
                continue
            for seq, rtt in enumerate((1.25, *rtts)):
                result = "timed out (NaN avg, 9% loss)" if rtt is None else f"64 bytes, {rtt} ms (9 avg, 0% loss)"
                lines.append(f"{target} : [{seq}], {result}")
        return "".join(f"{line}\n" for line in lines)

    texts = [text(rtts) for rtts in rtts_ms]
    check_contains(recorded("".join(texts)), [recorded(one) for one in texts])


def test_ping_counts_on_beyond_its_last_sequence_number() -> None:
    """Late replies to requests before the counter started again belong before it."""
    run = Pings("192.0.2.7", BEGIN_S, (20,) * 65540, 0.01, summary=False)
    lines = run.text.splitlines()
    late = lines[:65535] + lines[65537:65539] + lines[65535:65537] + lines[65539:]
    (path,) = recorded("\n".join(late)).subjects
    assert (path.counters["sent"][0], path.counters["received"][0], path.counters["duplicates"][0]) == (65540, 65540, 0)


def test_ping_without_times_of_replies_counts_them() -> None:
    """`ping -s 8` has no room for the time in its requests, so that its replies have no RTT."""
    text = Pings("192.0.2.7", BEGIN_S, (20, 30, None, 40)).text
    (whole,) = recorded(text).subjects
    (path,) = recorded(text.replace(" time=30 ms", "")).subjects
    assert path.counters == whole.counters
    rtts = path.of("rtt")
    assert rtts is not None
    assert rtts.numbers == pytest.approx([0.02, 0.04])


def logs(tool: str, lengths_ms: list[int], sizes: list[int], begin_s: float) -> str:
    """Returns a run of a tool that moves bytes in intervals of these lengths."""
    times, counts = list(accumulate(lengths_ms)), list(accumulate(sizes))
    if tool in ("ss", "tc"):
        texts = [ss("192.0.2.2", count) if tool == "ss" else tc("eth0", "root", count) for count in counts]
        return snapshots(times, texts[: len(times)], begin_s)
    if tool == "iperf3":
        rows = [(*span, size, False) for span, size in zip(spans(lengths_ms), sizes, strict=False)]
        return iperf3([rows], is_stream=True).replace(f"{BEGIN_S}", f"{begin_s:.0f}")
    if tool == "ndt7":
        messages = (
            {"Test": "download", "TCPInfo": {"ElapsedTime": 1000 * at, "BytesAcked": size, "RTT": 1000 * at}}
            for at, size in zip(times, counts, strict=False)
        )
        return "".join(f"{json.dumps(one)}\n" for one in messages)
    if tool == "mm-link":
        head = (
            f"# mahimahi mm-link (a.up) [Uplink] > log\n# init timestamp: {begin_s * 1000:.0f}\n# base timestamp: 0\n"
        )
        return head + "".join(
            f"{at} + 1504\n{at} # 1504\n{at} - 1504 {size % 90}\n" for at, size in zip(times, sizes, strict=False)
        )
    if tool == "pantheon tunnel":
        packets = "".join(
            f"{at}.000 - {k} - {size % 1500}\n" for k, (at, size) in enumerate(zip(times, sizes, strict=False))
        )
        return f"# tunnelserver ingress: {begin_s * 1000:.3f}\n{packets}"
    if tool == "pantheon":
        events = "".join(
            f"{at}.0 + 1500 1\n{at}.5 - 1500 {size % 90}.0 1\n" for at, size in zip(times, sizes, strict=False)
        )
        return f"# init timestamp: {begin_s * 1000:.3f}\n{events}"
    if tool == "lens":
        rows_ = "".join(f"{begin_s + at / 1e3:.6f},{size % 90 + 1}\n" for at, size in zip(times, sizes, strict=False))
        return f"timestamp,rtt\n{rows_}"
    assert tool == "qlog"
    header = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"vantage_point": {"type": "client"}}}
    metrics = (
        {"time": at, "name": "quic:recovery_metrics_updated", "data": {"latest_rtt": size % 90}}
        for at, size in zip(times, sizes, strict=False)
    )
    return "".join(f"\x1e{json.dumps(one)}\n" for one in (header, *metrics))


@pytest.mark.parametrize("has_head", [True, False])
def test_runs_of_iperf2_in_one_file_are_separate(has_head: bool) -> None:
    """A line of the total has the start of the first interval and the end of the last one."""
    head = (
        "Client connecting to 192.0.2.2, TCP port 5001\n"
        "[  3] local 192.0.2.1 port 40000 connected with 192.0.2.2 port 5001\n"
    )
    rows = [(0, 1, 10.0), (1, 2, 20.0), (2, 2.5, 8.0), (0, 2.5, 13.6)]
    text = "".join(f"[  3] {a:.2f}-{b:.2f} sec  1.00 MBytes  {mbps:.1f} Mbits/sec\n" for a, b, mbps in rows)
    found = recorded(head + text + (head if has_head else "") + text)
    assert len(found.subjects) == 2
    for one in found.subjects:
        rate = one.of("rate")
        assert rate is not None
        assert (rate.numbers.tolist(), rate.mean) == ([10e6, 20e6, 8e6], 13.6e6)


TOOLS: Final = ("ss", "tc", "iperf3", "ndt7", "mm-link", "pantheon tunnel", "pantheon", "lens", "qlog")


@pytest.mark.parametrize("tool", TOOLS)
@settings(max_examples=examples(10, 300), deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 5000), min_size=2, max_size=6), min_size=2, max_size=3),
    st.lists(st.integers(1, 10**8), min_size=6, max_size=6),
)
def test_runs_of_a_tool_in_one_file_are_separate(tool: str, lengths: list[list[int]], sizes: list[int]) -> None:
    texts = [logs(tool, one, sizes, BEGIN_S + 3600 * turn) for turn, one in enumerate(lengths)]
    if tool in ("ss", "tc"):
        # A counter that is the highest in the first run shows that it was reset.
        texts[0] = logs(tool, lengths[0], [10**9, *sizes], BEGIN_S)
        texts = texts[:2]
    check_contains(recorded("".join(texts)), [recorded(text) for text in texts])


@pytest.mark.parametrize("tool", ["ss", "tc", "lens rows", "mahimahi", "pensieve", "pantheon rows"])
def test_times_that_decrease_are_rejected_with_their_line(tool: str) -> None:
    """These logs have no first line, or are traces of which mahimahi itself rejects decreasing times."""
    if tool == "mahimahi":
        text = "".join(f"{at}\n" for at in (1, 5, 9))
    elif tool == "pensieve":
        text = "".join(f"{at}.5 3\n" for at in (1, 5, 9))
    else:
        text = logs(tool.replace("pantheon rows", "pantheon tunnel").removesuffix(" rows"), [10, 20], [5, 6], BEGIN_S)
    again = text if "rows" not in tool else text.partition("\n")[2]
    line = text.count("\n") + 1
    with pytest.raises(ScenarioError, match=re.compile(rf"file:{line}: ")):
        recorded(text + again)


@pytest.mark.parametrize("tool", ["ss", "tc"])
def test_snapshots_without_a_time_among_others_are_rejected(tool: str) -> None:
    timed = logs(tool, [10, 20], [5, 6], BEGIN_S)
    untimed = timed.split("\n", 1)[1].split(f"{BEGIN_S}"[:6])[0]
    first = next(k for k, line in enumerate(untimed.splitlines(), 1) if not line.startswith(" "))
    with pytest.raises(ScenarioError, match=rf"file:{first}: a snapshot before the first time; needs a time before"):
        recorded(untimed + timed)
    with pytest.raises(ScenarioError, match=r"file:\d+: a snapshot without a time; needs a time before each snapshot"):
        recorded(timed + untimed)


def test_logs_of_two_links_are_two_paths() -> None:
    up = logs("mm-link", [10, 20], [5, 6], BEGIN_S)
    down = up.replace("a.up", "a.down").replace("[Uplink]", "[Downlink]")
    assert [one.name for one in recorded(up + down).subjects] == ["uplink (a.up)", "downlink (a.down)"]


def test_json_of_tc_between_times_is_a_log() -> None:
    """A device that counts again from 0 shows that its queue was replaced."""
    sizes = [1000, 251_000, 1000, 126_000]
    queues = [
        [{"kind": "tbf", "handle": "1:", "dev": "eth0", "root": True, "bytes": n, "drops": n // 1000}] for n in sizes
    ]
    texts = [json.dumps(one, indent=4 * (k % 2)) + "\n" for k, one in enumerate(queues)]
    found = recorded(snapshots([0, 1000, 2000, 3000], texts))
    (queue,) = found.subjects
    rate, lost = queue.of("rate"), queue.of("losses")
    assert rate is not None
    assert lost is not None
    assert (rate.numbers.tolist(), rate.time_s.tolist(), rate.mean) == ([2e6, 1e6], [1, 3], 1.5e6)
    assert lost.numbers.tolist() == [250, 125]
    assert queue.counters["bytes"] == (377_000, "bytes")
    assert found.notes[0].startswith("eth0 tbf 1:: its counters were reset before line ")
