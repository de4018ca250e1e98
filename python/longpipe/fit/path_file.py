"""Files of a fit: the path's scenario, and next to it a file with the estimates and the observed series."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.files import write_bytes, write_text
from longpipe.fit.report import LISTED, listed, with_interval
from longpipe.inputs import parse_json, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from longpipe.fit.report import FitReport

SUFFIX: Final = ".fit.json"
# Width of the comments.
COLUMNS: Final = 100
# Format 2 counts the packet in transmission as part of the buffer; format 3 adds the number of random losses.
FORMAT: Final = 3


def as_json(found: FitReport) -> dict[str, Any]:
    """Returns the estimates, the posterior, and the observed series as plain values."""
    return {
        "format": FORMAT,
        "engine": _core.__engine__,
        "file": found.file,
        "flow": found.flow,
        "duration_s": found.duration_s,
        "mss": found.mss,
        "estimates": found.estimates,
        "rate_steps": found.rate_steps,
        "controls": {name: share for name, share in found.controls.items() if share >= LISTED},
        "queues": {name: share for name, share in found.queues.items() if share >= LISTED},
        "others": [{name: share for name, share in one.items() if share >= LISTED} for one in found.others],
        "is_bounded": found.is_bounded,
        "distance": found.distance,
        "cannot_tell": found.undetermined,
        "doubts": found.doubts,
        "notes": found.notes,
        "goodput": asdict(found.goodput) if found.goodput else None,
        "policer": asdict(found.policer) if found.policer else None,
        "series": found.series,
    }


def write(found: FitReport, path: Path) -> Path:
    """Writes the scenario to `path` and the estimates next to it; returns the path of the second file."""
    import orjson

    lines = [f"Fitted by longpipe to {found.head}. Rates count IP packets."]
    lines += [f"warning: {line}" for line in found.warnings]
    lines += [f"{name}: {with_interval(row)}; {row['known']}" for name, row in found.estimates.items()]
    lines += found.step_lines()
    lines += [f"sender: {listed(found.controls)}"] if found.controls else []
    lines += found.findings
    lines += [f"cannot tell {line}" for line in found.undetermined]
    lines.append("Fields that are not listed have their defaults: `longpipe fields`, and the profile of [tcp].")
    head = [fill(line, COLUMNS, initial_indent="# ", subsequent_indent="#   ") for line in lines]
    write_text(path, "\n".join(head) + "\n\n" + found.toml)
    beside = path.with_suffix(SUFFIX)
    write_bytes(beside, orjson.dumps(as_json(found), option=orjson.OPT_INDENT_2))
    return beside


def read(path: Path) -> dict[str, Any] | None:
    """Returns the estimates stored next to a fitted scenario; None if there are none.

    Raises ScenarioError if the file is damaged.
    """
    beside = path.with_suffix(SUFFIX)
    if not beside.exists():
        return None
    estimates_of = parse_json(read_bytes(beside, "the estimates of longpipe fit"), str(beside), "JSON")
    if (
        not isinstance(estimates_of, dict)
        or estimates_of.get("format") != FORMAT
        or not all(isinstance(estimates_of.get(name), dict) for name in ("estimates", "series"))
    ):
        raise ScenarioError(f"{beside}: not estimates of longpipe fit; repeat `longpipe fit FILE -o {path}`")
    return estimates_of
