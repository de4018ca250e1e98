"""Applications with a rate, and flows with stop times: resolved fields, errors, demands and limits."""

from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate


def _scenario(**fields: Any) -> Scenario:  # noqa: ANN401 - parts of a scenario
    network = {"kind": "dumbbell", "sources": 2, "trunk_rate": "10 Mbit/s"}
    common: dict[str, Any] = {"framing": "ip", "duration": "10 s", "network": network}
    return Scenario(defaults="1996", **{**common, "switch": {"buffer": "100 packets"}, **fields})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"stop": {"kind": "at", "at": "0 s"}},
            "stop of flow 'flow1'.at: 0 ps; needs more than the start, 0 ps",
        ),
        (
            {"start": {"kind": "staggered", "interval": "1 s"}, "stop": {"kind": "at", "at": "1 s"}},
            "stop of flow 'flow2'.at: 1 s; needs more than the start, 1 s",
        ),
        ({"stop": "10 s"}, "stop: '10 s'; accepts at, after"),
        (
            {"traffic": {"kind": "stream", "rate": "1 Mbit/s", "write": "0 B"}},
            "traffic.write: 0 B; needs 1 B to 1 GiB",
        ),
        (
            {"traffic": {"kind": "stream", "rate": "10 Tbit/s", "write": "1 B"}, "duration": "2400 h"},
            "traffic.write: 1 B; needs at least 8.64 ms, a billionth of the duration, 2400 h",
        ),
        (
            {"traffic": {"kind": "stream", "rate": "1 kbit/s", "bursts": {"on": "1 us", "off": "0 s"}}},
            "traffic.bursts.on: 1 us and 0 s off; needs a sum of at least 4.096 s, the transmission time of a write at the rate",
        ),
        (
            {"traffic": {"kind": "stack", "stack": "quinn"}, "stop": {"kind": "at", "at": "1 s"}},
            "stop of flow 'flow1': set; needs traffic without a real stack, which ends after its size",
        ),
    ],
)
def test_a_bad_stream_or_stop_is_rejected_in_one_line(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        _scenario(**fields).resolve()
    assert str(refused.value) == problem


def test_stream_below_the_path_rate_is_limited_by_the_application() -> None:
    traffic = {"kind": "stream", "rate": "2 Mbit/s"}
    result = simulate(_scenario(traffic=traffic, stop={"kind": "after", "after": "5 s"}))
    assert [one.limited_by for one in result.flow_limits] == ["application"] * 2
    # At 2 Mbit/s for half of the run, there are 2442 segments of 512 bytes: write 2441 is at 4.9992 s, and the next one
    # would be at 5.0012 s.
    assert list(result.streams["written_bytes"]) == [2442 * 512] * 2
    assert list(result.demands_bps) == [2442 * 512 * 8 / 10] * 2
    assert list(result.flows["sent_segments"]) == [2442, 2442]
    assert list(result.flows["completion_s"]) == pytest.approx([5.0, 5.0], abs=1e-3)


@pytest.mark.parametrize("times", ["exponential", "pareto"])
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_demand_of_random_bursts_is_the_written_data(times: str, seed: int) -> None:
    bursts = {"on": "1 s", "off": "2 s", "times": times}
    traffic = {"kind": "stream", "rate": "2 Mbit/s", "bursts": bursts}
    groups = [{"name": "bulk", "count": 2}, {"name": "bursts", "traffic": traffic}]
    base = _scenario(duration="60 s", warm_up="10 s", tcp={"profile": "linux-6"}).with_(
        **{"network.group": groups, "switch.policy": "fq-codel"}
    )
    result = simulate(base, seed=seed)
    limits = {one.flow: one.limited_by for one in result.flow_limits}
    assert limits["bursts"] == "application"
    (written,) = result.streams["written_bytes"]
    (delivered,) = result.flows.loc[result.flows["flow"] == "bursts", "delivered_bytes"]
    before = dict(zip(result.part("warm_up")["flow"], result.part("warm_up")["delivered_before_bytes"], strict=True))
    assert written == delivered + before["bursts"]
    assert result.demands_bps[2] == delivered * 8 / 50
    # Equal shares of what the bursts leave, and all that the bursts need.
    assert result.fairness > 0.999


def test_bursts_may_exceed_the_link_despite_a_lower_mean() -> None:
    bursts = {"on": "2 s", "off": "8 s", "times": "fixed"}
    tcp = {"receiver_window": "64 KB"}
    scenario = _scenario(traffic={"kind": "stream", "rate": "20 Mbit/s", "bursts": bursts}, tcp=tcp, duration="3 s")
    result = simulate(scenario.with_(**{"network.sources": 1, "switch.buffer": "1 MB"}))
    (limit,) = result.flow_limits
    assert limit.limited_by == "link"
    # The mean over many bursts is less than the rate of the link.
    assert 20e6 * 2 / 10 < result.total_bps < 10e6


def test_data_in_flight_are_not_evidence_of_a_slow_network() -> None:
    bursts = {"on": "100 ms", "off": "9.9 s", "times": "fixed"}
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s", "trunk_delay": "300 ms"}
    # The fifth burst begins 0.3 s before the end.
    scenario = _scenario(
        traffic={"kind": "stream", "rate": "2 Mbit/s", "bursts": bursts}, network=network, duration="40.3 s"
    )
    result = simulate(scenario)
    (written,), (delivered,) = result.streams["written_bytes"], result.flows["delivered_bytes"]
    assert delivered < 0.9 * written
    assert [one.limited_by for one in result.flow_limits] == ["application"]


def test_stream_above_the_path_rate_is_limited_by_the_link() -> None:
    # Both windows fit in the buffer.
    tcp = {"receiver_window": "20 KB"}
    result = simulate(_scenario(traffic={"kind": "stream", "rate": "20 Mbit/s"}, tcp=tcp))
    assert {one.limited_by for one in result.flow_limits} == {"link"}
    assert result.total_bps == pytest.approx(10e6 * 512 / 552, rel=0.01)
