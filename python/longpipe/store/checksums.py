"""Checksums of stored rows, which detect damaged bytes when rows are read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from longpipe.store.errors import DamagedError

if TYPE_CHECKING:
    import sqlalchemy as sa

# Columns that the checksum of a row of `runs` covers.
RUN: Final = ("digest", "seed", "engine", "name", "finished_at", "seconds", "machine", "measures", "parts")
FAILURE: Final = ("digest", "seed", "engine", "name", "message", "failed_at")
SCENARIO: Final = ("digest", "resolved", "fields")
STUDY: Final = ("name", "design", "engine", "created_at", "changed_at", "runs", "plan")
VERSION: Final = ("version", "written_by")


def of_bytes(content: bytes) -> str:
    """Returns the checksum of a file's or summary's content: 64 bits of BLAKE2b in hexadecimal."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def of_values(values: Iterable[Any]) -> str:
    """Returns the checksum of text, numbers, times, bytes and lists of them, in order."""
    return of_bytes(orjson.dumps(list(values), default=_bytes))


def of_parts(summary: bytes, traces: Mapping[str, bytes]) -> dict[str, str]:
    """Returns the checksums of the data that a run has outside its row: its summary, and its trace files by kind."""
    return {"summary": of_bytes(summary), **{kind: of_bytes(content) for kind, content in traces.items()}}


def of_row(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """Returns the checksum of these columns of a row."""
    return of_values([row[name] for name in columns])


def of_rows(columns: Iterable[Iterable[Any]]) -> list[str | None]:
    """Returns the checksum of each row of a table, given its columns; None for a row that cannot have been stored."""
    return [_of_tuple(row) for row in zip(*columns, strict=True)]


def _of_tuple(row: tuple[Any, ...]) -> str | None:
    # Not `of_values`, which would copy each row to a list.
    try:
        return hashlib.blake2b(orjson.dumps(row, default=_bytes), digest_size=8).hexdigest()
    except TypeError:
        return None


def of_plan(points: Iterable[Iterable[Any]], runs: Iterable[Iterable[Any]]) -> str:
    """Returns the checksum of a study's points (number, digest, levels) and runs (point, replication, seed)."""
    return of_values([list(map(tuple, points)), list(map(tuple, runs))])


def check(row: Mapping[str, Any], columns: Iterable[str], subject: str) -> None:
    """Raises a DamagedError that names `subject` unless the row's `checksum` matches its columns."""
    try:
        if of_row(row, columns) == row["checksum"]:
            return
    except (TypeError, KeyError):
        # A number may have become text, or a column may have another name.
        pass
    raise DamagedError(subject)


def check_bytes(content: bytes | None, expected: str | None, subject: str) -> None:
    """Raises a DamagedError that names `subject` unless the checksum matches the content."""
    if not isinstance(content, bytes) or of_bytes(content) != expected:
        raise DamagedError(subject)


def check_integrity(connection: sa.Connection, tables: Iterable[sa.Table] = ()) -> None:
    """Raises DamagedError if SQLite finds tables (default: all) that contradict their indices.

    Does nothing for other databases, because their servers check the integrity themselves.
    """
    if connection.dialect.name != "sqlite":
        return
    # The argument of the pragma is a table, or the maximum number of problems found in all tables.
    for argument in [table.name for table in tables] or ["1"]:
        lines = str(connection.exec_driver_sql(f"PRAGMA integrity_check({argument})").scalars().first()).splitlines()
        if lines != ["ok"]:
            raise DamagedError(lines[-1])


def rows_of(connection: sa.Connection, query: sa.Executable) -> list[Any]:
    """Returns the rows of a query. Raises DamagedError if a value is invalid for its column."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return list(connection.execute(query).all())
    except SQLAlchemyError:
        raise
    except (ValueError, TypeError, OverflowError):
        # SQLAlchemy's error for a time that cannot be parsed.
        raise DamagedError("a value does not fit its column") from None


def _bytes(value: object) -> str:
    """Encodes bytes, which JSON does not have, as their checksum."""
    if isinstance(value, bytes):
        return of_bytes(value)
    raise TypeError
