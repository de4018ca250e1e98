"""Random paths for the evaluation of `longpipe fit`: draws them, runs them in Linux 6.1 and keeps captures and results.

1. "path": 40 paths from the distribution of `linux_tables.draw_from`. CUBIC's capture is fitted, and BBR's and Reno's
   results are predicted. On the first paths all controls are captured.
2. "queue": 16 paths with AQM, four of each discipline, of which every second marks ECN.
3. "mixed": 60 paths in turn with a second connection, a policer, jitter, a varying rate, and AQM (`fit_mixed`).
"""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.system.files import write_bytes
from longpipe.units import RATE
from longpipe_evidence.validate.fit_mixed import draw_mixed
from longpipe_evidence.validate.linux import (
    PACKET_BYTES,
    STEADY,
    LinuxCase,
    LinuxControl,
    LinuxFlow,
    LinuxRun,
    run_each,
    seconds,
)
from longpipe_evidence.validate.linux_shared import DISCIPLINES, FAST, ROOM, between, managed
from longpipe_evidence.validate.linux_tables import CONTROLS, COPIES, draw_from, measures
from longpipe_evidence.validate.row_table import RowTable

Kind = Literal["path", "queue", "mixed"]
KINDS: Final = get_args(Kind)
PATHS, QUEUES, MIXED = 40, 16, 60
# Number of paths of the first kind on which every control is captured.
CONTROL_PATHS: Final = 10
# Control whose capture is fitted on every path, and controls that are predicted from it.
FITTED: Final[LinuxControl] = "cubic"
PREDICTED: Final[tuple[LinuxControl, ...]] = ("bbr", "reno")
# Number of runs of each predicted control on paths with random losses; the losses differ between the runs.
LOSS_DRAWS: Final = 20
# Times at which a control's windows are recorded, to find controls that coincide on a path.
WINDOWS: Final = 24
FILE: Final = "runs.csv"
KEY: Final = ["kind", "number", "control", "draw"]
# Columns that describe a path, and text of an absent part of it.
DRAWN: Final = ("rate", "round_trip", "buffer", "discipline", "duration", "police", "jitter", "rates")
ABSENT: Final = "-"
# Columns: `flow` is the number of the first connection in `longpipe read`, and `others` the controls of the others.
COLUMNS: Final = (
    *KEY, *DRAWN, "others", "flow", "loss", "seed", "kernel", "goodput_mbps", "median_srtt_ms", "drops", "link_losses",
    "marks", "retransmissions", "receiver_limited_s", "windows",
)  # fmt: skip
_TABLE: Final = RowTable(
    COLUMNS,
    texts=(
        "kind", "control", "rate", "round_trip", "discipline", "duration", "police", "jitter", "rates", "others",
        "kernel", "windows",
    ),
    whole=("number", "draw", "buffer", "flow", "seed"),
    needs="runs.csv of longpipe validate fit",
)  # fmt: skip


@dataclass(frozen=True)
class Campaign:
    """Size of an evaluation: numbers of paths of each kind, of paths on which all controls run, and of loss draws."""

    seed: int = 0
    paths: int = PATHS
    queues: int = QUEUES
    mixed: int = MIXED
    control_paths: int = CONTROL_PATHS
    loss_draws: int = LOSS_DRAWS
    # Maximum duration of a run [s]; if None, 30 or 60 s, drawn for each path.
    most_s: float | None = None

    def count(self, kind: Kind) -> int:
        """Returns the number of paths of a kind."""
        return {"path": self.paths, "queue": self.queues, "mixed": self.mixed}[kind]

    def runs(self, kind: Kind, number: int) -> list[tuple[LinuxControl, int]]:
        """Returns a path's runs as pairs of control and loss-draw number; the run of draw 0 is captured."""
        if kind == "queue":
            return [(FITTED, 0)]
        if kind == "mixed":
            first = self.case(kind, number)[0].flows[0].control
            return [(control, 0) for control in dict.fromkeys((first, *PREDICTED))]
        controls = CONTROLS if number < self.control_paths else (FITTED, *PREDICTED)
        pairs: list[tuple[LinuxControl, int]] = [(control, 0) for control in controls]
        if self.case(kind, number)[1] > 0:
            pairs += [(control, draw) for control in PREDICTED for draw in range(1, self.loss_draws)]
        return pairs

    def case(
        self, kind: Kind, number: int, control: LinuxControl | None = None, draw: int = 0
    ) -> tuple[LinuxCase, float]:
        """Draws a path, and returns it with its loss probability. `control` replaces that of the captured flow."""
        random = Random(f"fit {self.seed} {kind} {number}")  # noqa: S311 - not used for cryptography
        if kind == "mixed":
            case, loss = draw_mixed(random, number), 0.0
        else:
            case, loss = draw_from(random) if kind == "path" else (_queue(random, number), 0.0)
        if self.most_s is not None and self.most_s < seconds(case.duration):
            case = case.model_copy(update={"duration": f"{self.most_s:g} s"})
        if draw and loss:
            draws = Random(f"fit {self.seed} losses {number} {draw}")  # noqa: S311 - not used for cryptography
            packets = round(COPIES * RATE.parse(case.rate) * seconds(case.duration) / 8 / PACKET_BYTES)
            case = case.model_copy(update={"lose": tuple(n for n in range(packets) if draws.random() < loss)})
        fitted = case.flows[0].control
        flow = LinuxFlow(control=control or fitted)
        # Runs that only provide goodput and RTT are not captured.
        captured = draw == 0 and (flow.control == fitted or (kind == "path" and number < self.control_paths))
        return case.model_copy(update={"flows": (flow, *case.flows[1:]), "capture": captured}), loss


def _queue(random: Random, number: int) -> LinuxCase:
    """Draws a path of 5 to 50 Mbit/s and 10 to 200 ms with AQM."""
    rate, round_trip = between(random, 5e6, 50e6), between(random, 0.010, 0.200)
    has_ecn, discipline = divmod(number % (2 * len(DISCIPLINES)), len(DISCIPLINES))
    return LinuxCase(
        rate=f"{round(rate, -5):.0f} bit/s",
        round_trip=f"{1000 * round_trip:.0f} ms",
        buffer=ROOM,
        discipline=managed(DISCIPLINES[discipline], rate, ecn=bool(has_ecn)),
        duration="60 s" if rate <= FAST else "30 s",
    )


def read(folder: Path) -> pd.DataFrame:
    """Returns the finished runs in a folder. Raises ScenarioError if the file has other content."""
    return _TABLE.read(folder / FILE)


def capture_of(folder: Path, kind: str, number: int, control: str) -> Path:
    """Returns the path of the file with a run's capture."""
    return folder / "captures" / f"{kind}-{number}-{control}.pcap.gz"


def missing(frame: pd.DataFrame, campaign: Campaign) -> Iterator[tuple[Kind, int, list[tuple[LinuxControl, int]]]]:
    """Yields the runs that a folder lacks, as one list per path; each list runs in one start of the guest."""
    done = set(frame[KEY].itertuples(index=False, name=None))
    for kind in KINDS:
        for number in range(campaign.count(kind)):
            runs = [run for run in campaign.runs(kind, number) if (kind, number, *run) not in done]
            if runs:
                yield kind, number, runs


def drawn(case: LinuxCase) -> dict[str, object]:
    """Returns the columns that describe a path; lists are separated by spaces, and times and rates by colons."""
    rates = " ".join(f"{at.replace(' ', '')}:{rate.replace(' ', '')}" for at, rate in case.rates)
    jitter = ":".join(quantity.replace(" ", "") for quantity in case.jitter or ())
    texts = {"police": case.police, "jitter": jitter, "rates": rates}
    return {name: texts[name] or ABSENT if name in texts else getattr(case, name) for name in DRAWN}


def _place(run: LinuxRun) -> int:
    """Returns the number of the first connection among all, in descending order of payload."""
    delivered = [int(run.of(flow)["delivered"].iloc[-1]) for flow in range(len(run.case.flows))]
    return sum(delivered_by_other > delivered[0] for delivered_by_other in delivered[1:])


def check_drawn(folder: Path, frame: pd.DataFrame, campaign: Campaign) -> None:
    """Raises ScenarioError if the finished runs of a folder are over paths other than those that the campaign draws."""
    for row in frame.drop_duplicates(["kind", "number"]).to_dict("records"):
        kind, number = row["kind"], int(row["number"])
        if kind not in KINDS or number >= campaign.count(kind):
            continue
        case, _ = campaign.case(kind, number)
        for name in DRAWN:
            if str(row[name]) != str(drawn(case)[name]):
                raise ScenarioError(
                    f"FOLDER: {str(folder)!r}: {name} of {kind} {number} is {row[name]}, with these options "
                    f"{drawn(case)[name]}; needs the --seed and --most with which it was begun, or another folder"
                )


def collect(folder: Path, campaign: Campaign, tell: Callable[[str], None]) -> None:
    """Runs the missing cases in Linux; stores a capture and a row of each run as soon as it has finished."""
    collected = read(folder)
    check_drawn(folder, collected, campaign)
    (folder / "captures").mkdir(parents=True, exist_ok=True)
    for kind, number, runs in missing(collected, campaign):
        seed = 1000 * KINDS.index(kind) + number
        cases = [campaign.case(kind, number, *run) for run in runs]
        results = run_each([case for case, _ in cases], seed=seed)
        for (control, draw), (_, loss), result in zip(runs, cases, results, strict=True):
            if result.pcap is not None:
                write_bytes(capture_of(folder, kind, number, control), gzip.compress(result.pcap, 6, mtime=0))
            row = {
                **dict(zip(KEY, (kind, number, control, draw), strict=True)),
                **drawn(result.case),
                "others": " ".join(flow.control for flow in result.case.flows[1:]) or ABSENT,
                "flow": _place(result),
                "loss": loss,
                "seed": seed,
                "kernel": result.kernel,
                **measures(result),
                "goodput_mbps": _goodput_mbps(result),
                "marks": result.marks,
                "receiver_limited_s": result.receiver_limited_s[0],
                "windows": _windows(result),
            }
            _TABLE.append(folder / FILE, row)
            tell(f"{kind} {number} {control} {draw}: {row['goodput_mbps']} Mbit/s, {row['drops']} packets dropped")


def _goodput_mbps(run: LinuxRun) -> float:
    """Returns the goodput as `longpipe whatif` measures it: data that ACKs or SACK blocks report, after a third."""
    end = seconds(run.case.duration)
    return round(run.delivery_rate(round(end * STEADY, 1), end) / 1e6, 4)


def _windows(run: LinuxRun) -> str:
    """Returns the congestion windows [segments] at equal intervals."""
    series = run.of(0)["cwnd"].to_numpy()
    places = np.linspace(0, len(series) - 1, WINDOWS + 1).round().astype(int)[1:]
    return " ".join(str(int(segments)) for segments in series[places])


def window_distance(left: str, right: str) -> float:
    """Returns the mean absolute logarithm of the ratio of two series of windows, as stored by `collect`."""
    first, second = (np.array(text.split(), dtype=float) for text in (left, right))
    return float(np.abs(np.log(first / second)).mean())
