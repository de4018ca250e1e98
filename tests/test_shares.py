from functools import cache

import pytest

from longpipe import Result, Scenario, simulate
from longpipe.pictures.events import losses_mended
from longpipe.pictures.recorded import Recorded
from longpipe.pictures.share_of_time import CAUSES, time_shares

HELD: dict[str, tuple[dict[str, object], str]] = {
    "small window": ({"tcp.receiver_window": "64 KiB"}, "receiver's window"),
    "large window": ({"switch.buffer": "2 BDP"}, "congestion window"),
    "short transfer": ({"traffic": {"kind": "transfer", "size": "100 KB"}}, "application"),
    "paced": ({"tcp.congestion": "bbr", "tcp.recovery": "rack", "network.sources": 1}, "pacing"),
    "slow recovery": ({"tcp.recovery": "newreno", "switch.buffer": "0.5 BDP", "network.sources": 1}, "loss recovery"),
}


@cache
def run(path: str) -> Result:
    traces = {"traces.cwnd": True, "traces.sequence": True, "traces.events": True}
    return simulate(Scenario.example("geo").with_(duration="30 s", **HELD[path][0], **traces))


@pytest.mark.parametrize("path", HELD)
def test_what_holds_a_flow_back_most_is_named_and_shares_add_up(path: str) -> None:
    found = time_shares(run(path), "flow1")
    assert list(found.index) == list(CAUSES)
    assert found.sum() == pytest.approx(1)
    assert found.idxmax() == HELD[path][1]
    assert found.max() > 0.6


def test_a_loss_is_mended_from_its_fast_retransmit_until_all_is_acknowledged() -> None:
    result = run("slow recovery")
    (begin_s, end_s), *_ = losses_mended(result, "flow1")
    rows = result.traces["sequence"].query("flow == 'flow1'")
    again = rows[(rows["event"] == 0) & rows["retransmission"].astype(bool)]
    assert begin_s == again["time_s"].iloc[0]
    assert end_s == 30.0
    share = time_shares(result, "flow1")["loss recovery"]
    sent = rows.loc[rows["event"] == 0, "time_s"].iloc[0]
    assert share == pytest.approx((end_s - begin_s) / (30.0 - sent))


def test_a_flow_that_sent_nothing_has_no_shares() -> None:
    result = run("small window")
    traces = {name: frame[frame["flow"] == "flow2"] for name, frame in result.traces.items()}
    assert time_shares(Recorded(result.scenario, traces), "flow1").isna().all()
