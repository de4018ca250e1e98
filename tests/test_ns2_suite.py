"""Compares with ns-2's own traces of Tahoe with many losses in a window, from its validation suite, without ns-2.

Each of tests/data/ns2-multiple_tahoe.csv and ns2-multiple2_tahoe.csv contains the segments that ns-2.35 (Debian's
package ns2 2.35+dfsg-5) sends in its own test-suite-tcpVariants.tcl, in the folder tcl/test of its sources:

    ns test-suite-tcpVariants.tcl multiple_tahoe quiet
    (echo s,segment; awk '$1 == "+" && $3 == 0 && $4 == 2 && $5 == "tcp" {print $2 "," $11}' all.tr)
"""

from pathlib import Path

import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe.scenario import Flow, Graph, Link, Node, Switch, Tcp, Traces
from longpipe.scenario.loss import PacketLoss
from longpipe.scenario.recovery import Tahoe
from longpipe_evidence.validate import ns2

DATA = Path(__file__).parent / "data"
LOST = {"multiple_tahoe": (11, 12, 13, 14, 16, 17, 18, 19), "multiple2_tahoe": (11, 12, 13, 14, 16)}
MSS = 1000


def theirs(name: str) -> pd.DataFrame:
    return pd.read_csv(DATA / f"ns2-{name}.csv")


def ours(name: str, *, guard: bool) -> pd.DataFrame:
    """Runs Tahoe over net4 of the suite: 800 kbit/s, a one-way delay of 100 ms, and a queue of eight packets.

    The minimum RTO is 1 s, and the initial RTO 6 s.
    """
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="5.5 s",
        network=Graph(
            nodes=(Node(name="s1", kind="host"), Node(name="r1", kind="switch"), Node(name="k1", kind="host")),
            links=(
                Link(between=("s1", "r1"), rate="8 Mbit/s", delay="0 s"),
                Link(between=("r1", "k1"), rate="800 kbit/s", delay="100 ms", loss=PacketLoss(indices=LOST[name])),
            ),
            flows=(Flow(name="f", from_="s1", to="k1"),),
        ),
        switch=Switch(buffer="8 packets"),
        tcp=Tcp(
            recovery=Tahoe(guard=guard),
            mss=f"{MSS} B",
            receiver_window=f"{28 * MSS} B",
            initial_ssthresh=f"{28 * MSS} B",
            timer=ns2.timer("100 ms").model_copy(update={"min_rto": "10 ticks", "initial_rto": "60 ticks"}),
        ),
        traces=Traces(sequence=True),
    )
    trace = simulate(scenario).traces["sequence"]
    sent = trace[trace["event"] == 0]
    return pd.DataFrame({"s": sent["time_s"], "segment": sent["sequence_bytes"] // MSS})


def beside(name: str, *, guard: bool) -> pd.DataFrame:
    """Returns both lists in order of transmission, from segment 1 on, because segment 0 in ns-2 is a SYN of 40 bytes."""
    both = {"ours": ours(name, guard=guard), "theirs": theirs(name)}
    columns = []
    for side, sent in both.items():
        data = sent.iloc[int((sent["segment"] == 1).to_numpy().argmax()) :].reset_index(drop=True)
        columns.append(data.assign(s=data["s"] - data["s"].iloc[0]).add_prefix(f"{side}_"))
    return pd.concat(columns, axis=1).dropna().head(200)


@pytest.mark.parametrize("name", LOST)
def test_guarded_tahoe_matches_ns2s_test_suite_to_1_us(name: str) -> None:
    sent = beside(name, guard=True)
    assert len(sent) == 200
    assert sent["ours_segment"].tolist() == sent["theirs_segment"].tolist()
    assert (sent["ours_s"] - sent["theirs_s"]).abs().max() < 1e-6


@pytest.mark.parametrize("name", LOST)
def test_tahoe_without_its_guard_falls_behind_by_more_than_a_second(name: str) -> None:
    sent = beside(name, guard=False)
    assert sent["ours_segment"].tolist() != sent["theirs_segment"].tolist()
    reached = {side: sent.loc[sent[f"{side}_segment"] == 80, f"{side}_s"].iloc[0] for side in ("ours", "theirs")}
    assert reached["ours"] - reached["theirs"] > 1
