"""Defaults that determine the result are named before the run; a scenario that sets them, or nothing, has no line."""

import re
from typing import Any, Final

import pytest

from longpipe import Scenario
from longpipe.cautions.cautions import cautions

# Every field that a default may determine is set.
SET: Final = """
framing = "ip"
duration = "20 s"
switch = { buffer = "1 BDP" }
tcp = { mss = "1448 B", receiver_window = "auto" }
[network]
kind = "dumbbell"
sources = 1
access_rate = "1 Gbit/s"
trunk_rate = "20 Mbit/s"
access_delay = "1 ms"
trunk_delay = "20 ms"
exit_delay = "1 ms"
"""
# Lines that name a default.
NAMED: Final = re.compile(r": (the defaults?\b|not given)")
# Default of each kind: the field, changes without which it determines nothing, and what the line says.
KINDS: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "access rate": ("network.access_rate", {"network.trunk_rate": "1 Gbit/s"}, "155.52 Mbit/s, limits flow1"),
    "trunk rate": ("network.trunk_rate", {}, "155.52 Mbit/s, limits flow1"),
    "trunk delay": (
        "network.trunk_delay",
        {"network.access_delay": "1 us", "network.exit_delay": "1 us", "switch.buffer": "100 packets"},
        "10 us of the propagation RTT, 14 us",
    ),
    "access delay": (
        "network.access_delay",
        {"network.trunk_delay": "1 us", "network.exit_delay": "1 us", "switch.buffer": "100 packets"},
        "10 us of the propagation RTT, 14 us",
    ),
    "MSS": ("tcp.mss", {"network.trunk_delay": "100 ms"}, "512 B, so that a window that grows by a segment"),
    "window of a transfer": (
        "tcp.receiver_window",
        {"network.trunk_delay": "100 ms", "traffic": {"kind": "transfer", "size": "10 MB"}},
        "64 KiB, limits flow1 to 2.5",
    ),
    "window of a stream": (
        "tcp.receiver_window",
        {"network.trunk_delay": "100 ms", "traffic": {"kind": "stream", "rate": "10 Mbit/s"}},
        "64 KiB, limits flow1 to 2.5",
    ),
    "buffer": ("switch.buffer", {}, "routers have 1 BDP"),
}


def lines(text: str, changes: dict[str, Any]) -> list[str]:
    return [line for line in cautions(Scenario.from_toml(text).with_(**changes)) if NAMED.search(line)]


def without(field: str) -> str:
    """Returns the scenario without a field."""
    name = field.split(".")[-1]
    kept = [line for line in SET.splitlines() if not line.startswith(f"{name} =")]
    removed = {"mss": 'mss = "1448 B", ', "receiver_window": ', receiver_window = "auto"', "buffer": 'buffer = "1 BDP"'}
    return "\n".join(kept).replace(removed.get(name, "\0"), "")


@pytest.mark.parametrize(("field", "changes", "effect"), KINDS.values(), ids=KINDS)
def test_default_that_determines_the_result_is_named(field: str, changes: dict[str, Any], effect: str) -> None:
    own = {name: value for name, value in changes.items() if name != field}
    (line,) = lines(without(field), own)
    assert line.startswith(f"{field}: ")
    assert effect in line


@pytest.mark.parametrize(("field", "changes", "effect"), KINDS.values(), ids=KINDS)
def test_given_field_is_not_named(field: str, changes: dict[str, Any], effect: str) -> None:
    assert lines(SET, changes) == []


@pytest.mark.parametrize("framing", ["aal5", "ip"])
def test_scenario_without_settings_causes_no_default_warnings(framing: str) -> None:
    assert [
        line
        for line in lines("[network]\nkind = 'dumbbell'\n", {"framing": framing})
        if not line.startswith("switch.buffer")
    ] == []


@pytest.mark.parametrize("name", ["aqm", "cellular", "fiber", "geo", "geo-pep", "home", "leo", "rain-fade", "starlink"])
def test_example_has_no_line_about_defaults(name: str) -> None:
    assert [line for line in cautions(Scenario.example(name)) if NAMED.search(line)] == []


def test_delays_of_a_lan_of_cells_are_not_named() -> None:
    assert (
        lines("[network]\nkind = 'dumbbell'\n", {"network.trunk_rate": "50 Mbit/s", "network.access_rate": "50 Mbit/s"})
        == []
    )


def test_path_without_delays_has_no_line_about_delays() -> None:
    delays = dict.fromkeys(("network.access_delay", "network.trunk_delay", "network.exit_delay"), "0 s")
    assert lines(SET, delays | {"switch.buffer": "100 packets"}) == []
