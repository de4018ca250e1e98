"""Execution by any `concurrent.futures.Executor`, such as threads or MPI."""

import concurrent.futures
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.executors.base import ExecutorError, Failure, Job, Outcome, Outcomes, name, run_in_pool
from longpipe.system.memory import limit_bytes

# Number of runs submitted at a time, because an executor does not report its capacity.
_ROOM: Final = 256


class Futures:
    """Submits up to `workers` runs (default 256) at a time to an executor, which stays open.

    Each run may use an equal share, per core, of `memory` ("4 GB"); the default is the memory that its machine has
    available.
    """

    def __init__(
        self, pool: concurrent.futures.Executor, workers: int | None = None, memory: str | None = None
    ) -> None:
        if workers is not None and workers < 1:
            raise ScenarioError(f"workers: {workers}; needs at least 1")
        self._pool = pool
        self._room = workers or _ROOM
        self._memory = memory
        if memory is not None:
            limit_bytes(memory)

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """See `Executor.run`; raises an ExecutorError that names the affected runs if the executor is broken."""
        waiting = iter(jobs)
        running: dict[Future[Outcome], Job] = {}

        def hand_out() -> None:
            while len(running) < self._room and (job := next(waiting, None)) is not None:
                try:
                    running[self._pool.submit(run_in_pool, job, self._memory)] = job
                except RuntimeError as error:
                    raise _broken(error, [*running.values(), job]) from None

        def ended(timeout_s: float | None = None) -> Iterator[tuple[Job, Outcome]]:
            for future in wait(running, timeout_s, FIRST_COMPLETED).done:
                if isinstance(error := future.exception(), BrokenExecutor):
                    raise _broken(error, running.values())
                yield running.pop(future), future.result() if error is None else Failure(str(error))

        try:
            hand_out()
            while running:
                yield from ended()
                hand_out()
        except KeyboardInterrupt:
            yield from ended(timeout_s=0)
            raise
        finally:
            for future in running:
                future.cancel()


def _broken(error: BaseException, jobs: Iterable[Job]) -> ExecutorError:
    named = [name(job) for job in jobs]
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    return ExecutorError(f"the executor broke ({error or type(error).__name__}) with these runs in it: {shown}")
