"""qlog of a run: a file per flow with the events that the sender saw, computed from the run's traces.

The events of real QUIC stacks are those that the stacks report. TCP has no qlog schema, so its events have the shape of
QUIC's: a segment is a 1RTT packet with one STREAM frame, whose packet number counts transmissions (a retransmission has
its own number), and an ACK is a packet with an ACK frame for the packet numbers that it newly acknowledges. Two
dialects: "current" (draft-ietf-quic-qlog-main-schema-13 and -quic-events-12), and "0.3", which qvis reads.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from longpipe.errors import ScenarioError, nearest
from longpipe.ip import packet_bytes
from longpipe.result.trace_frames import SequenceEvent
from longpipe.scenario.paths import whole
from longpipe.scenario.source import OF_STACKS, OVER_TCP
from longpipe.scenario.stack import LINUX, QUIC
from longpipe.system.files import check_directory, write_text

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.result import Result

Dialect = Literal["current", "0.3"]
Event = tuple[float, int, str, dict[str, Any]]
Row = dict[str, Any]

# Traces that a file needs, and the one that it also needs if its flow has a real stack.
TRACES: Final = ("cwnd", "rtt", "sequence", "events")
PACKETS: Final = "packets"
SUFFIX: Final = ".sqlog"
# Names of events in the dialect 0.3; in the current dialect all are in the namespace quic.
_OLD: Final[Mapping[str, str]] = {
    "packet_sent": "transport:packet_sent",
    "packet_received": "transport:packet_received",
    "packet_lost": "recovery:packet_lost",
    "recovery_parameters_set": "recovery:parameters_set",
    "recovery_metrics_updated": "recovery:metrics_updated",
    "congestion_state_updated": "recovery:congestion_state_updated",
    "timer_updated": "recovery:loss_timer_updated",
    "udp_datagrams_sent": "transport:datagrams_sent",
    "udp_datagrams_received": "transport:datagrams_received",
}
# Names of all events, by which `events` of `write` selects.
EVENTS: Final = (*_OLD, "simulation:marker")
# Triggers of packet_lost and events of packets, by the categories of the trace `packets`; and the order of simultaneous
# events of a real stack, whose packets are reported in the order in which it processed them.
_EVIDENCE: Final[Mapping[str, str]] = {"reordering": "reordering_threshold", "time": "time_threshold"}
_PACKETS: Final[Mapping[str, str]] = {
    "sent": "packet_sent", "received": "packet_received", "lost": "packet_lost",
    "datagram-sent": "udp_datagrams_sent", "datagram-received": "udp_datagrams_received",
}  # fmt: skip
_DATAGRAM_RECEIVED, _PACKET, _DATAGRAM_SENT = range(3)
# Triggers of packet_lost and of packet_sent, by the cause in the trace `events`.
_LOST_BY: Final[Mapping[str, str]] = {"timeout": "pto_expired", "rack": "time_threshold"}
_SENT_BY: Final[Mapping[str, str]] = {"timeout": "retransmit_timeout", "tail-loss-probe": "pto_probe"}
# Order of simultaneous events: an ACK, the sender's reactions, transmissions, the state afterwards.
_ACK, _CONCLUSION, _SENT, _STATE = range(4)


def write(
    result: Result, directory: Path, dialect: Dialect = "current", events: Collection[str] | None = None
) -> list[Path]:
    """Writes a file per flow, named after it, with all events, or only those with the names `events`.

    Raises ScenarioError if a name is unknown, a trace is missing, or nothing can be written.
    """
    check_events("events", events or ())
    needed = traces_of(result.scenario.resolved)
    if missing := [name for name in needed if name not in result.traces]:
        raise ScenarioError(f"qlog: the run has no trace {missing[0]}; needs {', '.join(needed)}")
    check_directory("--qlog", directory)
    frames = {name: _by_flow(result.traces[name]) for name in needed}
    written = []
    for flow in whole(result.scenario.resolved):
        rows = {name: frames[name].get(flow["name"], []) for name in needed}
        written.append(directory / f"{flow['name']}{SUFFIX}")
        write_text(written[-1], "".join(_records(result, flow, rows, dialect, events)))
    return written


def check_events(field: str, names: Collection[str]) -> None:
    """Raises ScenarioError, which names `field`, for the first name that is not among `EVENTS`."""
    for name in names:
        if name not in EVENTS:
            raise ScenarioError(f"{field}: {name!r}; {nearest(name, EVENTS)}")


def traces_of(resolved: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the traces that the files of a resolved scenario need."""
    has_stacks = any(flow["traffic"]["kind"] in OF_STACKS for flow in resolved["flows"])
    return (*TRACES, PACKETS) if has_stacks else TRACES


def _by_flow(trace: pd.DataFrame) -> dict[str, list[Row]]:
    """Returns the rows of each flow, in order."""
    parts = trace.groupby("flow", observed=True, sort=False)
    return {str(name): rows_of(rows) for name, rows in parts}


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Returns the rows of a frame, each as a dictionary of its columns."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _records(
    result: Result,
    flow: Mapping[str, Any],
    rows: Mapping[str, list[Row]],
    dialect: Dialect,
    selected: Collection[str] | None,
) -> Iterator[str]:
    """Yields the header and the selected events, framed as JSON text sequences (RFC 7464)."""
    yield _framed(_header(result, flow, dialect))
    events = sorted(
        (*_parameters(flow, rows), *_Packets(rows).events(), *_reported(rows), *_states(rows), *_metrics(rows)),
        key=lambda event: event[:2],
    )
    for time_s, _, name, data in events:
        if selected is not None and name not in selected:
            continue
        full = _OLD.get(name, name) if dialect == "0.3" else name if ":" in name else f"quic:{name}"
        # Dialect 0.3 has no event for drops in the network.
        if dialect == "0.3" and full.startswith("simulation:"):
            continue
        yield _framed({"time": 1e3 * time_s, "name": full, "data": data})


def _framed(record: Mapping[str, Any]) -> str:
    return f"\x1e{json.dumps(record, separators=(',', ':'), allow_nan=False)}\n"


def _header(result: Result, flow: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Returns the header of a flow's trace."""
    name = flow["name"]
    title = f"{result.scenario.name}, {name}, seed {result.seed}"
    description = _description(flow)
    custom = {}
    if flow["traffic"]["kind"] in OVER_TCP and flow["traffic"]["kind"] != "stack":
        # Lengths of packets count only data bytes; `longpipe fit` adds the headers to obtain lengths on the wire.
        headers = packet_bytes(0, timestamps=flow["tcp"]["timer"].get("timestamps", False))
        custom = {"custom_fields": {"protocol": "TCP", "header_bytes": headers}}
    if dialect == "0.3":
        common: dict[str, Any] = {"time_format": "relative", "reference_time": 0}
        trace = {
            "title": name,
            "vantage_point": {"name": "longpipe", "type": "client"},
            "common_fields": common,
            **custom,
        }
        return {
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": title,
            "description": description,
            "trace": trace,
        }
    reference = {"clock_type": "monotonic", "epoch": "unknown"}
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": title,
        "description": description,
        "trace": {
            "title": name,
            "vantage_point": {"name": "longpipe", "type": "client"},
            "common_fields": {"time_format": "relative_to_epoch", "reference_time": reference},
            **custom,
            "event_schemas": ["urn:ietf:params:qlog:events:quic-12", "urn:ietf:params:qlog:events:simulation"],
        },
    }


def _description(flow: Mapping[str, Any]) -> str:
    """Returns the origin of the events of a flow."""
    traffic = flow["traffic"]
    if traffic["kind"] == "stack":
        stack = f"{traffic['stack']} {traffic['version']}"
        if traffic["stack"] in QUIC:
            return f"QUIC of {stack}: packets as the stack reports them, and UDP datagrams at its socket"
        if traffic["stack"] == LINUX:
            return f"TCP of {stack}: windows and RTTs as the kernel reports them, and lengths of IP packets"
        return f"{stack}: windows and RTTs as the stack reports them, and UDP datagrams at its socket"
    if traffic["kind"] == "stack-path":
        return f"further path of the connection of {traffic['of']}: UDP datagrams at its socket"
    if traffic["kind"] in OVER_TCP:
        return "TCP in the shape of QUIC: packet numbers count transmissions, stream offsets count data bytes"
    return "UDP datagrams without a transport protocol: only drops in the network are known"


def _parameters(flow: Mapping[str, Any], rows: Mapping[str, list[Row]]) -> Iterator[Event]:
    """Yields the parameters, which are known from the first state of the sender."""
    if rows["cwnd"] and math.isfinite(rows["cwnd"][0]["cwnd_bytes"]):
        first = rows["cwnd"][0]
        data = {"timer_granularity": 1, "initial_congestion_window": round(first["cwnd_bytes"])}
        if flow["traffic"]["kind"] not in OF_STACKS:
            data["max_datagram_size"] = flow["tcp"]["mss_bytes"]
        yield first["time_s"], -1, "recovery_parameters_set", data


def _metrics(rows: Mapping[str, list[Row]]) -> Iterator[Event]:
    """Yields windows and RTTs whenever they change; real stacks report only the smoothed RTT."""
    # The window of a real stack may be unknown.
    for row in (row for row in rows["cwnd"] if math.isfinite(row["cwnd_bytes"])):
        data: dict[str, float] = {"congestion_window": round(row["cwnd_bytes"])}
        if math.isfinite(row["ssthresh_bytes"]):
            data["ssthresh"] = round(row["ssthresh_bytes"])
        yield row["time_s"], _STATE, "recovery_metrics_updated", data
    least_s = math.inf
    for row in rows["rtt"]:
        if math.isfinite(row["rtt_s"]):
            least_s = min(least_s, row["rtt_s"])
            times = {"latest_rtt": row["rtt_s"], "smoothed_rtt": row["srtt_s"], "min_rtt": least_s}
            data = {name: 1e3 * value for name, value in times.items()}
            yield row["time_s"], _STATE, "recovery_metrics_updated", data
        elif not math.isfinite(row["rto_s"]):
            yield row["time_s"], _STATE, "recovery_metrics_updated", {"smoothed_rtt": 1e3 * row["srtt_s"]}


def _states(rows: Mapping[str, list[Row]]) -> Iterator[Event]:
    """Yields changes of the sender's state, expired timers, and drops in the network, which the sender cannot see."""
    old = "open"
    for row in rows["events"]:
        kind, cause = str(row["kind"]), str(row["event_cause"])
        if kind == "state":
            yield row["time_s"], _STATE, "congestion_state_updated", {"old": old, "new": cause}
            old = cause
        elif kind == "timeout":
            data = {"timer_type": "pto", "event_type": "expired"}
            yield row["time_s"], _CONCLUSION, "timer_updated", data
        elif kind == "dropped":
            message = f"{row['drop_cause']} at byte {row['sequence_bytes']}"
            yield row["time_s"], _SENT, "simulation:marker", {"type": "dropped", "message": message}


def _reported(rows: Mapping[str, list[Row]]) -> Iterator[Event]:
    """Yields the packets that a real stack reports, and the datagrams that it sends and receives."""
    received: dict[str, Any] = {}
    for row in rows.get(PACKETS, ()):
        kind, length = str(row["packet_event"]), int(row["length_bytes"])
        first, last = int(row["first_number"]), int(row["last_number"])
        if kind == "acknowledged":
            # Ranges follow the packet that contains them.
            frames = received.setdefault("frames", [{"frame_type": "ack", "acked_ranges": []}])
            frames[0]["acked_ranges"].append([first, last] if last > first else [first])
            continue
        if kind.startswith("datagram"):
            rank = _DATAGRAM_SENT if kind == "datagram-sent" else _DATAGRAM_RECEIVED
            yield row["time_s"], rank, _PACKETS[kind], {"count": 1, "raw": [{"length": length}]}
            continue
        data: dict[str, Any] = {"header": {"packet_type": str(row["packet_type"]), "packet_number": first}}
        if length and kind != "lost":
            data["raw"] = {"length": length}
        if trigger := _EVIDENCE.get(str(row["evidence"])):
            data["trigger"] = trigger
        if kind == "received":
            received = data
        yield row["time_s"], _PACKET, _PACKETS[kind], data


class _Packets:
    """Segments in flight, and segments sent, acknowledged and declared lost, each with its transmission's number."""

    def __init__(self, rows: Mapping[str, list[Row]]) -> None:
        self._rows = rows
        # Segments in order of their data: first byte, byte after the last, number of the latest transmission, and
        # whether an ACK covers the segment.
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._numbers: list[int] = []
        self._covered: list[bool] = []
        self._first = 0
        self._next_number = 0
        self._highest = -1
        self._acks = 0
        # The reason for each retransmission, in order.
        self._causes = iter([str(row["event_cause"]) for row in rows["events"] if str(row["kind"]) == "retransmit"])

    def events(self) -> Iterator[Event]:
        """Yields packets in order of time; of a loss and a retransmission at the same time, the loss is first."""
        declared = [row for row in self._rows["events"] if str(row["kind"]) == "declared-lost"]
        declared.reverse()
        rows, i = self._rows["sequence"], 0
        while i < len(rows):
            row = rows[i]
            while declared and (declared[-1]["time_s"], row["event"]) <= (row["time_s"], -row["event"]):
                yield self._lost(declared.pop())
            if row["event"] == SequenceEvent.SENT:
                yield self._sent(row)
                i += 1
                continue
            blocks = [row]
            while i + len(blocks) < len(rows) and rows[i + len(blocks)]["event"] == SequenceEvent.SACK:
                blocks.append(rows[i + len(blocks)])
            i += len(blocks)
            yield self._acknowledged(blocks)
        for row in reversed(declared):
            yield self._lost(row)

    def _sent(self, row: Row) -> Event:
        """Returns the event of a transmission."""
        begin, length = int(row["sequence_bytes"]), int(row["length_bytes"])
        number, self._next_number = self._next_number, self._next_number + 1
        data: dict[str, Any] = {
            "header": {"packet_type": "1RTT", "packet_number": number},
            "frames": [{"frame_type": "stream", "stream_id": 0, "offset": begin, "raw": {"length": length}}],
            "raw": {"length": length},
        }
        if row["retransmission"]:
            cause = next(self._causes, "none")
            data["trigger"] = _SENT_BY.get(cause, "retransmit_reordered")
        self._place(begin, begin + length, number)
        return row["time_s"], _SENT, "packet_sent", data

    def _place(self, begin: int, end: int, number: int) -> None:
        """Records a transmission of data.

        A retransmission is assigned to the earlier segments whose data it contains.
        """
        if not self._ends or begin >= self._ends[-1]:
            self._begins.append(begin)
            self._ends.append(end)
            self._numbers.append(number)
            self._covered.append(False)
            return
        for i in self._within(begin, end):
            self._numbers[i] = number

    def _within(self, begin: int, end: int) -> Iterator[int]:
        """Yields the segments in flight that begin in a range of data."""
        i = max(self._first, bisect_left(self._begins, begin))
        while i < len(self._begins) and self._begins[i] < end:
            yield i
            i += 1

    def _acknowledged(self, rows: list[Row]) -> Event:
        """Returns the event of an ACK, which acknowledges the packets whose bytes it covers for the first time."""
        covered = []
        for row in rows:
            begin, length = int(row["sequence_bytes"]), int(row["length_bytes"])
            if row["event"] == SequenceEvent.ACK:
                covered += self._cover_up_to(begin)
            else:
                covered += [i for i in self._within(begin, begin + length) if not self._covered[i]]
            for i in covered:
                self._covered[i] = True
        numbers = sorted({self._numbers[i] for i in covered})
        self._highest = max([self._highest, *numbers])
        header = {"packet_type": "1RTT", "packet_number": self._acks}
        self._acks += 1
        data: dict[str, Any] = {"header": header}
        # A duplicate ACK repeats the highest number.
        if ranges := _ranges(numbers) or ([[self._highest]] if self._highest >= 0 else []):
            data["frames"] = [{"frame_type": "ack", "acked_ranges": ranges}]
        return rows[0]["time_s"], _ACK, "packet_received", data

    def _cover_up_to(self, end: int) -> list[int]:
        opened = []
        while self._first < len(self._ends) and self._ends[self._first] <= end:
            if not self._covered[self._first]:
                opened.append(self._first)
            self._first += 1
        return opened

    def _lost(self, row: Row) -> Event:
        begin = int(row["sequence_bytes"])
        numbers = [self._numbers[i] for i in self._within(begin, begin + max(1, int(row["length_bytes"])))]
        header: dict[str, Any] = {"packet_type": "1RTT"} | ({"packet_number": numbers[0]} if numbers else {})
        trigger = _LOST_BY.get(str(row["event_cause"]), "reordering_threshold")
        return row["time_s"], _CONCLUSION, "packet_lost", {"header": header, "trigger": trigger}


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Returns ascending numbers as ranges: lists of the first and the last number, or of a single number."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ranges
