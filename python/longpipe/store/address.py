"""Addresses of stores (a path, or a URL of SQLite or PostgreSQL), and functions that open them."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, nearest
from longpipe.inputs.bytes import check_regular
from longpipe.store.rows import is_current
from longpipe.system.files import will_read

if TYPE_CHECKING:
    import sqlalchemy as sa

# Time limit [s] for waiting for another process's write, and for a server's answer.
_LOCK_S: Final = 60
_CONNECT_S: Final = 10
# Network file systems, which lack the shared memory that write-ahead logs need.
_NETWORKS: Final = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "fuse.sshfs", "9p", "afs")
_KINDS: Final = ("sqlite", "postgresql")
# Execution option that marks write transactions.
WRITES: Final = "longpipe_writes"
# Matches the URL of an SQLite file without options; such a URL is parsed without SQLAlchemy.
_FILE: Final = re.compile(r"sqlite:///([^?]+)")


class Address:
    """A store's URL without options, its display name, and its directory of traces, if any.

    `where` is the path of an SQLite file, a URL ("sqlite:///campaign.db", "postgresql://user@host/name"), or None for
    memory. `?traces=DIR` in a URL sets the directory of traces; for an SQLite file, the default is FILE.traces. Raises
    ScenarioError for any other URL.
    """

    def __init__(self, where: str | Path | None) -> None:
        self._where = where
        plain = _FILE.fullmatch(where) if isinstance(where, str) else None
        if plain is not None or isinstance(where, Path) or (where is not None and "://" not in where):
            self._database: str | None = plain[1] if plain else str(where)
            self.is_sqlite, traces = True, None
        else:
            url = _url(where)
            traces = url.query.get("traces")
            self._database, self.is_sqlite = url.database, url.get_backend_name() == "sqlite"
        self.is_memory = self.is_sqlite and self._database in (None, "", ":memory:")
        self.name = "in memory" if self.is_memory else str(self.path) if self.is_sqlite else self.shown_url
        if isinstance(traces, str):
            self.traces: Path | None = Path(traces)
        elif self.is_sqlite and not self.is_memory:
            self.traces = self.path.with_name(f"{self.path.name}.traces")
        else:
            self.traces = None

    @cached_property
    def url(self) -> sa.URL:
        """Returns the URL without the directory of traces."""
        return _url(self._where).difference_update_query(["traces"])

    @property
    def shown_url(self) -> str:
        """Returns the URL without the password."""
        return self.url.render_as_string(hide_password=True)

    @property
    def path(self) -> Path:
        """Returns the SQLite file."""
        return Path(self._database or "")

    def is_same_as(self, other: Address) -> bool:
        """Returns whether both are the same file, or the same URL of a server."""
        if self.is_memory or other.is_memory or self.is_sqlite != other.is_sqlite:
            return False
        return self.path.resolve() == other.path.resolve() if self.is_sqlite else self.url == other.url

    def is_protected(self) -> bool:
        """Returns whether the store is a file that this process may read but not write."""
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
        import sqlalchemy as sa
        from sqlalchemy.pool import StaticPool

        if not self.is_sqlite:
            return self._postgresql(readonly=readonly)
        will_read(self.path)
        if not self.is_memory and self.path.exists():
            check_regular(f"store: {self.name}", self.path.stat().st_mode, "a database, or a new file")
        if self.is_memory:
            engine = sa.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        else:
            if readonly and not self.path.exists():
                raise ScenarioError(f"store: {self.name}: no such file; needs the store of an earlier run")
            if not readonly:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            target, options = self._target(readonly=readonly)
            url = sa.URL.create("sqlite", database=target, query=options) if options else self.url
            engine = sa.create_engine(url, connect_args={"timeout": _LOCK_S})
        _manage_transactions(engine)
        if not (readonly or self.is_memory or _is_on_network(self.path)):
            _write_ahead(engine)
        return engine

    def driver(self, *, readonly: bool) -> sqlite3.Connection | None:
        """Opens an SQLite file with Python's own driver; returns None unless it is an intact store of this version.

        It also returns None if a write-ahead log is missing or left over, because that requires further checks.
        """
        if not self.is_sqlite or self.is_memory or not self.path.is_file() or self.has_log():
            return None
        target, options = self._target(readonly=readonly)
        query = "&".join(f"{name}={value}" for name, value in options.items() if name != "uri")
        connection = None
        try:
            connection = sqlite3.connect(
                f"{target}?{query}" if options else target, _LOCK_S, uri=bool(options), check_same_thread=False
            )
            _set_up(connection)
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if (readonly or mode == "wal") and is_current(connection):
                will_read(self.path)
                connected, connection = connection, None
                return connected
        except sqlite3.Error:
            # SQLAlchemy encounters the same error, and it is explained there.
            pass
        finally:
            if connection is not None:
                connection.close()
        return None

    def _target(self, *, readonly: bool) -> tuple[str, dict[str, str]]:
        """Returns the driver's argument, a path or a URI without options, and the options."""
        if not readonly:
            return str(self.path), {}
        # A read-only file without a log needs no locks; the files that locks need could not be created anyway.
        log = self.path.with_name(f"{self.path.name}-wal")
        immutable = not os.access(self.path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
        return f"file:{self.path.resolve()}", {"mode": "ro", "uri": "true", **({"immutable": "1"} if immutable else {})}

    def _postgresql(self, *, readonly: bool) -> sa.Engine:
        import sqlalchemy as sa

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
    from platformdirs import user_data_path

    return f"sqlite:///{user_data_path('longpipe', appauthor=False) / 'runs.db'}"


def _url(where: str | Path | None) -> sa.URL:
    import sqlalchemy as sa
    from sqlalchemy.exc import ArgumentError

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
        raise ScenarioError(f"store: {kind}://...: cannot be read; {accepted}") from None


def _manage_transactions(engine: sa.Engine) -> None:
    """Makes write transactions take the write lock when they start, so that they never conflict later."""
    import sqlalchemy as sa

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's connection
        _set_up(connection)

    @sa.event.listens_for(engine, "begin")
    def began(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _set_up(connection: sqlite3.Connection) -> None:
    # Without this, the driver would start transactions by itself.
    connection.isolation_level = None
    # If there is a write-ahead log, this is safe against kill -9; a power loss may lose only the last runs.
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


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
    # Imported here because only new stores need it.
    import psutil

    resolved = path.resolve()
    mounts = [disk for disk in psutil.disk_partitions(all=True) if resolved.is_relative_to(disk.mountpoint)]
    if not mounts:
        return False
    return max(mounts, key=lambda disk: len(disk.mountpoint)).fstype.startswith(_NETWORKS)
