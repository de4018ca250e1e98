"""Studies in a store: a design, its points and its runs, by name."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import compress, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import orjson
import sqlalchemy as sa

from longpipe.errors import ScenarioError, nearest
from longpipe.store import checksums, counting, measured
from longpipe.store.counting import Point, check_plan, count, points_of
from longpipe.store.errors import DamagedError
from longpipe.store.leases import gone, inserting, living, workers
from longpipe.store.persistence import persistent
from longpipe.store.schema import FAILURES, LEASES, MEASURED, RECEIPTS, RUNS, STUDIES, STUDY_POINTS, STUDY_RUNS
from longpipe.store.store import Store
from longpipe.system.gc_pause import without_collections
from longpipe.system.provenance import engine_version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from longpipe.scenario import Scenario

    # Values of the finished runs of a point, in the order of the replications, by measure.
    Measures = dict[str, npt.NDArray[np.float64]]

STATES: Final = ("finished", "claimed", "failed", "waiting")
# Part of the claimed runs.
EXECUTING: Final = "executing"
# Columns of `runs` that describe the execution of a run, not its results.
PROVENANCE: Final = ("digest", "state", "finished_at", "seconds", "machine", "message")

# Columns, except the key, covered by the checksum of a finished run, and by that of a failed run.
_OF_RUN: Final = ("name", "finished_at", "seconds", "machine", "measures", "parts")
# Maximum number of runs whose packed measures are in memory at a time, unless one point has more, and of points.
_RUNS_AT_ONCE: Final = 50_000
_POINTS_AT_ONCE: Final = 500
# A run of a study: point, replication, seed.
Row = tuple[int, int, int]

# Maximum number of study names in a message.
_SHOWN: Final = 10


@dataclass(frozen=True)
class StudyRecord:
    """A stored study: its design as JSON, the engine of its runs, and the number of its runs.

    `plan` is the checksum of its points and runs.
    """

    name: str
    design: str
    engine: str
    created_at: datetime
    changed_at: datetime
    runs: int
    plan: str


@dataclass(frozen=True)
class Overview:
    """A study and the numbers of its runs by state; times are UTC."""

    name: str
    runs: int
    finished: int
    failed: int
    engine: str
    created_at: datetime
    changed_at: datetime


@persistent
def find(store: Store, name: str) -> StudyRecord | None:
    """Returns the study with this name; None if there is none."""
    with store.reading() as connection:
        return _record(connection, name)


def require(store: Store, name: str) -> StudyRecord:
    """Returns the study with this name. If there is none, raises a ScenarioError that names the existing studies."""
    if (record := find(store, name)) is None:
        existing = (
            nearest(name, stored_names, _SHOWN) if (stored_names := names(store)) else "the store has no studies yet"
        )
        raise ScenarioError(f"study: {name!r} is not in {store.name}; {existing}")
    return record


def names(store: Store) -> list[str]:
    """Returns the names of all studies, most recently changed first."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(STUDIES.c.name).order_by(STUDIES.c.changed_at.desc())).scalars())


@persistent
def put(
    store: Store,
    name: str,
    design: str,
    base: Scenario,
    points: Iterable[tuple[Scenario, Mapping[str, Any]]],
    runs: Iterable[Row],
) -> None:
    """Stores a study made with this engine; replaces an earlier study of this name, but not its runs.

    `base` is the scenario in which the points change fields. `points` are scenarios with their levels; each of `runs`
    is a point's number from 1, a replication from 1, and a seed.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    placed = [(scenario.digest(), scenario, levels) for scenario, levels in points]
    point_rows = [(i, digest, json.dumps(levels)) for i, (digest, _, levels) in enumerate(placed, 1)]
    run_rows = [(point, replication, str(seed)) for point, replication, seed in runs]
    with store.writing() as connection:
        insert = inserting(connection)
        stored = _record(connection, name)
        study: dict[str, Any] = {
            "name": name,
            "design": design,
            "engine": engine_version(),
            "created_at": now if stored is None else stored.created_at,
            "changed_at": now,
            "runs": len(run_rows),
            "plan": checksums.of_plan(point_rows, run_rows),
        }
        study["checksum"] = checksums.of_row(study, checksums.STUDY)
        connection.execute(insert(STUDIES).values(study).on_conflict_do_update(index_elements=["name"], set_=study))
        for table in (STUDY_RUNS, STUDY_POINTS):
            connection.execute(sa.delete(table).where(table.c.study == name))
        store.save_scenarios(connection, [base, *(scenario for _, scenario, _ in placed)])
        connection.execute(
            sa.insert(STUDY_POINTS),
            [{"study": name, "point": p, "digest": digest, "levels": levels} for p, digest, levels in point_rows],
        )
        connection.execute(
            sa.insert(STUDY_RUNS),
            [{"study": name, "point": p, "replication": r, "seed": seed} for p, r, seed in run_rows],
        )
    store.analyze(STUDY_POINTS, STUDY_RUNS)


@without_collections()
def overview(store: Store) -> list[Overview]:
    """Returns all studies of a store, most recently changed first."""
    query = sa.select(STUDIES).order_by(STUDIES.c.changed_at.desc(), STUDIES.c.name)
    summaries = []
    with store.reading() as connection:
        for row in checksums.rows_of(connection, query):
            record = _checked_record(row)
            counts = count(store, connection, record, ())
            summaries.append(
                Overview(
                    name=record.name,
                    runs=record.runs,
                    finished=counts.finished,
                    failed=counts.failed,
                    engine=record.engine,
                    created_at=record.created_at,
                    changed_at=record.changed_at,
                )
            )
    return summaries


@persistent
@without_collections()
def counts(store: Store, record: StudyRecord) -> dict[str, int]:
    """Returns the number of runs of a study in each of `STATES`, and of those that are "executing".

    A process executes as many of the runs that it has claimed as it has workers; the other ones count as "claimed".
    """
    with store.reading() as connection:
        counts = count(store, connection, record, [owner.id for owner in living(connection)])
        capacity = workers(connection)
    executing = sum(min(runs, capacity.get(owner, runs)) for owner, runs in counts.claimed.items())
    claimed = counts.claimed.total()
    waiting = record.runs - counts.finished - counts.failed - claimed
    numbers = (counts.finished, claimed - executing, counts.failed, waiting, executing)
    return dict(zip((*STATES, EXECUTING), numbers, strict=True))


@persistent
@without_collections()
def missing(store: Store, record: StudyRecord) -> list[Row]:
    """Returns the runs of a study that are not finished, by replication and point.

    Raises DamagedError for a finished run that is gone, and for runs that differ from the design's.
    """
    run, receipt = (_finished_in(table, record.engine).label(table.name) for table in (RUNS, RECEIPTS))
    query = (
        sa.select(STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed, STUDY_POINTS.c.digest, receipt)
        .select_from(STUDY_RUNS.join(STUDY_POINTS, _same(STUDY_POINTS, STUDY_RUNS, "study", "point")))
        .where(STUDY_RUNS.c.study == record.name, run.is_(None))
        .order_by(STUDY_RUNS.c.replication, STUDY_RUNS.c.point)
    )
    with store.reading() as connection:
        points = points_of(connection, record)
        check_plan(connection, record, points)
        rows = checksums.rows_of(connection, query)
    for row in rows:
        if row.receipts is not None:
            raise gone(row.digest, row.seed)
    return [(row.point, row.replication, int(row.seed)) for row in rows]


def _finished_in(table: sa.Table, engine: str) -> sa.ScalarSelect[int]:
    """Returns the SQL expression that is 1 if the run of a row of STUDY_RUNS is in a table, otherwise NULL."""
    same = (table.c.digest == STUDY_POINTS.c.digest, table.c.seed == STUDY_RUNS.c.seed, table.c.engine == engine)
    return (
        sa.select(sa.literal_column("1", sa.Integer)).where(*same).correlate(STUDY_POINTS, STUDY_RUNS).scalar_subquery()
    )


@persistent
@without_collections()
def runs(store: Store, record: StudyRecord, *, finished_only: bool = False) -> dict[str, list[Any]]:
    """Returns, as columns, a row for every run of a study, finished or not, ordered by point and replication.

    The columns are `point`, the block if the design has blocks, the factors, `replication`, `seed`, the measures,
    `digest`, `state` (one of `STATES`), `finished_at` (UTC), `seconds` that the simulation took, `machine`, and the
    `message` of a failure.
    """
    points = sa.select(STUDY_POINTS.c.point, STUDY_POINTS.c.digest, STUDY_POINTS.c.levels)
    columns = sa.select(
        STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed, STUDY_POINTS.c.digest,
        *(RUNS.c[name] for name in _OF_RUN), RUNS.c.checksum, RECEIPTS.c.checksum.label("receipt"),
    )  # fmt: skip
    planned = _of_study(columns, record).order_by(STUDY_RUNS.c.point, STUDY_RUNS.c.replication)
    with store.reading() as connection:
        # The study is read again, because it may have grown in the meantime.
        now = _record(connection, record.name)
        of_run_columns = _columns(connection, planned)
        of_point = checksums.rows_of(
            connection, points.where(STUDY_POINTS.c.study == record.name).order_by(STUDY_POINTS.c.point)
        )
        alive = {owner.id for owner in living(connection)}
        of_run = zip(of_run_columns["point"], of_run_columns["replication"], of_run_columns["seed"], strict=True)
        if now is None or checksums.of_plan(of_point, of_run) != now.plan:
            raise DamagedError(f"the runs of study {record.name!r}")
        is_finished = [time is not None for time in of_run_columns["finished_at"]]
        _check_rows(of_run_columns, record.engine)
        unfinished = {} if finished_only or all(is_finished) else _unfinished(connection, record)
    if finished_only and not all(is_finished):
        of_run_columns = {name: list(compress(values, is_finished)) for name, values in of_run_columns.items()}
    levels = {number: json.loads(text) for number, _, text in of_point}
    heads = {name: [levels[point][name] for point in of_run_columns["point"]] for name in next(iter(levels.values()))}
    states, messages = [STATES[0]] * len(of_run_columns["point"]), [None] * len(of_run_columns["point"])
    if unfinished:
        for i, run in enumerate(zip(of_run_columns["point"], of_run_columns["replication"], strict=True)):
            if (row := unfinished.get(run)) is not None:
                states[i] = STATES[1] if row.owner in alive else STATES[3] if row.message is None else STATES[2]
                messages[i] = row.message
    measured = _measures(of_run_columns["measures"])
    return {
        "point": of_run_columns["point"],
        **heads,
        "replication": of_run_columns["replication"],
        "seed": list(map(int, of_run_columns["seed"])),
        # A factor may have the same name as a measure; then the factor is kept.
        **{name: values for name, values in measured.items() if name not in heads},
        "digest": of_run_columns["digest"],
        "state": states,
        **{name: of_run_columns[name] for name in ("finished_at", "seconds", "machine")},
        "message": messages,
    }


@persistent
@without_collections()
def measures(store: Store, record: StudyRecord) -> list[tuple[Point, Measures]] | None:
    """Returns each point of a study with the measures of its finished runs.

    Returns None if the packed measures of a run are missing or differ from the stored ones; `runs` reads its row.
    Raises DamagedError for points that differ from the stored ones, and for finished runs that are gone.
    """
    with store.reading() as connection:
        if not sa.inspect(connection).has_table(MEASURED.name):
            return None
        store.check_integrity(connection)
        # The study is read again, because it may have grown in the meantime.
        if (now := _record(connection, record.name)) is None:
            raise DamagedError(f"the runs of study {record.name!r}")
        points = points_of(connection, now)
        finished = counting.finished_of_points(connection, record, points)
        some_run = "SELECT measures FROM runs WHERE runs.digest = points.digest AND engine = :engine LIMIT 1"
        names = list(map(measured.names_of, counting.of_points(connection, points, some_run, engine=record.engine)))
        measures_by_point: list[tuple[Point, Measures]] = []
        for page in _pages(finished):
            packed = _packed(connection, record.engine, {points[i].digest for i in page})
            for i in page:
                of_point = _of_point(points[i], packed.get(points[i].digest, []), record.engine, names[i], finished[i])
                if of_point is None:
                    return None
                measures_by_point.append((points[i], of_point))
    return measures_by_point


def _pages(finished: Sequence[int]) -> Iterator[range]:
    """Divides points with these numbers of runs into ranges of points."""
    begin = runs = 0
    for i, number in enumerate(finished):
        if i > begin and (runs + number > _RUNS_AT_ONCE or i - begin == _POINTS_AT_ONCE):
            yield range(begin, i)
            begin, runs = i, 0
        runs += number
    yield range(begin, len(finished))


def _packed(connection: sa.Connection, engine: str, digests: Collection[str]) -> dict[str, list[bytes]]:
    """Returns the packed measures of the runs of an engine, by the digest of their scenario."""
    joined = sa.select(RUNS.c.digest, MEASURED.c.measures).join(MEASURED, MEASURED.c.run == RUNS.c.id)
    query = joined.where(RUNS.c.engine == engine, RUNS.c.digest.in_(digests)).order_by(RUNS.c.digest)
    # SQLAlchemy's own rows would take several times as long.
    cursor = connection.execute(query).cursor
    rows = [] if cursor is None else cursor.fetchall()
    return {digest: list(map(itemgetter(1), some)) for digest, some in groupby(rows, itemgetter(0))}


def _of_point(
    point: Point, packed: Sequence[bytes], engine: str, names: Sequence[str], finished: int
) -> Measures | None:
    """Returns the measures of the planned runs of a point; None unless they are those of all finished runs."""
    if finished == 0:
        return {}
    import numpy as np

    if not names or (seeds_and_rows := measured.unpacked(packed, point.digest, engine, names)) is None:
        return None
    seeds, rows = seeds_and_rows
    # Seeds before the first one become large numbers.
    offsets = seeds - np.uint64(point.seeds.start)
    step = np.uint64(point.seeds.step)
    is_planned = (offsets % step == 0) & (offsets // step < len(point.seeds))
    order = np.argsort(seeds[is_planned])
    ordered = seeds[is_planned][order]
    if len(ordered) != finished or (ordered[1:] == ordered[:-1]).any():
        return None
    return dict(zip(names, rows[is_planned][order].T, strict=True))


def _unfinished(connection: sa.Connection, record: StudyRecord) -> dict[tuple[int, int], Any]:
    """Returns the message of its failure and the owner of its lease of each unfinished run, by point and replication.

    Raises DamagedError for a failure that differs from the one that was stored.
    """
    columns = sa.select(
        STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed, STUDY_POINTS.c.digest, FAILURES.c.message,
        *(FAILURES.c[name] for name in ("name", "failed_at", "checksum")), LEASES.c.owner,
    )  # fmt: skip
    rows = checksums.rows_of(
        connection, _with_unfinished(_of_study(columns, record), record).where(RUNS.c.id.is_(None))
    )
    for row in rows:
        if row.message is not None:
            failure = {**row._mapping, "engine": record.engine}
            checksums.check(failure, checksums.FAILURE, f"the failure of seed {row.seed}")
    return {(row.point, row.replication): row for row in rows}


@persistent
def digests(store: Store, record: StudyRecord) -> list[str]:
    """Returns the digest of each point's scenario, in the order of the points."""
    query = sa.select(STUDY_POINTS.c.digest).where(STUDY_POINTS.c.study == record.name).order_by(STUDY_POINTS.c.point)
    with store.reading() as connection:
        return [row[0] for row in checksums.rows_of(connection, query)]


def left_behind(store: Store, record: StudyRecord) -> dict[str, int]:
    """Returns, per engine, the number of a study's runs that only that engine finished."""
    other = RUNS.alias()
    same_run = sa.and_(other.c.digest == STUDY_POINTS.c.digest, other.c.seed == STUDY_RUNS.c.seed)
    query = (
        _of_study(sa.select(other.c.engine, sa.func.count()), record)
        .join(other, sa.and_(same_run, other.c.engine != record.engine))
        .where(RUNS.c.id.is_(None))
        .group_by(other.c.engine)
        .order_by(other.c.engine)
    )
    with store.reading() as connection:
        return {row[0]: row[1] for row in checksums.rows_of(connection, query)}


@without_collections()
def all_runs(store: Store) -> dict[str, list[Any]]:
    """Returns columns of all runs in a store, of any study and engine, in the order in which the runs were finished.

    Columns: `scenario`, `seed`, the measures, `digest`, `finished_at` (UTC), `seconds` that the simulation took,
    `machine` and `engine`.
    """
    query = sa.select(*RUNS.c).order_by(RUNS.c.id)
    with store.reading() as connection:
        columns = _columns(connection, query)
        stored = {tuple(row) for row in connection.execute(sa.select(RECEIPTS))}
        rows = zip(columns["name"], columns["seed"], columns["checksum"], _sums(columns), strict=True)
        for name, seed, checksum, expected in rows:
            if checksum != expected:
                raise DamagedError(f"the run of scenario {name!r}, seed {seed}")
        keys = set(zip(columns["digest"], columns["seed"], columns["engine"], columns["checksum"], strict=True))
        for digest, seed, *_ in stored - keys:
            raise DamagedError(f"the run of scenario {digest[:16]}, seed {seed}, which was finished, is gone")
        if keys != stored or len(keys) != len(columns["id"]):
            raise DamagedError(f"{len(columns['id'])} runs with {len(stored)} receipts")
    heads = {"scenario": columns["name"], "seed": list(map(int, columns["seed"]))}
    tail = {name: columns[name] for name in ("digest", "finished_at", "seconds", "machine", "engine")}
    return {**heads, **_measures(columns["measures"]), **tail}


def _record(connection: sa.Connection, name: str) -> StudyRecord | None:
    rows = checksums.rows_of(connection, sa.select(STUDIES).where(STUDIES.c.name == name))
    if not rows:
        return None
    return _checked_record(rows[0])


def _checked_record(row: sa.Row[Any]) -> StudyRecord:
    values = dict(row._mapping)
    checksums.check(values, checksums.STUDY, f"study {row.name!r}")
    return StudyRecord(**{field.name: values[field.name] for field in fields(StudyRecord)})


def _check_rows(columns: Mapping[str, list[Any]], engine: str) -> None:
    """Raises DamagedError for a row that differs from the one that was stored, and for a missing finished run."""
    begun_rows = [
        time is not None or receipt is not None
        for time, receipt in zip(columns["finished_at"], columns["receipt"], strict=True)
    ]
    ended = (
        columns if all(begun_rows) else {name: list(compress(values, begun_rows)) for name, values in columns.items()}
    )
    expected = _sums({**ended, "engine": [engine] * len(ended["seed"])})
    if expected == ended["checksum"] == ended["receipt"]:
        return
    rows = zip(
        *(ended[name] for name in ("point", "seed", "finished_at", "checksum", "receipt")), expected, strict=True
    )
    for point, seed, finished_at, checksum, receipt, sum_of_row in rows:
        row_name = f"point {point}, seed {seed}"
        if finished_at is None:
            raise DamagedError(f"the run of {row_name}, which was finished, is gone")
        if checksum != sum_of_row:
            raise DamagedError(f"the run of {row_name}")
        if receipt != checksum:
            raise DamagedError(f"the receipt of {row_name}")


def _sums(columns: Mapping[str, list[Any]]) -> list[str | None]:
    """Returns the checksum of each row of runs."""
    return checksums.of_rows(columns[name] for name in checksums.RUN)


def _measures(texts: list[str | None]) -> dict[str, list[float]]:
    """Returns the measures of runs, one column per measure; NaN if a run lacks the measure."""
    rows = orjson.loads(f"[{','.join(text or '{}' for text in texts)}]")
    of_rows = dict.fromkeys(map(tuple, rows))
    if len(of_rows) == 1:
        # All runs have the same measures, which is much faster.
        columns = dict(zip(*of_rows, map(list, zip(*map(dict.values, rows), strict=True)), strict=True))
    else:
        names = dict.fromkeys(name for names in of_rows for name in names)
        columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: [math.nan if value is None else value for value in values] if None in values else values
        for name, values in columns.items()
    }


def _of_study(columns: sa.Select[Any], record: StudyRecord) -> sa.Select[Any]:
    return (
        columns.select_from(STUDY_RUNS)
        .join(STUDY_POINTS, _same(STUDY_POINTS, STUDY_RUNS, "study", "point"))
        .outerjoin(RUNS, _is_of(RUNS, record.engine))
        .outerjoin(RECEIPTS, _is_of(RECEIPTS, record.engine))
        .where(STUDY_RUNS.c.study == record.name)
    )


def _with_unfinished(query: sa.Select[Any], record: StudyRecord) -> sa.Select[Any]:
    """Adds the failures and leases of unfinished runs to a query of a study's runs."""
    failures = query.outerjoin(FAILURES, _failed(record.engine))
    return failures.outerjoin(LEASES, _is_of(LEASES, record.engine))


def _columns(connection: sa.Connection, query: sa.Select[Any]) -> dict[str, list[Any]]:
    names = [*query.selected_columns.keys()]
    columns = list(zip(*checksums.rows_of(connection, query), strict=True)) or [()] * len(names)
    return {name: list(values) for name, values in zip(names, columns, strict=True)}


def _same(left: sa.Table, right: sa.Table, *names: str) -> sa.ColumnElement[bool]:
    return sa.and_(*(left.c[name] == right.c[name] for name in names))


def _is_of(table: sa.Table, engine: str | sa.Column[Any]) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.digest == STUDY_POINTS.c.digest, table.c.seed == STUDY_RUNS.c.seed, table.c.engine == engine)


def _failed(engine: str | sa.Column[Any]) -> sa.ColumnElement[bool]:
    """Returns the SQL condition for a failure of a run that was not finished later."""
    return sa.and_(_is_of(FAILURES, engine), RUNS.c.id.is_(None))
