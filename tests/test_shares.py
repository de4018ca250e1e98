from functools import cache

import numpy as np
import pandas as pd
import pytest

from longpipe import Result, Scenario, simulate
from longpipe.pictures.events import loss_repairs
from longpipe.pictures.recorded import Recorded
from longpipe.pictures.share_of_time import CAUSES, time_shares
from longpipe.result import duration_s

HELD: dict[str, tuple[dict[str, object], str]] = {
    "small window": ({"tcp.receiver_window": "64 KiB"}, "receiver's window"),
    "large window": ({"switch.buffer": "2 BDP"}, "congestion window"),
    "short transfer": ({"traffic": {"kind": "transfer", "size": "100 KB"}}, "congestion window"),
    "slow application": ({"traffic": {"kind": "stream", "rate": "100 kbit/s"}}, "application"),
    "paced": ({"tcp.congestion": "bbr", "network.sources": 1}, "pacing"),
    "slow recovery": (
        {"tcp.recovery": "newreno", "tcp.congestion": "aimd", "switch.buffer": "0.5 BDP", "network.sources": 1},
        "loss recovery",
    ),
}


@cache
def run(path: str) -> Result:
    traces = {"traces.cwnd": True, "traces.sequence": True, "traces.events": True}
    return simulate(Scenario.example("geo").with_(duration="30 s", **HELD[path][0], **traces))


@pytest.mark.parametrize("path", HELD)
def test_largest_share_is_named_and_shares_add_up(path: str) -> None:
    found = time_shares(run(path), "flow1")
    assert list(found.index) == list(CAUSES)
    assert found.sum() == pytest.approx(1)
    assert found.idxmax() == HELD[path][1]
    assert found.max() > 0.6


def test_recovery_lasts_from_fast_retransmit_to_full_acknowledgment() -> None:
    result = run("slow recovery")
    (begin_s, end_s), *_ = loss_repairs(result, "flow1")
    rows = result.traces["sequence"].query("flow == 'flow1'")
    again = rows[(rows["event"] == 0) & rows["retransmission"].astype(bool)]
    assert begin_s == again["time_s"].iloc[0]
    assert end_s == 30.0
    share = time_shares(result, "flow1")["loss recovery"]
    sent = rows.loc[rows["event"] == 0, "time_s"].iloc[0]
    assert share == pytest.approx((end_s - begin_s) / (30.0 - sent))


def test_shares_of_a_transfer_end_with_its_last_segment() -> None:
    short = run("short transfer")
    longer = Recorded(short.scenario.with_(duration="300 s"), short.traces)
    assert time_shares(longer, "flow1").equals(time_shares(short, "flow1"))
    assert short.limits["limited_by"].eq("slow start").all()
    assert "the transfer is too short for the round trip" in repr(short)


def test_flow_without_data_has_no_shares() -> None:
    result = run("small window")
    traces = {name: frame[frame["flow"] == "flow2"] for name, frame in result.traces.items()}
    assert time_shares(Recorded(result.scenario, traces), "flow1").isna().all()


def flight_shares(result: Result) -> dict[str, float]:
    """Returns the shares of time that the trace `flight` shows for flow1, from its first segment to its last, or the run's end."""
    rows, sent = (result.traces[name].query("flow == 'flow1'") for name in ("flight", "sequence"))
    times = sent.query("event == 0")["time_s"]
    has_completed = result.flows["completion_s"].notna().iloc[0]
    end_s = times.iloc[-1] if has_completed else duration_s(result.scenario)
    spans = np.diff([*rows["time_s"].clip(times.iloc[0], end_s), end_s])
    shares = pd.Series(spans).groupby(rows["limited_by"].astype(str).to_numpy()).sum() / spans.sum()
    names = {"cwnd": "congestion window", "receiver-window": "receiver's window"}
    return {names.get(name, name): share for name, share in shares.items()}


@pytest.mark.parametrize("with_control", [True, False])
@pytest.mark.parametrize(
    "changes",
    [
        {
            "tcp.congestion": "prague",
            "tcp.ecn": {"kind": "accurate", "ect": 1},
            "switch": {"buffer": "1000 packets", "policy": "dualpi2"},
        },
        {"tcp.congestion": "bbr"},
        {"tcp.congestion": "bbr3"},
        {"tcp.congestion": "copa"},
        {"tcp.congestion": "cubic", "tcp.pacing": True},
        {"tcp.congestion": "cubic"},
        {"tcp.congestion": "bbr", "traffic": {"kind": "transfer", "size": "5 MB"}},
    ],
    ids=["prague", "bbr", "bbr3", "copa", "paced cubic", "cubic", "bbr transfer"],
)
def test_pacing_share_agrees_with_the_flight_trace(changes: dict[str, object], with_control: bool) -> None:
    base = Scenario.from_toml("""
        framing = "ip"
        duration = "5 s"
        network = { kind = "dumbbell", sources = 1, access_rate = "1 Gbit/s", trunk_rate = "50 Mbit/s", trunk_delay = "10 ms" }
        switch = { buffer = "unlimited" }
        tcp = { profile = "linux-6" }
        """)
    names = ["cwnd", "sequence", "events", "flight", *["control"] * with_control]
    result = simulate(base.with_(**changes, **{f"traces.{name}": True for name in names}))
    by_hand = flight_shares(result)
    found = time_shares(result, "flow1")
    # No packet is lost, so that only windows, the pacer and the application hold the flow back.
    assert {**dict.fromkeys(CAUSES, 0.0), **by_hand} == pytest.approx(found.to_dict(), abs=0.002)
    assert (found["pacing"] > 0) == (changes != {"tcp.congestion": "cubic"})
