"""Coverage of the intervals of fits and predictions, and of statements with a probability of 99 %."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from longpipe.units import RATE
from longpipe_evidence.validate.fit_criterion import FitCriterion, Row, criterion, is_queue_right, queue_of_linux
from longpipe_evidence.validate.fit_mixed import kind_of
from longpipe_evidence.validate.fit_results import MEASURES, columns_of
from longpipe_evidence.validate.fit_runs import ABSENT, PREDICTED
from longpipe_evidence.validate.linux import PACKET_BYTES, seconds
from longpipe_evidence.validate.linux_compare import longpipe_name
from longpipe_evidence.validate.linux_disciplines import WIRE_BYTES
from longpipe_evidence.validate.model_errors import MEASURES as LINUX_MEASURES

# Required shares of the intervals that contain the true value, and of the certain statements that are right.
COVERED: Final = 0.9
RIGHT: Final = 0.98
# Probability that is printed as 99 % or 100 %.
CERTAIN: Final = 0.985

Case = tuple[Row, str]


def coverage(rows: Sequence[Row], runs: pd.DataFrame) -> list[FitCriterion]:
    """Judges each interval that the fits of mixed paths state, by quantity and together, and certain statements."""
    cases = {
        "rate": [(row, miss) for row in rows for miss in _rates(row)],
        "base RTT": [(row, _miss(row, "base RTT", _base(row))) for row in rows],
        "buffer": [(row, _miss(row, "buffer", float(row["true_buffer"]))) for row in rows],
        "loss": [(row, _miss(row, "loss", 0.0)) for row in rows],
        "jitter": [(row, _miss(row, "jitter", _jitter(row))) for row in rows],
        **{f"predicted {name}": [(row, miss) for row in rows for miss in _predicted(row, runs, name)]
           for name in MEASURES},
    }  # fmt: skip
    # Only intervals that a fit states are judged.
    stated = {name: [(row, miss) for row, miss in of_name if miss is not None] for name, of_name in cases.items()}
    together = [case for of_name in stated.values() for case in of_name]
    return [
        *(_counted(f"coverage of the {name}", of_name, COVERED) for name, of_name in stated.items()),
        _counted("coverage together", together, COVERED, quiet=True),
        _counted(f"statements of at least {CERTAIN:.1%}", list(_statements(rows)), RIGHT),
    ]


def _counted(name: str, cases: Sequence[Case], share: float, *, quiet: bool = False) -> FitCriterion:
    judged = criterion(name, [row | {"miss": miss} for row, miss in cases], lambda row: _text(row), share)
    by_kind = dict.fromkeys(sorted({kind_of(row["number"]) for row, _ in cases}), 0)
    for row, miss in cases:
        by_kind[kind_of(row["number"])] += bool(miss)
    note = ", ".join(f"{kind} {count}" for kind, count in by_kind.items() if count)
    return replace(judged, note=f"misses: {note}" if note else "", misses=() if quiet else judged.misses)


def _text(row: Row) -> str:
    return f"({kind_of(row['number'])}) {row['miss']}" if row["miss"] else ""


def _miss(row: Row, name: str, truth: float) -> str | None:
    """Returns the interval that misses the truth, an empty text if it contains it; None if none is stated."""
    _, low, high = columns_of(row, name)
    if math.isnan(low) and math.isnan(high):
        return None
    return _outside(low, high, truth)


def _outside(low: float, high: float, truth: float) -> str:
    is_low_right, is_high_right = math.isnan(low) or low <= truth, math.isnan(high) or truth <= high
    return "" if is_low_right and is_high_right else f"{low:.7g} to {high:.7g}, is {truth:.7g}"


def _rates(row: Row) -> list[str | None]:
    """Returns the verdict on each stated rate, compared with the one that was in force for most of its time."""
    periods = [(0.0, row["true_rate"])]
    if row["rates"] != ABSENT:
        for text in row["rates"].split():
            at, rate = text.split(":")
            periods.append((seconds(at), RATE.parse(rate) * WIRE_BYTES / PACKET_BYTES))
    if row["steps"] == "-":
        if len(periods) == 1:
            return [_miss(row, "rate", row["true_rate"])]
        _, low, high = columns_of(row, "rate")
        stated = [(0.0, low, high)]
    else:
        columns = [[float(number) for number in text.split(":")] for text in row["steps"].split()]
        stated = [(at, low, high) for at, low, high in columns]
    verdicts: list[str | None] = []
    ends = [at for at, *_ in stated[1:]] + [row["linux_duration_s"]]
    for (begin, low, high), end in zip(stated, ends, strict=True):
        shares: dict[float, float] = {}
        for (at, rate), until in zip(periods, [at for at, _ in periods[1:]] + [math.inf], strict=True):
            shares[rate] = shares.get(rate, 0.0) + max(0.0, min(end, until) - max(begin, at))
        verdicts.append(_outside(low, high, max(shares, key=lambda rate: shares[rate])))
    return verdicts


def _base(row: Row) -> float:
    if row["jitter"] == ABSENT:
        return float(row["true_base"])
    mean_s, half_s = (seconds(text) for text in row["jitter"].split(":"))
    return float(row["true_base"]) + mean_s - half_s


def _jitter(row: Row) -> float:
    """Returns the mean of the delays in excess of the smallest one [s]."""
    return 0.0 if row["jitter"] == ABSENT else seconds(row["jitter"].split(":")[1])


def _predicted(row: Row, runs: pd.DataFrame, name: str) -> Iterable[str | None]:
    """Yields the verdict on the interval of single runs for each predicted control."""
    column = LINUX_MEASURES[name]
    is_own = (runs["kind"] == row["kind"]) & (runs["number"] == row["number"])
    for control in PREDICTED:
        linux = runs[is_own & (runs["control"] == control)]
        low, high = (float(row[f"{control}_{MEASURES[name]}_{end}"]) for end in ("low", "high"))
        if len(linux) and not (math.isnan(low) and math.isnan(high)):
            miss = _outside(low, high, float(linux[column].iloc[0]))
            yield f"{control} {miss}" if miss else ""


def _statements(rows: Iterable[Row]) -> Iterable[Case]:
    """Yields the certain statements about senders and queues."""
    for row in rows:
        if row["sender_share"] >= CERTAIN:
            truth = longpipe_name(row["control"])
            yield row, "" if row["sender"] == truth else f"sender {row['sender']}, is {truth}"
        if row["queue_share"] >= CERTAIN:
            yield row, "" if is_queue_right(row) else f"queue {row['queue']}, is {queue_of_linux(row)}"
