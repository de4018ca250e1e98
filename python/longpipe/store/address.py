"""Addresses of stores, a path or a URL of SQLite or PostgreSQL, and how to open them."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

import psutil
import sqlalchemy as sa
from platformdirs import user_data_path
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import StaticPool

from longpipe.errors import ScenarioError, nearest
from longpipe.files import will_read

# Time limit for another process's write, and for the answer of a server [s].
_LOCK_S: Final = 60
_CONNECT_S: Final = 10
# File systems of networks, which lack the shared memory that write-ahead logs need.
_NETWORKS: Final = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "fuse.sshfs", "9p", "afs")
_KINDS: Final = ("sqlite", "postgresql")
# Execution option of transactions that write.
WRITES: Final = "longpipe_writes"


class Address:
    """A store's URL without options, its display name, and its directory of traces, if any.

    `where` is a path of an SQLite file, a URL ("sqlite:///campaign.db", "postgresql://user@host/name"), or None for
    memory. `?traces=DIR` in a URL says where traces go; beside an SQLite file they go to FILE.traces. Raises
    ScenarioError for any other URL.
    """

    def __init__(self, where: str | Path | None) -> None:
        url = _url(where)
        traces = url.query.get("traces")
        self.url = url.difference_update_query(["traces"])
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.is_memory = self.is_sqlite and url.database in (None, "", ":memory:")
        # The URL without the password.
        self.shown_url = url.render_as_string(hide_password=True)
        self.name = "in memory" if self.is_memory else str(self.path) if self.is_sqlite else self.shown_url
        if isinstance(traces, str):
            self.traces: Path | None = Path(traces)
        elif self.is_sqlite and not self.is_memory:
            self.traces = self.path.with_name(f"{self.path.name}.traces")
        else:
            self.traces = None

    @property
    def path(self) -> Path:
        """Returns the SQLite file."""
        return Path(self.url.database or "")

    def is_protected(self) -> bool:
        """Returns whether it is a file that this process may read but not write."""
        return (
            self.is_sqlite
            and self.path.is_file()
            and not all(os.access(p, os.W_OK) for p in (self.path, self.path.parent))
        )

    def has_log(self) -> bool:
        """Returns whether SQLite's write-ahead log exists: a process uses the store, or ended without closing it."""
        if not self.is_sqlite or self.is_memory:
            return False
        logs = (self.path.with_name(f"{self.path.name}-{kind}") for kind in ("wal", "journal"))
        return any(log.exists() and log.stat().st_size for log in logs)

    def engine(self, *, readonly: bool) -> sa.Engine:
        """Opens the database, and creates its directory if necessary."""
        if not self.is_sqlite:
            return self._postgresql(readonly=readonly)
        will_read(self.path)
        if self.is_memory:
            engine = sa.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        else:
            if readonly and not self.path.exists():
                raise ScenarioError(f"store: {self.name}: no such file; needs the store of an earlier run")
            if not readonly:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            engine = sa.create_engine(self._sqlite_url(readonly=readonly), connect_args={"timeout": _LOCK_S})
        _manage_transactions(engine)
        if not (readonly or self.is_memory or _is_on_network(self.path)):
            _write_ahead(engine)
        return engine

    def _sqlite_url(self, *, readonly: bool) -> sa.URL:
        if not readonly:
            return self.url
        # A read-only file without a log needs no locks, for which no file could be created.
        log = self.path.with_name(f"{self.path.name}-wal")
        immutable = not os.access(self.path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
        query = {"mode": "ro", "uri": "true", **({"immutable": "1"} if immutable else {})}
        return sa.URL.create("sqlite", database=f"file:{self.path.resolve()}", query=query)

    def _postgresql(self, *, readonly: bool) -> sa.Engine:
        options = {"options": "-c default_transaction_read_only=on"} if readonly else {}
        try:
            return sa.create_engine(
                self.url.set(drivername="postgresql+psycopg"),
                connect_args={"connect_timeout": _CONNECT_S, **options},
                pool_pre_ping=True,
            )
        except ImportError:
            raise ScenarioError(
                f"store: {self.name}: no driver for PostgreSQL here; needs: pip install 'longpipe[postgres]'"
            ) from None


def default_url() -> str:
    """Returns the URL of the default store of commands: a file in the user's data directory."""
    return f"sqlite:///{user_data_path('longpipe', appauthor=False) / 'runs.db'}"


def _url(where: str | Path | None) -> sa.URL:
    if where is None:
        return sa.make_url("sqlite://")
    if isinstance(where, Path) or "://" not in where:
        return sa.URL.create("sqlite", database=str(where))
    kind = where.partition("://")[0].partition("+")[0]
    accepted = "needs a file, or a URL such as 'sqlite:///campaign.db' or 'postgresql://user@host/name'"
    if kind not in (*_KINDS, "postgres"):
        shown = f"{kind}://..." if kind else repr(where)
        raise ScenarioError(f"store: {shown}: unknown kind of store; {nearest(kind, _KINDS)}; {accepted}")
    try:
        return sa.make_url(where).set(drivername="sqlite" if kind == "sqlite" else "postgresql")
    except (ArgumentError, ValueError):
        raise ScenarioError(f"store: {kind}://...: can't be read; {accepted}") from None


def _manage_transactions(engine: sa.Engine) -> None:
    """Makes transactions that write take the write lock at their start, so that they never conflict later."""

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's connection
        # Otherwise the driver starts transactions itself.
        connection.isolation_level = None
        # With a write-ahead log this is safe against kill -9; a power loss may cost the last runs only.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @sa.event.listens_for(engine, "begin")
    def began(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _write_ahead(engine: sa.Engine) -> None:
    deadline = time.monotonic() + _LOCK_S
    while True:
        raw = engine.raw_connection()
        try:
            cursor = raw.cursor()
            if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.Error as error:
            # Changing the mode does not wait for other processes, unlike other statements.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        finally:
            raw.close()
        time.sleep(0.05)


def _is_on_network(path: Path) -> bool:
    there = path.resolve()
    mounts = [disk for disk in psutil.disk_partitions(all=True) if there.is_relative_to(disk.mountpoint)]
    if not mounts:
        return False
    return max(mounts, key=lambda disk: len(disk.mountpoint)).fstype.startswith(_NETWORKS)
