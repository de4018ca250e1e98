"""Renames and deletes studies. A deletion is done in batches of constant memory, and the same call continues it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from longpipe.errors import ScenarioError
from longpipe.store import checksums, studies
from longpipe.store.copying import pages_of_study
from longpipe.store.leases import Key, living, relation
from longpipe.store.schema import FAILURES, LEASES, RECEIPTS, RUNS, SCENARIOS, STUDIES, STUDY_POINTS, STUDY_RUNS

if TYPE_CHECKING:
    from longpipe.store.store import Store


def rename(store: Store, name: str, new: str) -> None:
    """Renames a study. Raises ScenarioError if it does not exist or is being run, or if the new name is taken."""
    record = studies.require(store, name)
    with store.writing() as connection:
        _check_idle(connection, name)
        existing = sa.select(STUDIES.c.name).where(STUDIES.c.name == new)
        if connection.execute(existing).one_or_none() is not None:
            raise ScenarioError(f"study: {new!r} is already in {store.name}; needs another name")
        row: dict[str, Any] = {column: getattr(record, column) for column in checksums.STUDY} | {"name": new}
        row["checksum"] = checksums.of_row(row, checksums.STUDY)
        connection.execute(sa.insert(STUDIES), row)
        for table in (STUDY_POINTS, STUDY_RUNS):
            connection.execute(sa.update(table).where(table.c.study == name).values(study=new))
        connection.execute(sa.delete(STUDIES).where(STUDIES.c.name == name))


def delete(store: Store, name: str, base_digest: Callable[[str], str | None], *, keep_runs: bool = False) -> int:
    """Deletes a study with its runs, failures and scenarios, except those of other studies; returns how many runs.

    `base_digest` returns the digest of the scenario in which the points of a design, given as JSON, change fields. With
    `keep_runs`, the runs stay in the store. Raises ScenarioError if the study does not exist or is being run.
    """
    studies.require(store, name)
    with store.reading() as connection:
        _check_idle(connection, name)
    deleted = 0
    if not keep_runs:
        for page in pages_of_study(store, name):
            deleted += _delete_page(store, name, page)
    with store.writing() as connection:
        _check_idle(connection, name)
        of_points = sa.select(STUDY_POINTS.c.digest).where(STUDY_POINTS.c.study == name).distinct()
        digests: set[str | None] = set(connection.execute(of_points).scalars())
        designs = {
            row.name: base_digest(row.design) for row in connection.execute(sa.select(STUDIES.c.name, STUDIES.c.design))
        }
        bases = {designs.pop(name)} - set(designs.values())
        for table, column in ((STUDY_RUNS, STUDY_RUNS.c.study), (STUDY_POINTS, STUDY_POINTS.c.study)):
            connection.execute(sa.delete(table).where(column == name))
        connection.execute(sa.delete(STUDIES).where(STUDIES.c.name == name))
        _delete_scenarios(connection, (digests - set(designs.values())) | bases)
    store.forget_scenarios()
    return deleted


def _delete_page(store: Store, name: str, page: sa.Subquery) -> int:
    """Deletes the runs and failures of a page of a study's plan that no other study contains; returns how many runs."""
    with store.reading() as connection:
        keys = {(digest, seed) for digest, seed in connection.execute(sa.select(page.c.digest, page.c.seed))}
        keys -= _shared(connection, name, sorted(keys))
        runs = _of_keys(RUNS, relation(connection, sorted(keys)))
        to_delete = connection.execute(runs).all()
    # The files go first, because nothing refers to them after the rows are deleted.
    for row in to_delete:
        store.traces.remove(store.traces.folder(row.digest, int(row.seed), row.engine))
    with store.writing() as connection:
        for table in (RUNS, RECEIPTS, FAILURES):
            key = sa.tuple_(table.c.digest, table.c.seed, table.c.engine)
            rows = _of_keys(table, relation(connection, sorted(keys)))
            connection.execute(sa.delete(table).where(key.in_(rows)))
    return len(to_delete)


def _shared(connection: sa.Connection, name: str, keys: Sequence[Key]) -> set[Key]:
    """Returns those of the given runs that other studies contain."""
    digests = {digest for digest, _ in keys}
    query = sa.select(STUDY_POINTS.c.study, STUDY_POINTS.c.point, STUDY_POINTS.c.digest).where(
        STUDY_POINTS.c.study != name
    )
    points = connection.execute(query.where(STUDY_POINTS.c.digest.in_(digests))).all()
    shared: set[Key] = set()
    for study, point, digest in points:
        seeds = sa.select(STUDY_RUNS.c.seed).where(STUDY_RUNS.c.study == study, STUDY_RUNS.c.point == point)
        shared.update((digest, seed) for seed in connection.execute(seeds).scalars())
    return shared & set(keys)


def _of_keys(table: sa.Table, keys: sa.FromClause) -> sa.Select[Any]:
    same = sa.and_(table.c.digest == keys.c.digest, table.c.seed == keys.c.seed)
    return sa.select(table.c.digest, table.c.seed, table.c.engine).select_from(keys.join(table, same))


def _delete_scenarios(connection: sa.Connection, digests: set[str | None]) -> None:
    """Deletes those of the given scenarios that neither a study nor a run refers to."""
    candidates = [digest for digest in digests if digest is not None]
    for begin in range(0, len(candidates), 500):
        some = SCENARIOS.c.digest.in_(candidates[begin : begin + 500])
        used = (sa.exists().where(table.c.digest == SCENARIOS.c.digest) for table in (STUDY_POINTS, RUNS, FAILURES))
        connection.execute(sa.delete(SCENARIOS).where(some, *(~condition for condition in used)))


def _check_idle(connection: sa.Connection, name: str) -> None:
    """Raises ScenarioError if a live process holds leases of runs of a study."""
    alive = {owner.id: owner for owner in living(connection)}
    if not alive:
        return
    query = (
        sa.select(LEASES.c.owner)
        .join(STUDY_POINTS, STUDY_POINTS.c.digest == LEASES.c.digest)
        .where(STUDY_POINTS.c.study == name, LEASES.c.owner.in_(alive))
        .limit(1)
    )
    if (holder := connection.execute(query).scalar_one_or_none()) is not None:
        owner = alive[holder]
        raise ScenarioError(
            f"study: {name!r} is being run by process {owner.pid} on {owner.machine.partition('/')[0]}; "
            "needs the end of this process"
        )
