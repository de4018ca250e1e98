"""Stores of earlier and later versions, read-only stores, and stores on a full disk."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from commands import run
from longpipe import Scenario, ScenarioError, _core, simulate
from longpipe.design import Design, Factor
from longpipe.store import Store, StoreError, checksums, pack, schema, studies
from longpipe.store.packing import summary_text
from longpipe.study import Study

DATA = Path(__file__).parent / "data"
# The contents of tests/data/store-1.sql; its digest does not change as long as scenarios are resolved in the same way.
BUILD = "0.1.0-5f0e6b1d2c3a4958"
# The builds that made the runs of tests/data/store-2.sql: 0aff3d4, then dfa47b9.
FIRST, SECOND = "0.1.0+62a7d65541e4", "0.1.0+62b773d38c8e"
HASHES = {"1": "de81cd196e0f4392", "18446744073709551615": "fcf5be93ab9404b0"}
SHORT = Scenario(defaults="1996", name="short", duration="20 ms")
DESIGN = Design.full_factorial(SHORT, [Factor.over("tcp.recovery", ["sack", "reno"])])
# The checksum of the row ("version", "written_by") of a store of version 10.
NEWER = checksums.of_values([10, "4.2.0"])


def of_version_1(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript((DATA / "store-1.sql").read_text())
    return path


def found(store: Store) -> dict[str, str]:
    """Returns the state hash of each run, by seed."""
    query = sa.select(schema.RUNS.c.seed, schema.SUMMARIES.c.summary).join(schema.SUMMARIES)
    with store.reading() as connection:
        return {seed: json.loads(summary_text(summary))["state_hash"] for seed, summary in connection.execute(query)}


def of_version(number: int, path: Path) -> Path:
    """Makes a store with a study of two runs, as version `number` (2 to 8) wrote it, without checksums."""
    with closing(Store(path)) as store:
        Study(DESIGN, store, "both").run(workers=1)
    dropped = [
        f"alter table {table.name} drop column {column}"
        for table in schema.METADATA.sorted_tables
        for column in ("checksum", "parts", "runs", "plan")
        if column in table.c and table is not schema.RECEIPTS
    ]
    with closing(sqlite3.connect(path)) as database, database:
        for statement in ["drop table receipts", *dropped, f"update longpipe set version = {number}"]:
            database.execute(statement)
    return path


def contents(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def test_a_store_of_version_1_is_read_and_stays_as_it_was(tmp_path: Path) -> None:
    path = of_version_1(tmp_path / "runs.sqlite")
    before = contents(path)
    with closing(Store(path, readonly=True)) as store:
        assert found(store) == HASHES
        assert set(studies.all_runs(store)["engine"]) == {BUILD}
    assert contents(path) == before


def test_a_postgresql_store_of_version_1_is_read(database: str) -> None:
    text = (DATA / "store-1.sql").read_text().replace("DATETIME", "TIMESTAMP").replace("BEGIN TRANSACTION", "BEGIN")
    # SQLite's dump lists the referring table first.
    runs, scenarios = text.index("CREATE TABLE runs"), text.index("CREATE TABLE scenarios")
    ordered = text[:runs] + text[scenarios:].removesuffix("COMMIT;\n") + text[runs:scenarios] + "COMMIT;"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(ordered.encode())
    with closing(Store(database, readonly=True)) as store:
        assert found(store) == HASHES


def test_store_of_version_2_keeps_engines_and_names_of_columns(tmp_path: Path) -> None:
    """Its runs are by two builds that had no engine numbers, and its ports count `cells_lost_refused`."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((DATA / "store-2.sql").read_text())
    with closing(Store(path, readonly=True)) as store:
        assert {one.name: one.engine for one in studies.overview(store)} == {
            "buffers": FIRST, "later": SECOND, "trees": FIRST,
        }  # fmt: skip
        runs = studies.all_runs(store)
        assert set(runs["engine"]) == {FIRST, SECOND}
        result = store.require(SHORT.with_(**{"switch.buffer": "500 cells"}), 1, engine=FIRST)
        assert "cells_lost_refused" in result.ports
    shown = run("study", "status", "--store", path, "later")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "4 of 4 runs finished" in shown.stdout


@pytest.mark.parametrize("number", [2, 8])
def test_older_store_is_listed_exported_and_read(tmp_path: Path, number: int) -> None:
    path = of_version(number, tmp_path / "runs.db")
    before = contents(path)
    with closing(Store(path, readonly=True)) as store:
        assert Study.open("both", store).status().finished == 2
        for scenario in DESIGN.scenarios:
            assert store.require(scenario, 1).state_hash == simulate(scenario, 1).state_hash
    exported = run("study", "export", "both", "-o", tmp_path / "runs.csv", "--store", path)
    assert (exported.returncode, exported.stderr) == (0, "")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3
    assert contents(path) == before


def test_traces_of_an_older_store_are_read(tmp_path: Path) -> None:
    path, traced = tmp_path / "runs.db", SHORT.with_(**{"traces.cwnd": True})
    result = simulate(traced, 1)
    with closing(Store(path)) as store:
        store.save(traced, 1, pack(result))
    of_version(8, path)
    with closing(Store(path, readonly=True)) as store:
        assert store.require(traced, 1).traces["cwnd"].equals(result.traces["cwnd"])


def test_an_older_store_is_not_written(tmp_path: Path) -> None:
    path = of_version(8, tmp_path / "runs.db")
    message = f"store: {path}: version 8 of the tables, which this longpipe only reads; needs a new store"
    with pytest.raises(ScenarioError) as refused:
        Store(path)
    assert str(refused.value) == message
    continued = run("study", "run", "both", "--store", path)
    assert (continued.returncode, continued.stderr) == (2, f"error: {message}\n")


def test_a_damaged_older_store_is_rejected(tmp_path: Path) -> None:
    path = of_version_1(tmp_path / "runs.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update runs set finished_at = 'soon' where seed = '1'")
    with pytest.raises(ScenarioError, match=r"runs\.sqlite: damaged: a value does not fit its column; restore"):
        Store(path, readonly=True)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_newer_store_is_rejected_with_both_versions(tmp_path: Path, *, readonly: bool) -> None:
    path = tmp_path / "runs.db"
    Store(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("update longpipe set version = 10, written_by = '4.2.0', checksum = ?", [NEWER])
        database.commit()
    with pytest.raises(ScenarioError) as refused:
        Store(path, readonly=readonly)
    assert str(refused.value) == (
        f"store: {path}: version 10, by longpipe 4.2.0; this is longpipe {_core.__version__}, which reads versions 1 to 9"
    )


def test_a_readonly_store_reads_and_rejects_to_write(tmp_path: Path, database: str) -> None:
    for where in (tmp_path / "runs.db", database):
        with closing(Store(where)) as store:
            store.save(SHORT, 1, pack(simulate(SHORT, 1)))
        with closing(Store(where, readonly=True)) as store:
            assert store.has(SHORT, 1)
            with pytest.raises(StoreError, match=r"is read-only; needs a writable store") as refused:
                store.save(SHORT, 2, pack(simulate(SHORT, 2)))
            assert "\n" not in str(refused.value)
            assert store.count() == 1


def test_missing_or_empty_store_is_rejected_in_one_line(tmp_path: Path, database: str) -> None:
    with pytest.raises(ScenarioError, match=r"none\.db: no such file; needs the store of an earlier run"):
        Store(tmp_path / "none.db", readonly=True)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ScenarioError, match=r"contains no runs; needs the store of an earlier run"):
        Store(database, readonly=True)


@contextmanager
def mounted(path: Path, *options: str) -> Iterator[Path]:
    """Mounts a file system in memory; skips the test if this is not permitted."""
    path.mkdir(exist_ok=True)
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("needs root, to mount a file system")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", *options, "tmpfs", path], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"can't mount: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def test_store_on_a_readonly_disk_opens_only_for_reading(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        path = disk / "runs.db"
        with closing(Store(path)) as store:
            store.save(SHORT, 1, pack(simulate(SHORT, 1)))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with closing(Store(path, readonly=True)) as store:
            assert store.has(SHORT, 1)
        with pytest.raises(ScenarioError) as refused:
            Store(path)
        assert str(refused.value) == (f"store: {path}: is read-only; needs a writable store, or a copy of it")
        shown = run("study", "export", "--store", path, "-o", tmp_path / "runs.csv")
        assert (shown.returncode, shown.stderr) == (0, "")
        failed = run("reproduce", "frr-96", "--out", tmp_path / "out", "--store", path)
        assert (failed.returncode, failed.stderr) == (2, f"error: {refused.value}\n")


CAMPAIGN = """
import sys
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.study import Study
if __name__ == "__main__":
    base = Scenario(defaults="1996", name="full", duration="20 ms").with_(**{"network.sources": 40, "traces.cwnd": "traced" in sys.argv})
    buffers = [f"{cells} cells" for cells in range(100, 104)]
    Study(Design.full_factorial(base, [Factor.over("switch.buffer", buffers)], replications=120), sys.argv[1]).run(workers=1)
"""


@pytest.mark.parametrize("traces", ["", "traced"])
def test_full_disk_is_one_line_and_keeps_stored_runs(tmp_path: Path, traces: str) -> None:
    with mounted(tmp_path / "disk", "-o", "size=3000k") as disk:
        path = disk / "runs.db"
        script = tmp_path / "campaign.py"
        script.write_text(CAMPAIGN)
        failed = subprocess.run([sys.executable, script, path, traces], capture_output=True, text=True, check=False)
        assert failed.returncode == 1
        last = failed.stderr.splitlines()[-1]
        assert last.startswith(f"longpipe.store.errors.StoreError: store {path}: ")
        assert "full; needs space" in last
        copy = tmp_path / "copy"
        shutil.copytree(disk, copy)
        with closing(Store(copy / "runs.db")) as store:
            runs = studies.all_runs(store)
            assert 0 < len(runs["seed"]) < 480
        subprocess.run(["mount", "-o", "remount,size=40m", disk], check=True)
        resumed = subprocess.run([sys.executable, script, path, traces], capture_output=True, text=True, check=False)
        assert resumed.returncode == 0, resumed.stderr
        with closing(Store(path, readonly=True)) as store:
            now = studies.all_runs(store)
        before, after = (
            set(zip(*(found[name] for name in ("digest", "seed", "finished_at")), strict=True)) for found in (runs, now)
        )
        assert before <= after
        assert len(now["seed"]) == 480
