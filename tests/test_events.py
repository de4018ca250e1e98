from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import commands
from longpipe import Result, Scenario, ScenarioError, _core, pictures, simulate
from longpipe.pictures import Recorded
from longpipe.pictures.events import loss_events, phases, slow_start_exits

RECOVERIES = ("vanilla", "tahoe", "reno", "newreno", "sack")
PATHS: dict[str, dict[str, object]] = {
    "full buffers": {"switch.buffer": "0.1 BDP"},
    "forced losses": {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.003}, "switch.buffer": "2 BDP"},
    "cells": {"framing": "aal5", "switch.buffer": "500 cells", "switch.policy": "epd"},
}

DURATION_S = 6


@cache
def run(recovery: str, path: str = "full buffers") -> Result:
    traces = {f"traces.{name}": True for name in ("cwnd", "sequence", "rtt", "arrivals", "events")}
    changes: dict[str, object] = {
        "duration": f"{DURATION_S} s",
        "network.sources": 3,
        "tcp.recovery": recovery,
        **PATHS[path],
        **traces,
    }
    return simulate(Scenario.example("fiber").with_(**changes))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_events_agree_with_sender_counters(recovery: str, path: str) -> None:
    result = run(recovery, path)
    for flow in result.flows.to_dict("records"):
        counts = loss_events(result, flow["flow"])["event"].value_counts()
        found = (counts.get("timeout", 0), counts.get("fast retransmit", 0))
        assert found == (flow["timeouts"], flow["fast_retransmits"])


@pytest.mark.parametrize("path", ["full buffers", "forced losses"])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_loss_events_agree_with_link_counters(recovery: str, path: str) -> None:
    result = run(recovery, path)
    found = sum((loss_events(result, flow)["event"] == "lost").sum() for flow in result.flows["flow"])
    trunk = result.ports[result.ports["port"] == "switch1->switch2"]
    lost = trunk.filter(like="packets_lost_").to_numpy().sum()
    assert found == lost > 0


@pytest.mark.parametrize("timestamps", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_events_have_the_length_of_their_segment_or_of_the_outstanding_data(path: str, timestamps: bool) -> None:
    traces = {"traces.sequence": True, "traces.events": True}
    changes = {"duration": "4 s", "network.sources": 2, "tcp.timer.timestamps": timestamps, **PATHS[path], **traces}
    # Transfers that are not a multiple of the MSS end with a short segment.
    changes["traffic"] = {"kind": "transfer", "size": "5000123 B"}
    result = simulate(Scenario.example("fiber").with_(**changes))
    rows, sequence = result.traces["events"], result.traces["sequence"]
    sent = sequence[sequence["event"] == 0]
    segments = {tuple(row) for row in sent[["flow", "sequence_bytes", "length_bytes"]].to_numpy().tolist()}
    of_segments = rows[rows["kind"].isin(["dropped", "retransmit", "declared-lost"])]
    found = of_segments[["flow", "sequence_bytes", "length_bytes"]].to_numpy().tolist()
    assert (of_segments["kind"] == "dropped").sum() > 5
    assert {tuple(row) for row in found} <= segments
    # Events without a segment have the data in flight.
    others = rows[rows["kind"].isin(["reduction", "undo", "timeout", "fast-retransmit"])]
    assert len(others) > 1
    for row in others.to_dict("records"):
        before = sent[(sent["flow"] == row["flow"]) & (sent["time_s"] <= row["time_s"])]
        furthest = (before["sequence_bytes"] + before["length_bytes"]).max()
        assert row["sequence_bytes"] + row["length_bytes"] == furthest


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_phases_are_contiguous_over_the_time_shown(recovery: str) -> None:
    found = phases(run(recovery), "flow1", (0.5, 5.0))
    assert found["begin_s"].iloc[0] == 0.5
    assert found["end_s"].iloc[-1] == 5.0
    assert (found["begin_s"].iloc[1:].to_numpy() == found["end_s"].iloc[:-1].to_numpy()).all()
    assert (found["phase"].iloc[1:].to_numpy() != found["phase"].iloc[:-1].to_numpy()).all()
    assert ("recovery" in set(found["phase"])) == (recovery in ("reno", "newreno", "sack"))


def test_phases_begin_with_the_flow() -> None:
    start = {"kind": "fixed", "at": "1500 ms"}
    result = simulate(Scenario(defaults="1996", duration="3 s").with_(start=start, **{"traces.cwnd": True}))
    assert phases(result, "flow1")["begin_s"].iloc[0] == 1.5
    assert phases(result, "flow1", (2.0, 3.0))["begin_s"].iloc[0] == 2.0
    assert phases(result, "flow1", (0.5, 1.5)).empty
    with pytest.raises(ScenarioError, match=r"^flow: no congestion window of any flow in the time shown; "):
        pictures.window(result, flows=["flow1"], span_s=(0.0, 1.0))


@cache
def by_records(control: str, loss: float, hystart: str = "") -> Result:
    congestion = {"kind": control, "hystart": hystart} if hystart else control
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "1 Gbit/s",
        "trunk_rate": "10 Mbit/s",
        "trunk_delay": "50 ms",
    }
    if loss:
        network["trunk_loss"] = {"kind": "bernoulli", "probability": loss}
    fields: dict[str, object] = {
        "framing": "ip",
        "duration": "40 s",
        "network": network,
        "switch.buffer": "100 packets",
        "tcp": {"profile": "linux-6", "congestion": congestion, "initial_rtt": "100 ms"},
        "traces": {"cwnd": True, "sequence": True, "events": True},
    }
    return simulate(Scenario(defaults="1996").with_(**fields), seed=1)


@pytest.mark.parametrize("loss", [0.0, 0.001, 0.02, 0.1])
@pytest.mark.parametrize("control", ["cubic", "linux-reno", "bbr", "bbr3"])
def test_rack_events_agree_with_sender_counters(control: str, loss: float) -> None:
    result = by_records(control, loss)
    flow = result.flows.iloc[0]
    counts = loss_events(result, flow["flow"])["event"].value_counts()
    assert counts.get("timeout", 0) == flow["timeouts"]
    assert counts.get("fast retransmit", 0) == flow["fast_retransmits"]


def test_rack_recovery_is_shaded_until_its_data_are_acknowledged() -> None:
    result = by_records("cubic", 0.0)
    (name,) = result.flows["flow"]
    recovery = phases(result, name).query("phase == 'recovery'").iloc[0]
    rows = result.traces["sequence"]
    sent = rows[(rows["event"] == 0) & (rows["time_s"] < recovery["begin_s"])]
    furthest = (sent["sequence_bytes"] + sent["length_bytes"]).max()
    acks = rows[(rows["event"] == 1) & (rows["sequence_bytes"] >= furthest)]
    assert recovery["end_s"] == acks["time_s"].iloc[0]


MOVING: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "random losses": (
        {
            "network.path": {"kind": "moving", "rate": [["0 s", "10 Mbit/s"], ["5 s", "6 Mbit/s"], ["12 s", "12 Mbit/s"]],
                             "delay": [["0 s", "20 ms"], ["10 s", "60 ms"], ["20 s", "30 ms"]]},
            "network.trunk_loss": {"kind": "bernoulli", "probability": 0.002},
            "switch.buffer": "500 packets",
        },
        ("injected",),
    ),
    "outages": (
        {
            "network.path": {"kind": "moving", "rate": [["0 s", "10 Mbit/s"]],
                             "outages": {"every": "3 s", "phase": "2 s", "gap": "200 ms", "arriving": "drop",
                                         "waiting": "drop", "in_service": "drop", "in_flight": "drop"}},
            "switch.buffer": "100 packets",
        },
        ("overflow", "outage", "on_wire"),
    ),
}  # fmt: skip


@cache
def moving(path: str) -> Result:
    fields: dict[str, object] = {
        "framing": "ip",
        "duration": "20 s",
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "20 ms"},
        "network.return_path": {"kind": "moving"},
        "tcp": {"profile": "linux-6"},
        "traces": {"cwnd": True, "sequence": True, "events": True},
        **MOVING[path][0],
    }
    return simulate(Scenario(defaults="1996").with_(**fields), seed=1)


@pytest.mark.parametrize("path", MOVING)
def test_each_loss_on_a_moving_path_has_its_mark(path: str) -> None:
    result = moving(path)
    trunk = result.ports[result.ports["port"] == "switch1->switch2"]
    lost = int(trunk[[f"packets_lost_{cause}" for cause in MOVING[path][1]]].to_numpy().sum())
    events = loss_events(result, "flow1")
    assert (events["event"] == "lost").sum() == lost > 10
    causes = {cause for cause, counters, *_ in _core.drop_causes() if not set(counters).isdisjoint(MOVING[path][1])}
    assert set(events.loc[events["event"] == "lost", "cause"]) <= causes
    for figure in (pictures.window(result), pictures.sequence(result)):
        (marks,) = (line for line in figure.axes[0].lines if line.get_label() == "lost")
        assert np.asarray(marks.get_xdata()).size == lost
    counts = events["event"].value_counts()
    flow = result.flows.iloc[0]
    assert (counts.get("timeout", 0), counts.get("fast retransmit", 0)) == (flow["timeouts"], flow["fast_retransmits"])


RETRANSMISSIONS = {
    "vanilla": {"timeout"},
    "tahoe": {"fast-retransmit", "timeout"},
    "reno": {"fast-retransmit", "timeout"},
    "newreno": {"fast-retransmit", "partial-ack", "timeout"},
    "sack": {"fast-retransmit", "scoreboard", "timeout"},
    "rfc6675": {"fast-retransmit", "scoreboard", "rescue", "timeout"},
    "rack": {"rack", "timeout", "tail-loss-probe"},
}


@pytest.mark.parametrize("recovery", RETRANSMISSIONS)
def test_every_retransmission_has_a_cause(recovery: str) -> None:
    result = run(recovery, "forced losses")
    rows = result.traces["events"]
    again = rows[rows["kind"] == "retransmit"]
    assert len(again) == result.flows["retransmitted_segments"].sum() > 10
    assert again["length_bytes"].sum() == result.flows["retransmitted_bytes"].sum()
    assert set(again["event_cause"]) <= RETRANSMISSIONS[recovery]
    # The main cause of retransmissions: go-back-N after a timeout, the scoreboard, or RACK.
    main = {"vanilla": "timeout", "tahoe": "fast-retransmit", "reno": "fast-retransmit", "rack": "rack"}
    assert main.get(recovery, "fast-retransmit") in set(again["event_cause"])
    # Segments that were retransmitted as lost were indeed lost; only go-back-N retransmits delivered segments.
    lost = {(row["flow"], row["sequence_bytes"]) for row in rows[rows["kind"] == "dropped"].to_dict("records")}
    told = again[again["event_cause"].isin(["partial-ack", "scoreboard"])]
    assert {(row["flow"], row["sequence_bytes"]) for row in told.to_dict("records")} <= lost


def test_a_declared_loss_of_rack_was_lost() -> None:
    rows = by_records("cubic", 0.02).traces["events"]
    declared = rows[(rows["kind"] == "declared-lost") & (rows["event_cause"] == "rack")]
    lost = rows[rows["kind"] == "dropped"]
    assert len(declared) > 50
    assert set(declared["sequence_bytes"]) <= set(lost["sequence_bytes"])


def test_reductions_have_causes_and_agree_with_flow_counters() -> None:
    result = by_records("cubic", 0.02)
    rows = result.traces["events"]
    reductions = rows[rows["kind"] == "reduction"]
    assert (reductions["ssthresh_bytes"] < reductions["cwnd_bytes"])[reductions["event_cause"] != "timeout"].all()
    counted = reductions["drop_cause"].value_counts()
    totals = result.reductions.set_index("cause")["reductions"]
    assert {str(cause): int(count) for cause, count in counted.items() if count} == totals.to_dict()
    assert totals["injected_loss"] > 10
    assert result.reductions["reduced_s"].sum() <= 40.0


def test_ecn_reductions_are_marked() -> None:
    changes = {
        "framing": "ip", "duration": "10 s", "network.sources": 1, "network.trunk_rate": "10 Mbit/s",
        "network.trunk_delay": "20 ms", "switch.buffer": "200 packets",
        "switch.policy": {"kind": "step-marking", "threshold": 20}, "tcp": {"profile": "linux-6", "ecn": "classic"},
        "traces": {"cwnd": True, "events": True},
    }  # fmt: skip
    result = simulate(Scenario(defaults="1996").with_(**changes))
    events = loss_events(result, "flow1")
    marks = int(result.flows["mark_reductions"].sum())
    assert (events["event"] == "ECN reduction").sum() == marks > 3
    assert "ECN reduction" in _legend(pictures.window(result))
    states = result.traces["events"].query("kind == 'state'")["event_cause"]
    # If a mark arrives at the end of a reduction, the sender remains in CWR.
    assert 3 < (states == "cwr").sum() <= marks
    assert result.limits["limited_by"][0] in ("link", "marks")


def test_a_spurious_timeout_is_undone_and_marked() -> None:
    # All packets are delayed by 3 s, so that the timer expires although packets were lost only in the earlier overflow.
    fields: dict[str, object] = {
        "framing": "ip",
        "duration": "20 s",
        "traffic": {"kind": "transfer", "size": "10 MB"},
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "12 Mbit/s", "trunk_delay": "20 ms"},
        "network.path": {"kind": "moving", "outages": {"intervals": [["2.7 s", "5.7 s"]]}},
        "network.return_path": {"kind": "moving"},
        "switch.buffer": "100 packets",
        "tcp": {"profile": "linux-6"},
        "traces": {"cwnd": True, "events": True},
    }
    result = simulate(Scenario(defaults="1996").with_(**fields))
    undone = loss_events(result, "flow1").query("event == 'undo'")
    assert len(undone) >= 1
    assert undone["time_s"].iloc[0] > 5.7
    assert set(undone["cause"]) <= {"eifel", "d-sack", "f-rto"}
    assert "undo" in _legend(pictures.window(result))


@pytest.mark.parametrize("path", PATHS)
def test_recording_events_does_not_change_the_run(path: str) -> None:
    plain = simulate(run("sack", path).scenario.with_(**{f"traces.{name}": False for name in run("sack").traces}))
    assert plain.state_hash == run("sack", path).state_hash
    assert "events" not in plain.scenario.resolve()["traces"]


# HyStart++ first slows growth, and a loss occurs before the flow would leave slow start.
@pytest.mark.parametrize(("hystart", "exits"), [("linux", 1), ("plus-plus", 0), ("none", 0)])
def test_hystart_leaves_slow_start_without_a_loss(hystart: str, exits: int) -> None:
    result = by_records("cubic", 0.0, hystart)
    (name,) = result.flows["flow"]
    found = slow_start_exits(result, name)
    assert list(found["event"]) == ["slow start left"] * exits
    assert (found["time_s"] < 1.0).all()
    again = result.traces["sequence"].query("event == 0 and retransmission")
    assert (found["time_s"] < again["time_s"].min()).all()
    assert slow_start_exits(result, name, (2.0, 3.0)).empty
    labels = {text.get_text() for text in pictures.window(result).legends[0].get_texts()}
    assert ("slow start left" in labels) == bool(exits)


def test_reductions_during_a_recovery_do_not_leave_slow_start() -> None:
    congested = {
        "network.trunk_rate": "50 Mbit/s", "network.trunk_delay": "300 ms", "network.sources": 2, "duration": "13 s",
        "switch.policy": "pie", "tcp.profile": "linux-6", "traces.cwnd": True, "traces.events": True,
    }  # fmt: skip
    result = simulate(Scenario.example("fiber").with_(**congested))
    events = result.traces["events"].query("kind == 'reduction'")
    below = 0
    for name in result.flows["flow"]:
        reductions = events[events["flow"] == name]
        # During a recovery, PRR lowers the window below the threshold that the next reduction sets.
        windows = result.traces["cwnd"].query("flow == @name")
        reduced = windows[windows["time_s"].isin(reductions["time_s"])]
        below += int((reduced["cwnd_bytes"] < reduced["ssthresh_bytes"]).sum())
        assert not slow_start_exits(result, name)["time_s"].isin(reductions["time_s"]).any()
    assert below > 0


def test_recovery_lasts_until_the_data_in_flight_are_acknowledged() -> None:
    """A timeout and the end of the run end a recovery, too."""
    completed = 0
    for path in PATHS:
        result = run("sack", path)
        for name in result.flows["flow"]:
            rows = result.traces["sequence"].query("flow == @name")
            timeouts = loss_events(result, name).query("event == 'timeout'")["time_s"]
            for recovery in phases(result, name).query("phase == 'recovery'").to_dict("records"):
                sent = rows[(rows["event"] == 0) & (rows["time_s"] <= recovery["begin_s"])]
                furthest = (sent["sequence_bytes"] + sent["length_bytes"]).max()
                acks = rows[(rows["event"] == 1) & (rows["sequence_bytes"] >= furthest)]
                acknowledged = acks["time_s"].min()
                ends = [acknowledged, timeouts[timeouts > recovery["begin_s"]].min(), DURATION_S]
                assert recovery["end_s"] == np.nanmin(ends), (path, name, recovery)
                completed += recovery["end_s"] == acknowledged
    assert completed > 3


def test_slow_start_ends_at_the_threshold() -> None:
    result = run("vanilla")
    for phase in phases(result, "flow1").to_dict("records"):
        rows = result.traces["cwnd"].query("flow == 'flow1'")
        rows = rows[(rows["time_s"] >= phase["begin_s"]) & (rows["time_s"] < phase["end_s"])]
        below = rows["cwnd_bytes"] < rows["ssthresh_bytes"]
        assert below.all() if phase["phase"] == "slow start" else not below.any()


def test_window_picture_has_shades_and_optional_marks() -> None:
    result = run("newreno")
    words = _legend(pictures.window(result, flows=["flow1"]))
    assert {"slow start", "recovery", "lost", "fast retransmit"} <= words
    without = Recorded(result.scenario, {name: result.traces[name] for name in ("cwnd", "sequence")})
    words = _legend(pictures.window(without, flows=["flow1"]))
    assert "slow start" in words
    assert not words & {"recovery", "lost", "fast retransmit"}


@pytest.mark.parametrize("picture", [pictures.window, pictures.sequence])
def test_segments_are_bytes_divided_by_mss(picture: Callable[..., Figure]) -> None:
    tops = {
        unit: picture(run("sack"), flows=["flow1"], unit=unit).axes[0].get_ylim()[1] for unit in ("bytes", "segments")
    }
    mss, scale = 1448, 1e6 if tops["bytes"] < 100 else 1e3
    assert tops["segments"] == pytest.approx(tops["bytes"] * scale / mss)
    with pytest.raises(ScenarioError, match="unit: 'segment'; did you mean 'segments'"):
        picture(run("sack"), unit="segment")


@pytest.mark.parametrize("kind", ["window", "sequence", "rtt", "throughput"])
def test_compared_runs_have_a_panel_each_and_the_same_axes(kind: str) -> None:
    figure = pictures.compare({"Reno": run("reno"), "SACK": run("sack")}, kind)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["Reno", "SACK"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim() == (0, 6)
    assert figure.get_suptitle().startswith("fiber: ")
    colors = [{line.get_label(): line.get_color() for line in panel.get_lines()} for panel in figure.axes]
    assert all(colors[0][name] == colors[1][name] for name in colors[0].keys() & colors[1].keys())


def test_a_title_has_lines_that_fit() -> None:
    run_ = run("reno")
    named = Recorded(run_.scenario, run_.traces, "fiber, " + ", ".join(f"network.field{i}=1" for i in range(9)))
    lines = pictures.window(named, flows=["flow1"]).get_suptitle().splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 90 for line in lines)


def test_incomparable_runs_are_rejected() -> None:
    one, two = run("reno"), run("sack")
    with pytest.raises(ScenarioError, match="runs: 1; needs 2 to 6"):
        pictures.compare({"Reno": one})
    with pytest.raises(ScenarioError, match="flows: flow1, flow2; needs one flow to compare by window"):
        pictures.compare({"Reno": one, "SACK": two}, flows=["flow1", "flow2"])
    with pytest.raises(ScenarioError, match="kind: 'windows'; did you mean 'window'"):
        pictures.compare({"Reno": one, "SACK": two}, "windows")


def test_command_compares_and_states_settings(tmp_path: Path) -> None:
    scenario, figure = tmp_path / "geo.toml", tmp_path / "a.svg"
    scenario.write_text(Scenario.example("geo").with_(duration="3 s").to_toml())
    compared = ("--compare", "tcp.recovery=reno,sack", "--set", "network.sources=2")
    done = commands.run("plot", scenario, "window", "-o", figure, *compared)
    assert done.stdout.count("Reno: limited by ") == 1
    text = figure.read_text()
    for words in ("Reno", "SACK", "geo, network.sources=2: congestion window"):
        assert f"<!-- {words}" in text


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        ("window", ["--compare", "tcp.recovery"], "--compare: 'tcp.recovery'; accepts FIELD=LEVEL,LEVEL"),
        ("window", ["--compare", "tcp.recovery=reno"], "tcp.recovery: levels 'reno'; needs at least 2"),
        ("window", ["--compare", "tcp.recovery=reno,sack", "--all"], "--all: not with --compare"),
        ("window", ["--compare", "recovery=reno,sack"], "--compare: 'recovery'; needs the whole name, tcp.recovery"),
        ("window", ["--set", "mss=1 KB"], "--set: 'mss'; needs the whole name, tcp.mss"),
        ("rtt", ["--unit", "segments"], "--unit: rtt has no such unit; needs window or sequence"),
    ],
)
def test_bad_input_is_rejected_in_one_line(tmp_path: Path, kind: str, options: list[str], error: str) -> None:
    scenario = tmp_path / "geo.toml"
    scenario.write_text(Scenario.example("geo").to_toml())
    done = commands.run("plot", scenario, kind, "-o", tmp_path / "a.svg", *options)
    assert done.stderr.startswith(f"error: {error}")
    assert done.stderr.count("\n") == 1


def test_events_do_not_depend_on_the_time_shown() -> None:
    whole, part = loss_events(run("reno"), "flow1"), loss_events(run("reno"), "flow1", (1.0, 2.0))
    assert np.array_equal(part["time_s"], whole.loc[whole["time_s"].between(1.0, 2.0), "time_s"])


def _legend(figure: Figure) -> set[str]:
    return {text.get_text() for text in figure.legends[0].get_texts()}
