"""Copies scenarios, runs, failures and studies from one store to another, in batches of constant memory.

Every row and every file of a trace is verified before it is copied. Each batch is one transaction of the target, and
rows that the target already has are skipped, so that the same call continues an interrupted copy.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson
import sqlalchemy as sa

from longpipe.errors import ScenarioError
from longpipe.store import checksums, rows
from longpipe.store.errors import DamagedError
from longpipe.store.leases import inserting, relation
from longpipe.store.packing import summary_text
from longpipe.store.persistence import persistent
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

if TYPE_CHECKING:
    from longpipe.store.store import Store

# Rows per query, and scenarios per query, which may be as large as a series of a million outages.
PAGE: Final = 1_000
_SCENARIOS_AT_ONCE: Final = 20
# Maximum size of the summaries and of the scenarios of one transaction, unless one alone is larger [bytes].
_BYTES: Final = 8_000_000
_KEY: Final = ("digest", "seed", "engine")
_SUMMARY: Final = "summary"

# Key of a run: digest, seed as text, engine.
RunKey = tuple[str, str, str]


@dataclass(frozen=True)
class Copied:
    """Numbers of runs: copied ones, and those that the target already had."""

    copied: int = 0
    present: int = 0

    def __add__(self, other: Copied) -> Copied:
        """Returns the sums of both numbers."""
        return Copied(self.copied + other.copied, self.present + other.present)


def copy_scenarios(source: Store, target: Store, digests: Iterable[str] | None = None) -> None:
    """Copies the scenarios with these digests, or all of them, that the target lacks."""
    for page in _pages(sorted(digests)) if digests is not None else _digests(source):
        with target.reading() as connection:
            stored_digests = set(
                connection.execute(sa.select(SCENARIOS.c.digest).where(SCENARIOS.c.digest.in_(page))).scalars()
            )
        for some in _pages([digest for digest in page if digest not in stored_digests], _SCENARIOS_AT_ONCE):
            with source.reading() as connection:
                stored = checksums.rows_of(connection, sa.select(SCENARIOS).where(SCENARIOS.c.digest.in_(some)))
                if missing := set(some) - {row.digest for row in stored}:
                    raise DamagedError(f"scenario {min(missing)[:16]} is missing from the store")
                for row in stored:
                    checksums.check(row._mapping, checksums.SCENARIO, f"scenario {row.digest[:16]}")
            with target.writing() as connection:
                rows.save_scenarios(rows.OfSqlAlchemy(connection), [dict(row._mapping) for row in stored])


def copy_runs(
    source: Store, target: Store, study: str | None = None, progress: Callable[[Copied], None] | None = None
) -> Copied:
    """Copies the finished runs of a study, or all runs of the store, that the target lacks.

    Their scenarios must be in the target. `progress` is called after each batch. Raises ScenarioError if both stores
    have different results of the same run; batches before it are kept.
    """
    done = Copied()
    for page in _all_runs(source) if study is None else _runs_of(source, study):
        absent = _absent(source, target, page)
        done += Copied(present=len(page) - len(absent))
        for batch in _by_size(absent):
            _copy_batch(source, target, batch)
            done += Copied(copied=len(batch))
            if progress is not None:
                progress(done)
    return done


@persistent
def copy_failures(source: Store, target: Store, study: str | None = None) -> None:
    """Copies the failures of a study, or all of them, of runs for which the target has neither a run nor a failure."""
    last: tuple[str, ...] = ("", "", "")
    columns = [FAILURES.c[name] for name in _KEY]
    while True:
        query = sa.select(FAILURES).where(sa.tuple_(*columns) > sa.tuple_(*last)).order_by(*columns).limit(PAGE)
        with source.reading() as connection:
            if study is not None:
                query = query.where(sa.tuple_(FAILURES.c.digest, FAILURES.c.seed).in_(_planned(study)))
            page = [dict(row._mapping) for row in checksums.rows_of(connection, query)]
            for row in page:
                checksums.check(row, checksums.FAILURE, f"the failure of seed {row['seed']}")
        if not page:
            return
        last = tuple(page[-1][name] for name in _KEY)
        with target.writing() as connection:
            finished = {key for key, _ in _stored(connection, [_key(row) for row in page], RECEIPTS)}
            if new := [row for row in page if _key(row) not in finished]:
                connection.execute(inserting(connection)(FAILURES).on_conflict_do_nothing(), new)


@persistent
def copy_study(source: Store, target: Store, name: str) -> None:
    """Copies the rows of a study in one transaction, and replaces those of a study with its name; runs stay."""
    with source.reading() as read, target.writing() as write:
        studies = checksums.rows_of(read, sa.select(STUDIES).where(STUDIES.c.name == name))
        (row,) = studies or [None]
        if row is None:
            raise ScenarioError(f"study: {name!r} is no longer in {source.name}; needs one of its studies")
        checksums.check(row._mapping, checksums.STUDY, f"study {name!r}")
        study = dict(row._mapping)
        for table in (STUDY_RUNS, STUDY_POINTS):
            write.execute(sa.delete(table).where(table.c.study == name))
        insert = inserting(write)(STUDIES).values(study)
        write.execute(insert.on_conflict_do_update(index_elements=["name"], set_=study))
        for table in (STUDY_POINTS, STUDY_RUNS):
            query = sa.select(table).where(table.c.study == name).order_by(*table.primary_key)
            for page in read.execute(query.execution_options(yield_per=PAGE)).mappings().partitions():
                write.execute(sa.insert(table), [dict(row) for row in page])
    target.analyze(STUDY_POINTS, STUDY_RUNS)


def _digests(source: Store) -> Iterator[list[str]]:
    last = ""
    while True:
        column = SCENARIOS.c.digest
        query = sa.select(column).where(column > last).order_by(column).limit(PAGE)
        with source.reading() as connection:
            page = list(connection.execute(query).scalars())
        if not page:
            return
        yield page
        last = page[-1]


def _all_runs(source: Store) -> Iterator[list[dict[str, Any]]]:
    """Yields pages of all rows of runs, in the order of their completion."""
    last = -1
    while True:
        run = sa.select(RUNS).where(RUNS.c.id > last).order_by(RUNS.c.id).limit(PAGE).subquery()
        verified = _verified(source, run, run)
        if not verified:
            break
        yield verified
        last = verified[-1]["id"]
    # Compares the number of runs with that of receipts, because a run without its row is not found above.
    source.count()


def _runs_of(source: Store, study: str) -> Iterator[list[dict[str, Any]]]:
    """Yields pages of the rows of a study's runs, in the order of points and replications."""
    for page in pages_of_study(source, study):
        yield _verified(source, page, None)


def pages_of_study(source: Store, study: str) -> Iterator[sa.Subquery]:
    """Yields subqueries with the columns `digest` and `seed` of a study's planned runs, of `PAGE` rows each."""
    last = (0, 0)
    place = sa.tuple_(STUDY_RUNS.c.point, STUDY_RUNS.c.replication)
    while True:
        query = (
            _planned(study)
            .add_columns(STUDY_RUNS.c.point, STUDY_RUNS.c.replication)
            .where(place > sa.tuple_(*last))
            .order_by(STUDY_RUNS.c.point, STUDY_RUNS.c.replication)
            .limit(PAGE)
        )
        page = query.subquery()
        with source.reading() as connection:
            newest = sa.select(page.c.point, page.c.replication).order_by(
                page.c.point.desc(), page.c.replication.desc()
            )
            end = connection.execute(newest.limit(1)).one_or_none()
        if end is None:
            return
        yield page
        last = (end.point, end.replication)


def _planned(study: str) -> sa.Select[Any]:
    same = sa.and_(STUDY_POINTS.c.study == STUDY_RUNS.c.study, STUDY_POINTS.c.point == STUDY_RUNS.c.point)
    return (
        sa.select(STUDY_POINTS.c.digest, STUDY_RUNS.c.seed)
        .select_from(STUDY_RUNS.join(STUDY_POINTS, same))
        .where(STUDY_RUNS.c.study == study)
    )


@persistent
def _verified(source: Store, page: sa.FromClause, run: sa.FromClause | None) -> list[dict[str, Any]]:
    """Returns the rows of finished runs with the size of their summaries; `run` is a page of the table itself.

    Raises DamagedError for a row that differs from the one that was stored, and for a missing finished run.
    """
    of_run: sa.FromClause = RUNS if run is None else run
    if run is None:
        on_receipt = sa.and_(RECEIPTS.c.digest == page.c.digest, RECEIPTS.c.seed == page.c.seed)
        on_run = sa.and_(*(of_run.c[name] == RECEIPTS.c[name] for name in _KEY))
        joined = page.join(RECEIPTS, on_receipt).outerjoin(of_run, on_run)
    else:
        joined = run.outerjoin(RECEIPTS, sa.and_(*(of_run.c[name] == RECEIPTS.c[name] for name in _KEY)))
    query = sa.select(
        *(of_run.c[name] for name in ("id", *checksums.RUN, "checksum")),
        RECEIPTS.c.digest.label("of"), RECEIPTS.c.seed.label("receipt_seed"), RECEIPTS.c.checksum.label("receipt"),
        sa.func.length(SUMMARIES.c.summary).label("size"),
    ).select_from(joined.outerjoin(SUMMARIES, SUMMARIES.c.run == of_run.c.id)).order_by(of_run.c.id)  # fmt: skip
    with source.reading() as connection:
        # Points with equal scenarios share runs.
        by_id = {row.id: dict(row._mapping) for row in checksums.rows_of(connection, query)}
        for row in by_id.values():
            if row["id"] is None:
                raise DamagedError(
                    f"the run of scenario {row['of'][:16]}, seed {row['receipt_seed']}, which was finished, is gone"
                )
            checksums.check(row, checksums.RUN, _named(row))
            if row["receipt"] != row["checksum"] or row["size"] is None:
                raise DamagedError(_named(row))
    return list(by_id.values())


@persistent
def _absent(source: Store, target: Store, page: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the runs of a page that the target lacks. Raises ScenarioError if its results of another one differ."""
    columns = [RUNS.c.id, RUNS.c.measures, RUNS.c.parts, RUNS.c.checksum]
    with target.reading() as connection:
        stored_rows = dict(_stored(connection, [_key(row) for row in page], RUNS, *columns))
    for row in page:
        other = stored_rows.get(_key(row))
        if other is None or other["checksum"] == row["checksum"]:
            continue
        if not _agree(row["measures"], other["measures"]) or (
            row["parts"] != other["parts"] and not _agree(_summary(source, row["id"]), _summary(target, other["id"]))
        ):
            raise ScenarioError(
                f"{_named(row)}, engine {row['engine']}: its results in {source.name} and {target.name} differ; "
                "needs stores with equal results of equal runs"
            )
    return [row for row in page if _key(row) not in stored_rows]


def _agree(first: str | bytes | None, second: str | bytes | None) -> bool:
    """Returns whether two JSON objects have equal values under the names that both have.

    Another version of longpipe with the same engine may have stored more or fewer of them.
    """
    tables = [orjson.loads(text or b"{}") for text in (first, second)]
    return all(tables[0][name] == tables[1][name] for name in tables[0].keys() & tables[1].keys())


def _summary(store: Store, run: int) -> bytes:
    with store.reading() as connection:
        query = sa.select(SUMMARIES.c.summary).where(SUMMARIES.c.run == run)
        content = connection.execute(query).scalar_one_or_none()
    try:
        return summary_text(content)  # type: ignore[arg-type]
    except (zlib.error, TypeError):
        raise DamagedError(f"the summary of run {run}") from None


@persistent
def _copy_batch(source: Store, target: Store, batch: Sequence[dict[str, Any]]) -> None:
    with source.reading() as connection:
        query = sa.select(SUMMARIES).where(SUMMARIES.c.run.in_([row["id"] for row in batch]))
        summaries = {row.run: row.summary for row in connection.execute(query)}
        for row in batch:
            row["summary"] = summaries.get(row["id"])
            checksums.check_bytes(row["summary"], json.loads(row["parts"])[_SUMMARY], _named(row))
    for row in batch:
        parts = {kind: checksum for kind, checksum in json.loads(row["parts"]).items() if kind != _SUMMARY}
        if parts:
            key = (row["digest"], int(row["seed"]), row["engine"])
            target.traces.write(target.traces.folder(*key), source.traces.contents(source.traces.folder(*key), parts))
    with target.writing() as connection:
        rows.save(rows.OfSqlAlchemy(connection), batch)
    target.added(len(batch))


def _stored(
    connection: sa.Connection, keys: Sequence[RunKey], table: sa.Table, *columns: sa.Column[Any]
) -> Iterator[tuple[RunKey, Mapping[str, Any]]]:
    """Yields the rows of a table with these keys."""
    requested = set(keys)
    pairs = relation(connection, sorted({(digest, seed) for digest, seed, _ in requested}))
    same = sa.and_(table.c.digest == pairs.c.digest, table.c.seed == pairs.c.seed)
    query = sa.select(*(table.c[name] for name in _KEY), *columns).select_from(pairs.join(table, same))
    for mapping in connection.execute(query).mappings():
        row = dict(mapping)
        if (key := _key(row)) in requested:
            yield key, row


def _by_size(page: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Divides rows into batches whose summaries have at most `_BYTES`."""
    batch: list[dict[str, Any]] = []
    size = 0
    for row in page:
        if batch and size + row["size"] > _BYTES:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row["size"]
    if batch:
        yield batch


def _pages(values: Sequence[str], size: int = PAGE) -> Iterator[Sequence[str]]:
    return (values[begin : begin + size] for begin in range(0, len(values), size))


def _key(row: Mapping[str, Any]) -> RunKey:
    return row["digest"], row["seed"], row["engine"]


def _named(row: Mapping[str, Any]) -> str:
    return f"the run of scenario {row['name']!r}, seed {row['seed']}"
