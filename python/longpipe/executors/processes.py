"""Worker processes on this machine."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from queue import SimpleQueue
from typing import Final

from longpipe.errors import ScenarioError, check_kind
from longpipe.executors.base import BATCH_S, ExecutorError, Failure, Job, Outcome, Outcomes, run_batch, run_job
from longpipe.executors.batches import Batches
from longpipe.system.memory import cores, limit_bytes, share

# Maximum number of attempts at a run whose worker dies, and at starting a worker that dies before its first run.
TRIES: Final = 3

_LEAVE_S: Final = 5.0


class Processes:
    """`workers` processes (default: one per core), each with one run at a time; `memory` ("4 GB") limits all of them.

    Short runs are given to a worker in batches. The default of the memory is four fifths of what is available when the
    first run begins.
    """

    def __init__(self, workers: int | None = None, memory: str | None = None) -> None:
        if workers is not None:
            check_kind("workers", workers, int, "a whole number")
            if workers < 1:
                raise ScenarioError(f"workers: {workers}; needs at least 1")
        self.workers = workers or cores()
        self._memory = memory
        if memory is not None:
            limit_bytes(memory)

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """See `Executor.run`; a run whose worker dies is tried up to three times."""
        pool = _Pool(self.workers, jobs, share(self._memory, self.workers))
        try:
            pool.hand_out()
            while pool.busy:
                yield from pool.ended()
                pool.hand_out()
        except KeyboardInterrupt:
            pool.stop()
            yield from pool.ended(timeout_s=0)
            raise
        finally:
            pool.close()


@dataclass(frozen=True)
class _Task:
    jobs: list[Job]
    attempt: int = 1


class _Pool:
    def __init__(self, workers: int, jobs: Iterable[Job], memory: str) -> None:
        self._workers = workers
        self._memory = memory
        self._batches = Batches(jobs, BATCH_S)
        self._again: deque[_Task] = deque()
        self._idle: list[_Worker] = []
        self._deaths_at_start = 0
        # Keyed by connection, because `wait` takes and returns connections.
        self.busy: dict[object, _Worker] = {}

    def hand_out(self) -> None:
        """Gives a task to every idle worker while jobs are left."""
        while len(self.busy) < self._workers and (task := self._next()) is not None:
            worker = self._idle.pop() if self._idle else _Worker()
            self.busy[worker.connection] = worker
            worker.begin(task, self._memory)

    def ended(self, timeout_s: float | None = None) -> Outcomes:
        """Waits for results and yields the jobs that have ended, in groups."""
        for connection in wait([worker.connection for worker in self.busy.values()], timeout_s):
            worker = self.busy[connection]
            jobs, outcomes = worker.task.jobs, list[Outcome]()
            try:
                ran = worker.connection.recv()
                worker.ready = True
            except (EOFError, OSError):
                outcomes = self._died(worker)
            else:
                if ran is not None:
                    outcomes, seconds = ran
                    self._batches.took(jobs, seconds)
                    del self.busy[connection]
                    self._idle.append(worker)
            if outcomes:
                # The worker's next task starts before the caller processes this result.
                self.hand_out()
                yield list(zip(jobs, outcomes, strict=True))

    def stop(self) -> None:
        """Distributes no more jobs."""
        self._batches = Batches((), BATCH_S)
        self._again.clear()

    def close(self) -> None:
        """Terminates all workers immediately."""
        workers = (*self._idle, *self.busy.values())
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            worker.end()

    def _next(self) -> _Task | None:
        if self._again:
            return self._again.popleft()
        jobs = self._batches.next()
        return _Task(jobs) if jobs else None

    def _died(self, worker: "_Worker") -> list[Outcome]:
        """Arranges for the runs of a worker that has died to be repeated; returns the outcome of one that is not."""
        del self.busy[worker.connection]
        worker.connection.close()
        worker.end()
        task = worker.task
        if not worker.ready:
            self._deaths_at_start += 1
            if self._deaths_at_start == TRIES:
                raise ExecutorError(
                    f"{TRIES} worker processes died before their first run, the last one {worker.death()}"
                )
            self._again.append(task)
        elif len(task.jobs) > 1:
            # One of these runs may kill its worker, so each becomes a task.
            self._batches.apart(task.jobs)
        elif task.attempt < TRIES:
            self._again.append(_Task(task.jobs, task.attempt + 1))
        else:
            return [Failure(f"its worker process died {TRIES} times, the last one {worker.death()}")]
        return []


class _Worker:
    """The parent's side of a worker process. The worker's first answer is None, which means that it is ready."""

    def __init__(self) -> None:
        start = context()
        self.connection, worker_end = start.Pipe()
        self._process = start.Process(target=_serve, args=(worker_end,), daemon=True)
        # Starting multiprocessing's tracker re-enables Ctrl-C, so it is started before the critical section.
        resource_tracker.ensure_running()
        with starting():
            self._process.start()
        worker_end.close()
        self.ready = False
        self.task: _Task

    def begin(self, task: _Task, memory: str) -> None:
        self.task = task
        # A dead worker is detected when the parent waits for its answer.
        with suppress(OSError):
            self.connection.send((task.jobs, memory))

    def end(self) -> None:
        """Closes the connection and waits for the process to exit."""
        self._process.join(_LEAVE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def death(self) -> str:
        """Returns a description of how the process ended: by a signal, or with an exit status."""
        status = self._process.exitcode or 0
        if status >= 0:
            return f"with exit status {status}"
        name = signal.Signals(-status).name
        return f"by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _serve(parent: Connection) -> None:
    """Executes runs for the parent. Exits, even during a run, when the parent closes the connection."""
    tasks: SimpleQueue[tuple[list[Job], str]] = SimpleQueue()

    def receive() -> None:
        try:
            while True:
                tasks.put(parent.recv())
        finally:
            # The parent is gone, or its message cannot be read.
            os._exit(1)

    with suppress(OSError):
        parent.send(None)
        threading.Thread(target=receive, daemon=True).start()
        while True:
            parent.send(run_batch(run_job, *tasks.get()))


def context() -> ForkServerContext | SpawnContext:
    """Returns the start method of worker processes, which, unlike fork, is safe in a process with threads."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    fork_server = multiprocessing.get_context("forkserver")
    # Loading the modules that a run needs takes a quarter of a second.
    fork_server.set_forkserver_preload(["longpipe.executors.preloaded"])
    return fork_server


@contextmanager
def starting() -> Iterator[None]:
    """Context manager within which new processes ignore Ctrl-C and do not import the parent's script."""
    with _without_interrupts(), _without_main():
        yield


@contextmanager
def _without_main() -> Iterator[None]:
    """Hides the main module's origin, so that multiprocessing does not import it in new processes."""
    main = sys.modules["__main__"]
    hidden: dict[str, object] = {name: vars(main)[name] for name in ("__spec__", "__file__") if name in vars(main)}
    vars(main).update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        vars(main).update(hidden)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
