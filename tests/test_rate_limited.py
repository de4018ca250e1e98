"""Rules for growth of the window while the sender does not fill it."""

from typing import Any, Final

import pytest

from longpipe import Result, Scenario, simulate
from longpipe.scenario.control_kinds import BUILT_IN, MODELS

CONTROLS: Final = sorted(set(BUILT_IN) - set(MODELS) - {"dctcp"})
RULES: Final = ("control", "none", "linux", "rfc9002", "ietf", {"kind": "ietf", "shrink": True})


def run(control: str, rule: str | dict[str, Any], traffic: str | dict[str, Any]) -> Result:
    """Returns the result of one flow with Linux's settings over 10 Mbit/s and 40 ms."""
    return simulate(
        Scenario().with_(
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
    )


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
def test_windows_are_bounded_by_each_rule_but_none(control: str) -> None:
    windows = [last_window(control, rule) for rule in RULES[1:]]
    assert windows[0] > 5 * max(windows[1:])


@pytest.mark.parametrize("rule", RULES)
def test_a_greedy_flow_fills_the_link_under_each_rule(rule: str | dict[str, Any]) -> None:
    assert run("cubic", rule, "greedy").efficiency > 0.9
