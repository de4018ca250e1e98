"""Jobs for executors and their expected results, and a scenario that kills its worker."""

import os
import signal
from collections.abc import Iterable
from contextlib import closing
from itertools import chain

from longpipe import Scenario, simulate
from longpipe.executors import Failure, Job, Where, executor_for
from longpipe.store import pack

# Workers inherit this variable.
SPARED = os.environ.setdefault("LONGPIPE_TESTS_SPARED", str(os.getpid()))


class Fatal(Scenario):
    """A scenario that kills the process in which its run begins, unless that is the process of the tests."""

    def resolved_json(self) -> str:
        if str(os.getpid()) != SPARED:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().resolved_json()


def outcomes(where: Where, jobs: Iterable[Job], workers: int | None = None) -> dict[int, bytes | Failure]:
    """Returns the summary or the failure by seed, and checks that no seed occurs twice."""
    found: dict[int, bytes | Failure] = {}
    with closing(executor_for(where, workers).run(jobs)) as ended:
        for (_, seed), outcome in chain.from_iterable(ended):
            assert seed not in found
            found[seed] = outcome if isinstance(outcome, Failure) else outcome.summary
    return found


def expected(scenario: Scenario, seeds: Iterable[int]) -> dict[int, bytes]:
    """Returns the summaries by seed, computed in this process."""
    return {seed: pack(simulate(scenario, seed)).summary for seed in seeds}
