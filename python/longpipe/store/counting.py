"""Numbers of a study's runs by state, from indices and the design, without reading the runs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sqlalchemy as sa

from longpipe.design.seeds import seeds_of
from longpipe.store import checksums
from longpipe.store.errors import DamagedError
from longpipe.store.schema import FAILURES, LEASES, RECEIPTS, RUNS, SCENARIOS, STUDY_POINTS, STUDY_RUNS

if TYPE_CHECKING:
    from longpipe.store.store import Store
    from longpipe.store.studies import StudyRecord

# Largest integer of SQLite and PostgreSQL, to which SQLite reduces larger ones.
_LARGEST: Final = 2**63 - 1


class Point(NamedTuple):
    """A point of a study: the digest of its scenario, its levels with its block, if any, and the seeds of its runs."""

    digest: str
    levels: dict[str, Any]
    seeds: range


@dataclass(frozen=True)
class Counts:
    """Numbers of a study's runs: finished ones, failed ones, and, by the process's identity, claimed ones."""

    finished: int
    failed: int
    claimed: Counter[str] = field(default_factory=Counter)


def points_of(connection: sa.Connection, record: StudyRecord) -> list[Point]:
    """Returns the points of a study. Raises DamagedError for points that are not those of the design."""
    joined = STUDY_POINTS.outerjoin(SCENARIOS, SCENARIOS.c.digest == STUDY_POINTS.c.digest)
    query = sa.select(*STUDY_POINTS.c, SCENARIOS.c.digest.label("stored")).select_from(joined)
    of_study = query.where(STUDY_POINTS.c.study == record.name).order_by(STUDY_POINTS.c.point)
    rows = checksums.rows_of(connection, of_study)
    design = json.loads(record.design)
    names = [factor["name"] for factor in design["factors"]]
    seeds = seeds_of(design)
    blocks = [{}] * len(seeds) if design["blocks"] is None else [{"block": block + 1} for block in design["blocks"]]
    levels = [
        {**block, **dict(zip(names, point, strict=True))} for block, point in zip(blocks, design["points"], strict=True)
    ]
    is_whole = [row.point for row in rows] == list(range(1, len(seeds) + 1)) and all(row.stored for row in rows)
    if not is_whole or [row.levels for row in rows] != list(map(json.dumps, levels)):
        raise DamagedError(f"the runs of study {record.name!r}")
    return [Point(row.digest, of_point, planned) for row, of_point, planned in zip(rows, levels, seeds, strict=True)]


def check_plan(connection: sa.Connection, record: StudyRecord, points: Sequence[Point]) -> None:
    """Raises DamagedError for planned runs that are not those of the design."""
    stored = 0
    if points[-1].seeds[-1] < _LARGEST:
        rows = (
            "SELECT count(*) FROM study_runs WHERE study = :study AND study_runs.point = points.place"
            " AND {seed} = first + step * (replication - 1) AND replication BETWEEN 1 AND runs"
        )
        stored = sum(of_points(connection, points, rows, study=record.name))
    else:
        query = sa.select(STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed)
        planned = {
            (index, replication, str(seed))
            for index, point in enumerate(points, 1)
            for replication, seed in enumerate(point.seeds, 1)
        }
        rows_of_study = checksums.rows_of(connection, query.where(STUDY_RUNS.c.study == record.name))
        stored = sum(tuple(row) in planned for row in rows_of_study)
    count = sa.select(sa.func.count()).select_from(STUDY_RUNS).where(STUDY_RUNS.c.study == record.name)
    if not stored == record.runs == connection.execute(count).scalar_one():
        raise DamagedError(f"the runs of study {record.name!r}")


def count(store: Store, connection: sa.Connection, record: StudyRecord, alive: Sequence[str]) -> Counts:
    """Returns the numbers of a study's runs; `alive` are the processes whose claims count.

    Raises DamagedError for points that differ from the stored ones, and for finished runs that are gone.
    """
    store.check_integrity(connection)
    points = points_of(connection, record)
    finished = sum(finished_of_points(connection, record, points))
    claimed: Counter[str] = Counter()
    busy: set[tuple[int, str]] = set()
    for place, seed, owner in _unfinished(connection, record, points, LEASES, LEASES.c.owner.in_(alive)):
        claimed[owner] += 1
        busy.add((place, seed))
    failed = _unfinished(connection, record, points, FAILURES)
    return Counts(finished, sum((place, seed) not in busy for place, seed, _ in failed), claimed)


def finished_of_points(connection: sa.Connection, record: StudyRecord, points: Sequence[Point]) -> list[int]:
    """Returns the number of finished runs of each point. Raises DamagedError for finished runs that are gone."""
    planned = _of_planned_seeds(connection, record.engine, points, RUNS)
    receipts = of_points(
        connection,
        points,
        "SELECT count(*) FROM receipts WHERE receipts.digest = points.digest AND engine = :engine",
        engine=record.engine,
    )
    # Usually all stored runs of a point are planned, and counting without looking at the seeds is faster.
    unequal = [i for i, (runs, stored) in enumerate(zip(planned, receipts, strict=True)) if runs != stored]
    exact = _of_planned_seeds(connection, record.engine, [points[i] for i in unequal], RECEIPTS)
    if gone := sum(abs(stored - planned[i]) for i, stored in zip(unequal, exact, strict=True)):
        raise DamagedError(f"{gone} finished runs of study {record.name!r} are gone")
    return planned


def _of_planned_seeds(connection: sa.Connection, engine: str, points: Sequence[Point], table: sa.Table) -> list[int]:
    """Returns the number of an engine's rows for each point that have a planned seed."""
    if all(point.seeds[-1] < _LARGEST for point in points):
        rows = (
            f"SELECT count(*) FROM {table.name} WHERE {table.name}.digest = points.digest AND engine = :engine"  # noqa: S608 - constants
            " AND {seed} BETWEEN first AND last"
        )
        if any(point.seeds.step > 1 for point in points):
            rows += " AND ({seed} - first) % step = 0"
        return of_points(connection, points, rows, engine=engine)
    query = sa.select(table.c.seed).where(table.c.engine == engine)
    seeds_by_point = (connection.execute(query.where(table.c.digest == point.digest)).scalars() for point in points)
    return [
        sum(_number(seed) in point.seeds for seed in stored)
        for stored, point in zip(seeds_by_point, points, strict=True)
    ]


def of_points(connection: sa.Connection, points: Sequence[Point], rows: str, **values: str) -> list[Any]:
    """Returns a value for each point.

    `rows` is a scalar subquery in which a row of `points` has the columns `place` (from 1), `digest`, the `first` and
    the `last` planned seed, their `step`, and their number `runs`; `{seed}` is the seed as a number.
    """
    numbers = [(point.digest, (seeds := point.seeds)[0], seeds[-1], seeds.step, len(seeds)) for point in points]
    names = ("digest", "first", "last", "step", "runs")
    parameters: dict[str, Any]
    if connection.dialect.name == "sqlite":
        columns = ", ".join(f"json_extract(value, '$[{i}]') AS {name}" for i, name in enumerate(names))
        source = f"SELECT key + 1 AS place, {columns} FROM json_each(:points)"  # noqa: S608 - constants
        parameters = {"points": json.dumps(numbers)}
        seed = "CAST(seed AS INTEGER)"
    else:
        types = {"digest": "text", "first": "numeric", "last": "numeric"}
        arrays = ", ".join(f"CAST(:{name} AS {types.get(name, 'bigint')}[])" for name in names)
        source = f"SELECT * FROM unnest({arrays}) WITH ORDINALITY AS of_study({', '.join(names)}, place)"  # noqa: S608 - constants
        parameters = {name: [row[i] for row in numbers] for i, name in enumerate(names)}
        seed = "CAST(seed AS numeric)"
    # This must not be a join, which PostgreSQL executes by reading all rows for each point if it lacks statistics.
    text = (
        f"WITH points AS MATERIALIZED ({source})"  # noqa: S608 - constants
        f" SELECT ({rows.format(seed=seed)}) FROM points ORDER BY place"
    )
    return [row[0] for row in connection.execute(sa.text(text), {**parameters, **values})]


def _unfinished(
    connection: sa.Connection,
    record: StudyRecord,
    points: Sequence[Point],
    table: sa.Table,
    *conditions: sa.ColumnElement[bool],
) -> Iterator[tuple[int, str, str]]:
    """Yields the point, the seed and the owner, if any, of each row of claims or failures of unfinished runs."""
    of_study = sa.select(STUDY_POINTS.c.digest).where(STUDY_POINTS.c.study == record.name)
    is_finished = sa.exists().where(*(RUNS.c[name] == table.c[name] for name in ("digest", "seed", "engine")))
    owner = table.c.get("owner", sa.literal(""))
    query = sa.select(table.c.digest, table.c.seed, owner).where(
        table.c.engine == record.engine, table.c.digest.in_(of_study), ~is_finished, *conditions
    )
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, point in enumerate(points):
        places[point.digest].append(place)
    for digest, seed, holder in checksums.rows_of(connection, query):
        for place in places[digest]:
            if _number(seed) in points[place].seeds:
                yield place, seed, holder


def _number(seed: object) -> int:
    try:
        return int(seed)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError):
        raise DamagedError("a seed") from None
