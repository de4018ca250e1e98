"""Search for the path and the congestion control whose simulation comes closest to an observed flow."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.errors import RunError, ScenarioError
from longpipe.fit.candidates import Hypothesis, OtherFlow, check_mss
from longpipe.fit.estimate import FitEstimate
from longpipe.fit.features import PathFeatures, features
from longpipe.fit.managed import chance_of_tail_drop, managed_policies, marked
from longpipe.fit.policer import FittedPolicer
from longpipe.fit.sender import may_pace, usual_flight
from longpipe.fit.series import TRACES, FlowSeries, in_distribution, in_losses, observed, over_time, simulated
from longpipe.run import simulate
from longpipe.scenario.base import kinds_that
from longpipe.scenario.congestion import Congestion
from longpipe.system.interrupts import TerminatedError, clear_interruption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from longpipe.fit.observed import ObservedFlow

# Linux 6.1's controls, by longpipe's names; DCTCP is omitted because it needs marks.
CONTROLS: Final = (
    "linux-reno", "cubic", "bic", "bbr", "hybla", "westwood", "htcp", "illinois", "veno", "scalable", "highspeed",
    "vegas",
)  # fmt: skip
TAIL_DROP: Final = "tail-drop"
# Congestion controls whose behaviour depends on random numbers, and AQM disciplines whose behaviour does not.
_RANDOM: Final = frozenset(kinds_that(Congestion, lambda model: model.draws))
_EXACT: Final = ("codel", "fq-codel")
# Number of most likely controls for which AQM disciplines are simulated, and their least posterior probability.
_MANAGED_CONTROLS: Final = 2
_MIN_MANAGED: Final = 0.01
# Number of most likely controls that are simulated with a limit of the data in flight, if none explains the capture.
_LIMITED_CONTROLS: Final = 3
# Distance of the best candidate above which more senders are simulated: with pacing, and with a limit of the data in
# flight.
_FAR: Final = 0.15
# The receiver window limits a flow if it is full after more than this share of the ACKs.
_LIMITED: Final = 0.5
# Exponent of the distance: the posterior probability is proportional to the distance raised to minus this power, so
# that a candidate at twice the distance is 16 times less likely.
_SHARPNESS: Final = 4.0
# Distance up to which two simulated flows count as equal, as a share of their distance from the observed flow.
_SAME: Final = 0.25
# Minimum distance that the posterior distinguishes; smaller distances are beyond the accuracy of the models of the
# kernel.
_FLOOR: Final = 0.01
# Minimum distance of tail drop as an alternative to AQM. It is simulated with the observed losses, whereas AQM draws
# its own, so that even the correct AQM has a distance of .15 (median of 16 captures of Linux).
_OWN_LOSSES: Final = 0.15
# Seeds of candidates that use random numbers.
_SEEDS: Final = (0, 1, 2)
# Buffer assumed for a queue that never overflowed [packets].
_ENDLESS: Final = 100_000
# Least payload of a flow that is simulated, as a share of the fitted flow's, and time of its last segment, as a share
# of the capture, before which it has ended.
_MIN_SHARE: Final = 0.02
_ENDS: Final = 0.95


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
        return float(self.prior * max(self.distance + self.in_losses, _FLOOR) ** -_SHARPNESS)


@dataclass(frozen=True, eq=False)
class PathFit:
    """The result of a fit. Candidates are in descending order of probability.

    `senders` contains each control over a tail-drop queue with the observed random losses, more than once if the sender
    may pace or if no control explains the capture without a limit of the data in flight. `queues` contains the AQM
    disciplines with the most likely controls, and tail drop with the most likely control; it is empty if losses do not
    depend on the queue, or if losses occurred at a full queue.
    """

    seen: ObservedFlow
    features: PathFeatures
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
        name = next(iter(self.queue_shares()))
        return (
            self.senders[0]
            if name == TAIL_DROP
            else next(candidate for candidate in self.queues if candidate.queue == name)
        )

    def control_shares(self) -> dict[str, float]:
        """Returns the posterior probability of each control, in descending order; empty beside unexplained flows."""
        return {} if self.unexplained else _control_shares(self.senders)

    def queue_shares(self) -> dict[str, float]:
        """Returns the posterior probability of each queue discipline.

        All settings of a discipline's parameters have the same prior probability. The order is that of the probability
        of all disciplines with the same simulation, such as CoDel and FQ-CoDel with one flow, which count as one.
        """
        settings: dict[str, dict[str, float]] = {}
        for candidate in self.queues:
            weights = settings.setdefault(candidate.queue, {})
            key = repr(sorted(candidate.hypothesis.policy.items()))
            weights[key] = max(weights.get(key, 0.0), candidate.weight)
        shares = _shares({name: list(weights.values()) for name, weights in settings.items()}) or {TAIL_DROP: 1.0}
        best: dict[str, FlowSeries] = {}
        for candidate in self.queues:
            best.setdefault(candidate.queue, candidate.series)

        def of_alike(name: str) -> float:
            return sum(shares[other] for other in best if over_time(best[name], best[other]) == 0)

        return {name: shares[name] for name in sorted(shares, key=of_alike, reverse=True)} if best else shares

    @property
    def same_controls(self) -> tuple[str, ...]:
        """Controls that behave like the most likely one over this path."""
        names = dict.fromkeys(candidate.hypothesis.control for candidate in _alike(self.senders))
        names.pop(self.senders[0].hypothesis.control, None)
        return tuple(names)

    @property
    def same_queues(self) -> tuple[str, ...]:
        """Disciplines that behave like the most likely one over this path."""
        likeliest = self.best.queue
        # Tail drop is simulated with the observed losses, so that it behaves like every AQM that explains these.
        managed = [candidate for candidate in self.queues if candidate.queue != TAIL_DROP]
        ordered = sorted(managed, key=lambda candidate: candidate.queue != likeliest)
        names = dict.fromkeys(candidate.queue for candidate in _alike(tuple(ordered)) if likeliest != TAIL_DROP)
        names.pop(likeliest, None)
        return tuple(names)

    @property
    def unexplained(self) -> int:
        """Number of other flows of the sender's host with a considerable payload that are not in the fitted queue."""
        least = _MIN_SHARE * float(self.seen.sent_bytes.sum())
        return sum(
            other.flow not in self.features.shared and float(other.sent_bytes.sum()) >= least
            for other in self.seen.shared
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
        return int((self.seen.sent_lost | ~np.isnan(self.seen.sent_acked_s)).sum())

    @property
    def loss_probability(self) -> FitEstimate:
        """Probability per packet of a loss outside the queue, with its 95 % interval (Poisson)."""
        from scipy.stats import chi2

        count = self.random_losses
        packets = self.packets_followed
        low = float(chi2.ppf(0.025, 2 * count)) / 2 / packets if count else 0.0
        return FitEstimate(count / packets, low, float(chi2.ppf(0.975, 2 * count + 2)) / 2 / packets)


def fit(
    seen: ObservedFlow,
    controls: Sequence[str] = CONTROLS,
    fixed: Mapping[str, object] | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> PathFit:
    """Fits an observation, choosing among `controls`; `fixed` contains known scenario fields by dotted name.

    On Ctrl-C, the search ends with the candidates found so far, or raises KeyboardInterrupt if there are none. Raises
    ScenarioError if a field of `fixed` is invalid, or if no scenario can have the flow's MSS.
    """
    check_mss(f"{seen.file}: {seen.flow}", seen.mss)
    known = dict(fixed or {})
    path = features(seen)
    series = observed(seen, seen.duration_s)
    base = _base(seen, path)
    # Candidates that fail are omitted, so an invalid field has to be reported here.
    base.scenario(**known)
    chance = chance_of_tail_drop(seen, path)
    policies = managed_policies(seen, path) if chance < 1 else []
    hypotheses = [base.with_(control=control) for control in controls]
    expected = len(hypotheses) + min(_MANAGED_CONTROLS, len(controls)) * len(policies) + bool(0 < chance < 1)
    count = left = 0
    senders: list[Candidate] = []
    queues: list[Candidate] = []

    def simulate_each(tasks: list[_Task], done: list[Candidate]) -> None:
        nonlocal count, expected
        expected = max(expected, count + len(tasks))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            futures = [pool.submit(_simulate, seen, path, series, task, known) for task in tasks]
            try:
                for future in futures:
                    done.append(future.result())
                    count += 1
                    progress(count / expected)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    others: tuple[Mapping[str, float], ...] = ()
    try:
        if base.others:
            hypotheses, others = _with_other_controls(seen, path, series, hypotheses, known)
        for group in _sender_groups(seen, series, hypotheses, senders, known):
            simulate_each([_Task(hypothesis, TAIL_DROP) for hypothesis in group], senders)
            senders[:] = _ordered(senders)
        if policies:
            simulate_each(_queue_tasks(senders, policies, chance), queues)
    except KeyboardInterrupt as end:
        if not senders or isinstance(end, TerminatedError):
            raise
        clear_interruption()
        left = max(expected - count, 0)
    senders, queues = _ordered(senders), _ordered(queues)
    if not senders:
        raise ScenarioError(f"{seen.file}: {seen.flow}: no candidate could be simulated over the estimated path")
    return PathFit(seen, path, series, tuple(senders), tuple(queues), left, known, others)


def _with_other_controls(
    observation: ObservedFlow,
    path: PathFeatures,
    series: FlowSeries,
    hypotheses: list[Hypothesis],
    fixed: Mapping[str, object],
) -> tuple[list[Hypothesis], tuple[Mapping[str, float], ...]]:
    """Returns the hypotheses with the most likely controls of the flows that share the path, and all probabilities.

    The control of each flow is chosen in turn: first that of the fitted flow, which is only preliminary, then those of
    the others.
    """
    best = hypotheses[0]
    shares: list[Mapping[str, float]] = []
    flows = [series, *(observed(other, observation.duration_s) for other in _sharing(observation, path))]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for number, own in enumerate(flows):
            controls = [hypothesis.control for hypothesis in hypotheses] if number == 0 else CONTROLS
            tried = [_with_control(best, number, control) for control in controls]
            tasks = [_Task(hypothesis, TAIL_DROP, flow=number) for hypothesis in tried]
            futures = [pool.submit(_simulate, observation, path, own, task, fixed) for task in tasks]
            ordered = _ordered([future.result() for future in futures])
            if not ordered:
                continue
            best = ordered[0].hypothesis
            if number:
                weights = {candidate.hypothesis.others[number - 1].control: [candidate.weight] for candidate in ordered}
                shares.append(_shares(weights))
    return [hypothesis.with_(others=best.others) for hypothesis in hypotheses], tuple(shares)


def _with_control(hypothesis: Hypothesis, flow: int, control: str) -> Hypothesis:
    """Returns a hypothesis in which a flow has another control; flow 0 is the fitted one."""
    if flow == 0:
        return hypothesis.with_(control=control)
    others = list(hypothesis.others)
    others[flow - 1] = replace(others[flow - 1], control=control)
    return hypothesis.with_(others=tuple(others))


def _sharing(observation: ObservedFlow, path: PathFeatures) -> list[ObservedFlow]:
    """Returns the flows that share the queue, without those that sent little."""
    least = _MIN_SHARE * float(observation.sent_bytes.sum())
    return [
        other for other in observation.shared if other.flow in path.shared and float(other.sent_bytes.sum()) >= least
    ]


def _other(observation: ObservedFlow, other: ObservedFlow) -> OtherFlow:
    """Returns a flow that shares the path, as far as it is known before its control is."""
    ends = float(other.sent_s[-1]) < _ENDS * observation.duration_s
    size = int(other.ack_delivered[-1]) if ends else None
    return OtherFlow("cubic", max(float(other.sent_s[0]), 0.0), size)


def _sender_groups(
    observation: ObservedFlow,
    series: FlowSeries,
    hypotheses: list[Hypothesis],
    senders: list[Candidate],
    fixed: Mapping[str, object],
) -> Iterator[list[Hypothesis]]:
    """Yields groups of senders to simulate: `hypotheses`, and where these do not explain the capture, others.

    `senders` contains the results of the groups so far, starting with the most likely one.
    """
    yield hypotheses
    paces = may_pace(observation)
    may_be_paced = "tcp.pacing" not in fixed and (paces or (paces is None and _is_beyond(_FAR, senders)))
    if may_be_paced:
        yield [hypothesis.with_(paced=True) for hypothesis in hypotheses if hypothesis.control not in _RANDOM]
    if "tcp.receiver_window" not in fixed and _is_beyond(_FAR, senders):
        limit = max(usual_flight(series), observation.mss)
        likely = [
            hypothesis.with_(flight_limit=limit, window_grows=False)
            for hypothesis in _likely(senders, _LIMITED_CONTROLS)
        ]
        paced = [
            hypothesis.with_(paced=True) for hypothesis in likely if may_be_paced and hypothesis.control not in _RANDOM
        ]
        yield [*paced, *(hypothesis.with_(paced=False) for hypothesis in likely)]


def _queue_tasks(
    senders: Sequence[Candidate], policies: list[tuple[str, dict[str, Any]]], chance: float
) -> list[_Task]:
    """Returns the AQM disciplines to simulate with the most likely senders, and tail drop with the observed losses."""
    shares = _control_shares(senders)
    first, *others = _likely(senders, _MANAGED_CONTROLS)
    likely = [first, *(hypothesis for hypothesis in others if shares[hypothesis.control] >= _MIN_MANAGED)]
    tasks = [
        _Task(hypothesis.with_(policy=policy, loss="none", buffer_packets=_ENDLESS), name, shares[hypothesis.control])
        for name, policy in policies
        for hypothesis in likely
    ]
    if chance > 0:
        tasks.append(_Task(first, TAIL_DROP, chance * shares[first.control], is_alternative=True))
    return tasks


def _base(observation: ObservedFlow, path: PathFeatures) -> Hypothesis:
    """Returns the path estimated in closed form, with the losses that were observed while the queue was not full.

    Marked packets are treated as lost, because a sender reduces its window in both cases.
    """
    places = np.union1d(np.flatnonzero(path.elsewhere), marked(observation))
    lost = tuple(int(place) for place in places)
    limited = observation.window is not None and observation.window_full > _LIMITED
    others = tuple(_other(observation, other) for other in _sharing(observation, path))
    return Hypothesis(
        rate_bps=path.rate_or_bound_bps,
        base_rtt_s=path.base_rtt_s.value,
        buffer_packets=int(path.buffer.value) if path.buffer is not None else _ENDLESS,
        policy={"kind": TAIL_DROP},
        # The positions of the losses among the packets of several flows depend on the simulation.
        loss={"kind": "packets", "indices": lost} if lost and not others else "none",
        control="cubic",
        mss=observation.mss,
        headers=observation.headers,
        timestamps=observation.timestamps,
        duration_s=observation.duration_s,
        initial_window=_initial_window(observation),
        window=observation.window if limited else None,
        ecn=observation.ecn,
        window_grows=observation.window_grows and not limited,
        handshake_s=observation.handshake_s,
        idle_s=observation.idle_s,
        steps=tuple((step.at_s, step.rate_bps.value) for step in path.steps),
        others=others,
        conditioners=(path.jitter.conditioner,) if path.jitter is not None else (),
    )


def _initial_window(observation: ObservedFlow) -> int:
    """Returns the number of segments sent before the first ACK; 10 if that is implausible (incomplete capture)."""
    count = int(np.searchsorted(observation.sent_s, observation.ack_s[0], side="left"))
    return count if 1 <= count <= 64 else 10


@dataclass(frozen=True, eq=False)
class _Task:
    """A hypothesis to simulate, and its prior weight. `is_alternative` marks tail drop as an alternative to AQM.

    `flow` is the number of the flow that is compared with the observation.
    """

    hypothesis: Hypothesis
    queue: str
    prior: float = 1.0
    is_alternative: bool = False
    flow: int = 0


def _simulate(
    observation: ObservedFlow, path: PathFeatures, series: FlowSeries, task: _Task, fixed: Mapping[str, object]
) -> Candidate:
    """Simulates a hypothesis, with several seeds if it has random numbers."""
    hypothesis, queue = task.hypothesis, task.queue
    packet_s = observation.packet_bytes * 8 / hypothesis.rate_bps
    by_distribution = queue != TAIL_DROP or task.is_alternative
    # Losses that the hypothesis states by packet number.
    given = 0 if isinstance(hypothesis.loss, str) else len(hypothesis.loss.get("indices", ()))
    lost = series.lost if task.flow else int(path.overflow.sum()) + given
    runs, distances, of_losses = [], [], []
    try:
        scenario = hypothesis.scenario(**{**TRACES, **fixed})
        is_random = hypothesis.control in _RANDOM or bool(hypothesis.conditioners)
        draws = is_random or (by_distribution and queue not in _EXACT)
        for seed in _SEEDS if draws else _SEEDS[:1]:
            run = simulated(simulate(scenario, seed=seed), observation.duration_s, task.flow)
            apart, losses = in_distribution(series, run, path.base_rtt_s.value, packet_s), 0.0
            if not by_distribution:
                in_time = over_time(series, run), in_losses(lost, run.lost)
                apart, losses = min((apart, losses), in_time, key=sum) if draws else in_time
            runs.append(run)
            distances.append(apart)
            of_losses.append(losses)
    except (RunError, ScenarioError):
        return Candidate(hypothesis, queue, float("inf"), series)
    distance = float(np.mean(distances))
    if task.is_alternative:
        distance = max(distance, _OWN_LOSSES)
    nearest = runs[int(np.argmin(distances))]
    return Candidate(hypothesis, queue, distance, nearest, task.prior, float(np.mean(of_losses)))


def _ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Returns the candidates whose simulation did not fail, starting with the most likely one."""
    return sorted(
        (candidate for candidate in candidates if np.isfinite(candidate.distance)),
        key=lambda candidate: -candidate.weight,
    )


def _is_beyond(distance: float, ordered: list[Candidate]) -> bool:
    """Returns whether the best candidate is farther from the observation than a distance."""
    return bool(ordered) and ordered[0].distance > distance


def _likely(ordered: Sequence[Candidate], count: int) -> list[Hypothesis]:
    """Returns the best hypothesis of each of the `count` most likely controls."""
    hypotheses: dict[str, Hypothesis] = {}
    for candidate in ordered:
        hypotheses.setdefault(candidate.hypothesis.control, candidate.hypothesis)
    return list(hypotheses.values())[:count]


def _control_shares(senders: Sequence[Candidate]) -> dict[str, float]:
    """Returns the posterior probability of each control, in descending order."""
    weights: dict[str, list[float]] = {}
    for candidate in senders:
        weights.setdefault(candidate.hypothesis.control, []).append(candidate.weight)
    # A paced sender and a sender with a limit are settings of its control, of which one is true.
    return _shares({control: [max(of_control)] for control, of_control in weights.items()})


def _alike(candidates: tuple[Candidate, ...]) -> list[Candidate]:
    """Returns the other candidates whose simulation cannot be distinguished from that of the first one."""
    if not candidates:
        return []
    best = candidates[0]
    near = _SAME * max(best.distance, _FLOOR)
    return [candidate for candidate in candidates[1:] if over_time(best.series, candidate.series) <= near]


def _shares(weights: Mapping[str, list[float]]) -> dict[str, float]:
    """Returns the probability of each name, from the average of its weights, in descending order."""
    means = {name: float(np.mean(of_name)) for name, of_name in weights.items()}
    total = sum(means.values())
    return {name: mean / total for name, mean in sorted(means.items(), key=lambda pair: -pair[1])}
