"""Executors of runs: local processes, a Dask cluster, or any `concurrent.futures.Executor`."""

import concurrent.futures
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Union

from longpipe.errors import ScenarioError
from longpipe.executors.base import Executor, ExecutorError, Failure, Job, Outcome, Outcomes, name
from longpipe.executors.futures import Futures
from longpipe.executors.processes import Processes

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster

ACCEPTS = "accepts 'processes', 'dask://HOST:PORT', a distributed.Client or cluster, or a concurrent.futures.Executor"

Where = Union[Executor, concurrent.futures.Executor, "Client", "Cluster", str, None]

__all__ = [
    "Executor", "ExecutorError", "Failure", "Futures", "Job", "Outcome", "Outcomes", "Processes", "Where",
    "executor_for", "name",
]  # fmt: skip


def executor_for(where: Where = None, workers: int | None = None, memory: str | None = None) -> Executor:
    """Returns the executor that `where` selects; None and "processes" select `workers` local processes (all cores).

    "dask://HOST:PORT" and "dask:///PATH/scheduler.json" are the cluster behind that scheduler; a `distributed.Client`,
    a cluster such as a `LocalCluster`, and a `concurrent.futures.Executor` belong to their owner and stay open. Runs
    that would need more than their share of `memory` ("4 GB"; by default of the memory that their machine has
    available) end. Raises ScenarioError for anything else, and for `workers` or `memory` if the executor has its own.
    """
    if where is None or where == "processes":
        return Processes(workers, memory)
    if isinstance(where, concurrent.futures.Executor):
        return Futures(where, workers, memory)
    # A Dask client also has a method `run`, so it is tested for first.
    executor = _dask(where, memory) or where
    if not isinstance(executor, Executor):
        raise ScenarioError(f"executor: {where!r}; {ACCEPTS}")
    if workers is not None:
        raise ScenarioError(f"workers: {workers}; {where!r} has its own number, omit this")
    if memory is not None and executor is where:
        raise ScenarioError(f"memory: {memory}; {where!r} has its own limit, omit this")
    return executor


def _dask(where: object, memory: str | None) -> Executor | None:
    """Returns the executor for a Dask cluster, client or address; None if `where` is none of these."""
    if isinstance(where, str):
        if not where.startswith("dask://"):
            return None
        if find_spec("distributed") is None:
            raise ScenarioError(f"executor: {where!r} needs Dask; install it with: pip install 'longpipe[dask]'")
    elif "distributed" not in sys.modules:
        return None
    # Dask is imported here because loading it takes a second.
    from distributed import Client
    from distributed.deploy.cluster import Cluster

    from longpipe.executors.dask import Dask

    return Dask(where, memory=memory) if isinstance(where, str | Client | Cluster) else None
