"""Runs `longpipe` in the process of the tests, because a separate process takes a third of a second to start.

Tests of the start, of signals and of exits start a process (test_startup.py, test_interrupts.py, test_kills.py).
"""

import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from longpipe.cli import main

# Environment for output without colors, in lines of 80 columns.
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def run(
    *arguments: object, cwd: Path | None = None, environment: Mapping[str, str] = PLAIN
) -> subprocess.CompletedProcess[str]:
    """Runs a command line with an additional environment; returns its exit status and its output."""
    words, stdout, stderr = [*map(str, arguments)], io.StringIO(), io.StringIO()
    with ExitStack() as stack:
        stack.enter_context(patch.object(sys, "argv", ["longpipe", *words]))
        stack.enter_context(patch.dict(os.environ, environment))
        stack.enter_context(redirect_stdout(stdout))
        stack.enter_context(redirect_stderr(stderr))
        # Warnings are not errors, as in the command's own process.
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("default")
        if cwd is not None:
            stack.enter_context(chdir(cwd))
        status = _status()
    assert "Traceback" not in stderr.getvalue()
    return subprocess.CompletedProcess(["longpipe", *words], status, stdout.getvalue(), stderr.getvalue())


def _status() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


def without_cpu_time(printed: str) -> str:
    """Returns the output of `longpipe design` on one line, without the processor time, which is measured."""
    return re.sub(r"about [\d.]+ \w+ of processor time", "", " ".join(printed.split()))
