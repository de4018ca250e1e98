"""Files with several runs of a tool: each run is read as if it were alone in its file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpipe.measured import Recording, Subject
from test_measured_properties import recorded
from thorough import examples

CASES: Final = settings(max_examples=examples(25, 1000), deadline=None)
BEGIN_S: Final = 1_795_860_000


def key(subject: Subject) -> tuple[str, str]:
    return subject.kind, subject.key or subject.name


def values(subjects: Sequence[Subject]) -> Counter[tuple[object, ...]]:
    """Returns how often each value of each series occurs, apart from its time."""
    return Counter(
        (key(subject), one.quantity, one.unit, round(float(value), 6))
        for subject in subjects
        for one in subject.series
        for value in one.numbers
    )


def check_contains(whole: Recording, parts: Sequence[Recording]) -> None:
    """Checks that a recording has the values and the counters of its parts, and no others."""
    subjects = [one for part in parts for one in part.subjects]
    assert values(whole.subjects) == values(subjects)
    counts: Counter[tuple[object, ...]] = Counter()
    for one in subjects:
        for name, (value, unit) in one.counters.items():
            counts[key(one), name, unit] += round(value)
    assert counts == Counter(
        {(key(one), name, unit): round(value) for one in whole.subjects for name, (value, unit) in one.counters.items()}
    )
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
