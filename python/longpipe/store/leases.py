"""Who runs what: leases, so that two processes on one store never do a run twice, and a dead one's are taken over."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from typing import Any, Final, Self

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from longpipe.store.errors import DamagedError, StoreError
from longpipe.store.owners import Heartbeat, Owner, is_dead
from longpipe.store.schema import FAILURES, LEASES, OWNERS, RECEIPTS, RUNS

# What names a run beside the engine: digest of the scenario, and seed as text.
Key = tuple[str, str]
Transaction = Callable[[], AbstractContextManager[sa.Connection]]

# Keys in one statement: drivers take some 32 000 values.
_CHUNK: Final = 5_000
# Numbers of processes are below it on every system.
_MOST_PROCESSES: Final = 2**31


class Leases:
    """The leases of one campaign, given back when its context ends; those of finished runs do no harm until then.

    `write` begins a transaction that writes; `alone` says that no other process can see the store.
    """

    def __init__(self, write: Transaction, engine_version: str, *, alone: bool) -> None:
        self._write = write
        self._alone = alone
        self._engine = engine_version
        self.owner = Owner()

    def __enter__(self) -> Self:
        self._sign_in()
        self._heart = None if self._alone else Heartbeat(self.owner, self._beat)
        return self

    def __exit__(self, *_: object) -> None:
        if self._heart is not None:
            self._heart.stop()
        # Otherwise whoever wants them finds that they are nobody's.
        with suppress(StoreError), self._write() as connection:
            self._release(connection)
            connection.execute(sa.delete(OWNERS).where(OWNERS.c.id == self.owner.id))
            self._bury(connection)
            # What failed at first and was finished in the end.
            was_finished = sa.exists().where(
                *(RUNS.c[name] == FAILURES.c[name] for name in ("digest", "seed", "engine"))
            )
            connection.execute(sa.delete(FAILURES).where(was_finished))

    def take(self, keys: Sequence[Key], *, fresh: bool = False) -> tuple[set[Key], set[Key]]:
        """Takes what nobody has; gives what is now ours, and what is finished (nothing, with `fresh`).

        The rest is another process' for now.
        """
        with self._write() as connection:
            taken = self._insert(connection, keys)
            if len(taken) < len(keys) and self._bury(connection):
                taken |= self._insert(connection, [key for key in keys if key not in taken])
            # After the lease: a run that another process finished before it gave up its own is seen now.
            done = set() if fresh else finished(connection, keys, self._engine)
            needless = taken & done
            if needless:
                connection.execute(sa.delete(LEASES).where(_are(LEASES, needless, self._engine)))
        return taken - done, done

    def give_back(self) -> None:
        """Gives all leases back: what this campaign runs again, another may be waiting to."""
        with self._write() as connection:
            self._release(connection)

    def _release(self, connection: sa.Connection) -> None:
        connection.execute(sa.delete(LEASES).where(LEASES.c.owner == self.owner.id))

    def _insert(self, connection: sa.Connection, keys: Sequence[Key]) -> set[Key]:
        rows = [{"digest": d, "seed": s, "engine": self._engine, "owner": self.owner.id} for d, s in keys]
        if not rows:
            return set()
        insert = inserting(connection)(LEASES).values(rows).on_conflict_do_nothing()
        return {(d, s) for d, s in connection.execute(insert.returning(LEASES.c.digest, LEASES.c.seed))}

    def _bury(self, connection: sa.Connection) -> int:
        """Frees the leases of all owners that are dead; how many there were."""
        alive = {owner.id for owner in living(connection)} | {self.owner.id}
        holders = connection.execute(sa.select(LEASES.c.owner).distinct()).scalars()
        dead = [holder for holder in holders if holder not in alive]
        if dead:
            connection.execute(sa.delete(LEASES).where(LEASES.c.owner.in_(dead)))
            connection.execute(sa.delete(OWNERS).where(OWNERS.c.id.in_(dead)))
        return len(dead)

    def _sign_in(self) -> None:
        with self._write() as connection:
            beat = {**asdict(self.owner), "heartbeat": clock(connection)}
            insert = inserting(connection)(OWNERS).values(beat)
            again = insert.on_conflict_do_update(index_elements=["id"], set_={"heartbeat": beat["heartbeat"]})
            connection.execute(again)

    def _beat(self) -> None:
        # The next save says what is wrong with the store, if it lasts.
        with suppress(StoreError):
            self._sign_in()


def living(connection: sa.Connection) -> list[Owner]:
    """The processes with runs in flight."""
    now = clock(connection)
    rows = connection.execute(sa.select(OWNERS)).all()
    for row in rows:
        texts, times = (row.id, row.machine), (row.began, row.heartbeat)
        is_whole = all(isinstance(text, str) for text in texts) and all(isinstance(time, float) for time in times)
        if not (is_whole and isinstance(row.pid, int) and 0 < row.pid < _MOST_PROCESSES):
            raise DamagedError("a process with runs in flight")
    owners = [(Owner(row.id, row.machine, row.pid, row.began), row.heartbeat) for row in rows]
    return [owner for owner, heartbeat in owners if not is_dead(owner, heartbeat, now)]


def finished(connection: sa.Connection, keys: Iterable[Key], engine_version: str) -> set[Key]:
    """Those of the runs that are stored; DamagedError for one that was stored and is gone."""
    wanted = list(keys)
    found: set[Key] = set()
    for begin in range(0, len(wanted), _CHUNK):
        chunk = wanted[begin : begin + _CHUNK]
        # One statement, so that both tables are of one time.
        query = sa.union_all(
            *(
                sa.select(sa.literal(number), table.c.digest, table.c.seed).where(_are(table, chunk, engine_version))
                for number, table in enumerate((RUNS, RECEIPTS))
            )
        )
        stored: tuple[set[Key], set[Key]] = (set(), set())
        for number, digest, seed in connection.execute(query):
            stored[number].add((digest, seed))
        if stored[0] != stored[1]:
            digest, seed = min(stored[0] ^ stored[1])
            raise DamagedError(f"the run of scenario {digest[:16]}, seed {seed}, which was finished, is gone")
        found |= stored[0]
    return found


def clock(connection: sa.Connection) -> float:
    """One time for all processes on a store [s since 1970]."""
    if connection.dialect.name == "postgresql":
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
    return time.time()


def inserting(connection: sa.Connection) -> Callable[[sa.Table], Any]:
    """The insert statement of this kind of database, which can say what a conflict does."""
    return insert_of(connection.dialect.name)


def insert_of(kind: str) -> Callable[[sa.Table], Any]:
    """The insert statement of a kind of database, "sqlite" or "postgresql"."""
    if kind == "sqlite":
        return sqlite.insert
    # Takes 30 ms and 2 MB to load.
    from sqlalchemy.dialects import postgresql

    return postgresql.insert


def _are(table: sa.Table, keys: Iterable[Key], engine_version: str) -> sa.ColumnElement[bool]:
    return sa.and_(sa.tuple_(table.c.digest, table.c.seed).in_(list(keys)), table.c.engine == engine_version)
