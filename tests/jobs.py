"""Jobs for executors, what they must come to, and a scenario that no worker survives."""

import os
import signal
from collections.abc import Iterable
from contextlib import closing

from longpipe import Scenario, simulate
from longpipe.executors import Failure, Job, Where, executor_for
from longpipe.store import pack

# Workers inherit it.
SPARED = os.environ.setdefault("LONGPIPE_TESTS_SPARED", str(os.getpid()))


class Fatal(Scenario):
    """Kills every process, but not the tests, in which its run begins."""

    def resolved_json(self) -> str:
        if str(os.getpid()) != SPARED:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().resolved_json()


def outcomes(where: Where, jobs: Iterable[Job], workers: int | None = None) -> dict[int, bytes | Failure]:
    """The summary or the failure by seed, no seed twice."""
    found: dict[int, bytes | Failure] = {}
    with closing(executor_for(where, workers).run(jobs)) as ended:
        for (_, seed), outcome in ended:
            assert seed not in found
            found[seed] = outcome if isinstance(outcome, Failure) else outcome.summary
    return found


def expected(scenario: Scenario, seeds: Iterable[int]) -> dict[int, bytes]:
    """The summaries by seed, from this process."""
    return {seed: pack(simulate(scenario, seed)).summary for seed in seeds}
