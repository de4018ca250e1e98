"""Completes a set of runs; no run is lost or executed twice."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final

from longpipe.design.cost import estimated_cpu_s
from longpipe.errors import RunError
from longpipe.executors import Failure, Job, Outcome, Where, executor_for, name
from longpipe.store import Store
from longpipe.store.leases import Key, Leases
from longpipe.study.progress import Progress, ignore

# Amount of work [s] that a process leases at a time, small enough that processes that share a store finish at about the
# same time.
_LEASED_AHEAD_S: Final = 0.2
_MOST_LEASED: Final = 256
# Interval [s] at which a process polls for runs that other processes have leased.
_LOOK_AGAIN_S: Final = (0.05, 2.0)


class StudyError(RunError):
    """Error that names the failed runs with their seeds; all other runs are in the store."""


def complete_study(
    jobs: Iterable[Job],
    store: Store,
    *,
    executor: Where = None,
    workers: int | None = None,
    memory: str | None = None,
    fresh: bool = False,
    progress: Callable[[Progress], None] = ignore,
) -> None:
    """Runs every (scenario, seed) that the store lacks, or with `fresh` all of them, on `executor`.

    `executor`, `workers` and `memory` are the arguments of `executors.executor_for`: by default a process for each
    core. Each run is stored as it finishes: after a kill, a Ctrl-C, a full disk or a crash, the same call continues.
    Runs of other processes on the same store are waited for, or taken over if the process dies. `progress` is called at
    the beginning and after every group of runs. Raises StudyError for runs that failed, in the order of `jobs`, after
    all others have been run; StoreError as soon as nothing more can be stored; ExecutorError if the workers have
    ended.
    """
    runner = executor_for(executor, workers, memory)
    wanted = {_key(job): job for job in jobs}
    for scenario in {digest: scenario for (digest, _), (scenario, _) in wanted.items()}.values():
        store.check_traces(scenario)
    done = set() if fresh else store.finished(wanted.values())
    left = {key: job for key, job in wanted.items() if key not in done}
    if not left:
        return
    failures: dict[Key, str] = {}
    work = {digest: estimated_cpu_s(scenario) for (digest, _), (scenario, _) in left.items()}
    undone_s = in_all_s = sum(work[digest] for digest, _ in left)

    def forget(key: Key) -> None:
        nonlocal undone_s
        del left[key]
        undone_s -= work[key[0]]

    def report() -> None:
        ended = len(wanted) - len(done) - len(left)
        counts = (len(wanted), len(done), ended - len(failures), len(failures))
        progress(Progress(*counts, worked=in_all_s - undone_s, left=max(undone_s, 0.0)))

    report()
    shortest, longest = _LOOK_AGAIN_S
    wait_s = shortest
    with store.leases() as leases:
        while True:
            before = len(left)
            # Close it first, because an error while storing must not wait for runs in progress.
            with closing(runner.run(_leased(left, leases, forget, fresh=fresh))) as outcomes:
                for group in outcomes:
                    failures |= _stored(group, store)
                    for job, _ in group:
                        forget(_key(job))
                    report()
            if not left:
                break
            leases.give_back()
            # All remaining runs are leased by other processes at present.
            wait_s = shortest if len(left) < before else min(2 * wait_s, longest)
            time.sleep(wait_s)
            report()
    if failures:
        raise StudyError("\n".join(failures[key] for key in wanted if key in failures))


def _key(job: Job) -> Key:
    scenario, seed = job
    return scenario.digest(), str(seed)


def _stored(group: Sequence[tuple[Job, Outcome]], store: Store) -> dict[Key, str]:
    """Stores runs that have ended. Returns a line for each that failed."""
    if finished := [(job, outcome) for job, outcome in group if not isinstance(outcome, Failure)]:
        store.save_all(finished)
    failed = [(job, outcome.reason) for job, outcome in group if isinstance(outcome, Failure)]
    for job, reason in failed:
        store.fail(*job, reason)
    return {_key(job): f"{name(job)}: {reason}" for job, reason in failed}


def _leased(left: dict[Key, Job], leases: Leases, forget: Callable[[Key], None], *, fresh: bool) -> Iterator[Job]:
    """Leases and yields the jobs that no other process has; skips those that other processes have finished."""
    waiting, size = list(left), 1
    while waiting:
        chunk, waiting = waiting[:size], waiting[size:]
        began_s = time.monotonic()
        ours, done = leases.take(chunk, fresh=fresh)
        for key in done:
            forget(key)
        for key in chunk:
            if key in ours:
                yield left[key]
        lasted_s = time.monotonic() - began_s
        size = min(2 * size, _MOST_LEASED) if lasted_s < _LEASED_AHEAD_S else max(size // 2, 1)
