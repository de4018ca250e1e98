"""What became of a flow, as its traces tell it: losses, fast retransmits and timeouts, and the phases between them."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from longpipe.analysis.paths import paths
from longpipe.pictures.recorded import Run, config_of, of_flow, shown_s, trace, within
from longpipe.pictures.style import MOST_SHAPES

Event = Literal["lost", "fast retransmit", "timeout", "slow start left"]
Phase = Literal[
    "slow start", "avoidance", "recovery", "startup", "drain", "probe-up", "probe-down", "cruise", "refill", "probe-rtt"
]

# Recoveries that last until all that was under way is acknowledged; Reno's ends with the first new ACK.
_TO_THE_END: Final = ("newreno", "sack", "rfc6675", "rack")
# It goes by records: what is lost leaves when its time has come, not with an ACK.
_BY_RECORDS: Final = "rack"
_WITHOUT: Final = ("vanilla", "tahoe")
# Behind what is drawn, light enough for every line.
_SHADES: Final[dict[Phase, str]] = {
    "slow start": "#e3f1e7",
    "recovery": "#fbe6d6",
    # BBR's; it cruises between them.
    "startup": "#e3f1e7",
    "drain": "#cdeae6",
    "probe-up": "#fdf0c4",
    "probe-down": "#d9e8f5",
    "refill": "#f3f0f7",
    "probe-rtt": "#ead9ea",
}
# Shape and size of each mark.
_MARKS: Final[dict[Event, tuple[str, float]]] = {
    "lost": ("|", 7),
    "fast retransmit": ("v", 7),
    "timeout": ("X", 8),
    "slow start left": ("D", 6),
}


def loss_events(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """A flow's losses and what it made of them, from `traces.sequence`: time_s, event, begin_bytes; a row per segment.

    A segment counts as lost, at the instant it was sent, if an ACK asked for it, it was sent again no sooner than that
    ACK could come of what followed it, and what acknowledged it then could come of what was sent again. With RACK a
    fast retransmit is where a recovery begins, and a timeout is told from it by the window, from `traces.cwnd`.
    """
    rows = _rows(run, flow)
    found = [(again.time_s, again.event, again.begin_bytes) for again in _agains(run, flow, rows)]
    sent, acks = rows[rows["event"] == 0], rows[rows["event"] == 1]
    found += [(time, "lost", begin) for time, begin in _losses(sent, acks, _round_trip_s(run, flow))]
    frame = pd.DataFrame(found, columns=["time_s", "event", "begin_bytes"]).astype({"time_s": np.float64})
    return within(frame.sort_values("time_s", kind="stable", ignore_index=True), span_s)


def slow_start_exits(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Where a flow left slow start without a loss, as HyStart and Vegas do, from `traces.cwnd`: time_s, event.

    The threshold comes down to the window then; a loss takes it below, or to two segments at least.
    """
    rows = of_flow(trace(run, "cwnd"), flow)
    threshold, window = rows["ssthresh_bytes"], rows["cwnd_bytes"].shift()
    least = 2 * config_of(run.scenario, flow)["mss_bytes"]
    left = (
        (threshold < threshold.shift()) & (threshold > least) & (threshold >= window) & (rows["cwnd_bytes"] >= window)
    )
    frame = pd.DataFrame({"time_s": rows.loc[left, "time_s"], "event": "slow start left"})
    return within(frame.reset_index(drop=True), span_s)


def phases(run: Run, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """A flow's phases in their order: begin_s, end_s, phase (slow start, avoidance, recovery), from `traces.cwnd`.

    Of BBR, whose stages `traces.control` has, those instead: startup, drain, probe-up, probe-down, cruise, refill and
    probe-rtt; version 1's cycle of eight is up at a gain of 1.25, down at .75 and cruises at 1.

    They begin with the flow. Below ssthresh is slow start. Recovery, from a fast retransmit until what it is there for
    is acknowledged, is told where `traces.sequence` is recorded too.
    """
    begin_s, end_s = shown_s(run, span_s)
    if (stages := _stages(run, flow)) is not None:
        return _runs_of(stages["time_s"].to_numpy(), stages["stage"].to_numpy(dtype=object), begin_s, end_s)
    if "cwnd" not in run.traces and "control" in run.traces:
        return pd.DataFrame(columns=["begin_s", "end_s", "phase"])
    windows = of_flow(trace(run, "cwnd"), flow)
    recoveries = list(_recoveries(run, flow)) if "sequence" in run.traces else []
    times = windows["time_s"].to_numpy()
    # Its first row is its start.
    begin_s = max(begin_s, *times[:1]) if len(times) else end_s
    if begin_s >= end_s:
        return pd.DataFrame(columns=["begin_s", "end_s", "phase"])
    ends = [edge for recovery in recoveries for edge in recovery]
    edges = np.unique(np.clip([begin_s, *times, *ends, end_s], begin_s, end_s))
    below = np.concatenate(([True], (windows["cwnd_bytes"] < windows["ssthresh_bytes"]).to_numpy()))
    states = np.where(below[np.searchsorted(times, edges[:-1], side="right")], "slow start", "avoidance").astype(object)
    for first, last in recoveries:
        states[(edges[:-1] >= first) & (edges[:-1] < last)] = "recovery"
    starts = np.flatnonzero(np.concatenate(([True], states[1:] != states[:-1])))
    return pd.DataFrame(
        {"begin_s": edges[starts], "end_s": np.append(edges[starts[1:]], edges[-1:]), "phase": states[starts]}
    )


def _stages(run: Run, flow: str) -> pd.DataFrame | None:
    """Where BBR's stages change; None without."""
    if "control" not in run.traces:
        return None
    rows = of_flow(trace(run, "control"), flow).dropna(subset="stage")
    return rows if len(rows) else None


def _runs_of(times_s: np.ndarray, names: np.ndarray, begin_s: float, end_s: float) -> pd.DataFrame:
    """Rows that say the same one after another as one, within a time."""
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1])))
    begins, ends = times_s[starts], np.append(times_s[starts[1:]], end_s)
    frame = pd.DataFrame(
        {"begin_s": begins.clip(begin_s, end_s), "end_s": ends.clip(begin_s, end_s), "phase": names[starts]}
    )
    return frame[frame["begin_s"] < frame["end_s"]].reset_index(drop=True)


def _losses(sent: pd.DataFrame, acks: pd.DataFrame, round_trip_s: float) -> Iterator[tuple[float, int]]:
    """When a segment was sent that was lost, and its first byte."""
    again_s, begins = sent["time_s"], sent["sequence_bytes"]
    before_s = again_s.groupby(begins).shift()
    answers = np.searchsorted(acks["reached"].to_numpy(), begins.to_numpy(), side="right")
    answered_s = np.append(acks["time_s"].to_numpy(), np.inf)[answers]
    lost = (
        sent["retransmission"].astype(bool)
        & begins.isin(set(acks["sequence_bytes"]))
        & (again_s - before_s >= round_trip_s)
        & (answered_s - again_s >= round_trip_s)
    )
    yield from zip(before_s[lost], begins[lost], strict=True)


def _round_trip_s(run: Run, flow: str) -> float:
    return next(path.propagation_ps for path in paths(run.scenario.resolved, parts=True) if path.flow == flow) / 1e12


def losses_mended(run: Run, flow: str) -> list[tuple[float, float]]:
    """Begin and end [s] of each time in which a flow mends losses, from `traces.sequence`; they may overlap.

    From a fast retransmit, or the last segment sent before a timeout, until all that was under way is acknowledged.
    """
    rows = _rows(run, flow)
    acks, sent_s = rows[rows["event"] == 1], rows.loc[rows["event"] == 0, "time_s"].to_numpy()
    last_s, found = shown_s(run, None)[1], []
    for again in _agains(run, flow, rows):
        waited = again.event == "timeout"
        begin_s = float(sent_s[np.searchsorted(sent_s, again.time_s) - 1]) if waited else again.time_s
        done = acks.loc[acks["reached"] >= again.end_bytes, "time_s"]
        found.append((begin_s, min([last_s, *done.head(1)])))
    return found


def shade(panel: Axes, found: pd.DataFrame) -> None:
    """Draws phases behind a panel; avoidance stays white."""
    for phase, colour in _SHADES.items():
        rows = found[found["phase"] == phase]
        spans = list(zip(rows["begin_s"], rows["end_s"] - rows["begin_s"], strict=True))
        if spans:
            height = panel.get_xaxis_transform()
            panel.broken_barh(spans, (0, 1), facecolor=colour, lw=0, zorder=0, transform=height, label=phase)


def mark(panel: Axes, found: pd.DataFrame, heights: pd.Series, *, lost: tuple[str, float] = _MARKS["lost"]) -> None:
    """Draws losses (shape and size `lost`), fast retransmits and timeouts at these heights."""
    for event, (shape, size) in {**_MARKS, "lost": lost}.items():
        at = found["event"] == event
        if at.any():
            (points,) = panel.plot(
                found.loc[at, "time_s"],
                heights[at],
                shape,
                ms=size,
                color="black",
                mec="black" if event == "lost" else "white",
                label=event,
                zorder=5,
                clip_on=event != "lost",
            )
            points.set_rasterized(int(at.sum()) > MOST_SHAPES)


class _Again(NamedTuple):
    """A fast retransmit or a timeout: which, when, the first byte sent again, the end of what had been sent."""

    event: Event
    time_s: float
    begin_bytes: int
    end_bytes: int


def _rows(run: Run, flow: str) -> pd.DataFrame:
    """The flow's events with `reached`, what is acknowledged by then, and `furthest`, the end of what was sent."""
    rows = of_flow(trace(run, "sequence"), flow).reset_index(drop=True)
    is_ack = rows["event"] == 1
    ends = (rows["sequence_bytes"] + rows["length_bytes"]).where(rows["event"] == 0, 0)
    return rows.assign(reached=rows["sequence_bytes"].where(is_ack, 0).cummax(), furthest=ends.cummax())


def _agains(run: Run, flow: str, rows: pd.DataFrame) -> Iterator[_Again]:
    """Fast retransmits and timeouts: a duplicate ACK, or none, lets the first unacknowledged segment out again."""
    is_ack = rows["event"] == 1
    answered_s = rows["time_s"].where(is_ack).ffill()
    duplicate = (rows["reached"] == rows["reached"].shift(fill_value=0)).where(is_ack).ffill()
    first = (rows["event"] == 0) & rows["retransmission"].astype(bool) & (rows["sequence_bytes"] == rows["reached"])
    recovery = _recovery(run, flow)
    if recovery == _BY_RECORDS:
        yield from _agains_by_records(run, flow, rows)
        return
    to_the_end = recovery in _TO_THE_END
    held_to = -1
    again = rows.assign(answers=answered_s == rows["time_s"], duplicate=duplicate)[first]
    for row in again.to_dict("records"):
        time_s, begin, end = row["time_s"], row["sequence_bytes"], row["furthest"]
        if not row["answers"]:
            held_to = -1
            yield _Again("timeout", time_s, begin, end)
        elif row["duplicate"] and begin >= held_to:
            held_to = end if to_the_end else -1
            yield _Again("fast retransmit", time_s, begin, end)


def _agains_by_records(run: Run, flow: str, rows: pd.DataFrame) -> Iterator[_Again]:
    """Where RACK recovers, and its timeouts: the first segment leaves again without an ACK, in a window of one."""
    answered_s = rows["time_s"].where(rows["event"] == 1).ffill()
    again = rows.assign(answers=answered_s == rows["time_s"])[
        (rows["event"] == 0) & rows["retransmission"].astype(bool)
    ]
    held_to = -1
    window = _windows_at(run, flow, again["time_s"].to_numpy())
    config = config_of(run.scenario, flow)
    mss = config["mss_bytes"]
    copies = _Copies(rows) if config["recovery"].get("successive") else None
    for row in again.assign(closed=window <= mss, place=again.index).to_dict("records"):
        begin, end = row["sequence_bytes"], row["furthest"]
        for following in copies.recoveries(held_to, row["place"]) if copies else ():
            held_to = following.end_bytes
            yield following
        if row["closed"] and not row["answers"] and begin == row["reached"]:
            held_to = end
            yield _Again("timeout", row["time_s"], begin, end)
        # The last segment of all, sent again, is a probe.
        elif row["reached"] >= held_to and begin + row["length_bytes"] < end:
            held_to = end
            yield _Again("fast retransmit", row["time_s"], begin, end)
    yield from copies.recoveries(held_to, len(rows)) if copies else ()


class _Copies:
    """What of a flow's rows was sent again, to tell whether a recovery that ends is followed by another at once."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._time_s, self._reached, self._furthest = (
            rows[name].to_numpy() for name in ("time_s", "reached", "furthest")
        )
        sent = rows[rows["event"] == 0].sort_values("sequence_bytes", kind="stable")
        self._begins, self._places = sent["sequence_bytes"].to_numpy(), sent.index.to_numpy()
        again = rows[(rows["event"] == 0) & rows["retransmission"].astype(bool)]
        self._again, self._begins_again = again.index.to_numpy(), again["sequence_bytes"].to_numpy()

    def recoveries(self, held_to: int, before: int) -> Iterator[_Again]:
        """The recoveries that follow the one up to `held_to` bytes, and each other, before that row."""
        while held_to >= 0:
            place = int(np.searchsorted(self._reached, held_to))
            if not 0 < place < before:
                return
            # What left after that whose arrival the ACK tells of is under way.
            since = self._last_sent(self._reached[place - 1], place)
            first, last = np.searchsorted(self._again, (since, place))
            begins = self._begins_again[first:last]
            under_way = begins[begins >= self._reached[place]]
            if not len(under_way):
                return
            held_to = int(self._furthest[place])
            yield _Again("fast retransmit", float(self._time_s[place]), int(under_way[0]), held_to)

    def _last_sent(self, begin: int, before: int) -> int:
        """Row in which the segment from that byte last left before another row; `before` where it did not."""
        first, last = np.searchsorted(self._begins, begin), np.searchsorted(self._begins, begin, side="right")
        places = self._places[first:last]
        places = places[places < before]
        return int(places[-1]) + 1 if len(places) else before


def _windows_at(run: Run, flow: str, times_s: np.ndarray) -> np.ndarray:
    """The window at some instants [byte]; infinite where it is not recorded."""
    if "cwnd" not in run.traces:
        return np.full(len(times_s), np.inf)
    windows = of_flow(trace(run, "cwnd"), flow)
    place = np.searchsorted(windows["time_s"].to_numpy(), times_s, side="right")
    return np.concatenate(([np.inf], windows["cwnd_bytes"].to_numpy()))[place]


def _recovery(run: Run, flow: str) -> str:
    recovery = config_of(run.scenario, flow)["recovery"]
    return str(recovery["kind"] if isinstance(recovery, dict) else recovery)


def _recoveries(run: Run, flow: str) -> Iterator[tuple[float, float]]:
    """Begin and end of each fast recovery [s]."""
    recovery = _recovery(run, flow)
    if recovery in _WITHOUT:
        return
    rows = _rows(run, flow)
    acks = rows[rows["event"] == 1]
    found = list(_agains(run, flow, rows))
    last_s = shown_s(run, None)[1]
    for again, following in zip_longest(found, found[1:]):
        if again.event == "timeout":
            continue
        # A segment that is under way since the last ACK may be all there is.
        wanted = again.end_bytes if recovery in _TO_THE_END else again.begin_bytes + 1
        done = acks.loc[acks["reached"] >= wanted, "time_s"]
        ends_s = [last_s, *done.head(1), *([following.time_s] if following else [])]
        yield again.time_s, min(ends_s)
