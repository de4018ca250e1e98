"""Adaptive video: a player requests chunks from a bitrate ladder, one after another."""

import math
from typing import Any

import pytest

from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe.measures.named import NamedMeasure

# Length of a segment's headers without options [bytes].
HEADERS = 40
RATE_BPS, DELAY_S, MSS, REQUEST = 10e6, 20e-3, 1000, 100


def video(duration: str = "20 s", rate: str = "10 Mbit/s", **traffic: object) -> Scenario:
    """Returns a player over three links with equal rates, the second of which has the delay; no window limits it."""
    return Scenario(defaults="1996").with_(
        framing="ip",
        duration=duration,
        network={
            "kind": "dumbbell",
            "trunk_rate": rate,
            "trunk_delay": f"{DELAY_S} s",
            "access_rate": rate,
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "group": [
                {
                    "name": "tv",
                    "traffic": {"kind": "adaptive-video", "chunk": "2 s", "request": f"{REQUEST} B", **traffic},
                }
            ],
        },
        switch={"buffer": "unlimited"},
        tcp={"mss": f"{MSS} B", "receiver_window": "64 MiB", "initial_window": "100000 segments"},
    )


def chunk_s(bits: float, rate_bps: float = RATE_BPS, *, follows: bool = False) -> float:
    """Returns the time from request to last byte of a chunk of whole segments, over three links in each direction.

    The ACK of the request precedes the chunk. A request that directly `follows` a chunk waits for that chunk's last
    ACK.
    """
    packet_s, ack_s = 8 * (MSS + HEADERS) / rate_bps, 8 * HEADERS / rate_bps
    request_s = 3 * 8 * (REQUEST + HEADERS) / rate_bps + DELAY_S
    return request_s + (1 + follows) * ack_s + DELAY_S + (bits / 8 / MSS + 2) * packet_s


@pytest.mark.parametrize("engine", ["trains", "reference"])
def test_chunks_over_an_idle_path_arrive_at_computed_times(engine: str) -> None:
    ladder = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]
    rule = {"kind": "throughput", "safety": 0.6}
    scenario = video(ladder=ladder, buffer="8 s", rule=rule).with_(engine=engine)
    result = simulate(scenario)
    # The first chunk takes 0.25 s, so that its throughput is 8 Mbit/s; 0.6 of this is above the highest bitrate.
    assert 0.6 * 2e6 / chunk_s(2e6) > 4e6
    now, buffered, wait = 0.0, 0.0, 1.0
    expected: list[tuple[float, float, float]] = []
    while now < 20:
        bits = 2e6 if not expected else 8e6
        took = chunk_s(bits, follows=wait == 0)
        arrival = now + took
        expected.append((now, arrival, bits / 2))
        buffered = max(0.0, buffered - took) + 2
        wait = max(0.0, buffered + 2 - 8)
        now, buffered = arrival + wait, buffered - wait
    chunks = result.chunks
    assert len(chunks) == len(expected) > 8
    requests, arrivals, rates = map(list, zip(*expected, strict=True))
    assert chunks["requested_s"].tolist() == pytest.approx(requests, abs=1e-9)
    assert chunks["bitrate_bps"].tolist() == rates
    arrivals = [arrival if arrival < 20 else math.nan for arrival in arrivals]
    assert chunks["completed_s"].tolist() == pytest.approx(arrivals, abs=1e-9, nan_ok=True)
    (own,) = result.videos.to_dict("records")
    assert (own["chunks"], own["switches"], own["stalls"], own["stalled_s"]) == (len(expected), 1, 0, 0)
    assert own["startup_s"] == pytest.approx(chunk_s(2e6), abs=1e-9)
    assert own["played_s"] == pytest.approx(20 - chunk_s(2e6), abs=1e-9)
    received = sum(arrival < 20 for _, arrival, _ in expected)
    assert own["received"] == received
    assert own["mean_bitrate_bps"] == pytest.approx((1e6 + 4e6 * (received - 1)) / received)


def test_a_bitrate_above_the_link_s_rate_stalls_at_each_chunk() -> None:
    result = simulate(video(rate="3 Mbit/s", ladder=["4 Mbit/s"], duration="30 s"))
    # 8 Mbit plus headers take 2.8 s to transmit, but contain 2 s of video.
    first, took = chunk_s(8e6, 3e6), chunk_s(8e6, 3e6, follows=True)
    received = 1 + math.floor((30 - first) / took)
    rest = 30 - first - (received - 1) * took
    (own,) = result.videos.to_dict("records")
    assert own["received"] == received
    assert own["stalls"] == received - 1 + (rest > 2)
    stalled = (received - 1) * (took - 2) + max(0, rest - 2)
    assert own["stalled_s"] == pytest.approx(stalled, abs=1e-9)
    assert result.measure("video:tv.stalled") == pytest.approx(stalled / (30 - first))
    assert result.measure("tv.bitrate") == 4e6
    assert NamedMeasure.parse("tv.startup")(result) == pytest.approx(first, abs=1e-9)


@pytest.mark.parametrize("seconds", range(60, 64))
def test_player_that_always_waits_is_limited_by_the_network(seconds: int) -> None:
    # At 2 Mbit/s, a video of 4 Mbit/s needs all of the time; at 20 Mbit/s, about a fifth of it. The chunk that is in
    # transfer at the end does not matter.
    ladder = ["4 Mbit/s"]
    slow, fast = (
        simulate(video(f"{seconds} s", rate, ladder=ladder, buffer="8 s")) for rate in ("2 Mbit/s", "20 Mbit/s")
    )
    # The access link is as slow as the trunk, so that a faster trunk alone does not help.
    assert [one.limited_by for one in (*slow.flow_limits, *fast.flow_limits)] == ["not determined", "application"]
    assert slow.videos["downloading_s"].tolist() == pytest.approx([seconds], abs=1e-9)
    chunks = fast.chunks
    took = chunks["completed_s"].fillna(seconds) - chunks["requested_s"]
    assert fast.videos["downloading_s"].tolist() == pytest.approx([took.sum()], abs=1e-9)


def test_stopped_player_empties_its_buffer() -> None:
    base = video(ladder=["1 Mbit/s"], buffer="8 s")
    result = simulate(base.with_(stop={"kind": "at", "at": "5 s"}))
    (own,) = result.videos.to_dict("records")
    assert (result.chunks["requested_s"] < 5).all()
    assert own["chunks"] == own["received"]
    assert own["played_s"] == pytest.approx(2 * own["received"])
    assert own["stalled_s"] == own["stalls"] == 0


def test_competing_cubic_flow_lowers_the_bitrate() -> None:
    alone = video(duration="60 s").with_(**{"tcp": {"profile": "linux-6"}, "switch.buffer": "1 BDP"})
    groups = [*alone.model_dump()["network"]["group"], {"name": "bulk", "count": 4, "tcp": {"congestion": "cubic"}}]
    shared = alone.with_(**{"network.group": groups})
    rates = [simulate(scenario).measure("video:tv.bitrate") for scenario in (alone, shared)]
    assert rates[1] < 0.8 * rates[0]


def test_warm_up_is_excluded_from_bitrate_and_stalls() -> None:
    base = video(rate="3 Mbit/s", ladder=["4 Mbit/s"], duration="30 s")
    whole, late = (simulate(base.with_(warm_up=warm_up)) for warm_up in ("0 s", "10 s"))
    early = simulate(base.with_(duration="10 s"))

    def row(result: Result) -> dict[str, float]:
        return {str(name): value for name, value in result.videos.to_dict("records")[0].items()}

    for name in ("chunks", "received", "stalls", "stalled_s", "played_s", "downloading_s"):
        assert row(late)[name] == pytest.approx(row(whole)[name] - row(early)[name], abs=1e-9)
    assert row(late)["mean_bitrate_bps"] == pytest.approx(4e6)
    assert (late.chunks["requested_s"] >= 10).all()


@pytest.mark.parametrize(
    ("traffic", "problem"),
    [
        ({"ladder": []}, "network.group[0].traffic.ladder: []; needs 1 items"),
        ({"ladder": ["1 bit/s"]}, "network.group[0].traffic.ladder[0]: 1 bit/s; needs 1 kbit/s to 10 Gbit/s"),
        ({"ladder": ["2 Mbit/s", "1 Mbit/s"]}, "network.group[0].traffic.ladder: 2 Mbit/s, 1 Mbit/s; needs ascending"),
        ({"chunk": "1 ms"}, "network.group[0].traffic.chunk: 1 ms; needs 100 ms to 100 s"),
        ({"buffer": "1 s"}, "network.group[0].traffic.buffer: 1 s; needs at least chunk, 2 s"),
        ({"rule": "mpc"}, "network.group[0].traffic.rule"),
        ({"rule": {"kind": "throughput", "chunks": 0}}, "network.group[0].traffic.rule.chunks: 0;"),
    ],
)
def test_bad_fields_are_rejected_in_one_line(traffic: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError) as error:
        video(**traffic)
    assert str(error.value).startswith(problem)
    assert len(error.value.problems) == 1


def test_video_measures_need_a_video_flow() -> None:
    with pytest.raises(ScenarioError, match="no video 'flow1'"):
        NamedMeasure.parse("video:flow1.bitrate").check(Scenario(defaults="1996").with_(framing="ip"))
