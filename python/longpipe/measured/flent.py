"""Data files of flent (`.flent.gz`): the series of a test's pings and transfers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.fields import get, items, number, optional, text
from longpipe.measured.recording import Recording, Series, SeriesKind, Subject, kept, series
from longpipe.measured.texts import decimal, unix_ns_of_date

NAME: Final = "data of flent"
# Units in flent's test definitions, each with the quantity and the factor to that quantity's unit.
_UNITS: Final[dict[str, tuple[SeriesKind, float]]] = {"ms": ("rtt", 1e-3), "Mbits/s": ("rate", 1e6)}
# Other series, such as "HTTP latency", are neither pings nor transfers, and flent has transformed their raw values.
_NAMES: Final = ("Ping", "TCP", "UDP")
# Endings of the names of series that flent computes from other series.
_DERIVED: Final = (" avg", " sum", " totals", "TCP totals")
# Further keys of raw values.
_KEYS: Final[dict[str, tuple[SeriesKind, float, str | None]]] = {
    "owd_up": ("delay up", 1e-3, None),
    "owd_down": ("delay down", 1e-3, None),
    "tcp_rtt": ("smoothed rtt", 1e-3, None),
    "tcp_cwnd": ("cwnd", 1.0, "packets"),
    "tcp_delivery_rate": ("delivery rate", 1e6, None),
    "tcp_pacing_rate": ("pacing rate", 1e6, None),
}


def recognizes(content: Content) -> bool:
    """Returns whether the content is an object with flent's results."""
    return content.is_json and is_whole(content.json_values[0][1])


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is a test of flent."""
    return isinstance(get(value, "results"), dict) and get(value, "x_values") is not None


def read(content: Content) -> Recording:
    """Returns the series of a test: raw values with their own times if the file has them, otherwise the common grid."""
    document, value = content.json_values[0]
    grid = items(document, value, "x_values")
    raw = get(value, "raw_values")
    begin = _first(raw)
    if begin is None:
        begin = unix_ns_of_date(text(value, "metadata", "T0") or text(value, "metadata", "TIME"))
    subjects = []
    for name, results in value["results"].items():
        if not name.startswith(_NAMES) or name.endswith(_DERIVED):
            continue
        raw_values = get(raw, name)
        location = f"{document}: raw_values.{name}" if raw_values else f"{document}: results.{name}"
        quantity = _quantity(name, value)
        if isinstance(raw_values, list) and raw_values and begin is not None:
            of_series = _of_raw(location, raw_values, quantity, begin)
        else:
            of_series = _of_grid(location, grid, results, quantity)
        meta = get(value, "metadata", "SERIES_META", name)
        if of_series:
            subjects.append(_subject(name, of_series, meta))
    if not subjects:
        raise ScenarioError(f"{document}: no ping and no transfer with values; needs a test of flent that has them")
    length = max(float(series.time_s.max()) for subject in subjects for series in subject.series)
    unknown = ("packets and losses of transfers: flent only samples rates and round trips",)
    version = text(value, "metadata", "FLENT_VERSION")
    name = text(value, "metadata", "NAME")
    return Recording(
        content.file, "flent", f"flent ({name})" if name else "flent", version, begin, length, tuple(subjects), unknown
    )


def _first(raw: object) -> int | None:
    """Returns the first time of the raw values as Unix time [ns]. In old versions, T0 lacks its time zone."""
    lists = raw.values() if isinstance(raw, dict) else ()
    times = [get(point, "t") for points in lists if isinstance(points, list) for point in points]
    plausible = [at for at in times if isinstance(at, int | float) and 0 <= at < 1e12]
    # Unix times stored as floats are exact only to a microsecond.
    return round(min(plausible) * 1e6) * 1000 if plausible else None


def _quantity(name: str, value: object) -> tuple[SeriesKind, float] | None:
    """Returns the quantity and factor of a ping or transfer, from the units in its metadata, or else from its name."""
    units = text(value, "metadata", "SERIES_META", name, "UNITS")
    if units is not None:
        return _UNITS.get(units)
    if name.startswith("Ping"):
        return "rtt", 1e-3
    return ("rate", 1e6) if name.startswith("TCP") and "::" not in name else None


def _of_raw(
    values_location: str, raw: list[Any], quantity: tuple[SeriesKind, float] | None, begin: int
) -> tuple[Series, ...]:
    """Returns the series of flent's raw values, with times since `begin` [ns]."""

    def points(key: str, scale: float) -> Iterator[tuple[float, float]]:
        for k, point in enumerate(raw):
            location = f"{values_location}[{k}]"
            value = optional(location, point, key)
            if value is not None:
                yield number(location, point, "t") - begin / 1e9, value * scale

    every = [series(kind, points(key, scale), "flent's raw values", unit) for key, (kind, scale, unit) in _KEYS.items()]
    if quantity is not None:
        values = list(points("val", quantity[1]))
        lengths = [
            optional(f"{values_location}[{k}]", point, "dur")
            for k, point in enumerate(raw)
            if get(point, "val") is not None
        ]
        intervals = _intervals([at for at, _ in values], lengths) if quantity[0] == "rate" else None
        every.insert(0, series(quantity[0], values, "flent's raw values", intervals=intervals))
    return kept(*every)


def _intervals(ends: list[float], lengths: list[float | None]) -> list[tuple[float, float]]:
    """Returns the intervals that end at these times: netperf states their lengths; others follow the one before."""
    steps = [after - before for before, after in pairwise(ends)]
    assumed = [*steps[:1], *steps] or [0.0]
    return [
        (end - (length if length is not None else step), end)
        for end, length, step in zip(ends, lengths, assumed, strict=True)
    ]


def _of_grid(
    location: str, grid: list[Any], results: object, quantity: tuple[SeriesKind, float] | None
) -> tuple[Series, ...]:
    """Returns the series of a result at the common times `grid`; none for an unknown quantity."""
    if quantity is None:
        return ()
    if not isinstance(results, list) or len(results) != len(grid):
        raise ScenarioError(f"{location}: not a list of {len(grid)} values; needs one for each of x_values")
    times = [number(location, {"x_values": at}, "x_values") for at in grid]
    intervals = _intervals(times, [None] * len(times))
    series_names = [
        (at, span, {"value": value})
        for at, span, value in zip(times, intervals, results, strict=True)
        if value is not None
    ]
    return kept(
        series(
            quantity[0],
            ((at, number(location, number_, "value") * quantity[1]) for at, _, number_ in series_names),
            "flent's results at common times, interpolated",
            intervals=(span for _, span, _ in series_names) if quantity[0] == "rate" else None,
        )
    )


def _subject(name: str, of_series: tuple[Series, ...], meta: object) -> Subject:
    """Returns the path or the flow with these series, and counters of netperf."""
    is_path = of_series[0].quantity == "rtt"
    control = text(meta, "CONG_CONTROL")
    counters = {}
    for key, unit in (("PACKETS_SENT", "packets"), ("PACKETS_RECEIVED", "packets"), ("TCP_RETRANSMIT", "packets")):
        written = get(meta, key)
        # netperf writes numbers as text.
        value = decimal(written) if isinstance(written, str) else optional(name, meta, key)
        if value is not None:
            counters[key.lower().replace("_", " ")] = (value, unit)
    return Subject(name, "path" if is_path else "flow", of_series, counters, {"control": control} if control else {})
