"""Rules for growth of the window while the sender does not fill it."""

from typing import Any, Final

import pytest

from longpipe import Result, Scenario, simulate
from longpipe.scenario.control_kinds import BUILT_IN, MODELS

CONTROLS: Final = sorted(set(BUILT_IN) - set(MODELS) - {"dctcp"})
RULES: Final = ("control", "none", "linux", "rfc9002", "ietf", {"kind": "ietf", "shrink": True})


def scenario(control: str, rule: str | dict[str, Any], traffic: str | dict[str, Any]) -> Scenario:
    """Returns one flow with Linux's settings over 10 Mbit/s and 40 ms."""
    return Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "network.sources": 1,
            "network.access_rate": "100 Mbit/s",
            "network.trunk_rate": "10 Mbit/s",
            "network.trunk_delay": "20 ms",
            "switch.buffer": "40 packets",
            "tcp": {"profile": "linux-6", "congestion": control, "rate_limited": rule},
            "traffic": traffic,
            "duration": "10 s",
            "traces.cwnd": True,
        }
    )


def run(control: str, rule: str | dict[str, Any], traffic: str | dict[str, Any]) -> Result:
    return simulate(scenario(control, rule, traffic))


def last_window(control: str, rule: str | dict[str, Any]) -> float:
    """Returns cwnd [segments] after 10 s of an application that writes 1 Mbit/s."""
    result = run(control, rule, {"kind": "stream", "rate": "1 Mbit/s"})
    return float(result.traces["cwnd"]["cwnd_bytes"].iloc[-1]) / 1448


# Vegas in Linux tests the window only while it grows like Reno (tcp_vegas_cong_avoid).
@pytest.mark.parametrize("control", sorted(set(CONTROLS) - {"aimd", "vegas"}))
def test_linuxs_rule_is_the_rule_of_linuxs_controls(control: str) -> None:
    for traffic in ({"kind": "stream", "rate": "1 Mbit/s"}, "greedy"):
        own, linux = run(control, "control", traffic), run(control, "linux", traffic)
        assert linux.state_hash == own.state_hash


@pytest.mark.parametrize("control", ["aimd", "cubic", "linux-reno"])
def test_windows_are_bounded_by_every_rule_except_none(control: str) -> None:
    windows = [last_window(control, rule) for rule in RULES[1:]]
    assert windows[0] > 5 * max(windows[1:])


@pytest.mark.parametrize("rule", RULES)
def test_a_greedy_flow_fills_the_link_under_each_rule(rule: str | dict[str, Any]) -> None:
    assert run("cubic", rule, "greedy").efficiency > 0.9


# cwnd [segments] when an application continues after 10 s without data: rule, idle_restart, window. By the draft's rule
# the window stays; a restart by RFC 5681 section 4.1 sets the initial window under each rule.
@pytest.mark.parametrize(
    ("rule", "restarts", "window"), [("ietf", True, 10), ("ietf", False, 724), ("none", False, 724)]
)
def test_the_window_after_an_idle_time_is_the_smaller_one(rule: str, restarts: bool, window: int) -> None:
    bursts = {"kind": "stream", "rate": "50 Mbit/s", "bursts": {"on": "1 s", "off": "10 s", "times": "fixed"}}
    idle = {"network.access_rate": "1 Gbit/s", "network.trunk_rate": "100 Mbit/s", "network.trunk_delay": "25 ms"}
    changes = {**idle, "switch.buffer": "1000 packets", "tcp.idle_restart": restarts, "duration": "12 s"}
    windows = simulate(scenario("cubic", rule, bursts).with_(**changes), seed=1).traces["cwnd"]
    after = windows[windows["time_s"] > 10]
    assert after["cwnd_bytes"].iloc[0] / 1448 == pytest.approx(window, abs=1)


# BBR has no rule of growth: while the application limits it, it stays in Startup, and its pacing rate is a multiple of
# the rate at which writes of one segment arrive, because two segments may arrive in one interval.
@pytest.mark.parametrize(("control", "least", "most"), [("bbr", 8, 16), ("bbr3", 4, 8)])
def test_the_pacing_rate_of_limited_bbr_exceeds_twice_the_delivery_rate(control: str, least: int, most: int) -> None:
    wide = {"network.access_rate": "1 Gbit/s", "network.trunk_rate": "100 Mbit/s", "network.trunk_delay": "25 ms"}
    limited = scenario(control, "control", {"kind": "stream", "rate": "5 Mbit/s"}).with_(
        **wide, **{"switch.buffer": "1000 packets", "duration": "20 s", "traces.control": True}
    )
    state = simulate(limited, seed=1).traces["control"].iloc[-1]
    assert state["stage"] == "startup"
    assert least < state["pacing_bps"] / 5e6 < most
