"""The store: runs by scenario digest, seed and engine."""

from __future__ import annotations

import json
import math
import platform
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.store import checksums, rows
from longpipe.store.address import WRITES, Address
from longpipe.store.errors import READ_ONLY, DamagedError, LostError, StoreError, damage, is_passing, reason
from longpipe.store.persistence import persistent
from longpipe.store.rows import VERSION
from longpipe.store.traces import Traces
from longpipe.system.interrupts import deferred
from longpipe.system.provenance import engine_version

# Imported on demand, because commands that only list studies do not need Pydantic, and single runs do not need
# SQLAlchemy.
if TYPE_CHECKING:
    import sqlalchemy as sa

    from longpipe.result import Result
    from longpipe.scenario import Scenario
    from longpipe.store.leases import Key, Leases
    from longpipe.store.packing import Packed

# Number of the lock that serializes processes which create a store in the same PostgreSQL database; any number that
# nothing else uses would do.
_TURN = 0x6C6F6E67
# Number of new runs after which PostgreSQL's statistics are renewed; later, as soon as the runs have doubled. Its own
# renewal starts a minute late, and it executes joins of large tables without statistics by reading all rows for each.
_FEWEST_ANALYZED: Final = 1000
# Number of runs per query: small enough to fit in memory, and large enough that a query's overhead is negligible.
RUNS_AT_ONCE: Final = 100


class Store:
    """Runs by scenario digest, seed and engine, with their traces; files requested by web traffic are not kept.

    `where` is a path of an SQLite file, a URL ("sqlite:///campaign.db", "postgresql://user@host/name?traces=DIR"), or
    None for memory. With `readonly` nothing is written; without `create` a missing store is not created. A store whose
    tables have an older version can only be read. Raises ScenarioError if the store cannot be opened. `name` is its
    file or its URL without a password, and `traces` are the files of the traces.
    """

    def __init__(self, where: str | Path | None = None, *, readonly: bool = False, create: bool = True) -> None:
        self._address = Address(where)
        self._known: set[str] = set()
        self._is_consistent = False
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        # The database through SQLAlchemy, and through Python's own driver, which is sufficient for single runs in an
        # SQLite file.
        self._engine: sa.Engine | None = None
        self._variants: dict[str, sa.Engine] = {}
        # Numbers of runs that were stored since PostgreSQL's statistics were renewed, and before.
        self._new_runs = self._old_runs = 0
        self._driver: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self.name = self._address.name
        self.traces = Traces(self._address.traces, self.name, in_memory=self._address.is_memory)
        try:
            if not (readonly or create):
                # Opening checks whether there is a store.
                self._open(readonly=True)
                self.close()
            self._open(readonly=readonly)
        except ScenarioError:
            raise
        except DamagedError as error:
            raise ScenarioError(f"store: {self.name}: {error}") from None
        except Exception as error:
            if not isinstance(error, (*_database_errors(), OSError, ValueError)):
                raise
            why = READ_ONLY if not readonly and self._address.is_protected() else str(damage(error) or reason(error))
            needs = "" if "; " in why else "; needs a database, or a new file"
            raise ScenarioError(f"store: {self.name}: {why}{needs}") from None

    @property
    def url(self) -> str:
        """Returns the URL without a password."""
        return self._address.shown_url

    def is_same_as(self, other: Store) -> bool:
        """Returns whether both are the same file, or have the same URL of a server."""
        return self is other or self._address.is_same_as(other._address)

    def load(self, scenario: Scenario, seed: int, *, engine: str | None = None) -> Result | None:
        """Returns the stored run; None if the engine (by default this one) has not finished it."""
        return next(self.load_all([(scenario, seed)], engine=engine))

    def load_all(self, jobs: Iterable[tuple[Scenario, int]], *, engine: str | None = None) -> Iterator[Result | None]:
        """Returns the stored runs in the order of the jobs, read with queries for `RUNS_AT_ONCE` runs each."""
        from longpipe.store.packing import unpack

        engine, left = engine or engine_version(), iter(jobs)
        while some := list(islice(left, RUNS_AT_ONCE)):
            run_rows = self._run_rows(some, engine)
            for (scenario, seed), row in zip(some, run_rows, strict=True):
                result = None if row is None else unpack(scenario, seed, row["summary"])
                if row is not None and result is not None and (kinds := _traces_of(scenario)):
                    folder = self.traces.folder(row["digest"], seed, engine)
                    parts = json.loads(row["parts"])
                    selected = {kind: parts.get(kind) for kind in kinds}
                    result = replace(result, read_traces=partial(self.traces.read, folder, selected, result.names))
                yield result

    @persistent
    def _run_rows(self, jobs: list[tuple[Scenario, int]], engine: str) -> list[Mapping[str, Any] | None]:
        """Returns the verified row of each run with its summary; None if the engine has not finished it."""
        keys = [(scenario.digest(), str(seed)) for scenario, seed in jobs]
        # The content is checked in the transaction, which names the store in errors.
        with self._transaction_of_rows() as transaction:
            rows_by_key = rows.find(transaction, keys, engine)
            for (scenario, seed), key in zip(jobs, keys, strict=True):
                if (row := rows_by_key.get(key)) is not None:
                    run = f"the run of scenario {scenario.name!r}, seed {seed}"
                    checksums.check(row, checksums.RUN, run)
                    checksums.check_bytes(row["summary"], json.loads(row["parts"])["summary"], run)
        return [rows_by_key.get(key) for key in keys]

    def require(self, scenario: Scenario, seed: int, *, engine: str | None = None) -> Result:
        """Returns the stored run. Raises an error if it is missing."""
        return next(self.require_all([(scenario, seed)], engine=engine))

    def require_all(self, jobs: Iterable[tuple[Scenario, int]], *, engine: str | None = None) -> Iterator[Result]:
        """Returns the stored runs in the order of the jobs. Raises an error if one is missing."""
        to_pair, to_load = tee(jobs)
        for (scenario, seed), result in zip(to_pair, self.load_all(to_load, engine=engine), strict=True):
            if result is None:
                raise StoreError(
                    f"store {self.name}: scenario {scenario.name!r}, seed {seed} has disappeared from it; run it again"
                )
            yield result

    def has(self, scenario: Scenario, seed: int) -> bool:
        """Returns whether this engine has finished the run."""
        return bool(self.finished([(scenario, seed)]))

    @persistent
    def finished(self, jobs: Iterable[tuple[Scenario, int]]) -> set[Key]:
        """Returns the digest and the seed, as text, of each given run that this engine has finished."""
        from longpipe.store.leases import finished

        keys = [(scenario.digest(), str(seed)) for scenario, seed in jobs]
        with self.reading() as connection:
            return finished(connection, keys, engine_version())

    @persistent
    def durations(self, jobs: Iterable[tuple[Scenario, int]]) -> dict[Key, float]:
        """Returns the durations [s] of the given runs that this engine has finished on this machine."""
        from longpipe.store.leases import durations

        keys = [(scenario.digest(), str(seed)) for scenario, seed in jobs]
        with self.reading() as connection:
            return durations(connection, keys, engine_version(), platform.node())

    def save(self, scenario: Scenario, seed: int, packed: Packed) -> None:
        """Stores a finished run; replaces an earlier one with the same key."""
        self.save_all([((scenario, seed), packed)])

    def save_all(self, finished: Sequence[tuple[tuple[Scenario, int], Packed]]) -> None:
        """Stores finished runs (scenario and seed, packed run) in one transaction; replaces earlier ones."""
        runs = [self._row(scenario, seed, packed) for (scenario, seed), packed in finished]
        self._save_rows([scenario for (scenario, _), _ in finished], runs)

    @persistent
    def _save_rows(self, scenarios: Sequence[Scenario], runs: Sequence[rows.Values]) -> None:
        with self._transaction_of_rows(write=True) as transaction:
            self._save_scenarios(transaction, scenarios)
            rows.save(transaction, runs)
        self.added(len(runs))

    def _row(self, scenario: Scenario, seed: int, packed: Packed) -> dict[str, object]:
        """Writes the traces of a run, and returns its row with the summary."""
        digest = scenario.digest()
        if packed.traces:
            self.traces.write(self.traces.folder(digest, seed, engine_version()), packed.traces)
        run = {
            "digest": digest,
            "seed": str(seed),
            "engine": engine_version(),
            "name": scenario.name,
            "finished_at": _now(),
            "seconds": None if math.isnan(packed.seconds) else packed.seconds,
            "machine": packed.machine[:255],
            "measures": packed.measures,
            "parts": json.dumps(checksums.of_parts(packed.summary, packed.traces)),
        }
        return {**run, "checksum": checksums.of_row(run, checksums.RUN), "summary": packed.summary}

    def added(self, runs: int) -> None:
        """Renews PostgreSQL's statistics if runs have been added since; call this after the transaction."""
        self._new_runs += runs
        if not self._address.is_sqlite and self._new_runs >= max(_FEWEST_ANALYZED, self._old_runs):
            from longpipe.store.schema import RECEIPTS, RUNS, SUMMARIES

            self.analyze(RUNS, SUMMARIES, RECEIPTS)
            self._new_runs, self._old_runs = 0, self._old_runs + self._new_runs

    def analyze(self, *tables: sa.Table) -> None:
        """Makes PostgreSQL renew its statistics of tables."""
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in tables)}")

    def keep(self, result: Result, seconds: float = math.nan) -> None:
        """Stores a run of this process, with its duration."""
        from longpipe.store.packing import pack

        self.save(result.scenario, result.seed, pack(result, seconds))

    @persistent
    def fail(self, scenario: Scenario, seed: int, message: str) -> None:
        """Records that a run failed, until it succeeds, and releases its lease."""
        import sqlalchemy as sa

        from longpipe.store.leases import inserting
        from longpipe.store.schema import FAILURES, LEASES

        key = (scenario.digest(), str(seed))
        row = {"digest": key[0], "seed": key[1], "engine": engine_version(), "name": scenario.name}
        details: dict[str, object] = {"message": message, "failed_at": _now()}
        details["checksum"] = checksums.of_row({**row, **details}, checksums.FAILURE)
        with self.writing() as connection:
            note = inserting(connection)(FAILURES).values({**row, **details})
            connection.execute(
                note.on_conflict_do_update(
                    index_elements=["digest", "seed", "engine"], set_={"name": scenario.name, **details}
                )
            )
            connection.execute(sa.delete(LEASES).where(*_is(LEASES, key, engine_version())))

    def leases(self) -> Leases:
        """Returns a context in which this process takes leases of runs."""
        from longpipe.store.leases import Leases

        return Leases(self.writing, engine_version(), alone=self._address.is_memory)

    def save_scenarios(self, connection: sa.Connection, scenarios: Iterable[Scenario]) -> None:
        """Stores the scenarios that are not stored yet."""
        self._save_scenarios(rows.OfSqlAlchemy(connection), scenarios)

    def _save_scenarios(self, transaction: rows.Transaction, scenarios: Iterable[Scenario]) -> None:
        from longpipe.store.packing import compressed

        new = {scenario.digest(): scenario for scenario in scenarios}
        unknown: list[dict[str, object]] = [
            {"digest": digest, "resolved": compressed(scenario.resolved_json().encode()), "fields": scenario.to_json()}
            for digest, scenario in new.items()
            if digest not in self._known
        ]
        for row in unknown:
            row["checksum"] = checksums.of_row(row, checksums.SCENARIO)
        rows.save_scenarios(transaction, unknown)
        self._known.update(new)

    def check_traces(self, scenario: Scenario) -> None:
        """Raises StoreError if the scenario requests traces and the store has no directory for them."""
        self.traces.check(bool(_traces_of(scenario)))

    def count(self) -> int:
        """Returns the number of stored runs, including those of other engines."""
        import sqlalchemy as sa

        from longpipe.store.schema import RECEIPTS, RUNS

        with self.reading() as connection:
            runs, receipts = (
                sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in (RUNS, RECEIPTS)
            )
            stored_once, finished_once = connection.execute(sa.select(runs, receipts)).one()
            if stored_once != finished_once:
                raise DamagedError(f"{stored_once} runs, but {finished_once} were finished")
            return int(stored_once)

    def check_integrity(self, connection: sa.Connection) -> None:
        """Raises DamagedError if small tables contradict their indices. It checks an open store once."""
        from longpipe.store import schema

        if not self._is_consistent:
            checksums.check_integrity(connection, schema.INDEXED)
            self._is_consistent = True

    def forget_scenarios(self) -> None:
        """Forgets which scenarios are stored, because some were deleted."""
        self._known.clear()

    def close(self) -> None:
        """Closes the database's file or connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
            self._variants.clear()
        if self._driver is not None:
            self._driver.close()
            self._driver = None
        if self._copy is not None:
            self._copy.cleanup()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Starts a read transaction. Raises StoreError if the database fails."""
        with self._explained(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Starts a write transaction. Raises StoreError if the database fails."""
        # Interrupts are deferred, because a transaction that remains open would keep all others waiting for its lock.
        with deferred(), self._explained(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def _transaction_of_rows(self, *, write: bool = False) -> Iterator[rows.Transaction]:
        """Starts a transaction for `rows`, without SQLAlchemy if the store has not needed it yet."""
        if self._driver is None or self._engine is not None:
            with self.writing() if write else self.reading() as connection:
                yield rows.OfSqlAlchemy(connection)
            return
        with deferred() if write else nullcontext(), self._explained(), self._lock:
            driver = self._driver
            driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield rows.OfDriver(driver)
                driver.execute("COMMIT")
            finally:
                if driver.in_transaction:
                    driver.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Converts errors of the database into StoreError."""
        try:
            yield
        except DamagedError as error:
            raise StoreError(f"store {self.name}: {error}") from None
        except Exception as error:
            if not isinstance(error, _database_errors()):
                raise
            # After an error, the scenarios that this transaction stored are not in the database.
            self._known.clear()
            details = damage(error) or f"{reason(error)}; the runs it holds are safe, run again"
            kind = LostError if is_passing(error) else StoreError
            raise kind(f"store {self.name}: {details}") from None

    @property
    def _database(self) -> sa.Engine:
        # The heartbeats of leases use the same connection from another thread.
        with self._lock:
            if self._engine is None:
                self._engine = self._address.engine(readonly=self._readonly)
            return self._engine

    @property
    def _reader(self) -> sa.Engine:
        # All statements of a read transaction see the same rows; SQLite guarantees this by default, but PostgreSQL does
        # not.
        if self._database.dialect.name == "sqlite":
            return self._database
        return self._with_option("isolation_level", "REPEATABLE READ")

    @property
    def _writer(self) -> sa.Engine:
        return self._with_option(WRITES, True)

    def _with_option(self, name: str, value: object) -> sa.Engine:
        """Returns the database with an execution option, which takes SQLAlchemy longer to add than a transaction."""
        if name not in self._variants:
            self._variants[name] = self._database.execution_options(**{name: value})
        return self._variants[name]

    def _open(self, *, readonly: bool) -> None:
        self._readonly = readonly
        if (driver := self._address.driver(readonly=readonly)) is not None:
            self._driver = driver
            return
        from longpipe.store import schema
        from longpipe.store.leases import living

        interrupted = self._address.has_log()
        self._connect(self._address, readonly=readonly)
        try:
            with self._database.begin() as connection:
                version = self._version(connection)
                if version == VERSION:
                    # The log alone is no proof, because it also exists while another process has runs in progress.
                    if interrupted and not living(connection):
                        checksums.check_integrity(connection)
                    if readonly or schema.is_whole(connection):
                        return
            if version not in (None, VERSION):
                if not readonly:
                    raise ScenarioError(
                        f"store: {self.name}: version {version} of the tables, which this longpipe only reads; needs a "
                        "new store"
                    )
                self._open_copy(version)
            elif readonly:
                raise ScenarioError(f"store: {self.name}: contains no runs; needs the store of an earlier run")
            else:
                self._make()
        except BaseException:
            self.close()
            raise

    def _open_copy(self, version: int) -> None:
        """Opens a copy, in a temporary directory, of a store whose tables have an older version."""
        from longpipe.store import older, schema

        self._copy = tempfile.TemporaryDirectory(prefix="longpipe-store-")
        copy = Address(Path(self._copy.name) / "runs.db")
        old = self._database
        self._connect(copy, readonly=False)
        with old.begin() as read, self._writer.begin() as write:
            schema.create(write)
            older.copy(read, write, version)
        old.dispose()
        self._database.dispose()
        self._connect(copy, readonly=True)

    def _connect(self, address: Address, *, readonly: bool) -> None:
        self._engine = address.engine(readonly=readonly)
        self._variants.clear()

    def _make(self) -> None:
        import sqlalchemy as sa

        from longpipe.store import schema

        with self._writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                # This is checked first, because the driver prints to standard error if a batch of rows fails.
                if connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "on":
                    raise ScenarioError(f"store: {self.name}: {READ_ONLY}")
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TURN)))
            # Another process may have created the store in the meantime.
            if self._version(connection) in (None, VERSION):
                schema.create(connection)

    def _version(self, connection: sa.Connection) -> int | None:
        from longpipe.store import schema

        version = schema.version(connection)
        if version == schema.FOREIGN:
            raise ScenarioError(f"store: {self.name}: contains other tables; needs a store of longpipe, or a new file")
        if version is not None and version > VERSION:
            raise ScenarioError(
                f"store: {self.name}: version {version}, by longpipe {schema.written_by(connection)}; "
                f"this is longpipe {_core.__version__}, which reads versions 1 to {VERSION}"
            )
        return version


def _database_errors() -> tuple[type[Exception], ...]:
    """Returns the errors of the drivers, and those of SQLAlchemy once it is loaded."""
    loaded = sys.modules.get("sqlalchemy.exc")
    return (sqlite3.Error,) if loaded is None else (sqlite3.Error, loaded.SQLAlchemyError)


def _is(table: sa.Table, key: Key, engine: str) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.digest == key[0], table.c.seed == key[1], table.c.engine == engine


def _traces_of(scenario: Scenario) -> list[str]:
    return [kind for kind, is_recorded in scenario.traces.model_dump().items() if is_recorded is True]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
