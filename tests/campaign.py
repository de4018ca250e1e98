"""A campaign that tests terminate with kill -9."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.store import Store
from longpipe.study import Study

FACTORS = [Factor.over("tcp.recovery", ["vanilla", "reno"]), Factor.over("switch.buffer", ["100 cells", "1000 cells"])]
RUNS = 300


def design(replications: int) -> Design:
    return Design.full_factorial(
        Scenario(defaults="1996", name="campaign", duration="20 ms"), FACTORS, replications=replications
    )


DESIGN = design(RUNS // 4)


def run(path: str | Path, workers: int) -> None:
    """Executes all runs that are not in the store yet, in threads or in worker processes."""
    with closing(Store(path)) as store, ThreadPoolExecutor(2) as threads:
        Study(DESIGN, store).run(None if workers else threads, workers=workers or 2)


def begin_again_and_again() -> None:
    """Runs the campaign in a new process for every two lines of input; writes its process ID and its exit status.

    Between these two lines, the process is not reaped, so that its ID remains reserved even if it has ended.
    """
    for scenario in DESIGN.scenarios:
        scenario.digest()
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            run(sys.argv[1], int(sys.argv[2]))
            os._exit(0)
        _tell(pid)
        sys.stdin.readline()
        _tell(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()
