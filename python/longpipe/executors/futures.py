"""Execution by any `concurrent.futures.Executor`, such as threads or MPI."""

import concurrent.futures
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.executors.base import (
    BATCH_S,
    BatchOutcomes,
    ExecutorError,
    Failure,
    Job,
    Outcomes,
    name,
    run_batch,
    run_in_pool,
)
from longpipe.executors.batches import Batches
from longpipe.system.memory import limit_bytes

# Number of tasks submitted at a time to an executor of unknown capacity; otherwise, the number per worker, one of which
# waits.
_ROOM: Final = 256
_TASKS_PER_WORKER: Final = 2


class Futures:
    """Submits up to `workers` tasks at a time to an executor, which stays open.

    The default is two tasks for each of the executor's workers, or 256 if their number is unknown. A task has one run,
    or several short ones.

    Each run may use an equal share, per core, of `memory` ("4 GB"); the default is the memory that its machine has
    available.
    """

    def __init__(
        self, pool: concurrent.futures.Executor, workers: int | None = None, memory: str | None = None
    ) -> None:
        if workers is not None and workers < 1:
            raise ScenarioError(f"workers: {workers}; needs at least 1")
        self._pool = pool
        # Executors have no public attribute for this, but the standard library's, loky's and mpi4py's have this one.
        pool_workers = getattr(pool, "_max_workers", None)
        self.workers = workers or (pool_workers if isinstance(pool_workers, int) else None)
        self._room = workers or (_ROOM if self.workers is None else _TASKS_PER_WORKER * self.workers)
        self._memory = memory
        if memory is not None:
            limit_bytes(memory)

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """See `Executor.run`; raises an ExecutorError that names the affected runs if the executor is broken."""
        tasks = _Tasks(self._pool, Batches(jobs, BATCH_S), self._room, self._memory)
        try:
            tasks.hand_out()
            while tasks.running:
                yield from tasks.ended()
                tasks.hand_out()
        except KeyboardInterrupt:
            yield from tasks.ended(timeout_s=0)
            raise
        finally:
            for future in tasks.running:
                future.cancel()


class _Tasks:
    """Tasks in progress, each with a batch of jobs."""

    def __init__(self, pool: concurrent.futures.Executor, batches: Batches, room: int, memory: str | None) -> None:
        self._pool = pool
        self._batches = batches
        self._room = room
        self._memory = memory
        self.running: dict[Future[BatchOutcomes], list[Job]] = {}

    def hand_out(self) -> None:
        while len(self.running) < self._room and (batch := self._batches.next()):
            try:
                self.running[self._pool.submit(run_batch, run_in_pool, batch, self._memory)] = batch
            except RuntimeError as error:
                raise _broken(error, [*self.running.values(), batch]) from None

    def ended(self, timeout_s: float | None = None) -> Outcomes:
        for future in wait(self.running, timeout_s, FIRST_COMPLETED).done:
            if isinstance(error := future.exception(), BrokenExecutor):
                raise _broken(error, self.running.values())
            batch = self.running.pop(future)
            if error is None:
                outcomes, seconds = future.result()
                self._batches.took(batch, seconds)
            else:
                outcomes = [Failure(str(error))] * len(batch)
            yield list(zip(batch, outcomes, strict=True))


def _broken(error: BaseException, batches: Iterable[list[Job]]) -> ExecutorError:
    named = [name(job) for batch in batches for job in batch]
    names = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    return ExecutorError(f"the executor broke ({error or type(error).__name__}) with these runs in it: {names}")
