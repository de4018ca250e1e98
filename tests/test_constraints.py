"""Constraints between fields: for each one, an example violates it, in Python and in the core."""

from typing import Any

import pytest

from longpipe import Scenario, simulate
from longpipe._core import Facts, Rules
from longpipe.errors import ScenarioError
from longpipe.scenario import constraints, topology
from longpipe.scenario.base import Model
from longpipe.scenario.control_kinds import MODELS
from longpipe.scenario.tcp import Tcp

RED = {"kind": "red", "unit": "packets"}
POLICER = {"kind": "policer", "rate": "2 Mbit/s", "burst": "3 KB"}
# Changes to an IP scenario, by model and field, with one example of each message.
EXAMPLES: dict[tuple[str, str], list[tuple[dict[str, Any], str]]] = {
    ("Tcp", "receiver_window"): [
        ({"tcp.receiver_window": "500 B"}, "tcp.receiver_window: 500 B; needs at least one segment (512 B)")
    ],
    ("Tcp", "window_scale"): [
        (
            {"tcp.receiver_window": "1 MiB", "tcp.window_scale": 4},
            "tcp.window_scale: 4; needs 5 to 14 for a window of 1 MiB",
        )
    ],
    ("Tcp", "initial_ssthresh"): [
        ({"tcp.initial_ssthresh": "100 B"}, "tcp.initial_ssthresh: 100 B; needs at least one segment (512 B)")
    ],
    ("Tcp", "initial_rtt"): [
        (
            {"tcp.handshake": True, "tcp.initial_rtt": "3 ms"},
            "tcp.initial_rtt: 3 ms; needs 0 s with a handshake, which measures the RTT",
        )
    ],
    ("Tcp", "preconnect"): [
        (
            {"tcp.handshake": True, "tcp.preconnect": "1 s"},
            "tcp.preconnect: 1 s; needs 0 s with a handshake, because data follow it at once",
        )
    ],
    ("Tcp", "careful_resume"): [
        (
            {"tcp.recovery": "sack", "tcp.careful_resume": "previous"},
            "tcp.careful_resume: previous with sack; needs recovery = 'rack'",
        ),
        *(
            (
                {
                    "tcp.recovery": "rack",
                    "tcp.ecn": "accurate" if kind == "prague" else "off",
                    "tcp.congestion": kind,
                    "tcp.careful_resume": "previous",
                },
                f"tcp.careful_resume: previous with {kind}; needs a control that only sets a window, such as 'cubic'",
            )
            for kind in sorted(MODELS)
        ),
        (
            {"tcp.profile": "linux-6", "tcp.rapid_start": "draft", "tcp.careful_resume": "previous"},
            "tcp.careful_resume: previous with rapid_start = draft; needs 'off', because each sets the window in the "
            "first recovery",
        ),
    ],
    ("Tcp", "rapid_start"): [
        (
            {"tcp.recovery": "sack", "tcp.rapid_start": "draft"},
            "tcp.rapid_start: draft with sack; needs recovery = 'rack'",
        ),
        *(
            (
                {
                    "tcp.recovery": "rack",
                    "tcp.ecn": "accurate" if kind == "prague" else "off",
                    "tcp.congestion": kind,
                    "tcp.rapid_start": "quicly",
                },
                f"tcp.rapid_start: quicly with {kind}; needs a control that only sets a window, such as 'cubic'",
            )
            for kind in sorted(MODELS)
        ),
    ],
    ("Tcp", "rate_limited"): [
        (
            {
                "tcp.recovery": "rack",
                "tcp.ecn": "accurate" if kind == "prague" else "off",
                "tcp.congestion": kind,
                "tcp.rate_limited": "ietf",
            },
            f"tcp.rate_limited: ietf with {kind}; needs a control that only sets a window, such as 'cubic'",
        )
        for kind in sorted(MODELS)
    ],
    ("Tcp", "ecn"): [
        (
            {"tcp.congestion": "dctcp", "tcp.ecn": "classic"},
            "tcp.ecn: classic; needs dctcp or accurate for congestion = 'dctcp', which uses the share of marks",
        )
    ],
    ("Tcp", "timer"): [
        (
            {**change, "tcp.timer": kind},
            f"tcp.timer: {kind} without timestamps; needs fine, with timestamps, for {reason}",
        )
        for kind in ("coarse", "fine")
        for change, reason in (
            ({"tcp.congestion": "ledbat"}, "congestion = 'ledbat', which measures one-way delays"),
            ({"tcp.receiver_control": "rledbat"}, "receiver_control = rledbat, which measures RTTs"),
        )
    ],
    ("Tcp", "recovery"): [
        (
            {"tcp.congestion": kind, "tcp.recovery": "sack"},
            f"tcp.recovery: sack; needs 'rack' with congestion {kind!r}, which needs a report of each loss",
        )
        for kind in sorted(MODELS)
    ],
    ("Fine", "max_rto"): [
        (
            {"tcp.timer": {"kind": "fine", "min_rto": "2 s", "max_rto": "1 s"}},
            "tcp.timer.max_rto: 1 s; needs at least min_rto, 2 s",
        )
    ],
    ("Fine", "initial_rto"): [
        (
            {"tcp.timer": {"kind": "fine", "initial_rto": initial}},
            f"tcp.timer.initial_rto: {initial}; needs 1 s to 60 s",
        )
        for initial in ("900 ms", "61 s")
    ],
    ("Coarse", "max_rto"): [
        (
            {"tcp.timer": {"kind": "coarse", "min_rto": "2 ticks", "max_rto": "1 tick"}},
            "tcp.timer.max_rto: 1 tick; needs at least min_rto, 2 ticks",
        ),
        (
            {"tcp.timer": {"kind": "coarse", "tick": "100 s"}},
            "tcp.timer.max_rto: 640 ticks of 100 s; needs at most 10000 s in total",
        ),
    ],
    ("Coarse", "initial_rto"): [
        (
            {"tcp.timer": {"kind": "coarse", "initial_rto": initial}},
            f"tcp.timer.initial_rto: {initial}; needs 2 ticks to 640 ticks",
        )
        for initial in ("1 tick", "641 ticks")
    ],
    ("Coarse", "phase.at"): [
        (
            {"tcp.timer": {"kind": "coarse", "phase": {"kind": "fixed", "at": "100 ms"}}},
            "tcp.timer.phase.at: 100 ms; needs less than one tick (100 ms)",
        )
    ],
    ("Vegas", "beta"): [
        (
            {"tcp.congestion": {"kind": "vegas", "alpha": 2, "beta": 1}},
            "tcp.congestion: beta 1; needs at least alpha, 2",
        )
    ],
    ("Dfba", "high"): [
        (
            {"framing": "aal5", "switch.policy": {"kind": "dfba", "low": 0.9, "high": 0.5}},
            "switch.policy.high: 0.5; needs more than low, 0.9",
        )
    ],
    ("Red", "max"): [
        ({"switch.policy": {**RED, "min": 15.5, "max": 5}}, "switch.policy.max: 5; needs more than min, 15.5")
    ],
    ("Pi", "b"): [
        ({"switch.policy": {"kind": "pi", "a": 0.5, "b": 0.75}}, "switch.policy.b: 0.75; needs at most a, 0.5"),
    ],
    ("Red", "gap"): [
        (
            {"switch.policy": {**RED, "gap": "drawn", **drawn}},
            "switch.policy.gap: drawn; needs gentle = false and adaptive = false, as in Linux",
        )
        for drawn in ({}, {"gentle": False, "adaptive": True})
    ],
    ("Red", "per_vc"): [
        (
            {"switch.policy": {**RED, "per_vc": True}},
            "switch.policy.per_vc: true; needs unit = 'cells', because IP has no VCs",
        )
    ],
    ("Red", "ecn"): [
        (
            {"framing": "aal5", "switch.policy": {**RED, "unit": "cells", "ecn": True}},
            "switch.policy.ecn: true; needs false with unit = 'cells', because cells have no ECN field",
        )
    ],
    **{
        (model, "interval"): [
            (
                {"switch.policy": {"kind": kind, "target": "20 ms", "interval": "19 ms"}},
                "switch.policy.interval: 19 ms; needs at least the target, 20 ms",
            )
        ]
        for model, kind in (("Codel", "codel"), ("FqCodel", "fq-codel"))
    },
    **{
        (model, f"{field}.max"): [
            (
                {"switch.policy": {"kind": model.lower(), field: {"kind": "ramp", "min": "2 ms", "max": "2 ms"}}},
                f"switch.policy.{field}.max: 2 ms; needs more than min, 2 ms",
            )
        ]
        for model, field in (("DualPi2", "marking"), ("Nqb", "weight"))
    },
    **{
        (model, "peak"): [
            (
                {"network.conditioners": [{**POLICER, "kind": kind, "peak": "2 Mbit/s", "mtu": "1 KB"}]},
                "network.conditioners[0].peak: 2 Mbit/s; needs more than rate, 2 Mbit/s",
            )
        ]
        for model, kind in (("Policer", "policer"), ("Tbf", "tbf"))
    },
    **{
        (model, "mtu"): [
            (
                {"network.conditioners": [{**POLICER, "kind": kind, "peak": "3 Mbit/s"}]},
                "network.conditioners[0].mtu: absent; with a peak rate it needs the longest packet, as in '1500 B'",
            )
        ]
        for model, kind in (("Policer", "policer"), ("Tbf", "tbf"))
    },
    ("Jitter", "jitter"): [
        (
            {"network.conditioners": [{"kind": "jitter", "delay": "0 s", "jitter": "2001 ms"}]},
            "network.conditioners[0].jitter: 2001 ms; needs at most 2 s",
        )
    ],
    ("Aggregation", "overhead"): [
        (
            {"network.conditioners": [{"kind": "aggregation", "interval": "1 ms", "overhead": "1 ms"}]},
            "network.conditioners[0].overhead: 1 ms; needs less than interval, 1 ms",
        )
    ],
    ("Web", "spacing_to"): [
        (
            {"traffic": {"kind": "web", "spacing_from": "20 ms", "spacing_to": "10 ms"}},
            "traffic.spacing_to: 10 ms; needs at least spacing_from, 20 ms",
        )
    ],
    ("AdaptiveVideo", "buffer"): [
        (
            {"traffic": {"kind": "adaptive-video", "chunk": "2 s", "buffer": "1 s"}},
            "traffic.buffer: 1 s; needs at least chunk, 2 s",
        )
    ],
    ("Media", "max_rate"): [
        (
            {"traffic": {"kind": "media", "min_rate": "2 Mbit/s", "max_rate": "1 Mbit/s"}},
            "traffic.max_rate: 1 Mbit/s; needs at least min_rate, 2 Mbit/s",
        )
    ],
    ("Docsis", "map_interval"): [
        (
            {
                "network": {
                    "kind": "dumbbell",
                    "access": {"kind": "docsis", "frame": "200 us", "map_interval": "150 us"},
                }
            },
            "network.access.map_interval: 150 us; needs at least the frame, 200 us",
        )
    ],
}
# Cases that the core simulates nonetheless, because its arithmetic does not need these constraints.
PYTHON_ONLY = {
    "tcp.initial_ssthresh: 100 B; needs at least one segment (512 B)",
    "tcp.timer.initial_rto: 900 ms; needs 1 s to 60 s",
    "tcp.timer.initial_rto: 1 tick; needs 2 ticks to 640 ticks",
    "tcp.timer.max_rto: 640 ticks of 100 s; needs at most 10000 s in total",
}

CASES = [(key, changes, message) for key, examples in EXAMPLES.items() for changes, message in examples]


def models(within: type[Model] = Model) -> list[type[Model]]:
    """Returns all models."""
    return [one for part in within.__subclasses__() for one in (part, *models(part))]


def violating(changes: dict[str, Any]) -> Scenario:
    return Scenario(defaults="1996", framing="ip", duration="1 s", switch={"buffer": "20 packets"}).with_(**changes)


def test_every_constraint_has_an_example() -> None:
    own = {model for model in models() if model.constraints and model.model_fields}
    assert {(model.__name__, one.field) for model in own for one in model.constraints} == EXAMPLES.keys()
    # A module or a class needs a file, which is read before constraints are checked.
    messages = {(model, one.message) for model in own for one in model.constraints}
    assert len([one for _, one in messages if " with module;" not in one and " with python;" not in one]) <= len(CASES)


@pytest.mark.parametrize(("key", "changes", "message"), CASES)
def test_a_violated_constraint_is_named(key: tuple[str, str], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        violating(changes).resolve()
    assert message in caught.value.problems


@pytest.mark.parametrize(("key", "changes", "message"), CASES)
def test_core_rejects_the_same_scenarios_as_python(
    key: tuple[str, str], changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constraints, "violated", lambda _: iter(()))
    monkeypatch.setattr(topology, "facts", lambda: Facts("{}"))
    if message in PYTHON_ONLY:
        assert simulate(violating(changes)).flows is not None
        return
    with pytest.raises(ScenarioError, match=key[1].split(".")[0]):
        simulate(violating(changes))


def test_constraints_are_written_as_comparisons() -> None:
    with pytest.raises(ValueError, match="'mss small'; needs FIELD < FIELD, or FIELD is 'CONSTANT'"):
        Rules('[["mss > \'1 B\' and mss small", ""]]')


def test_an_absent_field_violates_no_order() -> None:
    assert list(Tcp(initial_ssthresh="unlimited", window_scale="as needed").problems()) == []
