"""Traces of Pensieve: rows with a time [s] and a throughput [Mbit/s]."""

from __future__ import annotations

import re
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.measured.columns import Columns
from longpipe.measured.content import Content
from longpipe.measured.recording import Recording, Subject, kept, series
from longpipe.measured.texts import decimal

NAME: Final = "trace of Pensieve"
_ROW: Final = re.compile(r"(\d{1,12}(?:[.,]\d{1,20})?)[ \t]+(\d{1,12}(?:[.,]\d{1,20})?(?:[eE][+-]?\d{1,3})?)")


def recognizes(content: Content) -> bool:
    """Returns whether the first lines are rows of two numbers."""
    lines = content.begins.splitlines()[:20]
    rows = [line for line in lines[:-1] or lines if line.strip()]
    return bool(rows) and all(_ROW.fullmatch(line.strip()) for line in rows)


def read(content: Content) -> Recording:
    """Returns the throughput over time."""
    import numpy as np

    points = Columns(2)
    for line, text in content.lines:
        if not text.strip():
            continue
        match = _ROW.fullmatch(text.strip())
        at, rate = (
            (None, None) if match is None else tuple(decimal(group.replace(",", ".")) for group in match.groups())
        )
        if at is None or rate is None:
            raise ScenarioError(f"{content.file}:{line}: {shown(text)}; needs a time in s and a rate in Mbit/s")
        if len(points) and at < points[-1][0]:
            raise ScenarioError(f"{content.file}:{line}: {at:g} s after {points[-1][0]:g} s; needs increasing times")
        points.append(at, rate * 1e6)
    first = points[0][0]
    times = points.column(0) - first
    # The last rate holds for an unknown time, so its interval has no length.
    rate_series = series(
        "rate",
        zip(times, points.column(1), strict=True),
        "throughput, held until the next time",
        intervals=zip(times, np.append(times[1:], times[-1]), strict=True),
    )
    unknown = ("delays and losses: a trace contains only throughput", "the unit: Mbit/s by Pensieve's convention")
    path = Subject("path", "path", kept(rate_series))
    begin = int(first * 1e9) if first > 1e9 else None
    return Recording(content.file, "Pensieve trace", "Pensieve", None, begin, points[-1][0] - first, (path,), unknown)
