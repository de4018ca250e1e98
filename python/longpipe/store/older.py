"""The frozen reader of stores whose tables have version 1 to 8: it copies them into a store of the present version.

These versions were never released, so that stores of them are only read. Runs keep the engine that made them, and the
names of their columns. The tables of versions 2 to 8 differ from those of version 9 in columns that were added later,
most of all checksums; version 1 has only scenarios and runs, with the engine in the column `build`.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import sqlalchemy as sa

from longpipe.store import checksums
from longpipe.store.errors import DamagedError
from longpipe.store.packing import summary_text
from longpipe.store.schema import (
    FAILURES,
    RECEIPTS,
    RUNS,
    SCENARIOS,
    STUDIES,
    STUDY_POINTS,
    STUDY_RUNS,
    SUMMARIES,
)

# Rows per statement.
_BATCH: Final = 500
_FIRST: Final = 1


def copy(read: sa.Connection, write: sa.Connection, version: int) -> None:
    """Copies a store of an older version into an empty store of the present version, and adds checksums.

    Raises DamagedError if SQLite finds the file damaged, and for a summary or a value that cannot be read.
    """
    checksums.check_integrity(read)
    try:
        _copy(read, write, version)
    except (ValueError, TypeError, OverflowError):
        # SQLAlchemy's error for a time that cannot be parsed, and the checksum's error for a value of another type.
        raise DamagedError("a value does not fit its column") from None


def _copy(read: sa.Connection, write: sa.Connection, version: int) -> None:
    old = sa.MetaData()
    old.reflect(read)
    for rows in _rows(read, old, SCENARIOS):
        _insert(write, SCENARIOS, map(_scenario, rows))
    if version != _FIRST and (runs := _count(read, RUNS)) != (summaries := _count(read, SUMMARIES)):
        raise DamagedError(f"{runs} runs with {summaries} summaries")
    for run, summary in _runs(read, old, version):
        (number,) = write.execute(sa.insert(RUNS).values(run).returning(RUNS.c.id)).one()
        write.execute(sa.insert(SUMMARIES).values(run=number, summary=summary))
        write.execute(sa.insert(RECEIPTS).values({column.name: run[column.name] for column in RECEIPTS.c}))
    for rows in _rows(read, old, FAILURES):
        _insert(write, FAILURES, (_checked(row, checksums.FAILURE) for row in rows))
    for rows in _rows(read, old, STUDIES):
        _insert(write, STUDIES, [_study(read, row) for row in rows])
    for table in (STUDY_POINTS, STUDY_RUNS):
        for rows in _rows(read, old, table):
            _insert(write, table, rows)


def _rows(read: sa.Connection, old: sa.MetaData, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows of a table in batches, with None in columns that the old table lacks; none without the table."""
    if table.name not in old.tables:
        return
    old_columns = old.tables[table.name].c
    columns = [
        table.c[column.name] if column.name in old_columns else sa.null().label(column.name) for column in table.c
    ]
    rows = read.execute(sa.select(*columns).select_from(table)).mappings()
    while batch := rows.fetchmany(_BATCH):
        yield [dict(row) for row in batch]


def _scenario(row: dict[str, Any]) -> dict[str, Any]:
    what = f"scenario {row['digest'][:16]}"
    row["resolved"] = _compressed(row["resolved"], what)
    if hashlib.sha256(zlib.decompress(row["resolved"])).hexdigest() != row["digest"]:
        raise DamagedError(what)
    return _checked(row, checksums.SCENARIO)


def _runs(read: sa.Connection, old: sa.MetaData, version: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yields the rows of the runs without their numbers, with their summaries, in the order of their completion."""
    runs = old.tables[RUNS.name]
    if version == _FIRST:
        query = sa.select(runs).order_by(runs.c.finished_at)
    else:
        summaries = old.tables[SUMMARIES.name]
        query = sa.select(runs, summaries.c.summary).join(summaries).order_by(runs.c.id)
    for row in read.execute(query.execution_options(yield_per=_BATCH)).mappings():
        yield _run(dict(row))


def _run(row: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    summary = _compressed(row["summary"], f"the run of scenario {row['name']!r}, seed {row['seed']}")
    run = {column.name: row.get(column.name) for column in RUNS.c if column.name != "id"}
    run |= {"engine": row.get("build", row["engine"]), "parts": json.dumps({"summary": checksums.of_bytes(summary)})}
    return _checked(run, checksums.RUN), summary


def _compressed(content: object, what: str) -> bytes:
    """Returns compressed JSON, which version 1 stores as text. Raises DamagedError if it cannot be decompressed."""
    if isinstance(content, str):
        return zlib.compress(content.encode(), level=1)
    try:
        summary_text(content)  # type: ignore[arg-type]
    except (zlib.error, TypeError):
        raise DamagedError(what) from None
    assert isinstance(content, bytes)  # noqa: S101 - otherwise it could not be decompressed
    return content


def _study(read: sa.Connection, row: dict[str, Any]) -> dict[str, Any]:
    points = sa.select(STUDY_POINTS.c.point, STUDY_POINTS.c.digest, STUDY_POINTS.c.levels)
    runs = sa.select(STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed)
    of_points = read.execute(points.where(STUDY_POINTS.c.study == row["name"]).order_by(STUDY_POINTS.c.point)).all()
    of_runs = read.execute(
        runs.where(STUDY_RUNS.c.study == row["name"]).order_by(STUDY_RUNS.c.point, STUDY_RUNS.c.replication)
    ).all()
    return _checked({**row, "runs": len(of_runs), "plan": checksums.of_plan(of_points, of_runs)}, checksums.STUDY)


def _checked(row: dict[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    return {**row, "checksum": checksums.of_row(row, columns)}


def _count(read: sa.Connection, table: sa.Table) -> int:
    return int(read.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def _insert(write: sa.Connection, table: sa.Table, rows: Iterable[dict[str, Any]]) -> None:
    if rows_to_insert := list(rows):
        write.execute(sa.insert(table), rows_to_insert)
