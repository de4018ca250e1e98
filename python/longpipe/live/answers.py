"""Runs programs of `longpipe.live.programs` at the ends of a path, and captures their output."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Final

from longpipe.errors import RunError
from longpipe.live.carrier import Settings
from longpipe.live.hosts import Plan
from longpipe.live.session import LiveRun, run

PROGRAMS: Final = (sys.executable, "-m", "longpipe.live.programs")


def answer(
    plan: Plan, first: Sequence[str], other: Sequence[str], settings: Settings, *, seed: int = 1
) -> tuple[str, LiveRun]:
    """Runs one program at each host. Returns the output of the first program and the result of the run.

    Raises RunError if the first program fails.
    """
    with tempfile.TemporaryFile() as said:
        with _standard_output(said.fileno()):
            commands = {plan.hosts[0].name: [*PROGRAMS, *first], plan.hosts[1].name: [*PROGRAMS, *other]}
            done = run(plan, commands, settings=settings, seed=seed)
        if done.status != 0:
            raise RunError(f"live: {' '.join(first)} at {plan.hosts[0].name} failed, exit status {done.status}")
        said.seek(0)
        return said.read().decode(), done


@contextlib.contextmanager
def _standard_output(descriptor: int) -> Iterator[None]:
    """Redirects the standard output of programs to a descriptor."""
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(before)
