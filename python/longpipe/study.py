"""Many runs on all cores, none of them ever done twice or lost."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing.connection import Connection

from longpipe.result import Result
from longpipe.run import simulate
from longpipe.scenario import Scenario
from longpipe.store import Store, digest_of, pack

Job = tuple[Scenario, int]


class StudyError(RuntimeError):
    """Runs that failed, each named with its seed; all others are in the store."""


def run_study(
    jobs: Iterable[Job],
    store: Store | None = None,
    *,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> list[Result]:
    """Results of all (scenario, seed) pairs, in their order and without traces; see `complete_study`."""
    if store is None:
        with closing(Store()) as store:
            return run_study(jobs, store, workers=workers, fresh=fresh, progress=progress)
    jobs = list(jobs)
    complete_study(jobs, store, workers=workers, fresh=fresh, progress=progress)
    return [store.require(scenario, seed) for scenario, seed in jobs]


def complete_study(
    jobs: Iterable[Job],
    store: Store,
    *,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Runs every (scenario, seed) that the store lacks, or with `fresh` every one, in `workers` processes (all cores).

    Each run is stored as it finishes: after a kill, a Ctrl-C, a full disk or a crash, the same call goes on from
    there. `progress` gets the fraction of runs done [0, 1]. Raises StudyError for runs that failed, after all others
    have been run, or at once if a worker process died; StoreError as soon as nothing more can be stored.
    """
    wanted = list({(digest_of(scenario), seed): (scenario, seed) for scenario, seed in jobs}.values())
    missing = [job for job in wanted if fresh or not store.has(*job)]
    if not missing:
        return
    workers = min(workers or _cores(), len(missing))
    # Unlike fork, safe beside threads; the same start method on every platform that has it.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    with ProcessPoolExecutor(workers, context, _follow_parent, (theirs,)) as pool:
        running = _Running(pool, store, lambda ended: progress(1 - (len(missing) - ended) / len(wanted)))
        try:
            for job in missing:
                # No more jobs than workers are handed out, so that a crash can be traced to one of few.
                running.save_until_fewer_than(workers)
                running.add(job)
            running.save_until_fewer_than(1)
            pool.shutdown()
        except KeyboardInterrupt:
            running.save_done()
            raise
        finally:
            ours.close()
    if running.failures:
        raise StudyError("\n".join(running.failures))


class _Running:
    """Jobs handed to the workers; those that end are saved, or noted as failures."""

    def __init__(self, pool: ProcessPoolExecutor, store: Store, progress: Callable[[int], None]) -> None:
        self._pool = pool
        self._store = store
        self._progress = progress
        self._jobs: dict[Future[str], Job] = {}
        self._ended = 0
        self.failures: list[str] = []

    def add(self, job: Job) -> None:
        try:
            self._jobs[self._pool.submit(_run, *job)] = job
        except BrokenProcessPool:
            raise _crash([*self._jobs.values(), job]) from None

    def save_until_fewer_than(self, limit: int) -> None:
        while len(self._jobs) >= limit:
            wait(self._jobs, return_when=FIRST_COMPLETED)
            self.save_done()

    def save_done(self) -> None:
        crashed = False
        for future in [future for future in self._jobs if future.done() and not future.cancelled()]:
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                crashed = True
                continue
            if error is None:
                self._store.save(*self._jobs[future], future.result())
            else:
                self.failures.append(f"{_name(*self._jobs[future])}: {error}")
            del self._jobs[future]
            self._ended += 1
        self._progress(self._ended)
        if crashed:
            raise _crash(self._jobs.values())


def _run(scenario: Scenario, seed: int) -> str:
    return pack(simulate(scenario, seed))


def _follow_parent(theirs: Connection) -> None:
    """A worker leaves Ctrl-C to its parent and ends as soon as the parent's end of the pipe does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def leave() -> None:
        theirs.poll(None)
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


def _crash(jobs: Iterable[Job]) -> StudyError:
    suspects = " or ".join(_name(*job) for job in jobs)
    return StudyError(f"a worker process died (out of memory?) in {suspects}")


def _name(scenario: Scenario, seed: int) -> str:
    return f"scenario {scenario.name!r}, seed {seed}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
