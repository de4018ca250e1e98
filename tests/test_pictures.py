import inspect
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from commands import run as command
from longpipe import Result, Scenario, ScenarioError, pictures, simulate, stacks
from longpipe.cli.plot.runs import until
from longpipe.pictures import KINDS, Recorded, kind_of
from longpipe.pictures.changes import capacity_steps, handovers_s, outages
from longpipe.pictures.events import phases
from longpipe.pictures.kinds.delay import drop_counts
from longpipe.pictures.kinds.queue import queue_by_flow
from longpipe.pictures.kinds.rates import control_steps
from longpipe.pictures.kinds.rtt import rtt_points
from longpipe.pictures.kinds.sequence import sequence_events
from longpipe.pictures.kinds.throughput import throughput_series
from longpipe.pictures.kinds.window import PICTURES, window_steps
from longpipe.pictures.overlays import FLOWS_OVERLAID, OVERLAID
from longpipe.pictures.recorded import edges_s, of_flow, trace
from longpipe.pictures.saving import save_as
from longpipe.pictures.style import logarithmic, wrapped
from thorough import one_in

TRACES = ("cwnd", "queue", "vc_queue", "sequence", "rtt", "arrivals", "control", "events")
PORT = "switch1->switch2"
SCENARIO = Scenario(defaults="1996", name="wan", duration="2 s").with_(
    **{
        "network.sources": 2,
        "network.trunk_rate": "10 Mbit/s",
        "network.trunk_delay": "20 ms",
        "network.trunk_loss": {"kind": "bernoulli", "probability": 0.005},
        "tcp.recovery": "sack",
        "tcp.receiver_window": "100 KB",
    }
)


@cache
def run(framing: str = "aal5") -> Result:
    changes = {"framing": framing, "switch.buffer": "1000 cells" if framing == "aal5" else "30 packets"}
    return simulate(SCENARIO.with_(**changes, **{f"traces.{name}": True for name in TRACES}))


def capacity_of(result: Result, flows: Sequence[str]) -> float:
    steps = capacity_steps(result, flows)
    assert steps is not None
    return float(steps["capacity_bps"].iloc[0])


def test_edges_of_intervals_are_times_of_traces() -> None:
    """0.01 s times 29 is 0.29000000000000004, which is after an event at 0.29 s, and 0.07 s times 7 is before 0.49 s."""
    assert edges_s(0.0, 1.0, 0.01).tolist() == [k / 100 for k in range(101)]
    assert edges_s(0.0, 7.0, 0.07).tolist() == [7 * k / 100 for k in range(101)]


def test_recording_does_not_change_the_run() -> None:
    assert run().state_hash == simulate(SCENARIO).state_hash


def test_the_sequence_graph_has_every_segment_once() -> None:
    events, flow = sequence_events(run(), "flow1"), run().flows.iloc[0]
    assert len(events.resent) == flow["retransmitted_segments"] > 0
    assert len(events.sent) + len(events.resent) == flow["sent_segments"]
    sent = events.sent["end_bytes"] - events.sent["begin_bytes"]
    resent = events.resent["end_bytes"] - events.resent["begin_bytes"]
    assert sent.sum() + resent.sum() == flow["sent_bytes"]
    acks = events.acknowledged
    assert acks["ack_bytes"].is_monotonic_increasing
    assert (events.sent["end_bytes"] <= acks["window_bytes"].max()).all()
    assert set(acks["window_bytes"] - acks["ack_bytes"]) == {100_000}
    assert len(events.sacked) > 0
    assert (events.sacked["end_bytes"] <= events.sent["end_bytes"].max()).all()


FLOWS = ("flow1", "flow2")


def told(flow: str, until_s: float) -> float:
    """Returns the number of bytes that ACKs and SACK blocks have reported by a given time, computed byte by byte."""
    events = sequence_events(run(), flow, (0.0, until_s))
    known = np.zeros(2_000_000, dtype=bool)
    known[: int(events.acknowledged["ack_bytes"].max())] = True
    for begin, end in events.sacked[["begin_bytes", "end_bytes"]].to_numpy():
        known[begin:end] = True
    return float(known.sum())


def test_throughput_counts_data_when_they_arrive() -> None:
    series = throughput_series(run(), FLOWS, 0.02)
    for flow in FLOWS:
        by_then = series[flow].cumsum() * 0.02 / 8
        for number in (20, 45, 70):
            # The delay from the receiver to the sender is half of the RTT, which is at least 48 ms.
            assert by_then.iloc[number - 1] <= told(flow, 0.02 * (number + 3)) + 2 * 512
            assert by_then.iloc[number] >= told(flow, 0.02 * (number + 1))


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack", "rfc6675", "rack"])
@pytest.mark.parametrize("framing", ["aal5", "ip"])
def test_throughput_does_not_exceed_the_trunks_capacity(framing: str, recovery: str) -> None:
    # This also holds without SACK: acknowledged bytes jump when a gap is filled, but received bytes do not.
    buffer = "1000 cells" if framing == "aal5" else "30 packets"
    changes = {"framing": framing, "switch.buffer": buffer, "tcp.recovery": recovery, "traces.arrivals": True}
    result = simulate(SCENARIO.with_(**changes, **{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.002}}))
    assert result.flows["retransmitted_segments"].sum() > 0
    carried = capacity_of(result, FLOWS)
    assert carried is not None
    # A segment may end just within an interval even if all of its bits except the last were sent before it.
    assert throughput_series(result, FLOWS, 0.02).sum(axis=1).max() <= carried + 8 * 512 / 0.02
    assert throughput_series(result, FLOWS, 0.2).sum(axis=1).max() <= carried + 8 * 512 / 0.2


def test_throughput_of_datagrams_counts_arrivals() -> None:
    result = simulate(Scenario.example("home").with_(**{"duration": "10 s", "traces.arrivals": True}))
    (delivered,) = result.flows["delivered_bytes"][result.flows["flow"] == "ping"]
    arrived = throughput_series(result, ["ping"], 1.0).to_numpy().sum() / 8
    assert arrived == delivered > 0


def test_throughput_of_a_dead_flow_is_marked(tmp_path: Path) -> None:
    result = run("ip")
    result.to_csv(tmp_path)
    table = pd.read_csv(tmp_path / "flows.csv")
    assert "died" not in table
    name = str(table["flow"][0])
    table.assign(died=table["flow"] == name).astype({"died": int}).to_csv(tmp_path / "flows.csv", index=False)
    recorded = Recorded.from_directory(tmp_path)
    assert recorded.died == {name}
    for figure in (
        pictures.throughput(recorded),
        pictures.shares(recorded),
        pictures.overlay({name: recorded, "alive": result}, "throughput"),
    ):
        labels = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
        assert f"{name}, died" in labels
        assert sum(label.endswith(", died") for label in labels) == 1


def test_throughput_shows_a_constant_link_rate() -> None:
    panel = pictures.throughput(run()).axes[0]
    (line,) = [line for line in panel.get_lines() if line.get_label() == "capacity of the link"]
    assert np.asarray(line.get_ydata())[0] == pytest.approx(10 * 512 / (12 * 53))
    rates = {"network.path": {"rate": [["0 s", "10 Mbit/s"], ["1 s", "5 Mbit/s"]]}, "switch.buffer": "30 packets"}
    moving = Recorded(SCENARIO.with_(framing="ip", **rates), {})
    steps = capacity_steps(moving, FLOWS)
    assert steps is not None
    assert steps["time_s"].tolist() == [0, 1, 2, 2]
    # 512 of 552 bytes are payload.
    assert steps["capacity_bps"].tolist() == pytest.approx([part * 1e6 * 512 / 552 for part in (10, 5, 5, 5)])
    unlike = SCENARIO.with_(**{"network.group": [{"name": "a"}, {"name": "b", "tcp": {"mss": "1000 B"}}]})
    assert capacity_steps(Recorded(unlike, {}), ["a", "b"]) is None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"network.conditioners": [{"kind": "tbf", "rate": "4 Mbit/s", "burst": "16 KB"}]},
        {"network.conditioners": [{"kind": "policer", "rate": "4 Mbit/s", "burst": "16 KB"}]},
        {"switch.policy": {"kind": "cake", "rate": "4 Mbit/s"}},
    ],
)
@pytest.mark.parametrize("traffic", ["greedy", {"kind": "cbr", "rate": "20 Mbit/s", "payload": "1000 B"}])
def test_capacity_line_follows_packet_sizes_and_shaper(traffic: object, changes: dict[str, object]) -> None:
    """Checks that the line is the largest throughput that `Result.attainable_bps` allows, except for the burst."""
    shaped = SCENARIO.with_(framing="ip", traffic=traffic, duration="5 s", **changes)
    result = simulate(shaped.with_(**{"switch.buffer": "30 packets", "traces.arrivals": True}))
    (line,) = [
        one for one in pictures.throughput(result).axes[0].get_lines() if one.get_label() == "capacity of the link"
    ]
    assert np.asarray(line.get_ydata())[-1] * 1e6 == pytest.approx(result.attainable_bps, rel=0.01)


def test_capacity_line_ignores_small_datagrams_beside_tcp() -> None:
    call = {"name": "call", "traffic": "voice"}
    both = SCENARIO.with_(framing="ip", **{"network.group": [{"name": "bulk"}, call]})
    steps = capacity_steps(Recorded(both, {}), ["bulk", "call"])
    assert steps is not None
    assert steps["capacity_bps"][0] == pytest.approx(1e7 * 512 / 552)


def test_outages_and_handovers_are_marked() -> None:
    path = {
        "between": "linear",
        "delay": [["0 s", "20 ms"], ["0.5 s", "25 ms"], ["0.5 s", "10 ms"], ["1.5 s", "12 ms"]],
        "outages": {"every": "1 s", "phase": "0.7 s", "gap": "100 ms"},
    }
    changed = SCENARIO.with_(
        framing="ip",
        **{"network.path": path, "switch.buffer": "30 packets", "traces.cwnd": True, "traces.arrivals": True},
    )
    result = simulate(changed)
    assert handovers_s(result) == [0.5]
    assert outages(result) == [(0.7, 0.8), (1.7, 1.8)]
    assert outages(result, (0.0, 1.0)) == [(0.7, 0.8)]
    for figure in (pictures.window(result, ["flow1"]), pictures.throughput(result)):
        assert {"outage", "handover"} <= {text.get_text() for text in figure.legends[0].get_texts()}
    assert not outages(run())
    alike = pictures.overlay({"a": result, "b": result}, "window")
    assert {"outage", "handover"} <= {text.get_text() for text in alike.legends[0].get_texts()}
    mixed = pictures.overlay({"a": result, "b": run()}, "window")
    assert not {"outage", "handover"} & {text.get_text() for text in mixed.legends[0].get_texts()}
    held = {"between": "hold", "delay": [["0 s", "20 ms"], ["0.5 s", "20 ms"], ["1 s", "10 ms"]]}
    assert handovers_s(Recorded(SCENARIO.with_(**{"network.path": held}), {})) == [1.0]


def test_cuts_because_of_ecn_are_marked() -> None:
    marked = SCENARIO.with_(
        framing="ip", duration="4 s",
        **{
            "switch.policy": {"kind": "red", "min": 5, "max": 15, "ecn": True}, "network.trunk_loss": "none",
            "switch.buffer": "60 packets", "tcp.ecn": "classic", "tcp.receiver_window": "200 KB",
        },
    )  # fmt: skip
    for kind, draw in (("window", pictures.window), ("rates", pictures.rates)):
        # The result contains the traces that the command records.
        result = simulate(marked.with_(**{f"traces.{name}": True for name in kind_of(kind).traces}))
        cuts = result.traces["events"].query("kind == 'reduction' and event_cause == 'ecn' and flow == 'flow1'")
        assert len(cuts) > 0
        panel = draw(result, ["flow1"]).axes[0]
        (line,) = [line for line in panel.get_lines() if line.get_label() == "ECN reduction"]
        assert np.asarray(line.get_xdata()).tolist() == cuts["time_s"].tolist()


def test_drops_are_those_of_the_selected_flows() -> None:
    lossy = SCENARIO.with_(framing="ip", **{"switch.buffer": "10 packets", "traces.drops": True})
    result = simulate(lossy)
    by_flow = [int(drop_counts(result, PORT, flows=[flow]).to_numpy().sum()) for flow in FLOWS]
    assert sum(by_flow) == drop_counts(result, PORT).to_numpy().sum()
    assert min(by_flow) > 0
    assert by_flow[0] == len(result.traces["drops"].query("flow == 'flow1' and port == @PORT"))
    assert "of flow1" in str(pictures.drops(result, flows=["flow1"]).get_suptitle())


def test_axes_and_settings_of_the_user_stay_as_they_are() -> None:
    with mpl.rc_context({"axes.prop_cycle": cycler(color=["#112233", "#445566"]), "axes.titlesize": 7}):
        upper, lower = Figure().subplots(2)
        pictures.throughput(run(), ax=upper)
        pictures.window(run(), ["flow1"], ax=lower)
        lines = {line.get_label(): line.get_color() for line in upper.get_lines()}
        assert (lines["flow1"], lines["flow2"]) == ("#112233", "#445566")
        assert upper.title.get_fontsize() == 7
        assert upper.spines["top"].get_visible()
        assert not any(line.get_visible() for line in upper.get_xgridlines())
        # A figure with a size chosen by the user.
        assert Figure(figsize=(3, 2)).get_size_inches().tolist() == [3, 2]
    with mpl.rc_context({"figure.figsize": (3, 2), "axes.grid": True, "axes.spines.right": False}):
        figure = pictures.throughput(run())
        assert figure.get_size_inches().tolist() == [3, 2]
        assert figure.axes[0].spines["top"].get_visible()
        assert not figure.axes[0].spines["right"].get_visible()


@pytest.mark.parametrize("kind", ["window", "sequence", "rates", "rtt"])
def test_axes_show_one_flow_unless_flows_are_overlaid(kind: str) -> None:
    ax = Figure().subplots()
    getattr(pictures, kind)(run(), ["flow1"], ax=ax)
    with pytest.raises(ScenarioError, match=r"^ax: it already shows '.*'.*; needs pictures\.overlay for several"):
        getattr(pictures, kind)(run(), ["flow2"], ax=ax)


def test_a_figure_of_several_axes_explains_each_line_once() -> None:
    upper, lower = Figure().subplots(2)
    for panel, span in ((upper, (0.0, 1.0)), (lower, (1.0, 2.0))):
        pictures.window(run(), ["flow1"], span, ax=panel)
    words = [text.get_text() for panel in (upper, lower) if (own := panel.get_legend()) for text in own.get_texts()]
    assert {"cwnd", "ssthresh"} <= set(words)
    assert len(words) == len(set(words))


# Pictures of one run that can be drawn into the user's axes; those of studies are in tests/test_sweep.py, and that of
# grants, which needs an access link, in tests/test_access_links.py.
IN_AXES: Final = sorted(
    name
    for name in pictures.__all__
    if name not in ("sweep", "heat", "compare", "grants")
    and "ax" in inspect.signature(getattr(pictures, name)).parameters
)


@cache
def long_named() -> Result:
    kinds = (*TRACES, "delay", "drops")
    name = "a name of a scenario that is wider than one of two axes that are side by side"
    return simulate(SCENARIO.with_(framing="ip", name=name, **{f"traces.{kind}": True for kind in kinds}))


@pytest.mark.parametrize("kind", IN_AXES)
def test_titles_of_own_axes_in_columns_do_not_overlap(kind: str) -> None:
    result = long_named()
    first = result.scenario if kind == "network" else result
    one_flow = {"flows": ["flow1"]} if kind in ("window", "sequence", "rates", "rtt") else {}
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for panel in (left, right):
        getattr(pictures, kind)(first, **one_flow, ax=panel)
    figure.draw_without_rendering()
    one, other = (panel.title.get_window_extent() for panel in (left, right))
    assert "a name of a scenario" in left.title.get_text().replace("\n", " ")
    assert 0 <= one.x0 < one.x1 < other.x0 < other.x1 <= figure.bbox.width


@pytest.mark.parametrize("layout", ["none", "constrained", "tight"])
@pytest.mark.parametrize("kind", ["window", "rtt", "throughput", "queue", "shares"])
def test_the_legend_of_own_axes_covers_no_data(kind: str, layout: Literal["none", "constrained", "tight"]) -> None:
    figure = Figure(figsize=(8, 6), layout=None if layout == "none" else layout)
    for panel in figure.subplots(2):
        flows = None if kind in ("queue", "shares", "throughput") else ["flow1"]
        getattr(pictures, kind)(run("ip"), *([flows] if flows else []), ax=panel)
    figure.draw_without_rendering()
    panel = figure.axes[0]
    own = panel.get_legend()
    assert own is not None
    lowest = own.get_window_extent().y0
    # Marks of changes span the panel, in other coordinates.
    data = panel.transData
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in panel.get_lines() if line.get_transform() == data]
    tops = [np.nanmax(values, initial=-np.inf) for values in lines]
    tops += [area.get_datalim(data).y1 for area in panel.collections if area.get_transform() == data]
    tops = [top for top in tops if np.isfinite(top)]
    bars = panel.patches if kind == "shares" else []
    assert tops or bars
    for top in tops:
        assert data.transform((0, top))[1] < lowest
    for bar in bars:
        assert bar.get_window_extent().y1 < lowest + 1


def test_distribution_of_rtts_contains_every_sample() -> None:
    for line in pictures.rtt_cdf(run()).axes[0].lines:
        samples_s = pictures.rtt_points(run(), str(line.get_label()))["rtt_s"].dropna()
        assert np.allclose(np.asarray(line.get_xdata()), 1e3 * np.sort(samples_s))
        assert np.asarray(line.get_ydata())[-1] == 1
    both = pictures.rtt_cdf({"a": run(), "b": run()}, ["flow2"]).axes[0].lines
    assert [line.get_label() for line in both] == ["a", "b"]
    assert np.array_equal(np.asarray(both[0].get_xdata()), np.asarray(both[1].get_xdata()))


@pytest.mark.parametrize("kind", ["rtt", "delay", "delay_cdf"])
def test_delays_have_a_logarithmic_axis_on_request(kind: str) -> None:
    result = simulate(
        SCENARIO.with_(framing="ip", **{"switch.buffer": "30 packets", "traces.delay": True, "traces.rtt": True})
    )
    figure = getattr(pictures, kind)(result, ["flow1"], log=True)
    panel = figure.axes[0]
    assert (panel.get_xscale() if kind == "delay_cdf" else panel.get_yscale()) == "log"
    # If the range is within a decade, Matplotlib labels minor ticks with formulas, which must not be drawn as such.
    axis = panel.xaxis if kind == "delay_cdf" else panel.yaxis
    axis.set_view_interval(11, 90, ignore=True)
    figure.draw_without_rendering()
    labels = [text for tick in axis.get_ticklabels(which="both") if (text := tick.get_text())]
    assert len(labels) >= 2
    assert all(float(text) > 0 for text in labels)


@pytest.mark.parametrize(
    ("low", "high"), [(80, 160), (77, 165), (0.35, 1.3), (11, 90), (60, 190), (2, 150), (0.3, 250)]
)
def test_a_short_logarithmic_axis_has_labels_everywhere(low: float, high: float) -> None:
    panel = Figure().subplots()
    logarithmic(panel, "y")
    panel.set_ylim(low, high)
    ticks = np.asarray([at for at in panel.get_yticks() if low <= at <= high])
    labels = panel.yaxis.get_major_formatter().format_ticks(list(ticks))
    assert [float(label) for label in labels] == pytest.approx(list(ticks))
    assert 4 <= len(ticks) <= 10
    gaps = np.diff(np.log([low, *ticks, high])) / np.log(high / low)
    assert gaps.max() < 0.34


def test_axis_of_round_trips_includes_the_timer_only_on_request() -> None:
    panel = pictures.rtt(run(), ["flow1"]).axes[0]
    # The SRTT of the coarse timer is in ticks of 100 ms.
    longest = rtt_points(run(), "flow1")[["rtt_s", "srtt_s"]].max().max() * 1e3
    assert panel.get_yscale() == "linear"
    assert panel.get_ylim()[1] < 1.2 * longest
    assert panel.get_ylabel() == "round trip, flow1 [ms]"
    assert "RTO" not in {line.get_label() for line in panel.get_lines()}
    figure = pictures.rtt(run(), ["flow1"], rto=True)
    assert "RTO" in {line.get_label() for line in figure.axes[0].get_lines()}
    assert figure.get_suptitle().endswith("round trips and retransmission timeout")


def test_compared_drops_are_counted_in_the_title_of_each_panel() -> None:
    traced = {"traces.drops": True, "duration": "3 s"}
    runs = {
        text: simulate(run("ip").scenario.with_(**{"switch.buffer": text, **traced}))
        for text in ("20 packets", "9 packets")
    }
    figure = pictures.compare(runs, "drops")
    for panel, (text, result) in zip(figure.axes, runs.items(), strict=True):
        causes = result.traces["drops"]["cause"].astype(str).value_counts()
        counted = f"{causes['overflow']} overflow, {causes['injected_loss']} injected loss"
        assert panel.get_title(loc="left") == f"{text}: {counted}"
    assert [label.get_text() for label in figure.legends[0].get_texts()] == ["overflow", "injected loss"]


@pytest.mark.parametrize("kind", ["queue", "delay"])
def test_compared_runs_show_the_same_port(kind: str) -> None:
    """The port is the one with the largest number in any run, also if another port has the largest one in a run."""
    scenario = run("ip").scenario.with_(**{"traces.delay": True, "switch.policy": "fq-codel"})
    first = simulate(scenario)
    needed = {"queue": "vc_queue", "delay": "delay"}[kind]
    frame = first.traces[needed]
    back = frame[frame["port"].astype(str) == "switch2->switch1"]
    second = Recorded(
        first.scenario, {**first.traces, needed: back.assign(**{"delay_s": 1e-9} if kind == "delay" else {})}
    )
    figure = pictures.compare({"a": first, "b": second}, kind)
    assert figure.get_suptitle().split("\n")[0].endswith(f" at {PORT}")
    assert figure.axes[1].get_title(loc="left") == f"b: {'always empty' if kind == 'queue' else 'no packet'}"
    assert figure.axes[1].get_ylim() == figure.axes[0].get_ylim()
    with pytest.raises(ScenarioError, match=r"port: 'switch2->sink1': .* in all runs; "):
        pictures.compare({"a": second, "b": second}, kind, port="switch2->sink1")


def test_panels_of_compared_shares_end_at_one() -> None:
    figure = pictures.compare({"a": run(), "b": run()}, "shares")
    assert [panel.get_ylim() for panel in figure.axes] == [(0, 1), (0, 1)]
    assert [panel.get_legend() for panel in figure.axes] == [None, None]
    assert figure.get_suptitle() == "wan: shares of the data arrived, over 20 ms each"


@pytest.mark.parametrize("kind", OVERLAID)
def test_runs_are_compared_in_one_axis(kind: str) -> None:
    runs = {"a": run(), "b": run()}
    with pytest.raises(ScenarioError, match="overlay: 'shares' is stacked"):
        pictures.overlay(runs, "shares")
    (panel,) = pictures.overlay(runs, kind).axes
    assert [line.get_label() for line in panel.get_lines()][:2] == ["a", "b"]
    assert len(np.asarray(panel.get_lines()[0].get_xdata())) > 10


def test_throughput_comparison_states_its_averaging_interval() -> None:
    figure = pictures.compare({"a": run(), "b": run()}, "throughput")
    assert figure.get_suptitle() == "wan: data arrived, over 20 ms each"


def test_throughput_adds_up_to_delivered_data() -> None:
    series = throughput_series(run(), ["flow1", "flow2"], 0.1)
    arrived = series.to_numpy().sum(axis=0) * 0.1 / 8
    # Data after a gap that is still open at the end is not delivered.
    missing = arrived - run().flows["delivered_bytes"]
    assert (missing >= 0).all()
    assert (missing <= 100_000).all()
    assert len(series) == 20
    # A 10 Mbit/s trunk cannot carry more.
    assert series.to_numpy().sum(axis=1).mean() < 10e6 * 512 / (12 * 53)


@pytest.mark.parametrize("framing", ["aal5", "ip"])
def test_the_queue_by_flow_adds_up_to_the_queue(framing: str) -> None:
    result = run(framing)
    held = queue_by_flow(result, PORT)
    unit = "cells" if framing == "aal5" else "packets"
    seen = result.traces["queue"]
    seen = seen[seen["port"] == PORT]
    # The value is the queue at the last arrival before a sample, with or without this arrival, minus the departures
    # since then.
    latest = np.searchsorted(seen["time_s"].to_numpy(), held.index.to_numpy(), side="right") - 1
    before = seen[f"queue_{unit}"].to_numpy()[latest.clip(0)]
    total = held.sum(axis=1).to_numpy()
    largest = float(result.ports.set_index("port")[f"peak_queue_{unit}"].to_dict()[PORT])
    assert total.max() <= largest
    assert total.max() > 0.9 * largest
    assert (total <= before + 24).all()
    assert (held.to_numpy() >= 0).all()
    assert set(held.columns) == {"flow1", "flow2"}


def test_windows_and_timers_end_as_the_traces_do() -> None:
    steps, trace = window_steps(run(), "flow1"), run().traces["cwnd"]
    assert steps["cwnd_bytes"].iloc[-1] == trace.loc[trace["flow"] == "flow1", "cwnd_bytes"].iloc[-1]
    assert steps["time_s"].iloc[-1] == 2.0
    assert np.isnan(steps["ssthresh_bytes"].iloc[0])
    points = rtt_points(run(), "flow1")
    # RTTs are at least the propagation time; the tick, and therefore the minimum SRTT, is 100 ms.
    assert points["rtt_s"].min() > 0.04
    assert (points["rto_s"] >= 0.2).all()
    assert points["srtt_s"].dropna().between(0.05, 0.5).all()
    backed_off = (points["rtt_s"].isna() & (points["rto_s"].diff() > 0)).sum()
    assert backed_off == run().flows["timeouts"].iloc[0]


def test_shown_interval_begins_with_the_previous_value() -> None:
    steps = window_steps(run(), "flow1", (0.5, 0.6))
    trace = run().traces["cwnd"]
    before = trace[(trace["flow"] == "flow1") & (trace["time_s"] < 0.5)]
    assert steps["time_s"].iloc[[0, -1]].tolist() == [0.5, 0.6]
    assert steps["cwnd_bytes"].iloc[0] == before["cwnd_bytes"].iloc[-1]


# Pictures of cells and of packets; those of packets only are drawn by tests/test_queueing_delay.py and
# tests/test_access_links.py.
EITHER = [
    kind for kind in KINDS if kind_of(kind).traces and kind_of(kind).traces[0] not in ("delay", "drops", "grants")
]


FILES = [("aal5", "svg"), ("aal5", "pdf"), ("ip", "png")]


# The sample contains every picture, framing and kind of file.
@pytest.mark.parametrize(("kind", "file"), one_in(2, list(product(EITHER, FILES))))
def test_every_picture_is_drawn(tmp_path: Path, kind: str, file: tuple[str, str]) -> None:
    framing, suffix = file
    twice = []
    for number in range(2):
        path = tmp_path / f"{number}.{suffix}"
        save_as(kind_of(kind).draw(run(framing), span_s=(0.1, 1.5)), path)
        twice.append(path.read_bytes())
    assert twice[0] == twice[1]
    assert len(twice[0]) > 5_000


@pytest.mark.parametrize("kind", EITHER)
def test_picture_without_its_trace_names_the_recording_option(kind: str) -> None:
    bare = Recorded(SCENARIO, {})
    name = kind_of(kind).traces[0]
    with pytest.raises(ScenarioError) as raised:
        kind_of(kind).draw(bare)
    expected = f"traces.{name}: not recorded; needs traces.{name} = true, or longpipe run --trace {name}"
    assert str(raised.value) == expected


BBR = Scenario.model_validate(
    {
        "defaults": "1996",
        "framing": "ip",
        "duration": "32 s",
        "network": {
            "kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "20 ms", "access_rate": "1 Gbit/s",
        },
        "switch": {"buffer": "200 packets"},
        "tcp": {"profile": "linux-6", "congestion": "bbr"},
        "traces": {"control": True, "arrivals": True, "cwnd": True},
    }
)  # fmt: skip


@cache
def of_bbr() -> Result:
    return simulate(BBR)


def test_bbr_phases_agree_with_its_paper() -> None:
    found = phases(of_bbr(), "flow1")
    lasts = found["end_s"] - found["begin_s"]
    assert found["phase"].tolist()[:2] == ["startup", "drain"]
    # ProbeRTT occurs every ten seconds, and takes 200 ms plus an RTT, with four segments in flight, once the path is
    # empty.
    pauses = found[found["phase"] == "probe-rtt"]
    assert len(pauses) >= 2
    assert pauses["begin_s"].diff().dropna().between(10.0, 10.6).all()
    assert lasts[pauses.index].between(0.2, 0.35).all()
    window = of_flow(trace(of_bbr(), "cwnd"), "flow1")
    for begin_s, end_s in zip(pauses["begin_s"], pauses["end_s"], strict=True):
        within_it = window[window["time_s"].between(begin_s, end_s)]
        assert within_it["cwnd_bytes"].min() == 4 * 1448
    # ProbeBW has eight phases of an RTT each: a higher gain, a lower one, and six with a gain of 1.
    more = found[found["phase"] == "probe-up"]
    cycles = more["begin_s"].diff()[1:]
    # There are no ProbeRTT phases in this time.
    cycles = cycles[cycles < 1.0]
    round_trip_s = 2 * 0.02 + 0.002
    assert len(cycles) > 40
    assert cycles.median() == pytest.approx(8 * round_trip_s, rel=0.15)
    following = found["phase"].shift(-1)[more.index].dropna()
    assert set(following) <= {"probe-down", "probe-rtt"}


def test_rates_of_bbr_have_its_gains() -> None:
    steps = control_steps(of_bbr(), "flow1", (5.0, 9.0))
    gains = steps["pacing_bps"] / steps["bandwidth_bps"]
    for stage, gain in (("probe-up", 1.25), ("probe-down", 0.75), ("cruise", 1.0)):
        # As in Linux, pacing is 1 % below the estimate, so that queues drain.
        assert gains[steps["stage"] == stage].median() == pytest.approx(0.99 * gain, rel=0.01)
    carried = capacity_of(of_bbr(), ["flow1"])
    assert steps["bandwidth_bps"].median() == pytest.approx(carried, rel=0.02)
    figure = pictures.rates(of_bbr(), ["flow1"], (0.0, 12.0))
    labels = {label for panel in figure.axes for label in panel.get_legend_handles_labels()[1]}
    assert {"data arrived", "pacing rate", "bandwidth estimate of BBR", "startup", "drain", "probe-rtt"} <= labels


MANY = SCENARIO.with_(
    **{
        "network": {
            "kind": "dumbbell",
            "group": [
                {"name": "small", "count": 11, "traffic": {"kind": "transfer", "size": "3 KB"}},
                {"name": "large"},
            ],
        },
        "tcp.receiver_window": "auto",
        **{f"traces.{name}": True for name in TRACES},
    }
)


@cache
def many() -> Result:
    return simulate(MANY)


def drawn(kind: str, **options: int | None) -> tuple[str, list[str]]:
    figure = getattr(pictures, kind)(many(), **options)
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    return figure.get_suptitle(), [*keys, *(axes.get_ylabel() for axes in figure.axes)]


def color_of(handle: Artist | BarContainer) -> str:
    """Returns the color of a line, an area or a bar."""
    if isinstance(handle, Line2D):
        return to_hex(handle.get_color())
    if isinstance(handle, BarContainer):
        return to_hex(handle.patches[0].get_facecolor())
    assert isinstance(handle, PolyCollection)
    red, green, blue, _ = np.asarray(handle.get_facecolor()).ravel().tolist()
    return to_hex((red, green, blue))


@pytest.mark.parametrize("kind", ["throughput", "shares", "delay", "queue"])
def test_comparisons_of_many_flows_draw_the_largest_consistently(kind: str) -> None:
    """The flow `large` is the last one, and receives the most data in both runs."""
    packets = MANY.with_(**{"framing": "ip", "traces.delay": True, "switch.buffer": "30 packets"})
    runs = {"a": simulate(packets), "b": simulate(packets.with_(**{"switch.buffer": "9 packets"}))}
    options: dict[str, Any] = {"port": "switch1->switch2"} if kind in ("delay", "queue") else {}
    figure = pictures.compare(runs, kind, **options)
    assert "the 8 of 12 flows with the " in figure.get_suptitle()
    colors = []
    for panel in figure.axes:
        handles, labels = panel.get_legend_handles_labels()
        assert len(labels) == len(set(labels))
        colors.append({label: color_of(handle) for handle, label in zip(handles, labels, strict=True)})
        flows = [one for label, one in colors[-1].items() if label.startswith(("large", "small"))]
        assert "large" in labels
        assert len(flows) == len(set(flows)) <= 8
    assert all(colors[1][label] == colors[0][label] for label in colors[0].keys() & colors[1].keys())
    if kind in ("throughput", "shares"):
        assert "4 others" in colors[0]


def test_pictures_of_many_flows_draw_the_largest_and_name_the_omitted() -> None:
    title, words = drawn("throughput")
    assert "the 8 of 12 flows with the most data" in title
    assert {"large", "all 12", "4 others"} <= set(words)
    title, words = drawn("window")
    assert "the 5 of 12 flows with the largest windows" in title
    assert next(word for word in words if "[" in word).startswith("large [")
    title, _ = drawn("rtt")
    assert "the 5 of 12 flows with the longest round trips" in title


@pytest.mark.parametrize("kind", FLOWS_OVERLAID)
def test_flows_of_one_run_are_lines_on_the_same_axes(kind: str) -> None:
    (panel,) = pictures.overlay(run(), kind).axes
    assert [line.get_label() for line in panel.get_lines()] == ["flow1", "flow2"]
    line = pictures.overlay({"a": run(), "b": run()}, kind, ["flow2"]).axes[0].get_lines()[0]
    assert np.array_equal(np.asarray(panel.get_lines()[1].get_xdata()), np.asarray(line.get_xdata()))
    title = pictures.overlay(many(), kind).get_suptitle()
    assert "the 8 of 12 flows with the " in title
    (panel,) = pictures.overlay(many(), kind, most=None).axes
    drawn = [(line.get_color(), line.get_linestyle()) for line in panel.get_lines()]
    assert len(drawn) == 12
    # Lines whose colors repeat have other dashes.
    assert kind == "rtt" or len(set(drawn)) == 12
    with pytest.raises(ScenarioError, match=r"^kind: 'shares'; accepts window, sequence, rtt$"):
        pictures.overlay(run(), "shares")


def test_all_texts_scale_with_the_size_of_the_font() -> None:
    def sizes() -> list[float]:
        figure = pictures.compare({"a": run(), "b": run()}, "window")
        figure.canvas.draw()
        shown = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text()]
        assert not [text for text in shown if text.get_window_extent().y1 > figure.bbox.y1]
        words = ("a", "cwnd", figure.get_suptitle())
        return [float(text.get_fontsize()) for text in shown if text.get_text() in words]

    usual = sizes()
    assert len(usual) >= 3
    with mpl.rc_context({"font.size": 20}):
        assert sizes() == [2 * size for size in usual]


def test_a_title_is_not_wrapped_between_a_number_and_its_unit() -> None:
    assert wrapped("over 200 ms each", 10) == "over\n200 ms\neach"
    assert wrapped("over 200 ms each", 8) == "over\n200 ms\neach"


def test_an_option_that_a_picture_does_not_have_is_named() -> None:
    runs = {"a": run(), "b": run()}
    with pytest.raises(ScenarioError, match=r"^rt: not an option of rtt; did you mean 'rto'\? accepts "):
        pictures.compare(runs, "rtt", rt=True)


@pytest.mark.parametrize("kind", ["window", "throughput", "queue"])
def test_overlaid_runs_are_drawn_into_own_axes(kind: Literal["window", "throughput", "queue"]) -> None:
    runs, figure = {"a": run(), "b": run()}, Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert pictures.overlay(runs, kind, ax=right) is figure
    own = pictures.overlay(runs, kind).axes[0]
    assert [str(line.get_label()) for line in right.get_lines()] == [str(line.get_label()) for line in own.get_lines()]
    assert right.get_ylabel() == own.get_ylabel()
    assert not left.has_data()
    assert not figure.get_suptitle()
    with pytest.raises(ScenarioError, match=r"^ax: not an option of "):
        pictures.compare(runs, kind, ax=right)


def test_overlaid_throughputs_have_the_capacity_of_their_links() -> None:
    """One line if all runs have the same capacity, otherwise one in each run's color, of which the legend has one."""
    figure = pictures.overlay({"a": run(), "b": run()}, "throughput")
    lines = {str(line.get_label()): line for line in figure.axes[0].get_lines()}
    assert list(lines) == ["a", "b", "capacity of the link"]
    capacity_mbps = 10 * 512 / (12 * 53)
    assert np.asarray(lines["capacity of the link"].get_ydata())[0] == pytest.approx(capacity_mbps)
    slow = simulate(run().scenario.with_(**{"network.trunk_rate": "5 Mbit/s"}))
    (panel,) = pictures.overlay({"a": run(), "b": slow}, "throughput").axes
    first, second, fast, key, slower = panel.get_lines()
    assert [one.get_color() for one in (fast, slower)] == [one.get_color() for one in (first, second)]
    assert np.asarray(slower.get_ydata())[0] == pytest.approx(capacity_mbps / 2)
    assert key.get_label() == "capacity of each run's link"
    assert panel.get_ylim()[1] > capacity_mbps


def test_the_command_draws_flows_on_the_same_axes(tmp_path: Path) -> None:
    scenario, file = tmp_path / "wan.toml", tmp_path / "a.svg"
    scenario.write_text(SCENARIO.with_(duration="300 ms").to_toml())
    for arguments in (["window"], ["rtt", "--log"], ["sequence", "--all"], ["throughput"], ["delay-cdf"]):
        framing = ["--set", "framing=ip", "--set", "switch.buffer=20 packets", "--set", "tcp.mss=1448 B"]
        done = command("plot", scenario, *arguments, *framing, "--overlay", "-o", file)
        assert (done.returncode, done.stderr) == (0, "")
        assert {"flow1", "flow2"} <= set(re.findall(r"<!-- (.*?) -->", file.read_text()))


@pytest.mark.parametrize("kind", ["throughput", "window", "rtt", "queue"])
def test_pictures_draw_every_flow_on_request(kind: str) -> None:
    title, words = drawn(kind, most=None)
    assert "of 12" not in title
    assert {"large", "small11"} <= {word.split(" [")[0].removeprefix("round trip, ") for word in words}
    assert not any(word.endswith("others") for word in words)


def test_drawn_throughput_adds_up_to_the_acknowledged_data() -> None:
    figure = pictures.throughput(many())
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in figure.axes[0].get_lines()}
    whole = lines.pop("all 12")
    lines.pop("capacity of the link")
    assert sum(lines.values()) == pytest.approx(whole)
    delivered = many().flows["delivered_bytes"].sum() * 8 / 1e6 / 2
    assert whole.mean() == pytest.approx(delivered, rel=0.05)


@pytest.mark.parametrize(
    "labels",
    [
        [f"switch.policy = {name}" for name in ("tail-drop", "fq-codel", "codel", "pie")],
        [f"switch.buffer = {count} packets, ecn = classic" for count in range(100, 600, 100)],
        ["short", "a long name of a level, " * 8],
    ],
)
@pytest.mark.parametrize("kind", ["window", "rtt", "throughput", "queue"])
def test_a_legend_is_within_its_picture(kind: str, labels: list[str]) -> None:
    figure = pictures.overlay(dict.fromkeys(labels, run()), kind)
    figure.savefig(io.BytesIO())
    (legend,) = figure.legends
    extent = legend.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width
    words = " ".join(" ".join(text.get_text().split()) for text in legend.get_texts())
    assert all(" ".join(label.split()) in words for label in labels)


def test_more_panels_than_can_be_drawn_are_rejected() -> None:
    with pytest.raises(ScenarioError, match="101 panels; needs at most 100: select flows"):
        pictures.window(many(), flows=["large"] * 101)


def test_command_draws_new_or_recorded_runs(tmp_path: Path) -> None:
    scenario, stored = tmp_path / "wan.toml", tmp_path / "out"
    scenario.write_text(SCENARIO.with_(duration="300 ms").to_toml())
    said = command("plot", scenario, "rtt", "--title", "Of my own", "-o", tmp_path / "titled.svg")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines()[-1] == f"Picture: {tmp_path / 'titled.svg'}"
    assert "<!-- Of my own -->" in (tmp_path / "titled.svg").read_text()
    drawn = command("plot", scenario, "sequence", "-o", tmp_path / "fresh.svg")
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert command("run", scenario, "--csv", stored, "--trace", "sequence", "--trace", "events").returncode == 0
    assert command("plot", stored, "sequence", "-o", tmp_path / "stored.svg").returncode == 0
    assert (tmp_path / "stored.svg").read_bytes() == (tmp_path / "fresh.svg").read_bytes()


@pytest.mark.parametrize("kind", ["window", "throughput", "rates", "sequence", "rtt", "queue"])
def test_run_shortened_to_the_drawn_time_has_equal_events(kind: str) -> None:
    whole = SCENARIO.with_(**{f"traces.{name}": True for name in kind_of(kind).traces})
    short = until(whole, 0.7)
    assert short.duration == "0.7 s"
    long_run, short_run = simulate(whole), simulate(short)
    for name in kind_of(kind).traces:
        expected = long_run.traces[name]
        assert short_run.traces[name].equals(expected[expected["time_s"] <= 0.7].reset_index(drop=True))


def test_run_is_not_shortened_before_later_flows() -> None:
    late = SCENARIO.with_(start={"kind": "staggered", "interval": "1.5 s"})
    assert until(late, 0.7) is late
    assert until(late, 1.6).duration == "1.6 s"
    assert until(late, 5.0) is late


def test_picture_ends_after_the_last_transfer_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[float, float]] = []

    def window(*_: object, span_s: tuple[float, float], **_options: object) -> Figure:
        spans.append(span_s)
        return Figure()

    monkeypatch.setitem(PICTURES, "window", replace(kind_of("window"), draw=window))
    base = Scenario(
        defaults="1996",
        framing="ip",
        duration="60 s",
        network={"kind": "dumbbell", "sources": 2},
        switch={"buffer": "1 MB"},
    )
    transfer = base.with_(traffic={"kind": "transfer", "size": "2 MB"})
    (tmp_path / "end.toml").write_text(transfer.to_toml())
    last = max(simulate(transfer).flows["completion_s"])
    (tmp_path / "on.toml").write_text(base.with_(**{"network.group": [{"name": "bulk"}], "duration": "2 s"}).to_toml())
    first = command("plot", tmp_path / "end.toml", "window", "-o", tmp_path / "a.svg")
    assert f"drawn until {spans[0][1]:g} s, because all transfers end before; --to draws more" in first.stdout
    assert last < spans[0][1] < 1.06 * last
    for name, more in (("end", ("--to", "50")), ("end", ("--from", "30")), ("on", ())):
        done = command("plot", tmp_path / f"{name}.toml", "window", *more, "-o", tmp_path / "a.svg")
        assert "drawn until" not in done.stdout
    assert spans[1:] == [(0.0, 50.0), (30.0, 60.0), (0.0, 2.0)]


def test_picture_file_is_named_after_source_and_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wan.toml").write_text(SCENARIO.with_(duration="300 ms").to_toml())
    drawn = command("plot", "wan.toml", "window", "--to", "0.2")
    assert drawn.stdout.splitlines()[-1] == "Picture: wan-window.png"
    assert Path("wan-window.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["window", "--log"], "--log: window shows no delay; needs rtt or rtt-cdf or delay or delay-cdf"),
        (["windw", "-o", "a.svg"], "KIND: 'windw'; did you mean 'window'? accepts window, sequence, queue"),
        (["window", "-o", "a.jpg"], "--output: 'a.jpg'; did you mean '.png'? accepts .svg, .pdf, .png"),
        (["window", "-o", "a.svg", "--flow", "flw1"], "flow: 'flw1' is not in the run; did you mean 'flow1'? accepts"),
        (["window", "-o", "a.svg", "--port", PORT], "--port: window shows flows; needs --flow, or the picture queue"),
        (["sequence", "-o", "a.svg", "--all"], "--all: not with sequence, which shows one flow; needs --overlay"),
        (["queue", "-o", "a.svg", "--port", "a->b"], "port: 'a->b' is not in the network; accepts"),
        (["rtt", "--to", "x"], "--to: 'x'; needs a number of seconds, or a time with its unit, as in '250 ms'"),
        (
            ["rtt", "-o", "a.svg", "--from", "3000 ms"],
            "--from, --to: 3 s to 0.3 s; needs a beginning before the end, from 0 s to 0.3 s",
        ),
        (
            ["rtt", "-o", "a.svg", "--from", "3"],
            "--from, --to: 3 s to 0.3 s; needs a beginning before the end, from 0 s to 0.3 s",
        ),
        (["window", "-o", "a.svg", "--rto"], "--rto: window shows no timeout; needs rtt"),
        (
            ["shares", "-o", "a.svg", "--overlay"],
            "--overlay: shares stacks the flows of one run; needs window, sequence, rtt, or --compare FIELD=LEVEL,",
        ),
        (["rtt", "-o", "a.svg", "--overlay", "--rto"], "--overlay: not with --rto; needs panels"),
        (["window", "-o", "a.svg", "--where", "tcp=reno"], "--where: only for studies; needs --x FACTOR"),
        (["window", "-o", "/dev/null/a.svg"], "--output: /dev/null cannot be written"),
    ],
)
def test_bad_input_is_rejected_in_one_line_with_status_2(tmp_path: Path, arguments: list[str], error: str) -> None:
    scenario = tmp_path / "wan.toml"
    scenario.write_text(SCENARIO.with_(duration="300 ms").to_toml())
    refused = command("plot", scenario, *arguments)
    assert refused.returncode == 2
    assert error in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_missing_source_is_rejected(tmp_path: Path) -> None:
    refused = command("plot", tmp_path / "wan", "window", "-o", tmp_path / "a.svg")
    expected = f"error: {tmp_path}/wan: does not exist; needs a TOML file, or a directory that run --csv wrote\n"
    assert (refused.returncode, refused.stderr) == (2, expected)


def test_a_directory_without_a_run_is_rejected(tmp_path: Path) -> None:
    refused = command("plot", tmp_path, "window", "-o", tmp_path / "a.svg")
    expected = f"error: {tmp_path}: contains no scenario.toml; needs a directory that longpipe run --csv wrote\n"
    assert (refused.returncode, refused.stderr) == (2, expected)


@pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")
def test_pictures_of_senders_omit_further_paths(tmp_path: Path) -> None:
    groups = [
        {"name": "quic", "traffic": {"kind": "stack", "stack": "noq"}},
        {"name": "second", "traffic": {"kind": "stack-path", "of": "quic"}},
    ]
    network = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "group": groups}
    scenario = Scenario(defaults="1996", framing="ip", duration="1 s", network=network, switch={"buffer": "50 packets"})
    two_paths = simulate(scenario.with_(**{"traces.cwnd": True, "traces.rtt": True}))
    for picture, label in ((pictures.rtt, "round trip, quic [ms]"), (pictures.window, "quic [")):
        figure = picture(two_paths)
        assert figure.get_suptitle().endswith("\nwithout further paths of connections")
        assert len(figure.axes) == 1
        assert label in figure.axes[0].get_ylabel()
        with pytest.raises(ScenarioError, match=r"^flow: 'second' is a further path of 'quic'; "):
            picture(two_paths, ["second"])
    file = tmp_path / "two.toml"
    file.write_text(scenario.to_toml())
    printed = command("plot", file, "window", "--output", tmp_path / "window.png")
    assert printed.returncode == 0
    assert "held back by" not in printed.stdout


def test_a_warning_about_all_compared_runs_is_printed_once(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    # The buffer is not given.
    network = 'network = { kind = "dumbbell", trunk_rate = "10 Mbit/s", trunk_delay = "20 ms" }'
    file.write_text(f'framing = "ip"\nduration = "1 s"\n{network}\n')
    options = ("--compare", "tcp.recovery=reno,sack", "--output", tmp_path / "rtt.png")
    printed = command("plot", file, "rtt", *options)
    assert printed.returncode == 0
    lines = [line for line in printed.stderr.splitlines() if line.startswith("warning: ")]
    assert lines
    assert len(lines) == len(set(lines))
