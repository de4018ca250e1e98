"""Queues with active management compared with Linux's: data/linux/queues.csv, without the kernel."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linux_measures import goodput_mbps, median_srtt_ms
from longpipe import simulate
from longpipe.validate.linux import LinuxCase, LinuxFlow
from longpipe.validate.linux_compare import scenario

TABLE = pd.read_csv(Path(__file__).parent / "data" / "linux" / "queues.csv")
CASES = list(TABLE[["discipline", "control"]].drop_duplicates().itertuples(index=False, name=None))
STEADY_S, END_S = 20, 60


def measured(discipline: str, control: str, seed: int) -> tuple[float, float, int]:
    flow = LinuxFlow.model_validate({"control": control})
    result = simulate(scenario(LinuxCase(buffer=1000, discipline=discipline, flows=(flow,))), seed)
    trunk = result.ports.set_index("port").loc["switch1->switch2"]
    counts: Any = trunk[["packets_lost_overflow", "packets_lost_aqm", "packets_marked"]]
    return goodput_mbps(result, STEADY_S, END_S), median_srtt_ms(result, STEADY_S, END_S), int(counts.sum())


@pytest.mark.parametrize(("discipline", "control"), CASES)
def test_queues_that_act_do_what_linux_s_do(discipline: str, control: str) -> None:
    linux = TABLE.query("discipline == @discipline and control == @control")
    found = [measured(discipline, control, seed) for seed in range(len(linux))]
    goodput, srtt_ms, count = np.mean(found, axis=0)
    assert goodput == pytest.approx(linux["goodput_mbps"].mean(), rel=0.02)
    assert srtt_ms == pytest.approx(linux["median_srtt_ms"].mean(), rel=0.03)
    more = count / (linux["drops"] + linux["marks"]).mean() - 1
    assert abs(more) <= 0.15
