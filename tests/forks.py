"""Processes of a campaign on a cluster, forked from one process that has loaded all modules, because tests end many.

Each line of input is a JSON list: the name of a function of this module and its arguments start a process, whose ID is
written; ["wait", ID] waits for the end of a process and writes its exit status.
"""

import json
import os
import sys
from contextlib import closing

from distributed.cli import dask_scheduler, dask_worker

import campaign
from longpipe.errors import RunError, ScenarioError
from longpipe.executors import batches
from longpipe.store import Store
from longpipe.study import Study

# Runs per task, so that a campaign has many tasks.
RUNS_PER_TASK = 5


def scheduler(file: str) -> None:
    dask_scheduler.main(["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file])


def worker(file: str) -> None:
    dask_worker.main(["--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"])


def client(url: str, executor: str, replications: int) -> None:
    batches.LARGEST = RUNS_PER_TASK  # type: ignore[misc]
    with closing(Store(url)) as store:
        Study(campaign.design(replications), store, "campaign").run(executor)


def main(log: str) -> None:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        if name == "wait":
            answer = os.waitstatus_to_exitcode(os.waitpid(arguments[0], 0)[1])
        elif (answer := os.fork()) == 0:
            os.setsid()
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            for stream in (1, 2):
                os.dup2(file, stream)
            try:
                globals()[name](*arguments)
            except (RunError, ScenarioError) as error:
                sys.stderr.write(f"{error}\n")
                os._exit(1)
            finally:
                sys.stderr.flush()
            os._exit(0)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
