"""The store of whoever runs the tests is left alone; databases for those that need one."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from postgresql import server

_OWN = tempfile.mkdtemp(prefix="longpipe-tests-")
# Before test modules copy the environment for the commands that they start.
os.environ["LONGPIPE_STORE"] = str(Path(_OWN) / "runs.db")


@pytest.fixture(scope="session", autouse=True)
def _own_store() -> Iterator[None]:
    yield
    shutil.rmtree(_OWN)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Path]:
    """The socket directory of a PostgreSQL server."""
    with server() as home:
        yield home


@pytest.fixture
def database(postgresql: Path) -> str:
    """The URL of an empty PostgreSQL database."""
    name = f"d{uuid.uuid4().hex[:8]}"
    with psycopg.connect(host=str(postgresql), user="longpipe", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"postgresql://longpipe@/{name}?host={postgresql}"
