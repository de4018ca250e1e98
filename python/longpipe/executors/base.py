"""The interface of executors, and the job function of their workers."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

from longpipe.errors import RunError, ScenarioError
from longpipe.run import simulate
from longpipe.scenario import Scenario
from longpipe.store import Packed, pack
from longpipe.system.memory import cores, share

Job = tuple[Scenario, int]

# Target duration [s] of a task, so that transferring and storing its runs takes less than 1 % of it.
BATCH_S: Final = 0.5


class ExecutorError(RunError):
    """Error of workers that have ended or are unusable. Earlier results have already been delivered."""


@dataclass(frozen=True)
class Failure:
    """The reason why a run has no result."""

    reason: str


# A finished run, or the reason why there is none.
Outcome = Packed | Failure

# Groups of jobs that have ended, each with its outcome.
Outcomes = Generator[list[tuple[Job, Outcome]], None, None]

# Outcomes of a batch, and the time that its runs took [s].
BatchOutcomes = tuple[list[Outcome], float]


@runtime_checkable
class Executor(Protocol):
    """Executes runs."""

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """Yields each job (scenario, seed) exactly once with its outcome, in groups and in the order of completion.

        Jobs are taken from `jobs` only when a worker can accept them. On KeyboardInterrupt, the groups that have ended
        are yielded first. Closing the generator ends all its runs on this machine. Raises ExecutorError if no worker
        can continue.
        """


def run_job(job: Job, memory: str | None = None) -> Outcome:
    """Executes one run in a worker whose memory is limited [bytes]."""
    try:
        begin_s = time.perf_counter()
        result = simulate(*job, memory=memory)
        return pack(result, time.perf_counter() - begin_s)
    except Exception as error:
        return Failure(str(error) or type(error).__name__)


def run_in_pool(job: Job, memory: str | None) -> Outcome:
    """Executes one run in one of several workers (one per core of the machine) that share a memory limit [bytes]."""
    try:
        return run_job(job, share(memory, cores()))
    except ScenarioError as error:
        return Failure(str(error))


def run_batch(run: Callable[[Job, str | None], Outcome], jobs: Sequence[Job], memory: str | None) -> BatchOutcomes:
    """Executes the runs of a batch in a worker, one after another."""
    begin_s = time.perf_counter()
    scenarios = {id(scenario): _resolved_once(scenario) for scenario, _ in jobs}
    outcomes = [run((scenarios[id(scenario)], seed), memory) for scenario, seed in jobs]
    return outcomes, time.perf_counter() - begin_s


def _resolved_once(scenario: Scenario) -> Scenario:
    """Returns an equal scenario of an earlier batch, so that equal scenarios of several batches are resolved once.

    Resolving a scenario takes longer than a short run. A scenario that depends on files is returned itself, because it
    is transferred together with its resolved form.
    """
    return scenario if scenario.depends_on_files else _first_equal(scenario)


@lru_cache(maxsize=64)
def _first_equal(scenario: Scenario) -> Scenario:
    """Returns the first of equal scenarios, which the cache returns for all of them."""
    return scenario


def name(job: Job) -> str:
    """Returns the name of a job, for use in messages."""
    scenario, seed = job
    return f"scenario {scenario.name!r}, seed {seed}"
