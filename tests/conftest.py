"""Fixtures: databases and namespaces. Tests do not use the store of the user who runs them."""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live_programs import IDLE, refused
from postgresql import server

_OWN = tempfile.mkdtemp(prefix="longpipe-tests-")
# These are set before test modules copy the environment for the commands that they start.
os.environ["LONGPIPE_STORE"] = str(Path(_OWN) / "runs.db")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The longest file comes first instead of last, so that no processor waits for it at the end.
    items.sort(key=lambda item: item.path.name != "test_wheel.py")


@pytest.fixture(scope="session", autouse=True)
def _own_store() -> Iterator[None]:
    yield
    shutil.rmtree(_OWN)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Path]:
    """Returns the socket directory of a PostgreSQL server."""
    with server() as home:
        yield home


@pytest.fixture
def database(postgresql: Path) -> str:
    """Returns the URL of an empty PostgreSQL database."""
    name = f"d{uuid.uuid4().hex[:8]}"
    with psycopg.connect(host=str(postgresql), user="longpipe", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"postgresql://longpipe@/{name}?host={postgresql}"


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
