"""The tables of a store, as its newest version has them; `migrations` brings older stores here."""

from typing import Final

import sqlalchemy as sa

VERSION: Final = 9

METADATA: Final = sa.MetaData()


def _checksum() -> sa.Column[str]:
    """The column with the checksum of the others of its row, of which `checksums` has the order."""
    return sa.Column("checksum", sa.String(16))


# A row: which version of these tables a database has, and which longpipe made it so.
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
    # What the core runs, zlib over JSON.
    sa.Column("resolved", sa.LargeBinary, nullable=False),
    # The scenario as its fields, JSON; unknown for runs of version 1.
    sa.Column("fields", sa.Text),
    _checksum(),
)

# What names a run.
_RUN: Final = ("digest", "seed", "engine")


def _run(*, key: bool) -> tuple[sa.Column[str], ...]:
    """The columns that name a run, as a table's key or not."""
    # A seed is unsigned and 64 bits wide, which SQL's integers are not.
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
    # Time the simulation took [s], and where it did.
    sa.Column("seconds", sa.Float),
    sa.Column("machine", sa.String(255)),
    # `analysis.measures.measure` of the run, JSON.
    sa.Column("measures", sa.Text),
    # The checksums of its summary and of the files of its traces, JSON.
    sa.Column("parts", sa.Text),
    _checksum(),
    sa.UniqueConstraint(*_RUN),
)

# Apart from the runs, so that a list of these need not read past them; zlib over JSON.
SUMMARIES: Final = sa.Table(
    "summaries",
    METADATA,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("summary", sa.LargeBinary, nullable=False),
)

# A second record of each finished run, by which one that is lost from `runs` is noticed.
RECEIPTS: Final = sa.Table("receipts", METADATA, *_run(key=True), _checksum())

# Processes with runs in flight.
OWNERS: Final = sa.Table(
    "owners",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("machine", sa.String(400), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    # When the process began, which tells it from a later one with its number, and its last sign of life [s since 1970].
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("heartbeat", sa.Float, nullable=False),
)

# Runs in flight, each with the process that has it.
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
    # The design, JSON, and the engine of its last run.
    sa.Column("design", sa.Text, nullable=False),
    sa.Column("engine", sa.String(80), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("changed_at", sa.DateTime, nullable=False),
    # How many runs it has, and the checksum of its rows in `study_points` and `study_runs`.
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
    # Level of each factor, and the block if there are any: JSON.
    sa.Column("levels", sa.Text, nullable=False),
)

STUDY_RUNS: Final = sa.Table(
    "study_runs",
    METADATA,
    sa.Column("study", sa.ForeignKey("studies.name", ondelete="CASCADE"), primary_key=True),
    sa.Column("point", sa.Integer, primary_key=True),
    sa.Column("replication", sa.Integer, primary_key=True),
    sa.Column("seed", sa.String(20), nullable=False),
)

# Tables of which some queries only count the rows.
COUNTED: Final = (STUDIES, STUDY_POINTS, STUDY_RUNS, RUNS, RECEIPTS, FAILURES, LEASES)
