"""Judges fits by the known paths and by the behavior of Linux over them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import pandas as pd

from longpipe.analysis.intervals import estimate
from longpipe.errors import ScenarioError
from longpipe.fit.model_error import MEDIAN_RTT
from longpipe.fit.steady import TOLERATED
from longpipe.units import RATE
from longpipe_evidence.validate.fit_coverage import coverage
from longpipe_evidence.validate.fit_criterion import FitCriterion, Row, criterion, is_queue_right, queue_of_linux
from longpipe_evidence.validate.fit_results import MEASURES, columns_of
from longpipe_evidence.validate.fit_runs import FILE, FITTED, PREDICTED, window_distance
from longpipe_evidence.validate.linux import PACKET_BYTES, seconds
from longpipe_evidence.validate.linux_compare import longpipe_name
from longpipe_evidence.validate.linux_disciplines import WIRE_BYTES
from longpipe_evidence.validate.model_errors import MEASURES as LINUX_MEASURES

# Tolerances of a fit: each is relative, or absolute for small values.
RATE_WITHIN: Final = 0.01
BASE_WITHIN, BASE_WITHIN_S = 0.005, 0.5e-3
BUFFER_WITHIN, BUFFER_WITHIN_PACKETS = 0.05, 2.0
# Tolerance of a predicted mean goodput over random losses; TOLERATED contains those of the other predictions.
MEAN_WITHIN: Final = 0.05
# Two controls coincide on a path if Linux's windows differ by less than this on average.
COINCIDE: Final = 0.02
# Probability at and above which the most likely control is expected to be correct.
SURE: Final = 0.9


def judged(runs: pd.DataFrame, fits: pd.DataFrame) -> list[FitCriterion]:
    """Judges all fits in a folder."""
    rows = [_joined({str(name): value for name, value in row.items()}, runs) for row in fits.to_dict("records")]
    paths = [row for row in rows if row["kind"] == "path" and row["control"] == FITTED]
    queues = [row for row in rows if row["kind"] == "queue"]
    every = [*paths, *queues]
    single = [row for row in rows if row["kind"] != "mixed"]
    senders = [row for row in rows if row["kind"] == "path" and row["number"] in _all_controls(rows)]
    lossless = [row for row in paths if not row["loss"]]
    lossy = [row for row in paths if row["loss"]]
    repeated = [row for row in lossy if _draws(row, runs) > 1]
    left = len(lossy) - len(repeated)
    note = f"paths not judged, with fewer than two runs of Linux: {left}" if left else ""
    bounds = sum(_is_bound(row, "rate") for row in paths)
    unknown = sum(_is_undetermined(row, runs) for row in lossless)
    sure = [row for row in single if row["sender_share"] >= SURE]
    sure_queue = [row for row in queues if row["queue_share"] >= SURE]

    def right(row: Row) -> str:
        return _sender(row, runs)

    return [
        replace(
            criterion("rate within 1 %, or a correct bound", paths, _rate, 38 / 40),
            note=f"lower bounds: {bounds}" if bounds else "",
        ),
        criterion("base RTT within .5 ms or .5 %", paths, _base, 1.0),
        criterion("buffer within 5 % or 2 packets, or a correct bound", paths, _buffer, 1.0),
        criterion("AQM", queues, _queue, 14 / 16),
        criterion("tail drop not mistaken for AQM", paths, _queue, 1.0),
        criterion("control", senders, right, 0.95),
        *(criterion(f"interval of the {name}", every, _covers(name), 0.9) for name in ("rate", "base RTT")),
        *(criterion(f"interval of the {name}", paths, _covers(name), 0.9) for name in ("buffer", "loss")),
        criterion(f"control if its probability is at least {SURE:.0%}", sure, right, 0.85),
        criterion(f"queue if its probability is at least {SURE:.0%}", sure_queue, _queue, 0.85),
        replace(
            criterion("prediction without random losses", lossless, lambda row: _predicted(row, runs), 0.9),
            note=f"undetermined, within the stated interval: {unknown}" if unknown else "",
        ),
        *(
            replace(criterion(name, repeated, problem, 0.9), note=note)
            for name, problem in (
                ("mean prediction with random losses", lambda row: _mean_predicted(row, runs)),
                ("mean with random losses within its interval", lambda row: _mean_covered(row, runs)),
            )
        ),
        _single_runs(lossy, runs),
        *coverage([row for row in rows if row["kind"] == "mixed"], runs),
    ]


def _joined(fit: Row, runs: pd.DataFrame) -> Row:
    """Returns a fit joined with its path's true values; `loss` is the path's, and the fit's own loss has three columns.

    Raises ScenarioError if the run whose capture was fitted is not among `runs`.
    """
    path_runs = runs[(runs["kind"] == fit["kind"]) & (runs["number"] == fit["number"]) & (runs["draw"] == 0)]
    control_runs = path_runs[path_runs["control"] == fit["control"]]
    if control_runs.empty:
        run = f"{fit['kind']} {fit['number']} {fit['control']}"
        raise ScenarioError(f"FOLDER: no run of {run}, which was fitted; needs its row in {FILE}")
    truth = control_runs.iloc[0].to_dict()
    return {
        **fit,
        "true_rate": RATE.parse(truth["rate"]) * WIRE_BYTES / PACKET_BYTES,
        "true_base": seconds(truth["round_trip"]),
        "true_buffer": float(truth["buffer"]),
        "loss": float(truth["loss"]),
        "drops": int(truth["drops"]),
        "discipline": str(truth["discipline"]).split()[0],
        **{name: str(truth[name]) for name in ("police", "jitter", "rates", "others")},
        "linux_duration_s": seconds(truth["duration"]),
    }


def _all_controls(rows: list[Row]) -> set[int]:
    """Returns the numbers of the paths on which controls other than the fitted one were captured, too."""
    return {row["number"] for row in rows if row["kind"] == "path" and row["control"] != FITTED}


def _is_bound(row: Row, name: str) -> bool:
    """Returns whether a fit states only a lower bound of a quantity."""
    return math.isnan(columns_of(row, name)[2])


def _rate(row: Row) -> str:
    """Returns the deviation of a fitted rate that exceeds the tolerance, as text; "" if there is none."""
    off = columns_of(row, "rate")[0] / row["true_rate"] - 1
    if _is_bound(row, "rate"):
        return f"at least {off:+.2%}" if off > RATE_WITHIN else ""
    return f"{off:+.2%}" if abs(off) > RATE_WITHIN else ""


def _base(row: Row) -> str:
    """Returns the deviation of a fitted base RTT that exceeds the tolerance, as text; "" if there is none."""
    off = columns_of(row, "base RTT")[0] - row["true_base"]
    return f"{1e3 * off:+.2f} ms" if abs(off) > max(BASE_WITHIN * row["true_base"], BASE_WITHIN_S) else ""


def _buffer(row: Row) -> str:
    """Returns the deviation of a fitted buffer that exceeds the tolerance, as text; "" if there is none."""
    value, low, high = columns_of(row, "buffer")
    truth = row["true_buffer"]
    if row["drops"]:
        if math.isnan(high):
            return f"at least {value:.0f}, is {truth:.0f}, overflowed {row['drops']} times"
        off = abs(value - truth)
        return f"{value:.0f}, is {truth:.0f}" if off > max(BUFFER_WITHIN * truth, BUFFER_WITHIN_PACKETS) else ""
    if not math.isnan(high):
        return f"{value:.0f}, is {truth:.0f}, never overflowed"
    return f"at least {low:.0f}, is {truth:.0f}" if low > truth else ""


def _queue(row: Row) -> str:
    """Returns the fitted queue discipline and the true one, as text; "" if the fit is right."""
    return "" if is_queue_right(row) else f"{row['queue']} {row['queue_share']:.0%}, is {queue_of_linux(row)}"


def _sender(row: Row, runs: pd.DataFrame) -> str:
    """Returns an empty text if the most likely control is the sender's, or coincides with it in Linux."""
    truth = longpipe_name(row["control"])
    if row["sender"] == truth:
        return ""
    path_runs = runs[(runs["kind"] == row["kind"]) & (runs["number"] == row["number"]) & (runs["draw"] == 0)]
    windows = {
        longpipe_name(control): text for control, text in zip(path_runs["control"], path_runs["windows"], strict=True)
    }
    other = windows.get(row["sender"])
    if other is not None and window_distance(windows[truth], other) < COINCIDE:
        return ""
    return f"{row['sender']} {row['sender_share']:.0%}, then {row['second']} {row['second_share']:.0%}"


def _covers(name: str) -> Callable[[Row], str]:
    """Returns a function that judges whether the interval of a quantity contains its true value."""
    return lambda row: _covered(row, name)


def _covered(row: Row, name: str) -> str:
    """Returns the interval of a quantity and its true value, as text; "" if the interval contains the value."""
    _, low, high = columns_of(row, name)
    truth = {
        "rate": row["true_rate"], "base RTT": row["true_base"], "buffer": row["true_buffer"], "loss": row["loss"]
    }[name]  # fmt: skip
    if low <= truth and (math.isnan(high) or truth <= high):
        return ""
    return f"{low:.7g} to {high:.7g}, is {truth:.7g}"


def _linux(row: Row, runs: pd.DataFrame, control: str) -> pd.DataFrame:
    """Returns Linux's runs of a control over a fitted path."""
    is_own = (runs["kind"] == "path") & (runs["number"] == row["number"]) & (runs["control"] == control)
    own_runs: pd.DataFrame = runs[is_own]
    return own_runs


def _draws(row: Row, runs: pd.DataFrame) -> int:
    """Returns the number of Linux runs of each predicted control, each with its own losses; 0 if a control has none."""
    return min(len(_linux(row, runs, control)) for control in PREDICTED)


def _half_of_mean(values: "pd.Series[float]") -> float:
    """Returns the half-width of the 95 % interval of the mean of independent runs (Student's t)."""
    mean = estimate(values)
    return (mean.mean_high - mean.mean_low) / 2


def _deviations(row: Row, runs: pd.DataFrame) -> Iterable[tuple[str, str, float]]:
    """Yields control, measure and relative deviation of the mean prediction from the mean of Linux's runs."""
    for control in PREDICTED:
        linux = _linux(row, runs, control)
        for measure, column in LINUX_MEASURES.items():
            if len(linux):
                predicted = float(row[f"{control}_{MEASURES[measure]}_mean"])
                yield control, measure, predicted / float(linux[column].mean()) - 1


def _predicted(row: Row, runs: pd.DataFrame) -> str:
    """Returns the deviations of a prediction; none if the capture does not determine it and the intervals are right."""
    return "" if _is_undetermined(row, runs) else _deviating(row, runs)


def _deviating(row: Row, runs: pd.DataFrame) -> str:
    """Returns the predictions that deviate from Linux by more than is tolerated, as text."""
    return _beyond(
        row, runs, {(control, name): tolerated for control in PREDICTED for name, tolerated in TOLERATED.items()}
    )


def _is_undetermined(row: Row, runs: pd.DataFrame) -> bool:
    """Returns whether a prediction deviates within its intervals, and its rate or buffer is only bounded."""
    if not (_is_bound(row, "rate") or _is_bound(row, "buffer")) or not _deviating(row, runs):
        return False
    for control in PREDICTED:
        linux = _linux(row, runs, control)
        for measure, column in LINUX_MEASURES.items():
            low, high = (float(row[f"{control}_{MEASURES[measure]}_{end}"]) for end in ("low", "high"))
            if not (low <= float(linux[column].mean()) and (math.isnan(high) or float(linux[column].mean()) <= high)):
                return False
    return True


def _mean_predicted(row: Row, runs: pd.DataFrame) -> str:
    """Compares means over random losses; Linux's means are known only to within the 95 % intervals of its runs."""
    within: dict[tuple[str, str], float] = {}
    for control in PREDICTED:
        linux = _linux(row, runs, control)
        for (name, column), tolerated in zip(LINUX_MEASURES.items(), (MEAN_WITHIN, TOLERATED[MEDIAN_RTT]), strict=True):
            within[control, name] = tolerated + _half_of_mean(linux[column]) / float(linux[column].mean())
    return _beyond(row, runs, within)


def _mean_covered(row: Row, runs: pd.DataFrame) -> str:
    """Compares the mean of Linux's runs with the interval predicted for it, allowing for both uncertainties.

    A prediction without an upper end is a lower bound, because that of the rate is one.
    """
    misses = []
    for control in PREDICTED:
        goodput = _linux(row, runs, control)["goodput_mbps"]
        predicted, half = (float(row[f"{control}_goodput_mbps_{end}"]) for end in ("mean", "half"))
        measured_half = _half_of_mean(goodput)
        half_width = measured_half if math.isnan(half) else math.hypot(half, measured_half)
        if goodput.mean() < predicted - half_width or (
            not math.isnan(half) and goodput.mean() > predicted + half_width
        ):
            misses.append(f"{control} {goodput.mean():.5g}, predicted {predicted:.5g} ± {half_width:.3g}")
    return ", ".join(misses)


def _beyond(row: Row, runs: pd.DataFrame, within: dict[tuple[str, str], float]) -> str:
    """Returns the deviations that exceed the tolerances `within`, by control and measure, as text."""
    return ", ".join(
        f"{control} {name} {off:+.1%}"
        for control, name, off in _deviations(row, runs)
        if not abs(off) <= within[control, name]
    )


def _single_runs(paths: list[Row], runs: pd.DataFrame) -> FitCriterion:
    """Judges whether individual Linux runs with random losses lie within the interval predicted for them."""
    met, misses = 0, []
    for row in paths:
        for control in PREDICTED:
            low, high = (float(row[f"{control}_goodput_mbps_{end}"]) for end in ("low", "high"))
            for goodput in _linux(row, runs, control)["goodput_mbps"]:
                if low <= goodput and (math.isnan(high) or goodput <= high):
                    met += 1
                else:
                    misses.append(f"path {row['number']} {control}: {goodput}, predicted {low} to {high}")
    return FitCriterion("single runs within the predicted interval", met, met + len(misses), 0.95, tuple(misses))
