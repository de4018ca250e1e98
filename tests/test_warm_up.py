"""Counters and means that exclude the start of a run."""

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe.design import Design, Factor
from longpipe.metrics.mser import truncation
from longpipe.store import Store
from longpipe.study import Study
from longpipe.units import TIME
from strategies import mixes, scenarios
from thorough import examples, one_in

WAN = Scenario(defaults="1996", name="wan").with_(
    **{
        "framing": "ip", "duration": "60 s", "network.sources": 1, "network.trunk_rate": "5 Mbit/s", "network.trunk_delay": "30 ms",
        "switch.buffer": "1 BDP", "tcp.profile": "linux-6",
    }
)  # fmt: skip
MIXED = Scenario.example("web-and-bulk").with_(
    **{
        "duration": "4 s",
        "traces.delay": True,
        "traces.arrivals": True,
        "network.group": [
            {"name": "web", "count": 2, "traffic": "web"}, {"name": "bulk"},
            {"name": "call", "traffic": {"kind": "cbr", "rate": "64 kbit/s"}},
        ],
    }
)  # fmt: skip


def mixed(warm_up: str, **changes: object) -> Result:
    return simulate(MIXED.with_(warm_up=warm_up, **changes))


def test_absent_warm_up_keeps_digest_and_results() -> None:
    plain = MIXED.with_(warm_up="0 s")
    assert "warm_up_ps" not in plain.resolved
    assert plain.digest() == MIXED.digest()
    for none in ("0 ms", "0s", "0.0 s"):
        assert MIXED.with_(warm_up=none).digest() == MIXED.digest()
    late = MIXED.with_(warm_up="1 s")
    assert late.digest() != MIXED.digest()
    # The core simulates the same run as without a warm-up.
    assert late.core_json() == MIXED.resolved_json() == MIXED.core_json()
    assert simulate(late).state_hash == simulate(MIXED).state_hash


@pytest.mark.parametrize("engine", ["trains", "reference"])
def test_counters_and_means_are_those_of_the_traces_after_the_instant(engine: str) -> None:
    whole, late = (mixed(warm_up, engine=engine) for warm_up in ("0 s", "1.5 s"))
    delay, arrivals = whole.traces["delay"], whole.traces["arrivals"]
    left = delay[(delay["time_s"] >= 1.5) & (delay["port"] == "switch1->switch2")]
    port = late.ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_out"] == len(left) > 100
    assert port["queueing_delay_mean_s"] == pytest.approx(left["delay_s"].mean())
    assert port["queueing_delay_p95_s"] == np.sort(left["delay_s"])[math.ceil(0.95 * len(left)) - 1]
    # The utilization is transmitted bits divided by the capacity of the trunk.
    assert port["utilization"] == pytest.approx(8 * port["bytes_out"] / 2.5 / 50e6, rel=2e-3)
    early = simulate(MIXED.with_(duration="1.5 s", engine=engine))
    mean, area, first = (frame.ports.set_index("port")["mean_queue_packets"] for frame in (late, whole, early))
    trunk = "switch1->switch2"
    assert 2.5 * float(mean[trunk]) + 1.5 * float(first[trunk]) == pytest.approx(4 * float(area[trunk]))
    for flow, row in late.flows.set_index("flow").iterrows():
        received = arrivals[(arrivals["flow"] == flow) & (arrivals["time_s"] >= 1.5)]["bytes"].sum()
        if flow != "call":
            # Data is delivered in order, so data after a missing segment has not been delivered.
            assert row["delivered_bytes"] == pytest.approx(received, abs=2e5)
        assert row["throughput_bps"] == row["delivered_bytes"] * 8 / 2.5
    (call,), (all_of_call,) = (frame.datagrams.to_dict("records") for frame in (late, whole))
    assert 0 < call["received"] < all_of_call["received"]
    assert (late.files["requested_s"] >= 1.5).all()
    assert len(late.files) == (whole.files["requested_s"] >= 1.5).sum() > 0
    assert late.measured_s == 2.5
    assert 0 < late.fairness <= 1


def test_engines_agree_after_a_warm_up() -> None:
    one, other = (mixed("automatic", engine=engine) for engine in ("trains", "reference"))
    assert json.loads(one.to_json())["flows"] == json.loads(other.to_json())["flows"]
    assert one.part("warm_up") == other.part("warm_up")
    assert one.part("ports").keys() == other.part("ports").keys()
    assert set(one.traces) == {"delay", "arrivals"}


def test_data_sent_before_warm_up_do_not_raise_efficiency() -> None:
    # The warm-up ends in a recovery: data that waits for a missing segment is delivered after the warm-up.
    late = simulate(Scenario.example("geo").with_(duration="20 s", warm_up="10 s", **{"traces.delay": True}))
    assert late.total_bps > late.attainable_bps
    delay = late.traces["delay"]
    left = delay[(delay["time_s"] >= 10) & (delay["port"] == "switch1->switch2")]
    mss = int(late.scenario.tcp.mss.split()[0])
    # Full segments, as the trace of the trunk has them.
    assert late.efficiency == pytest.approx(8 * mss * len(left) / 10 / late.attainable_bps, rel=1e-9)
    assert 0.99 < late.efficiency < 1


def test_proxy_buffer_does_not_count_as_trunk_throughput() -> None:
    late = simulate(Scenario.example("geo-pep").with_(duration="6 s", warm_up="3 s"))
    assert 0 < late.efficiency <= 1
    assert late.part("relays")["held_buffer_bytes"]


def test_quantiles_of_datagrams_are_those_of_the_packets_received_after_the_instant() -> None:
    # Datagrams at 1 Mbit/s on the wire, without other traffic, over a link with 500 kbit/s in the first 2 s and 5
    # Mbit/s afterwards.
    call = {"name": "call", "traffic": {"kind": "cbr", "rate": "1 Mbit/s", "payload": "972 B"}}
    network = {
        "kind": "dumbbell",
        "path": {"rate": [["0 s", "500 kbit/s"], ["2 s", "5 Mbit/s"]]},
        "group": [call],
        "access_rate": "1 Gbit/s",
        "access_delay": "0 s",
        "trunk_delay": "20 ms",
        "exit_delay": "0 s",
    }
    fields = {"framing": "ip", "duration": "6 s", "network": network, "switch": {"buffer": "2 packets"}}

    def row(**changes: str) -> dict[str, float]:
        (found,) = simulate(Scenario.model_validate({"defaults": "1996", **fields, **changes})).datagrams.to_dict(
            "records"
        )
        return {str(name): value for name, value in found.items()}

    whole, late = row(), row(warm_up="3 s")
    # The delay is two transmissions of 1000 bytes at 1 Gbit/s, one at 5 Mbit/s, and the trunk's delay.
    delay = whole["min_delay_s"]
    assert delay == pytest.approx(2 * 8e-6 + 1.6e-3 + 20e-3, rel=1e-9)
    assert whole["p95_delay_s"] > delay + 14e-3
    for name in ("mean_delay_s", "median_delay_s", "p95_delay_s", "p99_delay_s"):
        assert late[name] == pytest.approx(delay, rel=1 / 512), name
    assert late["jitter_s"] == whole["jitter_s"]
    # No packet follows the last one.
    assert math.isnan(row(warm_up="5999 ms")["median_delay_s"])


def test_utilization_uses_the_varying_capacity_after_warm_up() -> None:
    # Datagrams at 1 Mbit/s on the wire: twice the link's rate in the first 2 s, and a fifth of its rate afterwards.
    group = {"name": "call", "traffic": {"kind": "cbr", "rate": "1 Mbit/s", "payload": "972 B"}}
    network = {
        "path": {"rate": [["0 s", "500 kbit/s"], ["2 s", "5 Mbit/s"]]},
        "group": [group],
        "access_rate": "1 Gbit/s",
    }
    fields = {
        "framing": "ip",
        "duration": "10 s",
        "network": {"kind": "dumbbell", **network},
        "switch": {"buffer": "2 packets"},
    }

    def used(**changes: str) -> float:
        ports = simulate(Scenario.model_validate({"defaults": "1996", **fields, **changes})).part("ports")
        return float(ports["utilization"][list(ports["port"]).index("switch1->switch2")])

    assert used(warm_up="2 s") == pytest.approx(0.2, abs=0.001)
    assert used(duration="2 s") == pytest.approx(1, abs=0.01)
    # 1 Mbit of the first 41 Mbit, and 8 Mbit of the others.
    assert used() == pytest.approx(9 / 41, abs=0.001)
    assert used(warm_up="1 s", duration="2 s") == pytest.approx(1, abs=0.01)


@settings(max_examples=examples(40, 2000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(mixes(), scenarios()), st.sampled_from([0.01, 0.3, 0.5, 0.97]), st.sampled_from(["trains", "reference"])
)
def test_shares_and_means_are_valid_after_any_warm_up(scenario: Scenario, part: float, engine: str) -> None:
    warm_up_ps = int(part * TIME.parse(scenario.duration))
    result = simulate(scenario.with_(warm_up=f"{warm_up_ps} ps", engine=engine))
    for share in (result.efficiency, result.fairness):
        assert math.isnan(share) or 0 <= share <= 1
    unit = "packets" if scenario.framing == "ip" else "cells"
    for name in result.part("ports")["port"]:
        for quantity in ("utilization", "loss"):
            share = result.measure(f"port:{name}.{quantity}")
            assert math.isnan(share) or 0 <= share <= 1, (name, quantity)
    ports, datagrams = result.part("ports"), result.part("datagrams")
    for mean, peak in zip(ports[f"mean_queue_{unit}"], ports[f"peak_queue_{unit}"], strict=True):
        assert math.isnan(mean) or 0 <= mean <= peak
    for rows in zip(*(datagrams[f"{name}_delay_s"] for name in ("min", "mean", "max")), strict=True):
        assert any(map(math.isnan, rows)) or rows[0] <= rows[1] <= rows[2]
    for table in ("flows", "ports", "datagrams"):
        for name, column in result.part(table).items():
            assert all(value >= 0 for value in column if isinstance(value, int)), (table, name)
    for one in result.flow_limits:
        assert all(
            0 <= share <= 1 for share in (one.link_busy, one.window_used, one.idle, one.return_link_busy, one.acks_lost)
        )


def test_stored_run_has_equal_means() -> None:
    late = MIXED.with_(warm_up="automatic")
    store, result = Store(), simulate(late)
    store.keep(result)
    stored = store.require(late, 1)
    assert stored.warm_up == result.warm_up != ""
    assert "chosen by MSER-5 from the goodput of all flows in 1000 intervals" in result.warm_up
    assert (stored.efficiency, stored.fairness, stored.total_bps) == (
        result.efficiency,
        result.fairness,
        result.total_bps,
    )
    factor = Factor.over("warm_up", ["0 s", "1 s", "automatic"], "warm_up")
    study = Study(Design.full_factorial(MIXED, [factor]))
    study.run(workers=1)
    assert study.frame()["efficiency"].nunique() == 3


def test_mser_leaves_out_the_transient_and_rejects_a_trend() -> None:
    # Computed by hand: the batch means are 9, 5, 1, 1, 1, 1, 1, 1; without the first two, the error is zero.
    assert truncation(np.repeat([9.0, 5, 1, 1, 1, 1, 1, 1], 5)) == (10, True)
    assert truncation(np.full(40, 3.0)) == (0, True)
    assert truncation(np.arange(200.0)) == (100, False)
    noisy = np.random.default_rng(1).normal(10, 1, 1000)
    left_out, stationary = truncation(noisy - 9 * np.exp(-np.arange(1000) / 40))
    assert stationary
    assert 50 <= left_out <= 300
    with pytest.raises(ValueError, match="needs at least 20"):
        truncation(np.zeros(19))


@pytest.mark.parametrize(
    ("warm_up", "problem"),
    [
        ("4 s", "warm_up: 4 s; needs less than the duration, 4 s, or 'automatic'"),
        ("soon", "warm_up: 'soon'; accepts ps, ns, us, ms, s, min, h, as in '5 ms', or 'automatic'"),
        (1, "warm_up: 1 has no unit"),
        ("-1 s", "warm_up: -1 s; needs 0 s to 2400 h, or 'automatic'"),
    ],
)
def test_invalid_warm_up_is_rejected_in_one_line(warm_up: object, problem: str) -> None:
    with pytest.raises(ScenarioError) as error:
        MIXED.with_(warm_up=warm_up)
    assert str(error.value).startswith(problem)
    assert len(error.value.problems) == 1


def test_run_that_never_leaves_the_warm_up_is_reported() -> None:
    # With an RTT of 600 ms, slow start takes the whole run.
    short = simulate(Scenario.example("geo").with_(duration="4 s", warm_up="automatic"))
    assert short.measured_s == 2
    assert "not stationary" in short.warm_up
    assert any("not stationary" in line for line in short.warnings)


DELAYS = ("10 ms", "30 ms", "60 ms", "100 ms")
FOUR = {"network.sources": 4, "start": {"kind": "random", "over": "5 s"}}
CASES = [
    {**changes, "network.trunk_delay": delay}
    for changes in (
        {"tcp.congestion": "linux-reno"},
        {"tcp.congestion": "bbr"},
        {"tcp.congestion": "bbr3"},
        {**FOUR, "tcp.congestion": "cubic"},
        {**FOUR, "framing": "aal5", "tcp.congestion": "linux-reno"},
    )
    for delay in DELAYS
]


def test_automatic_warm_up_gives_the_mean_of_a_longer_run() -> None:
    deviations, cases = [], one_in(len(CASES), CASES)
    for changes in cases:
        scenario = WAN.with_(**changes)
        found = simulate(scenario.with_(warm_up="automatic", **{"traces.cwnd": True, "traces.control": True}))
        begin = found.part("warm_up")["begin_s"][0]
        cwnd, control = found.traces["cwnd"], found.traces["control"]
        # This is independent of the code under test: cwnd above ssthresh, or a state of BBR other than startup.
        if (control["stage"].dropna() == "startup").any():
            end = control.loc[control["stage"].notna() & (control["stage"] != "startup"), "time_s"].min()
        else:
            end = cwnd.loc[cwnd["cwnd_bytes"] >= cwnd["ssthresh_bytes"], "time_s"].min()
        assert begin >= end or not found.part("warm_up")["stationary"][0]
        long = simulate(scenario.with_(duration="600 s", warm_up="60 s"))
        deviations.append(abs(found.total_bps / long.total_bps - 1))
    assert sum(one < 0.01 for one in deviations) >= 0.9 * len(cases), dict(
        zip(map(str, cases), deviations, strict=True)
    )
