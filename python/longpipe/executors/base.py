"""What an executor is, and what its workers do."""

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from longpipe.errors import RunError, ScenarioError
from longpipe.memory import cores, share
from longpipe.run import simulate
from longpipe.scenario import Scenario
from longpipe.store import Packed, pack

Job = tuple[Scenario, int]


class ExecutorError(RunError):
    """The workers are gone or of no use; runs that ended before are with whoever asked for them."""


@dataclass(frozen=True)
class Failure:
    """Why a run gave no result."""

    reason: str


# A finished run, or why there is none.
Outcome = Packed | Failure

Outcomes = Generator[tuple[Job, Outcome], None, None]


@runtime_checkable
class Executor(Protocol):
    """Does runs somewhere."""

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """Each job, a scenario and a seed, with its outcome, as it ends: in any order, each once.

        A job is taken from `jobs` when there is room for it. On KeyboardInterrupt what has ended is yielded first. A
        generator that is closed leaves no run behind on this machine. Raises ExecutorError if no worker can go on.
        """


def run_job(job: Job, memory: str | None = None) -> Outcome:
    """One run, in a worker, which may take so much memory."""
    try:
        began = time.perf_counter()
        result = simulate(*job, memory=memory)
        return pack(result, time.perf_counter() - began)
    except Exception as error:
        return Failure(str(error) or type(error).__name__)


def run_beside_others(job: Job, memory: str | None) -> Outcome:
    """One run, in a worker of a machine that does as many as it has cores, which may take so much memory together."""
    try:
        return run_job(job, share(memory, cores()))
    except ScenarioError as error:
        return Failure(str(error))


def name(job: Job) -> str:
    """What messages call a job."""
    scenario, seed = job
    return f"scenario {scenario.name!r}, seed {seed}"
