"""Damaged bytes in a store: data is read as it was written, or a one-line error reports the damage."""

import os
import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

import flips
from longpipe import ScenarioError, simulate
from longpipe.store import Store, StoreError, checksums, pack, schema, studies
from longpipe.study import Study
from test_store_versions import of_version
from thorough import examples

# `make fuzz` tests 3000 with another seed.
FLIPS = examples(12, 40)
BASE = flips.BASE


def read(path: Path | str) -> list[str]:
    """Returns the errors of all ways to read a store; raises an error if the store cannot be opened."""
    return [text for text in flips.read(path).values() if text.startswith("error: ")]


def test_flipped_byte_is_never_read_as_valid_data(tmp_path: Path) -> None:
    flips.make(tmp_path / "runs.db")
    tally = flips.check_flips(tmp_path / "runs.db", FLIPS, seed=36)
    assert set(tally) == {"alike", "refused"}
    assert tally.total() == FLIPS * len(flips.READS)
    # Most pages of a small file are empty.
    assert tally["refused"] > FLIPS / 10


@pytest.mark.parametrize("index", ["study_runs", "receipts", "sqlite_autoindex_failures_1", "sqlite_autoindex_runs_1"])
def test_damaged_index_does_not_change_counts(tmp_path: Path, index: str) -> None:
    flips.make(tmp_path / "runs.db")
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        (root,) = database.execute("select rootpage from sqlite_master where name = ?", (index,)).fetchone()
        (size,) = database.execute("pragma page_size").fetchone()
    whole, draws = (tmp_path / "runs.db").read_bytes(), random.Random(1)
    expected = flips.read(tmp_path / "runs.db", ("list", "status", "second status"))
    # Entries are at the end of a page.
    for at in draws.sample(range(root * size - 700, root * size), examples(20, 60)):
        (tmp_path / "flipped.db").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for name, text in flips.read(tmp_path / "flipped.db", tuple(expected)).items():
            assert text == expected[name] or (text.startswith("error: ") and flips.is_one_line(text)), (at, name)


DAMAGES: dict[str, tuple[str, str]] = {
    "measures": ("update runs set measures = replace(measures, '0', '1') where id = 3", "the run of "),
    "summary": ("update summaries set summary = substr(summary, 1, length(summary) - 1) where run = 3", "the run of "),
    "seed": ("update runs set seed = '77' where id = 3", "the run of "),
    "lost run": ("delete from summaries where run = 3; delete from runs where id = 3", "gone"),
    "engine": ("update runs set engine = '0' where id = 3", "the run of "),
    "receipt": ("delete from receipts where seed = '1'", "receipt"),
    "plan": ("update study_runs set seed = '9' where point = 1 and replication = 1", "the runs of study 'flips'"),
    "levels": ("update study_points set levels = replace(levels, '500', '900')", "the runs of study 'flips'"),
    "design": ("update studies set design = replace(design, '20 ms', '30 ms')", "study 'flips'"),
    "version": ("update longpipe set version = 8", "its version"),
    "swapped": (
        "update runs set measures = (select measures from runs where id = 4), seconds = 0.5 where id = 3", "the run of ",
    ),
}  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def change(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path | str, Callable[[str], None]]:
    """Returns a store, and a function that executes SQL in it."""
    where: Path | str = tmp_path / "runs.db" if request.param == "sqlite" else request.getfixturevalue("database")
    flips.make(where)
    url = (
        f"sqlite:///{where}" if request.param == "sqlite" else str(where).replace("postgresql:", "postgresql+psycopg:")
    )

    def execute(text: str) -> None:
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            for statement in text.split("; "):
                connection.exec_driver_sql(statement)
        engine.dispose()

    return where, execute


@pytest.mark.parametrize("name", DAMAGES)
def test_each_kind_of_damage_is_named(change: tuple[Path | str, Callable[[str], None]], name: str) -> None:
    where, execute = change
    changes, named = DAMAGES[name]
    execute(changes)
    try:
        errors = read(where)
    except ScenarioError as error:
        errors = [str(error)]
    assert any(named in line for line in errors)
    for line in errors:
        assert re.search(r"damaged: .*; restore the store from a copy, or ", line)
        assert "\n" not in line


def test_lost_finished_run_is_repeated_only_with_a_message(tmp_path: Path) -> None:
    flips.make(tmp_path / "runs.db")
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute("delete from runs where id = 3")
    with closing(Store(tmp_path / "runs.db")) as store:
        study = Study.open("flips", store)
        for read_it in (study.status, study.frame, store.count, lambda: studies.overview(store), study.run):
            with pytest.raises(StoreError, match=r"damaged: "):
                read_it()


def test_a_damaged_trace_is_rejected(tmp_path: Path) -> None:
    traced = BASE.with_(**{"traces.cwnd": True})
    with closing(Store(tmp_path / "runs.db")) as store:
        store.save(traced, 1, pack(simulate(traced, 1)))
        (file,) = tmp_path.rglob("cwnd.parquet")
        file.write_bytes(flips.flip(file.read_bytes(), random.Random(1)))
        with pytest.raises(StoreError, match=r"damaged: .*cwnd\.parquet; "):
            _ = store.require(traced, 1).traces


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ("update summaries set summary = x'00' where run = 2", "the run of scenario"),
        ("update scenarios set resolved = x'00'", "scenario "),
        ("delete from runs where id = 2", "1 runs with 2 summaries"),
        ("delete from summaries where run = 2", "2 runs with 1 summaries"),
    ],
)
def test_inconsistent_older_store_is_rejected_and_unchanged(tmp_path: Path, changes: str, named: str) -> None:
    path = of_version(8, tmp_path / "runs.db")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(changes)
        before = list(database.iterdump())
    with pytest.raises(ScenarioError, match=r"damaged: .*; restore the store from a copy") as refused:
        Store(path, readonly=True)
    assert named in str(refused.value)
    with closing(sqlite3.connect(path)) as database:
        assert list(database.iterdump()) == before


def test_a_store_that_was_not_closed_is_checked_by_sqlite_itself(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    flips.make(path)
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute("select rootpage from sqlite_master where name = 'ix_claims_owner'").fetchone()
        (size,) = database.execute("pragma page_size").fetchone()
    content = bytearray(path.read_bytes())
    # A list of runs does not use this index.
    content[(root - 1) * size + 3] = 9
    path.write_bytes(content)
    assert not flips.read(path, ("all runs",))["all runs"].startswith("error: ")
    # Such a log may be left by a killed process; its bytes are not frames, so SQLite ignores them.
    path.with_name("runs.db-wal").write_bytes(bytes(64))
    with pytest.raises(ScenarioError, match=r"damaged: "):
        Store(path)


@pytest.mark.parametrize("kind", ["a directory", "a named pipe", "a device"])
def test_only_a_regular_file_is_a_store(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "runs.db"
    if kind == "a directory":
        path.mkdir()
    elif kind == "a named pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for readonly in (True, False):
        with pytest.raises(ScenarioError, match=rf"^store: {path}: cannot be read, it is {kind}; needs a database"):
            Store(path, readonly=readonly)


def test_checksums_depend_on_every_column() -> None:
    row = {name: str(number) for number, name in enumerate(checksums.RUN)}
    assert set(checksums.RUN) == set(schema.RUNS.c.keys()) - {"id", "checksum"}
    whole = checksums.of_row(row, checksums.RUN)
    assert len({whole, *(checksums.of_row({**row, name: None}, checksums.RUN) for name in row)}) == len(row) + 1
