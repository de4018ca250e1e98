"""Impossible estimates are refused in one line, whichever file they come from."""

import gzip
import struct
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from longpipe.errors import ScenarioError
from longpipe.fit import observe
from longpipe.fit.recorded import fit_recorded
from longpipe.fit.report import FitReport
from longpipe.measured import read

DATA = Path(__file__).parent / "data" / "measured"


@pytest.fixture(scope="module")
def found() -> FitReport:
    return fit_recorded(read(DATA / "ss.txt.gz"))


@pytest.mark.parametrize("seed", range(30))
def test_impossible_estimates_are_refused(found: FitReport, seed: int) -> None:
    random = Random(seed)
    past = found.duration_s * random.uniform(1.001, 10)
    changes: list[dict[str, Any]] = [
        {"estimates": {**found.estimates, "base RTT": {"value": -random.uniform(0, 10)}}},
        {"estimates": {**found.estimates, "loss": {"value": random.uniform(1.001, 10)}}},
        {"controls": {"cubic": random.uniform(1.001, 10)}},
        {"series": {**found.series, "lost_s": [0.0, past]}},
        {"rate_steps": [{"at_s": past, "rate_bps": 1e6, "low": 1e6, "high": 1e6}]},
    ]
    for one in changes:
        with pytest.raises(ScenarioError, match=r"; needs a (time|share) [^\n]*$"):
            replace(found, **one)


@pytest.mark.parametrize("seed", range(10))
def test_negative_minimum_rtt_of_a_socket_is_refused(seed: int) -> None:
    recording = read(DATA / "ss.txt.gz")
    least_s = -Random(seed).uniform(0, 1)
    [subject] = [one for one in recording.subjects if one.kind == "flow"][:1]
    changed = replace(subject, counters={**subject.counters, "minrtt": (least_s, "s")})
    with pytest.raises(ScenarioError, match=r"base RTT: -.* ms; needs a time above 0"):
        fit_recorded(replace(recording, subjects=(changed,)))


@pytest.mark.parametrize("seed", range(4))
def test_capture_whose_acks_precede_their_data_is_refused(tmp_path: Path, seed: int) -> None:
    """The clocks of two interfaces differ by more than the RTT of 100 ms."""
    early_ns = int(Random(seed).uniform(0.5, 2.0) * 1e9)
    data = gzip.decompress((DATA / "linux-cubic.pcap.gz").read_bytes())
    changed, at = [data[:24]], 24
    while at < len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("=4I", data, at)
        head = data[at + 16 : at + 16 + kept]
        now = seconds * 10**9 + nanoseconds + 10**10
        # The sender is 10.0.1.2.
        is_ack = head[26:30] != bytes((10, 0, 1, 2))
        changed.append(struct.pack("=4I", *divmod(now - is_ack * early_ns, 10**9), kept, length) + head)
        at += 16 + kept
    path = tmp_path / "clocks.pcap"
    path.write_bytes(b"".join(changed))
    with pytest.raises(ScenarioError, match=r"^[^\n]*needs[^\n]*$"):
        observe(path)
