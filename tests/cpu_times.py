"""Plugin of pytest that writes the CPU time of each test: PYTHONPATH=tests CPU_TIMES=FOLDER pytest -p cpu_times.

Each worker of pytest-xdist writes a table: test, CPU time of the process [s], CPU time of its ended children [s], and number
of programs that it started. The first row is the collection. Pools of workers count when their fork server ends.
"""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

_TABLE: Final = Path(os.environ["CPU_TIMES"]) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.tsv"
_START: Final = subprocess.Popen.__init__
_Counts = tuple[float, float, int]
_started = 0


def _count_and_start(self: Any, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as in subprocess
    global _started
    _started += 1
    _START(self, *arguments, **options)


def _now() -> _Counts:
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (usage.ru_utime + usage.ru_stime for usage in times)
    return own, children, _started


def _write(name: str, before: _Counts) -> None:
    own, children, started = (now - then for now, then in zip(_now(), before, strict=True))
    with _TABLE.open("a", encoding="utf-8") as file:
        file.write(f"{name}\t{own:.3f}\t{children:.3f}\t{started}\n")


def pytest_configure() -> None:
    _TABLE.parent.mkdir(parents=True, exist_ok=True)
    subprocess.Popen.__init__ = _count_and_start  # type: ignore[method-assign]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    _write("collection", (0.0, 0.0, 0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = _now()
    result = yield
    _write(item.nodeid, before)
    return result
