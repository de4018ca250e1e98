"""Fits of the captures that `fit_runs` collected, and predictions from these fits: one row per capture."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.fit import PathFit, fit, observe
from longpipe.fit.candidates import IN_TRANSMISSION
from longpipe.fit.path_file import write
from longpipe.fit.reported import estimates, rate_steps, report
from longpipe.fit.whatif import whatif
from longpipe.store import engine_version
from longpipe_evidence.validate import fit_runs
from longpipe_evidence.validate.fit_runs import FITTED, KINDS, PREDICTED, Campaign, Kind, capture_of
from longpipe_evidence.validate.linux import LinuxCase, seconds
from longpipe_evidence.validate.linux_compare import TCP, longpipe_name
from longpipe_evidence.validate.linux_guest.load import IDLE_ROUND_TRIPS, IDLE_S
from longpipe_evidence.validate.row_table import RowTable

FILE: Final = "fits.csv"
KEY: Final = ["kind", "number", "control"]
# Columns of each estimate: its value and its 95 % interval; empty if unknown.
QUANTITIES: Final = {
    "rate": "rate_bps", "base RTT": "base_s", "buffer": "buffer", "loss": "loss", "jitter": "jitter_s",
}  # fmt: skip
ENDS: Final = ("value", "low", "high")
# Columns of each prediction: the mean, the half-width of its 95 % interval over the path's uncertainty, and the 95 %
# interval of single runs.
MEASURES: Final = {"goodput": "goodput_mbps", "median RTT": "rtt_ms"}
_SCALES: Final = {"goodput": 1e-6, "median RTT": 1e3}
PREDICTION_ENDS: Final = ("mean", "half", "low", "high")
NONE: Final = "-"
COLUMNS: Final = (
    *KEY, "engine", "processor_s", *(f"{name}_{end}" for name in QUANTITIES.values() for end in ENDS),
    "queue", "queue_share", "same_queues", "sender", "sender_share", "second", "second_share", "same_senders",
    "distance", "steps", "policer",
    *(f"{control}_{name}_{end}" for control in PREDICTED for name in MEASURES.values() for end in PREDICTION_ENDS),
)  # fmt: skip
_TABLE: Final = RowTable(
    COLUMNS,
    texts=("kind", "control", "queue", "same_queues", "sender", "second", "same_senders", "steps", "policer"),
    whole=("number", "engine"),
    needs="fits.csv of longpipe validate fit",
)


def read(folder: Path) -> pd.DataFrame:
    """Returns the finished fits in a folder. Raises ScenarioError if the file has other content."""
    return _TABLE.read(folder / FILE)


def fit_each(folder: Path, campaign: Campaign, seeds: int, tell: Callable[[str], None]) -> None:
    """Fits each captured run that has no row yet."""
    finished = set(read(folder)[KEY].itertuples(index=False, name=None))
    runs = fit_runs.read(folder).set_index(fit_runs.KEY)
    for kind, number, control in _captured(campaign):
        file = capture_of(folder, kind, number, control)
        if (kind, number, control) in finished or not file.exists():
            continue
        begin = time.process_time()
        flow = int(runs["flow"].loc[(kind, number, control, 0)])
        path_fit = fit(observe(file, flow), fixed=_facts_of_guest(campaign.case(kind, number)[0]))
        row: dict[str, Any] = dict(zip(KEY, (kind, number, control), strict=True))
        row |= {
            "engine": engine_version(),
            "processor_s": round(time.process_time() - begin, 2),
            **_fitted_columns(path_fit),
        }
        if kind == "mixed" or (kind, control) == ("path", FITTED):
            row |= _predicted_columns(path_fit, seeds)
        _TABLE.append(folder / FILE, row)
        tell(f"{kind} {number} {control}: {row['sender']} {row['sender_share']:.0%}, {row['processor_s']} s")


def _facts_of_guest(case: LinuxCase) -> dict[str, object]:
    """Returns facts about the guest that its user knows: the kernel's clock, pacing without offload, and the idle time.

    The captures begin after this idle time, so that they lack the handshake, which would show it.
    """
    idle_s = IDLE_S + IDLE_ROUND_TRIPS * seconds(case.round_trip)
    host: dict[str, object] = {f"tcp.{name}": TCP[name] for name in ("hz", "pacing_burst")}
    return {**host, "tcp.preconnect": f"{round(1e3 * idle_s)} ms"}


def _captured(campaign: Campaign) -> Iterator[tuple[Kind, int, str]]:
    for kind in KINDS:
        for number in range(campaign.count(kind)):
            for control, draw in campaign.runs(kind, number):
                if campaign.case(kind, number, control, draw)[0].capture:
                    yield kind, number, control


def _fitted_columns(path_fit: PathFit) -> dict[str, Any]:
    """Returns the columns that a fit fills."""
    rows: dict[str, Any] = {}
    for name, estimate in estimates(path_fit).items():
        if name not in QUANTITIES:
            continue
        # Linux's limits do not count the packet in transmission.
        not_counted = IN_TRANSMISSION if name == "buffer" else 0
        values = (None if estimate[end] is None else estimate[end] - not_counted for end in ENDS)
        rows |= {f"{QUANTITIES[name]}_{end}": value for end, value in zip(ENDS, values, strict=True)}
    queue, *_ = path_fit.queue_shares().items()
    first, *less_likely = path_fit.control_shares().items()
    second = less_likely[0] if less_likely else (NONE, 0.0)
    return rows | {
        "queue": queue[0],
        "queue_share": round(queue[1], 4),
        "same_queues": " ".join(path_fit.same_queues) or NONE,
        "sender": first[0],
        "sender_share": round(first[1], 4),
        "second": second[0],
        "second_share": round(second[1], 4),
        "same_senders": " ".join(path_fit.same_controls) or NONE,
        "distance": round(path_fit.best.distance, 4),
        "steps": " ".join(f"{step['at_s']:.6g}:{step['low']:.7g}:{step['high']:.7g}" for step in rate_steps(path_fit))
        or NONE,
        "policer": f"{path_fit.policer.rate_bps:.6g}:{path_fit.policer.burst_bytes:.6g}" if path_fit.policer else NONE,
    }


def _predicted_columns(path_fit: PathFit, seeds: int) -> dict[str, float]:
    """Returns the columns of the predictions of other controls over a fitted path."""
    rows: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "path.toml"
        write(report(path_fit), path)
        for control in PREDICTED:
            name = longpipe_name(control)
            if name is None:
                raise ScenarioError(f"{control}: not in longpipe; needs a control of longpipe")
            prediction = whatif(path, {"tcp.congestion": name}, seeds)
            for measure in prediction.measures:
                if measure.name in MEASURES:
                    values = (*measure.changed, *measure.runs)
                    column, scale = MEASURES[measure.name], _SCALES[measure.name]
                    rows |= {
                        f"{control}_{column}_{end}": round(scale * value, 4) if math.isfinite(value) else math.nan
                        for end, value in zip(PREDICTION_ENDS, values, strict=True)
                    }
    return rows


def columns_of(row: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    """Returns an estimate's value and the ends of its interval; NaN if unknown."""
    value, low, high = (float(row[f"{QUANTITIES[name]}_{end}"]) for end in ENDS)
    return value, low, high
