"""Report on a fit to a capture: scenario, estimates, and the unknowns that the capture does not determine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from longpipe.fit.candidates import IN_TRANSMISSION
from longpipe.fit.jitter import Order
from longpipe.fit.path_fit import TAIL_DROP
from longpipe.fit.report import IPV6_NOTE, FitReport
from longpipe.fit.sender import pauses
from longpipe.ip import IPV6_BYTES, packet_bytes
from longpipe.scenario.short_file import short_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from longpipe.fit.candidates import Hypothesis
    from longpipe.fit.estimate import FitEstimate
    from longpipe.fit.path_fit import PathFit
    from longpipe.scenario import Scenario

# Number of rates over time at and above which other traffic at the bottleneck is a likely cause.
MANY_STEPS: Final = 8
# Distance of the best candidate above which it does not explain the capture. In 147 of 150 captures of Linux over tail
# drop, it is at most 0.24.
UNEXPLAINED: Final = 0.25
# Share of a transfer during which its application may have no data.
_IDLE: Final = 0.01
# Order of packets with jitter, as the estimate states it.
_ORDERS: Final[dict[Order | None, str]] = {"fifo": ", in order", "free": "; packets overtake each other", None: ""}
# Largest buffer, in bandwidth-delay products, that is assumed for a path whose queue never overflowed.
_MAX_PRODUCTS: Final = 4.0


def report(path_fit: PathFit) -> FitReport:
    """Returns the report on a fit."""
    observation = path_fit.observation
    return FitReport(
        file=observation.file,
        flow=observation.flow,
        duration_s=observation.duration_s,
        mss=observation.mss,
        scenario=scenario(path_fit),
        toml=short_toml(scenario(path_fit), _path(path_fit).fields, path_fit.fixed),
        estimates=estimates(path_fit),
        rate_steps=rate_steps(path_fit),
        controls=path_fit.control_shares(),
        queues={} if path_fit.unexplained else path_fit.queue_shares(),
        distance=path_fit.best.distance,
        undetermined=undetermined(path_fit),
        doubts=tuple(_doubts(path_fit)),
        notes=tuple(_notes(path_fit)),
        series=_series(path_fit),
        policer=path_fit.policer,
        outages=path_fit.best.hypothesis.outages,
        others=path_fit.others,
        is_bounded=not path_fit.unexplained,
    )


def _doubts(fit: PathFit) -> Iterator[str]:
    """Yields a note for each reason why the estimates and predictions may be wrong."""
    steps = len(fit.features.steps)
    if steps >= MANY_STEPS:
        yield (
            f"the rate changes {steps - 1} times: either the link varies, or other traffic shared it, which a fit does "
            "not model; then rate, buffer and sender are wrong"
        )
    if fit.unexplained:
        yield (
            f"{_connections(fit.unexplained)} in the capture may share the path, but not one queue, so that the fit "
            "does not model them; the sender and the queue are unknown, and predictions have no interval"
        )
    limit = fit.best.hypothesis.flight_limit
    if limit is not None:
        yield (
            f"a limit of about {limit / 1e6:.3g} MB on the data in flight explains the capture best, such as the "
            "sender's buffer or its application, and would hide the congestion control; the scenario sets it as "
            "tcp.receiver_window, and a larger one predicts senders without this limit"
        )
    silent = [outage for outage in fit.features.outages if outage.fate is None]
    if silent:
        longest = max(silent, key=lambda outage: outage.next_ack_s - outage.last_ack_s)
        yield (
            f"{longest.silence} from {longest.last_ack_s:.4g} s on, although data was sent: an outage of the path, or "
            "lost retransmissions? The fitted path has no outage there, so that sender and predictions are unreliable"
        )
    idle = pauses(fit.observation)
    share = sum(end - begin for begin, end in idle) / fit.observation.duration_s
    if share > _IDLE:
        begin, end = max(idle, key=lambda interval: interval[1] - interval[0])
        yield (
            f"the application had no data for {share:.0%} of the transfer, such as from {begin:.3g} to {end:.3g} s; "
            "candidates always have data, so that sender and predictions are unreliable"
        )
    # The distance over AQM is the sum of three: waiting times, data in flight, and losses.
    terms = 1 if fit.best.queue == TAIL_DROP else 3
    distance = fit.best.distance / terms
    if distance > UNEXPLAINED:
        causes = " (the application, a send buffer, other traffic or another control may have limited the flow)"
        causes = "" if fit.features.outages else causes
        yield (
            f"no candidate explains the capture: the best one's data in flight differ by {distance:.0%} on "
            f"average{causes}; the sender, the buffer and predictions by whatif are unreliable"
        )


def _notes(fit: PathFit) -> Iterator[str]:
    """Yields a note for each assumption about the sender that the capture shows."""
    if fit.observation.message_bytes:
        omitted = fit.observation.message_bytes
        yield f"the fit omits {omitted} bytes that the sender sent in messages before the transfer"
    if fit.best.hypothesis.paced:
        yield "the sender paces its segments, as with Linux's queue discipline fq; the scenario sets tcp.pacing"
    longer = fit.observation.headers - packet_bytes(0, timestamps=fit.observation.timestamps)
    if longer == IPV6_BYTES:
        yield IPV6_NOTE
    yield from fit.observation.notes


def scenario(path_fit: PathFit) -> Scenario:
    """Returns the fitted path as a scenario, with random losses in place of the observed ones and without traces."""
    return _path(path_fit).scenario(**path_fit.fixed)


def _path(fit: PathFit) -> Hypothesis:
    """Returns the hypothesis of `scenario`, without the fields that were given as known."""
    hypothesis = fit.best.hypothesis
    loss = fit.loss_probability
    random_loss: object = "none"
    if loss.value > 0:
        random_loss = {"kind": "bernoulli", "probability": float(f"{loss.value:.3g}")}
    changed = hypothesis.with_(loss=random_loss)
    if fit.is_policed and fit.policer is not None:
        changed = changed.with_(conditioners=(*changed.conditioners, fit.policer.conditioner))
    if fit.features.buffer is None and fit.best.queue == TAIL_DROP:
        # This is only a lower bound on the buffer, because the capture does not determine more.
        changed = changed.with_(buffer_packets=max(math.ceil(fit.features.longest), 1))
    duration = max(1, round(fit.observation.duration_s))
    return changed.with_(duration_s=float(duration))


def estimates(path_fit: PathFit) -> dict[str, dict[str, Any]]:
    """Returns, for each quantity, its value (None if unknown), 95 % interval, unit, and how it is known.

    The buffer includes the packet in transmission, as `switch.buffer` does. If only its lower bound is known,
    `prior_high` is the largest buffer that predictions draw. For the loss, `count` of `packets` packets were lost at
    random.
    """
    features, observation = path_fit.features, path_fit.observation
    rows: dict[str, dict[str, Any]] = {}
    if features.rate_bps is not None and path_fit.unexplained:
        rows["rate"] = {
            "value": features.rate_bps.low, "low": features.rate_bps.low, "high": None, "unit": "bit/s",
            "known": "a lower bound: what other connections left",
        }  # fmt: skip
    elif features.rate_bps is not None:
        many = f"; median of {len(features.steps)} rates over time" if features.steps else ""
        rows["rate"] = _row(features.rate_bps, "bit/s", f"ACKs while segments waited{many}")
    else:
        rows["rate"] = {
            "value": features.fastest_bps, "low": features.fastest_bps, "high": None, "unit": "bit/s",
            "known": "a lower bound: no queue formed for long enough",
        }  # fmt: skip
    rows["base RTT"] = _row(features.base_rtt_s, "s", "minimum of the RTT samples")
    if features.buffer is not None and path_fit.best.queue == TAIL_DROP and not path_fit.unexplained:
        rows["buffer"] = _row(
            features.buffer.shifted(IN_TRANSMISSION), "packets",
            f"{int(features.overflow.sum())} losses at a full queue",
        )  # fmt: skip
    else:
        evidence = "a lower bound: no losses at a full queue were found"
        if path_fit.best.queue != TAIL_DROP:
            evidence = f"a lower bound: {path_fit.best.queue} keeps the queue short"
        minimum = math.floor(features.longest) + IN_TRANSMISSION
        rows["buffer"] = {
            "value": minimum, "low": minimum, "high": None, "unit": "packets",
            "known": f"{evidence}; the scenario has {scenario(path_fit).switch.buffer}",
        }  # fmt: skip
        if path_fit.best.queue == TAIL_DROP:
            product = features.rate_or_bound_bps * features.base_rtt_s.value / 8 / observation.packet_bytes
            rows["buffer"]["prior_high"] = max(math.ceil(_MAX_PRODUCTS * product), minimum)
    count, packets = path_fit.random_losses, path_fit.packets_followed
    rows["loss"] = _row(path_fit.loss_probability, "per packet", f"{count} of {packets} packets, queue not full")
    if path_fit.is_policed:
        rows["loss"]["known"] += f"; {int(features.elsewhere.sum())} others by a policer"
    if path_fit.unexplained:
        rows["loss"] |= {"low": None, "value": rows["loss"]["high"]}
    # An AQM's drops cannot be distinguished from random losses.
    if path_fit.best.queue == TAIL_DROP:
        rows["loss"] |= {"count": count, "packets": packets}
    if features.jitter is not None:
        spread = features.jitter.range_s.value
        rows["jitter"] = _row(
            features.jitter.mean_s, "s",
            f"ACKs while segments waited: delays of 0 to {1e3 * spread:.3g} ms{_ORDERS[features.jitter.order]}",
        )  # fmt: skip
    return rows


def rate_steps(path_fit: PathFit) -> list[dict[str, float]]:
    """Returns the rates over time, empty if it is constant; times are measured from the first data packet.

    They are also empty if other connections took a share that the fit does not model.
    """
    steps = () if path_fit.unexplained else path_fit.features.steps
    return [
        {
            "at_s": step.at_s,
            "earliest_s": step.earliest_s,
            "rate_bps": step.rate_bps.value,
            "low": float(step.rate_bps.low),
            "high": float(step.rate_bps.high),
        }
        for step in steps
    ]


def _row(estimate: FitEstimate, unit: str, evidence: str) -> dict[str, Any]:
    value, low, high = (float(number) for number in (estimate.value, estimate.low, estimate.high))
    return {"value": value, "low": low, "high": high, "unit": unit, "known": evidence}


def undetermined(path_fit: PathFit) -> list[str]:
    """Returns a line for each unknown that the capture does not determine."""
    features, lines = path_fit.features, []
    if features.rate_bps is None:
        lines.append("the rate of the bottleneck: no queue formed for long enough")
    if features.buffer is None:
        minimum = math.floor(features.longest) + IN_TRANSMISSION
        lines.append(f"the size of the buffer: at least {minimum} packets; no losses at a full queue were found")
    if path_fit.same_controls:
        likeliest = path_fit.senders[0].hypothesis.control
        lines.append(f"{likeliest} from {', '.join(path_fit.same_controls)}: they behave equally here")
    if path_fit.same_queues:
        lines.append(f"{path_fit.best.queue} from {', '.join(path_fit.same_queues)}: they behave equally here")
    if not features.overflow.any() and not features.elsewhere.any() and path_fit.best.queue == TAIL_DROP:
        lines.append("the drop policy of the queue: nothing was lost")
    if features.jitter is not None and features.jitter.order is None:
        lines.append("whether packets overtake each other: the jitter is too short; the fitted path keeps their order")
    left = path_fit.observation.others + len(path_fit.observation.shared) - len(path_fit.others)
    if left:
        lines.append(f"the effect of {_connections(left)} in the capture: the fitted path does not have this traffic")
    elif path_fit.others:
        lines.append("traffic that is not in the capture: the fitted path has none")
    else:
        lines.append("other traffic: the fitted path has none")
    return lines


def _connections(count: int) -> str:
    return f"{count} other connection{'s' if count > 1 else ''}"


def _series(fit: PathFit) -> dict[str, list[float]]:
    observation, series = fit.observation, fit.observed
    return {
        "time_s": series.grid.tolist(),
        "delivered_bytes": series.delivered.tolist(),
        "rtt_s": series.rtt.tolist(),
        "in_flight_bytes": series.in_flight.tolist(),
        "lost_s": observation.sent_s[observation.sent_lost].tolist(),
    }
