"""Files of a fit: the path's scenario, and next to it a file with the estimates and the observed series."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError, shown
from longpipe.fit.report import LISTED, listed, with_interval
from longpipe.inputs import parse_json, read_bytes
from longpipe.system.files import write_bytes, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from longpipe.fit.report import FitReport

SUFFIX: Final = ".fit.json"
# Width of the comments.
COLUMNS: Final = 100
# Limits of values in the estimates: longest capture [s], and largest number of any kind.
_LONGEST_S: Final = 1e10
_LARGEST: Final = 1e20
# Time by which series may end after the transfer: a factor and a number of seconds.
_LATE_SHARE, _LATE_S = 1.01, 2.0
_ROUNDING: Final = 1e-3
# Series of times, and those whose values may be unknown.
_TIMES: Final = ("time_s", "lost_s")
_GAPS: Final = ("rtt_s", "in_flight_bytes")
# Format 2 counts the packet in transmission as part of the buffer; format 3 adds the number of random losses.
FORMAT: Final = 3


def as_json(report: FitReport) -> dict[str, Any]:
    """Returns the estimates, the posterior, and the observed series as plain values."""
    return {
        "format": FORMAT,
        "engine": _core.__engine__,
        "file": report.file,
        "flow": report.flow,
        "duration_s": report.duration_s,
        "mss": report.mss,
        "estimates": report.estimates,
        "rate_steps": report.rate_steps,
        "outages": [asdict(outage) for outage in report.outages],
        "controls": {name: share for name, share in report.controls.items() if share >= LISTED},
        "queues": {name: share for name, share in report.queues.items() if share >= LISTED},
        "others": [{name: share for name, share in shares.items() if share >= LISTED} for shares in report.others],
        "is_bounded": report.is_bounded,
        "distance": report.distance,
        "cannot_tell": report.undetermined,
        "doubts": report.doubts,
        "notes": report.notes,
        "goodput": asdict(report.goodput) if report.goodput else None,
        "policer": asdict(report.policer) if report.policer else None,
        "series": report.series,
    }


def write(report: FitReport, path: Path) -> Path:
    """Writes the scenario to `path` and the estimates next to it; returns the path of the second file."""
    import orjson

    lines = [f"Fitted by longpipe to {report.head}. Rates count IP packets."]
    lines += [f"warning: {line}" for line in report.warnings]
    lines += [f"{name}: {with_interval(row)}; {row['known']}" for name, row in report.estimates.items()]
    lines += report.step_lines()
    lines += [f"sender: {listed(report.controls)}"] if report.controls else []
    lines += report.findings
    lines += [f"cannot tell {line}" for line in report.undetermined]
    lines.append("Fields that are not listed have their defaults: `longpipe fields`, and the profile of [tcp].")
    head = [fill(line, COLUMNS, initial_indent="# ", subsequent_indent="#   ") for line in lines]
    write_text(path, "\n".join(head) + "\n\n" + report.toml)
    json_path = path.with_suffix(SUFFIX)
    write_bytes(json_path, orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2))
    return json_path


def read(path: Path) -> dict[str, Any] | None:
    """Returns the estimates stored next to the scenario of a fitted transfer; None if there are none.

    The fit of a Starlink site has no observed transfer. Raises ScenarioError if the file is damaged.
    """
    json_path = path.with_suffix(SUFFIX)
    if not json_path.exists():
        return None
    content = parse_json(read_bytes(json_path, "the estimates of longpipe fit"), str(json_path), "JSON")
    if (
        not isinstance(content, dict)
        or content.get("format") != FORMAT
        or not all(isinstance(content.get(name), dict) for name in ("estimates", "series"))
    ):
        raise ScenarioError(f"{json_path}: not estimates of longpipe fit; repeat `longpipe fit FILE -o {path}`")
    _check(str(json_path), content)
    return content if content["series"] else None


def _check(location: str, content: dict[str, Any]) -> None:
    """Raises ScenarioError for values that no fit can have, which would make predictions of whatif wrong."""
    # Series end with the grid step or the interval in which the transfer ends.
    latest = _LATE_SHARE * _number(f"{location}: duration_s", content.get("duration_s"), 0.0, _LONGEST_S) + _LATE_S
    for name, row in content["estimates"].items():
        _check_row(f"{location}: estimates.{name}", row, 1.0 if name == "loss" else _LARGEST)
    for kind in ("controls", "queues"):
        shares = content.get(kind) or {}
        if not isinstance(shares, dict):
            raise ScenarioError(f"{location}: {kind}: {shown(shares)}; needs shares by name")
        total = sum(_number(f"{location}: {kind}.{name}", share, 0.0, 1.0) for name, share in shares.items())
        if total > 1 + _ROUNDING:
            raise ScenarioError(f"{location}: {kind}: the shares add up to {total:.3g}; needs at most 1")
    steps = content.get("rate_steps")
    for index, step in enumerate(steps if isinstance(steps, list) else []):
        at = step.get("at_s") if isinstance(step, dict) else None
        _number(f"{location}: rate_steps[{index}].at_s", at, 0.0, latest, "of the capture")
    for name, values in content["series"].items():
        _check_series(f"{location}: series.{name}", name, values, latest)


def _check_row(location: str, row: object, high: float) -> None:
    if not isinstance(row, dict):
        raise ScenarioError(f"{location}: {shown(row)}; needs value, low and high")
    for key, limit in (("value", high), ("low", high), ("high", high), ("count", _LARGEST), ("packets", _LARGEST)):
        if row.get(key) is not None:
            _number(f"{location}.{key}", row[key], 0.0, limit)
    if row.get("count") is not None and row["count"] > (row.get("packets") or 0):
        raise ScenarioError(f"{location}.count: {row['count']}; needs at most packets, {row.get('packets')}")


def _check_series(location: str, name: str, values: object, latest: float) -> None:
    if not isinstance(values, list):
        raise ScenarioError(f"{location}: {shown(values)}; needs a list")
    high, of_capture = (latest, "of the capture") if name in _TIMES else (_LARGEST, "")
    for index, value in enumerate(values):
        if value is not None or name not in _GAPS:
            _number(f"{location}[{index}]", value, 0.0, high, of_capture)


def _number(location: str, value: object, low: float, high: float, of: str = "") -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isinstance(value, int | float) or not low <= value <= high:
        description = "missing" if value is None else shown(value)
        raise ScenarioError(f"{location}: {description}; needs {low:g} to {high:.6g}{f' {of}' if of else ''}")
    return float(value)
