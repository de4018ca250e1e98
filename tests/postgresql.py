"""A PostgreSQL server for the tests, without a TCP port, in a temporary directory."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    data = home / "data"
    try:
        _run(binaries / "initdb", "--pgdata", data, "--auth", "trust", "--username", "longpipe", "--no-sync")
        options = f"-c unix_socket_directories={home} -c listen_addresses='' -c fsync=off"
        _run(binaries / "pg_ctl", "--pgdata", data, "--wait", "--log", home / "log", "--options", options, "start")
        try:
            yield home
        finally:
            _run(binaries / "pg_ctl", "--pgdata", data, "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(home)


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
