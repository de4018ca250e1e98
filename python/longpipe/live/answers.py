"""Runs programs at the ends of a path, for example those of `longpipe.live.programs`, and captures their output."""

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
    """Runs one of `PROGRAMS` at each host. Returns the output of the first program and the result of the run.

    Raises RunError if the first program fails.
    """
    return output_of(plan, [*PROGRAMS, *first], [*PROGRAMS, *other], settings, seed=seed)


def output_of(
    plan: Plan, first: Sequence[str], other: Sequence[str], settings: Settings, *, seed: int = 1
) -> tuple[str, LiveRun]:
    """Runs a command at each host. Returns the output of the first command and the result of the run.

    Raises RunError if the first command fails.
    """
    with tempfile.TemporaryFile() as output:
        with _standard_output(output.fileno()):
            commands = {plan.hosts[0].name: first, plan.hosts[1].name: other}
            done = run(plan, commands, settings=settings, seed=seed)
        if done.status != 0:
            ran = " ".join(first[len(PROGRAMS) :] if tuple(first[: len(PROGRAMS)]) == PROGRAMS else first)
            raise RunError(f"live: {ran} at {plan.hosts[0].name} failed, exit status {done.status}")
        output.seek(0)
        return output.read().decode(), done


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
