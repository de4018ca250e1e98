"""Picture of the rate, round-trip times and losses in a measured file over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from longpipe.errors import shortened
from longpipe.measured import Recording, Series, Subject
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import GREY, MAX_SHAPES, PALETTE, interval_text, legend_below, panels, titled

Numbers = npt.NDArray[np.float64]

# Maximum number of subjects in a picture; those with the most data are shown or, if that is unknown, the first ones.
MAX_SUBJECTS: Final = 6
# Maximum length of a subject's name in the legend [characters].
_NAME: Final = 48


class _Panel(NamedTuple):
    """A panel: the label of its axis, the factor to the label's unit, and the style of each quantity that it shows."""

    label: str
    factor: float
    styles: dict[str, str]


# Panels from the top down, of which those without a series are omitted.
_PANELS: Final = (
    _Panel("rate [Mbit/s]", 1e-6, {"rate": "-", "sent rate": "-", "delivery rate": "--", "pacing rate": ":"}),
    _Panel("round trip [ms]", 1e3, {"rtt": ".", "smoothed rtt": "-"}),
    _Panel("one-way delay [ms]", 1e3, {"delay": ".", "delay up": ".", "delay down": "x"}),
    _Panel("window [kB]", 1e-3, {"cwnd": "-", "in flight": ":"}),
    _Panel("window [packets]", 1.0, {"cwnd": "-"}),
    _Panel("backlog [kB]", 1e-3, {"backlog": "-"}),
    _Panel("backlog [packets]", 1.0, {"backlog": "-"}),
    _Panel("lost or retransmitted\n[packets]", 1.0, {"losses": "x", "retransmissions": "|"}),
    _Panel("retransmitted [kB]", 1e-3, {"retransmissions": "|"}),
)
# Unit of a series by the end of the label of the panel that shows it, for quantities that have two panels.
_UNITS: Final = {"[kB]": "bytes", "[packets]": "packets"}
# Number of intervals over which lost and retransmitted packets are counted, and the quantities that are counted.
_INTERVALS: Final = 100
_COUNTED: Final = ("losses", "retransmissions")
# Maximum time [s] between the end of an interval and the start of the next without a gap; times are rounded.
_GAP_S: Final = 1e-4


@with_literal_texts
def measured(recording: Recording, most: int = MAX_SUBJECTS) -> Figure:
    """Draws the series of a recording over time, one panel for each kind that it has, for `most` of its subjects."""
    subjects = [subject for subject in recording.subjects if subject.series]
    shown_subjects = subjects[:most]
    kinds = [kind for kind in _PANELS if any(_shown(kind, subject) for subject in shown_subjects)]
    note = f"{most} of {len(subjects)} {subjects[0].kind}s" if len(subjects) > most else ""
    title = titled(f"{recording.file}: {recording.source(60)}", note)
    end_s = _end_s(recording, shown_subjects)
    figure, axes = panels(max(len(kinds), 1), title, (0.0, end_s), height=2.0)
    for kind, panel in zip(kinds, axes, strict=False):
        for color, subject in zip(PALETTE, shown_subjects, strict=False):
            _draw(panel, kind, subject, color, end_s / _INTERVALS)
        panel.set_ylabel(_label(kind, end_s / _INTERVALS))
        panel.set_ylim(bottom=0)
        if kind.label.endswith("[packets]"):
            panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        _legend_of_quantities(panel, kind, shown_subjects)
    if not kinds:
        axes[0].text(0.5, 0.5, "no series, only counters", ha="center", transform=axes[0].transAxes)
    names = [Line2D([], [], color=color) for color, _ in zip(PALETTE, shown_subjects, strict=False)]
    legend_below(figure, names, [shortened(subject.name, _NAME) for subject in shown_subjects])
    return figure


def _end_s(recording: Recording, subjects: Sequence[Subject]) -> float:
    """Returns the end [s] of the time axis, which is above 0 also for a recording without duration."""
    ends = [float(series.time_s.max()) for subject in subjects for series in subject.series]
    return max([recording.duration_s, *ends]) or 1.0


def _shown(kind: _Panel, subject: Subject) -> list[Series]:
    """Returns the series of a subject that a panel shows: those with the panel's quantities and unit."""
    unit = next((unit for suffix, unit in _UNITS.items() if kind.label.endswith(suffix)), None)
    return [series for series in subject.series if series.quantity in kind.styles and unit in (None, series.unit)]


def _label(kind: _Panel, interval_s: float) -> str:
    """Returns the label of a panel's axis, with the interval if the panel counts packets."""
    if not set(kind.styles) <= set(_COUNTED):
        return kind.label
    return f"{kind.label.removesuffix(']')} in {interval_text(interval_s)}]"


def _draw(panel: Axes, kind: _Panel, subject: Subject, color: str, interval_s: float) -> None:
    """Draws the series of a recorded flow or path into a panel."""
    for series in _shown(kind, subject):
        style = _style(kind.styles[series.quantity])
        if series.quantity in _COUNTED:
            times, counts = _counted(series, interval_s)
            panel.vlines(times, 0, kind.factor * counts, color=color, lw=1.1)
            panel.plot(times, kind.factor * counts, color=color, **style)
            continue
        times, values = _line(series)
        (line,) = panel.plot(times, kind.factor * values, color=color, lw=1.1, **style)
        line.set_rasterized(len(series.numbers) > MAX_SHAPES)


def _line(series: Series) -> tuple[Numbers, Numbers]:
    """Returns the times [s] and values of a line: a value over an interval is a step, and NaN interrupts a gap."""
    if series.intervals_s is None:
        return series.time_s, series.numbers
    # Each interval has two points, its start and its end; NaN is inserted after the end that precedes a gap.
    gaps = 2 * (1 + np.flatnonzero(series.intervals_s[1:, 0] > series.intervals_s[:-1, 1] + _GAP_S))
    times, values = series.intervals_s.ravel(), series.numbers.repeat(2)
    return np.insert(times, gaps, np.nan), np.insert(values, gaps, np.nan)


def _counted(series: Series, interval_s: float) -> tuple[Numbers, Numbers]:
    """Returns the middles [s] of the intervals with packets, and the packets of each; an interval includes its end."""
    # Quotients are rounded before `ceil`, so that a packet at an interval's end is not counted in the next one.
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


def _legend_of_quantities(panel: Axes, kind: _Panel, subjects: Sequence[Subject]) -> None:
    """Adds a legend of a panel's quantities if there are several, or if the axis label does not name the quantity."""
    quantities = dict.fromkeys(series.quantity for subject in subjects for series in _shown(kind, subject))
    if list(quantities) in (["rate"], ["rtt"], ["backlog"]):
        return
    lines = [Line2D([], [], color=GREY, **_style(kind.styles[quantity])) for quantity in quantities]
    panel.legend(lines, list(quantities), frameon=False, fontsize="small", loc="best")
