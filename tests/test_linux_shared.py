"""Random paths shared by several flows, with active queue management, compared with data/linux/shared-paths.csv."""

from pathlib import Path

import pandas as pd
import pytest

from linux_measures import shared
from longpipe import simulate
from longpipe_evidence.validate.linux import STEADY, seconds
from longpipe_evidence.validate.linux_compare import scenario
from longpipe_evidence.validate.linux_shared import SEEDS, SHARED, draw_shared
from thorough import one_in

TABLE = pd.read_csv(Path(__file__).parent / "data" / "linux" / "shared-paths.csv")
# Paths on which goodput differs by more than 3 %, Jain's index by more than 0.03, or the median delay by more than 10 %
# or 1 ms: see docs/queues.md.
BEYOND: dict[int, set[str]] = {}
# It is random which packet of which flow is lost, and this dominates the results if there are few flows.
DRAWS = 24


def test_table_has_the_drawn_cases() -> None:
    assert list(TABLE["seed"]) == list(range(SEEDS * SHARED))
    for number, rows in TABLE.groupby("path"):
        case = draw_shared(int(str(number)))
        for name in ("rate", "round_trip", "discipline", "duration"):
            assert set(rows[name]) == {getattr(case, name)}
        assert set(rows["controls"]) == {" ".join(flow.control for flow in case.flows)}


@pytest.mark.parametrize("number", one_in(12, range(SHARED)))
def test_shares_and_delays_on_random_paths_agree_with_linux(number: int) -> None:
    case, linux = draw_shared(number), TABLE[TABLE["path"] == number].mean(numeric_only=True)
    end = seconds(case.duration)
    runs = [simulate(scenario(case), seed) for seed in range(DRAWS)]
    measured = [shared(run, round(end * STEADY, 1), end, seconds(case.round_trip)) for run in runs]
    found = pd.DataFrame(measured).mean()
    allowed = {
        "goodput_mbps": 0.03 * linux["goodput_mbps"],
        "jain": 0.03,
        "median_wait_ms": max(1.0, 0.1 * linux["median_wait_ms"]),
    }
    beyond = {what for what, most in allowed.items() if abs(found[what] - linux[what]) > most}
    assert beyond == BEYOND.get(number, set())
