"""Leases of runs, so that no run is executed by two processes, and so that a dead process's runs are taken over."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from functools import cache
from typing import Any, Final, NamedTuple, Self

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from longpipe.store.errors import DamagedError, StoreError
from longpipe.store.owners import Heartbeat, Owner, is_dead
from longpipe.store.persistence import persistent
from longpipe.store.schema import FAILURES, LEASES, OWNERS, RECEIPTS, RUNS, WORKERS

# Key of a run, apart from the engine: the scenario's digest, and the seed as text.
Key = tuple[str, str]
Transaction = Callable[[], AbstractContextManager[sa.Connection]]

# Parameters of the statements below.
_ENGINE: Final = sa.bindparam("engine", type_=sa.Text)
_OWNER: Final = sa.bindparam("owner", type_=sa.Text)

# Maximum number of keys per statement, so that a statement's text stays short.
_CHUNK: Final = 5_000
# Upper bound on process IDs on all systems.
_MAX_PROCESSES: Final = 2**31


class Taken(NamedTuple):
    """Runs that this process has leased now, finished runs, and runs that other processes have leased."""

    ours: set[Key]
    finished: set[Key]
    others: set[Key]


class Leases:
    """A campaign's leases, released when the context manager exits; until then, leases of finished runs have no effect.

    `write` begins a write transaction; `alone` means that no other process can see the store.
    """

    def __init__(self, write: Transaction, engine_version: str, *, alone: bool) -> None:
        self._write = write
        self._alone = alone
        self._engine = engine_version
        self.owner = Owner()
        # Number of runs that this process executes at a time, if known, and the number that was written last.
        self.workers: int | None = None
        self._told: int | None = None

    def __enter__(self) -> Self:
        persistent(self._sign_in)()
        self._heart = None if self._alone else Heartbeat(self.owner, self._beat)
        return self

    def __exit__(self, *_: object) -> None:
        if self._heart is not None:
            self._heart.stop()
        # If this fails, other processes detect that the owner has ended.
        with suppress(StoreError), self._write() as connection:
            self._release(connection)
            _sign_out(connection, [self.owner.id])
            self._bury(connection)
            # Failures of runs that were finished later are deleted.
            was_finished = sa.exists().where(
                *(RUNS.c[name] == FAILURES.c[name] for name in ("digest", "seed", "engine"))
            )
            connection.execute(sa.delete(FAILURES).where(was_finished))

    @persistent
    def take(self, keys: Sequence[Key], max_taken: int | None = None, *, fresh: bool = False) -> Taken:
        """Takes the free leases of runs, of the first `max_taken` of them.

        With `fresh`, no run counts as finished. Free runs beyond `max_taken` are in no set of the result.
        """
        with self._write() as connection:
            _use_indices(connection)
            self._tell_workers(connection)
            leased = self._leased(connection, keys)
            if leased and self._bury(connection):
                leased = self._leased(connection, keys)
            leases = self._insert(connection, [key for key in keys if key not in leased][:max_taken])
            # This is checked after taking the leases, so that runs that another process has just finished are found.
            done = set() if fresh else finished(connection, leases | leased, self._engine)
            needless = leases & done
            if needless:
                few = relation(connection, needless)
                among = sa.tuple_(LEASES.c.digest, LEASES.c.seed).in_(sa.select(few.c.digest, few.c.seed))
                connection.execute(sa.delete(LEASES).where(among, LEASES.c.engine == self._engine))
        return Taken(leases - done, done, leased - done)

    @persistent
    def give_back(self) -> None:
        """Releases all leases, because other processes may be waiting for these runs."""
        with self._write() as connection:
            self._release(connection)

    def _release(self, connection: sa.Connection) -> None:
        connection.execute(sa.delete(LEASES).where(LEASES.c.owner == self.owner.id))

    def _tell_workers(self, connection: sa.Connection) -> None:
        if self.workers in (None, self._told):
            return
        row = inserting(connection)(WORKERS).values(owner=self.owner.id, workers=self.workers)
        connection.execute(row.on_conflict_do_update(index_elements=["owner"], set_={"workers": self.workers}))
        self._told = self.workers

    def _leased(self, connection: sa.Connection, keys: Sequence[Key]) -> set[Key]:
        """Returns the runs that other processes have leased."""
        return self._keys(connection, _others_query, keys)

    def _insert(self, connection: sa.Connection, keys: Sequence[Key]) -> set[Key]:
        if not keys:
            return set()
        return self._keys(connection, _insertion, keys)

    def _keys(
        self, connection: sa.Connection, statement: Callable[[str], sa.ClauseElement], keys: Sequence[Key]
    ) -> set[Key]:
        values = {"engine": self._engine, "owner": self.owner.id, **_bound(connection, keys)}
        rows = connection.exec_driver_sql(_text(connection.dialect.name, statement), values)
        return {(row.digest, row.seed) for row in rows}

    def _bury(self, connection: sa.Connection) -> int:
        """Frees the leases of dead owners. Returns how many owners were dead."""
        alive = {owner.id for owner in living(connection)} | {self.owner.id}
        holders = connection.execute(sa.select(LEASES.c.owner).distinct()).scalars()
        dead = [holder for holder in holders if holder not in alive]
        if dead:
            connection.execute(sa.delete(LEASES).where(LEASES.c.owner.in_(dead)))
            _sign_out(connection, dead)
        return len(dead)

    def _sign_in(self) -> None:
        with self._write() as connection:
            beat = {**asdict(self.owner), "heartbeat": clock(connection)}
            insert = inserting(connection)(OWNERS).values(beat)
            upsert = insert.on_conflict_do_update(index_elements=["id"], set_={"heartbeat": beat["heartbeat"]})
            connection.execute(upsert)

    def _beat(self) -> None:
        # If the problem persists, the next save reports it.
        with suppress(StoreError):
            self._sign_in()


def _sign_out(connection: sa.Connection, owners: Sequence[str]) -> None:
    for column in (OWNERS.c.id, WORKERS.c.owner):
        connection.execute(sa.delete(column.table).where(column.in_(owners)))


def workers(connection: sa.Connection) -> dict[str, int]:
    """Returns the number of runs that each process executes at a time, by the identity of the process."""
    if not sa.inspect(connection).has_table(WORKERS.name):
        return {}
    return {row.owner: row.workers for row in connection.execute(sa.select(WORKERS))}


def living(connection: sa.Connection) -> list[Owner]:
    """Returns the live processes that have runs in progress."""
    now = clock(connection)
    rows = connection.execute(sa.select(OWNERS)).all()
    for row in rows:
        texts, times = (row.id, row.machine), (row.began, row.heartbeat)
        is_whole = all(isinstance(text, str) for text in texts) and all(isinstance(time, float) for time in times)
        if not (is_whole and isinstance(row.pid, int) and 0 < row.pid < _MAX_PROCESSES):
            raise DamagedError("a process with runs in flight")
    owners = [(Owner(row.id, row.machine, row.pid, row.began), row.heartbeat) for row in rows]
    return [owner for owner, heartbeat in owners if not is_dead(owner, heartbeat, now)]


def finished(connection: sa.Connection, keys: Iterable[Key], engine_version: str) -> set[Key]:
    """Returns those of the given runs that are stored. Raises DamagedError for a finished run that is missing."""
    distinct = list(dict.fromkeys(keys))
    _use_indices(connection)
    finished_keys: set[Key] = set()
    for begin in range(0, len(distinct), _CHUNK):
        some = distinct[begin : begin + _CHUNK]
        values = {"engine": engine_version, **_bound(connection, some)}
        kind = connection.dialect.name
        # Counting is much faster than reading the keys.
        counts = tuple(connection.exec_driver_sql(_text(kind, _count_query), values).one())
        if counts == (0, 0):
            continue
        for digest, seed, run, receipt in connection.exec_driver_sql(_text(kind, _stored_query), values):
            if run != receipt:
                raise gone(digest, seed)
            if run is not None:
                finished_keys.add((digest, seed))
    return finished_keys


def gone(digest: str, seed: str) -> DamagedError:
    """Returns the error for a finished run that is missing."""
    return DamagedError(f"the run of scenario {digest[:16]}, seed {seed}, which was finished, is gone")


def durations(connection: sa.Connection, keys: Sequence[Key], engine_version: str, machine: str) -> dict[Key, float]:
    """Returns the durations [s] of those of the given runs that are stored and were executed on a machine."""
    seconds_by_key: dict[Key, float] = {}
    for begin in range(0, len(keys), _CHUNK):
        requested = relation(connection, keys[begin : begin + _CHUNK])
        joined = requested.join(RUNS, _is_run(RUNS, requested, engine_version))
        query = sa.select(requested.c.digest, requested.c.seed, RUNS.c.seconds).select_from(joined)
        here = query.where(RUNS.c.machine == machine, RUNS.c.seconds.is_not(None))
        seconds_by_key |= {(digest, seed): seconds for digest, seed, seconds in connection.execute(here)}
    return seconds_by_key


def clock(connection: sa.Connection) -> float:
    """Returns the database's time [s since 1970], which is common to all processes."""
    if connection.dialect.name == "postgresql":
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
    return time.time()


def inserting(connection: sa.Connection) -> Callable[[sa.Table], Any]:
    """Returns an insert statement for this database that can handle conflicts."""
    return insert_of(connection.dialect.name)


def insert_of(kind: str) -> Callable[[sa.Table], Any]:
    """Returns the insert function for a database, "sqlite" or "postgresql"."""
    if kind == "sqlite":
        return sqlite.insert
    # Imported here because it takes 30 ms and 2 MB.
    from sqlalchemy.dialects import postgresql

    return postgresql.insert


def _use_indices(connection: sa.Connection) -> None:
    """Makes PostgreSQL find keys by an index in this transaction, also while statistics say that tables are empty."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")


@cache
def _text(kind: str, statement: Callable[[str], sa.ClauseElement]) -> str:
    """Returns the text of a statement for the driver.

    It is compiled once, because SQLAlchemy needs four times as long for a statement as a database for a few keys.
    """
    if kind == "sqlite":
        return str(statement(kind).compile(dialect=sqlite.dialect(paramstyle="named")))
    from sqlalchemy.dialects.postgresql import psycopg

    return str(statement(kind).compile(dialect=psycopg.dialect()))  # type: ignore[no-untyped-call]


def _others_query(kind: str) -> sa.Select[Any]:
    """Returns the query of runs that other processes have leased."""
    requested = _wanted(kind)
    owner = sa.select(LEASES.c.owner).where(_is_run(LEASES, requested, _ENGINE)).correlate(requested).scalar_subquery()
    claims = sa.select(requested.c.digest, requested.c.seed, owner.label("owner")).subquery()
    return sa.select(claims.c.digest, claims.c.seed).where(claims.c.owner != _OWNER)


def _insertion(kind: str) -> sa.ClauseElement:
    """Returns the statement that takes the free leases of runs."""
    requested = _wanted(kind)
    # SQLite cannot parse a conflict clause after a SELECT without WHERE.
    rows = sa.select(requested.c.digest, requested.c.seed, _ENGINE, _OWNER).where(sa.true())
    insert = insert_of(kind)(LEASES).from_select(["digest", "seed", "engine", "owner"], rows)
    # A lease that this process has already is taken again, because a server may have ended after it took the lease and
    # before it answered.
    upsert = insert.on_conflict_do_update(
        index_elements=["digest", "seed", "engine"],
        set_={"owner": insert.excluded.owner},
        where=LEASES.c.owner == insert.excluded.owner,
    )
    insertion: sa.ClauseElement = upsert.returning(LEASES.c.digest, LEASES.c.seed)
    return insertion


def _stored_query(kind: str) -> sa.Select[Any]:
    """Returns the query of keys with a 1, or NULL, for the run and for the receipt.

    Both are scalar subqueries, which PostgreSQL executes by an index even if it lacks statistics; a join would then
    read all runs for each key.
    """
    requested = _wanted(kind)

    def stored(table: sa.Table) -> sa.ScalarSelect[int]:
        run_exists = sa.select(sa.literal_column("1", sa.Integer)).where(_is_run(table, requested, _ENGINE))
        return run_exists.correlate(requested).scalar_subquery()

    return sa.select(requested.c.digest, requested.c.seed, stored(RUNS).label("run"), stored(RECEIPTS).label("receipt"))


def _count_query(kind: str) -> sa.Select[int, int]:
    """Returns the query of the numbers of stored runs and of receipts among runs."""
    stored_runs = _stored_query(kind).subquery()
    return sa.select(sa.func.count(stored_runs.c.run), sa.func.count(stored_runs.c.receipt))


def _is_run(
    table: sa.Table, keys: sa.FromClause, engine_version: str | sa.BindParameter[str]
) -> sa.ColumnElement[bool]:
    return sa.and_(*(table.c[name] == keys.c[name] for name in ("digest", "seed")), table.c.engine == engine_version)


def relation(connection: sa.Connection, keys: Iterable[Key]) -> sa.FromClause:
    """Returns keys as a relation with the columns `digest` and `seed`, so that tables are joined to it by an index.

    A list of pairs in the statement would be compared with every row, one by one, by PostgreSQL.
    """
    return _relation(connection.dialect.name, **_bound(connection, keys))


def _wanted(kind: str) -> sa.FromClause:
    """Returns the relation of keys that are parameters of a statement, as `_bound` returns them."""
    if kind == "sqlite":
        return _relation(kind, keys=sa.bindparam("keys", type_=sa.Text))
    return _relation(kind, **{name: sa.bindparam(name, type_=sa.ARRAY(sa.Text)) for name in ("digests", "seeds")})


def _bound(connection: sa.Connection, keys: Iterable[Key]) -> dict[str, Any]:
    pairs = list(keys)
    if connection.dialect.name == "sqlite":
        return {"keys": json.dumps(pairs)}
    return {name: [pair[i] for pair in pairs] for i, name in enumerate(("digests", "seeds"))}


def _relation(kind: str, **keys: Any) -> sa.FromClause:  # noqa: ANN401 - values or parameters
    if kind == "sqlite":
        pair = sa.func.json_each(keys["keys"]).table_valued("value").c.value
        # The paths are not parameters, so that the statement has no others than the given ones.
        digest, seed = (
            sa.func.json_extract(pair, sa.text(f"'$[{i}]'")).label(name) for i, name in enumerate(("digest", "seed"))
        )
        return sa.select(digest, seed).subquery()
    columns = (sa.cast(keys[name], sa.ARRAY(sa.Text)) for name in ("digests", "seeds"))
    return sa.func.unnest(*columns).table_valued("digest", "seed", name="keys").render_derived()
