"""Prague beside CUBIC and BBR: the artifact's queues, and the direction of the shares in short runs."""

import pandas as pd
import pytest

from longpipe import simulate
from longpipe_evidence.papers.paper import published_data
from longpipe_evidence.papers.prague_24 import BUFFERS_BDP, LEGACY, PAPER, QUEUES, experiments, measure, queue_of
from longpipe_evidence.papers.prague_24.claims import CLAIMS


def test_each_published_cell_is_simulated() -> None:
    published = published_data("prague-24", "published.csv")
    simulated = pd.DataFrame([dict(one.factors) for one in experiments()])
    assert len(simulated) == len(LEGACY) * len(BUFFERS_BDP) * len(QUEUES) == 90
    columns = ["legacy", "buffer_bdp", "queue"]
    merged = published.merge(simulated, on=columns)
    assert len(merged) == len(published) == 90
    assert {one.replicated.duration for one in experiments()} == {"60 s"}
    assert PAPER.seeds == 3


def test_queues_have_the_limits_of_the_artifact() -> None:
    assert queue_of("fifo", 0.5) == {"switch.policy": "tail-drop", "switch.buffer": "62500 B"}
    for queue in ("fifo-ecn", "codel", "fq", "fq-codel"):
        assert queue_of(queue, 2)["switch.buffer"] == "167 packets"
    assert queue_of("dualpi2", 0.5) == queue_of("dualpi2", 8)


@pytest.mark.parametrize(
    ("legacy", "queue", "low", "high"),
    [
        ("cubic", "fifo-ecn", 0, 0.05),
        ("cubic-ecn", "fifo-ecn", 0.6, 1),
        ("cubic", "codel", 0.6, 1),
        ("cubic", "fq", 0.4, 0.5),
        ("bbr", "fq-codel", 0.4, 0.5),
        ("bbr", "dualpi2", 0.05, 0.35),
    ],
)
def test_shares_have_the_published_side_after_eight_seconds(legacy: str, queue: str, low: float, high: float) -> None:
    wanted = {"legacy": legacy, "buffer_bdp": 2, "queue": queue}
    (cell,) = (one for one in experiments() if dict(one.factors) == wanted)
    scenario = cell.replicated.with_(duration="8 s", warm_up="2 s")
    measured = measure(simulate(scenario, 1))
    assert low < measured["share"] < high
    assert 0.8 < measured["share"] + measured["legacy_share"] < 0.98
    assert len(CLAIMS) == 8
