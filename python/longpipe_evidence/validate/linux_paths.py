"""Random paths for every congestion control of Linux 6.1: draws them, runs them in Linux and keeps the results.

Each run's results become a row of a CSV file as soon as the run has finished, so an interrupted collection continues
where it ended.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pandas as pd

from longpipe_evidence.validate.linux import PACKET_BYTES, LinuxCase, LinuxControl, LinuxFlow, LinuxRun, run_each
from longpipe_evidence.validate.linux_tables import PHASES, draw_from, measures
from longpipe_evidence.validate.linux_ticks import after
from longpipe_evidence.validate.row_table import RowTable

CONTROLS: Final[tuple[LinuxControl, ...]] = (
    "reno", "cubic", "bic", "htcp", "hybla", "illinois", "scalable", "highspeed", "vegas", "veno", "westwood", "dctcp",
    "bbr",
)  # fmt: skip
# Controls of Linux 6.1 that longpipe does not model.
NOT_MODELED: Final[tuple[LinuxControl, ...]] = ("cdg", "lp", "nv", "yeah")
PATHS: Final = 40
# Number of runs of a path in Linux; BBR has several, because it draws its phase at random, so that means are compared.
DRAWS: Final = {"bbr": PHASES}
# Marking threshold of DCTCP's queue as a share of the buffer; at least two packets.
MARKING_SHARE, MIN_MARKING = 1 / 3, 2
KEY: Final = ["control", "path", "draw"]
DRAWN: Final = ("rate", "round_trip", "buffer", "discipline", "duration")
COLUMNS: Final = (
    *KEY, *DRAWN, "loss", "seed", "kernel", "goodput_mbps", "first_goodput_mbps", "median_srtt_ms", "drops",
    "link_losses", "retransmissions", "marks", "receiver_limited_s",
)  # fmt: skip
_TEXTS: Final = ("control", "rate", "round_trip", "discipline", "duration", "kernel")
_WHOLE: Final = ("path", "draw", "buffer", "seed")
_TABLE: Final = RowTable(COLUMNS, _TEXTS, _WHOLE, "a CSV file of longpipe validate linux paths --collect")
# Spacing of seeds: the first seed of a path's guest starts is the path's number times this.
SEEDS_APART: Final = 1000


class Run(NamedTuple):
    """A run of a control in Linux over the path with a number; `draw` distinguishes the runs of a path."""

    control: LinuxControl
    path: int
    draw: int

    @property
    def is_dctcp(self) -> bool:
        """Returns whether the guest must be started for DCTCP only, whose receiver echoes marks differently."""
        return self.control == "dctcp"


def draw(control: LinuxControl, number: int) -> tuple[LinuxCase, float]:
    """Draws a control's path `number` (from 0) and its loss probability; its paths are not `linux_tables.draw`'s."""
    case, loss = draw_from(Random(f"{control} path {number}"))  # noqa: S311 - not used for cryptography
    discipline = _marking(case.buffer) if control == "dctcp" else case.discipline
    return case.model_copy(update={"flows": (LinuxFlow(control=control),), "discipline": discipline}), loss


def _marking(buffer: int) -> str:
    """Returns RED configured as a step, which marks every packet that finds more than MARKING_SHARE of the buffer."""
    packets = max(MIN_MARKING, round(buffer * MARKING_SHARE))
    # `tc` requires a maximum above the minimum: two bytes in Linux correspond to one byte in longpipe, whose packets
    # are shorter.
    threshold = packets * PACKET_BYTES
    words = {
        "limit": buffer * PACKET_BYTES,
        "min": threshold,
        "max": threshold + 2,
        "avpkt": PACKET_BYTES,
        "burst": packets,
    }
    return f"red {' '.join(f'{name} {value}' for name, value in words.items())} probability 1 ecn"


def read(file: Path) -> pd.DataFrame:
    """Returns the finished runs of a file, if the file exists. Raises ScenarioError if it has other content."""
    return _TABLE.read(file)


def missing(frame: pd.DataFrame, controls: Sequence[LinuxControl], paths: int) -> list[list[Run]]:
    """Returns the runs missing from a file, in one list per start of the guest."""
    finished = set(frame[KEY].itertuples(index=False, name=None))
    starts: list[list[Run]] = []
    for path in range(paths):
        missing_runs = [run for run in _runs(controls, path) if run not in finished]
        starts.extend([run for run in missing_runs if run.is_dctcp == is_dctcp] for is_dctcp in (False, True))
    return [start for start in starts if start]


def _runs(controls: Sequence[LinuxControl], path: int) -> list[Run]:
    return [Run(control, path, draw) for control in controls for draw in range(DRAWS.get(control, 1))]


def tick(control: LinuxControl, path: int, draw_number: int, seed: int) -> float:
    """Returns the time [s] from a tick of the guest's clock to the start of a run.

    It depends on the runs that preceded this one in the same start of the guest. `seed` encodes the number of the
    path's runs that were finished when the guest started.
    """
    run = Run(control, path, draw_number)
    runs = [other for other in _runs(CONTROLS, path) if other.is_dctcp == run.is_dctcp]
    # DCTCP has a single run, before which its guest runs nothing.
    first = 0 if run.is_dctcp else seed % SEEDS_APART
    return after([draw(other.control, path)[0] for other in runs[first : runs.index(run) + 1]])


def collect(file: Path, controls: Sequence[LinuxControl], paths: int, tell: Callable[[str], None]) -> None:
    """Runs the missing cases of a file in Linux, and appends a row for each run as soon as it has finished."""
    for start in missing(read(file), controls, paths):
        # After an interruption, different cases precede each case in the guest, so the start uses a different seed.
        path = start[0].path
        seed = SEEDS_APART * path + int((read(file)["path"] == path).sum())
        cases = [draw(run.control, run.path)[0] for run in start]
        for run, linux_run in zip(start, run_each(cases, seed=seed), strict=True):
            row = _row(run, linux_run, seed)
            _TABLE.append(file, row)
            tell(f"{run.control} {run.path} {run.draw}: {row['goodput_mbps']} Mbit/s, {row['drops']} packets lost")


def _row(run: Run, result: LinuxRun, seed: int) -> dict[str, object]:
    """Returns the row of a run in the file of results."""
    return {
        **dict(zip(KEY, run, strict=True)),
        **{name: getattr(result.case, name) for name in DRAWN},
        "loss": draw(run.control, run.path)[1],
        "seed": seed,
        "kernel": result.kernel,
        **measures(result),
        "marks": result.marks,
        "receiver_limited_s": result.receiver_limited_s[0],
    }
