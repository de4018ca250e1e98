"""Fits a path to a flow that a tool sampled at intervals: `ss -tin`, iperf3, flent, qlog, ndt7.

Such a file contains no packets. It contains the rate while there was a queue, the RTT, the loss, and often the name of
the sender's congestion control. The buffer and the queue's drop policy cannot be inferred from it, because they need
individual losses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.errors import ScenarioError
from longpipe.fit.candidates import IN_TRANSMISSION, Hypothesis, check_mss
from longpipe.fit.estimate import FitEstimate
from longpipe.fit.report import FitReport
from longpipe.ip import packet_bytes
from longpipe.scenario.base import kinds
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.short_file import short_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from longpipe.measured.recording import Recording, Series, SeriesKind, Subject

    Numbers = NDArray[np.float64]

# Formats whose flows can be fitted.
FORMATS: Final = ("ss -tin", "iperf3 JSON", "flent", "qlog", "ndt7")
# Names that a flow's counters use for the minimum RTT.
_LEAST_RTT: Final = ("minrtt", "MinRTT", "min_rtt")
# longpipe's names of controls that have a different name in Linux.
_NAMES: Final = {"reno": "linux-reno"}
# Payload of full segments if the file does not contain it: that of Ethernet with timestamps.
_MSS: Final = 1448
# There was a queue during an interval if the smoothed RTT at its end exceeds the minimum by both this share and this
# time [s].
_QUEUED, _QUEUED_S = 0.1, 1e-3
# Formats that count the data written by the application.
_WRITTEN: Final = ("iperf3 JSON", "flent")
# IPv4 and UDP headers, and the minimum length of a full QUIC packet [bytes].
_UDP_BYTES, _QUIC_BYTES = 28, 1200
# Minimum number of intervals with a queue that a rate estimate needs, and number of bootstrap resamples for its
# interval.
_LEAST_INTERVALS: Final = 3
_RESAMPLES: Final = 400
# Maximum number of packets that an ACK usually acknowledges.
_ACKED_PACKETS: Final = 2
# Relative rounding error of a difference of rates.
_ROUNDING: Final = 1e-3
# Minimum buffer [packets] of the scenario, used even if the RTT shows no queue.
_LEAST_BUFFER: Final = 10
# Number of lost packets above which the file must be damaged; their times are written one by one.
_MOST_LOST: Final = 10_000_000


def fit_recorded(recording: Recording, flow: int = 0, fixed: Mapping[str, object] | None = None) -> FitReport:
    """Returns the fit to flow number `flow` of a recording; `fixed` contains known scenario fields by dotted name.

    Raises a one-line ScenarioError if the file lacks a flow's rates or RTTs.
    """
    subject = _subject(recording, flow)
    rate, rtt = subject.of("rate") or subject.of("sent rate"), _rtt(subject)
    if rate is None or rtt is None:
        raise ScenarioError(f"{recording.file}: {subject.name}: no {_lacking(rate is None)}; {_needed(recording)}")
    mss = int(subject.counters.get("mss", (_MSS, ""))[0])
    check_mss(f"{recording.file}: {subject.name}", mss)
    headers = _headers(subject)
    wire = mss + headers
    base = _base(subject, rtt, wire, float(rate.numbers.max()))
    times, rates = _settled(recording, rate.time_s, rate.numbers)
    times, rates = _merged(times, rates * _wire_share(recording, subject, mss), base["value"])
    carried = float(rates.mean() if recording.format in _WRITTEN else rates.max())
    bottleneck = _rate(times, rates, rtt, base["value"], carried, wire)
    bps = float(bottleneck["value"])
    longest = max(0.0, (float(rtt.numbers.max()) - base["value"]) * bps / 8 / wire)
    loss, lost_s = _loss(recording.file, subject, rate.time_s, rate.numbers, mss)
    unknowns = [
        "whether losses were random or at a full queue, the buffer, and AQM: the file does not contain single packets",
        "other traffic: the fitted path has none",
    ]
    name = subject.facts.get("control", "")
    control = _NAMES.get(name, name)
    known = control in kinds(Congestion)
    if not known:
        named = f"{name}, which longpipe does not have" if name else "which the file does not name"
        unknowns.insert(0, f"the sender's congestion control, {named}: the scenario has cubic")
    if bottleneck["high"] is None:
        unknowns.insert(0, "the rate of the bottleneck: there was no queue for long enough")
    # If there was no queue, losses were random.
    random = bottleneck["high"] is None and loss is not None and loss["count"] > 0
    hypothesis = Hypothesis(
        rate_bps=bps,
        base_rtt_s=base["value"],
        buffer_packets=max(math.ceil(longest), _LEAST_BUFFER),
        policy={"kind": "tail-drop"},
        loss={"kind": "bernoulli", "probability": float(f"{loss['value']:.3g}")} if loss and random else "none",
        control=control if known else "cubic",
        mss=mss,
        headers=headers,
        timestamps=headers > packet_bytes(0),
        duration_s=float(max(1, round(recording.duration_s))),
    )
    scenario = hypothesis.scenario(**dict(fixed or {}))
    rows: dict[str, dict[str, Any]] = {"rate": bottleneck, "base RTT": base}
    least = math.floor(longest) + IN_TRANSMISSION
    rows["buffer"] = {
        "value": least, "low": least, "high": None, "unit": "packets",
        "known": f"a lower bound: the queue at the longest RTT in the file; the scenario has {scenario.switch.buffer}",
    }  # fmt: skip
    if loss is not None:
        rows["loss"] = loss
    return FitReport(
        file=recording.file,
        flow=subject.name,
        duration_s=recording.duration_s,
        mss=mss,
        scenario=scenario,
        toml=short_toml(scenario, hypothesis.fields, dict(fixed or {})),
        estimates=rows,
        rate_steps=[],
        controls={control: 1.0} if known else {},
        queues={},
        distance=None,
        undetermined=unknowns,
        doubts=(),
        notes=recording.notes,
        series=_series(subject, rate.time_s, rate.numbers, rtt.time_s, rtt.numbers) | {"lost_s": lost_s},
    )


def _subject(recording: Recording, flow: int) -> Subject:
    if recording.format not in FORMATS:
        raise ScenarioError(
            f"{recording.file}: {recording.format}, without a transfer that filled a path; needs a capture, or "
            f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    flows = [one for one in recording.subjects if one.kind == "flow"]
    if not flows:
        raise ScenarioError(f"{recording.file}: no transfer; {_needed(recording)}")
    if not 0 <= flow < len(flows):
        raise ScenarioError(f"--flow: {flow}; {recording.file} has {len(flows)} flows; needs 0 to {len(flows) - 1}")
    if flows[flow].facts.get("protocol") == "UDP":
        raise ScenarioError(f"{recording.file}: {flows[flow].name}: UDP; needs a TCP or QUIC transfer")
    return flows[flow]


def _rtt(subject: Subject) -> Series | None:
    return subject.of("rtt") or subject.of("smoothed rtt")


def _lacking(is_rate: bool) -> str:
    return "rate over time" if is_rate else "RTTs over time"


def _needed(recording: Recording) -> str:
    """Returns advice on what to record instead."""
    return {
        "ss -tin": "needs snapshots of a transfer, each after a line with the time (docs/measured.md)",
        "iperf3 JSON": "needs the sender's file on Linux: run iperf3 without -R",
        "flent": "needs a test with a TCP transfer and its RTTs, such as tcp_nup with --socket-stats",
    }.get(recording.format, "needs the file of the sender of a transfer")


def _base(subject: Subject, rtt: Series, wire: int, fastest: float) -> dict[str, Any]:
    """Returns the estimate of the base RTT: the minimum recorded by the kernel or the stack, or an upper bound."""
    least = next((subject.counters[name][0] for name in _LEAST_RTT if name in subject.counters), None)
    samples = subject.of("rtt")
    if least is None and samples is not None:
        least = float(samples.numbers.min())
    if least is not None:
        return {
            "value": least, "low": max(0.0, least - 4 * wire / max(fastest, 1.0)), "high": least, "unit": "s",
            "known": "minimum RTT of the connection",
        }  # fmt: skip
    smallest = float(rtt.numbers.min())
    return {
        "value": smallest, "low": None, "high": smallest, "unit": "s",
        "known": "an upper bound: minimum of the smoothed RTTs",
    }  # fmt: skip


def _settled(recording: Recording, times: Numbers, rates: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the rates that the network carried.

    iperf3 and flent count the data written by the application, and the application is ahead of the network until the
    socket's buffer is full; only the second half of their rates is used.
    """
    half = len(rates) // 2 if recording.format in _WRITTEN else 0
    return times[half:], rates[half:]


def _headers(subject: Subject) -> int:
    """Returns the length of a packet's headers [bytes]: those of TCP with timestamps if the file does not state it."""
    return int(subject.counters.get("header", (packet_bytes(0, timestamps=True), ""))[0])


def _wire_share(recording: Recording, subject: Subject, mss: int) -> float:
    """Returns the length of IP packets as a multiple of the bytes that the file counts."""
    if recording.format == "qlog" and "header" not in subject.counters:
        # A full QUIC packet is at least 1200 bytes long (RFC 9000, section 14.1).
        return 1 + _UDP_BYTES / _QUIC_BYTES
    return 1 + _headers(subject) / mss


def _merged(times: Numbers, rates: Numbers, base: float) -> tuple[Numbers, Numbers]:
    """Returns mean rates, each over at least one base RTT, because shorter intervals contain few packets."""
    ends: list[float] = []
    found: list[float] = []
    begin, moved = float(times[0] - (times[1] - times[0] if len(times) > 1 else 0.0)), 0.0
    previous = begin
    for time, rate in zip(times.tolist(), rates.tolist(), strict=True):
        moved += rate * (time - previous)
        previous = time
        if time - begin >= base:
            ends.append(time)
            found.append(moved / (time - begin))
            begin, moved = time, 0.0
    return np.array(ends or times[-1:]), np.array(found or rates[-1:])


def _rate(times: Numbers, rates: Numbers, rtt: Series, base: float, carried: float, wire: int) -> dict[str, Any]:
    """Returns the estimate of the bottleneck's rate, from the intervals that begin and end with a queue.

    An interval contains whole ACKs. If most rates differ by at most one ACK, the estimate is their mean, because their
    median would be a multiple of one ACK per interval.
    """
    at_end = np.interp(times, rtt.time_s, rtt.numbers)
    at_begin = np.interp(np.append(times[:1], times[:-1]), rtt.time_s, rtt.numbers)
    stood = np.minimum(at_begin, at_end) > base * (1 + _QUEUED) + _QUEUED_S
    stood[0] = False
    found = rates[stood & (rates > 0)]
    if len(found) < _LEAST_INTERVALS:
        return {
            "value": carried, "low": carried, "high": None, "unit": "bit/s",
            "known": "a lower bound: the rate that the path carried",
        }  # fmt: skip
    quantum = _ACKED_PACKETS * 8 * wire / float(np.median(np.diff(times)))
    near = found[np.abs(found - np.median(found)) <= (1 + _ROUNDING) * quantum]
    if 2 * len(near) > len(found):
        draw = np.random.default_rng(0).integers(0, len(near), (_RESAMPLES, len(near)))
        low, high = np.quantile(near[draw].mean(axis=1), (0.025, 0.975))
        # The bits of consecutive intervals are exact to within one ACK.
        slack = quantum / len(near)
        middle = FitEstimate(float(near.mean()), float(low) - slack, float(high) + slack)
    else:
        draw = np.random.default_rng(0).integers(0, len(found), (_RESAMPLES, len(found)))
        low, high = np.quantile(np.median(found[draw], axis=1), (0.025, 0.975))
        middle = FitEstimate(float(np.median(found)), float(low), float(high))
    return {
        "value": middle.value, "low": middle.low, "high": middle.high, "unit": "bit/s",
        "known": f"{len(found)} intervals in which the RTT showed a queue",
    }  # fmt: skip


def _loss(
    file: str, subject: Subject, times: Numbers, rates: Numbers, mss: int
) -> tuple[dict[str, Any] | None, list[float]]:
    """Returns the share of packets retransmitted or lost, an upper bound on random losses, and their times.

    The share is None if the file counts neither. Raises ScenarioError for an impossible number of packets.
    """
    kind: SeriesKind = "losses" if subject.of("losses") is not None else "retransmissions"
    series = subject.of(kind)
    if series is None and "retransmitted" not in subject.counters and "lost" not in subject.counters:
        return None, []
    each = mss if series is not None and series.unit == "bytes" else 1
    counts = np.zeros(0) if series is None else np.round(series.numbers / each)
    sent = float(np.sum(rates * np.diff(times, prepend=0.0))) / 8 / mss
    lost = float(counts.sum())
    if lost > _MOST_LOST:
        raise ScenarioError(f"{file}: {subject.name}: {lost:.3g} {kind}; needs at most {_MOST_LOST}")
    share = lost / max(sent + lost, 1.0)
    row = {
        "value": share, "low": None, "high": share, "unit": "per packet",
        "known": f"{lost:.0f} retransmitted or lost packets, including those at a full queue",
        "count": round(lost), "packets": round(max(sent + lost, 1.0)),
    }  # fmt: skip
    places = [] if series is None else np.repeat(series.time_s, counts.astype(int)).tolist()
    return row, places


def _series(subject: Subject, times: Numbers, rates: Numbers, rtt_times: Numbers, rtts: Numbers) -> dict[str, Any]:
    """Returns the observed series at the times of the rates."""
    delivered = np.cumsum(rates * np.diff(times, prepend=0.0)) / 8
    flight = subject.of("in flight")
    return {
        "time_s": times.tolist(),
        "delivered_bytes": delivered.tolist(),
        "rtt_s": np.interp(times, rtt_times, rtts).tolist(),
        "in_flight_bytes": [None] * len(times)
        if flight is None
        else np.interp(times, flight.time_s, flight.numbers).tolist(),
    }
