"""Measures of flows, ports, response times and datagrams, selected by a name such as "flow:bulk.throughput"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe import _core
from longpipe.errors import ScenarioError, nearest
from longpipe.measures.dimensions import BITS_PER_SECOND, NUMBER, SECONDS, Dimension
from longpipe.metrics.atm_forum import fairness
from longpipe.metrics.convergence import COLUMN as CONVERGENCE
from longpipe.metrics.delays import MEAN, QUANTILES
from longpipe.scenario.paths import port_name, whole
from longpipe.scenario.source import OVER_TCP

if TYPE_CHECKING:
    from longpipe.result import Result
    from longpipe.scenario import Scenario

Rows = list[dict[str, Any]]

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ -]{0,63}")
GRAMMAR: Final = (
    "accepts NAME=flow:FLOW.throughput, NAME=port:A->B.utilization, NAME=web.p95, expressions and the like; see "
    "docs/analysis.md"
)


@dataclass(frozen=True)
class Quantity:
    """A measurable quantity: its unit in table headings, and its computation from rows of a result."""

    unit: str
    of: Callable[[Rows], float]
    # Divisor that converts a value to `unit`.
    scale: float = 1.0


def _sum(column: str) -> Callable[[Rows], float]:
    return lambda rows: float(sum(row[column] for row in rows))


def _mean(column: str) -> Callable[[Rows], float]:
    return lambda rows: float(np.mean([row[column] for row in rows]))


def _min(column: str) -> Callable[[Rows], float]:
    return lambda rows: float(np.min([row[column] for row in rows]))


def _max(column: str) -> Callable[[Rows], float]:
    return lambda rows: float(np.max([row[column] for row in rows]))


def _share(part: str, whole: str) -> Callable[[Rows], float]:
    """Returns a share, limited to 1: after a warm-up, packets that were already queued may be lost as well."""

    def share(rows: Rows) -> float:
        of_part = _sum(part)(rows)
        return of_part / (max(of_part, _sum(whole)(rows)) or math.nan)

    return share


FLOW: Final[Mapping[str, Quantity]] = {
    "throughput": Quantity("Mbit/s", _sum("throughput_bps"), 1e6),
    "fairness": Quantity("", lambda rows: fairness([row["throughput_bps"] for row in rows])),
    "start": Quantity("s", _min("start_s")),
    "completion": Quantity("s", _max("completion_s")),
    "duration": Quantity("s", _max("duration_s")),
    "convergence": Quantity("s", _max(CONVERGENCE)),
    "resent": Quantity("share", _share("retransmitted_segments", "sent_segments")),
    "died": Quantity("", _sum("died")),
    "timeouts": Quantity("", _sum("timeouts")),
    "fast_retransmits": Quantity("", _sum("fast_retransmits")),
    "window_used": Quantity("share", _mean("window_used")),
    "idle": Quantity("share", _mean("idle")),
}
PORT: Final[Mapping[str, Quantity]] = {
    "utilization": Quantity("share", _mean("utilization")),
    "delay": Quantity("ms", _mean("delay_s"), 1e-3),
    "queueing_mean": Quantity("ms", _mean(MEAN), 1e-3),
    "queueing_median": Quantity("ms", _mean("queueing_delay_median_s"), 1e-3),
    "queueing_p95": Quantity("ms", _mean("queueing_delay_p95_s"), 1e-3),
    "queueing_p99": Quantity("ms", _mean("queueing_delay_p99_s"), 1e-3),
    "loss": Quantity("share", _share("lost", "in")),
    "mean_queue": Quantity("", _mean("mean_queue")),
    "peak_queue": Quantity("", _max("peak_queue")),
}
QUEUE: Final[Mapping[str, Quantity]] = {
    "throughput": Quantity("Mbit/s", _sum("left_bps"), 1e6),
    "delay": Quantity("ms", _mean("mean_delay_s"), 1e-3),
    "loss": Quantity("share", _share("lost", "packets_in")),
    "marked": Quantity("share", _share("packets_marked", "packets_in")),
    "mean_queue": Quantity("", _mean("mean_queue_packets")),
    "peak_queue": Quantity("", _max("peak_queue_packets")),
}
WEB: Final[Mapping[str, Quantity]] = {
    "median": Quantity("s", _mean("median_s")),
    "p95": Quantity("s", _mean("p95_s")),
    "p99": Quantity("s", _mean("p99_s")),
    "completed": Quantity("share", _share("completed", "files")),
    "files": Quantity("", _sum("files")),
}
DATAGRAMS: Final[Mapping[str, Quantity]] = {
    "delay": Quantity("ms", _mean("mean_delay_s"), 1e-3),
    "median": Quantity("ms", _mean("median_delay_s"), 1e-3),
    "p95": Quantity("ms", _mean("p95_delay_s"), 1e-3),
    "p99": Quantity("ms", _mean("p99_delay_s"), 1e-3),
    "jitter": Quantity("ms", _mean("jitter_s"), 1e-3),
    "loss": Quantity("share", _share("lost", "expected")),
}
ARRIVING: Final[Mapping[str, Quantity]] = {
    "time": Quantity("s", _mean("mean_time_s")),
    "slowdown": Quantity("", _mean("mean")),
    "slowdown_median": Quantity("", _mean("median")),
    "slowdown_p95": Quantity("", _mean("p95")),
    "slowdown_p99": Quantity("", _mean("p99")),
    "flows_completed": Quantity("share", _share("completed", "flows")),
}
VIDEO: Final[Mapping[str, Quantity]] = {
    "bitrate": Quantity("Mbit/s", _mean("mean_bitrate_bps"), 1e6),
    "stalled": Quantity("share", _share("stalled_s", "watched_s")),
    "stalls": Quantity("", _sum("stalls")),
    "switches": Quantity("", _sum("switches")),
    "startup": Quantity("s", _mean("startup_s")),
}
# Dimension of a quantity's values, by the unit in which they are shown.
_DIMENSIONS: Final[Mapping[str, Dimension]] = {"Mbit/s": BITS_PER_SECOND, "s": SECONDS, "ms": SECONDS}


# Traffic of the flows that have the quantities of a kind.
_TRAFFIC: Final[Mapping[str, str]] = {"arriving": "flow-arrivals", "video": "adaptive-video"}


@dataclass(frozen=True)
class Subject:
    """What a measure is about: its kind, its quantities, and the rows of a result from which they are computed."""

    kind: str
    quantities: Mapping[str, Quantity]
    rows: Callable[[Any, NamedMeasure], Rows]


@dataclass(frozen=True)
class NamedMeasure:
    """A measure of each run: a `quantity` of the named rows of a `kind`, such as "flow" or "port".

    For several flows, throughputs [bit/s] and counts are sums, and shares are computed over all of them. The start is
    that of the first flow and the completion that of the last one, both from the start of the run; the duration is the
    longest time from a flow's start to its completion. For several ports, delays [s] and utilizations are averages.
    Without a pattern, web measures cover all classes.
    """

    name: str
    kind: str
    pattern: str
    quantity: str

    @classmethod
    def parse(cls, text: str) -> NamedMeasure:
        """Parses a measure such as "bulk=flow:bulk.throughput", "port:a->b.delay", "web.p95" or "call.p95".

        Without a prefix such as "flow:", the name and the quantity determine the kind. Raises ScenarioError for other
        text.
        """
        left, equals, right = text.partition("=")
        name, spec = (left.strip(), right.strip()) if equals else ("", text.strip())
        subject, dot, quantity = spec.rpartition(".")
        kind, colon, pattern = subject.partition(":")
        if not dot or (equals and not NAME.fullmatch(name)):
            raise ScenarioError(f"measure: {text!r}; {GRAMMAR}")
        if not colon and kind not in OF:
            kind, pattern = _kind_of(subject, quantity, text), subject
        if kind not in OF or (kind != "web" and not pattern):
            raise ScenarioError(f"measure: {text!r}; {nearest(kind, OF)}, as in flow:web*.throughput")
        if quantity not in OF[kind].quantities:
            raise ScenarioError(
                f"measure: {text!r}: {quantity!r} of a {kind}; {nearest(quantity, OF[kind].quantities)}"
            )
        return cls(name or spec, kind, pattern, quantity)

    @property
    def unit(self) -> str:
        """Unit in table headings; "" for a plain number."""
        return OF[self.kind].quantities[self.quantity].unit

    @property
    def scale(self) -> float:
        """Divisor that converts a value to this unit."""
        return OF[self.kind].quantities[self.quantity].scale

    @property
    def dimension(self) -> Dimension:
        """Dimension of the value."""
        return _DIMENSIONS.get(self.unit, NUMBER)

    @property
    def factor(self) -> float:
        """Factor that converts a value to bits and seconds."""
        return 1.0

    def __str__(self) -> str:
        target = f"{self.kind}:{self.pattern}" if self.pattern else self.kind
        spec = f"{target}.{self.quantity}"
        return self.name if self.name in (spec, f"{self.pattern}.{self.quantity}") else f"{self.name}={spec}"

    def check(self, scenario: Scenario) -> None:
        """Raises ScenarioError if the scenario has no row with this name."""
        resolved = scenario.resolved
        if self.kind == "web":
            web = [flow["traffic"] for flow in resolved["flows"] if flow["traffic"]["kind"] == "web"]
            if not web:
                raise ScenarioError(f"measure: {self.name!r}: no flow of {scenario.name!r} has web traffic")
            shares = [traffic["class_shares_ppb"] for traffic in web]
            classes = [
                str(i)
                for i in range(max(map(len, shares)))
                if any(class_shares[i : i + 1] > [0] for class_shares in shares)
            ]
            if self.pattern and not any(fnmatchcase(name, self.pattern) for name in (*classes, ALL)):
                accepted = f"needs {', '.join(classes)} or {ALL}"
                raise ScenarioError(f"measure: {self.name!r}: no class {self.pattern!r} of files; {accepted}")
            return
        self._check_traces(scenario)
        names = self._known(scenario)
        if not names and self.kind == "queue":
            raise ScenarioError(f"measure: {self.name!r}: no port has several queues; needs a policy such as 'dualpi2'")
        if not any(fnmatchcase(name, self.pattern) for name in names):
            raise ScenarioError(f"measure: {self.name!r}: no {self.kind} {self.pattern!r}; {self._accepted(names)}")

    def _known(self, scenario: Scenario) -> list[str]:
        """Returns the names of the flows, ports or queues that have the quantity."""
        resolved = scenario.resolved
        if self.kind == "port":
            return [port_name(resolved, link) for link in range(len(resolved["links"]))]
        if self.kind == "queue":
            return [f"{port}:{queue}" for port, queue in _core.queue_names(scenario.core_json())]
        if self.kind == "datagrams":
            return [flow["name"] for flow in resolved["flows"] if flow["traffic"]["kind"] not in OVER_TCP]
        if (traffic := _TRAFFIC.get(self.kind)) is not None:
            return [flow["name"] for flow in resolved["flows"] if flow["traffic"]["kind"] == traffic]
        return [flow["name"] for flow in whole(resolved)]

    def _accepted(self, names: list[str]) -> str:
        """Returns the clause of an error message that lists the known names."""
        accepted = nearest(self.pattern, names, _MAX_NAMED)
        together = sum(name.startswith(self.pattern) for name in names)
        if together > 1:
            accepted = f"'{self.pattern}*' has all {together}; {accepted}"
        if self.kind == "flow" and self.pattern.rpartition("-")[2] in names:
            accepted += "; a minus sign needs spaces around it"
        return accepted

    def _check_traces(self, scenario: Scenario) -> None:
        """Raises ScenarioError if the scenario does not record the trace from which the quantity is computed."""
        if self.quantity == "convergence" and not scenario.traces.arrivals:
            raise ScenarioError(f"measure: {self.name!r}: no arrivals are recorded; needs traces.arrivals = true")
        if self.quantity.startswith("queueing_") and not scenario.traces.delay:
            raise ScenarioError(f"measure: {self.name!r}: no delay is recorded; needs traces.delay = true")

    def __call__(self, result: Result) -> float:
        """Returns the value; nan if a flow is incomplete, a quantile is after its end, or there are no samples."""
        rows = OF[self.kind].rows(result, self)
        return OF[self.kind].quantities[self.quantity].of(rows) if rows else math.nan

    def rows(self, columns: Mapping[str, Any], names: str) -> Rows:
        """Returns the rows to measure, each with a `name`; `names` names the table's column of names."""
        fitting = [i for i, name in enumerate(columns.get(names, ())) if self._fits(str(name))]
        values = {name: _values(column, fitting) for name, column in columns.items()}
        values["name"] = [str(columns[names][i]) for i in fitting]
        return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]

    def _fits(self, name: str) -> bool:
        return fnmatchcase(name, self.pattern) if self.pattern else name == ALL


def _kind_of(name: str, quantity: str, text: str) -> str:
    """Returns the kind of a measure that names only its flow or port; raises ScenarioError for another quantity."""
    kinds = ["port"] if "->" in name else ["flow", "datagrams", "arriving", "video"]
    for kind in kinds:
        if quantity in OF[kind].quantities:
            return kind
    quantities = [quantity for kind in kinds for quantity in OF[kind].quantities]
    raise ScenarioError(f"measure: {text!r}: {quantity!r} of {name!r}; {nearest(quantity, quantities)}")


# All classes of response times.
ALL: Final = "all"
_MAX_NAMED: Final = 12


# Quantities of a flow's limits; their computation takes longer than reading a run.
_OF_LIMITS: Final = ("window_used", "idle")


def _flow_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the rows of flows, with the columns that only some measures need."""
    columns = result.part("flows")
    if measure.quantity == "duration":
        times = zip(columns["start_s"], columns["completion_s"], strict=True)
        columns = {**columns, "duration_s": [completion - start for start, completion in times]}
    if measure.quantity in _OF_LIMITS:
        limits = result.flow_limits
        columns = {**columns, **{name: [getattr(flow_limit, name) for flow_limit in limits] for name in _OF_LIMITS}}
    if measure.quantity == "died":
        columns = {**columns, "died": [int(flow in result.died) for flow in columns["flow"]]}
    return measure.rows(columns, "flow")


def _port_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the rows of ports, with names that are equal for packets and cells."""
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    rows = []
    for row in measure.rows(result.part("ports"), "port"):
        lost = sum(value for name, value in row.items() if name.startswith(f"{unit}_lost_"))
        left = row[f"{unit}_out"] or math.nan
        # Little's law gives the mean delay from the mean queue over the measured time, for packets of any size.
        rows.append(
            {
                "name": row["port"],
                "utilization": row["utilization"],
                "delay_s": row[f"mean_queue_{unit}"] * result.measured_s / left,
                "lost": lost,
                "in": row[f"{unit}_in"] + row.get(f"{unit}_duplicated", 0),
                "mean_queue": row[f"mean_queue_{unit}"],
                "peak_queue": row[f"peak_queue_{unit}"],
                **{name: row[name] for name in (MEAN, *QUANTILES) if name in row},
            }
        )
    return rows


def _queue_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the rows of queues by class, named PORT:QUEUE."""
    columns = result.part("queues")
    names = [f"{port}:{queue}" for port, queue in zip(columns.get("port", ()), columns.get("queue", ()), strict=True)]
    return [
        {
            **row,
            "left_bps": 8 * row["bytes_out"] / result.measured_s,
            "lost": sum(count for name, count in row.items() if name.startswith("packets_lost_")),
        }
        for row in measure.rows({**columns, "name": names}, "name")
    ]


def _web_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the response times by class of files, and the waiting times."""
    waiting = dict(result.part("waiting"))
    waiting |= {"name": [ALL] * len(next(iter(waiting.values()), ()))}
    return [*measure.rows(result.part("response_times"), "class"), *measure.rows(waiting, "name")]


def _datagram_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the rows of datagrams, with the number of those that should have arrived."""
    rows = measure.rows(result.part("datagrams"), "flow")
    return [{**row, "expected": row["received"] + row["lost"]} for row in rows]


def _arriving_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the slowdowns of flows of all sizes together."""
    return [row for row in measure.rows(result.part("slowdowns"), "flow") if row["size"] == ALL]


def _video_rows(result: Result, measure: NamedMeasure) -> Rows:
    """Returns the rows of videos, with the time from the start of playback to its end."""
    rows = measure.rows(result.part("videos"), "flow")
    return [{**row, "watched_s": row["played_s"] + row["stalled_s"]} for row in rows]


OF: Final[Mapping[str, Subject]] = {
    subject.kind: subject
    for subject in (
        Subject("flow", FLOW, _flow_rows),
        Subject("port", PORT, _port_rows),
        Subject("queue", QUEUE, _queue_rows),
        Subject("web", WEB, _web_rows),
        Subject("datagrams", DATAGRAMS, _datagram_rows),
        Subject("arriving", ARRIVING, _arriving_rows),
        Subject("video", VIDEO, _video_rows),
    )
}
QUANTITIES: Final = tuple(sorted({name for subject in OF.values() for name in subject.quantities}))


def _values(column: Any, places: list[int]) -> list[Any]:  # noqa: ANN401 - a list or an array
    """Returns the values of a column at these rows as Python numbers."""
    if isinstance(column, np.ndarray):
        return list(column[places].tolist())
    return [column[i] for i in places]
