"""Jobs in batches that take about the same time."""

from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from longpipe.design import cost
from longpipe.executors.base import Job

LARGEST: Final = 200

# How much the latest batch counts in what the estimates are out by.
_WEIGHT: Final = 0.3

_cpu_s = lru_cache(maxsize=4096)(cost.cpu_s)


class Batches:
    """Jobs in their order, as many at a time as are done in `target_s` by the estimates of `design.cost`.

    What batches took corrects the estimates. A job that is expected to take longer goes alone.
    """

    def __init__(self, jobs: Iterable[Job], target_s: float) -> None:
        self._jobs = iter(jobs)
        self._target_s = target_s
        self._ratio = 1.0
        self._alone: deque[Job] = deque()
        self._held: Job | None = None

    def next(self) -> list[Job]:
        """The next batch; empty if there is none left."""
        if self._alone:
            return [self._alone.popleft()]
        batch: list[Job] = []
        expected_s = 0.0
        while len(batch) < LARGEST and (job := self._take()) is not None:
            expected_s += self._ratio * _cpu_s(job[0])
            if batch and expected_s > self._target_s:
                self._held = job
                break
            batch.append(job)
        return batch

    def took(self, batch: Iterable[Job], seconds: float) -> None:
        """Corrects the estimates by a batch that has been done."""
        ratio = seconds / sum(_cpu_s(scenario) for scenario, _ in batch)
        self._ratio += _WEIGHT * (ratio - self._ratio)

    def apart(self, batch: Iterable[Job]) -> None:
        """Puts jobs back, each to be a batch of its own."""
        self._alone.extend(batch)

    def _take(self) -> Job | None:
        job, self._held = self._held, None
        return next(self._jobs, None) if job is None else job
