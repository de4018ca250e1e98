"""Search for the path and the congestion control whose simulation resembles an observed flow."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.errors import RunError, ScenarioError
from longpipe.fit.candidates import Hypothesis
from longpipe.fit.features import Estimate, PathFeatures, features
from longpipe.fit.series import FlowSeries, in_distribution, observed, over_time, simulated
from longpipe.run import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from longpipe.fit.observed import ObservedFlow

# Linux 6.1's controls, by longpipe's names; DCTCP needs marks.
CONTROLS: Final = (
    "linux-reno", "cubic", "bic", "bbr", "hybla", "westwood", "htcp", "illinois", "veno", "scalable", "highspeed",
    "vegas",
)  # fmt: skip
TAIL_DROP: Final = "tail-drop"
# Controls whose behaviour depends on random numbers, and disciplines with AQM whose behaviour does not.
_RANDOM: Final = ("bbr", "bbr3")
_EXACT: Final = ("codel", "fq-codel")
# Number of controls, the likeliest ones, with which the disciplines with AQM are simulated.
_MANAGED_CONTROLS: Final = 2
# The receiver window limits a flow if it is full after at least this share of the ACKs.
_LIMITED: Final = 0.5
# The posterior probability is proportional to the distance to the power of minus this, so that a candidate twice as
# far away is 16 times less likely.
_SHARPNESS: Final = 4.0
# Distance below which two simulated flows are the same, as a share of the distance from the observed one.
_SAME: Final = 0.25
# Least distance that the posterior distinguishes: models of the kernel are not closer to it.
_FLOOR: Final = 0.01
# Random numbers of candidates that need some.
_SEEDS: Final = (0, 1, 2)
# Buffer of a queue that never overflowed [packets].
_ENDLESS: Final = 100_000
# Probability that losses do not depend on the queue, below which a queue with AQM is considered.
_UNRELATED: Final = 1e-3
# Losses from which on their relation to the queue can be tested.
_LEAST_LOSSES: Final = 6
# RED's minimum threshold as shares of the longest queue, and probabilities at the maximum, three times as large.
_RED_SHARES: Final = (0.1, 0.2, 0.3)
_RED_MOST: Final = (0.02, 0.1)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hypothesis with its simulation's distance from the observation, and its posterior probability."""

    hypothesis: Hypothesis
    queue: str
    distance: float
    series: FlowSeries
    probability: float = 0.0


@dataclass(frozen=True, eq=False)
class PathFit:
    """The result. Candidates are in ascending order of distance.

    `senders` has each control over a queue with tail drop, with the observed random losses. `queues` has the
    disciplines with AQM, with the likeliest controls; it is empty where losses do not depend on the queue, or the queue
    was full.
    """

    seen: ObservedFlow
    features: PathFeatures
    observed: FlowSeries
    senders: tuple[Candidate, ...]
    queues: tuple[Candidate, ...]
    # Candidates that were not simulated, because the search was interrupted.
    left: int
    # Dotted scenario fields that were given as known.
    fixed: Mapping[str, object]

    @property
    def best(self) -> Candidate:
        """The closest candidate: with AQM, if losses depend on a queue that was not full."""
        return (self.queues or self.senders)[0]

    def control_shares(self) -> dict[str, float]:
        """Returns the posterior probability of each control, in descending order."""
        return _summed((one.hypothesis.control, one.probability) for one in self.senders)

    def queue_shares(self) -> dict[str, float]:
        """Returns the posterior probability of each queue discipline, in descending order."""
        return _summed((one.queue, one.probability) for one in self.queues) or {TAIL_DROP: 1.0}

    @property
    def same_controls(self) -> tuple[str, ...]:
        """Controls that behave like the likeliest one over this path."""
        return tuple(one.hypothesis.control for one in _alike(self.senders))

    @property
    def same_queues(self) -> tuple[str, ...]:
        """Disciplines that behave like the likeliest one over this path."""
        names = dict.fromkeys(one.queue for one in _alike(self.queues))
        names.pop(self.best.queue, None)
        return tuple(names)

    @property
    def loss_probability(self) -> Estimate:
        """Probability of a loss that is not the queue's, per packet, with its 95 % interval (Poisson)."""
        from scipy.stats import chi2

        count = int(self.features.elsewhere.sum()) if self.best.queue == TAIL_DROP else 0
        sent = len(self.seen.sent_s)
        low = float(chi2.ppf(0.025, 2 * count)) / 2 / sent if count else 0.0
        return Estimate(count / sent, low, float(chi2.ppf(0.975, 2 * count + 2)) / 2 / sent)


def fit(
    seen: ObservedFlow,
    controls: Sequence[str] = CONTROLS,
    fixed: Mapping[str, object] | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> PathFit:
    """Returns the fit of an observation over `controls`; `fixed` has dotted scenario fields that are known.

    On Ctrl-C the search ends with the candidates so far; KeyboardInterrupt is raised if there are none. Raises
    ScenarioError if a field of `fixed` is invalid.
    """
    known = dict(fixed or {})
    found = features(seen)
    series = observed(seen)
    base = _base(seen, found)
    # Candidates that fail are left out, so that an invalid field has to be reported before.
    base.scenario(**known)
    plain = [(base.with_(control=control), TAIL_DROP) for control in controls]
    managed = dict(_managed(seen, found)) if _may_be_managed(found) else {}
    expected = len(plain) + min(_MANAGED_CONTROLS, len(controls)) * sum(map(len, managed.values()))
    done: list[Candidate] = []

    def simulate_each(tasks: list[tuple[Hypothesis, str]]) -> list[Candidate]:
        got: list[Candidate] = []
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            futures = [pool.submit(_simulate, seen, found, series, task, known) for task in tasks]
            try:
                for future in futures:
                    got.append(future.result())
                    done.append(got[-1])
                    progress(len(done) / expected)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return sorted(got, key=lambda one: one.distance)

    queues: list[Candidate] = []
    try:
        senders = simulate_each(plain)
        if managed:
            likely = [one.hypothesis.control for one in senders[:_MANAGED_CONTROLS]]
            queues = simulate_each(
                [
                    (base.with_(control=control, policy=policy, loss="none", buffer_packets=_ENDLESS), name)
                    for name, policies in managed.items()
                    for policy in policies
                    for control in likely
                ]
            )
    except KeyboardInterrupt:
        if not done:
            raise
        senders = sorted((one for one in done if one.queue == TAIL_DROP), key=lambda one: one.distance)
        queues = sorted((one for one in done if one.queue != TAIL_DROP), key=lambda one: one.distance)
    senders, queues = _simulated(senders), _simulated(queues)
    if not senders:
        raise ScenarioError(f"{seen.file}: {seen.flow}: no candidate could be simulated over the estimated path")
    return PathFit(seen, found, series, _weighed(senders), _weighed(queues), expected - len(done), known)


def _base(seen: ObservedFlow, found: PathFeatures) -> Hypothesis:
    """Returns the path of the closed forms, with the losses that were observed without a full queue."""
    lost = tuple(int(place) for place in np.flatnonzero(found.elsewhere))
    limited = seen.window is not None and seen.window_full > _LIMITED
    return Hypothesis(
        rate_bps=found.rate_bps.value if found.rate_bps is not None else found.fastest_bps,
        base_rtt_s=found.base_rtt_s.value,
        buffer_packets=int(found.buffer.value) if found.buffer is not None else _ENDLESS,
        policy={"kind": TAIL_DROP},
        loss={"kind": "packets", "indices": lost} if lost else "none",
        control="cubic",
        mss=seen.mss,
        headers=seen.headers,
        duration_s=seen.duration_s,
        initial_window=_initial_window(seen),
        window=seen.window if limited else None,
        ecn=seen.ecn,
    )


def _may_be_managed(found: PathFeatures) -> bool:
    """Returns whether losses depend on the queue although it was not full: a rank test of their waiting times."""
    from scipy.stats import mannwhitneyu

    known = ~np.isnan(found.wait_s)
    lost, kept = known & found.elsewhere, known & ~found.elsewhere & ~found.overflow
    if lost.sum() < _LEAST_LOSSES or found.overflow.sum() > found.elsewhere.sum():
        return False
    return bool(mannwhitneyu(found.wait_s[lost], found.wait_s[kept], alternative="greater").pvalue < _UNRELATED)


def _managed(seen: ObservedFlow, found: PathFeatures) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    ecn = {"ecn": True} if seen.ecn else {}
    yield "codel", [{"kind": "codel", "arithmetic": "linux", **ecn}]
    yield "fq-codel", [{"kind": "fq-codel", "arithmetic": "linux", "rules": "linux", **ecn}]
    yield "pie", [{"kind": "pie", "rules": "linux", **ecn}]
    minima = [max(2.0, share * found.longest) for share in _RED_SHARES]
    yield (
        "red",
        [
            {"kind": "red", "min": least, "max": 3 * least, "max_p": most, **ecn}
            for least in minima
            for most in _RED_MOST
        ],
    )


def _initial_window(seen: ObservedFlow) -> int:
    """Returns the number of segments sent before the first ACK, 10 where that is implausible (a capture's middle)."""
    count = int(np.searchsorted(seen.sent_s, seen.ack_s[0], side="left"))
    return count if 1 <= count <= 64 else 10


def _simulate(
    seen: ObservedFlow,
    found: PathFeatures,
    series: FlowSeries,
    task: tuple[Hypothesis, str],
    fixed: Mapping[str, object],
) -> Candidate:
    hypothesis, queue = task
    packet_s = seen.packet_bytes * 8 / hypothesis.rate_bps
    managed = queue != TAIL_DROP
    runs, distances = [], []
    try:
        scenario = hypothesis.scenario(**{"traces.sequence": True, "traces.rtt": True, **fixed})
        draws = (managed and queue not in _EXACT) or hypothesis.control in _RANDOM
        for seed in _SEEDS if draws else _SEEDS[:1]:
            run = simulated(simulate(scenario, seed=seed), seen.duration_s)
            apart = over_time(series, run)
            if managed:
                apart = in_distribution(series, run, found.base_rtt_s.value, packet_s)
            elif draws:
                apart = min(apart, in_distribution(series, run, found.base_rtt_s.value, packet_s))
            runs.append(run)
            distances.append(apart)
    except (RunError, ScenarioError):
        return Candidate(hypothesis, queue, float("inf"), series)
    return Candidate(hypothesis, queue, float(np.mean(distances)), runs[int(np.argmin(distances))])


def _simulated(candidates: list[Candidate]) -> list[Candidate]:
    """Returns the candidates whose simulation did not fail."""
    return [one for one in candidates if np.isfinite(one.distance)]


def _weighed(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """Returns candidates in ascending order of distance with their posterior probabilities."""
    weights = np.array([max(one.distance, _FLOOR) ** -_SHARPNESS for one in candidates])
    shares = weights / weights.sum() if len(weights) else weights
    return tuple(replace(one, probability=float(share)) for one, share in zip(candidates, shares, strict=True))


def _alike(candidates: tuple[Candidate, ...]) -> list[Candidate]:
    """Returns the candidates whose simulation is that of the first one, but for a part of its own distance."""
    if not candidates:
        return []
    best = candidates[0]
    near = _SAME * max(best.distance, _FLOOR)
    return [one for one in candidates[1:] if over_time(best.series, one.series) <= near]


def _summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for name, probability in pairs:
        total[name] = total.get(name, 0.0) + probability
    return dict(sorted(total.items(), key=lambda pair: -pair[1]))
