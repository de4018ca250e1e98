"""The encoder of `media` follows the congestion control: SCReAMv2's frames have short delays over L4S."""

from collections.abc import Mapping
from typing import Any

import pytest

import media_witness
from longpipe import Result, Scenario, simulate

L4S = {"kind": "accurate", "ect": 1}
# The pacing of the draft for frames.
SCREAM = {"congestion": {"kind": "scream", "pacing_headroom": 1.5}, "ecn": L4S}


def run(
    tcp: dict[str, Any],
    rate: str = "10 Mbit/s",
    traffic: dict[str, Any] | None = None,
    changes: Mapping[str, object] | None = None,
) -> Result:
    """Returns a source of media over a path of 25 ms, with 50 frames per second as in the simulator of SCReAM's authors."""
    media = {"kind": "media", "min_rate": "100 kbit/s", "max_rate": "20 Mbit/s", **(traffic or {})}
    scenario = Scenario(
        framing="ip",
        duration="40 s",
        warm_up="20 s",
        network={
            "kind": "dumbbell",
            "access_rate": "1 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_rate": rate,
            "trunk_delay": "12.5 ms",
            "group": [{"name": "call", "traffic": media}],
        },
        switch={"buffer": "200 ms", "policy": "dualpi2"},
        tcp={"profile": "linux-6", **tcp},
    )
    return simulate(scenario.with_(**(changes or {})), 1)


def test_witness_table_is_that_of_independent_program() -> None:
    lines = media_witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [media_witness.HEADER, *media_witness.rows()]


def encoded_mbps(result: Result) -> float:
    """Returns the bitrate of the frames after the warm-up of 20 of 40 s."""
    return float(8 * result.media["frame_bytes"].iloc[0] / 20 / 1e6)


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_scream_alone_uses_most_of_the_link_with_short_frame_delays(spread: float) -> None:
    result = run(SCREAM, traffic={"spread": spread})
    # The target is 1 / 1.2 of the reference window per RTT, and 1000 / 1020 of it is payload, without compensations.
    assert 0.6 * 10 < encoded_mbps(result) < 0.82 * 10
    row = result.media.iloc[0]
    # A frame takes 12.5 ms, and, sent at 1.5 times the target, up to two thirds of the 20 ms between frames.
    assert 0.0125 < row["mean_delay_s"] < 0.0125 + 0.020
    assert row["late"] == 0


def test_encoder_has_a_frame_every_20_ms_and_stops_at_its_maximum() -> None:
    result = run(SCREAM, traffic={"max_rate": "3 Mbit/s"})
    row = result.media.iloc[0]
    assert row["frames"] == 20 / 0.02
    assert encoded_mbps(result) == pytest.approx(3, rel=0.001)
    assert row["received"] == pytest.approx(row["frames"], abs=2)


def test_stopped_source_is_complete_when_its_data_have_arrived() -> None:
    result = run(SCREAM, changes={"stop": {"kind": "at", "at": "5.01 s"}, "warm_up": "0 s"})
    assert result.media["frames"].iloc[0] == 251
    assert 5.01 < result.flows["completion_s"].iloc[0] < 5.1


def test_link_below_the_minimum_rate_makes_frames_late() -> None:
    result = run(SCREAM, "300 kbit/s", traffic={"min_rate": "600 kbit/s"})
    assert result.media["late"].iloc[0] > 0.9 * result.media["received"].iloc[0] > 0


def test_frames_of_scream_arrive_sooner_than_those_of_cubic() -> None:
    tail_drop = {"switch.policy": "tail-drop"}
    delays = [
        run(tcp, changes=tail_drop).media["mean_delay_s"].iloc[0]
        for tcp in ({"congestion": {"kind": "scream", "pacing_headroom": 1.5}}, {"congestion": "cubic"})
    ]
    assert delays[0] < 0.5 * delays[1]


def test_rate_follows_the_capacity() -> None:
    before, after = (encoded_mbps(run(SCREAM, rate)) for rate in ("10 Mbit/s", "2 Mbit/s"))
    assert 3 < before / after < 7


def test_both_engines_agree() -> None:
    scenario = run(SCREAM, traffic={"spread": 0.5}).scenario.with_(duration="5 s", warm_up="0 s")
    fast, reference = simulate(scenario, 1), simulate(scenario.with_(engine="reference"), 1)
    assert fast.state_hash == reference.state_hash
    assert fast.media.equals(reference.media)


def test_proxy_does_not_split_media() -> None:
    with_proxy = run(SCREAM, changes={"network.pep": {"buffer": "1 MB"}})
    assert with_proxy.media.equals(run(SCREAM).media)


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ({"frame": "0 s"}, "traffic.frame: 0 s"),
        ({"spread": 1}, "traffic.spread: 1"),
        (
            {"min_rate": "5 Mbit/s", "max_rate": "1 Mbit/s"},
            "traffic.max_rate: 1 Mbit/s; needs at least min_rate, 5 Mbit/s",
        ),
    ],
)
def test_invalid_fields_are_one_line(traffic: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        run(SCREAM, traffic=traffic)
    assert "\n" not in str(error.value)
