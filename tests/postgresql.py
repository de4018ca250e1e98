"""A PostgreSQL server for the tests, without a TCP port, in a temporary directory."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

# PostgreSQL refuses to run as root.
_USER = "nobody" if os.geteuid() == 0 else None


@contextmanager
def server() -> Iterator[Path]:
    """Returns the directory of the server's socket; skips the test if PostgreSQL is not installed."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("needs PostgreSQL: Debian's package postgresql")
    # The directory is near the root, because the length of a socket's path is limited.
    home = Path(tempfile.mkdtemp(prefix="longpipe-pg-"))
    if _USER is not None:
        shutil.chown(home, _USER)
    try:
        data = home / "data"
        _run(binaries / "initdb", "--pgdata", data, "--auth", "trust", "--username", "longpipe", "--no-sync")
        begin(home)
        try:
            yield home
        finally:
            crash(home)
    finally:
        shutil.rmtree(home)


def begin(home: Path) -> None:
    """Starts the server, also after a crash."""
    options = f"-c unix_socket_directories={home} -c listen_addresses='' -c fsync=off"
    _control(home, "--wait", "--log", home / "log", "--options", options, "start")


def crash(home: Path) -> None:
    """Ends the server without a checkpoint, as a crash does."""
    _control(home, "--mode", "immediate", "stop")


def create(home: Path) -> str:
    """Returns the URL of a new database."""
    name = f"d{uuid.uuid4().hex[:8]}"
    with psycopg.connect(host=str(home), user="longpipe", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"postgresql://longpipe@/{name}?host={home}"


def _control(home: Path, *options: str | Path) -> None:
    binaries = _binaries()
    assert binaries is not None
    _run(binaries / "pg_ctl", "--pgdata", home / "data", *options)


def _binaries() -> Path | None:
    # Debian does not add these programs to the path.
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    anywhere = shutil.which("initdb")
    return found[-1].parent if found else Path(anywhere).parent if anywhere else None


def _run(*command: str | Path) -> None:
    # The output goes to a file, because `run` would wait for a server that keeps a pipe open.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(command, stdout=said, stderr=said, user=_USER, cwd="/", check=False)
        said.seek(0)
        assert done.returncode == 0, said.read().decode()
