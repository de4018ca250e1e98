"""The core accepts all values that Python accepts: a run at both bounds of each field that the core also checks."""

import pytest

from longpipe import Scenario, ScenarioError, simulate

SHORT: dict[str, object] = {"duration": "5 ms", "network.sources": 1, "traffic": {"kind": "transfer", "size": "1 KB"}}
FINE: dict[str, object] = {"tcp.timer": "fine"}
VBR: dict[str, object] = {"network.vbr": {}, "switch.scheduler": "priority"}
WEB: dict[str, object] = {"traffic": "web"}
# A field, its two bounds, values just outside them, and other fields that it needs.
BOUNDS: list[tuple[str, tuple[str, str], tuple[str, str], dict[str, object]]] = [
    ("duration", ("1 ps", "2400 h"), ("0 s", "8640000000000000001 ps"), {}),
    ("network.trunk_rate", ("1 kbit/s", "10 Tbit/s"), ("999 bit/s", "10000000000001 bit/s"), {}),
    ("network.trunk_delay", ("0 s", "1000 s"), ("-1 ps", "1000000000000001 ps"), {"switch.buffer": "unlimited"}),
    ("tcp.mss", ("1 B", "65000 B"), ("0 B", "65001 B"), {"switch.buffer": "unlimited"}),
    ("tcp.receiver_window", ("512 B", "1 GiB"), ("511 B", "1073741825 B"), {}),
    ("tcp.initial_window", ("1 segment", "1000000 segments"), ("0 segments", "1000001 segments"), {}),
    ("tcp.timer.tick", ("1 us", "100 s"), ("0 s", "100000000000001 ps"), {"tcp.timer.max_rto": "100 ticks"}),
    ("tcp.timer.max_rto", ("30 ticks", "100000 ticks"), ("0 ticks", "1000001 ticks"), {}),
    ("tcp.timer.max_rto", ("1 s", "100000 s"), ("0 s", "100000000000000001 ps"), FINE),
    ("tcp.ack.timeout", ("1 ps", "1000 s"), ("0 s", "1000000000000001 ps"), {"tcp.ack": "delayed"}),
    ("network.vbr.period", ("1400 ns", "1000000 s"), ("0 s", "1000000000000000001 ps"), VBR),
    ("network.vbr.phase", ("0 s", "1000000 s"), ("-1 ps", "1000000000000000001 ps"), VBR),
    ("traffic.cycle", ("1 ms", "100000 s"), ("999 us", "100000000000000001 ps"), WEB),
    (
        "traffic.spacing_to",
        ("0 s", "1000 s"),
        ("-1 ps", "1000000000000001 ps"),
        {"traffic": {"kind": "web", "spacing_from": "0 s"}},
    ),
    ("traffic.request", ("1 B", "65000 B"), ("0 B", "65001 B"), WEB | {"switch.buffer": "unlimited"}),
]


@pytest.mark.parametrize(("field", "ends", "beyond", "others"), BOUNDS)
def test_core_runs_each_scenario_that_python_accepts(
    field: str, ends: tuple[str, str], beyond: tuple[str, str], others: dict[str, object]
) -> None:
    base = Scenario(defaults="1996").with_(**SHORT).with_(**others)
    for end in ends:
        simulate(base.with_(**{field: end}))
    for past in beyond:
        with pytest.raises(ScenarioError, match=f"^{field}: {past}; needs "):
            base.with_(**{field: past})
