"""Real QUIC and WebRTC stacks at the ends of flows: runs are bit-identical over any path, with TCP flows, in designs and
in stores.
"""

import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from commands import run, without_cpu_time
from longpipe import Result, Scenario, ScenarioError, simulate, stacks
from longpipe.cli.run.tables import show
from longpipe.scenario import Stack
from longpipe.scenario.stack import CONTROLS, VERSIONS, version_of
from longpipe.store import Store
from longpipe.study.bundle import Bundle, BundledRun, rerun

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")
QUIC = ("quinn", "noq")
CRATE = Path(__file__).parent.parent / "crates" / "stacks"


def path(
    traffic: dict[str, Any], rate: str = "20 Mbit/s", delay: str = "20 ms", duration: str = "5 s", **others: object
) -> Scenario:
    """Returns a dumbbell with one flow."""
    network: dict[str, Any] = {
        "kind": "dumbbell",
        "sources": 1,
        "trunk_rate": rate,
        "trunk_delay": delay,
        "access_rate": "1 Gbit/s",
    }
    network |= own if isinstance(own := others.pop("network", {}), dict) else {}
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": duration,
        "network": network,
        "switch": {"buffer": "1 BDP"},
        "traffic": {"kind": "stack", "stack": "quinn", "size": "2 MB"} | traffic,
    }
    return Scenario(defaults="1996", **fields | others)


def state(result: Result) -> dict[str, Any]:
    """Returns the state of the only stack."""
    (row,) = result.stacks.to_dict("records")
    return {str(name): value for name, value in row.items()}


def counted(result: Result) -> dict[str, Any]:
    """Returns the counters of the first flow."""
    return {str(name): value for name, value in result.flows.to_dict("records")[0].items()}


def test_versions_are_those_of_the_crate() -> None:
    pinned = (CRATE / "Cargo.toml").read_text()
    exported = (CRATE / "src" / "lib.rs").read_text()
    for name, version in VERSIONS.items():
        library = f"{name}-proto" if name in QUIC else name
        assert f'{library} = {{ version = "={version}"' in pinned
        assert f"{name} {version_of(name)}" in exported
        assert f"{library} {version}" in str(Stack.model_fields["stack"].description)
    for name in QUIC:
        controls = ", ".join(f'"{control}"' for control in CONTROLS[name])
        assert f"= [{controls}];" in (CRATE / "src" / f"{name}_controls.rs").read_text()
    assert f'CONTROL: &str = "{CONTROLS["str0m"][0]}";' in (CRATE / "src" / "media" / "mod.rs").read_text()


# Hashes of all events on the path, each with its packet, time and outcome. They change with the version of a stack.
FROZEN = {
    ("quinn", "cubic"): "16ab4d46211c9af1",
    ("quinn", "reno"): "65ce6aeede202aee",
    ("quinn", "bbr"): "26941c9b0280a401",
    ("noq", "cubic"): "e23bcb1502d172aa",
    ("noq", "reno"): "70139973612f017d",
    ("noq", "bbr3"): "676d2c4d247595fa",
}


MEDIA_FROZEN = "2a93fd0053359fe2"


@needs_stacks
@pytest.mark.parametrize(("stack", "control"), FROZEN)
def test_a_run_has_the_same_bits_each_time(stack: str, control: str) -> None:
    # The run takes 12 s, so that both BBRs use random numbers: for the order of their probes, and after the first
    # ProbeRTT.
    traffic = {"stack": stack, "congestion": control, "size": "12 MB"}
    first, second = (simulate(path(traffic, "8 Mbit/s", duration="14 s"), seed=7) for _ in range(2))
    assert first.state_hash == second.state_hash
    assert state(first)["decisions"] == FROZEN[stack, control]
    assert counted(first)["delivered_bytes"] == 12_000_000


@needs_stacks
@pytest.mark.parametrize(
    ("rate", "access"),
    [
        ("2348 kbit/s", {"kind": "dvb-rcs2", "waveform": 22}),
        ("20 Mbit/s", {"kind": "dvb-s2", "modcod": "8PSK 3/4"}),
        ("143.4 Mbit/s", {"kind": "wifi"}),
        ("20 Mbit/s", {"kind": "cellular", "direction": "up"}),
        ("20 Mbit/s", {"kind": "docsis"}),
    ],
)
def test_stacks_send_over_links_that_react_to_traffic(rate: str, access: dict[str, Any]) -> None:
    scenario = path({"size": "100 KB"}, rate, duration="10 s", network={"access": access})
    first, second = (simulate(scenario, seed=7) for _ in range(2))
    assert first.state_hash == second.state_hash
    assert counted(first)["delivered_bytes"] == 100_000
    port = first.ports.set_index("port").loc["switch1->switch2"]
    assert port["airtime_s" if access["kind"] == "wifi" else "grants_used"] > 0


@needs_stacks
def test_each_seed_has_its_own_draws() -> None:
    traffic = {"congestion": "bbr", "size": "12 MB"}
    hashes = {simulate(path(traffic, "8 Mbit/s", duration="14 s"), seed=seed).state_hash for seed in range(3)}
    assert len(hashes) == 3


@needs_stacks
def test_transfer_time_agrees_with_the_path() -> None:
    # Without losses, the run takes a handshake of one round trip plus the transmission of 2 MB, in packets of 1452
    # bytes, at the trunk's rate.
    result = simulate(path({"congestion": "bbr"}, switch={"buffer": "unlimited"}))
    row, found = counted(result), state(result)
    round_trip_s = 0.04 + 4 * 5e-6
    assert found["handshake_s"] == pytest.approx(round_trip_s, rel=0.05)
    assert found["min_rtt_s"] == pytest.approx(round_trip_s, rel=0.02)
    assert found["mtu_bytes"] == 1452
    assert found["closed"] == ""
    sent = result.ports[result.ports.port == "switch1->switch2"].iloc[0]
    assert sent.packets_out == found["datagrams"]
    least_s = 8 * sent.bytes_out / 20e6
    assert least_s + round_trip_s < row["completion_s"] < least_s + 10 * round_trip_s
    assert row["delivered_bytes"] == 2_000_000
    assert row["retransmitted_segments"] == 0


@needs_stacks
@pytest.mark.parametrize(
    ("traffic", "rate", "others"),
    [
        ({"stack": "quinn", "congestion": "cubic"}, "50 Mbit/s", {}),
        # Losses of BBR leave enough gaps over a small buffer, behind a link that spreads its packets.
        (
            {"stack": "quinn", "congestion": "bbr"},
            "50 Mbit/s",
            {"switch": {"buffer": "0.5 BDP"}, "network": {"access_rate": "100 Mbit/s"}},
        ),
        ({"stack": "noq", "congestion": "cubic"}, "20 Mbit/s", {}),
    ],
)
def test_stack_fails_over_geo_only_with_wide_windows(
    traffic: dict[str, Any], rate: str, others: dict[str, Any], tmp_path: Path
) -> None:
    geo = {"size": "40 MB", "window": "256 MiB", "crypto": "null"} | traffic
    result = simulate(path(geo, rate, "300 ms", "30 s", **others))
    found = state(result)
    # MAX_CHUNKS in assembler.rs of both stacks.
    assert found["closed"].endswith("too many gaps in stream buffer")
    assert counted(result)["completion_s"] != counted(result)["completion_s"]
    (line,) = [line for line in result.warnings if "lost its connection" in line]
    assert line.startswith(f"flow1: {traffic['stack']} {version_of(traffic['stack'])} lost its connection at ")
    assert result.died == {"flow1"}
    text = StringIO()
    show(result, Console(file=text, width=100), everything=False)
    shown = text.getvalue()
    assert re.search(r"flow1 +[\d.]+ † ", shown)
    assert "†: over the whole run, although the connection died" in shown
    result.to_csv(tmp_path)
    assert list(pd.read_csv(tmp_path / "flows.csv")["died"]) == [1]
    alive = simulate(path({**geo, "window": None}, rate, "300 ms", "30 s", **others))
    assert state(alive)["closed"] == ""
    assert alive.died == frozenset()
    assert counted(alive)["delivered_bytes"] == 40_000_000


@needs_stacks
@pytest.mark.parametrize("stack", QUIC)
def test_null_cryptography_has_packets_of_the_same_lengths(stack: str) -> None:
    rows = [counted(simulate(path({"stack": stack, "crypto": crypto}))) for crypto in ("tls", "null")]
    # Only the messages of the handshake differ in length.
    assert rows[0]["sent_segments"] == pytest.approx(rows[1]["sent_segments"], abs=3)
    assert rows[0]["completion_s"] == pytest.approx(rows[1]["completion_s"], rel=0.005)


@needs_stacks
def test_each_request_and_response_take_one_rtt() -> None:
    traffic = {"workload": "requests", "size": "8 kB", "requests": 20, "request": "300 B"}
    result = simulate(path(traffic, "100 Mbit/s"))
    row, found = counted(result), state(result)
    assert row["delivered_bytes"] == 160_000
    assert found["responses"] == 20
    # 8 kB and the end of the handshake fit in the initial window of 12 kB, so that each request takes a round trip and
    # the transmission of 7 packets.
    assert 0.04 < found["mean_response_s"] <= found["max_response_s"] < 0.05
    assert row["completion_s"] == pytest.approx(found["handshake_s"] + 20 * found["mean_response_s"], rel=0.01)


@needs_stacks
@pytest.mark.parametrize(("stack", "held_s"), [("quinn", 0), ("noq", 0.0106)])
def test_early_data_has_the_first_response_one_round_trip_earlier(stack: str, held_s: float) -> None:
    traffic = {"stack": stack, "workload": "requests", "size": "1 kB", "requests": 1}
    later, early, again = (
        simulate(path({**traffic, "early_data": on}, "100 Mbit/s", "100 ms")) for on in (False, True, True)
    )
    # noq's pacer sends 1.25 windows of 12 kB per round trip. It delays the next 1200 B by their share of a round trip,
    # which is 333 ms (RFC 9002) before the first sample and 200 ms afterwards.
    saved = counted(later)["completion_s"] - counted(early)["completion_s"]
    assert saved == pytest.approx(0.2 - held_s, abs=0.001)
    assert state(early)["closed"] == ""
    assert state(early)["handshake_s"] == pytest.approx(state(later)["handshake_s"], abs=0.001)
    assert again.state_hash == early.state_hash


@needs_stacks
def test_media_follow_the_capacity_of_the_path() -> None:
    moving = {"rate": [["0 s", "1 Mbit/s"], ["12 s", "500 kbit/s"]]}
    traffic = {"stack": "str0m", "size": None}
    runs = [
        simulate(
            path(traffic, "1 Mbit/s", duration=duration, network={"path": moving}, switch={"buffer": "37500 B"}),
            seed=seed,
        )
        for duration, seed in (("12 s", 1), ("24 s", 1), ("24 s", 1), ("24 s", 2))
    ]
    before, whole, again, other = runs
    assert whole.state_hash == again.state_hash != other.state_hash
    # A new thread is used, because its hash maps have no keys yet.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(simulate, whole.scenario, seed=1).result().state_hash == whole.state_hash
    assert state(whole)["decisions"] == MEDIA_FROZEN
    found = state(whole)
    # There are 30 frames per second after the handshakes (ICE, and DTLS with two round trips).
    assert found["frames"] == pytest.approx(30 * (24 - found["handshake_s"]), abs=1)
    assert 180 <= found["mean_height_px"] <= 720
    assert found["resolution_switches"] > 0
    # After the change, the estimate is below the new capacity and above half of it, and the picture is smaller.
    assert state(before)["estimate_bps"] > 500e3
    assert 250e3 < found["estimate_bps"] < 550e3
    assert found["mean_height_px"] < state(before)["mean_height_px"]


@needs_stacks
def test_audio_of_the_highest_rate_fits_into_datagrams() -> None:
    # 510 kbit/s for a second, excluding the handshakes of ICE and DTLS.
    result = simulate(path({"stack": "str0m", "size": None, "audio_rate": "510 kbit/s"}, duration="1 s"))
    assert counted(result)["delivered_bytes"] > 510_000 / 8 / 2


@needs_stacks
def test_frames_of_more_packets_than_their_header_counts_are_rejected() -> None:
    traffic = {"stack": "str0m", "size": None, "highest_rate": "1 Gbit/s", "frame_rate": 1}
    with pytest.raises(ScenarioError, match=r"highest_rate: 1000000000 bit/s; needs frames of at most 65535 packets"):
        simulate(path(traffic, duration="1 s"))


@needs_stacks
@pytest.mark.parametrize("streams", [7, 250])
def test_many_streams_share_the_data(streams: int) -> None:
    # This includes more requests than the 100 that a peer permits at once.
    result = simulate(path({"workload": "streams", "streams": streams, "size": "1000003 B"}))
    assert counted(result)["delivered_bytes"] == 1_000_003
    assert counted(result)["completion_s"] > 0


@needs_stacks
@needs_stacks
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("stack", QUIC)
def test_web_files_are_those_of_web_traffic_over_tcp(stack: str, early: bool) -> None:
    # Small files, whose pages are requested at once.
    web = {"class_shares": [0.3, 0.3, 0.4], "spacing_from": "0 s", "spacing_to": "0 s"}
    fields: dict[str, Any] = {"duration": "25 s", "switch": {"buffer": "1 s"}}
    result = simulate(path({"stack": stack, "size": None, "web": web, "early_data": early}, **fields), seed=3)
    over_tcp = simulate(
        Scenario(**{**path({}, **fields).model_dump(exclude_unset=True), "traffic": {"kind": "web", **web}}), seed=3
    )
    columns = ["flow", "class", "size_bytes", "requested_s"]
    assert result.files[columns].equals(over_tcp.files[columns])
    assert result.flows.delivered_bytes[0] == result.files.size_bytes.sum()
    assert result.response_times.completed.sum() == len(result.files)
    assert result.web.scheduled_bytes[0] == result.files.size_bytes.sum()
    # Responses do not wait for earlier ones, as they do over TCP.
    assert not result.files.completed_s.is_monotonic_increasing
    assert over_tcp.files.completed_s.is_monotonic_increasing
    # The first request waits for the handshake, unless it is early data.
    assert (result.files.answered_s[0] < 0.021) == early


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_a_lost_packet_delays_only_the_streams_in_it(stack: str) -> None:
    traffic = {"stack": stack, "workload": "streams", "streams": 10, "size": "10 kB"}
    lossy = {"network.trunk_loss": {"kind": "packets", "indices": [5]}}
    whole = path(traffic)
    clean_s, lossy_s = (10 * state(simulate(scenario))["mean_stream_s"] for scenario in (whole, whole.with_(**lossy)))
    # A retransmission takes a round trip of 40 ms. The packet has data of at most three streams of 1000 bytes; in one
    # stream, at least six such parts would wait for it.
    assert 0.035 < lossy_s - clean_s < 3 * 0.045


@needs_stacks
@pytest.mark.parametrize("stack", ["quinn", "noq"])
@pytest.mark.parametrize("early", [False, True])
def test_lost_datagrams_are_not_repeated(stack: str, early: bool) -> None:
    traffic = {"stack": stack, "workload": "datagrams", "interval": "5 ms", "size": "100 kB", "early_data": early}
    lossy = {"network.trunk_loss": {"kind": "packets", "indices": [*range(30, 90, 5)]}}
    whole = path(traffic)
    first, second = (simulate(scenario) for scenario in (whole, whole.with_(**lossy)))
    assert state(first)["sent_datagrams"] == state(first)["received_datagrams"] == 100
    # In early data, the first of 100 datagrams leaves a round trip earlier.
    begin_s = 0 if early else state(first)["handshake_s"]
    assert counted(first)["completion_s"] == pytest.approx(begin_s + 99 * 0.005 + 0.0205, abs=0.003)
    found = state(second)
    assert 88 <= found["received_datagrams"] < 100 == found["sent_datagrams"]
    assert counted(second)["delivered_bytes"] == 1000 * found["received_datagrams"]
    assert math.isnan(counted(second)["completion_s"])


@needs_stacks
def test_ecn_marks_cause_reductions_without_loss() -> None:
    marking = {"buffer": "1000 packets", "policy": {"kind": "codel", "ecn": True}}
    result = simulate(path({"congestion": "cubic", "size": "8 MB"}, switch=marking))
    port = result.ports[result.ports.port == "switch1->switch2"].iloc[0]
    assert port.packets_marked > 0
    assert counted(result)["retransmitted_segments"] == 0
    assert counted(result)["fast_retransmits"] > 0


@needs_stacks
@pytest.mark.parametrize("stack", QUIC)
def test_fast_retransmits_are_the_times_at_which_the_window_falls(stack: str) -> None:
    """The stacks count each ACK that reports losses, of which there are many in a recovery."""
    traffic = {"stack": stack, "congestion": "cubic", "size": "8 MB", "window": "4 MB"}
    result = simulate(path(traffic, delay="100 ms", traces={"cwnd": True}))
    falls = int((result.traces["cwnd"]["cwnd_bytes"].diff() < 0).sum())
    assert 0 < falls < counted(result)["retransmitted_segments"] / 10
    assert counted(result)["fast_retransmits"] == falls


@needs_stacks
@pytest.mark.parametrize("stack", QUIC)
def test_an_outage_limits_a_stack_whose_timeouts_are_unknown(stack: str) -> None:
    dropped = {"arriving": "drop", "waiting": "drop", "in_service": "drop", "in_flight": "drop"}
    network = {"path": {"outages": {"intervals": [["1 s", "2 s"]], **dropped}}}
    traffic = {"stack": stack, "congestion": "cubic", "size": "10 MB"}
    result = simulate(path(traffic, duration="3 s", network=network, switch={"buffer": "unlimited"}))
    assert math.isnan(result.flows.timeouts[0])
    assert math.isnan(result.measure("timeouts"))
    assert [one.limited_by for one in result.flow_limits] == ["outage"]


@needs_stacks
def test_the_table_shows_unknown_timeouts_and_the_duration_of_handshakes(capsys: pytest.CaptureFixture[str]) -> None:
    late = simulate(path({"stack": "quinn", "size": "100 kB"}, start={"kind": "fixed", "at": "2 s"}))
    show(late, Console(width=100, color_system=None))
    lines = capsys.readouterr().out.splitlines()
    flow, stack = (line.split() for line in lines if line.startswith("flow1"))
    assert flow[4] == "-"
    assert float(stack[2]) == pytest.approx(1e3 * (state(late)["handshake_s"] - 2), abs=0.01)
    assert any("complete: time of the last byte, from the start of the run" in line for line in lines)


@needs_stacks
def test_stack_runs_beside_tcp_over_cells_and_time_varying_paths() -> None:
    groups = [
        {"name": "quic", "traffic": {"kind": "stack", "stack": "noq", "congestion": "cubic"}},
        {"name": "tcp", "count": 2, "traffic": "greedy", "tcp": {"congestion": "cubic", "recovery": "rack"}},
    ]
    moving = {"rate": [["0 s", "20 Mbit/s"], ["2 s", "5 Mbit/s"]]}
    network = {"sources": 3, "group": groups, "path": moving}
    result = simulate(path({}, network=network, tcp={"timer": "fine"}))
    assert (result.flows.delivered_bytes > 100_000).all()
    assert list(result.stacks.flow) == ["quic"]
    assert [math.isnan(count) for count in result.flows.timeouts] == [True, False, False]
    shares = result.flows.set_index("flow").throughput_bps
    assert shares.sum() < 11e6
    assert result.efficiency <= 1
    cells = simulate(path({"size": "1 MB"}, framing="aal5", switch={"buffer": "2000 cells"}))
    assert counted(cells)["delivered_bytes"] == 1_000_000
    port = cells.ports[cells.ports.port == "switch1->switch2"].iloc[0]
    # With LLC/SNAP and the AAL5 trailer, a packet of 1480 bytes takes 32 cells.
    assert port.cells_in > 32 * 1_000_000 / 1452


@needs_stacks
def test_traces_contain_the_window_of_a_stack() -> None:
    result = simulate(path({}, traces={"cwnd": True, "drops": True}))
    windows = result.traces["cwnd"]
    assert windows.cwnd_bytes.iloc[0] == 12_000
    assert windows.cwnd_bytes.iloc[-1] == state(result)["cwnd_bytes"]
    drops = result.traces["drops"]
    assert (drops.flow == "flow1").all()
    assert counted(result)["retransmitted_segments"] == pytest.approx(len(drops), abs=2)


@needs_stacks
def test_a_design_over_stacks_is_stored_and_found_again(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(path({"crypto": "null"}).to_toml())
    base, store = str(tmp_path / "base.toml"), str(tmp_path / "store.db")
    args = ["design", base, "--factor", "traffic.congestion=cubic,reno,bbr", "--store", store, "--run", "controls"]
    # The second time, the results come from the store.
    runs = [run(*args) for _ in range(2)]
    notes = ["", "note: 3 of 3 runs are stored and are not repeated\n"]
    assert [(done.returncode, done.stderr) for done in runs] == [(0, note) for note in notes]
    first, again = (without_cpu_time(done.stdout) for done in runs)
    assert first == again
    for control in ("cubic", "reno", "bbr"):
        scenario = Scenario.from_toml(base).with_(**{"traffic.congestion": control})
        with closing(Store(store)) as kept:
            loaded = kept.load(scenario, 1)
        assert loaded is not None
        assert loaded.stacks.equals(simulate(scenario).stacks)


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        ({"congestion": "bbr3"}, "congestion: bbr3; quinn has cubic, reno, bbr"),
        ({"stack": "noq", "congestion": "bbr"}, "congestion: bbr; noq has cubic, reno, bbr3"),
        ({"stack": "msquic"}, "msquic"),
        ({"longest_packet": "1200 B"}, "1200 B; needs 1228 B to 65535 B"),
        ({"workload": "requests", "size": None}, "size: absent; requests need the length of a response"),
        ({"early_data": True, "crypto": "null"}, "early_data: true; needs crypto = 'tls'"),
        ({"stack": "str0m", "congestion": "cubic"}, "congestion: cubic; str0m has gcc"),
        ({"stack": "str0m", "workload": "bulk"}, "workload: bulk; str0m has media"),
        ({"stack": "str0m", "size": None, "early_data": True}, "early_data: True; str0m has no such setting"),
        ({"frame_rate": 25}, "frame_rate: 25; quinn has no such setting"),
        ({"workload": "media"}, "workload: media; quinn has bulk, streams, requests, datagrams"),
        ({"web": {}}, "web: needs neither a workload nor a size"),
        ({"stack": "str0m", "size": None, "web": {}}, "; str0m has no such setting"),
        ({"size": None, "web": {"cycle": "1 us"}}, "cycle"),
        ({"workload": "datagrams", "datagram": "2 kB"}, "2 kB; needs 8 B to 1100 B"),
        ({"stack": "str0m"}, "size: 2 MB; media continues to the end of the run"),
        (
            {"stack": "str0m", "size": None, "longest_packet": "9000 B"},
            "longest_packet: 9000 B; str0m has no such setting",
        ),
        ({"stack": "str0m", "size": None, "audio_rate": "511 kbit/s"}, "511 kbit/s; needs 0 bit/s to 510 kbit/s"),
        (
            {"stack": "str0m", "size": None, "lowest_rate": "2 Mbit/s"},
            "lowest_rate: 2 Mbit/s; needs at most highest_rate (1.5 Mbit/s)",
        ),
    ],
)
def test_unsuitable_settings_are_rejected_in_one_line(traffic: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        path(traffic)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_packet_longer_than_the_buffer_is_rejected_in_one_line() -> None:
    said = r"^switch.buffer: 2000 B; needs at least one full packet \(9000 B at MSS 8960\)$"
    with pytest.raises(ScenarioError, match=said):
        path({"longest_packet": "9000 B"}, switch={"buffer": "2000 B"})


def test_missing_stack_reports_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "installed", lambda: None)
    needs = r"needs `pip install \./crates/stacks` or `make stacks` in a clone of longpipe"
    with pytest.raises(ScenarioError, match=rf"^traffic.stack: quinn is not installed; {needs}$"):
        simulate(path({}))


def test_file_without_stacks_is_rejected_in_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    other.write_bytes(b"not an object")
    # This needs a separate process, because stacks are loaded once per process.
    code = f"from longpipe import _core; _core.register_stacks({str(other)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{other}: cannot be loaded" in done.stderr.splitlines()[-1]


def test_stacks_are_loaded_only_if_used() -> None:
    code = "import sys; from longpipe import Scenario, simulate; simulate(Scenario(defaults='1996', duration='1 ms')); "
    code += "print(any('longpipe_stacks' in line for line in open('/proc/self/maps')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@needs_stacks
def test_a_bundle_with_stacks_reruns_to_the_same_bits() -> None:
    """The processes of a rerun have not loaded the stacks."""
    found = simulate(path({"size": "100 KB"}, duration="1 s"))
    digest = found.scenario.digest()
    bundled = BundledRun(1, 1, found.seed, digest, found.state_hash)
    one = Bundle("stacks", "", "", (bundled,), {digest: found.scenario.resolved_json()})
    assert list(rerun(one, workers=1)) == [(bundled, found.state_hash)]
