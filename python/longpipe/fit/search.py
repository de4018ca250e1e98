"""Search for the path and the congestion control whose simulation comes closest to an observed flow.

The path is estimated in closed form (`features`). The search then simulates one candidate per congestion control over
this path, further senders if none of them explains the flow, and AQM disciplines if losses occurred while the queue was
not full.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.errors import RunError, ScenarioError
from longpipe.fit.candidates import Hypothesis, OtherFlow, check_mss
from longpipe.fit.features import PathFeatures, features
from longpipe.fit.managed import chance_of_tail_drop, managed_policies, marked
from longpipe.fit.outages import lost_in
from longpipe.fit.path_fit import MIN_PAYLOAD_SHARE, TAIL_DROP, Candidate, PathFit, control_shares, posterior
from longpipe.fit.sender import may_pace, usual_flight
from longpipe.fit.series import TRACES, FlowSeries, in_distribution, in_losses, observed, over_time, simulated
from longpipe.run import simulate
from longpipe.scenario.base import kinds_that
from longpipe.scenario.congestion import Congestion
from longpipe.system.interrupts import TerminatedError, clear_interruption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from longpipe.fit.observed import ObservedFlow

# Linux 6.1's controls, by longpipe's names; DCTCP is omitted because it needs marks.
CONTROLS: Final = (
    "linux-reno", "cubic", "bic", "bbr", "hybla", "westwood", "htcp", "illinois", "veno", "scalable", "highspeed",
    "vegas",
)  # fmt: skip
# Congestion controls whose behavior depends on random numbers, and AQM disciplines whose behavior does not.
_RANDOM: Final = frozenset(kinds_that(Congestion, lambda model: model.draws))
_EXACT: Final = ("codel", "fq-codel")
# Number of most likely controls for which AQM disciplines are simulated, and their least posterior probability.
_AQM_CONTROLS: Final = 2
_MIN_AQM_PROBABILITY: Final = 0.01
# Number of most likely controls that are simulated with a limit of the data in flight, if none explains the capture.
_LIMITED_CONTROLS: Final = 3
# Distance of the best candidate above which more senders are simulated: with pacing, and with a limit of the data in
# flight.
_MAX_GOOD_DISTANCE: Final = 0.15
# The receiver window limits a flow if it is full after more than this share of the ACKs.
_MIN_WINDOW_FULL: Final = 0.5
# Minimum distance of tail drop as an alternative to AQM. It is simulated with the observed losses, whereas AQM draws
# its own, so that even the correct AQM has a distance of 0.15 (median of 16 captures of Linux).
_ALTERNATIVE_DISTANCE: Final = 0.15
# Seeds of candidates that use random numbers.
_SEEDS: Final = (0, 1, 2)
# Buffer assumed for a queue that never overflowed [packets].
_UNLIMITED_PACKETS: Final = 100_000
# Time of another flow's last segment, as a share of the capture, before which the flow has ended.
_END_SHARE: Final = 0.95


def fit(
    observation: ObservedFlow,
    controls: Sequence[str] = CONTROLS,
    fixed: Mapping[str, object] | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> PathFit:
    """Fits an observation, choosing among `controls`; `fixed` contains known scenario fields by dotted name.

    `progress` is called with the completed fraction, 0 to 1. On Ctrl-C, the search ends with the candidates found so
    far, or raises KeyboardInterrupt if there are none. Raises ScenarioError if a field of `fixed` is invalid, or if no
    scenario can have the flow's MSS.
    """
    check_mss(f"{observation.file}: {observation.flow}", observation.mss)
    path = features(observation)
    target = _Target(observation, path, observed(observation, observation.duration_s), dict(fixed or {}))
    base = _base(observation, path)
    # Candidates that fail are omitted, so an invalid field has to be reported here.
    base.scenario(**target.fixed)
    search = _Search(target, [base.with_(control=control) for control in controls], progress)
    try:
        search.run()
    except KeyboardInterrupt as end:
        if not search.senders or isinstance(end, TerminatedError):
            raise
        clear_interruption()
    return search.result()


@dataclass(frozen=True, eq=False)
class _Target:
    """What simulations are compared with: the observed flow, its path and its series; and known scenario fields."""

    observation: ObservedFlow
    path: PathFeatures
    series: FlowSeries
    fixed: Mapping[str, object]


class _Search:
    """The candidates simulated so far, and the hypotheses to begin with."""

    def __init__(self, target: _Target, hypotheses: list[Hypothesis], progress: Callable[[float], None]) -> None:
        self.senders: list[Candidate] = []
        self.queues: list[Candidate] = []
        self._target, self._hypotheses, self._progress = target, hypotheses, progress
        self._tail_drop_probability = chance_of_tail_drop(target.observation, target.path)
        self._policies = managed_policies(target.observation, target.path) if self._tail_drop_probability < 1 else []
        has_alternative = 0 < self._tail_drop_probability < 1
        aqm_tasks = min(_AQM_CONTROLS, len(hypotheses)) * len(self._policies) + has_alternative
        # Expected number of candidates, and number of those that have been simulated.
        self._expected, self._count = len(hypotheses) + aqm_tasks, 0
        self._is_complete = False
        self._others: tuple[Mapping[str, float], ...] = ()

    def run(self) -> None:
        """Simulates all candidates."""
        hypotheses = self._hypotheses
        if hypotheses and hypotheses[0].others:
            hypotheses, self._others = _with_other_controls(self._target, hypotheses)
        for group in _sender_groups(self._target, hypotheses, self.senders):
            self._simulate_each([_Task(hypothesis, TAIL_DROP) for hypothesis in group], self.senders)
            self.senders[:] = _ordered(self.senders)
        if self._policies:
            self._simulate_each(_queue_tasks(self.senders, self._policies, self._tail_drop_probability), self.queues)
        self._is_complete = True

    def _simulate_each(self, tasks: list[_Task], candidates: list[Candidate]) -> None:
        """Simulates tasks in parallel, and appends their results to `candidates`."""
        self._expected = max(self._expected, self._count + len(tasks))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            futures = [pool.submit(_simulate, self._target, task) for task in tasks]
            try:
                for future in futures:
                    candidates.append(future.result())
                    self._count += 1
                    self._progress(self._count / self._expected)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def result(self) -> PathFit:
        """Returns the fit to the candidates so far. Raises ScenarioError if none of them could be simulated."""
        target = self._target
        senders = _ordered(self.senders)
        if not senders:
            location = f"{target.observation.file}: {target.observation.flow}"
            raise ScenarioError(f"{location}: no candidate could be simulated over the estimated path")
        return PathFit(
            observation=target.observation,
            features=target.path,
            observed=target.series,
            senders=tuple(senders),
            queues=tuple(_ordered(self.queues)),
            left=0 if self._is_complete else max(self._expected - self._count, 0),
            fixed=target.fixed,
            others=self._others,
        )


def _with_other_controls(
    target: _Target, hypotheses: list[Hypothesis]
) -> tuple[list[Hypothesis], tuple[Mapping[str, float], ...]]:
    """Returns the hypotheses with the most likely controls of the flows that share the path, and all probabilities.

    The control of each flow is chosen in turn: first that of the fitted flow, which is only preliminary, then those of
    the others.
    """
    best = hypotheses[0]
    shares: list[Mapping[str, float]] = []
    sharing = _sharing(target.observation, target.path)
    flows = [target.series, *(observed(other, target.observation.duration_s) for other in sharing)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for number, series in enumerate(flows):
            controls = [hypothesis.control for hypothesis in hypotheses] if number == 0 else CONTROLS
            tasks = [_Task(_with_control(best, number, control), TAIL_DROP, flow=number) for control in controls]
            target_of_flow = replace(target, series=series)
            futures = [pool.submit(_simulate, target_of_flow, task) for task in tasks]
            ordered = _ordered([future.result() for future in futures])
            if not ordered:
                continue
            best = ordered[0].hypothesis
            if number:
                weights = {candidate.hypothesis.others[number - 1].control: [candidate.weight] for candidate in ordered}
                shares.append(posterior(weights))
    return [hypothesis.with_(others=best.others) for hypothesis in hypotheses], tuple(shares)


def _with_control(hypothesis: Hypothesis, flow: int, control: str) -> Hypothesis:
    """Returns a hypothesis in which a flow has another control; flow 0 is the fitted one."""
    if flow == 0:
        return hypothesis.with_(control=control)
    senders = list(hypothesis.others)
    senders[flow - 1] = replace(senders[flow - 1], control=control)
    return hypothesis.with_(others=tuple(senders))


def _sharing(observation: ObservedFlow, path: PathFeatures) -> list[ObservedFlow]:
    """Returns the flows that share the queue, without those that sent little."""
    min_bytes = MIN_PAYLOAD_SHARE * float(observation.sent_bytes.sum())
    return [
        other
        for other in observation.shared
        if other.flow in path.shared and float(other.sent_bytes.sum()) >= min_bytes
    ]


def _other(observation: ObservedFlow, other: ObservedFlow) -> OtherFlow:
    """Returns a flow that shares the path, as far as it is known before its control is."""
    has_ended = float(other.sent_s[-1]) < _END_SHARE * observation.duration_s
    size = int(other.ack_delivered[-1]) if has_ended else None
    return OtherFlow("cubic", max(float(other.sent_s[0]), 0.0), size)


def _sender_groups(
    target: _Target, hypotheses: list[Hypothesis], senders: list[Candidate]
) -> Iterator[list[Hypothesis]]:
    """Yields groups of senders to simulate: `hypotheses`, and where these do not explain the capture, others.

    `senders` contains the results of the groups so far, starting with the most likely one.
    """
    yield hypotheses
    observation, fixed = target.observation, target.fixed
    paces = may_pace(observation)
    may_be_paced = "tcp.pacing" not in fixed and (paces or (paces is None and _is_beyond(_MAX_GOOD_DISTANCE, senders)))
    if may_be_paced:
        yield _paced(hypotheses)
    if "tcp.receiver_window" not in fixed and _is_beyond(_MAX_GOOD_DISTANCE, senders):
        limit = max(usual_flight(target.series), observation.mss)
        limited = [
            hypothesis.with_(flight_limit=limit, window_grows=False)
            for hypothesis in _likely(senders, _LIMITED_CONTROLS)
        ]
        unpaced = [hypothesis.with_(paced=False) for hypothesis in limited]
        yield [*(_paced(limited) if may_be_paced else ()), *unpaced]


def _paced(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Returns the hypotheses with pacing, without the controls that use random numbers."""
    return [hypothesis.with_(paced=True) for hypothesis in hypotheses if hypothesis.control not in _RANDOM]


def _queue_tasks(
    senders: Sequence[Candidate], policies: list[tuple[str, dict[str, Any]]], tail_drop_probability: float
) -> list[_Task]:
    """Returns the AQM disciplines to simulate with the most likely senders, and tail drop with the observed losses.

    `tail_drop_probability` is the prior probability of tail drop.
    """
    shares = control_shares(senders)
    first, *less_likely = _likely(senders, _AQM_CONTROLS)
    likely = [first, *(hypothesis for hypothesis in less_likely if shares[hypothesis.control] >= _MIN_AQM_PROBABILITY)]
    tasks = [
        _Task(only_aqm.with_(policy=policy), name, shares[only_aqm.control])
        for name, policy in policies
        for only_aqm in (hypothesis.with_(loss="none", buffer_packets=_UNLIMITED_PACKETS) for hypothesis in likely)
    ]
    if tail_drop_probability > 0:
        prior = tail_drop_probability * shares[first.control]
        tasks.append(_Task(first, TAIL_DROP, prior, is_alternative=True))
    return tasks


def _base(observation: ObservedFlow, path: PathFeatures) -> Hypothesis:
    """Returns the path estimated in closed form, with the losses that were observed while the queue was not full.

    Marked packets are treated as lost, because a sender reduces its window in both cases.
    """
    lost = _arrivals(np.union1d(np.flatnonzero(path.elsewhere), marked(observation)), observation, path)
    is_window_limited = observation.window is not None and observation.window_full > _MIN_WINDOW_FULL
    competing = tuple(_other(observation, other) for other in _sharing(observation, path))
    return Hypothesis(
        rate_bps=path.rate_or_bound_bps,
        base_rtt_s=path.base_rtt_s.value,
        buffer_packets=int(path.buffer.value) if path.buffer is not None else _UNLIMITED_PACKETS,
        policy={"kind": TAIL_DROP},
        # The positions of the losses among the packets of several flows depend on the simulation.
        loss={"kind": "packets", "indices": lost} if lost and not competing else "none",
        control="cubic",
        mss=observation.mss,
        headers=observation.headers,
        timestamps=observation.timestamps,
        duration_s=observation.duration_s,
        initial_window=_initial_window(observation),
        window=observation.window if is_window_limited else None,
        ecn=observation.ecn,
        window_grows=observation.window_grows and not is_window_limited,
        handshake_s=observation.handshake_s,
        idle_s=observation.idle_s,
        steps=tuple((step.at_s, step.rate_bps.value) for step in path.steps),
        others=competing,
        conditioners=(path.jitter.conditioner,) if path.jitter is not None else (),
        outages=tuple(outage for outage in path.outages if outage.fate is not None),
    )


def _arrivals(transmissions: NDArray[np.int64], observation: ObservedFlow, path: PathFeatures) -> tuple[int, ...]:
    """Returns the numbers of transmissions among those that reach the loss model: outages drop packets before it."""
    is_dropped = np.zeros(len(observation.sent_s), bool)
    for outage in path.outages:
        if outage.fate == "drop":
            is_dropped |= (observation.sent_s > outage.begin_s) & (observation.sent_s < outage.end_s)
    earlier = np.append(0, np.cumsum(is_dropped))[transmissions]
    return tuple((transmissions - earlier)[~is_dropped[transmissions]].tolist())


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


def _simulate(target: _Target, task: _Task) -> Candidate:
    """Simulates a hypothesis, with several seeds if it has random numbers; its distance is infinite if this fails."""
    hypothesis, queue = task.hypothesis, task.queue
    # AQM draws its own losses, so that only their distribution can be compared with the observed one.
    by_distribution = queue != TAIL_DROP or task.is_alternative
    is_random = hypothesis.control in _RANDOM or bool(hypothesis.conditioners)
    draws = is_random or (by_distribution and queue not in _EXACT)
    runs, distances, loss_distances = [], [], []
    try:
        scenario = hypothesis.scenario(**{**TRACES, **target.fixed})
        for seed in _SEEDS if draws else _SEEDS[:1]:
            run = simulated(simulate(scenario, seed=seed), target.observation.duration_s, task.flow)
            distance, loss_distance = _distances(target, task, run, by_distribution=by_distribution, draws=draws)
            runs.append(run)
            distances.append(distance)
            loss_distances.append(loss_distance)
    except (RunError, ScenarioError):
        return Candidate(hypothesis, queue, float("inf"), target.series)
    mean_distance = float(np.mean(distances))
    if task.is_alternative:
        mean_distance = max(mean_distance, _ALTERNATIVE_DISTANCE)
    nearest = runs[int(np.argmin(distances))]
    return Candidate(hypothesis, queue, mean_distance, nearest, task.prior, float(np.mean(loss_distances)))


def _distances(
    target: _Target, task: _Task, run: FlowSeries, *, by_distribution: bool, draws: bool
) -> tuple[float, float]:
    """Returns the distance of a simulated flow from the observed one, and the distance in the number of losses.

    The second distance is 0 if the first one contains it, which is the case if distributions are compared. If the
    simulation `draws` random numbers, the smaller one of both kinds of distance counts.
    """
    hypothesis, path = task.hypothesis, target.path
    packet_s = target.observation.packet_bytes * 8 / hypothesis.rate_bps
    distribution = in_distribution(target.series, run, path.base_rtt_s.value, packet_s), 0.0
    if by_distribution:
        return distribution
    # Losses that the hypothesis states by packet number.
    stated = 0 if isinstance(hypothesis.loss, str) else len(hypothesis.loss.get("indices", ()))
    in_outages = int(lost_in(target.observation, path.outages).sum())
    expected_losses = target.series.lost if task.flow else int(path.overflow.sum()) + stated + in_outages
    time = over_time(target.series, run), in_losses(expected_losses, run.lost)
    return min((distribution, time), key=sum) if draws else time


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
