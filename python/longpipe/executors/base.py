"""The interface of executors, and the job function of their workers."""

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from longpipe.errors import RunError, ScenarioError
from longpipe.run import simulate
from longpipe.scenario import Scenario
from longpipe.store import Packed, pack
from longpipe.system.memory import cores, share

Job = tuple[Scenario, int]


class ExecutorError(RunError):
    """Error of workers that have ended or are unusable. Earlier results have already been delivered."""


@dataclass(frozen=True)
class Failure:
    """The reason why a run has no result."""

    reason: str


# A finished run, or the reason why there is none.
Outcome = Packed | Failure

Outcomes = Generator[tuple[Job, Outcome], None, None]


@runtime_checkable
class Executor(Protocol):
    """Executes runs."""

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """Yields each job (scenario, seed) exactly once with its outcome, in the order of completion.

        A job is taken from `jobs` only when a worker can accept it. On KeyboardInterrupt, finished runs are yielded
        first. Closing the generator ends all its runs on this machine. Raises ExecutorError if no worker can continue.
        """


def run_job(job: Job, memory: str | None = None) -> Outcome:
    """Executes one run in a worker whose memory is limited [bytes]."""
    try:
        began = time.perf_counter()
        result = simulate(*job, memory=memory)
        return pack(result, time.perf_counter() - began)
    except Exception as error:
        return Failure(str(error) or type(error).__name__)


def run_in_pool(job: Job, memory: str | None) -> Outcome:
    """Executes one run in one of several workers (one per core of the machine) that share a memory limit [bytes]."""
    try:
        return run_job(job, share(memory, cores()))
    except ScenarioError as error:
        return Failure(str(error))


def name(job: Job) -> str:
    """Returns the name of a job, for use in messages."""
    scenario, seed = job
    return f"scenario {scenario.name!r}, seed {seed}"
