"""Reads and writes rows of single runs with SQL text that works in both SQLite and PostgreSQL.

This module is all that a single run needs from a store. SQLAlchemy, which campaigns and studies use, takes
longer to load than a short run takes.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from longpipe.store import checksums
from longpipe.store.errors import DamagedError
from longpipe.store.measured import packed

if TYPE_CHECKING:
    import sqlalchemy as sa

# Version of the tables that `schema` defines.
VERSION: Final = 9

Values = Mapping[str, Any]

# Columns of a run's key, of a run, and of a row that `_FIND` returns.
_KEY: Final = ("digest", "seed", "engine")
_OF_RUN: Final = (*checksums.RUN, "checksum")
_FIND_COLUMNS: Final = ("key_digest", "key_seed", *_OF_RUN, "summary")

_FIND: Final = (
    "SELECT receipts.digest, receipts.seed, {columns}, summaries.summary FROM receipts"
    " LEFT OUTER JOIN runs ON runs.digest = receipts.digest AND runs.seed = receipts.seed"
    " AND runs.engine = receipts.engine"
    " LEFT OUTER JOIN summaries ON summaries.run = runs.id"
    " WHERE receipts.engine = :engine AND (receipts.digest, receipts.seed) IN (VALUES {keys})"
)
_SAVE_SCENARIO: Final = (
    "INSERT INTO scenarios (digest, resolved, fields, checksum) VALUES (:digest, :resolved, :fields, :checksum)"
    " ON CONFLICT DO NOTHING"
)
_SAVE_SUMMARY: Final = (
    "INSERT INTO summaries (run, summary)"
    " SELECT id, :summary FROM runs WHERE digest = :digest AND seed = :seed AND engine = :engine"
    " ON CONFLICT (run) DO UPDATE SET summary = excluded.summary"
)
_SAVE_MEASURES: Final = (
    "INSERT INTO measured (run, measures)"
    " SELECT id, :packed FROM runs WHERE digest = :digest AND seed = :seed AND engine = :engine"
    " ON CONFLICT (run) DO UPDATE SET measures = excluded.measures"
)
_SAVE_RECEIPT: Final = (
    "INSERT INTO receipts (digest, seed, engine, checksum) VALUES (:digest, :seed, :engine, :checksum)"
    " ON CONFLICT (digest, seed, engine) DO UPDATE SET checksum = excluded.checksum"
)
# Leases of finished runs have no effect; without them, counting the claimed runs takes little time.
_END_LEASE: Final = "DELETE FROM claims WHERE digest = :digest AND seed = :seed AND engine = :engine"


def _save_run() -> str:
    """Returns the statement that stores a run, or replaces the run with the same key."""
    names, values = ", ".join(_OF_RUN), ", ".join(f":{name}" for name in _OF_RUN)
    changed = ", ".join(f"{name} = excluded.{name}" for name in _OF_RUN if name not in _KEY)
    return (
        f"INSERT INTO runs ({names}) VALUES ({values})"  # noqa: S608 - constants
        f" ON CONFLICT (digest, seed, engine) DO UPDATE SET {changed}"
    )


_SAVE_RUN: Final = _save_run()


class Transaction(Protocol):
    """An open transaction that executes SQL text with named parameters."""

    # "sqlite" or "postgresql".
    kind: str

    def rows(self, text: str, values: Values) -> list[Any]:
        """Executes a statement and returns its rows."""

    def repeat(self, text: str, values: Sequence[Values]) -> None:
        """Executes a statement once for each set of values; there is at least one."""


class OfDriver:
    """A transaction that uses Python's own driver for SQLite."""

    kind = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, text: str, values: Values) -> list[Any]:
        """Executes a statement and returns its rows."""
        return self._connection.execute(text, values).fetchall()

    def repeat(self, text: str, values: Sequence[Values]) -> None:
        """Executes a statement once for each set of values; there is at least one."""
        self._connection.executemany(text, values)


class OfSqlAlchemy:
    """A transaction that uses SQLAlchemy."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self.kind = connection.dialect.name

    def rows(self, text: str, values: Values) -> list[Any]:
        """Executes a statement and returns its rows."""
        result = self._connection.exec_driver_sql(self._native(text), dict(values))
        return list(result.all()) if result.returns_rows else []

    def repeat(self, text: str, values: Sequence[Values]) -> None:
        """Executes a statement once for each set of values; there is at least one."""
        self._connection.exec_driver_sql(self._native(text), list(map(dict, values)))

    def _native(self, text: str) -> str:
        return text if self.kind == "sqlite" else _of_psycopg(text)


@lru_cache(maxsize=64)
def _of_psycopg(text: str) -> str:
    """Returns a statement with psycopg's names of parameters."""
    return re.sub(r":(\w+)", r"%(\1)s", text)


def is_current(connection: sqlite3.Connection) -> bool:
    """Returns whether an SQLite file is an intact store of this version with all tables. May raise sqlite3.Error."""
    cursor = connection.execute("SELECT * FROM longpipe")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    if len(rows) != 1 or rows[0].get("version") != VERSION:
        return False
    try:
        checksums.check(rows[0], checksums.VERSION, "its version")
    except DamagedError:
        return False
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'measured'").fetchone() is not None


def find(transaction: Transaction, keys: Sequence[tuple[str, str]], engine: str) -> dict[tuple[str, str], Values]:
    """Returns the rows of finished runs with their summaries, keyed by digest and by seed as text.

    If a finished run is missing, the values of its row are None. Raises DamagedError for an invalid time.
    """
    values = {"engine": engine}
    for number, (digest, seed) in enumerate(keys):
        values |= {f"digest_{number}": digest, f"seed_{number}": seed}
    text = _FIND.format(
        columns=", ".join(f"runs.{name}" for name in _OF_RUN),
        keys=", ".join(f"(:digest_{number}, :seed_{number})" for number in range(len(keys))),
    )
    rows_by_key: dict[tuple[str, str], Values] = {}
    for row in transaction.rows(text, values):
        named = dict(zip(_FIND_COLUMNS, row, strict=True))
        if transaction.kind == "sqlite" and named["finished_at"] is not None:
            named["finished_at"] = _time(named["finished_at"])
        rows_by_key[named["key_digest"], named["key_seed"]] = named
    return rows_by_key


def save_scenarios(transaction: Transaction, scenarios: Sequence[Values]) -> None:
    """Stores the scenarios that are not stored yet."""
    if scenarios:
        transaction.repeat(_SAVE_SCENARIO, scenarios)


def save(transaction: Transaction, runs: Sequence[Values]) -> None:
    """Stores finished runs, each with its `summary`, and ends their leases; replaces runs with the same keys."""
    written = [dict(run) for run in runs]
    if transaction.kind == "sqlite":
        # Times are converted to text, because SQLite has no type for them.
        for run in written:
            run["finished_at"] = run["finished_at"].isoformat(" ", "microseconds")
    for statement in (_SAVE_RUN, _SAVE_SUMMARY, _SAVE_RECEIPT, _END_LEASE):
        transaction.repeat(statement, written)
    measured = [
        run | {"packed": packed(*(run[name] for name in (*_KEY, "measures")))} for run in written if run["measures"]
    ]
    if measured:
        transaction.repeat(_SAVE_MEASURES, measured)


def _time(text: Any) -> datetime:  # noqa: ANN401 - any value in a damaged file
    """Returns the time that an SQLite column has as text."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise DamagedError("a value does not fit its column") from None
