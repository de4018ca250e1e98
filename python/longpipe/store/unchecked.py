"""Migration of stores without checksums: verifies what can be verified, then adds a checksum to each row.

Three things in such a store are redundant: a scenario's digest covers the input of the core, the compression of a
summary has its own check value, and a study's rows are determined by its design. The measures of a run are computed
again from its summary, because they have no check value.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson
import sqlalchemy as sa

from longpipe.errors import ScenarioError
from longpipe.store import checksums
from longpipe.store.errors import DamagedError
from longpipe.store.schema import FAILURES, RECEIPTS, RUNS, SCENARIOS, STUDIES, STUDY_POINTS, STUDY_RUNS, SUMMARIES

# Checksums of a run's trace files, by digest, seed and engine.
TraceChecksums = Callable[[str, int, str], Mapping[str, str]]

# Runs per query.
_BATCH: Final = 500
# Exceptions raised when an object is built from damaged JSON, or from JSON of an early version.
_UNFIT: Final = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def add_checksums(connection: sa.Connection, of_traces: TraceChecksums) -> None:
    """Adds a checksum to every row. Raises DamagedError if the store is inconsistent."""
    sound = {digest for digest in _digests(connection) if _add_to_scenario(connection, digest, of_traces)}
    runs, summaries, receipts = (_count(connection, table) for table in (RUNS, SUMMARIES, RECEIPTS))
    if not runs == summaries == receipts:
        raise DamagedError(f"{runs} runs with {summaries} summaries, of which {receipts} have a scenario")
    for row in _mappings(connection, sa.select(FAILURES)):
        _update(connection, FAILURES, row, checksums.FAILURE, ("digest", "seed", "engine"))
    for row in _mappings(connection, sa.select(STUDIES)):
        _add_to_study(connection, row, sound)


def _add_to_scenario(connection: sa.Connection, digest: str, of_traces: TraceChecksums) -> bool:
    """Adds checksums to a scenario and its runs.

    Returns whether the scenario's fields still resolve to the scenario with its digest.
    """
    from longpipe.scenario import Scenario

    (row,) = _mappings(connection, sa.select(SCENARIOS).where(SCENARIOS.c.digest == digest))
    what = f"scenario {digest[:16]}"
    if hashlib.sha256(_decompressed(row["resolved"], what)).hexdigest() != digest:
        raise DamagedError(what)
    scenario = None
    if row["fields"] is not None:
        try:
            fields = json.loads(row["fields"])
            built = Scenario(**fields)
            scenario = built if built.digest() == digest else None
        except ScenarioError:
            # A later version may reject scenarios that an earlier one ran.
            pass
        except _UNFIT:
            raise DamagedError(what) from None
    _update(connection, SCENARIOS, row, checksums.SCENARIO, ("digest",))
    for run in _runs_of(connection, digest):
        _add_to_run(connection, run, scenario, of_traces)
    return scenario is not None


def _add_to_run(
    connection: sa.Connection,
    run: dict[str, Any],
    scenario: Any,  # noqa: ANN401 - a Scenario, whose module is loaded only by a migration
    of_traces: TraceChecksums,
) -> None:
    summary = run.pop("summary")
    what = f"the run of scenario {run['name']!r}, seed {run['seed']}"
    try:
        seed = int(run["seed"])
        columns = orjson.loads(_decompressed(summary, what))
        if run["measures"] is not None and not isinstance(orjson.loads(run["measures"]), dict):
            raise DamagedError(what)
    except _UNFIT:
        raise DamagedError(what) from None
    if scenario is not None and run["measures"] is not None:
        run["measures"] = _measured(scenario, seed, columns, run["measures"])
    traces = of_traces(run["digest"], seed, run["engine"])
    run["parts"] = json.dumps({"summary": checksums.of_bytes(summary), **traces})
    checksum = _update(connection, RUNS, run, checksums.RUN, ("id",))
    names = ("digest", "seed", "engine")
    connection.execute(sa.insert(RECEIPTS).values({**{name: run[name] for name in names}, "checksum": checksum}))


def _measured(scenario: Any, seed: int, columns: Any, stored: str) -> str:  # noqa: ANN401 - as above, and JSON
    """Returns the measures of a run as JSON; the stored ones if a summary of an early version lacks what is needed."""
    from longpipe.store.packing import measures, unpacked

    try:
        return measures(unpacked(scenario, seed, columns))
    except _UNFIT:
        return stored


def _add_to_study(connection: sa.Connection, row: dict[str, Any], sound: set[str]) -> None:
    points = [
        tuple(point)
        for point in connection.execute(
            sa.select(STUDY_POINTS.c.point, STUDY_POINTS.c.digest, STUDY_POINTS.c.levels)
            .where(STUDY_POINTS.c.study == row["name"])
            .order_by(STUDY_POINTS.c.point)
        )
    ]
    runs = [
        tuple(run)
        for run in connection.execute(
            sa.select(STUDY_RUNS.c.point, STUDY_RUNS.c.replication, STUDY_RUNS.c.seed)
            .where(STUDY_RUNS.c.study == row["name"])
            .order_by(STUDY_RUNS.c.point, STUDY_RUNS.c.replication)
        )
    ]
    _check_design(row["design"], points, runs, sound, f"study {row['name']!r}")
    row |= {"runs": len(runs), "plan": checksums.of_plan(points, runs)}
    _update(connection, STUDIES, row, checksums.STUDY, ("name",))


def _check_design(text: str, points: list[Any], runs: list[Any], sound: set[str], what: str) -> None:
    """Raises DamagedError unless points and runs match the design, as far as this version can check."""
    from longpipe.design.text import from_json

    try:
        design = from_json(text)
        planned = sorted((run.point, run.replication, str(run.seed)) for run in design.runs())
        levels = [(number, json.dumps(design.levels(number))) for number in range(1, len(design.points) + 1)]
        known = all(digest in sound for _, digest, _ in points)
        digests = [scenario.digest() for scenario in design.scenarios] if known else []
    except ScenarioError:
        # A later version may reject scenarios that an earlier one ran.
        return
    except _UNFIT:
        raise DamagedError(what) from None
    are_levels = levels == [(number, told) for number, _, told in points]
    if planned != sorted(runs) or not are_levels or (known and digests != [digest for _, digest, _ in points]):
        raise DamagedError(what)


def _update(
    connection: sa.Connection, table: sa.Table, row: dict[str, Any], columns: tuple[str, ...], key: tuple[str, ...]
) -> str:
    try:
        row["checksum"] = checksums.of_row(row, columns)
    except TypeError:
        raise DamagedError(f"a row of {table.name}") from None
    connection.execute(sa.update(table).where(*(table.c[name] == row[name] for name in key)).values(row))
    return str(row["checksum"])


def _runs_of(connection: sa.Connection, digest: str) -> Iterator[dict[str, Any]]:
    columns = (column for column in RUNS.c if column.name not in ("parts", "checksum"))
    query = sa.select(*columns, SUMMARIES.c.summary).join(SUMMARIES).where(RUNS.c.digest == digest)
    last = -1
    while batch := _mappings(connection, query.where(RUNS.c.id > last).order_by(RUNS.c.id).limit(_BATCH)):
        last = batch[-1]["id"]
        yield from batch


def _digests(connection: sa.Connection) -> list[str]:
    return list(connection.execute(sa.select(SCENARIOS.c.digest)).scalars())


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def _mappings(connection: sa.Connection, query: sa.Select[Any]) -> list[dict[str, Any]]:
    return [dict(row._mapping) for row in checksums.rows_of(connection, query)]


def _decompressed(content: bytes, what: str) -> bytes:
    try:
        return zlib.decompress(content)
    except (zlib.error, TypeError):
        raise DamagedError(what) from None
