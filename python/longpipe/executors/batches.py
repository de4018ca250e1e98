"""Divides jobs into batches with about equal execution times."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from longpipe.design.cost import estimated_cpu_s
from longpipe.executors.base import Job

LARGEST: Final = 1000

# Weight of the latest batch in the factor that corrects the time estimates.
_WEIGHT: Final = 0.3


class Batches:
    """Splits jobs, in their order, into batches that take about `target_s` according to `design.cost`.

    The durations of finished batches correct the estimates; until one has finished, each job forms a batch, because an
    estimate alone may be wrong by orders of magnitude. A job that is expected to take longer forms a separate batch.
    """

    def __init__(self, jobs: Iterable[Job], target_s: float) -> None:
        self._jobs = iter(jobs)
        self._target_s = target_s
        self._ratio: float | None = None
        self._alone: deque[Job] = deque()
        self._held: Job | None = None

    def next(self) -> list[Job]:
        """Returns the next batch; an empty batch if no job is left."""
        if self._alone:
            return [self._alone.popleft()]
        batch: list[Job] = []
        expected_s = 0.0
        largest = 1 if self._ratio is None else LARGEST
        while len(batch) < largest and (job := self._next_job()) is not None:
            expected_s += (self._ratio or 0.0) * estimated_cpu_s(job[0])
            if batch and expected_s > self._target_s:
                self._held = job
                break
            batch.append(job)
        return batch

    def took(self, batch: Iterable[Job], seconds: float) -> None:
        """Corrects the estimates by the measured time of a batch."""
        ratio = seconds / sum(estimated_cpu_s(scenario) for scenario, _ in batch)
        self._ratio = ratio if self._ratio is None else self._ratio + _WEIGHT * (ratio - self._ratio)

    def apart(self, batch: Iterable[Job]) -> None:
        """Returns jobs to the queue, each as a separate batch."""
        self._alone.extend(batch)

    def _next_job(self) -> Job | None:
        job, self._held = self._held, None
        return next(self._jobs, None) if job is None else job
