"""Studies as a store keeps them: a design, its points and its runs, by name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson
import sqlalchemy as sa

from longpipe.errors import ScenarioError, nearest
from longpipe.store.engines import engine_version
from longpipe.store.leases import inserting, living
from longpipe.store.schema import FAILURES, LEASES, RUNS, SCENARIOS, STUDIES, STUDY_POINTS, STUDY_RUNS
from longpipe.store.store import Store, digest_of

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.scenario import Scenario

STATES: Final = ("finished", "running", "failed", "waiting")
# Columns of `runs` that tell how a run went, not what it found.
PROVENANCE: Final = ("digest", "state", "finished_at", "seconds", "machine", "message")

# Of a run: point, replication, seed.
Row = tuple[int, int, int]

# Names that a message lists.
_SHOWN: Final = 10


@dataclass(frozen=True)
class StudyRecord:
    """A study as stored: its design as JSON, and the engine that its runs are of."""

    name: str
    design: str
    engine: str
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True)
class Overview:
    """A study and the numbers of its runs; times are UTC."""

    name: str
    runs: int
    finished: int
    failed: int
    engine: str
    created_at: datetime
    changed_at: datetime


def find(store: Store, name: str) -> StudyRecord | None:
    """The study with this name, if there is one."""
    with store.reading() as connection:
        row = connection.execute(sa.select(STUDIES).where(STUDIES.c.name == name)).mappings().one_or_none()
    return None if row is None else StudyRecord(**row)


def require(store: Store, name: str) -> StudyRecord:
    """The study with this name; ScenarioError names those there are."""
    if (record := find(store, name)) is None:
        with store.reading() as connection:
            names = list(connection.execute(sa.select(STUDIES.c.name).order_by(STUDIES.c.changed_at.desc())).scalars())
        there = nearest(name, names, _SHOWN) if names else "the store has no studies yet"
        raise ScenarioError(f"study: {name!r} is not in {store.name}; {there}")
    return record


def put(
    store: Store, name: str, design: str, points: Iterable[tuple[Scenario, Mapping[str, Any]]], runs: Iterable[Row]
) -> None:
    """Stores a study in place of an earlier one with this name, whose runs stay; its engine is this one.

    `points` are scenarios and their levels, `runs` the number of a point from 1, the replication from 1, and the seed.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    placed = [(digest_of(scenario), scenario, levels) for scenario, levels in points]
    content = {"design": design, "engine": engine_version(), "changed_at": now}
    with store.writing() as connection:
        insert = inserting(connection)
        study = insert(STUDIES).values(name=name, created_at=now, **content)
        connection.execute(study.on_conflict_do_update(index_elements=["name"], set_=content))
        for table in (STUDY_RUNS, STUDY_POINTS):
            connection.execute(sa.delete(table).where(table.c.study == name))
        store.save_scenarios(connection, [scenario for _, scenario, _ in placed])
        connection.execute(
            sa.insert(STUDY_POINTS),
            [
                {"study": name, "point": i, "digest": digest, "levels": json.dumps(levels)}
                for i, (digest, _, levels) in enumerate(placed, 1)
            ],
        )
        connection.execute(
            sa.insert(STUDY_RUNS),
            [{"study": name, "point": p, "replication": r, "seed": str(seed)} for p, r, seed in runs],
        )


def overview(store: Store) -> list[Overview]:
    """All studies of a store, the last changed first."""

    def count(table: sa.Table) -> sa.ColumnElement[int]:
        return sa.func.count(table.c.digest)

    query = (
        sa.select(
            STUDIES.c.name, sa.func.count(STUDY_RUNS.c.seed).label("runs"),
            count(RUNS).label("finished"), count(FAILURES).label("failed"),
            STUDIES.c.engine, STUDIES.c.created_at, STUDIES.c.changed_at,
        )
        .select_from(STUDIES)
        .join(STUDY_RUNS, STUDY_RUNS.c.study == STUDIES.c.name)
        .join(STUDY_POINTS, _same(STUDY_POINTS, STUDY_RUNS, "study", "point"))
        .outerjoin(RUNS, _is_of(RUNS, STUDIES.c.engine))
        .outerjoin(FAILURES, _failed(STUDIES.c.engine))
        .group_by(STUDIES.c.name, STUDIES.c.engine, STUDIES.c.created_at, STUDIES.c.changed_at)
        .order_by(STUDIES.c.changed_at.desc(), STUDIES.c.name)
    )  # fmt: skip
    with store.reading() as connection:
        return [Overview(**row) for row in connection.execute(query).mappings()]


def counts(store: Store, record: StudyRecord) -> dict[str, int]:
    """Number of runs of a study in each of `STATES`."""
    with store.reading() as connection:
        alive = [owner.id for owner in living(connection)]
        state = sa.case(
            (RUNS.c.id.is_not(None), STATES[0]),
            (LEASES.c.owner.in_(alive), STATES[1]),
            (FAILURES.c.message.is_not(None), STATES[2]),
            else_=STATES[3],
        )
        query = _of_study(sa.select(state, sa.func.count()), record, finished_only=False).group_by(state)
        found = {row[0]: row[1] for row in connection.execute(query)}
    return {name: found.get(name, 0) for name in STATES}


def remove(store: Store, name: str) -> None:
    """Forgets a study; its runs stay in the store."""
    require(store, name)
    with store.writing() as connection:
        for table, column in ((STUDY_RUNS, STUDY_RUNS.c.study), (STUDY_POINTS, STUDY_POINTS.c.study)):
            connection.execute(sa.delete(table).where(column == name))
        connection.execute(sa.delete(STUDIES).where(STUDIES.c.name == name))


def scenarios(store: Store, name: str) -> list[Scenario]:
    """The scenario of each point of a study, in order."""
    from longpipe.scenario import Scenario

    query = (
        sa.select(SCENARIOS.c.fields)
        .join(STUDY_POINTS, STUDY_POINTS.c.digest == SCENARIOS.c.digest)
        .where(STUDY_POINTS.c.study == name)
        .order_by(STUDY_POINTS.c.point)
    )
    with store.reading() as connection:
        return [Scenario(**json.loads(fields)) for fields in connection.execute(query).scalars()]


def runs(store: Store, record: StudyRecord, *, finished_only: bool = False) -> dict[str, list[Any]]:
    """A row for every run of a study, by point and replication, finished or not; as columns.

    These are `point`, the block if there are any, the factors, `replication`, `seed`, the measures, `digest`, `state`
    (one of `STATES`), `finished_at` (UTC), `seconds` of simulation, `machine`, and `message` of a failure.
    """
    points = sa.select(STUDY_POINTS.c.point, STUDY_POINTS.c.digest, STUDY_POINTS.c.levels)
    columns = sa.select(
        STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed, RUNS.c.measures, RUNS.c.finished_at,
        RUNS.c.seconds, RUNS.c.machine, FAILURES.c.message, LEASES.c.owner,
    )  # fmt: skip
    planned = _of_study(columns, record, finished_only=finished_only).order_by(
        STUDY_RUNS.c.point, STUDY_RUNS.c.replication
    )
    with store.reading() as connection:
        found = _columns(connection, planned)
        of_point = connection.execute(points.where(STUDY_POINTS.c.study == record.name)).all()
        alive = {owner.id for owner in living(connection)}
    digests = {number: digest for number, digest, _ in of_point}
    levels = {number: json.loads(text) for number, _, text in of_point}
    heads = {name: [levels[point][name] for point in found["point"]] for name in next(iter(levels.values()))}
    ended = zip(found["finished_at"], found["owner"], found["message"], strict=True)
    state = [
        STATES[0] if finished_at else STATES[1] if owner in alive else STATES[2] if message is not None else STATES[3]
        for finished_at, owner, message in ended
    ]
    measured = _measures(found["measures"])
    return {
        "point": found["point"],
        **heads,
        "replication": found["replication"],
        "seed": list(map(int, found["seed"])),
        # A factor may be called like a measure.
        **{name: values for name, values in measured.items() if name not in heads},
        "digest": [digests[point] for point in found["point"]],
        "state": state,
        **{name: found[name] for name in ("finished_at", "seconds", "machine", "message")},
    }


def all_runs(store: Store) -> pd.DataFrame:
    """A row for every run of a store, the first finished first, whatever its study and engine.

    Columns: `scenario`, `seed`, the measures, `digest`, `finished_at` (UTC), `seconds` of simulation, `machine` and
    `engine`.
    """
    query = sa.select(
        RUNS.c.name.label("scenario"), RUNS.c.seed, RUNS.c.measures, RUNS.c.digest, RUNS.c.finished_at, RUNS.c.seconds,
        RUNS.c.machine, RUNS.c.engine,
    ).order_by(RUNS.c.id)  # fmt: skip
    import pandas as pd

    with store.reading() as connection:
        found = _columns(connection, query)
    heads = {"scenario": found.pop("scenario"), "seed": list(map(int, found.pop("seed")))}
    return pd.DataFrame({**heads, **_measures(found.pop("measures")), **found})


def _measures(texts: list[str | None]) -> dict[str, list[float]]:
    """The measures of runs, a column each, nan where there are none."""
    rows = orjson.loads(f"[{','.join(text or '{}' for text in texts)}]")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: [math.nan if value is None else value for value in values] if None in values else values
        for name, values in columns.items()
    }


def _of_study(columns: sa.Select[Any], record: StudyRecord, *, finished_only: bool) -> sa.Select[Any]:
    return (
        columns.select_from(STUDY_RUNS)
        .join(STUDY_POINTS, _same(STUDY_POINTS, STUDY_RUNS, "study", "point"))
        .join(RUNS, _is_of(RUNS, record.engine), isouter=not finished_only)
        .outerjoin(FAILURES, _failed(record.engine))
        .outerjoin(LEASES, _is_of(LEASES, record.engine))
        .where(STUDY_RUNS.c.study == record.name)
    )


def _columns(connection: sa.Connection, query: sa.Select[Any]) -> dict[str, list[Any]]:
    names = [*query.selected_columns.keys()]
    columns = list(zip(*connection.execute(query).all(), strict=True)) or [()] * len(names)
    return {name: list(values) for name, values in zip(names, columns, strict=True)}


def _same(left: sa.Table, right: sa.Table, *names: str) -> sa.ColumnElement[bool]:
    return sa.and_(*(left.c[name] == right.c[name] for name in names))


def _is_of(table: sa.Table, engine: str | sa.Column[Any]) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.digest == STUDY_POINTS.c.digest, table.c.seed == STUDY_RUNS.c.seed, table.c.engine == engine)


def _failed(engine: str | sa.Column[Any]) -> sa.ColumnElement[bool]:
    """A failure of a run that was not finished since."""
    return sa.and_(_is_of(FAILURES, engine), RUNS.c.id.is_(None))
