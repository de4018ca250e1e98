"""A Dask scheduler and its workers, each in its own process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

START_S = 60
HERE = Path(__file__).parent


@dataclass
class Cluster:
    """The address to pass as `executor`, and the cluster's processes."""

    address: str
    file: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Starts another worker with one thread."""
        tcp = self.address.replace("dask", "tcp")
        self.workers.append(_start("dask_worker", tcp, "--nthreads", "1", "--no-nanny", "--no-dashboard", *options))
        return self.workers[-1]


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Starts a cluster on this machine, and stops it afterwards."""
    file = folder / "scheduler.json"
    scheduler = _start(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
    )
    started = Cluster("", file, scheduler)
    try:
        started.address = _read(file).replace("tcp", "dask")
        for _ in range(workers):
            started.add_worker()
        yield started
    finally:
        for process in (*started.workers, scheduler):
            process.kill()
            process.wait()


def _start(module: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *options]
    # Workers need the path of the tests, because jobs may contain classes that the tests define. Their profiler samples
    # the stacks of all threads every 10 ms.
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)


def _read(file: Path) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise TimeoutError(f"the scheduler did not write {file}")
