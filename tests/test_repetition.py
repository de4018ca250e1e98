"""Intervals and bursts because of which a run would never end are rejected in one line that names the field."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate

DAYS = {"framing": "ip", "duration": "2400 h", "switch": {"buffer": "100 packets"}}
PIE = {"kind": "pie", "update": "8639 us"}
STATES = {"kind": "gilbert-elliott-in-time", "good": "4319 us", "bad": "4320 us"}
BURSTS = {"kind": "on-off", "rate": "1 kbit/s", "payload": "97 B", "on": "1 us", "off": "0 s"}
VIDEO = {"kind": "video", "frame": "8639 us"}
TIMER = {"kind": "fine", "min_rto": "8639 us", "initial_rto": "8639 us", "max_rto": "8639 us"}
VBR = {
    "network": {"kind": "dumbbell", "vbr": {"period": "1 us", "rate": "1 Mbit/s"}},
    "switch": {"scheduler": "priority"},
}
GROUP = {"kind": "dumbbell", "group": [{"name": "a"}, {"name": "b", "traffic": BURSTS}]}


# Each problem's field and value, and the fields of its scenario.
EXCESSIVE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("switch.policy.update: 8639 us", {**DAYS, "switch": {"buffer": "100 packets", "policy": PIE}}),
    ("switch.policy.update: 8639 us", {**DAYS, "switch": {"buffer": "100 packets", "policy": {**PIE, "kind": "dualpi2"}}}),
    ("network.trunk_loss.good: 4319 us", {**DAYS, "network": {"kind": "dumbbell", "trunk_loss": STATES}}),
    ("traffic.cycle: 8 ms", {**DAYS, "traffic": {"kind": "web", "cycle": "8 ms"}}),
    ("traffic.frame: 8639 us", {**DAYS, "traffic": VIDEO}),
    ("tcp.timer.max_rto: 8639 us", {**DAYS, "tcp": {"timer": TIMER}}),
    # The timer backs off at most six times.
    ("tcp.timer.initial_rto: 134 us", {**DAYS, "tcp": {"timer": {
        **TIMER, "min_rto": "134 us", "initial_rto": "134 us", "max_rto": "60 s"}}}),
    ("traces.vc_queue_interval: 8 ms", {**DAYS, "traces": {"vc_queue": True, "vc_queue_interval": "8 ms"}}),
    ("traffic.on: 1 us", {**DAYS, "duration": "1 s", "traffic": BURSTS}),
    ("network.group[1].traffic.on: 1 us", {**DAYS, "duration": "1 s", "network": GROUP}),
    ("traffic.times.shape: 1.000000000000001", {**DAYS, "traffic": {
        **BURSTS, "on": "1 s", "off": "1 s", "times": {"kind": "pareto", "shape": 1.000000000000001}}}),
    ("network.vbr.period: 1 us", VBR),
)  # fmt: skip


@pytest.mark.parametrize(("field", "fields"), EXCESSIVE)
def test_excessive_repetition_is_rejected(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario(defaults="1996", **fields).resolve()
    (line,) = refused.value.problems
    assert line.startswith(field), line
    assert "; needs " in line


def test_values_at_the_limit_are_accepted() -> None:
    def accept(**fields: Any) -> Scenario:  # noqa: ANN401 - fields of a scenario
        return Scenario(defaults="1996", **{**DAYS, **fields})

    accept(switch={"buffer": "100 packets", "policy": {**PIE, "update": "8640 us"}})
    # A 125-byte packet takes a second at 1 kbit/s, and a cell takes 2.7 us on the 155.52 Mbit/s link.
    accept(duration="1 s", traffic={**BURSTS, "off": "999999 us"})
    network = {"kind": "dumbbell", "vbr": {"period": "1.5 us", "rate": "1 Mbit/s"}}
    assert simulate(accept(framing="aal5", duration="20 ms", network=network, switch={"scheduler": "priority"})).events
