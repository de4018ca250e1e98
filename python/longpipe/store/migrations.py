"""Stores of earlier versions, brought to the present one step by step, each step in one transaction."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from longpipe import _core
from longpipe.store import engines, schema

# The version of a database that holds something else.
FOREIGN: Final = -1
# The versions whose tables are those of the present one, so that they can be read as they are.
ALIKE: Final = (2, 3, 4, 5, 6, 7, schema.VERSION)

# Rows that are copied at a time.
_BATCH: Final = 500


def version(connection: sa.Connection) -> int | None:
    """The version of a database's tables; None without any, FOREIGN of others than a store's."""
    tables = set(sa.inspect(connection).get_table_names())
    if schema.LONGPIPE.name in tables:
        return int(connection.execute(sa.select(schema.LONGPIPE.c.version)).scalar_one())
    if not tables & set(schema.METADATA.tables):
        return None
    columns = {column["name"] for column in sa.inspect(connection).get_columns("runs")} if "runs" in tables else set()
    return 1 if "scenarios" in tables and columns == _COLUMNS_1 else FOREIGN


def written_by(connection: sa.Connection) -> str:
    """Version of the longpipe that gave the store its version."""
    return str(connection.execute(sa.select(schema.LONGPIPE.c.written_by)).scalar_one())


def create(connection: sa.Connection) -> None:
    """All tables, of the present version."""
    schema.METADATA.create_all(connection)
    connection.execute(sa.delete(schema.LONGPIPE))
    connection.execute(sa.insert(schema.LONGPIPE).values(version=schema.VERSION, written_by=_core.__version__))


def migrate(connection: sa.Connection, found: int) -> None:
    """Brings a store from the version found to the present one."""
    for step in range(found, schema.VERSION):
        MIGRATIONS[step](connection)


_COLUMNS_1: Final = {"digest", "seed", "engine", "build", "name", "finished_at", "summary"}


def _from_1(connection: sa.Connection) -> None:
    """Version 1 had no version: scenarios and runs only, keyed by engine kind and build, summaries as text."""
    from longpipe.store.packing import compressed

    for name in ("runs", "scenarios"):
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO {name}_1")
    # A primary key's index keeps its name when its table gets another, and names are one space in PostgreSQL.
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
            # The engine kind is part of what the digest is of.
            del row["engine"]
            row["engine"] = row.pop("build")
            (run,) = connection.execute(sa.insert(schema.RUNS).values(row).returning(schema.RUNS.c.id)).one()
            json.loads(summary)
            connection.execute(sa.insert(schema.SUMMARIES).values(run=run, summary=compressed(summary.encode())))
    for table in (runs, scenarios):
        table.drop(connection)


def _renamed(connection: sa.Connection) -> None:
    """Versions 2 to 7 had the same tables; engines were called by a hash over their sources, then 1 to 5."""
    engines.adopt(connection)
    connection.execute(sa.update(schema.LONGPIPE).values(version=schema.VERSION, written_by=_core.__version__))


def _batches(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[list[dict[str, Any]]]:
    rows = connection.execute(query).mappings()
    while batch := rows.fetchmany(_BATCH):
        yield [dict(row) for row in batch]


MIGRATIONS: Final[Mapping[int, Callable[[sa.Connection], None]]] = {
    1: _from_1,
    **dict.fromkeys(range(2, schema.VERSION), _renamed),
}
