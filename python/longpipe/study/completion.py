"""Completes a set of runs; no run is lost or executed twice."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final

from longpipe.design.cost import estimated_cpu_s
from longpipe.executors import Executor, Failure, Job, Outcome, Where, executor_for, name
from longpipe.store import Store
from longpipe.store.leases import Key, Leases
from longpipe.study.errors import StudyError
from longpipe.study.pace import Pace
from longpipe.study.progress import Progress, ignore
from longpipe.system.gc_pause import without_collections

# Time [s] for which the executor is expected to be busy with the runs that are leased at once, and their maximum
# number. The time is short, so that processes that share a store finish at about the same time.
_LEASED_AHEAD_S: Final = 0.25
_MAX_LEASED: Final = 1000
# Number of runs, per run to be leased, that are searched at once for runs that no other process has leased, and minimum
# number.
_SEARCHED: Final = 4
_FEWEST_SEARCHED: Final = 16
# Interval [s] at which a process polls for runs that other processes have leased, if it has none.
_LOOK_AGAIN_S: Final = (0.05, 2.0)
# Interval [s] at which it counts those that other processes have finished, otherwise.
_COUNT_AGAIN_S: Final = 2.0


def complete_study(
    jobs: Iterable[Job],
    store: Store,
    *,
    executor: Where = None,
    workers: int | None = None,
    memory: str | None = None,
    fresh: bool = False,
    finished: int | None = None,
    progress: Callable[[Progress], None] = ignore,
) -> None:
    """Runs every (scenario, seed) that the store lacks, or with `fresh` all of them, on `executor`.

    If the caller has excluded the runs that the store has, `finished` is their number.

    `executor`, `workers` and `memory` are the arguments of `executors.executor_for`: by default a process for each
    core. Each run is stored as it finishes: after a kill, a Ctrl-C, a full disk or a crash, the same call continues.
    Runs of other processes on the same store are waited for, or taken over if the process dies. `progress` is called at
    the beginning and after every group of runs. Raises StudyError for runs that failed, in the order of `jobs`, after
    all others have been run; StoreError as soon as nothing more can be stored; ExecutorError if the workers have
    ended.
    """
    runner = executor_for(executor, workers, memory)
    with without_collections():
        requested = {_key(job): job for job in jobs}
        for scenario in {digest: scenario for (digest, _), (scenario, _) in requested.items()}.values():
            store.check_traces(scenario)
        done = set() if fresh or finished is not None else store.finished(requested.values())
    if len(done) == len(requested):
        return
    earlier = len(done) + (finished or 0)
    failures: dict[Key, str] = {}
    shortest, longest = _LOOK_AGAIN_S
    wait_s, waited_s = shortest, 0.0
    with store.leases() as leases:
        campaign = _Campaign(requested, done, store, leases, runner, fresh=fresh)

        def report() -> None:
            ended = len(requested) - len(done) - len(campaign.left)
            counts = (len(requested) + (finished or 0), earlier, ended - len(failures), len(failures))
            worked, left = campaign.in_all_s - campaign.undone_s, max(campaign.undone_s, 0.0)
            executing = campaign.executing
            progress(Progress(*counts, worked=worked, left=left, waited_s=waited_s, executing=executing))

        report()
        while True:
            left_before, began_s = len(campaign.left), time.monotonic()
            # Close it first, because an error while storing must not wait for runs in progress.
            with closing(runner.run(campaign.leased())) as outcomes:
                for number, group in enumerate(outcomes):
                    if number == 0:
                        waited_s += max(0.0, time.monotonic() - began_s - _seconds(group))
                    failures |= campaign.store(group)
                    report()
            if not campaign.left:
                break
            leases.give_back()
            # All remaining runs are leased by other processes at present.
            wait_s = shortest if len(campaign.left) < left_before else min(2 * wait_s, longest)
            time.sleep(wait_s)
            waited_s += wait_s
            report()
    if failures:
        raise StudyError("\n".join(failures[key] for key in requested if key in failures))


class _Campaign:
    """Runs that are wanted and have not ended yet (`left`), with their estimated work (`undone_s`, `in_all_s`)."""

    def __init__(
        self,
        requested: dict[Key, Job],
        done: set[Key],
        store: Store,
        leases: Leases,
        runner: Executor,
        *,
        fresh: bool,
    ) -> None:
        self.left = {key: job for key, job in requested.items() if key not in done}
        self._store = store
        self._leases = leases
        self._runner = runner
        self._fresh = fresh
        self._pace = Pace()
        self._in_hand = 0
        self._work = {digest: estimated_cpu_s(scenario) for (digest, _), (scenario, _) in self.left.items()}
        self.undone_s = self.in_all_s = sum(self._work[digest] for digest, _ in self.left)

    @property
    def executing(self) -> int:
        """The number of runs in progress, 0 if unknown."""
        return min(self._in_hand, getattr(self._runner, "workers", None) or 0)

    def store(self, group: Sequence[tuple[Job, Outcome]]) -> dict[Key, str]:
        """Stores runs that have ended. Returns a line for each that failed."""
        if finished := [(job, outcome) for job, outcome in group if not isinstance(outcome, Failure)]:
            self._store.save_all(finished)
        failed = [(job, outcome.reason) for job, outcome in group if isinstance(outcome, Failure)]
        for job, reason in failed:
            self._store.fail(*job, reason)
        self._in_hand -= len(group)
        keys = [_key(job) for job, _ in group]
        self._pace.ended(sum(self._work[digest] for digest, _ in keys))
        self._forget(keys)
        return {_key(job): f"{name(job)}: {reason}" for job, reason in failed}

    def leased(self) -> Iterator[Job]:
        """Leases and yields the jobs that no other process has; skips those that other processes have finished."""
        waiting, leased_elsewhere = deque(self.left), set[Key]()
        counted_s = time.monotonic()
        while waiting:
            some = self._some(waiting)
            searched = [waiting.popleft() for _ in range(min(len(waiting), _SEARCHED * some + _FEWEST_SEARCHED))]
            self._leases.workers = getattr(self._runner, "workers", None)
            leases = self._leases.take(searched, some, fresh=self._fresh)
            waiting.extendleft(key for key in reversed(searched) if not any(key in of_state for of_state in leases))
            leased_elsewhere |= leases.others
            self._forget(leases.finished)
            if time.monotonic() > counted_s + _COUNT_AGAIN_S:
                self._forget_finished(leased_elsewhere)
                counted_s = time.monotonic()
            for key in searched:
                if key in leases.ours:
                    self._in_hand += 1
                    yield self.left[key]
        self._forget_finished(leased_elsewhere)

    def _some(self, waiting: Iterable[Key]) -> int:
        """Returns how many of the runs are expected to take `_LEASED_AHEAD_S`, at least one."""
        work, count = self._pace.work_in(_LEASED_AHEAD_S), 0
        for digest, _ in waiting:
            work -= self._work[digest]
            if work < 0 or count == _MAX_LEASED:
                break
            count += 1
        return max(count, 1)

    def _forget_finished(self, leased_elsewhere: set[Key]) -> None:
        """Forgets the runs that other processes had leased and have finished."""
        if leased_elsewhere and not self._fresh:
            finished = self._store.finished(self.left[key] for key in leased_elsewhere)
            self._forget(finished)
            leased_elsewhere -= finished

    def _forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if self.left.pop(key, None) is not None:
                self.undone_s -= self._work[key[0]]


def _seconds(group: Sequence[tuple[Job, Outcome]]) -> float:
    """Returns the time that a worker spent on a group of runs [s]."""
    return sum(outcome.seconds for _, outcome in group if not isinstance(outcome, Failure))


def _key(job: Job) -> Key:
    scenario, seed = job
    return scenario.digest(), str(seed)
