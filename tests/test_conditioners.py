"""Conditioners of IP ports: policers and shapers compared with token bucket arithmetic."""

from typing import Any

import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError

# Length of a datagram's headers [bytes].
HEADERS = 28


def policed(*conditioners: dict[str, Any], **changes: object) -> Scenario:
    """Returns 1000-byte datagrams (including headers) at 20 Mbit/s over a fast trunk."""
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": "10 s",
        "switch": {"buffer": "1000 packets"},
        "traffic": {"kind": "cbr", "rate": "19.44 Mbit/s", "payload": f"{1000 - HEADERS} B"},
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "trunk_rate": "100 Mbit/s",
            "conditioners": list(conditioners),
        },
    }
    return Scenario(defaults="1996", **fields).with_(**changes)


def trunk(scenario: Scenario) -> pd.Series:
    result = simulate(scenario)
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash
    # Converted to floats, because differences of unsigned counters would overflow.
    numbers = result.ports.set_index("port").select_dtypes("number").astype(float)
    return numbers.T["switch1->switch2"]


@pytest.mark.parametrize(("rate_mbps", "burst"), [(8, 10_000), (10, 125_000), (1, 2000), (16, 3000)])
def test_policer_passes_exactly_burst_and_rate(rate_mbps: int, burst: int) -> None:
    """A token bucket (Cruz 1991) passes at most the burst plus the product of rate and duration.

    The amount that passes is less than a packet below this bound.
    """
    port = trunk(policed({"kind": "policer", "rate": f"{rate_mbps} Mbit/s", "burst": f"{burst} B"}))
    allowed = burst + rate_mbps * 1e6 / 8 * 10
    passed = port["bytes_in"] - 1000 * port["packets_lost_policer"]
    assert allowed - 2000 <= passed <= allowed + 1000
    assert port["packets_lost_overflow"] == 0
    assert port["packets_in"] == port["packets_out"] + port["packets_lost_policer"] + port["packets_held"]


def test_a_policer_above_the_rate_passes_all() -> None:
    port = trunk(policed({"kind": "policer", "rate": "20.1 Mbit/s", "burst": "1000 B"}))
    assert port["packets_lost_policer"] == 0


def test_policers_in_series_limit_to_the_lowest_rate() -> None:
    wide, narrow = ({"kind": "policer", "rate": f"{rate} Mbit/s", "burst": "1500 B"} for rate in (15, 5))
    both, one = trunk(policed(wide, narrow)), trunk(policed(narrow))
    assert both["packets_lost_policer"] == pytest.approx(one["packets_lost_policer"], rel=0.01)


def test_policer_marks_capable_packets_instead_of_dropping() -> None:
    policer = {"kind": "policer", "rate": "5 Mbit/s", "burst": "30 KB", "exceed": "mark"}
    tcp = {"profile": "linux-6", "ecn": "classic"}
    port = trunk(policed(policer, traffic="greedy", tcp=tcp, **{"network.trunk_rate": "20 Mbit/s"}))
    assert port["packets_marked"] > 10


@pytest.mark.parametrize("policy", ["tail-drop", "selective-drop", "fba", "codel", "fq-codel", "red"])
def test_both_engines_police_and_shape_around_every_kind_of_queue(policy: str) -> None:
    policer = {"kind": "policer", "rate": "6 Mbit/s", "burst": "20 KB", "per_flow": True}
    changes = {"network.sources": 3, "network.trunk_rate": "10 Mbit/s", "switch.policy": policy, "traffic": "greedy"}
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "10 KB", "peak": "8 Mbit/s", "mtu": "1500 B"}
    port = trunk(policed(policer, shaper, **changes, **{"switch.buffer": "20 packets"}))
    assert port["packets_out"] > 1000


def test_shaper_delays_packets_that_a_policer_drops() -> None:
    """The greedy flow of a shaped path reaches the shaping rate without losses.

    The longest wait is that of a full buffer at this rate.
    """
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "3000 B"}
    changes = {"switch.buffer": "30 packets", "traces.delay": True}
    port = trunk(policed(shaper, traffic="greedy", tcp={"profile": "linux-6"}, **changes))
    assert 8 * port["bytes_out"] == pytest.approx(5e6 * 10, rel=0.03)
    assert port["packets_lost_policer"] == 0
    result = simulate(policed(shaper, traffic="greedy", tcp={"profile": "linux-6"}, **changes))
    delays = result.traces["delay"].query("port == 'switch1->switch2'")["delay_s"]
    assert delays.max() == pytest.approx(30 * 8 * 1500 / 5e6, rel=0.05)


def test_codel_in_front_of_a_shaper_keeps_the_wait_at_its_target() -> None:
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "1600 B"}
    changes = {"switch.buffer": "1000 packets", "switch.policy": "codel", "traces.delay": True}
    result = simulate(policed(shaper, traffic="greedy", tcp={"profile": "linux-6"}, **changes))
    delays = result.traces["delay"].query("port == 'switch1->switch2'")["delay_s"]
    assert 0.003 < delays.median() < 0.02


@pytest.mark.parametrize(
    "shaped",
    [
        {"network.conditioners": [{"kind": "tbf", "rate": "20 Mbit/s", "burst": "16 KB"}]},
        {"switch.policy": {"kind": "cake", "rate": "20 Mbit/s"}},
    ],
)
def test_buffers_in_bdp_and_times_are_computed_with_the_shapers_rate(shaped: dict[str, Any]) -> None:
    # All packets are datagrams of 1000 bytes.
    for text, packets in (("100 ms", 20e6 * 0.1 / 8 / 1000), ("2 BDP", 20e6 * 0.1 / 8 / 1000), ("100 packets", 100)):
        delays = {"network.access_delay": "0 s", "network.exit_delay": "0 s", "network.trunk_delay": "25 ms"}
        links = policed(**{"switch.buffer": text} | delays | shaped).resolve()["links"]
        assert links[2]["buffer"] == {"unit": "packets", "limit": int(packets)}, text


def test_a_shaper_drops_packets_longer_than_its_bucket() -> None:
    port = trunk(policed({"kind": "tbf", "rate": "5 Mbit/s", "burst": "999 B"}))
    assert port["packets_lost_overflow"] == port["packets_in"] > 0


def test_a_port_has_one_shaper() -> None:
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "2 KB"}
    with pytest.raises(ScenarioError) as caught:
        policed(shaper, shaper).resolve()
    assert str(caught.value) == "network.conditioners[1]: tbf; needs at most one tbf"


@pytest.mark.parametrize(
    ("policer", "framing", "line"),
    [
        ({"peak": "5 Mbit/s", "mtu": "1500 B"}, "ip", "network.conditioners[0].peak: 5 Mbit/s; needs more than rate, 8 Mbit/s"),
        ({"peak": "50 Mbit/s"}, "ip", "network.conditioners[0].mtu: absent; with a peak rate it needs the longest packet, as in '1500 B'"),
        ({}, "aal5", "network.conditioners: set; needs framing 'ip', because conditioners act on packets"),
    ],
)  # fmt: skip
def test_invalid_policer_is_rejected_in_one_line(policer: dict[str, Any], framing: str, line: str) -> None:
    own = {"kind": "policer", "rate": "8 Mbit/s", "burst": "10 KB", **policer}
    changes = {"framing": framing, "switch.buffer": "100 cells"} if framing == "aal5" else {}
    with pytest.raises(ScenarioError) as caught:
        policed(own, traffic="greedy", **changes).resolve()
    assert str(caught.value) == line
