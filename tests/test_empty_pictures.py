"""Pictures of flows that have no data for them are errors, and titles name the selected flows."""

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from commands import run as command
from longpipe import Result, Scenario, ScenarioError, pictures, simulate
from longpipe.pictures import Recorded
from longpipe.pictures.recorded import Run

FORTH, BACK, LAST = "switch1->switch2", "switch2->switch1", "switch2->sink7"
ARRIVING = {"kind": "flow-arrivals", "load": 0.1, "sizes": {"kind": "fixed", "size": "20 KB"}}
# A flow of each kind of traffic; `call` is the seventh.
GROUPS: list[dict[str, Any]] = [
    {"name": "greedy"},
    {"name": "file", "traffic": {"kind": "transfer", "size": "200 KB"}},
    {"name": "web", "traffic": {"kind": "web", "cycle": "500 ms"}},
    {"name": "stream", "traffic": {"kind": "stream", "rate": "1 Mbit/s"}},
    {"name": "tv", "traffic": {"kind": "adaptive-video", "ladder": ["1 Mbit/s", "2 Mbit/s"], "rule": "throughput"}},
    {"name": "page", "traffic": ARRIVING},
    {"name": "call", "traffic": "voice"},
    {"name": "cbr", "traffic": {"kind": "cbr", "rate": "500 kbit/s"}},
    {"name": "poisson", "traffic": {"kind": "poisson", "rate": "500 kbit/s"}},
    {"name": "bursts", "traffic": {"kind": "on-off", "rate": "500 kbit/s"}},
    {"name": "camera", "traffic": {"kind": "video", "rate": "500 kbit/s"}},
    {"name": "upload", "direction": "back"},
]
TRACES = ("cwnd", "sequence", "rtt", "arrivals", "control", "events", "delay", "drops", "vc_queue")
OF_SENDERS = ("window", "sequence", "rtt")
PICTURES = (
    *OF_SENDERS,
    "rtt_cdf",
    "throughput",
    "rates",
    "shares",
    "delay",
    "delay_cdf",
    "drops",
    "slowdowns",
    "overlay",
)
# The return path is slower, so that its port has the longest queue.
SCENARIO = Scenario.model_validate(
    {
        "defaults": "1996",
        "framing": "ip",
        "duration": "3 s",
        "network": {
            "kind": "dumbbell",
            "group": GROUPS,
            "access_rate": "1 Gbit/s",
            "trunk_rate": "20 Mbit/s",
            "return_rate": "1 Mbit/s",
            "return_buffer": "100 packets",
        },
        "switch": {"buffer": "60 packets"},
        "tcp": {"profile": "linux-6"},
        "traces": dict.fromkeys(TRACES, True),
    }
)


@cache
def run() -> Result:
    return simulate(SCENARIO)


def shows_data(panel: Axes) -> bool:
    """Returns whether any line, bar or collection has data within the axes, besides shading."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    for line in panel.lines:
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        if len(x) == len(y) and np.any((left <= x) & (x <= right) & (low <= y) & (y <= high)):
            return True
    bars = any(bar.get_height() > 0 for bars in panel.containers for bar in bars)
    return bars or any(len(one.get_paths()) for one in panel.collections if one.get_zorder() > 0)


@pytest.mark.parametrize("kind", PICTURES)
def test_picture_of_any_flow_shows_data_or_fails(kind: str) -> None:
    found = {}
    for name in (group["name"] for group in GROUPS):
        try:
            figure = getattr(pictures, kind)(run(), flows=[name])
        except ScenarioError as error:
            found[name] = str(error)
        else:
            assert all(map(shows_data, figure.axes)), name
    for message in found.values():
        assert "; needs " in message or "; accepts " in message
        assert "\n" not in message
    if kind in (*OF_SENDERS, "rtt_cdf", "overlay"):
        assert [*found] == ["page", "call", "cbr", "poisson", "bursts", "camera"]
        assert found["call"].startswith("flow: 'call' has no ")
        assert found["call"].endswith("in the time shown; accepts greedy, file, web, stream, tv, upload")
    elif kind == "slowdowns":
        assert "page" not in found
    elif kind != "drops":
        assert not found


def test_panels_without_data_are_omitted_and_named_in_title() -> None:
    for picture, lacks in ((pictures.window, "congestion window"), (pictures.rtt, "round trips")):
        figure = picture(run(), most=None)
        assert len(figure.axes) == 6
        assert figure.get_suptitle().endswith(f"\nwithout 6 flows that have no {lacks}")


def test_the_default_port_is_one_that_the_flows_use() -> None:
    assert f"at {BACK}" in pictures.delay(run()).get_suptitle()
    for picture in (pictures.delay, pictures.delay_cdf):
        assert picture(run(), ["call"]).get_suptitle().endswith(f"queueing delay of call at {FORTH}")
        assert picture(run(), ["greedy"]).get_suptitle().endswith(f"queueing delay of greedy at {BACK}")
        # A port that both use comes before one with a longer queue that only one uses.
        both = picture(run(), ["call", "greedy"]).get_suptitle()
        assert both.endswith(f"queueing delay of call, greedy at {FORTH}")
        with pytest.raises(ScenarioError, match=rf"^port: '{BACK}' sent no packet of call in the time shown; "):
            picture(run(), ["call"], port=BACK)
        absent = picture(run(), ["call", "upload"], port=BACK)
        assert absent.get_suptitle().endswith("\nno packet of call")


def test_a_mean_delay_of_selected_flows_is_that_of_their_packets() -> None:
    panel = pictures.delay(run(), ["call"], port=FORTH).axes[0]
    (mean,) = (line for line in panel.lines if str(line.get_label()).startswith("mean of these packets over"))
    own = pictures.delay_points(run(), FORTH).query("flow == 'call'")
    assert np.nanmax(np.asarray(mean.get_ydata(), dtype=float)) <= 1e3 * own["delay_s"].max() * (1 + 1e-9)
    lines = pictures.delay_cdf(run(), ["call", "cbr"], port=FORTH).axes[0].lines
    assert [line.get_label() for line in lines] == ["these packets", "call", "cbr"]


def test_titles_of_comparisons_name_the_flows() -> None:
    nothing = Recorded(run().scenario, {**run().traces, "delay": run().traces["delay"].query("flow != 'call'")})
    runs: dict[str, Run] = {"a": run(), "b": nothing}
    figure = pictures.delay_cdf(runs, ["call"])
    assert figure.get_suptitle().endswith(f"queueing delay of call at {FORTH}")
    assert [line.get_label() for line in figure.axes[0].lines] == ["a", "b: no packet"]
    figure = pictures.delay_cdf(runs, ["call", "cbr"])
    assert figure.get_suptitle().endswith(f"queueing delay of call, cbr together at {FORTH}")
    assert [line.get_label() for line in figure.axes[0].lines] == ["a", "b: no packet of call"]
    figure = pictures.compare(runs, "delay", ["call"])
    assert figure.get_suptitle().endswith(f"queueing delay of call at {FORTH}")
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["a", "b: no packet"]
    figure = pictures.compare(runs, "delay", ["call", "cbr"])
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["a", "b: no packet of call"]
    assert pictures.slowdowns(run(), ["page"]).get_suptitle().endswith("completion times of arriving flows of page")


@pytest.mark.parametrize(
    ("kind", "draw"), [*product(OF_SENDERS, (pictures.compare, pictures.overlay)), ("delay", pictures.compare)]
)
def test_comparisons_without_data_are_errors(kind: str, draw: Callable[..., Figure]) -> None:
    port: dict[str, Any] = {"port": BACK} if kind == "delay" else {}
    with pytest.raises(ScenarioError, match=r"^(flow|port): .*call.*; "):
        draw({"a": run(), "b": run()}, kind, ["call"], **port)


@pytest.mark.parametrize(
    ("kind", "draw"), [*product(OF_SENDERS, (pictures.compare, pictures.overlay)), ("rates", pictures.compare)]
)
def test_comparisons_show_the_first_flow_with_data_in_any_run(kind: str, draw: Callable[..., Figure]) -> None:
    frames = {name: frame[frame["flow"].astype(str) != "greedy"] for name, frame in run().traces.items()}
    nothing = {name: frame.head(0) for name, frame in frames.items()}
    runs = {"a": Recorded(SCENARIO, nothing), "b": Recorded(SCENARIO, frames)}
    title = draw(runs, kind).get_suptitle()
    assert " of file\nfile is the first flow that has " in title
    assert draw({"a": run(), "b": run()}, kind).get_suptitle().endswith(" of greedy")


def test_overlay_of_a_flow_without_data_suggests_others() -> None:
    lists = "in the time shown, in any run; accepts greedy, file, web, stream, tv, upload"
    with pytest.raises(ScenarioError, match=rf"^flow: no RTT samples of call {lists}$"):
        pictures.overlay({"a": run(), "b": run()}, "rtt", ["call"])


@pytest.mark.parametrize("kind", ["window", "rtt", "sequence", "delay", "delay_cdf", "shares", "drops"])
def test_a_time_without_data_is_an_error(kind: str) -> None:
    with pytest.raises(ScenarioError, match="in the time shown; "):
        getattr(pictures, kind)(run(), flows=["tv"], span_s=(0, 1e-6))


def test_a_throughput_of_0_is_stated() -> None:
    before = (0, 1e-6)
    for picture in (pictures.throughput, pictures.rates):
        figure = picture(run(), ["tv"], before)
        assert figure.get_suptitle().endswith("\nno data of tv arrived in the time shown")
    runs = {"a": run(), "b": run()}
    kinds: tuple[str, ...] = ("throughput", "rates")
    for kind in kinds:
        figure = pictures.compare(runs, kind, ["tv"], before)
        assert [panel.get_title(loc="left") for panel in figure.axes] == ["a: no data arrived", "b: no data arrived"]
    figure = pictures.overlay(runs, "throughput", ["tv"], before)
    assert figure.get_suptitle().endswith("\nno data of tv arrived in the time shown")


def test_delays_of_0_are_shown_and_have_no_logarithmic_axis() -> None:
    panel = pictures.delay_cdf(run(), ["call"], port=LAST).axes[0]
    assert pictures.delay(run(), ["call"], port=LAST).get_suptitle().endswith("\nno packet waited")
    assert "no packet waited" in {line.get_label() for line in panel.lines}
    for picture in (pictures.delay, pictures.delay_cdf):
        with pytest.raises(ScenarioError, match=rf"^log: no packet of call waited at {LAST}; needs a linear axis"):
            picture(run(), ["call"], port=LAST, log=True)


def test_zero_delays_are_counted_at_the_edge_of_logarithmic_axes() -> None:
    points = run().traces["delay"].query(f"port == '{FORTH}' and flow == 'greedy'")
    delayed = points.assign(delay_s=points["delay_s"].where(np.arange(len(points)) % 2 == 1, 0.0))
    runs: dict[str, Run] = {"a": Recorded(SCENARIO, {"delay": delayed}), "b": Recorded(SCENARIO, {"delay": points})}
    zeros = int((delayed["delay_s"] == 0).sum())
    assert zeros >= len(points) // 2
    panel = pictures.delay(runs["a"], log=True).axes[0]
    edge, *_ = [line for line in panel.lines if line.get_marker() == "|" and len(np.asarray(line.get_xdata()))]
    assert len(np.asarray(edge.get_xdata())) == zeros
    assert not np.asarray(edge.get_ydata()).any()
    assert edge.get_transform() == panel.get_xaxis_transform()
    count = f"{zeros} of {len(points)} packets"
    assert f"no delay (at the lower edge): {count}" in panel.get_legend_handles_labels()[1]
    compared = pictures.compare(runs, "delay", log=True)
    assert compared.axes[0].get_title(loc="left") == f"a: no delay: {count}"
    assert "no delay (at the lower edge)" in [text.get_text() for text in compared.legends[0].get_texts()]
    assert compared.axes[1].get_title(loc="left").startswith("b")
    assert "no delay" not in str(pictures.delay(runs["a"]).axes[0].get_legend_handles_labels()[1])


def test_a_logarithmic_axis_begins_at_the_first_percent_of_the_delays() -> None:
    waits = pictures.delay_points(run(), FORTH)["delay_s"]
    tiny = waits.where(waits.index > 2, 1e-9)
    frame = run().traces["delay"].query(f"port == '{FORTH}'").assign(delay_s=tiny.to_numpy())
    lowest_ms = pictures.delay_cdf(Recorded(SCENARIO, {"delay": frame}), log=True, port=FORTH).axes[0].get_xlim()[0]
    by_flow = frame[frame["delay_s"] > 0].groupby(frame["flow"].astype(str))["delay_s"]
    largest = frame["flow"].astype(str).value_counts().index[:8]
    assert lowest_ms == pytest.approx(1e3 * by_flow.quantile(0.01)[largest].min())
    assert lowest_ms > 1e-6


def test_the_command_rejects_a_picture_without_data(tmp_path: Path) -> None:
    file = tmp_path / "all.toml"
    file.write_text(SCENARIO.with_(duration="1 s").to_toml())
    refused = command("plot", file, "window", "--flow", "call", "-o", tmp_path / "a.png")
    assert refused.returncode == 2
    # The error precedes the run.
    accepted = "greedy, file, web, stream, tv, upload"
    assert refused.stderr.endswith(f"error: flow: 'call' has no congestion window; accepts {accepted}\n")
    assert "limited by" not in refused.stdout
    assert not (tmp_path / "a.png").exists()
