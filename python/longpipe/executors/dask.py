"""Execution on a Dask cluster, and therefore under Slurm, PBS or Kubernetes."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from typing import Final

from distributed import Client, Future, KilledWorker, as_completed, get_worker
from distributed.comm.core import connect
from distributed.deploy.cluster import Cluster

from longpipe.errors import ScenarioError
from longpipe.executors.base import (
    BATCH_S,
    BatchOutcomes,
    ExecutorError,
    Failure,
    Job,
    Outcomes,
    name,
    run_batch,
    run_in_pool,
)
from longpipe.executors.batches import Batches
from longpipe.inputs import load_json
from longpipe.system.memory import limit_bytes

SCHEME: Final = "dask://"

# Number of tasks submitted per thread of the cluster, one of which waits, and minimum number of tasks. An adaptive
# cluster detects the waiting tasks and doubles.
_TASKS_PER_THREAD: Final = 2
_FEWEST_TASKS: Final = 4

# Timeout [s], used first to check that a scheduler answers, and then again for the client.
_CONNECT_S: Final = 4.0
_PORT: Final = 8786

# Interval [s] between queries of the cluster's size.
_SIZE_S: Final = 1.0

_log = logging.getLogger(__name__)

# Outcomes of a batch and its duration [s], or a text that names the worker and its incompatible version of longpipe.
_Answer = BatchOutcomes | str


class Dask:
    """Executes batches on a Dask cluster, given by its scheduler's address ("dask://host:8786"), a cluster or a client.

    An address may also name the scheduler's file: "dask:///home/me/scheduler.json". A batch contains at least one run,
    and as many as are expected to take `batch_s` [s]. Each run may use an equal share, per core, of `memory` ("4 GB");
    the default is the memory that its machine has available.
    """

    def __init__(self, where: str | Client | Cluster, *, batch_s: float = BATCH_S, memory: str | None = None) -> None:
        self._where = where
        # Number of threads of the cluster, updated while it is used; None before.
        self.workers: int | None = None
        self._batch_s = batch_s
        self._memory = memory
        if memory is not None:
            limit_bytes(memory)

    def run(self, jobs: Iterable[Job]) -> Outcomes:
        """See `Executor.run`; the runs of a worker that dies are given to another worker.

        Raises ScenarioError if no scheduler answers within 8 s; ExecutorError if a worker has another version of
        longpipe or none, or if the scheduler disappears.
        """
        with _connected(self._where) as client:
            _check_workers(client)
            campaign = _Campaign(client, Batches(jobs, self._batch_s), self._memory, self._counted)
            try:
                yield from campaign.ended()
            except KeyboardInterrupt:
                yield from campaign.ended_already()
                raise
            except Exception:
                if campaign.has_scheduler():
                    raise
                raise campaign.orphaned() from None
            finally:
                campaign.cancel()

    def _counted(self, threads: int) -> None:
        self.workers = threads


class _Campaign:
    """Tasks in progress on a cluster, each with a batch of jobs."""

    def __init__(self, client: Client, batches: Batches, memory: str | None, counted: Callable[[int], None]) -> None:
        self._client = client
        self._tell = counted
        self._memory = memory
        self._batches = batches
        self._running: dict[Future[_Answer], list[Job]] = {}
        # Batches whose worker died repeatedly. Their runs are executed one by one at the end, to identify the run that
        # kills its worker.
        self._suspects: deque[list[Job]] = deque()
        self._alone = False
        self._done = as_completed(loop=client.loop)
        self._threads, self._counted_s = 0, -math.inf

    def ended(self) -> Outcomes:
        """Yields all jobs, in groups, in the order in which their tasks end."""
        self._hand_out()
        while self._running:
            for future in self._done.next_batch():
                yield from self._outcomes(future)
            self._hand_out()

    def ended_already(self) -> Outcomes:
        """Yields the jobs of ended tasks that have not been yielded yet."""
        for future in self._done.next_batch(block=False):
            if future.status == "finished":
                yield from self._outcomes(future)

    def cancel(self) -> None:
        """Cancels waiting tasks. Running tasks finish, and their results are discarded."""
        with suppress(OSError, CancelledError):
            if self._client.status == "running":
                self._client.cancel(list(self._running), force=True)

    def has_scheduler(self) -> bool:
        """Returns whether the scheduler still answers."""
        try:
            self._client.nthreads()
        except Exception:
            # Dask raises errors of different types, depending on what it has noticed.
            return False
        return True

    def orphaned(self) -> ExecutorError:
        """Returns the error to raise if a scheduler no longer answers."""
        jobs = [job for batch in self._running.values() for job in batch]
        flying = f", with {name(jobs[0])} and {len(jobs) - 1} other runs in flight" if jobs else ""
        return ExecutorError(f"the Dask scheduler {_address(self._client)} has disappeared{flying}")

    def _hand_out(self) -> None:
        while len(self._running) < self._room() and (batch := self._batches.next()):
            self._submit(batch)
        if not self._running and self._suspects:
            self._alone = True
            self._submit(self._suspects.popleft())

    def _submit(self, batch: list[Job]) -> None:
        future = self._client.submit(_run_batch, batch, _version(), self._memory, pure=False)
        self._running[future] = batch
        self._done.add(future)

    def _room(self) -> int:
        if time.monotonic() > self._counted_s + _SIZE_S:
            self._threads = sum(self._client.nthreads().values())
            self._counted_s = time.monotonic()
            self._tell(self._threads)
        return max(_FEWEST_TASKS, _TASKS_PER_THREAD * self._threads)

    def _outcomes(self, future: Future[_Answer]) -> Outcomes:
        """Yields the outcomes of a finished task, or the failures of its runs."""
        try:
            # This blocks if the task's worker has died in the meantime, until Dask has repeated the task or reports an
            # error.
            answer = future.result()
        except CancelledError:
            raise self.orphaned() from None
        except OSError:
            raise
        except Exception as error:
            yield from self._failures(self._running.pop(future), error)
            return
        batch = self._running.pop(future)
        if isinstance(answer, str):
            raise _refusal(*answer.split(" ", 1))
        outcomes, seconds = answer
        self._batches.took(batch, seconds)
        yield list(zip(batch, outcomes, strict=True))

    def _failures(self, batch: list[Job], error: Exception) -> Outcomes:
        """Yields the failures of a batch, unless its runs are to be executed again separately."""
        if not isinstance(error, KilledWorker):
            # An error arises here if the worker lacks longpipe, or has a version that cannot read the batch.
            _check_workers(self._client)
            reason = f"{type(error).__name__}: {error}"
        elif len(batch) > 1:
            # One of these runs repeatedly kills its worker, so they are executed separately to find it.
            self._batches.apart(batch)
            return
        elif not self._alone:
            self._suspects.append(batch)
            return
        else:
            reason = f"it killed every worker that ran it ({2 * (error.allowed_failures + 1)}; out of memory?)"
        yield [(job, Failure(reason)) for job in batch]


def _run_batch(batch: Sequence[Job], version: str, memory: str | None) -> _Answer:
    """Executes the runs of a batch in a worker, one after another."""
    if (version_there := _version()) != version:
        return f"{get_worker().address} {version_there}"
    return run_batch(run_in_pool, batch, memory)


def _check_workers(client: Client) -> None:
    answers = client.run(_prober(), on_error="ignore")
    if not answers:
        _log.warning("%s has no workers yet; waiting for the first", _address(client))
    for worker, worker_version in answers.items():
        if worker_version != _version():
            raise _refusal(worker, worker_version)


def _prober() -> Callable[[], str]:
    """Returns the function that workers execute to report their version of longpipe; "" if they lack it."""

    # The function is nested, so that it is sent to the workers as code, instead of as a name that they might not have.
    def version() -> str:
        try:
            from longpipe import _core
        except ImportError:
            return ""
        import hashlib
        from pathlib import Path

        # The version covers the Python sources, because they resolve the scenario and process the result.
        sources = hashlib.sha256()
        for path in sorted(Path(_core.__file__).parent.rglob("*.py")):
            sources.update(path.read_bytes())
        engine = getattr(_core, "__engine__", "none")
        return f"{_core.__version__}, engine {engine}, with Python sources {sources.hexdigest()[:8]}"

    return version


@cache
def _version() -> str:
    return _prober()()


def _refusal(worker: str, worker_version: str) -> ScenarioError:
    has = f"longpipe {worker_version}" if worker_version else "no longpipe"
    return ScenarioError(f"executor: the Dask worker {worker} has {has}; needs {_version()}, as this process has")


@contextmanager
def _connected(where: str | Client | Cluster) -> Iterator[Client]:
    if isinstance(where, Client):
        if where.asynchronous:
            raise ScenarioError("executor: the client is asynchronous; needs one created without asynchronous=True")
        yield where
        return
    with Client(where, set_as_default=False) if isinstance(where, Cluster) else _client(where) as client:
        yield client


def _client(where: str) -> Client:
    """Returns a client for a scheduler file or an address. Raises an error if no scheduler answers."""
    target = where.removeprefix(SCHEME)
    try:
        if target.endswith(".json"):
            address = load_json(target, "a scheduler file of Dask")["address"]
        else:
            address = f"tcp://{target}" if ":" in target else f"tcp://{target}:{_PORT}"
        # The scheduler is checked first, because a client without a scheduler keeps trying while it closes. The check
        # runs in a thread, because notebooks already have a running event loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _greet(address)).result()
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    # The server may use a protocol other than Dask's, so any error is possible.
    except Exception as error:
        # A meaningless, huge message length causes a MemoryError.
        strange = isinstance(error, MemoryError)
        reason = "the server there is not a scheduler" if strange else str(error) or type(error).__name__
        raise ScenarioError(
            f"executor: {where}: no Dask scheduler answers ({reason}); needs dask://HOST:PORT of a running scheduler"
        ) from None


async def _greet(address: str) -> None:
    comm = await connect(address, timeout=_CONNECT_S)
    await comm.close()


def _address(client: Client) -> str:
    return str(client.scheduler.address) if client.scheduler else "the scheduler"
