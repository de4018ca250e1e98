"""Many runs, none of them ever done twice or lost."""

from collections.abc import Callable, Iterable
from contextlib import closing

from longpipe.executors import Failure, Job, Where, executor_for, name
from longpipe.result import Result
from longpipe.store import Store, digest_of


class StudyError(RuntimeError):
    """Runs that failed, each named with its seed; all others are in the store."""


def run_study(
    jobs: Iterable[Job],
    store: Store | None = None,
    *,
    executor: Where = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> list[Result]:
    """Results of all (scenario, seed) pairs, in their order and without traces; see `complete_study`."""
    if store is None:
        with closing(Store()) as store:
            return run_study(jobs, store, executor=executor, workers=workers, fresh=fresh, progress=progress)
    jobs = list(jobs)
    complete_study(jobs, store, executor=executor, workers=workers, fresh=fresh, progress=progress)
    return [store.require(scenario, seed) for scenario, seed in jobs]


def complete_study(
    jobs: Iterable[Job],
    store: Store,
    *,
    executor: Where = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Runs every (scenario, seed) that the store lacks, or with `fresh` every one, where `executor` says.

    `executor` and `workers` are as `executors.executor_for` takes them: by default a process for each core. Each run is
    stored as it finishes: after a kill, a Ctrl-C, a full disk or a crash, the same call goes on from there. `progress`
    gets the fraction of runs done [0, 1]. Raises StudyError for runs that failed, after all others have been run;
    StoreError as soon as nothing more can be stored; ExecutorError if the workers are gone.
    """
    runner = executor_for(executor, workers)
    wanted = list({(digest_of(scenario), seed): (scenario, seed) for scenario, seed in jobs}.values())
    missing = [job for job in wanted if fresh or not store.has(*job)]
    failures = []
    # Closed before anything else happens: an error while storing must not wait for runs in flight.
    with closing(runner.run(missing)) as outcomes:
        for ended, (job, outcome) in enumerate(outcomes, 1):
            if isinstance(outcome, Failure):
                failures.append(f"{name(job)}: {outcome.reason}")
            else:
                store.save(*job, outcome)
            progress(1 - (len(missing) - ended) / len(wanted))
    if failures:
        raise StudyError("\n".join(failures))
