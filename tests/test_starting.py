"""How connections start over long paths: SEARCH, Rapid Start, and Careful Resume (RFC 9959)."""

from typing import Any

import pytest

from documented import DOCS
from longpipe import Result, Scenario, ScenarioError, pictures, simulate
from longpipe.pictures.events import loss_events, phases, slow_start_exits

# picoquic's satellite test: 100 MB over 250 Mbit/s down and 3 Mbit/s up, 300 ms in each direction.
GEO: dict[str, Any] = {
    "framing": "ip",
    "duration": "30 s",
    "network": {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "1 Gbit/s",
        "trunk_rate": "250 Mbit/s",
        "return_rate": "3 Mbit/s",
        "trunk_delay": "300 ms",
    },
    "switch.buffer": "1 BDP",
    "tcp": {"profile": "linux-6", "initial_rtt": "600 ms", "receiver_window": "64 MiB"},
    "traffic": {"kind": "transfer", "size": "100 MB"},
}
SAVED = {"kind": "saved", "cwnd": "18.75 MB", "rtt": "600 ms"}


def geo(**changes: object) -> Result:
    return simulate(Scenario(defaults="1996").with_(**{**GEO, **changes}), seed=1)


def test_careful_resume_halves_the_time_of_picoquics_satellite_transfer() -> None:
    without, resumed = geo(), geo(**{"tcp.careful_resume": SAVED})
    assert without.flows["completion_s"][0] == pytest.approx(9.25, abs=0.01)
    # picoquic permits 5.0 s.
    assert resumed.flows["completion_s"][0] == pytest.approx(4.51, abs=0.01)


@pytest.mark.parametrize("rule", ["draft", "quicly"])
def test_rapid_start_saves_three_round_trips_of_the_satellite_transfer(rule: str) -> None:
    completion_s = geo(**{"tcp.rapid_start": rule}).flows["completion_s"][0]
    assert completion_s == pytest.approx(7.48, abs=0.01)


# The link holds 417 packets and its buffer half of them.
@pytest.mark.parametrize("rule", ["draft", "quicly"])
@pytest.mark.parametrize(("control", "beta"), [("linux-reno", 0.5), ("cubic", 0.7)])
def test_rapid_start_keeps_beta_of_the_delivered_data(rule: str, control: str, beta: float) -> None:
    network = {"access_rate": "1 Gbit/s", "trunk_rate": "50 Mbit/s", "trunk_delay": "50 ms"}
    result = geo(
        **{
            "network": {**GEO["network"], **network, "return_rate": None},
            "switch.buffer": "0.5 BDP",
            "tcp": {"profile": "linux-6", "congestion": control, "rapid_start": rule},
            "traffic.size": "5 MB",
            "traces.cwnd": True,
        }
    )
    windows = result.traces["cwnd"]["cwnd_bytes"] / 1448
    passed = windows.max() - result.flows["retransmitted_segments"][0]
    least = windows[windows.idxmax() :].min()
    assert beta - 0.03 < least / passed < beta + 0.06


def test_the_trace_and_pictures_have_the_phases_of_careful_resume() -> None:
    traces = {"traces.control": True, "traces.cwnd": True}
    result = geo(**{"tcp.careful_resume": SAVED, "duration": "4 s", **traces})
    (name,) = result.flows["flow"]
    found = phases(result, name)
    assert found["phase"].tolist()[:3] == ["reconnaissance", "unvalidated", "validating"]
    assert set(found["phase"][3:]) <= {"slow start", "avoidance"}
    # The initial window is acknowledged after one RTT; the window after the jump is sent in the next RTT.
    begins = found["begin_s"].to_numpy()
    assert begins[1] == pytest.approx(0.6, abs=0.02)
    assert begins[2] - begins[1] == pytest.approx(0.6, abs=0.02)
    windows = result.traces["cwnd"].query("time_s < 1.1")["cwnd_bytes"]
    assert windows.iloc[-1] == pytest.approx(18.75e6 / 2, rel=1e-3)
    control = result.traces["control"]
    (paced,) = control.loc[control["stage"] == "unvalidated", "pacing_bps"].unique()
    assert paced == pytest.approx(8 * 18.75e6 / 2 / 0.6, rel=0.01)
    labels = {text.get_text() for text in pictures.window(result).legends[0].get_texts()}
    assert {"reconnaissance", "unvalidated", "validating"} <= labels


def test_safe_retreat_reduces_an_excessive_jump_to_half_the_capacity() -> None:
    """The path has a small buffer and 40 % of the saved rate, which is less than the rate after the jump."""
    slower = {"network.trunk_rate": "100 Mbit/s", "switch.buffer": "0.05 BDP", "duration": "12 s"}
    result = geo(**{"tcp.careful_resume": SAVED, "traces.control": True, "traces.cwnd": True, **slower})
    (name,) = result.flows["flow"]
    found = phases(result, name)
    retreat = found[found["phase"] == "safe-retreat"].iloc[0]
    during = result.traces["cwnd"].query(f"time_s > {retreat['begin_s']} and time_s < {retreat['end_s']}")
    assert retreat["end_s"] < 6.0
    assert during["cwnd_bytes"].nunique() <= 1
    # The trace has a row for each change, and the window does not change in Safe Retreat.
    windows = result.traces["cwnd"].query(f"time_s < {retreat['end_s']}")["cwnd_bytes"]
    assert windows.iloc[-1] < 100e6 * 0.6 / 8


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ("100 Mbit/s", "this takes {:.1f} s if the link has only 100 Mbit/s"),
        ("25 Mbit/s", "more than {} s if it has 25 Mbit/s"),
    ],
)
def test_guide_states_the_duration_of_safe_retreat(rate: str, words: str) -> None:
    slower = {"network.trunk_rate": rate, "switch.buffer": "0.05 BDP", "duration": "32 s"}
    result = geo(**{"tcp.careful_resume": SAVED, "traces.control": True, **slower})
    (name,) = result.flows["flow"]
    found = phases(result, name)
    ((begin_s, end_s),) = found.loc[found["phase"] == "safe-retreat", ["begin_s", "end_s"]].to_numpy()
    # The run ends before the longer retreat does.
    shown = words.format(end_s - begin_s if end_s < 32 else 10 * int((end_s - begin_s) // 10))
    assert shown in (DOCS / "how-to" / "cubic-or-bbr.md").read_text(encoding="utf-8")


def pair(start: str, resume: object, sink: str = "b", more: tuple[dict[str, Any], ...] = ()) -> Result:
    """Runs a 20 MB flow from a to b, followed by another flow from a to b or c; `more` contains further flows."""
    links = [{"between": ["left", "right"], "rate": "100 Mbit/s", "delay": "298 ms"}]
    links += [
        {"between": [switch, host], "rate": "1 Gbit/s", "delay": "1 ms"}
        for switch, host in (("left", "a"), ("right", "b"), ("right", "c"))
    ]
    flows = [
        {"name": "first", "from": "a", "to": "b"},
        {"name": "second", "from": "a", "to": sink, "start": {"kind": "fixed", "at": start}},
        *more,
    ]
    nodes = [
        {"name": name, "kind": kind}
        for kind, names in (("host", "abc"), ("switch", ("left", "right")))
        for name in names
    ]
    scenario = Scenario(defaults="1996").with_(
        framing="ip",
        duration="40 s",
        network={"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
        switch={"buffer": "1 BDP"},
        tcp={"profile": "linux-6", "receiver_window": "64 MiB", "careful_resume": resume},
        traffic={"kind": "transfer", "size": "20 MB"},
    )
    return simulate(scenario, seed=1)


def test_connection_resumes_saved_parameters_of_the_same_hosts() -> None:
    def times(*arguments: Any) -> tuple[float, float]:  # noqa: ANN401 - passed on to `pair`
        first, second = pair(*arguments).flows["completion_s"]
        return first, second - 20.0

    first, second = times("20 s", "previous")
    assert second < first - 2.0
    # There is no jump to another host, after the lifetime, or if nothing is saved.
    for arguments in (("20 s", "previous", "c"), ("20 s", {"kind": "previous", "lifetime": "1 s"}), ("20 s", "off")):
        again, other = times(*arguments)
        assert again == first
        assert other == pytest.approx(first, abs=0.01)


def test_short_connection_does_not_overwrite_the_saved_window() -> None:
    """The last data is acknowledged before the jump is validated."""
    fields = {"from": "a", "to": "b", "start": {"kind": "fixed", "at": "20 s"}}
    short = {"name": "short", **fields, "traffic": {"kind": "transfer", "size": "5 KB"}}
    first, second, _ = pair("24 s", "previous", more=(short,)).flows["completion_s"]
    assert second - 24.0 < first - 2.0


def test_careful_resume_needs_rack_and_a_control_with_a_window() -> None:
    for tcp, accepted in (
        ({"careful_resume": SAVED}, "saved with reno; needs recovery = 'rack'"),
        ({"profile": "linux-6", "congestion": "bbr", "careful_resume": SAVED}, "saved with bbr; needs a control that"),
    ):
        with pytest.raises(ScenarioError, match=f"careful_resume: {accepted}"):
            Scenario(defaults="1996").with_(**{"framing": "ip", "switch.buffer": "100 packets", "tcp": tcp})


@pytest.mark.parametrize("control", ["cubic", "linux-reno"])
def test_search_ends_slow_start_before_a_loss(control: str) -> None:
    """The buffer of 8 BDP holds all data sent until slow start ends, at six BDP.

    With a buffer of one BDP, a loss ends slow start first.
    """

    def run(buffer: str) -> Result:
        return geo(
            **{
                "duration": "9 s",
                "network.trunk_rate": "50 Mbit/s",
                "network.return_rate": "5 Mbit/s",
                "switch.buffer": buffer,
                "tcp.congestion": {"kind": control, "hystart": "search"},
                "traffic": "greedy",
                "traces": {"cwnd": True, "events": True},
            }
        )

    result = run("8 BDP")
    (name,) = result.flows["flow"]
    assert slow_start_exits(result, name)["time_s"].tolist() == pytest.approx([8.375], abs=0.01)
    assert loss_events(result, name).empty
    result = run("1 BDP")
    assert slow_start_exits(result, name).empty
    assert not loss_events(result, name).empty


@pytest.mark.parametrize("control", ["cubic", "linux-reno"])
def test_search_4_ends_slow_start_without_a_queue(control: str) -> None:
    """Three bins of 35 ms at 20 Mbit/s deliver 1.05 BDP. The buffer of 8 BDP holds all data sent until then."""
    scenario = Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "duration": "4 s",
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                "access_rate": "1 Gbit/s",
                "access_delay": "0 s",
                "exit_delay": "0 s",
                "trunk_rate": "20 Mbit/s",
                "trunk_delay": "50 ms",
            },
            "switch.buffer": "8 BDP",
            "tcp.profile": "linux-6",
            "tcp.congestion": {"kind": control, "hystart": "search-4"},
            "traces": {"cwnd": True, "delay": True, "events": True},
        }
    )
    result = simulate(scenario)
    (name,) = result.flows["flow"]
    assert loss_events(result, name).empty
    windows = result.traces["cwnd"]
    bdp_bytes = 20e6 * 0.1 / 8
    ended_s, at_exit = windows[windows["ssthresh_bytes"] < windows["ssthresh_bytes"].max()].iloc[0][
        ["time_s", "cwnd_bytes"]
    ]
    assert windows["cwnd_bytes"].max() > 5 * bdp_bytes
    # Payload is 1448 of 1500 bytes.
    assert at_exit / bdp_bytes == pytest.approx(1.05 * 1448 / 1500, rel=0.03)
    delays = result.traces["delay"]
    after = (delays["port"] == "switch1->switch2") & delays["time_s"].between(ended_s + 0.02, ended_s + 0.07)
    assert delays["delay_s"][after].max() < 0.01
