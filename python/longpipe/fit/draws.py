"""Paths that fit a capture: draws of rate, RTT, buffer and loss from their posterior distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.ip import packet_bytes, transmission_ps
from longpipe.units import RATE, SIZE, TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from longpipe.scenario import Scenario

# Range of random delays of packets at hosts. BBR enters ProbeRTT 10 s after an RTT below all earlier ones, so that
# delays of any range postpone it. RTT samples of Linux in virtual time are often equal to a microsecond, and vary by up
# to 3 us; those of real hosts vary by more.
HOST_DELAY: Final = "3 us"
# Share of the draws that have random delays at hosts.
DELAYED: Final = 0.5
# Share of the draws in which a token bucket shapes the bottleneck. A capture shows only the departures from the
# bottleneck. The first packet of a burst leaves a token bucket at once, with saved tokens, so its queue is one packet
# shorter than that of a link with equal departures.
SHAPED: Final = 0.5
# Half-width of a 95 % interval in standard deviations.
_NORMAL: Final = 1.96
# Prior of the loss probability: it is 0 with the probability _LOSSLESS, and otherwise log-uniform over this range.
_LOSSLESS: Final = 0.5
_LOSS_RANGE: Final = (1e-6, 0.5)
_LOSS_POINTS: Final = 1000


def drawn(scenario: Scenario, fitted: Mapping[str, Any], random: np.random.Generator) -> dict[str, object]:
    """Returns changes to a fitted scenario that turn it into a random path that the estimates `fitted` allow.

    1. In the share `DELAYED` of the draws, hosts delay packets by up to `HOST_DELAY`, unless the scenario has delays.
    2. Rate, base RTT, and a buffer that overflowed are normally distributed about the estimates.
    3. A buffer that never overflowed is uniform in its logarithm, from its lower bound to `prior_high`.
    4. The control of each flow that shares the bottleneck has its posterior distribution.
    5. In the share `SHAPED` of the draws, an AQM that controls the delay sees a queue that is a packet shorter.
    6. The loss probability has the posterior distribution for its prior (above) and Poisson-distributed losses.
    """
    network: Any = scenario.network
    if network.kind != "dumbbell":
        return {}
    rows = fitted["estimates"]
    changes: dict[str, object] = {}
    if random.random() < DELAYED and not TIME.parse(network.send_jitter):
        changes["network.send_jitter"] = HOST_DELAY
    rate_deviation = _relative_deviation(rows.get("rate"), random)
    rtt_deviation = _relative_deviation(rows.get("base RTT"), random)
    added_ps = rtt_deviation * rows["base RTT"]["value"] * 1e12 if rtt_deviation else 0.0
    if rate_deviation:
        changes["network.trunk_rate"] = _scaled(network.trunk_rate, 1 + rate_deviation)
    if rtt_deviation:
        changes["network.trunk_delay"] = _shifted(network.trunk_delay, added_ps)
    # If the path varies over time, the delays and rates of its series replace those of the trunk.
    if getattr(network.path, "kind", "") == "moving" and (rate_deviation or rtt_deviation):
        path = network.path.model_dump(exclude_unset=True)
        if network.path.rate:
            path["rate"] = [[at, _scaled(step, 1 + rate_deviation)] for at, step in network.path.rate]
        if network.path.delay:
            path["delay"] = [[at, _shifted(step, added_ps)] for at, step in network.path.delay]
        changes["network.path"] = path
    buffer = _buffer(rows.get("buffer"), random)
    if buffer is not None:
        changes["switch.buffer"] = f"{buffer} packets"
    changes |= _controls(network.group, fitted.get("others", ()), random)
    changes |= _shaped(scenario, random)
    loss = _loss(network.trunk_loss, rows.get("loss"), random)
    if loss is not None:
        changes["network.trunk_loss"] = {"kind": "bernoulli", "probability": loss}
    return changes


def _shaped(scenario: Scenario, random: np.random.Generator) -> dict[str, object]:
    """Returns the change that turns the AQM of a link into that of a token bucket, in the share `SHAPED` of the calls.

    The target delay is longer by the transmission time of a packet. Disciplines without a target do not change.
    """
    target = getattr(scenario.switch.policy, "target", None)
    if target is None or random.random() >= SHAPED:
        return {}
    packet = packet_bytes(SIZE.parse(scenario.tcp.mss), timestamps=True)
    network: Any = scenario.network
    longer_target_ps = TIME.parse(target) + transmission_ps(packet, RATE.parse(network.trunk_rate))
    return {"switch.policy.target": f"{longer_target_ps} ps"}


def _controls(
    groups: Sequence[Any] | None, controls: Sequence[Mapping[str, float]], random: np.random.Generator
) -> dict[str, object]:
    """Returns drawn controls of the flows that share the bottleneck; the first group is the fitted flow."""
    if not groups or len(groups) != len(controls) + 1:
        return {}
    changed = [group.model_dump(exclude_unset=True) for group in groups]
    for group, shares in zip(changed[1:], controls, strict=True):
        weights = np.array(list(shares.values()))
        control = str(random.choice(list(shares), p=weights / weights.sum()))
        group["tcp"] = {**group.get("tcp", {}), "congestion": control}
    return {"network.group": changed}


def _buffer(row: Mapping[str, Any] | None, random: np.random.Generator) -> int | None:
    """Returns a buffer [packets]; None to keep that of the scenario."""
    if row and row.get("prior_high") is not None:
        return round(float(np.exp(random.uniform(np.log(row["value"]), np.log(row["prior_high"])))))
    deviation = _relative_deviation(row, random)
    return max(1, round(row["value"] * (1 + deviation))) if row and deviation else None


def _loss(model: Any, row: Mapping[str, Any] | None, random: np.random.Generator) -> float | None:  # noqa: ANN401 - a loss model
    """Returns a loss probability; None for that of the scenario. A scenario's own probability is scaled."""
    if not row or row.get("count") is None:
        return None
    probability = loss_probability(row["count"], row["packets"], random)
    if model.kind == "bernoulli" and row["count"]:
        return min(float(model.probability * probability / row["value"]), 1.0)
    return probability if model.kind == "none" and not row["count"] and probability else None


def loss_probability(count: int, packets: int, random: np.random.Generator) -> float:
    """Draws a loss probability per packet from its posterior, given `count` losses among `packets`.

    The likelihood of a probability p is that of a Poisson variable, p^count e^(-packets p). Without losses, the
    probability that p is 0 follows from Bayes' rule: its likelihood is 1, and that of p > 0 is the mean over the prior.
    """
    # The points have equal prior probabilities, because they are evenly spaced in their logarithm.
    grid = np.geomspace(*_LOSS_RANGE, _LOSS_POINTS)
    log_likelihood = count * np.log(grid) - packets * grid
    # Relative to the maximum, so that not all likelihoods round to 0; without losses, the values themselves are needed.
    weights = np.exp(log_likelihood - (log_likelihood.max() if count else 0.0))
    lossless = _LOSSLESS / (_LOSSLESS + (1 - _LOSSLESS) * weights.mean()) if not count else 0.0
    if random.random() < lossless:
        return 0.0
    return float(random.choice(grid, p=weights / weights.sum()))


def _scaled(rate: str, factor: float) -> str:
    """Returns a rate times a factor, at least 1 bit/s."""
    return f"{max(1, round(RATE.parse(rate) * factor))} bit/s"


def _shifted(delay: str, by_ps: float) -> str:
    """Returns a delay plus a time [ps], at least 0."""
    return f"{max(0, round(TIME.parse(delay) + by_ps))} ps"


def _relative_deviation(row: Mapping[str, Any] | None, random: np.random.Generator) -> float:
    """Returns a relative deviation drawn from an estimate's interval; 0 if the estimate has no interval."""
    if not row or row.get("low") is None or row.get("high") is None or not row["value"]:
        return 0.0
    deviation = (row["high"] - row["low"]) / (2 * _NORMAL) / row["value"]
    return float(random.normal(0.0, deviation))
