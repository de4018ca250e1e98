"""Records of live runs that are damaged or contain too long a pause: each error is one line."""

import json
import random
import re
import signal
import struct
from pathlib import Path
from typing import Any

import pytest

from live_programs import IDLE, live
from longpipe import Scenario, ScenarioError, _core
from longpipe.live import plan, replay
from longpipe.live.certificate import Certificate
from longpipe.live.flow_limits import RealFlow
from longpipe.live.records import MAGIC, begin, read

POLICER = {"kind": "policer", "rate": "1 Mbit/s", "burst": "1 KB"}
OUTAGES = {"intervals": [["0 s", "1 s"]], "arriving": "drop"}
DAY_PS = 86_400 * 10**12
END = 1


def arrival(at_ps: int, flags: int = 0, circuit: int = 0) -> bytes:
    return struct.pack("<QIHBB", at_ps, circuit, 100, flags, 0)


def end(at_ps: int, arrivals: int) -> bytes:
    return struct.pack("<Q7xBQQ", at_ps, END, 0, arrivals)


def record(file: Path, entries: bytes, *, alone: bool = True) -> Path:
    begin(file, plan(Scenario.from_toml(IDLE), alone=alone), seed=1, alone=alone)
    with file.open("ab") as opened:
        opened.write(entries)
    return file


def with_head(file: Path, change: dict[str, Any]) -> Path:
    """Writes a record in which the given header fields are changed (or removed, if None), and returns its path."""
    content = file.read_bytes()
    start = content.index(b"\n") + 1
    (length,) = struct.unpack_from("<Q", content, start)
    head = json.loads(content[start + 8 : start + 8 + length]) | change
    text = json.dumps({name: value for name, value in head.items() if value is not None}).encode()
    file.write_bytes(content[:start] + struct.pack("<Q", len(text)) + text + content[start + 8 + length :])
    return file


def test_the_reference_names_each_key_of_the_reports(tmp_path: Path) -> None:
    fields = dict.fromkeys(RealFlow.__dataclass_fields__, 0)
    content = dict.fromkeys(Certificate.__dataclass_fields__, 0) | {"flows": (RealFlow(**fields),), "ports": {}}  # type: ignore[arg-type]
    live_keys = json.loads(Certificate(**content).to_json())  # type: ignore[arg-type]
    replayed = json.loads(replay(record(tmp_path / "a.live", end(1, 0))).to_json())
    page = (Path(__file__).parents[1] / "docs" / "live.md").read_text(encoding="utf-8")
    section = page.partition("## Keys of the reports")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    named: dict[str, set[str]] = {}
    for keys, of in rows:
        named.setdefault(of.strip(), set()).update(re.findall("`(.*?)`", keys))
    assert named["both"] | named["live"] == set(live_keys)
    assert named["both"] | named["replay"] == set(replayed)
    assert named["flow"] == set(live_keys["flows"][0])


def test_record_without_digests_repeats_its_decisions(tmp_path: Path) -> None:
    entries = arrival(0) + arrival(10**9, circuit=1) + arrival(DAY_PS) + end(DAY_PS + 10**12, 3)
    new = replay(record(tmp_path / "new.live", entries))
    old = replay(with_head(record(tmp_path / "old.live", entries), {"digest": None}))
    assert (new.entered, new.delivered, new.decisions) == (3, 3, old.decisions)
    assert new.elapsed_s == 86_401


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"switch.buffer": "10 packets"}, "overflow"),
        ({"switch.policy": {"kind": "codel", "target": "10 us", "interval": "50 us"}}, "aqm"),
        ({"network.trunk_loss": {"kind": "bernoulli", "probability": 0.5}}, "injected_loss"),
        ({"network.trunk_loss": {"kind": "bit-errors", "rate": 1e-3}}, "bit_error"),
        ({"network.path": {"kind": "moving", "outages": OUTAGES}}, "outage"),
        ({"network.conditioners": [POLICER]}, "policer"),
    ],
)
def test_losses_have_the_causes_that_ports_count(tmp_path: Path, changes: dict[str, Any], cause: str) -> None:
    entries = b"".join(arrival(10**6 + at) for at in range(200)) + end(10**12, 200)
    found = replay(record(tmp_path / "a.live", entries), **changes)
    assert {name for name, count in found.lost.items() if count} == {cause}
    (counters,) = [counters for name, counters, _, _ in _core.drop_causes() if name == cause]
    counted = [
        sum(found.ports[f"packets_lost_{counter}"]) for counter in counters if f"packets_lost_{counter}" in found.ports
    ]
    assert found.lost[cause] == sum(counted) > 0
    assert found.entered == found.delivered + found.lost[cause]


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        # The time is 58 days and 19 hours; simulating it would take hours.
        (
            arrival(5_081_277_178_699_218_000),
            "entry 0: 5081277 s after the previous entry; needs at most one day",
        ),
        (arrival(5) + end(DAY_PS + 6, 1), "entry 1: 86400 s after the previous entry; needs at most one day"),
        (arrival(5) + arrival(4), "entry 1: not a valid entry of a record"),
        (arrival(5, flags=8), "entry 0: not a valid entry of a record"),
        (arrival(5) + end(6, 2), "entry 1: not a valid entry of a record"),
    ],
)
def test_impossible_entries_are_named(tmp_path: Path, entries: bytes, problem: str) -> None:
    file = record(tmp_path / "a.live", entries)
    done = live("replay", str(file))
    assert (done.returncode, done.stderr) == (
        2,
        f"error: {file}: {problem}; needs a record of longpipe live --record\n",
    )


def test_a_missing_record_has_the_nearest_file(tmp_path: Path) -> None:
    file = record(tmp_path / "call.live", b"")
    with pytest.raises(ScenarioError) as raised:
        read(tmp_path / "call.liv")
    reason = f"no such file or directory (did you mean '{file}'?); needs a record"
    assert str(raised.value) == f"{tmp_path / 'call.liv'}: cannot be read, {reason}"


def test_a_signal_ends_a_replay(tmp_path: Path) -> None:
    # A greedy flow would be active for a simulated day.
    scenario = Scenario.from_toml(IDLE).with_(traffic="greedy")
    file = tmp_path / "a.live"
    begin(file, plan(scenario, ("source1", "sink1")), seed=1, alone=False)
    with file.open("ab") as opened:
        opened.write(arrival(5, circuit=2) + end(DAY_PS, 1))

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(TimeoutError):
            replay(file)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seed": None}, "seed: missing in its header"),
        ({"seed": 2**64}, "seed: "),
        ({"seed": -1}, "seed: -1; needs a whole number of 64 bits"),
        ({"seed": True}, "seed: "),
        ({"mtu": 10**6}, "mtu: 1000000; needs 68 to 65535 bytes"),
        ({"hosts": 7}, "hosts: 7; needs the names of two hosts or more"),
        ({"hosts": ["a", 5]}, "hosts: "),
        ({"alone": "yes"}, "alone: "),
        ({"engine": 7}, "engine: 7; needs"),
        ({"scenario": []}, "scenario: "),
        ({"scenario": {"duration": "never"}}, "scenario.duration: "),
        ({"resolved": 5}, "resolved: 5; needs"),
        ({"resolved": "{}"}, "resolved: does not match its digest"),
        ({"digest": 5}, "resolved: does not match its digest"),
    ],
)
def test_unsuitable_field_of_a_head_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    file = with_head(record(tmp_path / "a.live", b""), change)
    with pytest.raises(ScenarioError) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file}: {problem}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("head", [b"[]", b"7", b"{", b"\xff" * 9, b"[" * 100_000, b'{"seed": 1' + b"0" * 5000 + b"}"])
@pytest.mark.parametrize("length", [None, 0, 2**40, 2**63, 2**64 - 1])
def test_damaged_head_is_rejected_in_one_line(tmp_path: Path, head: bytes, length: int | None) -> None:
    file = tmp_path / "a.live"
    file.write_bytes(MAGIC + b"1\n" + struct.pack("<Q", len(head) if length is None else length) + head)
    with pytest.raises(ScenarioError, match=r"a\.live: ") as refused:
        read(file)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_a_record_with_flipped_bits_is_replayed_or_named(tmp_path: Path) -> None:
    file = record(tmp_path / "a.live", arrival(0) + arrival(10**9, circuit=1) + end(10**12, 2))
    whole = file.read_bytes()
    drawn = random.Random(1)
    problems = []
    for _ in range(300):
        content = bytearray(whole)
        # Headers are long, so that entries are damaged about as often as headers.
        least = drawn.choice([0, len(content) - 64])
        content[drawn.randrange(least, len(content))] ^= 1 << drawn.randrange(8)
        file.write_bytes(content)
        try:
            replay(file)
        except ScenarioError as error:
            problems.append(str(error))
    assert len(problems) > 100
    assert [problem for problem in problems if not problem.startswith(f"{file}: ") or "\n" in problem] == []
