"""Fits a path to a flow that a tool sampled at intervals: `ss -tin`, iperf3, iperf 2, flent, qlog, ndt7, Starlink.

Such a file contains no packets. It contains the rate while there was a queue, the RTT, the loss, and often the name of
the sender's congestion control. The buffer and the queue's drop policy cannot be inferred from it, because they need
individual losses. The history of a Starlink dish has the rates that were used, of which the highest one is a lower
bound on the rate of the path, because RTTs over Starlink vary without a queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.errors import ScenarioError
from longpipe.fit.candidates import IN_TRANSMISSION, Hypothesis, check_mss
from longpipe.fit.estimate import FitEstimate
from longpipe.fit.report import IPV6_NOTE, FitReport, check_base
from longpipe.fit.written import Writes, step_bytes
from longpipe.fit.written import rate as written_rate
from longpipe.ip import IPV6_BYTES, packet_bytes
from longpipe.scenario.base import kinds
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.short_file import short_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from longpipe.measured.recording import Recording, Series, SeriesKind, Subject

    Numbers = NDArray[np.float64]

# Formats that contain the rates used in each direction, behind the RTTs of pings over the path.
_USED: Final = ("Starlink dish history", "Starlink dish status", "WetLinks CSV")
# Formats whose flows can be fitted.
FORMATS: Final = ("ss -tin", "iperf3 JSON", "iperf 2", "flent", "qlog", "ndt7", *_USED)
# Names that a flow's counters use for the minimum RTT.
_MIN_RTT: Final = ("minrtt", "MinRTT", "min_rtt")
# longpipe's names of controls that have a different name in Linux.
_NAMES: Final = {"reno": "linux-reno"}
# Payload of full segments if the file does not contain it: that of Ethernet with timestamps.
_MSS: Final = 1448
# There was a queue during an interval if the smoothed RTT at its end exceeds the minimum by both this share and this
# time [s].
_QUEUED, _QUEUED_S = 0.1, 1e-3
# Formats that count the data written by the application.
_WRITTEN: Final = ("iperf3 JSON", "iperf 2", "flent")
# IPv4 and UDP headers, and the minimum length of a full QUIC packet [bytes].
_UDP_BYTES, _QUIC_BYTES = 28, 1200
# Minimum number of intervals with a queue that a rate estimate needs, and number of bootstrap resamples for its
# interval.
_MIN_INTERVALS: Final = 3
_RESAMPLES: Final = 400
# Number of colons in the name of a flow with IPv4 addresses: one before each port.
_IPV4_COLONS: Final = 2
# Maximum number of packets that an ACK usually acknowledges.
_ACKED_PACKETS: Final = 2
# Longest step in which Linux refills a send buffer, in congestion windows: the buffer grows to six windows, counted
# with the kernel's overhead, and a third is refilled at once.
_REFILLED: Final = 2
# Share of the maximum window at which the send buffer counts as grown.
_GROWN: Final = 0.9
# Share of intervals that must have nearly the same rate if a counter rises with each ACK.
_NEARLY_ALL: Final = 0.9
# Maximum time [s] between the end of an interval and the start of the next without a gap; times are rounded.
_GAP_S: Final = 1e-4
# Relative rounding error of a difference of rates.
_ROUNDING: Final = 1e-3
# Minimum buffer [packets] of the scenario, used even if the RTT shows no queue.
_MIN_BUFFER: Final = 10
# Number of lost packets above which the file must be damaged; their times are written one by one.
_MAX_LOST: Final = 10_000_000


@dataclass(frozen=True, eq=False)
class _Rates:
    """Mean rates [bit/s] of intervals with these begins and ends [s], in ascending order."""

    begin: Numbers
    end: Numbers
    bps: Numbers

    @property
    def moved(self) -> Numbers:
        """Bytes of each interval."""
        moved_bytes: Numbers = self.bps * (self.end - self.begin) / 8
        return moved_bytes


def _rates(series: Series) -> _Rates:
    """Returns the rates of a series; a rate without an interval holds since the time of the one before it."""
    times = series.time_s
    if series.intervals_s is None:
        return _Rates(np.append(times[:1], times[:-1]), times, series.numbers)
    has_length = series.intervals_s[:, 1] > series.intervals_s[:, 0]
    begin, end = series.intervals_s[has_length].T
    return _Rates(begin, end, series.numbers[has_length])


def fit_recorded(recording: Recording, flow: int = 0, fixed: Mapping[str, object] | None = None) -> FitReport:
    """Returns the fit to flow number `flow` of a recording; `fixed` contains known scenario fields by dotted name.

    Raises a one-line ScenarioError if the file lacks a flow's rates or RTTs.
    """
    fixed_fields = dict(fixed or {})
    flow_data = _flow(recording, flow)
    estimated = _estimated(flow_data)
    control = _NAMES.get(flow_data.control, flow_data.control)
    is_known_control = control in kinds(Congestion)
    hypothesis = _hypothesis(flow_data, estimated, control if is_known_control else "cubic")
    scenario = hypothesis.scenario(**fixed_fields)
    return FitReport(
        file=recording.file,
        flow=flow_data.subject.name,
        duration_s=flow_data.duration_s,
        mss=flow_data.mss,
        scenario=scenario,
        toml=short_toml(scenario, hypothesis.fields, fixed_fields),
        estimates=_rows(flow_data, estimated, str(scenario.switch.buffer)),
        rate_steps=[],
        controls={control: 1.0} if is_known_control else {},
        queues={},
        distance=None,
        undetermined=_undetermined(flow_data, estimated, is_known_control=is_known_control),
        doubts=(),
        notes=(*_notes(flow_data.subject, flow_data.rate), *recording.notes),
        series=_series(flow_data.subject, flow_data.rates, flow_data.rtt) | {"lost_s": estimated.lost_s},
        is_transfer=not flow_data.is_used,
    )


@dataclass(frozen=True, eq=False)
class _Flow:
    """The chosen flow of a recording: its series, and the lengths of its packets."""

    recording: Recording
    subject: Subject
    rate: Series
    rtt: Series
    rates: _Rates
    # Payload of a full segment, and IP and TCP headers of each segment [bytes].
    mss: int
    headers: int
    duration_s: float

    @property
    def packet_bytes(self) -> int:
        """Length of a full segment's IP packet [bytes]."""
        return self.mss + self.headers

    @property
    def is_used(self) -> bool:
        """Whether the file contains the rates that were used, instead of those of a transfer that filled the path."""
        return _format(self.recording) in _USED

    @property
    def control(self) -> str:
        """The file's name of the sender's congestion control; "" if it has none."""
        return self.subject.facts.get("control", "")


@dataclass(frozen=True, eq=False)
class _Estimated:
    """Estimates of a path in the form of the report's rows; `loss` is None if the file counts no losses."""

    rate: dict[str, Any]
    base_rtt: dict[str, Any]
    loss: dict[str, Any] | None
    # Times of the lost packets [s].
    lost_s: list[float]
    # Longest queue [packets] that the RTTs show.
    longest_queue: float

    @property
    def has_queue(self) -> bool:
        """Returns whether a queue lasted long enough to determine the rate; otherwise, only a lower bound is known."""
        return self.rate["high"] is not None


def _flow(recording: Recording, number: int) -> _Flow:
    """Returns a flow of a recording. Raises ScenarioError if the file lacks its rates or RTTs."""
    subject = _from_its_begin(_subject(recording, number))
    rate, rtt = subject.rates, _rtt(subject)
    if rate is None or rtt is None or not rate.mean:
        raise ScenarioError(f"{recording.file}: {subject.name}: no {_lacking(rate is None)}; {_needed(recording)}")
    mss = int(subject.counters.get("mss", (_MSS, ""))[0])
    check_mss(f"{recording.file}: {subject.name}", mss)
    duration_s = max(float(series.time_s.max()) for series in subject.series)
    return _Flow(recording, subject, rate, rtt, _rates(rate), mss, _headers(subject), duration_s)


def _estimated(flow: _Flow) -> _Estimated:
    """Returns the estimates of the path. Raises ScenarioError for an impossible base RTT or number of losses."""
    recording, subject = flow.recording, flow.subject
    base = _base(subject, flow.rtt, flow.packet_bytes, float(flow.rates.bps.max()))
    check_base(f"{recording.file}: {subject.name}", base["value"])
    if flow.is_used:
        return _Estimated(_highest(flow.rates), base, _lost_pings(subject), [], 0.0)
    wire_share = _wire_share(recording, subject, flow.mss)
    writes = _writes(subject, flow.rtt, wire_share, flow.mss) if _format(recording) in _WRITTEN else None
    merged = _merged(_settled(recording, subject, flow.rates), wire_share, base["value"])
    rate = _rounded(subject, _rate(merged, flow.rtt, base["value"], writes, flow.packet_bytes), wire_share)
    loss, lost_s = _loss(recording.file, subject, flow.rates, flow.mss)
    longest_wait_s = float(flow.rtt.numbers.max()) - base["value"]
    longest_queue = max(0.0, longest_wait_s * float(rate["value"]) / 8 / flow.packet_bytes)
    return _Estimated(rate, base, loss, lost_s, longest_queue)


def _hypothesis(flow: _Flow, estimated: _Estimated, control: str) -> Hypothesis:
    """Returns the path of the scenario, with the bandwidth-delay product as the buffer if queues are unknown."""
    rate_bps, base_rtt_s, loss = float(estimated.rate["value"]), estimated.base_rtt["value"], estimated.loss
    buffer = rate_bps * base_rtt_s / 8 / flow.packet_bytes if flow.is_used else estimated.longest_queue
    # If there was no queue, losses were random.
    has_random_losses = not estimated.has_queue and loss is not None and loss["value"] > 0
    return Hypothesis(
        rate_bps=rate_bps,
        base_rtt_s=base_rtt_s,
        buffer_packets=max(math.ceil(buffer), _MIN_BUFFER),
        policy={"kind": "tail-drop"},
        loss={"kind": "bernoulli", "probability": float(f"{loss['value']:.3g}")}
        if loss and has_random_losses
        else "none",
        control=control,
        mss=flow.mss,
        headers=flow.headers,
        timestamps=flow.headers > packet_bytes(0) + (IPV6_BYTES if _is_ipv6(flow.subject) else 0),
        duration_s=float(max(1, round(flow.duration_s))),
    )


def _bernoulli(probability: float) -> dict[str, Any]:
    """Returns a model of independent random losses."""
    return {"kind": "bernoulli", "probability": float(f"{probability:.3g}")}


def _rows(flow: _Flow, estimated: _Estimated, buffer: str) -> dict[str, dict[str, Any]]:
    """Returns the rows of estimates; `buffer` is that of the scenario."""
    min_packets = math.floor(estimated.longest_queue) + IN_TRANSMISSION
    evidence = "RTTs show no queue" if flow.is_used else "the queue at the longest RTT in the file"
    rows = {"rate": estimated.rate, "base RTT": estimated.base_rtt}
    rows["buffer"] = {
        "value": min_packets, "low": min_packets, "high": None, "unit": "packets",
        "known": f"a lower bound: {evidence}; the scenario has {buffer}",
    }  # fmt: skip
    if estimated.loss is not None:
        rows["loss"] = estimated.loss
    return rows


def _undetermined(flow: _Flow, estimated: _Estimated, *, is_known_control: bool) -> list[str]:
    """Returns what the file does not determine, the most important first."""
    unknowns = []
    if not estimated.has_queue:
        lacking = "the file has the rates that were used" if flow.is_used else "there was no queue for long enough"
        unknowns.append(f"the rate of the bottleneck: {lacking}")
    if not is_known_control:
        named = f"{flow.control}, which longpipe does not have" if flow.control else "which the file does not name"
        unknowns.append(f"the sender's congestion control, {named}: the scenario has cubic")
    unknowns += [
        "whether losses were random or at a full queue, the buffer, and AQM: the file does not contain single packets",
        "other traffic: the fitted path has none",
    ]
    if flow.is_used:
        unknowns.append("how the RTT varies without a queue, and outages: the delay of the fitted path is constant")
    return unknowns


def _notes(subject: Subject, rate: Series) -> Iterator[str]:
    """Yields a line for each property of the flow or of the file that the scenario does not have."""
    if _is_ipv6(subject):
        yield IPV6_NOTE
    if rate.quantity == "sent rate":
        yield "the rates are those of sent packets, including lost ones, because the file has no acknowledged packets"


def _subject(recording: Recording, flow: int) -> Subject:
    """Returns flow number `flow`. Raises ScenarioError if the file has no TCP or QUIC transfer of this number."""
    if _format(recording) not in FORMATS:
        raise ScenarioError(
            f"{recording.file}: {recording.format}, contains no transfer that filled a path; needs a capture, or "
            f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    flows = [subject for subject in _directions(recording) if subject.kind == "flow"]
    if not flows:
        raise ScenarioError(f"{recording.file}: no transfer; {_needed(recording)}")
    if not 0 <= flow < len(flows):
        raise ScenarioError(f"--flow: {flow}; {recording.file} has {len(flows)} flows; needs 0 to {len(flows) - 1}")
    if flows[flow].facts.get("protocol") == "UDP":
        raise ScenarioError(f"{recording.file}: {flows[flow].name}: UDP; needs a TCP or QUIC transfer")
    return flows[flow]


def _directions(recording: Recording) -> Iterator[Subject]:
    """Yields the subjects; used rates become a flow with the RTTs and the counters of the pings before them."""
    pings: Subject | None = None
    for subject in recording.subjects:
        if _format(recording) not in _USED:
            yield subject
        elif subject.rates is None:
            pings = subject
        else:
            rtt = None if pings is None else pings.of("rtt")
            # The RTTs are means of the pings of a second.
            added = () if rtt is None else (replace(rtt, quantity="smoothed rtt"),)
            counters = {} if pings is None else pings.counters
            yield replace(subject, kind="flow", series=(*subject.series, *added), counters=counters)


def _format(recording: Recording) -> str:
    """Returns the format of a recording, without the form in which iperf3 writes its JSON."""
    return recording.format.removesuffix(" stream")


def _from_its_begin(subject: Subject) -> Subject:
    """Returns a flow whose times are seconds since the first interval of its rates, or unchanged if it has no rates."""
    rate = subject.rates
    if rate is None or not len(rate.numbers):
        return subject
    begin = float(_rates(rate).begin[0])
    moved = [
        replace(
            series,
            time_s=series.time_s - begin,
            intervals_s=None if series.intervals_s is None else series.intervals_s - begin,
        )
        for series in subject.series
    ]
    return replace(subject, series=tuple(moved))


def _rtt(subject: Subject) -> Series | None:
    """Returns the RTT samples, or else the smoothed RTTs."""
    return subject.of("rtt") or subject.of("smoothed rtt")


def _lacking(is_rate: bool) -> str:
    """Returns the name of the series that a file lacks."""
    return "rate over time" if is_rate else "RTTs over time"


def _needed(recording: Recording) -> str:
    """Returns advice on what to record instead."""
    return {
        "ss -tin": "needs snapshots of a transfer, each after a line with the time (docs/read.md)",
        "iperf3 JSON": "needs the sender's file on Linux: run iperf3 without -R",
        "flent": "needs a test with a TCP transfer and its RTTs, such as tcp_nup with --socket-stats",
        "iperf 2": "needs the client's output on Linux with intervals and RTTs: iperf -c SERVER -e -i 1",
        "Starlink dish history": "needs a history with rates and with replies to pings",
        "Starlink dish status": "needs answers to get_status with rates and with replies to pings",
        "WetLinks CSV": "needs starlink.csv, which has rates and RTTs",
    }.get(_format(recording), "needs the file of the sender of a transfer")


def _base(subject: Subject, rtt: Series, packet_length: int, max_bps: float) -> dict[str, Any]:
    """Returns the estimate of the base RTT: the minimum recorded by the kernel or the stack, or an upper bound.

    `packet_length` is that of full packets [bytes].
    """
    min_rtt_s = next((subject.counters[name][0] for name in _MIN_RTT if name in subject.counters), None)
    samples = subject.of("rtt")
    if min_rtt_s is None and samples is not None:
        min_rtt_s = float(samples.numbers.min())
    if min_rtt_s is not None:
        # The lower end is half of a packet's transmission time below the minimum.
        low_s = max(0.0, min_rtt_s - 4 * packet_length / max(max_bps, 1.0))
        return {
            "value": min_rtt_s, "low": low_s, "high": min_rtt_s, "unit": "s",
            "known": "minimum RTT of the connection",
        }  # fmt: skip
    smoothed_s = float(rtt.numbers.min())
    return {
        "value": smoothed_s, "low": None, "high": smoothed_s, "unit": "s",
        "known": "an upper bound: minimum of the smoothed RTTs",
    }  # fmt: skip


def _settled(recording: Recording, subject: Subject, rates: _Rates) -> _Rates:
    """Returns the rates that the network carried.

    iperf3 and flent count the data written by the application, which is ahead of the network until the socket's buffer
    is full. Linux's buffer grows with the maximum of the window, so the rates are used from the time on at which the
    window has nearly reached its maximum, and at the latest from the middle on.
    """
    if _format(recording) not in _WRITTEN:
        return rates
    first, window = len(rates.bps) // 2, subject.of("cwnd")
    if window is not None:
        grown = window.time_s[np.argmax(window.numbers >= _GROWN * window.numbers.max())]
        first = min(first, int(np.searchsorted(rates.end, grown)))
    return _Rates(rates.begin[first:], rates.end[first:], rates.bps[first:])


def _is_ipv6(subject: Subject) -> bool:
    """Returns whether the name of a flow has IPv6 addresses with ports; addresses such as ::ffff:10.0.0.1 are IPv4."""
    return subject.name.count(":") > _IPV4_COLONS and "." not in subject.name


def _headers(subject: Subject) -> int:
    """Returns the length of a packet's headers [bytes]: those of TCP with timestamps if the file does not state it."""
    usual = packet_bytes(0, timestamps=True) + (IPV6_BYTES if _is_ipv6(subject) else 0)
    return int(subject.counters.get("header", (usual, ""))[0])


def _wire_share(recording: Recording, subject: Subject, mss: int) -> float:
    """Returns the length of IP packets as a multiple of the bytes that the file counts."""
    if _format(recording) in _USED:
        return 1.0
    if recording.format == "qlog" and "header" not in subject.counters:
        # A full QUIC packet is at least 1200 bytes long (RFC 9000, section 14.1).
        return 1 + _UDP_BYTES / _QUIC_BYTES
    return 1 + _headers(subject) / mss


def _merged(rates: _Rates, share: float, base: float) -> _Rates:
    """Returns mean rates times `share`, each over at least one base RTT, because shorter intervals have few packets.

    Intervals with a gap between them are not merged.
    """
    merged: list[tuple[float, float, float]] = []
    begin = end = float(rates.begin[0])
    moved = 0.0
    for first, last, bps in zip(rates.begin.tolist(), rates.end.tolist(), rates.bps.tolist(), strict=True):
        if first > end + _GAP_S:
            begin, moved = first, 0.0
        moved += bps * share * (last - first)
        end = last
        if end - begin >= base:
            merged.append((begin, end, moved / (end - begin)))
            begin, moved = end, 0.0
    return _Rates(*np.array(merged or [(rates.begin[-1], end, rates.bps[-1] * share)]).T)


def _rate(rates: _Rates, rtt: Series, base: float, writes: Writes | None, wire: int) -> dict[str, Any]:
    """Returns the estimate of the bottleneck's rate, from the intervals that begin and end with a queue.

    `writes` is None if the rates are those of acknowledged bytes, and `wire` is the length of a full packet [bytes].
    """
    begins, times, bps = rates.begin, rates.end, rates.bps
    rtt_at_begin, rtt_at_end = (np.interp(instants, rtt.time_s, rtt.numbers) for instants in (begins, times))
    busy = np.minimum(rtt_at_begin, rtt_at_end) > base * (1 + _QUEUED) + _QUEUED_S
    # The first interval, and one after a gap, may have begun before the flow sent.
    busy &= np.append(False, begins[1:] <= times[:-1] + _GAP_S)
    if writes is None:
        # The application may have paused in intervals in a row without any data, whose RTTs are interpolated.
        is_empty = bps <= 0
        busy &= ~(is_empty & (np.append(is_empty[1:], False) | np.append(False, is_empty[:-1])))
    lengths_s = times - begins
    acked_bytes = float(_ACKED_PACKETS * wire)
    step = acked_bytes if writes is None else step_bytes(bps * lengths_s / 8, writes.block, writes.longest)
    if np.count_nonzero(bps[busy]) < _MIN_INTERVALS:
        carried = _carried(bps, lengths_s, step, each=writes is None)
        return {
            "value": carried, "low": carried, "high": None, "unit": "bit/s",
            "known": "a lower bound: the rate that the path carried",
        }  # fmt: skip
    if writes is None:
        rate_row, steps = _acknowledged(bps[busy], lengths_s[busy], acked_bytes), ""
    else:
        rate_row = written_rate(times, bps, busy, step, writes.lag(times))
        steps = f", data written in steps of up to {step / 1e3:.0f} kB"
    return {
        "value": rate_row.value, "low": rate_row.low, "high": rate_row.high, "unit": "bit/s",
        "known": f"{np.count_nonzero(busy)} intervals in which the RTT showed a queue{steps}",
    }  # fmt: skip


def _highest(rates: _Rates) -> dict[str, Any]:
    """Returns the estimate from rates that were used: the highest one is a lower bound."""
    value = float(rates.bps.max())
    return {
        "value": value, "low": value, "high": None, "unit": "bit/s",
        "known": "a lower bound: the highest rate that was used",
    }  # fmt: skip


def _lost_pings(subject: Subject) -> dict[str, Any] | None:
    """Returns the estimate of the loss from pings; None if the file has none."""
    if "lost pings with replies" not in subject.counters:
        return None
    share = subject.counters["lost pings with replies"][0] / 100
    return {
        "value": share, "low": None, "high": share, "unit": "per packet",
        "known": "share of the dish's pings that were lost, without seconds in which all were lost",
    }  # fmt: skip


def _rounded(subject: Subject, row: dict[str, Any], share: float) -> dict[str, Any]:
    """Returns the estimate of a rate with an interval that contains the rounding of the printed rates."""
    error = share * subject.counters.get("rounding of rates", (0.0, ""))[0]
    if row["high"] is None:
        bound = max(row["value"] - error, row["value"] / 2)
        return row | {"value": bound, "low": bound}
    return row | {"low": max(row["low"] - error, 0.0), "high": row["high"] + error}


def _carried(rates: Numbers, lengths_s: Numbers, step: float, *, each: bool) -> float:
    """Returns a rate that the path carried: in all intervals together or, if it is higher and `each`, in one interval.

    Of the bytes counted in any time, one step may have been carried before. If the file has few steps, the rate is half
    of the mean.
    """
    mean = float(np.average(rates, weights=lengths_s))
    in_all_bps = max(mean - 8 * step / float(lengths_s.sum()), mean / 2)
    return max(in_all_bps, float((rates - 8 * step / lengths_s).max())) if each else in_all_bps


def _acknowledged(rates: Numbers, lengths_s: Numbers, acked: float) -> FitEstimate:
    """Returns the rate from the bytes acknowledged in intervals with a queue, which last `lengths_s`.

    An interval contains whole ACKs of up to `acked` bytes. If nearly all rates differ by at most one ACK, and none is
    higher, the estimate is their mean, because their median would be a multiple of one ACK per interval. Otherwise, the
    counter may rise in longer steps. The estimate is then the median of windows of several intervals, which is not
    affected by a few intervals without a queue, and its interval includes the mean of all intervals, which is exact
    within one step if there always was a queue.
    """
    quantum = 8 * acked / float(np.median(lengths_s))
    beyond = (rates - np.median(rates)) / quantum
    is_near = np.abs(beyond) <= 1 + _ROUNDING
    random = np.random.default_rng(0)
    if np.mean(is_near) >= _NEARLY_ALL and beyond.max() <= 1 + _ROUNDING:
        near = rates[is_near]
        draws = near[random.integers(0, len(near), (_RESAMPLES, len(near)))].mean(axis=1)
        low, high = np.quantile(draws, (0.025, 0.975)).tolist()
        # The bits of consecutive intervals are exact to within one ACK.
        slack = quantum / len(near)
        return FitEstimate(float(near.mean()), low - slack, high + slack)
    starts = np.arange(0, len(rates), math.isqrt(len(rates)))
    windows = np.add.reduceat(rates * lengths_s, starts) / np.add.reduceat(lengths_s, starts)
    draws = np.median(windows[random.integers(0, len(windows), (_RESAMPLES, len(windows)))], axis=1)
    low, high = np.quantile(draws, (0.025, 0.975)).tolist()
    mean = float(np.average(rates, weights=lengths_s))
    spread_bits = float(np.subtract(*np.quantile(rates * lengths_s, (0.9, 0.1))))
    step = max(spread_bits, 8 * acked) / float(lengths_s.sum())
    return FitEstimate(float(np.median(windows)), min(low, mean - step), max(high, mean + step))


def _writes(subject: Subject, rtt: Series, share: float, mss: int) -> Writes:
    """Returns how the application of a flow wrote its data, in bytes on the wire."""
    block = share * subject.counters.get("block", (0.0, ""))[0]
    fixed = share * subject.counters.get("send buffer", (0.0, ""))[0]
    series, window = subject.of("cwnd"), 0.0
    if series is not None:
        window = share * float(series.numbers.max()) * (mss if series.unit == "packets" else 1)
    retransmissions = subject.of("retransmissions")
    return Writes(
        block=block,
        longest=max(_REFILLED * window, block, fixed),
        window=window,
        repairs=np.zeros(0) if retransmissions is None else retransmissions.time_s,
        repair_s=float(rtt.numbers.max()),
    )


def _loss(file: str, subject: Subject, rates: _Rates, mss: int) -> tuple[dict[str, Any] | None, list[float]]:
    """Returns the share of packets retransmitted or lost, an upper bound on random losses, and their times.

    The share is None if the file counts neither. Raises ScenarioError for an impossible number of packets.
    """
    kind: SeriesKind = "losses" if subject.of("losses") is not None else "retransmissions"
    series = subject.of(kind)
    if series is None and "retransmitted" not in subject.counters and "lost" not in subject.counters:
        return None, []
    each = mss if series is not None and series.unit == "bytes" else 1
    counts = np.zeros(0) if series is None else np.round(series.numbers / each)
    sent = float(rates.moved.sum()) / mss
    lost = float(counts.sum())
    if lost > _MAX_LOST:
        raise ScenarioError(f"{file}: {subject.name}: {lost:.3g} {kind}; needs at most {_MAX_LOST}")
    share = lost / max(sent + lost, 1.0)
    row = {
        "value": share, "low": None, "high": share, "unit": "per packet",
        "known": f"{lost:.0f} retransmitted or lost packets, including those at a full queue",
        "count": round(lost), "packets": round(max(sent + lost, 1.0)),
    }  # fmt: skip
    lost_s = [] if series is None else np.repeat(series.time_s, counts.astype(int)).tolist()
    return row, lost_s


def _series(subject: Subject, rates: _Rates, rtt: Series) -> dict[str, Any]:
    """Returns the observed series at the ends of the rates' intervals."""
    times, flight = rates.end, subject.of("in flight")
    return {
        "time_s": times.tolist(),
        "delivered_bytes": np.cumsum(rates.moved).tolist(),
        "rtt_s": np.interp(times, rtt.time_s, rtt.numbers).tolist(),
        "in_flight_bytes": [None] * len(times)
        if flight is None
        else np.interp(times, flight.time_s, flight.numbers).tolist(),
    }
