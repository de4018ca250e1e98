"""Picture of the rate, round-trip times and losses in a measured file over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from longpipe.errors import shortened
from longpipe.measured import Recording, Series, Subject
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import GREY, MOST_SHAPES, PALETTE, interval_text, legend_below, panels, titled

Numbers = npt.NDArray[np.float64]

# Maximum number of subjects in a picture; those with the most data are shown or, if that is unknown, the first ones.
MOST_SUBJECTS: Final = 6
_NAME: Final = 48
# Panels in their order: label, factor, and the quantities that it shows with their line styles.
_PANELS: Final[tuple[tuple[str, float, dict[str, str]], ...]] = (
    ("rate [Mbit/s]", 1e-6, {"rate": "-", "sent rate": "-", "delivery rate": "--", "pacing rate": ":"}),
    ("round trip [ms]", 1e3, {"rtt": ".", "smoothed rtt": "-"}),
    ("one-way delay [ms]", 1e3, {"delay": ".", "delay up": ".", "delay down": "x"}),
    ("window [kB]", 1e-3, {"cwnd": "-", "in flight": ":"}),
    ("window [packets]", 1.0, {"cwnd": "-"}),
    ("backlog [kB]", 1e-3, {"backlog": "-"}),
    ("backlog [packets]", 1.0, {"backlog": "-"}),
    ("lost or retransmitted\n[packets]", 1.0, {"losses": "x", "retransmissions": "|"}),
    ("retransmitted [kB]", 1e-3, {"retransmissions": "|"}),
)
_UNITS: Final = {"[kB]": "bytes", "[packets]": "packets"}
# Number of intervals over which lost and retransmitted packets are counted, and the quantities that are counted.
_INTERVALS: Final = 100
_COUNTED: Final = ("losses", "retransmissions")
# Maximum time [s] between the end of an interval and the begin of the next without a gap; times are rounded.
_GAP_S: Final = 1e-4


@with_literal_texts
def measured(recording: Recording, most: int = MOST_SUBJECTS) -> Figure:
    """Draws the series of a recording over time, one panel for each kind that it has, for `most` of its subjects."""
    subjects = [one for one in recording.subjects if one.series]
    drawn = subjects[:most]
    rows = [row for row in _PANELS if any(_of(row, one) for one in drawn)]
    note = f"{most} of {len(subjects)} {subjects[0].kind}s" if len(subjects) > most else ""
    title = titled(f"{recording.file}: {recording.source(60)}", note)
    end_s = _end_s(recording, drawn)
    figure, axes = panels(max(len(rows), 1), title, (0.0, end_s), height=2.0)
    for row, panel in zip(rows, axes, strict=False):
        for colour, one in zip(PALETTE, drawn, strict=False):
            _draw(panel, row, one, colour, end_s / _INTERVALS)
        panel.set_ylabel(_label(row, end_s / _INTERVALS))
        panel.set_ylim(bottom=0)
        if row[0].endswith("[packets]"):
            panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        _key(panel, row, drawn)
    if not rows:
        axes[0].text(0.5, 0.5, "no series, only counters", ha="center", transform=axes[0].transAxes)
    names = [Line2D([], [], color=colour) for colour, _ in zip(PALETTE, drawn, strict=False)]
    legend_below(figure, names, [shortened(one.name, _NAME) for one in drawn])
    return figure


def _end_s(recording: Recording, drawn: Sequence[Subject]) -> float:
    ends = [float(series.time_s.max()) for one in drawn for series in one.series]
    return max([recording.duration_s, *ends]) or 1.0


def _of(row: tuple[str, float, dict[str, str]], subject: Subject) -> list[Series]:
    """Returns the series of a subject that a panel shows: those with the panel's quantities and unit."""
    unit = next((unit for suffix, unit in _UNITS.items() if row[0].endswith(suffix)), None)
    return [one for one in subject.series if one.quantity in row[2] and unit in (None, one.unit)]


def _label(row: tuple[str, float, dict[str, str]], interval_s: float) -> str:
    """Returns the label of a panel's axis, with the interval if the panel counts packets."""
    if not set(row[2]) <= set(_COUNTED):
        return row[0]
    return f"{row[0].removesuffix(']')} in {interval_text(interval_s)}]"


def _draw(
    panel: Axes, row: tuple[str, float, dict[str, str]], subject: Subject, colour: str, interval_s: float
) -> None:
    for series in _of(row, subject):
        style = _style(row[2][series.quantity])
        if series.quantity in _COUNTED:
            times, counts = _counted(series, interval_s)
            panel.vlines(times, 0, row[1] * counts, color=colour, lw=1.1)
            panel.plot(times, row[1] * counts, color=colour, **style)
            continue
        times, values = _line(series)
        (drawn,) = panel.plot(times, row[1] * values, color=colour, lw=1.1, **style)
        drawn.set_rasterized(len(series.numbers) > MOST_SHAPES)


def _line(series: Series) -> tuple[Numbers, Numbers]:
    """Returns the points of a line: values of intervals are steps, and NaN separates intervals with a gap between."""
    if series.intervals_s is None:
        return series.time_s, series.numbers
    gaps = 2 * (1 + np.flatnonzero(series.intervals_s[1:, 0] > series.intervals_s[:-1, 1] + _GAP_S))
    times, values = series.intervals_s.ravel(), series.numbers.repeat(2)
    return np.insert(times, gaps, np.nan), np.insert(values, gaps, np.nan)


def _counted(series: Series, interval_s: float) -> tuple[Numbers, Numbers]:
    """Returns the middles [s] of the intervals with packets, and their sums; an end belongs to the interval before."""
    places = np.clip(np.ceil(np.round(series.time_s / interval_s, 6)) - 1, 0, _INTERVALS - 1).astype(int)
    sums: Numbers = np.zeros(_INTERVALS)
    np.add.at(sums, places, series.numbers)
    middles = (np.arange(_INTERVALS, dtype=np.float64) + 0.5) * interval_s
    return middles[sums > 0], sums[sums > 0]


def _style(style: str) -> dict[str, Any]:
    """Returns Matplotlib's options for a line style or a marker."""
    if style in ("-", "--", ":"):
        return {"ls": style}
    return {"ls": "", "marker": style, "ms": 3 if style == "." else 6}


def _key(panel: Axes, row: tuple[str, float, dict[str, str]], drawn: Sequence[Subject]) -> None:
    """Adds a key of a panel's quantities if there are several, or if the axis label does not name the quantity."""
    shown = dict.fromkeys(series.quantity for one in drawn for series in _of(row, one))
    if list(shown) in (["rate"], ["rtt"], ["backlog"]):
        return
    lines = [Line2D([], [], color=GREY, **_style(row[2][quantity])) for quantity in shown]
    panel.legend(lines, list(shown), frameon=False, fontsize="small", loc="best")
