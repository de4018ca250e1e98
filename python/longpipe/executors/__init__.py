"""Where runs are done: processes of this machine, or any `concurrent.futures.Executor`."""

import concurrent.futures

from longpipe.errors import ScenarioError
from longpipe.executors.base import Executor, ExecutorError, Failure, Job, Outcome, Outcomes, name
from longpipe.executors.futures import Futures
from longpipe.executors.processes import Processes

ACCEPTS = "accepts 'processes', or a concurrent.futures.Executor"

Where = Executor | concurrent.futures.Executor | str | None

__all__ = [
    "Executor",
    "ExecutorError",
    "Failure",
    "Futures",
    "Job",
    "Outcome",
    "Outcomes",
    "Processes",
    "executor_for",
    "name",
]


def executor_for(where: Where = None, workers: int | None = None) -> Executor:
    """The executor that `where` means; None and "processes" are `workers` processes of this machine (all cores).

    Raises ScenarioError for anything else, and for `workers` where the executor has a number of its own.
    """
    if where is None or where == "processes":
        return Processes(workers)
    if isinstance(where, concurrent.futures.Executor):
        return Futures(where, workers)
    if not isinstance(where, Executor):
        raise ScenarioError(f"executor: {where!r}; {ACCEPTS}")
    if workers is not None:
        raise ScenarioError(f"workers: {workers}; {where!r} has its own number, leave it out")
    return where
