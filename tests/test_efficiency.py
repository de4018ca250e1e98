"""Efficiency is at most 1 for every mix of traffic, and equals values that are computed by hand."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import commands
from longpipe import Result, Scenario, simulate
from longpipe.examples import EXAMPLES
from longpipe.measures.defaults import measure, names
from longpipe.metrics.efficiency import Offer, attainable_bytes
from strategies import mixes
from thorough import examples

# A full segment of 512 bytes takes 12 cells.
SEGMENT = 512 / (12 * 53)


SYMMETRIC = """
duration = "20 s"
framing = "ip"
switch.buffer = "1 BDP"
tcp.profile = "linux-6"
network = { kind = "dumbbell", trunk_rate = "10 Mbit/s", trunk_delay = "10 ms", access_rate = "1 Gbit/s" }
"""


def over_ip(duration: str, groups: list[dict[str, object]], **network: object) -> Result:
    fields = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "access_rate": "1 Gbit/s", "group": groups, **network}
    scenario = {"framing": "ip", "duration": duration, "network": fields, "switch": {"buffer": "30 packets"}}
    return simulate(Scenario.model_validate({"defaults": "1996", **scenario}))


def at_trunk(result: Result, column: str) -> float:
    ports = result.part("ports")
    return float(ports[column][list(ports["port"]).index("switch1->switch2")])


def call(rate: str, payload: str) -> dict[str, object]:
    return {"name": "call", "traffic": {"kind": "cbr", "rate": rate, "payload": payload}}


def test_packets_fill_the_trunk_in_order_of_their_header_share() -> None:
    small, large = Offer(share=0.5, most_bytes=math.inf), Offer(share=0.8, most_bytes=40)
    # 50 bytes on the wire carry 40 bytes of payload, and the other 50 carry half of that.
    assert attainable_bytes(100, [small, large]) == pytest.approx(40 + 25)
    assert attainable_bytes(25, [small, large]) == pytest.approx(20)
    # Capacity beyond the packets that were sent is assumed to be used with the highest efficiency.
    assert attainable_bytes(100, [large]) == pytest.approx(80)
    assert attainable_bytes(0, [large]) == attainable_bytes(7, []) == 0


def test_datagrams_that_fill_a_trunk_have_efficiency_one() -> None:
    result = over_ip("20 s", [call("20 Mbit/s", "1472 B")], trunk_delay="50 ms")
    assert result.attainable_bps == pytest.approx(1e7 * 1472 / 1500)
    # The difference from 1 is due to data in transit at the end, and to the delay of the first packet.
    assert result.efficiency == pytest.approx(1 - 0.05 / 20, abs=2e-4)


def test_datagrams_beside_tcp_count_by_bytes_sent() -> None:
    groups: list[dict[str, object]] = [{"name": "bulk"}, call("1 Mbit/s", "1400 B")]
    result = over_ip("10 s", groups)
    sent = 8 * dict(zip(*(result.part("flows")[name] for name in ("flow", "sent_bytes")), strict=True))["call"] / 10
    mss = int(result.scenario.tcp.mss.split()[0])
    # Datagrams have less overhead: so they are counted first, and segments fill the remaining capacity.
    assert mss / (mss + 40) < 1400 / 1428
    assert result.attainable_bps == pytest.approx(sent + (1e7 - sent * 1428 / 1400) * mss / (mss + 40))
    assert result.efficiency == pytest.approx(at_trunk(result, "utilization"), abs=0.005)
    # If datagrams have more overhead, segments fill the whole trunk.
    assert over_ip("1 s", [{"name": "bulk"}, call("1 Mbit/s", "20 B")]).attainable_bps == pytest.approx(
        1e7 * mss / (mss + 40)
    )


@pytest.mark.parametrize(
    "conditioner",
    [
        {"kind": "tbf", "rate": "4 Mbit/s", "burst": "30 KB"},
        {"kind": "tbf", "rate": "3 Mbit/s", "burst": "2 MB", "peak": "4 Mbit/s", "mtu": "30 KB"},
        {"kind": "policer", "rate": "4 Mbit/s", "burst": "30 KB"},
    ],
    ids=["tbf", "peak", "policer"],
)
def test_token_bucket_limits_the_trunks_capacity(conditioner: dict[str, object]) -> None:
    """The limit is the bucket of 30 KB, full at the start, plus 4 Mbit/s for 10 s."""
    result = over_ip("10 s", [call("20 Mbit/s", "1472 B")], conditioners=[conditioner])
    assert result.attainable_bps == pytest.approx((4e6 + 8 * 30_000 / 10) * 1472 / 1500)
    assert 0.99 < result.efficiency <= 1


@pytest.mark.parametrize(
    "conditioner",
    [
        {"kind": "tbf", "rate": "4 Mbit/s", "burst": "2 MB"},
        {"kind": "policer", "rate": "4 Mbit/s", "burst": "2 MB"},
        {"kind": "tbf", "rate": "3 Mbit/s", "burst": "8 MB", "peak": "4 Mbit/s", "mtu": "60 KB"},
    ],
    ids=["tbf", "policer", "peak"],
)
@pytest.mark.parametrize("engine", ["trains", "reference"])
def test_bucket_emptied_by_the_warm_up_adds_nothing(engine: str, conditioner: dict[str, object]) -> None:
    # 20 Mbit/s empty the bucket of 2 MB within 2 s.
    fields = {"kind": "dumbbell", "trunk_rate": "30 Mbit/s", "access_rate": "1 Gbit/s"}
    network = {**fields, "group": [call("20 Mbit/s", "1472 B")], "conditioners": [conditioner]}
    scenario = {"framing": "ip", "duration": "8 s", "warm_up": "4 s", "network": network, "engine": engine}
    result = simulate(Scenario.model_validate({"defaults": "1996", **scenario, "switch": {"buffer": "30 packets"}}))
    assert result.attainable_bps == pytest.approx(4e6 * 1472 / 1500, rel=2e-3)
    assert 0.999 < result.efficiency <= 1


def test_bucket_filled_after_the_warm_up_adds_its_burst() -> None:
    policer = {"kind": "policer", "rate": "4 Mbit/s", "burst": "1 MB"}
    network = {"kind": "dumbbell", "trunk_rate": "30 Mbit/s", "access_rate": "1 Gbit/s", "conditioners": [policer]}
    late = {**call("20 Mbit/s", "1472 B"), "start": {"kind": "fixed", "at": "4 s"}}
    scenario = {"framing": "ip", "duration": "8 s", "warm_up": "3 s", "network": {**network, "group": [late]}}
    result = simulate(Scenario.model_validate({"defaults": "1996", **scenario, "switch": {"buffer": "30 packets"}}))
    assert result.attainable_bps == pytest.approx((4e6 + 8e6 / 5) * 1472 / 1500, rel=1e-6)


def test_policers_of_single_flows_and_marking_policers_do_not_limit_the_trunk() -> None:
    for changes in ({"per_flow": True}, {"exceed": "mark"}):
        policer = {"kind": "policer", "rate": "4 Mbit/s", "burst": "30 KB", **changes}
        result = over_ip("1 s", [call("3 Mbit/s", "1472 B")], conditioners=[policer])
        assert result.attainable_bps == pytest.approx(1e7 * 1472 / 1500)


@pytest.mark.parametrize(
    ("policy", "payload", "counted"),
    [
        ({}, 1472, 1500),
        ({"overhead": 40}, 1472, 1540),
        ({"overhead": -20}, 1472, 1480),
        # 33 cells carry 1540 bytes, and 64b/65b framing adds a byte for each 64 of 1522.
        ({"overhead": 40, "framing": "atm"}, 1472, 33 * 53),
        ({"overhead": 22, "framing": "ptm"}, 1472, 1522 + 24),
        ({"mpu": 84}, 20, 84),
    ],
)
@pytest.mark.parametrize("warm_up", ["0 s", "2 s"])
def test_cakes_shaper_limits_the_trunks_capacity(
    policy: dict[str, object], payload: int, counted: int, warm_up: str
) -> None:
    switch = {"buffer": "30 packets", "policy": {"kind": "cake", "rate": "4 Mbit/s", **policy}}
    network = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "group": [call("6 Mbit/s", f"{payload} B")]}
    scenario = {"framing": "ip", "duration": "10 s", "warm_up": warm_up, "switch": switch}
    result = simulate(Scenario.model_validate({"defaults": "1996", **scenario, "network": network}))
    # The last packet that the shaper released may still be in transmission.
    assert result.attainable_bps == pytest.approx(4e6 * payload / counted, rel=1e-3)
    assert 0.99 < result.efficiency <= 1
    assert result.flow_limits[0].link_busy > 0.99
    assert result.flow_limits[0].limited_by == "shaper"


def test_full_tcp_segment_has_the_length_that_cake_uses() -> None:
    """A packet of 1500 bytes and 40 of overhead takes 33 cells."""
    scenario = Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": "15 s",
            "warm_up": "5 s",
            "network": {"kind": "dumbbell", "sources": 4, "trunk_rate": "20 Mbit/s", "trunk_delay": "10 ms"},
            "switch": {
                "buffer": "1.25 MB",
                "policy": {"kind": "cake", "rate": "10 Mbit/s", "overhead": 40, "framing": "atm"},
            },
            "tcp": {"profile": "linux-6"},
        }
    )
    result = simulate(scenario)
    assert result.attainable_bps == pytest.approx(1e7 * 1448 / (33 * 53), rel=1e-3)
    assert 0.99 < result.efficiency <= 1


def test_capacity_unused_by_vbr_is_left_to_tcp() -> None:
    vbr = {"period": "300 ms", "duty": 0.9}
    changes = {"network.trunk_rate": "10 Mbit/s", "network.vbr": vbr, "duration": "10 s"}
    result = simulate(
        Scenario(defaults="1996").with_(**changes, **{"switch.scheduler": {"kind": "guaranteed-rate", "share": 0.5}})
    )
    classes = result.classes.set_index(["port", "class"])["cells_out"]["switch1->switch2"]
    # UBR is guaranteed half of the slots, although VBR would use 90 % of them.
    assert classes["vbr"] * 424 / 10 == pytest.approx(5e6, rel=0.05)
    assert result.attainable_bps == pytest.approx(SEGMENT * (1e7 - 424 * classes["vbr"] / 10))
    assert 0.95 < result.efficiency <= 1


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("geo-pep", "geo-acm")])
def test_uploads_have_the_efficiency_of_their_direction(name: str) -> None:
    changes = {"duration": "6 s", "network.group": [{"name": "up", "count": 2, "direction": "back"}]}
    result = simulate(Scenario.example(name).with_(**changes))
    used = result.ports.set_index("port")["utilization"]["switch2->switch1"]
    assert result.efficiency == result.efficiency_back == pytest.approx(result.total_bps / result.attainable_bps)
    # What the trunk sent, but for data in flight at the end, retransmissions and handshakes.
    assert 0.5 * used < result.efficiency <= used
    assert measure(result)["efficiency"] == result.efficiency
    assert "efficiency_back" not in names(result.scenario)


def test_mirrored_dumbbell_has_the_same_efficiency() -> None:
    def efficiency(direction: str) -> float:
        groups = [{"name": "bulk", "count": 3, "direction": direction}]
        return simulate(Scenario.from_toml(SYMMETRIC).with_(**{"network.group": groups})).efficiency

    assert efficiency("back") == efficiency("forth") > 0.8


def test_both_directions_have_an_efficiency_each(tmp_path: Path) -> None:
    groups = [{"name": "down"}, {"name": "up", "direction": "back"}]
    scenario = Scenario.from_toml(SYMMETRIC).with_(**{"network.group": groups})
    result = simulate(scenario)
    down, up = result.throughputs_bps
    assert result.efficiencies == {
        "efficiency": pytest.approx(down / result.attainable_bps),
        "efficiency_back": pytest.approx(up / result.attainable_bps),
    }
    assert names(scenario)[:3] == ["efficiency", "efficiency_back", "fairness"]
    assert json.loads(result.to_json())["efficiency_back"] == result.efficiency_back
    file = tmp_path / "both.toml"
    file.write_text(scenario.to_toml())
    shown = commands.run("run", file, "--no-store").stdout
    assert f"efficiency {result.efficiency:.4f}  switch1 to switch2: of what the trunk could carry" in shown
    assert f"efficiency {result.efficiency_back:.4f}  switch2 to switch1: of what the trunk could carry" in shown
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    planned = commands.run(
        "design", file, "--factor", "tcp.mss=1000 B,1448 B", "--run", "both", "--store", store
    ).stdout
    assert "efficiency back" in planned


def test_cell_aligned_segments_exceed_the_efficiency_of_full_ones() -> None:
    # 472 bytes plus 56 bytes of headers and trailers take 11 cells; a full segment of 500 bytes leaves 20 bytes of its
    # 12 cells empty.
    network = {"kind": "dumbbell", "sources": 60, "trunk_rate": "100 kbit/s", "access_rate": "100 Mbit/s"}
    fields = {
        "framing": "aal5",
        "duration": "2.8 s",
        "network": network,
        "traffic": {"kind": "transfer", "size": "472 B"},
    }
    scenario = Scenario.model_validate(
        {"defaults": "1996", **fields, "tcp": {"mss": "500 B"}, "switch": {"buffer": "unlimited"}}
    )
    result = simulate(scenario)
    assert list(result.part("flows")["short_bytes"]) == list(result.part("flows")["sent_bytes"])
    assert at_trunk(result, "utilization") > 0.99
    assert result.throughputs_bps.sum() > 1e5 * 500 / (12 * 53)
    assert 0.95 < result.efficiency <= 1


def test_schedule_overhead_carries_no_payload(tmp_path: Path) -> None:
    schedule = tmp_path / "down"
    schedule.write_text("1\n")
    result = over_ip("10 s", [call("20 Mbit/s", "1472 B")], path={"file": str(schedule)})
    # The capacity is 1504 bytes per millisecond, of which a packet of 1500 bytes uses 4 in addition to its length.
    assert result.attainable_bps == pytest.approx(8 * 1504 * 1000 * 1472 / 1504)
    assert result.efficiency == pytest.approx(1, abs=1e-3)
    assert result.efficiency <= 1


@settings(max_examples=examples(15, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mixes())
def test_efficiency_is_never_above_one(scenario: Scenario) -> None:
    result = simulate(scenario)
    assert math.isnan(result.efficiency) or 0 <= result.efficiency <= 1
    assert math.isnan(result.efficiency) == (result.attainable_bps == 0)
