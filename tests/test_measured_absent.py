"""Keys and lines that a measured file lacks: their values are unknown, and no other value changes."""

import copy
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from longpipe import ScenarioError
from longpipe.measured import Recording, read
from test_measured_properties import recorded
from thorough import one_in

DATA: Final = Path(__file__).parent / "data/measured"
# Path of a key in JSON; "*" stands for all elements of a list.
Keys = tuple[str, ...]
# JSON files, and keys whose absence is no error, because the file contains the value in another form.
FILES: Final[dict[str, str]] = {
    "iperf3.json.gz": "-",
    "iperf3-udp.json.gz": "-",
    "iperf3-bidir.json.gz": "-",
    "iperf3-reverse.json.gz": "-",
    "irtt.json.gz": "-",
    "tc.json": "-",
    "ping.flent.gz": r"raw_values.*|results.*",
    "aioquic.qlog.gz": r".*(frames|acked_ranges|packet_number)",
}


def loaded(name: str) -> Any:  # noqa: ANN401 - JSON
    data = (DATA / name).read_bytes()
    return json.loads(gzip.decompress(data) if name.endswith(".gz") else data)


def keys(value: object, path: Keys = ()) -> Iterator[Keys]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from keys(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, (*path, "*"))


def without(value: object, path: Keys) -> object:
    """Removes a key from a copy of a JSON value, in all elements of lists."""
    found = copy.deepcopy(value)
    _remove(found, path)
    return found


def _remove(value: object, path: Keys) -> None:
    if path[0] == "*" and isinstance(value, list):
        for inner in value:
            _remove(inner, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        if len(path) == 1:
            del value[path[0]]
        else:
            _remove(value[path[0]], path[1:])


def flat(recording: Recording) -> dict[tuple[object, ...], object]:
    """Returns the counters, the facts and the values of the series, by subject."""
    found: dict[tuple[object, ...], object] = {}
    for place, one in enumerate(recording.subjects):
        found |= {(place, name): value for name, (value, _) in one.counters.items()}
        found |= {(place, name): value for name, value in one.facts.items()}
        found |= {(place, of.quantity, of.unit): [*of.time_s.tolist(), *of.numbers.tolist()] for of in one.series}
    return found


CASES: Final = [
    pytest.param(name, path, id=f"{name}: {'.'.join(path)}")
    for name, but in FILES.items()
    for path in dict.fromkeys(keys(loaded(name)))
    if not re.fullmatch(but, ".".join(path))
]


@pytest.mark.parametrize(("name", "path"), one_in(7, CASES))
def test_absent_key_changes_no_other_value(name: str, path: Keys) -> None:
    """A file without a key that the reader needs is rejected in one line."""
    before, after, error = flat(read(DATA / name)), {}, ""
    try:
        after = flat(recorded(json.dumps(without(loaded(name), path))))
    except ScenarioError as caught:
        error = str(caught)
    assert "\n" not in error
    assert after.keys() <= before.keys()
    assert after == {key: pytest.approx(before[key]) for key in after}


@pytest.mark.parametrize(
    ("name", "path", "own"),
    [
        ("iperf3.json.gz", "intervals.*.streams.*.rtt", "smoothed rtt"),
        ("iperf3.json.gz", "start.test_start.protocol", "protocol"),
        ("iperf3.json.gz", "end.streams.*.sender.retransmits", "retransmitted"),
        ("iperf3-udp.json.gz", "end.streams.*.udp.lost_packets", "lost"),
        ("irtt.json.gz", "round_trips.*.lost", "lost"),
        ("irtt.json.gz", "round_trips.*.lost", "lost upstream"),
        ("irtt.json.gz", "round_trips.*.delay.rtt", "rtt"),
        ("tc.json", "*.drops", "drops"),
        ("tc.json", "*.backlog", "backlog"),
        ("aioquic.qlog.gz", "traces.*.events.*.data.raw.length", "rate"),
        ("aioquic.qlog.gz", "traces.*.events.*.data.header.packet_number", "acknowledged"),
    ],
)
def test_value_of_an_absent_key_is_unknown(name: str, path: str, own: str) -> None:
    assert own in {key[1] for key in flat(read(DATA / name))}
    after = recorded(json.dumps(without(loaded(name), tuple(path.split(".")))))
    assert own not in {key[1] for key in flat(after)}


def test_role_in_iperf3_is_that_of_the_client_or_unknown() -> None:
    """Versions before 3.7 do not mark the sender; a client sends unless the test is reversed."""
    for name, role in (("iperf3.json.gz", "sender"), ("iperf3-reverse.json.gz", "receiver")):
        value = loaded(name)
        for path in (
            "intervals.*.streams.*.sender",
            *(f"end.streams.*.{end}.sender" for end in ("sender", "receiver")),
        ):
            value = without(value, tuple(path.split(".")))
        (flow,) = recorded(json.dumps(value)).subjects
        assert flow.facts["role"] == role
        unknown = recorded(json.dumps(without(value, ("start", "test_start", "reverse"))))
        assert "role" not in unknown.subjects[0].facts
        assert any(line.startswith("whether the payload was sent or received") for line in unknown.unknown)


ITEMS: Final = ("bytes_sent", "rtt", "cwnd", "minrtt", "mss", "busy", "segs_out", "delivered", "bytes_retrans", "rto")


@pytest.mark.parametrize("item", ITEMS)
def test_absent_item_of_ss_is_unknown(item: str) -> None:
    text = gzip.decompress((DATA / "ss.txt.gz").read_bytes()).decode()
    before, after = flat(recorded(text)), flat(recorded(re.sub(rf"\b{item}:\S+ ?", "", text)))
    assert after.items() <= before.items()
    own = {"rtt": "smoothed rtt"}.get(item, item)
    assert own in {key[1] for key in before} - {key[1] for key in after}


@pytest.mark.parametrize(("line", "own"), [("Sent", {"rate", "losses", "bytes"}), ("backlog", {"backlog", "qlen"})])
def test_absent_line_of_tc_is_unknown(line: str, own: set[str]) -> None:
    text = (DATA / "tc.txt").read_text()
    before, after = flat(recorded(text)), flat(recorded(re.sub(rf" {line} .*\n", "", text)))
    assert after.items() <= before.items()
    assert own <= {key[1] for key in before} - {key[1] for key in after}


def test_rate_line_of_tc_changes_no_other_value() -> None:
    """Versions of iproute2 before 4, and queues with an estimator, print a rate before the backlog."""
    text = (DATA / "tc.txt").read_text()
    before, after = recorded(text), recorded(text.replace(" backlog ", " rate 8Kbit 1pps backlog "))
    assert flat(before).items() <= flat(after).items()
    assert after.subjects[0].counters["estimated rate"] == (8000.0, "bit/s")


def test_tc_classes_and_filters_are_not_queues() -> None:
    queue = "qdisc htb 1: dev eth0 root refcnt 2 r2q 10\n Sent 10 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)\n"
    other = "filter parent 1: protocol all pref 1 u32\n  Action statistics:\n Sent 999 bytes 99 pkt (dropped 9, overlimits 0 requeues 0)\n"
    child = "class htb 1:10 root prio 0 rate 1Mbit\n Sent 7 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)\n"
    found = {one.name: one.counters["bytes"][0] for one in recorded(queue + other + child).subjects}
    assert found == {"eth0 htb 1:": 10, "class htb 1:10": 7}
