import os
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from commands import run
from longpipe import CaptureError, Result, Scenario, ScenarioError, simulate, stacks
from longpipe.linux_end import kernel as linux_kernel
from longpipe.scenario.base import kinds
from longpipe.scenario.recovery import Recovery
from pcap import (
    ANALYSIS,
    analysis,
    analyzed,
    needs_tcptrace,
    needs_tshark,
    packets,
    tcptrace_retransmitted,
    tshark,
    with_payload,
)
from thorough import THOROUGH, one_in

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")
LOSSES: Final[dict[str, Any]] = {
    "congestion": "none",
    "packets": {"kind": "packets", "indices": [14, 28, 30]},
    "at-times": {"kind": "at-times", "instants": ["300 ms", "301 ms", "1 s"]},
    "bernoulli": {"kind": "bernoulli", "probability": 0.02},
    "gilbert-elliott": {"kind": "gilbert-elliott", "good_to_bad": 0.01, "bad_to_good": 0.3},
}
PAIRS: Final = [(recovery, loss) for recovery in kinds(Recovery) for loss in LOSSES]
# Findings that losses cause; a capture must not contain other findings.
EXPECTED: Final = {"retransmission", "fast_retransmission", "out_of_order", "duplicate_ack", "window_full"}
BEYOND_LOSSES: Final = {"lost_segment", "spurious_retransmission"}
WAN: Final = Scenario(defaults="1996", name="wan", duration="2 s").with_(
    **{
        "network.sources": 1,
        "network.trunk_rate": "10 Mbit/s",
        "network.trunk_delay": "20 ms",
        "switch.buffer": "1000 cells",
        "tcp.receiver_window": "100 KB",
    }
)
LAN: Final = Scenario(defaults="1996", name="lan", duration="500 ms").with_(
    **{"network.sources": 3, "switch.buffer": "150 cells"}
)


def chosen(first: int, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the pairs of a complete sweep, otherwise one of each recovery, with every kind of loss, from `first` on."""
    kinds_of_loss = list(LOSSES)
    each = [
        (recovery, kinds_of_loss[(first + number) % len(LOSSES)]) for number, recovery in enumerate(kinds(Recovery))
    ]
    return pairs if THOROUGH else each


def capture(scenario: Scenario, where: Path, *places: str) -> tuple[Result, list[Path]]:
    paths = [where / f"{number}.pcapng" for number in range(len(places))]
    return simulate(scenario, captures=dict(zip(places, paths, strict=True))), paths


def flow_of(result: Result) -> dict[str, Any]:
    return {str(name): value for name, value in result.flows.iloc[0].items()}


def port_of(result: Result, name: str) -> dict[str, Any]:
    return {str(column): value for column, value in result.ports.set_index("port").loc[name].items()}


def fast_by_tshark(trace: pd.DataFrame) -> int:
    """Counts the segments retransmitted within 20 ms of the second or a later duplicate of the latest ACK."""
    found, latest, duplicates, at_s = 0, -1, 0, 0.0
    rows = trace[(trace["flow"] == "flow1") & (trace["event"] < 2)]
    columns = (rows[name].tolist() for name in ("time_s", "event", "sequence_bytes", "retransmission"))
    for time_s, event, sequence, again in zip(*columns, strict=True):
        if event == 0:
            found += again and sequence == latest and duplicates >= 2 and time_s < at_s + 0.02
        elif sequence == latest:
            duplicates, at_s = duplicates + 1, time_s
        else:
            latest, duplicates = sequence, 0
    return found


@needs_tshark
@pytest.mark.parametrize(
    ("scenario", "recovery", "loss"),
    [(WAN, *pair) for pair in chosen(0, PAIRS)] + [(LAN, *pair) for pair in chosen(2, PAIRS[::2])],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_tshark_counts_agree_at_the_sender(tmp_path: Path, scenario: Scenario, recovery: str, loss: str) -> None:
    changes = {"tcp.recovery": recovery, "network.trunk_loss": LOSSES[loss], "traces.sequence": True}
    result, (path,) = capture(scenario.with_(**changes), tmp_path, "host:source1")
    found, flow = analysis(path), flow_of(result)
    assert found["retransmission"] + found["out_of_order"] == flow["retransmitted_segments"]
    assert found["duplicate_ack"] == flow["duplicate_acks"]
    fast = fast_by_tshark(result.traces["sequence"])
    assert found["fast_retransmission"] == fast
    # RACK detects losses by time, and RFC 6675 by received data, so that fewer duplicate ACKs suffice than tshark
    # requires.
    assert recovery in ("rack", "rfc6675") or fast >= flow["fast_retransmits"]
    if recovery in ("tahoe", "reno", "newreno"):
        assert found["fast_retransmission"] == flow["fast_retransmits"]
    assert {name for name, count in found.items() if count} <= EXPECTED


@needs_tcptrace
@pytest.mark.parametrize("timer", ["coarse", {"kind": "fine", "timestamps": True}], ids=["coarse", "timestamps"])
@pytest.mark.parametrize("recovery", kinds(Recovery))
def test_tcptrace_counts_agree_on_retransmissions(tmp_path: Path, recovery: str, timer: object) -> None:
    changes = {"tcp.recovery": recovery, "tcp.timer": timer, "network.trunk_loss": LOSSES["bernoulli"]}
    result, (path,) = capture(WAN.with_(**changes), tmp_path, "host:source1")
    assert tcptrace_retransmitted(path) == result.flows["retransmitted_segments"].iloc[0] > 0


@needs_tshark
@pytest.mark.parametrize(("recovery", "loss"), chosen(1, PAIRS[1::2]))
def test_captures_contain_no_anomalies_except_losses(tmp_path: Path, recovery: str, loss: str) -> None:
    changes = {"tcp.recovery": recovery, "network.trunk_loss": LOSSES[loss], "network.return_loss": LOSSES[loss]}
    places = ["host:sink1", "link:source1->switch1", "link:switch1->switch2", "link:switch2->switch1"]
    result, paths = capture(WAN.with_(**changes), tmp_path, *places)
    lengths = []
    for path in paths:
        found, seen = analyzed(path, "tcp.len")
        lengths.append(seen["tcp.len"].astype(int))
        assert {name for name, count in found.items() if count} <= EXPECTED | BEYOND_LOSSES, path
        assert found["malformed"] == 0
    flow = flow_of(result)
    _, first, trunk, _ = lengths
    trunk_port = port_of(result, "switch1->switch2")
    lost = trunk_port["cells_lost_overflow"] + trunk_port["cells_lost_injected"]
    assert (first > 0).sum() >= flow["sent_segments"] - 1
    assert (lost > 0) == ((trunk > 0).sum() < (first > 0).sum() - 1)


@needs_tshark
def test_tshark_finds_the_window_full_where_the_trace_does(tmp_path: Path) -> None:
    scenario = WAN.with_(**{"tcp.receiver_window": "32 KiB", "traces.sequence": True})
    result, (path,) = capture(scenario, tmp_path, "host:source1")
    trace = result.traces["sequence"]
    acknowledged = trace["sequence_bytes"].where(trace["event"] == 1).cummax().ffill().fillna(0)
    ends = trace["sequence_bytes"] + trace["length_bytes"]
    full = ((trace["event"] == 0) & (ends == acknowledged + 32 * 1024)).sum()
    assert analysis(path)["window_full"] == full > 1000


@needs_tshark
def test_captures_with_delayed_and_lost_acks_have_no_anomalies(tmp_path: Path) -> None:
    changes = {"tcp.ack": "delayed", "network.return_loss": LOSSES["bernoulli"], "tcp.recovery": "sack"}
    result, (path,) = capture(WAN.with_(**changes), tmp_path, "host:source1")
    found, flow = analysis(path), flow_of(result)
    assert found["retransmission"] + found["out_of_order"] == flow["retransmitted_segments"]
    assert found["duplicate_ack"] == flow["duplicate_acks"]
    assert {name for name, count in found.items() if count} <= EXPECTED


@needs_tshark
@pytest.mark.parametrize("timestamps", [False, True])
def test_checksums_are_those_of_the_whole_packet(tmp_path: Path, timestamps: bool) -> None:
    changes = {
        "tcp.recovery": "sack",
        "network.trunk_loss": LOSSES["bernoulli"],
        "tcp.timer": {"kind": "fine", "timestamps": timestamps},
    }
    _, (path,) = capture(WAN.with_(**changes), tmp_path, "host:source1")
    whole = with_payload(path, tmp_path / "whole.pcap")
    fields = ("ip.checksum.status", "tcp.checksum.status", "tcp.options.timestamp.tsval", "tcp.options.sack_le")
    checked = tshark(whole, *fields, preferences=("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE"))
    assert set(checked["ip.checksum.status"]) == set(checked["tcp.checksum.status"]) == {"1"}
    assert checked["tcp.options.timestamp.tsval"].notna().all() == timestamps
    assert checked["tcp.options.sack_le"].notna().any()


@needs_tshark
def test_an_ack_echoes_the_timestamp_of_its_segment(tmp_path: Path) -> None:
    changes = {"tcp.timer": {"kind": "fine", "timestamps": True}, "duration": "300 ms"}
    _, paths = capture(WAN.with_(**changes), tmp_path, "host:source1", "host:sink1", "link:switch2->switch1")
    fields = ("tcp.len", "tcp.ack", "tcp.nxtseq", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr")
    source, sink, link = (tshark(path, *fields).iloc[3 if index < 2 else 1 :] for index, path in enumerate(paths))
    of_segment = source[source["tcp.len"] != "0"].set_index("tcp.nxtseq")["tcp.options.timestamp.tsval"]
    acks = source[source["tcp.len"] == "0"]
    assert (of_segment.loc[acks["tcp.ack"]].to_numpy() == acks["tcp.options.timestamp.tsecr"]).all()
    stamps = [
        frame[frame["tcp.len"] == "0"].set_index("tcp.ack")["tcp.options.timestamp.tsval"].loc[acks["tcp.ack"]].tolist()
        for frame in (source, sink, link)
    ]
    assert stamps[0] == stamps[1] == stamps[2]


@needs_tshark
def test_a_link_of_cells_shows_llc_over_its_circuits(tmp_path: Path) -> None:
    result, (path,) = capture(LAN, tmp_path, "link:switch1->switch2")
    fields = ("frame.protocols", "atm.vpi", "atm.vci", "ip.src", "tcp.srcport", "frame.interface_name", "frame.len")
    shown = tshark(path, *fields, "ip.len")
    assert set(shown["frame.protocols"]) == {"atm:llc:ip:tcp"}
    assert set(zip(shown["atm.vci"], shown["ip.src"], shown["tcp.srcport"], strict=True)) == {
        (str(32 + 2 * flow), f"10.0.0.{flow + 1}", str(1024 + flow)) for flow in range(3)
    }
    assert set(shown["frame.interface_name"]) == {"switch1->switch2"}
    assert (shown["frame.len"].astype(int) == shown["ip.len"].astype(int) + 8).all()
    times = pd.Series([at for at, _, _ in packets(path)])
    assert times.is_monotonic_increasing
    frames = port_of(result, "switch1->switch2")
    # Some of the frames that are undamaged at this port are corrupted because the last cell of the previous frame was
    # lost.
    whole = frames["frames_in"] - frames["frames_damaged"]
    assert 0.8 * whole < len(shown) - 6 <= whole


@needs_tshark
@pytest.mark.parametrize("recovery", one_in(2, kinds(Recovery)))
def test_ip_links_show_ip_packets(tmp_path: Path, recovery: str) -> None:
    changes = {"framing": "ip", "switch.buffer": "20 packets", "tcp.recovery": recovery, "traces.sequence": True}
    places = ["host:source1", "host:sink1", "link:source1->switch1", "link:switch1->switch2", "link:switch2->switch1"]
    result, paths = capture(WAN.with_(**changes), tmp_path, *places)
    analyses, flow = [analyzed(path, "frame.protocols", "tcp.len") for path in paths], flow_of(result)
    found, shown = [marks for marks, _ in analyses], [packets for _, packets in analyses]
    assert found[0]["retransmission"] + found[0]["out_of_order"] == flow["retransmitted_segments"] > 0
    assert found[0]["duplicate_ack"] == flow["duplicate_acks"]
    assert found[0]["fast_retransmission"] == fast_by_tshark(result.traces["sequence"])
    for marks in found:
        assert {name for name, count in marks.items() if count} <= EXPECTED | BEYOND_LOSSES
    assert set(pd.concat(shown)["frame.protocols"]) == {"raw:ip:tcp"}
    for packets_shown, name in zip(shown[2:4], ("source1->switch1", "switch1->switch2"), strict=True):
        data, port = (packets_shown["tcp.len"] != "0").sum(), port_of(result, name)
        assert 0 <= data - port["packets_out"] <= port["packets_held"]
        assert data <= port["packets_in"] - port["packets_lost_overflow"] - port["packets_lost_injected"]
    assert pd.Series([at for at, _, _ in packets(paths[3])]).is_monotonic_increasing


@needs_tshark
@pytest.mark.parametrize(
    ("recovery", "ack"), one_in(2, [("sack", "immediate"), ("vanilla", "immediate"), ("newreno", "delayed")])
)
def test_requests_and_files_are_one_clean_connection(tmp_path: Path, recovery: str, ack: str) -> None:
    changes = {
        "duration": "20 s",
        "traffic": "web",
        "tcp.recovery": recovery,
        "tcp.ack": ack,
        "tcp.timer": {"kind": "fine", "timestamps": True},
        "network.trunk_loss": LOSSES["bernoulli"],
        "network.return_loss": LOSSES["bernoulli"],
    }
    result, paths = capture(WAN.with_(**changes), tmp_path, "host:source1", "host:sink1", "link:switch1->switch2")
    analyses = [analyzed(path, "ip.src", "tcp.len", "tcp.ack") for path in paths]
    for found, _ in analyses:
        assert {name for name, count in found.items() if count} <= EXPECTED | BEYOND_LOSSES
    marks = ["tcp.analysis.retransmission", "tcp.analysis.out_of_order", "tcp.analysis.duplicate_ack"]
    seen, client = analyses[0][1], analyses[1][1]
    from_server, flow = seen["ip.src"] == "10.0.0.1", flow_of(result)
    assert seen.loc[from_server, marks[:2]].notna().any(axis=1).sum() == flow["retransmitted_segments"] > 0
    # tshark classifies an ACK that has the number of a preceding request as a duplicate, but it is new to the server.
    acks = seen[~from_server & (seen["tcp.len"] == "0")]
    news = acks["tcp.ack"].astype(int) > acks["tcp.ack"].astype(int).cummax().shift(fill_value=0)
    duplicate = acks[marks[2]].notna()
    assert (duplicate & ~news).sum() == flow["duplicate_acks"] > 0
    assert (duplicate & news).any() == (recovery != "sack")
    asked = result.web["requests"].iloc[0]
    lengths = client.loc[client["ip.src"] == "10.0.0.4", "tcp.len"].astype(int)
    assert lengths.sum() >= 128 * asked > 0


@needs_tshark
@pytest.mark.parametrize(("traffic", "duration"), [("greedy", "1 s"), ("web", "5 s")])
def test_the_clock_of_timestamps_runs_forward_from_the_handshake_on(
    tmp_path: Path, traffic: str, duration: str
) -> None:
    changes = {"traffic": traffic, "tcp.timer": {"kind": "fine", "timestamps": True}, "duration": duration}
    places = ("host:source1", "host:sink1", "link:switch1->switch2", "link:switch2->switch1")
    for path in capture(WAN.with_(**changes), tmp_path, *places)[1]:
        seen = tshark(path, "ip.src", "tcp.options.timestamp.tsval").astype({"tcp.options.timestamp.tsval": int})
        assert len(seen) > 10
        for _, of_host in seen.groupby("ip.src"):
            assert of_host["tcp.options.timestamp.tsval"].is_monotonic_increasing


@needs_tshark
@pytest.mark.parametrize("framing", ["aal5", "ip"])
def test_tshark_shows_the_names_of_hosts(tmp_path: Path, framing: str) -> None:
    changes = {"duration": "100 ms", "framing": framing, "switch.buffer": "unlimited"}
    _, paths = capture(LAN.with_(**changes), tmp_path, "host:source2", "link:switch2->switch1")
    pairs = [{("source2", "sink2"), ("sink2", "source2")}, {(f"sink{n}", f"source{n}") for n in (1, 2, 3)}]
    for path, expected in zip(paths, pairs, strict=True):
        shown = tshark(path, "ip.src_host", "ip.dst_host", resolve="n")
        assert set(shown.itertuples(index=False, name=None)) == expected


def test_a_packet_takes_its_time_over_link_and_wire(tmp_path: Path) -> None:
    places = ["host:source1", "link:source1->switch1", "link:switch1->switch2", "host:sink1"]
    _, paths = capture(WAN.with_(duration="100 ms"), tmp_path, *places)
    first = [next(at for at, _, length in packets(path) if length > 500) for path in paths]
    cell, slow = 53 * 8 / 155.52e6, 53 * 8 / 10e6
    assert first[0] == 0
    assert first[1] == int(12 * cell * 1e9)
    # The time includes half a cell's time for the switch's slots; the last cell starts after the access link's
    # propagation delay.
    assert 12 * slow + 5e-6 < first[2] / 1e9 < 14 * slow + 5e-6
    assert first[3] - first[2] == pytest.approx(20e6 + 5e3 + 1.5e9 * cell, abs=1e9 * cell)


def test_capturing_does_not_change_the_run(tmp_path: Path) -> None:
    places = ["host:source1", "link:switch1->switch2", "link:source2->switch1"]
    result, paths = capture(LAN, tmp_path, *places)
    plain = simulate(LAN)
    assert result.state_hash == plain.state_hash
    again = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in capture(LAN, tmp_path, *places)[1]] == again
    assert [found.packets for found in result.captures] == [sum(1 for _ in packets(path)) for path in paths]


def test_a_full_disk_keeps_the_results(tmp_path: Path) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("no /dev/full here")
    with pytest.raises(CaptureError) as raised:
        simulate(LAN, captures={"host:source1": "/dev/full", "host:source2": tmp_path / "b.pcapng"})
    assert str(raised.value) == (
        "capture host:source1: /dev/full is incomplete (no space left on device); the run itself is complete"
    )
    assert raised.value.result.state_hash == simulate(LAN).state_hash
    assert raised.value.result.captures[1].error is None


@pytest.mark.parametrize(
    ("place", "path", "error"),
    [
        (
            "host:source9",
            "a",
            "capture: 'source9' is not a host; did you mean 'source3'? accepts source1, source2, source3",
        ),
        ("host:switch1", "a", "capture: 'switch1' is not a host; accepts source1"),
        ("link:switch1-switch2", "a", "capture: 'switch1-switch2' is not a link; did you mean 'switch1->switch2'?"),
        ("source1", "a", "capture: 'source1'; needs host:NAME or link:NAME->NAME"),
        (
            "host:flow2",
            "a",
            "capture: 'flow2' is not a host; the flow flow2 goes from source2 to sink2, needs host:source2",
        ),
        (
            "host:flow",
            "a",
            "capture: 'flow' is not a host; the flow flow1 goes from source1 to sink1, needs host:source1",
        ),
        (
            "host:source1",
            "/dev/null/a.pcapng",
            "/dev/null cannot be written (not a directory); needs a writable directory",
        ),
        ("host:source1", "/", "capture host:source1: / is a directory; needs a file name"),
    ],
)
def test_bad_captures_are_rejected_in_one_line(place: str, path: str, error: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        simulate(LAN, captures={place: path})
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)


def test_folder_of_a_capture_is_created(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.pcapng"
    assert simulate(LAN, captures={"host:source1": path}).captures[0].packets > 0
    assert path.stat().st_size > 0


def test_two_captures_need_two_files(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    with pytest.raises(ScenarioError, match="is the file of host:source1; needs a separate file"):
        simulate(LAN, captures={"host:source1": path, "host:source2": path})


def test_the_command_writes_captures_and_fails_after_its_results(tmp_path: Path) -> None:
    scenario, path = tmp_path / "lan.toml", tmp_path / "a.pcapng"
    scenario.write_text('schema = 1\nduration = "50 ms"\n')
    done = run("run", str(scenario), "--capture", f"host:source1={path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert sum(1 for _ in packets(path)) > 50
    assert f"captured {sum(1 for _ in packets(path))} packets of host:source1" in " ".join(done.stdout.split())
    failed = run("run", str(scenario), "--capture", "host:source1=/dev/full")
    assert failed.returncode == 1
    assert "efficiency" in failed.stdout
    assert failed.stderr == (
        "error: capture host:source1: /dev/full is incomplete (no space left on device); the run itself is complete\n"
    )
    twice = run("run", str(scenario), "--capture", "host:source1=a", "--capture", "host:source1=b")
    assert (twice.returncode, twice.stderr) == (
        2,
        "error: --capture: host:source1 is already captured in a; needs one file for each place\n",
    )
    missing = run("run", str(scenario), "--capture", "host:source1")
    assert missing.stderr == "error: --capture: 'host:source1'; accepts PLACE=FILE, as in host:source1=a.pcapng\n"


def test_every_tshark_anomaly_is_searched() -> None:
    assert set(ANALYSIS) >= EXPECTED | BEYOND_LOSSES


@needs_stacks
@needs_tshark
@pytest.mark.parametrize("stack", ["quinn", "noq", "str0m"])
def test_packets_of_stacks_are_captured_whole(stack: str, tmp_path: Path) -> None:
    traffic = {"kind": "stack", "stack": stack}
    network = {
        "kind": "dumbbell",
        "group": [{"name": "q", "traffic": traffic}, {"name": "t"}],
        "trunk_rate": "10 Mbit/s",
    }
    switch = {"buffer": "20 packets", "policy": {"kind": "codel", "ecn": True, "target": "1 ms"}}
    scenario = Scenario(
        defaults="1996", framing="ip", duration="2 s", network=network, switch=switch, tcp={"profile": "linux-6"}
    )
    places = ("host:source1", "host:sink1", "link:switch1->switch2")
    result, paths = capture(scenario, tmp_path, *places)
    assert result.state_hash == simulate(scenario).state_hash
    fields = ("ip.src", "ip.dsfield.ecn", "udp.length", "udp.checksum.status", "ip.checksum.status", "_ws.malformed")
    checked = ("udp.check_checksum:TRUE", "ip.check_checksum:TRUE")
    source, sink, trunk = [tshark(path, *fields, "_ws.col.Protocol", preferences=checked) for path in paths]
    for found in (source, sink, trunk):
        udp = found[found["udp.length"].notna()]
        assert len(udp) > 100
        assert set(udp["udp.checksum.status"]) == set(udp["ip.checksum.status"]) == {"1"}
        # The reports of WebRTC are encrypted (SRTCP), but tshark dissects their ciphertext.
        readable = udp[~udp["_ws.col.Protocol"].isin(["RTCP", "SRTCP"])]
        assert len(readable) > 100
        assert readable["_ws.malformed"].isna().all()
    datagrams = source[source["udp.length"].notna()]
    sent = datagrams[datagrams["ip.src"] == "10.0.0.1"]
    assert len(sent) == result.flows.sent_segments[0] if stack == "str0m" else len(sent) == result.stacks.datagrams[0]
    assert (sent["udp.length"].astype(int) - 8).sum() == result.flows.sent_bytes[0]
    # Routers mark packets of QUIC, which has ECN, and receivers see the marks.
    if stack != "str0m":
        assert "QUIC" in set(datagrams["_ws.col.Protocol"])
        arrived = sink[(sink["ip.src"] == "10.0.0.1") & sink["udp.length"].notna()]
        port = result.ports[result.ports.port == "switch1->switch2"].iloc[0]
        marked = sum(
            len(packets[packets["ip.dsfield.ecn"] == "3"]) for packets in (arrived, sink[sink["udp.length"].isna()])
        )
        assert 0 < marked <= port.packets_marked


@pytest.mark.skipif(linux_kernel.problem() is not None, reason="user-mode Linux is not installed")
@needs_tshark
def test_packets_of_linux_are_captured_with_the_addresses_of_their_hosts(tmp_path: Path) -> None:
    traffic = {"kind": "stack", "stack": "linux", "size": "300 kB"}
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "20 ms"}
    scenario = Scenario(
        defaults="1996", framing="ip", duration="3 s", network=network, switch={"buffer": "1 BDP"}, traffic=traffic
    )
    result, (path,) = capture(scenario, tmp_path, "host:source1")
    fields = ("ip.src", "tcp.len", "tcp.checksum.status", "ip.checksum.status", "tcp.flags.syn", "frame.number")
    found = tshark(path, *fields, preferences=("tcp.check_checksum:TRUE", "ip.check_checksum:TRUE"))
    assert set(found["ip.src"]) == {"10.0.0.1", "10.0.0.4"}
    assert set(found["tcp.checksum.status"]) == set(found["ip.checksum.status"]) == {"1"}
    data = found[found["ip.src"] == "10.0.0.1"]["tcp.len"].astype(int)
    assert data.sum() == result.flows.sent_bytes[0] >= 300_000
    assert (found["tcp.flags.syn"].isin(["1", "True"])).sum() == 2
