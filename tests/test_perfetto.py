"""Perfetto traces of runs, decoded by a reader of the protobuf wire format, and checked against the run."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longpipe import Result, Scenario, ScenarioError, perfetto, simulate


@pytest.fixture(scope="module")
def lossy() -> Result:
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="4 s",
        network={
            "kind": "dumbbell",
            "sources": 2,
            "trunk_rate": "10 Mbit/s",
            "trunk_delay": "20 ms",
            "trunk_loss": {"kind": "packets", "indices": [300, 301, 900]},
        },
        switch={"buffer": "1 BDP"},
        tcp={"profile": "linux-6", "congestion": "cubic"},
        traces=dict.fromkeys(perfetto.TRACES, True),
    )
    return simulate(scenario)


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return number, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the number and value of each field: a number, 8 bytes, or bytes preceded by their length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack("<d", data[at : at + 8])[0]
            at += 8
        else:
            assert tag & 7 == 2
            length, at = varint(data, at)
            assert at + length <= len(data)
            yield tag >> 3, data[at : at + length]
            at += length
    assert at == len(data)


def packets(path: Path) -> list[dict[int, Any]]:
    found = []
    for number, packet in fields(path.read_bytes()):
        assert number == 1
        found.append(dict(fields(packet)))
        assert found[-1].keys() <= {8, 10, 11, 60}
        assert found[-1][10] == 1
    return found


def test_counters_and_slices_are_those_of_the_traces(lossy: Result, tmp_path: Path) -> None:
    path = tmp_path / "run.perfetto"
    perfetto.write(lossy, path)
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    counters: dict[str, list[tuple[int, float]]] = {}
    depth: dict[str, int] = {}
    instants: list[str] = []
    for packet in packets(path):
        if 60 in packet:
            track = dict(fields(packet[60]))
            assert track[1] not in names
            names[track[1]] = track[2].decode()
            if 5 in track:
                assert track[5] in names
                parents[track[1]] = track[5]
                assert dict(fields(track[8])).keys() <= {3, 6}
            continue
        event = dict(fields(packet[11]))
        name = names[event[11]]
        if event[9] == 4:
            assert event[11] in parents
            counters.setdefault(name, []).append((packet[8], event[44]))
        elif event[9] == 3:
            instants.append(event[23].decode())
        else:
            depth[name] = depth.get(name, 0) + (1 if event[9] == 1 else -1)
            assert depth[name] in (0, 1)
    assert set(depth.values()) == {0}
    assert {"flow1", "flow2", "switch1->switch2"} <= set(names.values())
    for flow in ("flow1", "flow2"):
        rows = lossy.traces["cwnd"].query("flow == @flow")
        changes = rows[rows.cwnd_bytes.diff() != 0]
        assert [value for _, value in counters[f"{flow} cwnd"]] == changes.cwnd_bytes.tolist()
        assert [time for time, _ in counters[f"{flow} cwnd"]] == (changes.time_s * 1e9).round().astype(int).tolist()
    assert max(v for _, v in counters["switch1->switch2 queue"]) == lossy.traces["queue"].queue_packets.max()
    events = lossy.traces["events"]
    assert len(instants) == (events.kind != "state").sum()
    assert instants.count("dropped: injected_loss") == 3


def test_perfettos_own_definitions_read_the_file(lossy: Result, tmp_path: Path) -> None:
    schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    path = tmp_path / "run.perfetto"
    perfetto.write(lossy, path)
    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    tracks = {
        one.track_descriptor.uuid: one.track_descriptor for one in trace.packet if one.HasField("track_descriptor")
    }
    assert {"flow1", "flow1 cwnd", "flow1 RTT", "switch1->switch2 queue"} <= {track.name for track in tracks.values()}
    units = {track.name: track.counter.unit for track in tracks.values() if track.HasField("counter")}
    assert (units["flow1 cwnd"], units["flow1 RTT"]) == (schema.CounterDescriptor.UNIT_SIZE_BYTES, 1)
    events = [one.track_event for one in trace.packet if one.HasField("track_event")]
    assert all(event.track_uuid in tracks for event in events)
    assert {event.type for event in events} == {1, 2, 3, 4}
    # The trace contains nothing that the schema does not define.
    assert trace.SerializeToString() == path.read_bytes()


def test_run_without_traces_names_those_needed(tmp_path: Path) -> None:
    with pytest.raises(
        ScenarioError, match=r"^perfetto: the run has no traces; needs one of cwnd, rtt, queue, events$"
    ):
        perfetto.write(simulate(Scenario(defaults="1996", duration="10 ms")), tmp_path / "run")
