"""The qlog of runs, read by an independent strict reader: framing, names, required fields, and numbers that agree with
the run.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commands import run
from longpipe import Result, Scenario, ScenarioError, qlog, simulate, stacks
from longpipe.cli import app

# Data of each event: required and optional fields (draft-ietf-quic-qlog-quic-events-12).
FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "packet_sent": ({"header"}, {"frames", "raw", "trigger"}),
    "packet_received": ({"header"}, {"frames", "raw", "trigger"}),
    "packet_lost": (set(), {"header", "frames", "trigger"}),
    "recovery_parameters_set": ({"timer_granularity"}, {"max_datagram_size", "initial_congestion_window"}),
    "recovery_metrics_updated": (
        set(),
        {"min_rtt", "smoothed_rtt", "latest_rtt", "congestion_window", "ssthresh"},
    ),
    "congestion_state_updated": ({"new"}, {"old", "trigger"}),
    "timer_updated": ({"event_type"}, {"timer_type", "delta"}),
    "udp_datagrams_sent": (set(), {"raw", "count"}),
    "udp_datagrams_received": (set(), {"raw", "count"}),
}
needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="the real stacks are not installed")
SENT_TRIGGERS = {"retransmit_reordered", "retransmit_timeout", "pto_probe"}
LOST_TRIGGERS = {"reordering_threshold", "time_threshold", "pto_expired"}


@pytest.fixture(scope="module")
def lossy() -> Result:
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="6 s",
        network={
            "kind": "dumbbell",
            "sources": 2,
            "trunk_rate": "10 Mbit/s",
            "trunk_delay": "20 ms",
            # Lists of lost packets: a burst of losses, and a tail loss that only a timeout detects.
            "trunk_loss": {"kind": "packets", "indices": [40, 41, 60, 700, *range(1500, 1540)]},
        },
        switch={"buffer": "0.5 BDP"},
        tcp={"profile": "linux-6", "congestion": "cubic"},
        traces=dict.fromkeys(qlog.TRACES, True),
    )
    return simulate(scenario)


def read(path: Path, dialect: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Reads a file as specified by the draft; each deviation is an error."""
    raw = path.read_bytes()
    texts = raw.split(b"\x1e")
    assert texts[0] == b""
    assert all(text.endswith(b"\n") and text.count(b"\n") == 1 for text in texts[1:])
    header, *events = [json.loads(text, parse_constant=pytest.fail) for text in texts[1:]]
    if dialect == "current":
        assert b"urn:ietf:params:qlog:file:sequential" in raw[:256]
        assert b"application/qlog+json-seq" in raw[:256]
        common = header["trace"]["common_fields"]
        assert common["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
        assert common["time_format"] == "relative_to_epoch"
        assert "urn:ietf:params:qlog:events:quic-12" in header["trace"]["event_schemas"]
    else:
        assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
        assert header["trace"]["common_fields"] == {"time_format": "relative", "reference_time": 0}
    assert header["trace"]["vantage_point"] == {"name": "longpipe", "type": "client"}
    times = [event["time"] for event in events]
    assert times == sorted(times)
    old = {full: name for name, full in qlog._OLD.items()}
    for event in events:
        assert event.keys() == {"time", "name", "data"}
        if event["name"] == "simulation:marker":
            assert dialect == "current"
            continue
        name = old[event["name"]] if dialect == "0.3" else event["name"].removeprefix("quic:")
        assert dialect == "0.3" or event["name"].startswith("quic:")
        required, optional = FIELDS[name]
        assert required <= event["data"].keys() <= required | optional, event
        event["short"] = name
    return header, events


@pytest.mark.parametrize(("dialect", "version"), [("current", ""), ("0.3", "0.3")])
def test_exported_qlog_is_read_again(lossy: Result, tmp_path: Path, dialect: qlog.Dialect, version: str) -> None:
    from longpipe.measured import read as read_recording

    found = read_recording(qlog.write(lossy, tmp_path, dialect)[0])
    assert (found.tool, found.version) == ("longpipe", version)


@pytest.mark.parametrize("dialect", ["current", "0.3"])
def test_each_event_satisfies_its_schema(lossy: Result, tmp_path: Path, dialect: qlog.Dialect) -> None:
    written = qlog.write(lossy, tmp_path, dialect)
    assert [path.name for path in written] == ["flow1.sqlog", "flow2.sqlog"]
    for path in written:
        _, events = read(path, dialect)
        kinds = {event["short"] for event in events if "short" in event}
        assert kinds >= FIELDS.keys() - {"timer_updated", "udp_datagrams_sent", "udp_datagrams_received"}
        for event in events:
            short, data = event.get("short"), event["data"]
            if short in ("packet_sent", "packet_received"):
                assert data["header"]["packet_type"] == "1RTT"
                assert data.get("trigger", "pto_probe") in SENT_TRIGGERS
            if short == "packet_lost":
                assert data["trigger"] in LOST_TRIGGERS
            if short == "recovery_metrics_updated":
                assert data
                assert all(math.isfinite(value) and value > 0 for value in data.values())


def test_packets_are_numbered_by_transmission_and_each_is_acknowledged_or_lost_once(
    lossy: Result, tmp_path: Path
) -> None:
    for path, row in zip(qlog.write(lossy, tmp_path), qlog.rows_of(lossy.flows), strict=True):
        _, events = read(path, "current")
        sent = [event["data"] for event in events if event.get("short") == "packet_sent"]
        assert [data["header"]["packet_number"] for data in sent] == list(range(row["sent_segments"]))
        assert sum(data["raw"]["length"] for data in sent) == row["sent_bytes"]
        assert sum("trigger" in data for data in sent) == row["retransmitted_segments"]
        covered: list[int] = []
        highest = -1
        for event in events:
            if event.get("short") != "packet_received":
                continue
            for begin, *end in event["data"]["frames"][0]["acked_ranges"]:
                numbers = range(begin, (end or [begin])[0] + 1)
                # A duplicate ACK repeats the highest number.
                if list(numbers) != [highest]:
                    covered += numbers
                highest = max(highest, numbers[-1])
        assert len(covered) == len(set(covered))
        # Bytes were first sent in order, and the bytes before the first one that is not acknowledged were delivered.
        # Bytes beyond it may be acknowledged, too, because SACK reports them.
        offsets = {data["frames"][0]["offset"]: 0 for data in sent}
        for number in covered:
            frame = sent[number]["frames"][0]
            offsets[frame["offset"]] = frame["raw"]["length"]
        first = min((offset for offset, length in offsets.items() if length == 0), default=sum(offsets.values()))
        acks = lossy.traces["sequence"].query("flow == @row['flow'] and event == 1")
        assert first == acks["sequence_bytes"].max() <= row["delivered_bytes"]
        assert sum(offsets.values()) == pytest.approx(row["delivered_bytes"], rel=0.05)


def test_only_selected_events_are_written(lossy: Result, tmp_path: Path) -> None:
    _, whole = read(qlog.write(lossy, tmp_path / "all")[0], "current")
    chosen = ["packet_lost", "simulation:marker"]
    _, selected = read(qlog.write(lossy, tmp_path / "some", events=chosen)[0], "current")
    assert selected == [event for event in whole if event["name"].removeprefix("quic:") in chosen]
    assert 0 < len(selected) < len(whole)
    with pytest.raises(ScenarioError, match=r"^events: 'packet_loss'; did you mean 'packet_lost'\?"):
        qlog.write(lossy, tmp_path, events=["packet_loss"])


def test_run_warns_of_long_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lan.toml").write_text(
        'framing = "ip"\nduration = "100 ms"\ntcp = { profile = "linux-6", congestion = "cubic" }\n'
        'network = { kind = "dumbbell", sources = 2, trunk_rate = "10 Mbit/s", trunk_delay = "5 ms" }\n'
        'switch = { buffer = "100 packets" }\n'
    )
    monkeypatch.setattr("longpipe.cli.run.LONG_QLOG_BYTES", 1000)
    words = ["run", str(tmp_path / "lan.toml"), "--no-store", "--qlog", str(tmp_path / "logs")]
    done = CliRunner().invoke(app, words)
    assert "warning: qlog: " in done.stderr
    assert " in 2 files; --qlog-event packet_lost, or a shorter duration" in done.stderr
    done = CliRunner().invoke(app, [*words, "--qlog-event", "packet_lots"])
    assert str(done.exception).startswith(
        "--qlog-event: 'packet_lots'; did you mean 'packet_lost'? accepts packet_sent"
    )


def test_the_windows_are_those_of_the_trace(lossy: Result, tmp_path: Path) -> None:
    path = qlog.write(lossy, tmp_path)[0]
    _, events = read(path, "current")
    windows = [event["data"]["congestion_window"] for event in events if "congestion_window" in event["data"]]
    trace = lossy.traces["cwnd"]
    assert windows == trace[trace.flow == "flow1"].cwnd_bytes.round().tolist()


def test_only_the_files_of_tcp_flows_contain_the_length_of_headers(tmp_path: Path) -> None:
    groups = [{"name": "bulk"}, {"name": "call", "traffic": {"kind": "cbr", "rate": "100 kbit/s"}}]
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="100 ms",
        network={"kind": "dumbbell", "group": groups},
        switch={"buffer": "50 packets"},
        traces=dict.fromkeys(qlog.TRACES, True),
    )
    bulk, call = (read(path, "current")[0]["trace"] for path in qlog.write(simulate(scenario), tmp_path))
    assert bulk["custom_fields"] == {"protocol": "TCP", "header_bytes": 40}
    assert "custom_fields" not in call


def test_run_without_traces_names_those_needed(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"^qlog: the run has no trace cwnd; needs cwnd, rtt, sequence, events$"):
        qlog.write(simulate(Scenario(defaults="1996", duration="10 ms")), tmp_path)


def test_run_writes_both_files_and_records_their_traces(tmp_path: Path) -> None:
    (tmp_path / "lan.toml").write_text(
        'schema = 1\nframing = "ip"\nduration = "1 s"\nswitch = { buffer = "100 packets" }\n'
    )
    logs, trace = tmp_path / "logs", tmp_path / "run.perfetto"
    options = ["--qlog", logs, "--perfetto", trace, "--qlog-dialect", "0.3"]
    done = run("run", tmp_path / "lan.toml", "--no-store", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(logs.glob("*.sqlog"))) == 5
    assert trace.stat().st_size > 1000
    assert str(logs) in done.stdout
    for path in logs.glob("*.sqlog"):
        read(path, "0.3")


def stack_over_a_short_queue(stack: str, **traffic: object) -> Result:
    groups = [{"name": "quic", "traffic": {"kind": "stack", "stack": stack, **traffic}}]
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="4 s",
        network={"kind": "dumbbell", "group": groups, "trunk_rate": "10 Mbit/s", "trunk_delay": "20 ms"},
        switch={"buffer": "30 packets"},
        traces=dict.fromkeys((*qlog.TRACES, qlog.PACKETS), True),
    )
    return simulate(scenario)


@needs_stacks
@pytest.mark.parametrize("dialect", ["current", "0.3"])
@pytest.mark.parametrize(("stack", "traffic"), [("quinn", {"size": "2 MB"}), ("noq", {"size": "2 MB"}), ("str0m", {})])
def test_the_file_of_a_stack_contains_the_packets_that_it_reports(
    stack: str, traffic: dict[str, object], dialect: str, tmp_path: Path
) -> None:
    result = stack_over_a_short_queue(stack, **traffic)
    (path,) = qlog.write(result, tmp_path, dialect)  # type: ignore[arg-type]
    header, events = read(path, dialect)
    assert "in the shape of QUIC" not in header["description"]
    assert stack in header["description"]
    (row,), (state,) = qlog.rows_of(result.flows), qlog.rows_of(result.stacks)
    found = {name: [one["data"] for one in events if one.get("short") == name] for name in FIELDS}
    sent = found["udp_datagrams_sent"]
    assert all(data["count"] == len(data["raw"]) == 1 for data in sent)
    assert sum(data["raw"][0]["length"] for data in sent) == row["sent_bytes"]
    assert found["udp_datagrams_received"]
    if stack == "str0m":
        assert not found["packet_sent"]
        return
    assert len(sent) == state["datagrams"]
    # Packets of the handshake share datagrams; the stack counts a packet once in each of its packet number spaces.
    assert len(sent) <= len(found["packet_sent"]) <= len(sent) + 4
    assert sum(data["raw"]["length"] for data in found["packet_sent"]) == pytest.approx(row["sent_bytes"], abs=3000)
    numbers = [data["header"]["packet_number"] for data in found["packet_sent"] if is_1rtt(data)]
    assert numbers == sorted(set(numbers))
    lost = [data["header"]["packet_number"] for data in found["packet_lost"] if is_1rtt(data)]
    assert len(found["packet_lost"]) == row["retransmitted_segments"] > 0
    assert set(lost) <= set(numbers)
    assert len(found["packet_received"]) >= len(found["udp_datagrams_received"])
    ranges = [data["frames"][0]["acked_ranges"] for data in found["packet_received"] if "frames" in data]
    # quinn reports no frames.
    assert bool(ranges) == (stack == "noq")
    acknowledged = {
        number for part in ranges for begin, *end in part for number in range(begin, (end or [begin])[0] + 1)
    }
    assert acknowledged <= set(range(max(numbers) + 1))


def is_1rtt(data: dict[str, Any]) -> bool:
    return bool(data["header"]["packet_type"] == "1RTT")


@needs_stacks
def test_recording_packets_does_not_change_a_run() -> None:
    result = stack_over_a_short_queue("noq", size="1 MB", congestion="bbr3")
    plain = simulate(result.scenario.with_(**{f"traces.{name}": False for name in (*qlog.TRACES, qlog.PACKETS)}))
    assert plain.stacks.decisions[0] == result.stacks.decisions[0]
    assert plain.flows.completion_s.equals(result.flows.completion_s)


@needs_stacks
def test_a_stack_without_measured_rtt_reports_none() -> None:
    # Nothing is acknowledged before 600 ms.
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "300 ms"}
    traffic = {"kind": "stack", "stack": "quinn", "size": "1 MB"}
    scenario = Scenario(
        defaults="1996", framing="ip", duration="3 s", network=network, switch={"buffer": "1 BDP"}, traffic=traffic
    )
    early = simulate(scenario.with_(duration="500 ms", **{"traces.rtt": True}))
    assert early.traces["rtt"].empty
    assert early.stacks.srtt_s.isna().all()
    late = simulate(scenario.with_(**{"traces.rtt": True}))
    assert late.traces["rtt"].srtt_s.min() > 0.6
    assert late.stacks.min_rtt_s[0] == pytest.approx(0.6, rel=0.01)
