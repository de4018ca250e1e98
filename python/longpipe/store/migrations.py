"""Migration of stores of earlier versions, step by step, each in one transaction."""

import json
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from longpipe import _core
from longpipe.store import checksums, engines, schema, unchecked
from longpipe.store.errors import DamagedError
from longpipe.store.rows import VERSION

# Version of a database that is not a store.
FOREIGN: Final = -1
# First version with checksums.
CHECKED: Final = 9
# Versions that can be copied table by table; a read-only store of such a version is read from a migrated copy.
COPIED: Final = range(2, CHECKED)

# Rows per copy statement.
_BATCH: Final = 500


def version(connection: sa.Connection) -> int | None:
    """Returns the version of a database's tables, None if it has no tables, or FOREIGN for other databases."""
    tables = set(sa.inspect(connection).get_table_names())
    if schema.LONGPIPE.name in tables:
        return _version(connection)
    if not tables & set(schema.METADATA.tables):
        return None
    columns = {column["name"] for column in sa.inspect(connection).get_columns("runs")} if "runs" in tables else set()
    return 1 if "scenarios" in tables and columns == _COLUMNS_1 else FOREIGN


def _version(connection: sa.Connection) -> int:
    rows = connection.exec_driver_sql("SELECT * FROM longpipe").mappings().all()
    if len(rows) != 1:
        raise DamagedError("its version")
    row = {"checksum": None, **rows[0]}
    found = row.get("version")
    if row["checksum"] is not None or not isinstance(found, int) or found >= CHECKED:
        checksums.check(row, checksums.VERSION, "its version")
    return int(row["version"])


def written_by(connection: sa.Connection) -> str:
    """Returns the longpipe version that created or migrated the store."""
    return str(connection.execute(sa.select(schema.LONGPIPE.c.written_by)).scalar_one())


def create(connection: sa.Connection) -> None:
    """Creates all tables of the current version."""
    schema.METADATA.create_all(connection)
    _set_version(connection)


def migrate(connection: sa.Connection, found: int, of_traces: unchecked.TraceChecksums) -> None:
    """Migrates a store to the current version. Raises DamagedError if its contents are inconsistent."""
    if found >= VERSION:
        # Another process has already migrated the store.
        return
    checksums.check_integrity(connection)
    if found == 1:
        _from_1(connection)
    else:
        _add_columns(connection)
    engines.adopt(connection)
    unchecked.add_checksums(connection, of_traces)
    _set_version(connection)


def copy(read: sa.Connection, write: sa.Connection) -> None:
    """Copies a store of a version in `COPIED` into an empty database; `migrate` does the rest."""
    create(write)
    tables = set(sa.inspect(read).get_table_names())
    for table in schema.METADATA.sorted_tables:
        if table.name in tables and table is not schema.LONGPIPE:
            there = {column["name"] for column in sa.inspect(read).get_columns(table.name)}
            for rows in _batches(read, sa.select(*(column for column in table.c if column.name in there))):
                write.execute(sa.insert(table), rows)


_COLUMNS_1: Final = {"digest", "seed", "engine", "build", "name", "finished_at", "summary"}


def _from_1(connection: sa.Connection) -> None:
    """Migrates version 1, which has only scenarios and runs, keyed by engine kind and build, and summaries as text."""
    from longpipe.store.packing import compressed

    for name in ("runs", "scenarios"):
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO {name}_1")
    # Renaming a table keeps the name of its primary key's index, and in PostgreSQL tables and indices share one
    # namespace.
    if connection.dialect.name == "postgresql":
        for name in ("runs", "scenarios"):
            connection.exec_driver_sql(f"ALTER INDEX {name}_pkey RENAME TO {name}_1_pkey")
    create(connection)
    old = sa.MetaData()
    scenarios, runs = (sa.Table(f"{name}_1", old, autoload_with=connection) for name in ("scenarios", "runs"))
    for rows in _batches(connection, sa.select(scenarios)):
        connection.execute(
            sa.insert(schema.SCENARIOS),
            [{"digest": row["digest"], "resolved": compressed(row["resolved"].encode())} for row in rows],
        )
    for rows in _batches(connection, sa.select(runs).order_by(runs.c.finished_at)):
        for row in rows:
            summary = row.pop("summary")
            # The digest includes the kind of engine.
            del row["engine"]
            row["engine"] = row.pop("build")
            (run,) = connection.execute(sa.insert(schema.RUNS).values(row).returning(schema.RUNS.c.id)).one()
            json.loads(summary)
            connection.execute(sa.insert(schema.SUMMARIES).values(run=run, summary=compressed(summary.encode())))
    for table in (runs, scenarios):
        table.drop(connection)


def _add_columns(connection: sa.Connection) -> None:
    """Migrates versions 2 to 8, which have the tables of version 9 but no checksums."""
    schema.RECEIPTS.create(connection, checkfirst=True)
    for table in schema.METADATA.sorted_tables:
        there = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
        for column in table.c:
            if column.name not in there:
                kind = column.type.compile(connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind}")


def _set_version(connection: sa.Connection) -> None:
    row: dict[str, object] = {"version": VERSION, "written_by": _core.__version__}
    row["checksum"] = checksums.of_row(row, checksums.VERSION)
    connection.execute(sa.delete(schema.LONGPIPE))
    connection.execute(sa.insert(schema.LONGPIPE).values(row))


def _batches(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[list[dict[str, Any]]]:
    rows = connection.execute(query).mappings()
    while batch := rows.fetchmany(_BATCH):
        yield [dict(row) for row in batch]
