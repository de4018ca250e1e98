"""Runs random paths in longpipe, and judges them against recorded results of Linux."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pandas as pd

from longpipe import simulate
from longpipe.errors import ScenarioError
from longpipe_evidence.validate.linux import INTERVAL_S, STEADY, LinuxCase, seconds
from longpipe_evidence.validate.linux_compare import TRUNK, at, scenario
from longpipe_evidence.validate.linux_judged import Judgement, Tolerances, judge
from longpipe_evidence.validate.linux_paths import DRAWN, draw, tick

TOLERANCES: Final = Tolerances(goodput=0.03, round_trip=0.05, counts=0.15)
# Required shares of a control's paths on which goodput and RTT must agree, and on which packet counts must agree.
STEADY_SHARE, COUNTS_SHARE = 0.9, 0.8
TIMES: Final = ("goodput_mbps", "srtt_ms")
# Columns of Linux's results by judged quantity.
COLUMNS: Final = {
    "goodput_mbps": "goodput_mbps",
    "srtt_ms": "median_srtt_ms",
    "losses": "drops",
    "marks": "marks",
    "retransmissions": "retransmissions",
}


class PathJudgement:
    """Judgement of a control's path: means over all of Linux's draws and as many of longpipe's."""

    def __init__(self, control: str, path: int, judgements: list[Judgement]) -> None:
        self.control, self.path, self.judgements = control, path, judgements

    def agree(self, quantities: Iterable[str]) -> bool:
        """Returns whether all of these quantities agree."""
        return all(judgement.agrees for judgement in self.judgements if judgement.quantity in quantities)

    @property
    def differing(self) -> list[Judgement]:
        """Returns the quantities that differ."""
        return [judgement for judgement in self.judgements if not judgement.agrees]


def judged(frame: pd.DataFrame) -> list[PathJudgement]:
    """Judges every path in a table that `linux_paths.read` returns, control by control."""
    return [_judged(str(control), int(str(path)), rows) for (control, path), rows in frame.groupby(["control", "path"])]


def _judged(control: Any, path: int, rows: pd.DataFrame) -> PathJudgement:  # noqa: ANN401 - a name, checked below
    """Compares the means of Linux's draws on a path with longpipe's, for a control."""
    case = draw(control, path)[0]
    for name in DRAWN:
        if set(rows[name]) != {getattr(case, name)}:
            raise ScenarioError(f"FILE: {name} of path {path} of {control}; needs {getattr(case, name)!r}, as drawn")
    linux = {quantity: float(rows[column].mean()) for quantity, column in COLUMNS.items()}
    draws = [
        measured(case, 1 + number, tick(control, path, number, seed))
        for number, seed in zip(rows["draw"], rows["seed"], strict=True)
    ]
    longpipe = {quantity: float(np.mean([measures[quantity] for measures in draws])) for quantity in COLUMNS}
    return PathJudgement(control, path, judge(linux, longpipe, TOLERANCES))


def measured(case: LinuxCase, seed: int, tick_s: float) -> dict[str, float]:
    """Runs a case with one flow in longpipe, `tick_s` after a tick as in Linux, and measures it at Linux's times."""
    result = simulate(scenario(case, tick_s=tick_s), seed)
    end = seconds(case.duration)
    begin = round(end * STEADY, 1)
    acks = result.traces["sequence"].query("event == 1")
    first, last = at(np.array([begin, end]), acks, "flow0", "sequence_bytes")
    times = np.arange(round(begin / INTERVAL_S) + 1, round(end / INTERVAL_S) + 1) * INTERVAL_S
    port: dict[Any, Any] = result.ports.set_index("port").loc[TRUNK].to_dict()
    return {
        "goodput_mbps": float(last - first) * 8 / (end - begin) / 1e6,
        "srtt_ms": 1e3 * float(np.median(at(times, result.traces["rtt"], "flow0", "srtt_s"))),
        "losses": float(port["packets_lost_overflow"] + port["packets_lost_aqm"]),
        "marks": float(port["packets_marked"]),
        "retransmissions": float(result.flows["retransmitted_segments"].sum()),
    }
