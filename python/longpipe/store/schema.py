"""Tables of a store of version `rows.VERSION`; `older` reads stores of older versions."""

from typing import Any, Final

import sqlalchemy as sa

from longpipe import _core
from longpipe.store import checksums
from longpipe.store.errors import DamagedError
from longpipe.store.rows import VERSION

METADATA: Final = sa.MetaData()


def _checksum() -> sa.Column[str]:
    """Returns the column for the checksum of the row's other columns, in the order that `checksums` defines."""
    return sa.Column("checksum", sa.String(16))


# One row: the version of these tables, and the longpipe version that created it.
LONGPIPE: Final = sa.Table(
    "longpipe",
    METADATA,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("written_by", sa.String(40), nullable=False),
    _checksum(),
)

SCENARIOS: Final = sa.Table(
    "scenarios",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    # The resolved scenario as JSON, compressed with zlib.
    sa.Column("resolved", sa.LargeBinary, nullable=False),
    # The scenario's fields as JSON; unknown in copies of stores of version 1.
    sa.Column("fields", sa.Text),
    _checksum(),
)

# Option of large tables that SQLite stores in the order of their primary key, without a second copy of the key as an
# index. Stores of earlier releases have the index.
_BY_KEY: Final[dict[str, Any]] = {"sqlite_with_rowid": False}
# Key of a run.
_RUN: Final = ("digest", "seed", "engine")


def _run(*, key: bool) -> tuple[sa.Column[str], ...]:
    """Returns the key columns of a run, as the table's primary key if `key`."""
    # A seed is an unsigned 64-bit number, which SQL integers cannot hold.
    return tuple(
        sa.Column(name, sa.String(size), primary_key=key, nullable=False)
        for name, size in zip(_RUN, (64, 20, 80), strict=True)
    )


RUNS: Final = sa.Table(
    "runs",
    METADATA,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    *_run(key=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("finished_at", sa.DateTime, nullable=False),
    # Duration of the simulation [s], and the machine.
    sa.Column("seconds", sa.Float),
    sa.Column("machine", sa.String(255)),
    # `measures.defaults.measure` of the run, as JSON.
    sa.Column("measures", sa.Text),
    # Checksums of its summary and of its trace files, as JSON.
    sa.Column("parts", sa.Text),
    _checksum(),
    sa.UniqueConstraint(*_RUN),
)

# Summaries are separate from the runs, so that listing runs need not read them; JSON compressed by `packing`.
SUMMARIES: Final = sa.Table(
    "summaries",
    METADATA,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("summary", sa.LargeBinary, nullable=False),
)

# A second form of the measures of runs, for means: see `measured`. Stores of earlier releases lack this table until
# they are opened for writing, and lack the rows of the runs that were stored until then.
MEASURED: Final = sa.Table(
    "measured",
    METADATA,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("measures", sa.LargeBinary, nullable=False),
)

# A second record of each finished run, which reveals a run missing from `runs`.
RECEIPTS: Final = sa.Table("receipts", METADATA, *_run(key=True), _checksum(), **_BY_KEY)

# Processes with runs in progress.
OWNERS: Final = sa.Table(
    "owners",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("machine", sa.String(400), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    # Start time of the process, which distinguishes it from a later process with the same number, and its latest
    # heartbeat [s since 1970].
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("heartbeat", sa.Float, nullable=False),
)

# Number of runs that a process with leases executes at a time. Stores of earlier releases lack this table until they
# are opened for writing.
WORKERS: Final = sa.Table(
    "workers",
    METADATA,
    sa.Column("owner", sa.String(32), primary_key=True),
    sa.Column("workers", sa.Integer, nullable=False),
)

# Leased runs, which a process executes or will execute within seconds.
LEASES: Final = sa.Table(
    "claims",
    METADATA,
    *_run(key=True),
    sa.Column("owner", sa.String(32), nullable=False, index=True),
)

FAILURES: Final = sa.Table(
    "failures",
    METADATA,
    *_run(key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("failed_at", sa.DateTime, nullable=False),
    _checksum(),
)

STUDIES: Final = sa.Table(
    "studies",
    METADATA,
    sa.Column("name", sa.String(200), primary_key=True),
    # The design as JSON, and the engine of its latest run.
    sa.Column("design", sa.Text, nullable=False),
    sa.Column("engine", sa.String(80), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("changed_at", sa.DateTime, nullable=False),
    # Number of the study's runs, and the checksum of its rows in `study_points` and `study_runs`.
    sa.Column("runs", sa.Integer),
    sa.Column("plan", sa.String(16)),
    _checksum(),
)

STUDY_POINTS: Final = sa.Table(
    "study_points",
    METADATA,
    sa.Column("study", sa.ForeignKey("studies.name", ondelete="CASCADE"), primary_key=True),
    sa.Column("point", sa.Integer, primary_key=True),
    sa.Column("digest", sa.ForeignKey("scenarios.digest"), nullable=False),
    # Level of each factor, and the block, if any, as JSON.
    sa.Column("levels", sa.Text, nullable=False),
)

STUDY_RUNS: Final = sa.Table(
    "study_runs",
    METADATA,
    sa.Column("study", sa.ForeignKey("studies.name", ondelete="CASCADE"), primary_key=True),
    sa.Column("point", sa.Integer, primary_key=True),
    sa.Column("replication", sa.Integer, primary_key=True),
    sa.Column("seed", sa.String(20), nullable=False),
    **_BY_KEY,
)

# Small tables of which some queries read indices, which have no checksums.
INDEXED: Final = (STUDIES, STUDY_POINTS, FAILURES, LEASES)

# Version of a database that is not a store.
FOREIGN: Final = -1
# First version with checksums.
_CHECKED: Final = 9
# Columns of `runs` in version 1, which has no table of its version.
_COLUMNS_1: Final = {"digest", "seed", "engine", "build", "name", "finished_at", "summary"}


def version(connection: sa.Connection) -> int | None:
    """Returns the version of a database's tables, None if it has no tables, or FOREIGN for other databases."""
    tables = set(sa.inspect(connection).get_table_names())
    if LONGPIPE.name in tables:
        return _version(connection)
    if not tables & set(METADATA.tables):
        return None
    columns = {column["name"] for column in sa.inspect(connection).get_columns("runs")} if "runs" in tables else set()
    return 1 if "scenarios" in tables and columns == _COLUMNS_1 else FOREIGN


def _version(connection: sa.Connection) -> int:
    rows = connection.exec_driver_sql("SELECT * FROM longpipe").mappings().all()
    if len(rows) != 1:
        raise DamagedError("its version")
    row = {"checksum": None, **rows[0]}
    version = row.get("version")
    if row["checksum"] is not None or not isinstance(version, int) or version >= _CHECKED:
        checksums.check(row, checksums.VERSION, "its version")
    return int(row["version"])


def written_by(connection: sa.Connection) -> str:
    """Returns the longpipe version that created the store."""
    return str(connection.execute(sa.select(LONGPIPE.c.written_by)).scalar_one())


def is_whole(connection: sa.Connection) -> bool:
    """Returns whether a store has all tables of the present release."""
    return METADATA.tables.keys() <= set(sa.inspect(connection).get_table_names())


def create(connection: sa.Connection) -> None:
    """Creates the tables that are missing."""
    is_new = not sa.inspect(connection).has_table(LONGPIPE.name)
    METADATA.create_all(connection)
    if not is_new:
        return
    row: dict[str, object] = {"version": VERSION, "written_by": _core.__version__}
    row["checksum"] = checksums.of_row(row, checksums.VERSION)
    connection.execute(sa.insert(LONGPIPE).values(row))
