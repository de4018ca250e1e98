"""Mutated files of every format, up to 8 MB: each is read, or rejected in one line, within 5 s of CPU time and 2 GB.

`python tests/fuzz.py [--cases 10000] [--seed 1] [FORMAT ...]`: prints a line for each format, and each failure with the
file that caused it, kept in fuzz-failures/. `make fuzz` runs 10 000 cases of each format.
"""

import argparse
import faulthandler
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final
from unittest.mock import patch

from formats import FORMATS, Format
from longpipe.errors import RunError, ScenarioError

CPU_S: Final = 5.0
# Longer files are cut, because repeated mutations reach hundreds of megabytes, which no reader reads within the limit.
LARGEST_BYTES: Final = 8_000_000
# Largest memory of this process [MB].
MAX_MB: Final = 2000
# The maximum length of an error is large enough for what a reader needs to know, and small enough for a terminal.
LONGEST: Final = 700
KEPT: Final = Path("fuzz-failures")
# The pattern includes keys of TOML that are not fields, as in "tcp.m-ss: unknown field".
_FIELD: Final = re.compile(r"[\w-]+(?:\[\d+\])*(?:\.[\w-]+(?:\[\d+\])*)*: |[A-Za-z].* - .*: no route")


class TooSlow(BaseException):
    """Raised when a file takes more CPU time than allowed."""


@dataclass
class Tally:
    """Outcomes of a format's cases."""

    read: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    largest_mb: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        """Returns the outcomes in one line."""
        kinds = Counter(text.partition(":")[0] for _, text in self.failures)
        said = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
        return f"{self.read} read, {self.refused} refused, failures: {said}; slowest {self.slowest_s:.2f} s, {self.largest_mb} MB"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TooSlow after some CPU time; compiled code that hangs is terminated with its traceback."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(20 * seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def wrong(line: str, file: Path) -> str | None:
    """Returns the defect of an error line.

    It is None if the error names the file or a field in one line of bounded length.
    """
    if "\n" in line or not line.strip():
        return "not one line"
    if len(line) - len(str(file)) > LONGEST:
        return "long"
    return None if str(file) in line or _FIELD.match(line) else "neither file nor field"


def one(kind: Format, content: bytes, file: Path, tally: Tally) -> str | None:
    """Reads one file. Returns the defect of the outcome, if any."""
    file.write_bytes(content)
    began, before_mb = time.process_time(), _largest_mb()
    try:
        with limited(CPU_S), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = kind.read(file)
        lines: Sequence[str] = () if said is None else (said,)
        tally.read += 1
    except ScenarioError as error:
        lines = error.problems
        tally.refused += 1
    except RunError as error:
        lines = str(error).splitlines()
        tally.refused += 1
    except TooSlow:
        return f"slow: more than {CPU_S:g} s of CPU"
    except KeyboardInterrupt:
        raise
    # A panic of the core is not an Exception.
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        tally.slowest_s = max(tally.slowest_s, time.process_time() - began)
    tally.largest_mb = _largest_mb()
    if tally.largest_mb > max(before_mb, MAX_MB):
        return f"large: {tally.largest_mb} MB of memory"
    return next((f"{reason}: {line[:200]!r}" for line in lines if (reason := wrong(line, file))), None)


def _largest_mb() -> int:
    """Returns the largest memory of this process so far [MB]."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest // (1_000_000 if sys.platform == "darwin" else 1000)


def fuzz(kind: Format, cases: int, seed: int, kept: Path | None = None) -> Tally:
    """Reads `cases` mutated files of a format; the first files are the unchanged examples."""
    others = [content for other in FORMATS if other is not kind for content in other.seeds]
    tally = Tally()
    # Each module would leave a copy in the user's cache directory.
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, XDG_CACHE_HOME=folder):
        file = Path(folder) / f"file{kind.suffix}"
        for number in range(cases):
            draw = random.Random(f"{kind.name} {seed} {number}")
            content = kind.seeds[number % len(kind.seeds)]
            if number >= len(kind.seeds):
                content = kind.mutated(content, draw, others)[:LARGEST_BYTES]
            if (failure := one(kind, content, file, tally)) is not None:
                tally.failures.append((number, failure))
                if kept is not None:
                    kept.mkdir(exist_ok=True)
                    (kept / f"{kind.name}-{seed}-{number}{kind.suffix}").write_bytes(content)
    return tally


def main(words: Sequence[str]) -> int:
    """Runs the command line; the exit status is 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", metavar="FORMAT", nargs="*", help=", ".join(kind.name for kind in FORMATS))
    parser.add_argument("--cases", type=int, default=10_000, help="mutated files of each format")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    failed = 0
    for kind in FORMATS:
        if asked.formats and kind.name not in asked.formats:
            continue
        tally = fuzz(kind, asked.cases, asked.seed, KEPT)
        lines = [f"{kind.name}: {asked.cases} cases, seed {asked.seed}: {tally}"]
        lines += [f"  {kind.name} {number}: {failure}" for number, failure in tally.failures[:10]]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        failed += len(tally.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
