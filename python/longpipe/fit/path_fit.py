"""Result of a fit to a captured flow: the simulated candidates, and their posterior probabilities.

A candidate is a hypothesis about the path, the queue and the sender, with the distance of its simulation from the
observed flow. `search` simulates the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.fit.estimate import FitEstimate
from longpipe.fit.series import over_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from longpipe.fit.candidates import Hypothesis
    from longpipe.fit.features import PathFeatures
    from longpipe.fit.observed import ObservedFlow
    from longpipe.fit.policer import FittedPolicer
    from longpipe.fit.series import FlowSeries

TAIL_DROP: Final = "tail-drop"
# Exponent of the distance: the posterior probability is proportional to the distance raised to minus this power, so
# that a candidate at twice the distance is 16 times less likely.
_SHARPNESS: Final = 4.0
# Distance up to which two simulated flows count as equal, as a share of their distance from the observed flow.
_EQUAL_SHARE: Final = 0.25
# Minimum distance that the posterior distinguishes; smaller distances are beyond the accuracy of the models of the
# kernel.
_MIN_DISTANCE: Final = 0.01
# Least payload of a flow that is simulated, as a share of the fitted flow's.
MIN_PAYLOAD_SHARE: Final = 0.02


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hypothesis, the distance of its simulation from the observation, and its prior weight.

    `in_losses` is the distance in the number of losses, where `distance` does not contain it.
    """

    hypothesis: Hypothesis
    queue: str
    distance: float
    series: FlowSeries
    prior: float = 1.0
    in_losses: float = 0.0

    @property
    def weight(self) -> float:
        """Returns the posterior probability up to a constant factor."""
        return float(self.prior * max(self.distance + self.in_losses, _MIN_DISTANCE) ** -_SHARPNESS)


@dataclass(frozen=True, eq=False)
class PathFit:
    """The result of a fit. Candidates are in descending order of probability.

    `senders` contains each control over a tail-drop queue with the observed random losses, more than once if the sender
    may pace or if no control explains the capture without a limit of the data in flight. `queues` contains the AQM
    disciplines with the most likely controls, and tail drop with the most likely control; it is empty if losses do not
    depend on the queue, or if losses occurred at a full queue.
    """

    observation: ObservedFlow
    features: PathFeatures
    # Series of the observed flow with which simulations are compared.
    observed: FlowSeries
    senders: tuple[Candidate, ...]
    queues: tuple[Candidate, ...]
    # Number of candidates that were not simulated because the search was interrupted.
    left: int
    # Dotted scenario fields that were given as known.
    fixed: Mapping[str, object]
    # Posterior probabilities of the controls of each flow that shares the path.
    others: tuple[Mapping[str, float], ...] = ()

    @property
    def best(self) -> Candidate:
        """The most likely candidate; it may use AQM if losses depend on a queue that was not full."""
        queue = next(iter(self.queue_shares()))
        if queue == TAIL_DROP:
            return self.senders[0]
        return next(candidate for candidate in self.queues if candidate.queue == queue)

    def control_shares(self) -> dict[str, float]:
        """Returns the posterior probability of each control, in descending order; empty beside unexplained flows."""
        return {} if self.unexplained else control_shares(self.senders)

    def queue_shares(self) -> dict[str, float]:
        """Returns the posterior probability of each queue discipline.

        All settings of a discipline's parameters have the same prior probability. The order is that of the probability
        of all disciplines with the same simulation, such as CoDel and FQ-CoDel with one flow, which count as one.
        """
        if not self.queues:
            return {TAIL_DROP: 1.0}
        weights_by_setting: dict[str, dict[str, float]] = {}
        for candidate in self.queues:
            weights = weights_by_setting.setdefault(candidate.queue, {})
            setting = repr(sorted(candidate.hypothesis.policy.items()))
            weights[setting] = max(weights.get(setting, 0.0), candidate.weight)
        shares = posterior({queue: list(weights.values()) for queue, weights in weights_by_setting.items()})
        series: dict[str, FlowSeries] = {}
        for candidate in self.queues:
            series.setdefault(candidate.queue, candidate.series)

        def share_of_equal(queue: str) -> float:
            return sum(shares[other] for other in series if over_time(series[queue], series[other]) == 0)

        return {queue: shares[queue] for queue in sorted(shares, key=share_of_equal, reverse=True)}

    @property
    def same_controls(self) -> tuple[str, ...]:
        """Controls that behave like the most likely one over this path."""
        names = dict.fromkeys(candidate.hypothesis.control for candidate in _indistinguishable(self.senders))
        names.pop(self.senders[0].hypothesis.control, None)
        return tuple(names)

    @property
    def same_queues(self) -> tuple[str, ...]:
        """Disciplines that behave like the most likely one over this path."""
        most_likely = self.best.queue
        # Tail drop is simulated with the observed losses, so that it behaves like every AQM that explains these.
        if most_likely == TAIL_DROP:
            return ()
        managed = [candidate for candidate in self.queues if candidate.queue != TAIL_DROP]
        ordered = sorted(managed, key=lambda candidate: candidate.queue != most_likely)
        names = dict.fromkeys(candidate.queue for candidate in _indistinguishable(tuple(ordered)))
        names.pop(most_likely, None)
        return tuple(names)

    @property
    def unexplained(self) -> int:
        """Number of other flows of the sender's host with a considerable payload that are not in the fitted queue."""
        min_bytes = MIN_PAYLOAD_SHARE * float(self.observation.sent_bytes.sum())
        return sum(
            other.flow not in self.features.shared and float(other.sent_bytes.sum()) >= min_bytes
            for other in self.observation.shared
        )

    @property
    def policer(self) -> FittedPolicer | None:
        """The policer that explains the losses; None with AQM, or if there is none."""
        return self.features.policer if self.best.queue == TAIL_DROP else None

    @property
    def is_policed(self) -> bool:
        """Whether a policer explains the losses so well that the scenario has it."""
        return self.policer is not None and self.policer.is_good

    @property
    def random_losses(self) -> int:
        """Number of packets lost outside the queue; 0 with AQM or a policer, because their drops look the same."""
        return int(self.features.elsewhere.sum()) if self.best.queue == TAIL_DROP and not self.is_policed else 0

    @property
    def packets_followed(self) -> int:
        """Number of transmissions that the capture shows to have arrived or been lost, which excludes its last ones."""
        return int((self.observation.sent_lost | ~np.isnan(self.observation.sent_acked_s)).sum())

    @property
    def loss_probability(self) -> FitEstimate:
        """Probability per packet of a loss outside the queue, with its 95 % interval (Poisson)."""
        from scipy.stats import chi2

        count = self.random_losses
        packets = self.packets_followed
        low = float(chi2.ppf(0.025, 2 * count)) / 2 / packets if count else 0.0
        return FitEstimate(count / packets, low, float(chi2.ppf(0.975, 2 * count + 2)) / 2 / packets)


def control_shares(senders: Sequence[Candidate]) -> dict[str, float]:
    """Returns the posterior probability of each control, in descending order."""
    weights: dict[str, list[float]] = {}
    for candidate in senders:
        weights.setdefault(candidate.hypothesis.control, []).append(candidate.weight)
    # A paced sender and a sender with a limit are settings of its control, of which one is true.
    return posterior({control: [max(of_control)] for control, of_control in weights.items()})


def _indistinguishable(candidates: tuple[Candidate, ...]) -> list[Candidate]:
    """Returns the candidates, except the first one, whose simulation cannot be distinguished from the first one's."""
    if not candidates:
        return []
    best = candidates[0]
    max_distance = _EQUAL_SHARE * max(best.distance, _MIN_DISTANCE)
    return [candidate for candidate in candidates[1:] if over_time(best.series, candidate.series) <= max_distance]


def posterior(weights: Mapping[str, list[float]]) -> dict[str, float]:
    """Returns the probability of each name, from the average of its weights, in descending order."""
    means = {name: float(np.mean(of_name)) for name, of_name in weights.items()}
    total = sum(means.values())
    return {name: mean / total for name, mean in sorted(means.items(), key=lambda pair: -pair[1])}
