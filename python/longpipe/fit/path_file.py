"""Files of a fit: the scenario of the path, and next to it the estimates with the observed series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.files import write_bytes, write_text
from longpipe.fit.search import TAIL_DROP
from longpipe.inputs import parse_json, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from longpipe.fit.features import Estimate
    from longpipe.fit.search import PathFit
    from longpipe.scenario import Scenario

SUFFIX: Final = ".fit.json"
FORMAT: Final = 1
# Posterior probability below which a control or a queue is not listed.
LISTED: Final = 0.005


def scenario(found: PathFit) -> Scenario:
    """Returns the fitted path as a scenario: with random losses in place of the observed ones, and traces off."""
    hypothesis = found.best.hypothesis
    loss = found.loss_probability
    random_loss: object = "none"
    if loss.value > 0:
        random_loss = {"kind": "bernoulli", "probability": float(f"{loss.value:.3g}")}
    changed = hypothesis.with_(loss=random_loss)
    if found.features.buffer is None and found.best.queue == TAIL_DROP:
        # A lower bound: the capture cannot tell more.
        changed = changed.with_(buffer_packets=max(math.ceil(found.features.longest), 1))
    duration = max(1, round(found.seen.duration_s))
    return changed.with_(duration_s=float(duration)).scenario(**found.fixed)


def estimates(found: PathFit) -> dict[str, dict[str, Any]]:
    """Returns each quantity as value, 95 % interval, unit, and how it is known; a value is None where it is not."""
    features, seen = found.features, found.seen
    rows: dict[str, dict[str, Any]] = {}
    if features.rate_bps is not None:
        rows["rate"] = _row(features.rate_bps, "bit/s", "ACKs while segments waited")
    else:
        rows["rate"] = {
            "value": features.fastest_bps, "low": features.fastest_bps, "high": None, "unit": "bit/s",
            "known": "a lower bound: no queue formed for long enough",
        }  # fmt: skip
    rows["base RTT"] = _row(features.base_rtt_s, "s", "least of the RTT samples")
    if features.buffer is not None and found.best.queue == TAIL_DROP:
        rows["buffer"] = _row(features.buffer, "packets", f"{int(features.overflow.sum())} losses at a full queue")
    else:
        known = "a lower bound: it never overflowed"
        if found.best.queue != TAIL_DROP:
            known = f"a lower bound: {found.best.queue} keeps the queue short"
        rows["buffer"] = {
            "value": math.floor(features.longest), "low": math.floor(features.longest), "high": None,
            "unit": "packets", "known": known,
        }  # fmt: skip
    loss = found.loss_probability
    count = int(features.elsewhere.sum()) if found.best.queue == TAIL_DROP else 0
    rows["loss"] = _row(loss, "per packet", f"{count} of {len(seen.sent_s)} packets, queue not full")
    return rows


def _row(found: Estimate, unit: str, known: str) -> dict[str, Any]:
    return {
        "value": float(found.value),
        "low": float(found.low),
        "high": float(found.high),
        "unit": unit,
        "known": known,
    }


def cannot_tell(found: PathFit) -> list[str]:
    """Returns what the capture cannot tell, a line each."""
    features, lines = found.features, []
    if features.rate_bps is None:
        lines.append("the rate of the bottleneck: no queue formed for long enough")
    if features.buffer is None:
        lines.append(f"the size of the buffer: at least {math.floor(features.longest)} packets; it never overflowed")
    if found.same_controls:
        likeliest = found.senders[0].hypothesis.control
        lines.append(f"{likeliest} from {', '.join(found.same_controls)}: they behave alike here")
    if found.same_queues:
        lines.append(f"{found.best.queue} from {', '.join(found.same_queues)}: they behave alike here")
    if not features.overflow.any() and not features.elsewhere.any():
        lines.append("how the queue drops: nothing was lost")
    if found.seen.others:
        lines.append(
            f"the effect of {found.seen.others} other flows of the capture: a path without other traffic is fitted"
        )
    else:
        lines.append("other traffic: a path without any is fitted")
    return lines


def as_json(found: PathFit) -> dict[str, Any]:
    """Returns the estimates, the posterior, and the observed series as plain values."""
    seen, series = found.seen, found.observed
    return {
        "format": FORMAT,
        "engine": _core.__engine__,
        "file": seen.file,
        "flow": seen.flow,
        "duration_s": seen.duration_s,
        "mss": seen.mss,
        "estimates": estimates(found),
        "controls": {name: share for name, share in found.control_shares().items() if share >= LISTED},
        "queues": {name: share for name, share in found.queue_shares().items() if share >= LISTED},
        "distance": found.best.distance,
        "cannot_tell": cannot_tell(found),
        "notes": list(seen.notes),
        "series": {
            "time_s": series.grid.tolist(),
            "delivered_bytes": _delivered(found).tolist(),
            "rtt_s": series.rtt.tolist(),
            "in_flight_bytes": series.in_flight.tolist(),
            "lost_s": seen.sent_s[seen.sent_lost].tolist(),
        },
    }


def _delivered(found: PathFit) -> Any:  # noqa: ANN401 - an array
    import numpy as np

    seen = found.seen
    place = np.searchsorted(seen.ack_s, found.observed.grid, side="right") - 1
    return np.where(place >= 0, seen.ack_delivered[np.maximum(place, 0)], 0)


def write(found: PathFit, path: Path) -> Path:
    """Writes the scenario to `path` and the estimates next to it; returns the second file."""
    import orjson

    head = [f"# Fitted by longpipe to {flow_and_file(found)}. Rates count IP packets."]
    for name, row in estimates(found).items():
        head.append(f"# {name}: {with_interval(row)}; {row['known']}")
    likely = ", ".join(f"{name} {share:.0%}" for name, share in found.control_shares().items() if share >= LISTED)
    head += [f"# sender: {likely}", *(f"# cannot tell {line}" for line in cannot_tell(found))]
    write_text(path, "\n".join(head) + "\n\n" + scenario(found).to_toml())
    beside = path.with_suffix(SUFFIX)
    write_bytes(beside, orjson.dumps(as_json(found), option=orjson.OPT_INDENT_2))
    return beside


def flow_and_file(found: PathFit) -> str:
    """Returns the flow and its file, for a head line."""
    return f"{found.seen.flow} in {found.seen.file}, {found.seen.duration_s:.4g} s".replace("\n", " ")


_SCALES: Final = {"bit/s": (1e-6, "Mbit/s", ".5g"), "s": (1e3, "ms", ".5g"), "packets": (1.0, "packets", ".0f")}


def with_interval(row: dict[str, Any]) -> str:
    """Returns a value with its interval and unit."""
    scale, unit, form = _SCALES.get(row["unit"], (1.0, row["unit"], ".3g"))
    value = format(scale * row["value"], form)
    if row["high"] is None:
        return f"at least {value} {unit}"
    return f"{value} {unit} ({format(scale * row['low'], form)} to {format(scale * row['high'], form)})"


def read(path: Path) -> dict[str, Any] | None:
    """Returns the estimates next to a fitted scenario; None if there are none.

    Raises ScenarioError if they are broken.
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
        raise ScenarioError(f"{beside}: not the estimates of longpipe fit; needs `longpipe fit FILE -o {path}` again")
    return estimates_of
