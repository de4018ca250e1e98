"""Active queue management compared with Linux's results in data/linux/queues.csv, without the kernel."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linux_measures import goodput_mbps, median_srtt_ms
from longpipe import simulate
from longpipe_evidence.validate.linux import LinuxCase, LinuxFlow
from longpipe_evidence.validate.linux_compare import scenario
from thorough import one_in

TABLE = pd.read_csv(Path(__file__).parent / "data" / "linux" / "queues.csv")
CASES = list(TABLE[["discipline", "control"]].drop_duplicates().itertuples(index=False, name=None))
STEADY_S, END_S = 20, 60
RED = "red limit 200000 min 30000 max 90000 avpkt 1514 burst 30 probability 0.1"
# Over RED, Reno loses about 25 packets if RED drops a packet early in slow start, and about 120 otherwise.
TWO_STARTS, BETWEEN, DRAWS = (RED, "reno"), 70, 32


def measured(discipline: str, control: str, seed: int) -> tuple[float, float, int]:
    flow = LinuxFlow.model_validate({"control": control})
    result = simulate(scenario(LinuxCase(buffer=1000, discipline=discipline, flows=(flow,))), seed)
    trunk = result.ports.set_index("port").loc["switch1->switch2"]
    counts: Any = trunk[["packets_lost_overflow", "packets_lost_aqm", "packets_marked"]]
    return goodput_mbps(result, STEADY_S, END_S), median_srtt_ms(result, STEADY_S, END_S), int(counts.sum())


@pytest.mark.parametrize(("discipline", "control"), one_in(3, CASES))
def test_active_queues_behave_as_in_linux(discipline: str, control: str) -> None:
    linux = TABLE.query("discipline == @discipline and control == @control")
    draws = DRAWS if (discipline, control) == TWO_STARTS else len(linux)
    found = [measured(discipline, control, seed) for seed in range(draws)]
    goodput, srtt_ms, count = np.mean(found, axis=0)
    assert goodput == pytest.approx(linux["goodput_mbps"].mean(), rel=0.02)
    assert srtt_ms == pytest.approx(linux["median_srtt_ms"].mean(), rel=0.03)
    theirs = linux["drops"] + linux["marks"]
    if (discipline, control) == TWO_STARTS:
        compare_by_start(np.array(found)[:, 2], theirs.to_numpy())
    else:
        assert count == pytest.approx(theirs.mean(), rel=0.15)


def test_simultaneous_connections_fill_fq_queues_as_in_linux() -> None:
    """`longpipe validate linux path --control cubic --control reno --discipline "fq limit 1000 flow_limit 40"` has the
    results 157 and 90. The guest writes to the first connection first, so that it has more in its queue when both leave
    slow start.
    """
    flows = tuple(LinuxFlow.model_validate({"control": control}) for control in ("cubic", "reno"))
    result = simulate(scenario(LinuxCase(buffer=1000, discipline="fq limit 1000 flow_limit 40", flows=flows)), 1)
    assert result.flows["retransmitted_segments"].tolist() == pytest.approx([157, 90], rel=0.03)
    assert result.throughputs_bps.tolist() == pytest.approx([4.774e6, 4.774e6], rel=0.01)


def compare_by_start(ours: np.ndarray, linux: np.ndarray) -> None:
    """Counts agree within 15 % for each kind of start, and each kind is about as frequent as in Linux."""
    for of_start in (np.less, np.greater):
        ratio = ours[of_start(ours, BETWEEN)].mean() / linux[of_start(linux, BETWEEN)].mean()
        assert abs(ratio - 1) <= 0.15
    often, in_linux = (ours > BETWEEN).mean(), (linux > BETWEEN).mean()
    both = np.concatenate([ours, linux]) > BETWEEN
    error = np.sqrt(both.mean() * (1 - both.mean()) * (1 / len(ours) + 1 / len(linux)))
    assert abs(often - in_linux) <= 3 * error
