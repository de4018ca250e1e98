"""Needless retransmissions, needless timeouts and synchronized losses, compared with counts made without the events."""

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest

from longpipe import Result, Scenario, simulate
from longpipe_evidence.papers.mechanisms import loss_synchronization, mean_correlation, needless

# Transfers that end before the run does, so that every transmitted copy has arrived or is lost.
BASE = Scenario.example("fiber").with_(
    **{
        "duration": "60 s",
        "network.sources": 3,
        "network.trunk_rate": "10 Mbit/s",
        "switch.buffer": "10 packets",
        "traffic": {"kind": "transfer", "size": "1448000 B"},
        "tcp": {"profile": "classic", "mss": "1448 B", "ack": {"kind": "immediate"}},
        "traces.events": True,
    }
)
COARSE = {"kind": "coarse", "tick": "100 ms", "phase": {"kind": "common"}, "min_rto": "2 ticks"}


def run(**changes: object) -> Result:
    return simulate(BASE.with_(**changes), 1)


def twice(result: Result) -> int:
    """Returns how many segments arrived in addition to the first copy of each; the sinks' ACKs count all arrivals."""
    assert result.flows["completion_s"].notna().all()
    ports = result.ports
    arrived = ports.loc[ports["port"].str.match(r"sink\d+->"), "packets_in"].sum()
    return int(arrived) - 3 * 1000


@pytest.mark.parametrize("recovery", ["vanilla", "tahoe", "reno", "newreno", "sack"])
def test_duplicate_arrivals_are_needless_retransmissions(recovery: str) -> None:
    result = run(**{"tcp.recovery": recovery, "tcp.timer": COARSE})
    retransmitted = int(result.flows["retransmitted_segments"].sum())
    found = needless(result)["needless_retransmissions"] * retransmitted
    assert retransmitted > 0
    assert found == pytest.approx(twice(result))


def test_timer_below_the_rtt_expires_before_the_ack() -> None:
    # The RTO is 2 ticks of 10 ms, and the RTT is 400 ms without losses: so each expiry before the first ACK is
    # needless.
    timer = {**COARSE, "tick": "10 ms", "initial_rto": "2 ticks"}
    slow = {"network.trunk_delay": "200 ms", "switch.buffer": "unlimited", "tcp.recovery": "vanilla"}
    result = run(**slow, **{"tcp.timer": timer, "tcp.initial_window": "1 segments"})
    found = needless(result)
    assert result.ports.filter(like="packets_lost_").to_numpy().sum() == 0
    assert found["needless_timeouts"] == result.flows["timeouts"].sum() > 0
    assert found["needless_retransmissions"] == 1


def test_a_timeout_of_a_lost_segment_is_not_needless() -> None:
    # The first segment is lost, and no later segment could cause duplicate ACKs.
    result = run(
        **{
            "network.sources": 1,
            "traffic": {"kind": "transfer", "size": "1448 B"},
            "network.trunk_loss": {"kind": "packets", "indices": [0]},
        }
    )
    found = needless(result)
    assert result.flows["timeouts"].sum() == 1
    assert found["needless_timeouts"] == 0
    assert found["needless_retransmissions"] == 0
    assert math.isnan(found["false_fast_retransmits"])


def _events(*losses: tuple[float, str]) -> Result:
    frame = pd.DataFrame(losses, columns=["time_s", "flow"]).assign(kind="dropped")
    return cast("Result", SimpleNamespace(traces={"events": frame}))


def test_losses_in_the_same_intervals_are_synchronized() -> None:
    together = [(t, flow) for t in (0.5, 1.5, 3.5) for flow in ("a", "b")]
    assert loss_synchronization(_events(*sorted(together)))["loss_synchronization"] == pytest.approx(1)
    # Of 4 intervals, flow a has losses in 0 and 1, and flow b in 2 and 3, so the correlation is -1.
    apart = [(0.05, "a"), (0.15, "a"), (0.25, "b"), (0.35, "b")]
    found = loss_synchronization(_events(*apart))["loss_synchronization"]
    a, b = np.array([1, 1, 0, 0, 0]), np.array([0, 0, 1, 1, 0])
    assert found == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert math.isnan(loss_synchronization(_events((0.5, "a")))["loss_synchronization"])


def test_mean_correlation_is_that_of_all_pairs() -> None:
    series = list(np.random.default_rng(1).normal(size=(5, 50)))
    pairs = np.corrcoef(series)[np.triu_indices(5, 1)]
    assert mean_correlation([*series, np.ones(50)]) == pytest.approx(pairs.mean())
