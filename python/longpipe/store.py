"""Finished runs in a database, each stored the moment it ends."""

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.result import Result
from longpipe.scenario import Scenario

_METADATA: Final = sa.MetaData()

_SCENARIOS: Final = sa.Table(
    "scenarios",
    _METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("resolved", sa.Text, nullable=False),
)

# A seed is unsigned and 64 bits wide, which SQL's integers are not.
_RUNS: Final = sa.Table(
    "runs",
    _METADATA,
    sa.Column("digest", sa.String(64), sa.ForeignKey("scenarios.digest"), primary_key=True),
    sa.Column("seed", sa.String(20), primary_key=True),
    sa.Column("engine", sa.String(40), primary_key=True),
    sa.Column("build", sa.String(80), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("finished_at", sa.DateTime, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
)


# Frames of a result that are kept, by name.
_PARTS: Final = ("flows", "ports", "classes", "vbr", "web", "response_times")


class StoreError(RuntimeError):
    """The database failed while it was in use; what it held before is safe."""


@cache
def build_id() -> str:
    """Version and hash of the compiled core: runs of another build are never taken for this one's."""
    code = Path(str(_core.__file__)).read_bytes()
    return f"{_core.__version__}-{hashlib.sha256(code).hexdigest()[:16]}"


class Store:
    """Runs by scenario digest, seed, engine and build; traces and files are not kept.

    `where` is a path of an SQLite file, a database URL ("sqlite:///runs.sqlite"), or None for memory. Raises
    ScenarioError if it can't be opened.
    """

    def __init__(self, where: str | Path | None = None) -> None:
        self.url = _url(where)
        self._name = self.url.database or "memory"
        is_sqlite = self.url.get_backend_name() == "sqlite"
        try:
            if is_sqlite and self.url.database:
                Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
            # A second study may hold the file's lock for as long as one insert takes.
            self._database = sa.create_engine(self.url, connect_args={"timeout": 60} if is_sqlite else {})
            _METADATA.create_all(self._database)
        except (SQLAlchemyError, ImportError, OSError) as error:
            raise ScenarioError(f"store: {self._name}: {_reason(error)}; needs a database, or a new file") from None

    def load(self, scenario: Scenario, seed: int) -> Result | None:
        """The stored run, without traces; None if this build has not finished it."""
        query = sa.select(_RUNS.c.summary).where(*_is_run(digest_of(scenario), scenario.engine, seed))
        with self._transaction() as connection:
            summary = connection.execute(query).scalar_one_or_none()
        return None if summary is None else _unpack(scenario, seed, summary)

    def require(self, scenario: Scenario, seed: int) -> Result:
        """The stored run, which must be there."""
        if (result := self.load(scenario, seed)) is None:
            raise StoreError(f"store {self._name}: scenario {scenario.name!r}, seed {seed} has left it; run again")
        return result

    def has(self, scenario: Scenario, seed: int) -> bool:
        """Whether this build has finished the run."""
        query = sa.select(sa.literal(1)).where(*_is_run(digest_of(scenario), scenario.engine, seed))
        with self._transaction() as connection:
            return connection.execute(query).first() is not None

    def save(self, scenario: Scenario, seed: int, summary: str) -> None:
        """Stores what `pack` made of a run, durably, in place of an earlier one."""
        digest = digest_of(scenario)
        is_scenario = _SCENARIOS.c.digest == digest
        run = {
            "digest": digest,
            "seed": str(seed),
            "engine": scenario.engine,
            "build": build_id(),
            "name": scenario.name,
            "finished_at": datetime.now(UTC).replace(tzinfo=None),
            "summary": summary,
        }
        with self._transaction() as connection:
            connection.execute(sa.delete(_RUNS).where(*_is_run(digest, scenario.engine, seed)))
            if connection.execute(sa.select(_SCENARIOS.c.digest).where(is_scenario)).first() is None:
                connection.execute(sa.insert(_SCENARIOS).values(digest=digest, resolved=scenario.resolved_json()))
            connection.execute(sa.insert(_RUNS).values(run))

    def count(self) -> int:
        """Number of runs stored, those of other builds included."""
        with self._transaction() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(_RUNS)).scalar_one())

    def close(self) -> None:
        """Gives the file back."""
        self._database.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._database.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"store {self._name}: {_reason(error)}; the runs it holds are safe, run again") from None


def pack(result: Result) -> str:
    """A run without its traces and files as JSON text: the core's columns, nan as null."""
    flows = result.flows.drop(columns="throughput_bps")
    frames = {"flows": flows, **{part: getattr(result, part) for part in _PARTS[1:]}}
    columns = {name: _columns(frame.to_dict("list")) for name, frame in frames.items()}
    return json.dumps({**columns, "state_hash": result.state_hash, "events": result.events}, separators=(",", ":"))


def _unpack(scenario: Scenario, seed: int, summary: str) -> Result:
    columns = json.loads(summary)
    for part in _PARTS:
        columns[part] = {name: [math.nan if v is None else v for v in values] for name, values in columns[part].items()}
    return Result.from_columns(scenario, seed, {**columns, "files": {}, "traces": {}})


def _columns(columns: dict[Any, list[Any]]) -> dict[str, list[Any]]:
    return {
        str(name): [None if isinstance(v, float) and math.isnan(v) else v for v in values]
        for name, values in columns.items()
    }


# A study asks for each scenario's digest several times per seed, and a hundred flows take 40 ms to resolve.
digest_of = lru_cache(maxsize=4096)(Scenario.digest)


def _is_run(digest: str, engine: str, seed: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _RUNS.c.digest == digest,
        _RUNS.c.seed == str(seed),
        _RUNS.c.engine == engine,
        _RUNS.c.build == build_id(),
    )


def _url(where: str | Path | None) -> sa.URL:
    if where is None or (isinstance(where, str) and "://" in where):
        try:
            return sa.make_url(where or "sqlite://")
        except (ArgumentError, NoSuchModuleError):
            raise ScenarioError(f"store: {where!r}; needs a file, or a URL such as 'sqlite:///runs.sqlite'") from None
    return sa.URL.create("sqlite", database=str(where))


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]
