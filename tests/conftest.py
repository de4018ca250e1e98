"""Fixtures: databases and namespaces. Tests do not use the store of the user who runs them."""

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_programs import IDLE, refused
from longpipe.__main__ import COLLECT_AFTER
from postgresql import create, server

# Files that begin first: two take the longest, because they compile code, and the others would run last by their names.
FIRST = {"test_wheel.py", "test_how_to.py", "test_unused_options.py", "test_www_98.py"}
_OWN = tempfile.mkdtemp(prefix="longpipe-tests-")
# File that exists once the first worker has collected the tests, and the maximum time [s] for which the others wait.
_COLLECTED = Path(tempfile.gettempdir()) / f"longpipe-tests-{os.environ.get('PYTEST_XDIST_TESTRUNUID')}"
FIRST_WORKER_S = 120
# These are set before test modules copy the environment for the commands that they start.
os.environ["LONGPIPE_STORE"] = str(Path(_OWN) / "runs.db")
os.environ["XDG_STATE_HOME"] = str(Path(_OWN) / "state")
# A shell's background jobs ignore SIGINT, nohup ignores SIGHUP, and the commands that tests start would inherit both.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Garbage collections are rare with longpipe's threshold; each one searches millions of objects of all tests' libraries.
gc.set_threshold(COLLECT_AFTER)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Lets the first worker of pytest-xdist cache the bytecode of all modules, which otherwise each worker compiles."""
    worker, deadline = os.environ.get("PYTEST_XDIST_WORKER"), time.monotonic() + FIRST_WORKER_S
    while worker not in (None, "gw0") and not _COLLECTED.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    result = yield
    if worker == "gw0":
        _COLLECTED.touch()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # These files, and pages, run first, so that no processor waits for them at the end.
    items.sort(key=lambda item: (item.path.name not in FIRST, item.path.suffix == ".py"))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_store() -> Iterator[None]:
    yield
    shutil.rmtree(_OWN)
    _COLLECTED.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Path]:
    """Returns the socket directory of a PostgreSQL server."""
    with server() as home:
        yield home


@pytest.fixture
def database(postgresql: Path) -> str:
    """Returns the URL of an empty PostgreSQL database."""
    return create(postgresql)


@pytest.fixture
def namespaces() -> None:
    if sys.platform != "linux":
        pytest.skip("no Linux")
    pytest.importorskip("pyroute2")
    if (reason := refused()) is not None:
        pytest.skip(f"neither root nor user namespaces: {reason}")


@pytest.fixture
def idle(tmp_path: Path) -> str:
    file = tmp_path / "idle.toml"
    file.write_text(IDLE)
    return str(file)
