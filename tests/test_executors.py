import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from jobs import Fatal, expected, outcomes
from longpipe import Scenario, ScenarioError
from longpipe.executors import Executor, ExecutorError, Failure, Futures, Job, Processes, Where, executor_for

SHORT = Scenario(defaults="1996", name="short", duration="20 ms")
LONG = SHORT.with_(name="long", duration="2 s")


@pytest.fixture
def one_run_per_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longpipe.executors.batches.LARGEST", 1)


def kill(pid: int | None) -> int:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


@pytest.mark.parametrize("where", [None, "processes", Processes(1), ThreadPoolExecutor(2)])
def test_every_executor_equals_local_runs_and_names_failures(where: Where) -> None:
    found = outcomes(where, [(SHORT, seed) for seed in (1, -1, 2)])
    assert found.pop(-1) == Failure("seed: -1; needs a whole number from 0 to 18446744073709551615")
    assert found == expected(SHORT, (1, 2))


@pytest.mark.parametrize("runner", [Processes(2), Futures(ThreadPoolExecutor(2), 2)])
@pytest.mark.usefixtures("one_run_per_task")
def test_jobs_are_submitted_as_workers_become_free(runner: Executor) -> None:
    taken: list[int] = []

    def jobs() -> Iterator[Job]:
        for seed in range(100):
            taken.append(seed)
            yield SHORT, seed

    with closing(runner.run(jobs())) as ended:
        next(ended)
        assert 2 <= len(taken) <= 3


@pytest.mark.usefixtures("one_run_per_task")
def test_dead_worker_is_replaced_and_its_run_repeated() -> None:
    killed: list[int] = []

    def jobs() -> Iterator[Job]:
        for seed in range(1, 7):
            if seed == 4:
                killed.append(kill(multiprocessing.active_children()[0].pid))
            yield LONG, seed

    assert outcomes(Processes(2), jobs()) == expected(LONG, range(1, 7))
    assert killed


def test_run_that_kills_every_worker_is_named_and_others_finish() -> None:
    fatal = Fatal(name="fatal", duration="20 ms")
    found = outcomes(Processes(2), [(fatal if seed == 2 else SHORT, seed) for seed in range(1, 7)])
    assert found.pop(2) == Failure("its worker process died 3 times, the last one by SIGKILL (out of memory?)")
    assert found == expected(SHORT, (1, 3, 4, 5, 6))


@pytest.mark.parametrize("start", ["script", "module", "stdin"])
def test_a_script_needs_no_guard(start: str, tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "print('loaded')\nfrom longpipe import Scenario\nfrom longpipe.design import Design, Factor\n"
        "from longpipe.study import Study\n"
        "base = Scenario(defaults='1996', name='short', duration='20 ms')\n"
        "study = Study(Design.full_factorial(base, [Factor.over('tcp.recovery', ['reno', 'sack'])], replications=2))\n"
        "print(study.run(workers=2).finished, __name__, __file__ if '__file__' in globals() else '')\n"
    )
    how = {"script": ["unguarded.py"], "module": ["-m", "unguarded"], "stdin": ["-"]}[start]
    text = script.read_text() if start == "stdin" else None
    done = subprocess.run(
        [sys.executable, *how], input=text, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    loaded, told = done.stdout.splitlines()
    assert (loaded, told.split()[:2]) == ("loaded", ["4", "__main__"])
    assert start == "stdin" or told.endswith("unguarded.py")


def test_workers_that_cannot_start_cause_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longpipe.executors.processes._serve", os._exit)
    with pytest.raises(ExecutorError, match="3 worker processes died before their first run, the last one with"):
        list(Processes(1).run([(SHORT, 1)]))


def test_broken_pool_names_its_runs() -> None:
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    with pool, pytest.raises(ExecutorError, match=r"the executor broke .* in it: scenario 'fatal', seed 1"):
        outcomes(Futures(pool), [(Fatal(name="fatal", duration="20 ms"), 1)])
    with pytest.raises(ExecutorError, match=r"not usable anymore.*scenario 'short', seed 1"):
        outcomes(Futures(pool), [(SHORT, 1)])


@pytest.mark.parametrize(
    ("where", "workers", "expected"),
    [
        (
            "threads",
            None,
            "executor: 'threads'; accepts 'processes', 'dask://HOST:PORT', a distributed.Client or cluster, or a concurrent.futures.Executor",
        ),
        (
            3,
            None,
            "executor: 3; accepts 'processes', 'dask://HOST:PORT', a distributed.Client or cluster, or a concurrent.futures.Executor",
        ),
        (None, 0, "workers: 0; needs at least 1"),
        (ThreadPoolExecutor(1), 0, "workers: 0; needs at least 1"),
        (Processes(2), 2, "has its own number, omit this"),
    ],
)
def test_invalid_executor_is_rejected(where: Where, workers: int | None, expected: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        executor_for(where, workers)
    assert expected in str(refused.value)
