"""Studies are copied between SQLite and PostgreSQL, merged, renamed and deleted."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from commands import run
from longpipe import Scenario, ScenarioError
from longpipe.design import Design, Factor
from longpipe.store import Store, StoreError, checksums, engine_version, schema
from longpipe.study import Study, copy_studies, delete_study, rename_study
from synthetic import fill

BASE = Scenario(defaults="1996", name="lan", duration="20 ms").with_(start={"kind": "random", "over": "1 ms"})
TCP = Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")
DESIGN = Design.full_factorial(BASE, [TCP], replications=3)
# Tables whose rows a copy must not change; the numbers of runs in a store are its own.
TABLES = (
    schema.SCENARIOS,
    schema.RUNS,
    schema.RECEIPTS,
    schema.FAILURES,
    schema.STUDIES,
    schema.STUDY_POINTS,
    schema.STUDY_RUNS,
)
KILLS = int(os.environ.get("LONGPIPE_KILLS", "3"))


def contents(where: str) -> dict[str, list[tuple[Any, ...]]]:
    """Returns all rows of a store's tables, with the summary of each run instead of its number."""
    with closing(Store(where, readonly=True)) as store, store.reading() as connection:
        found = {
            table.name: sorted(
                map(tuple, connection.execute(sa.select(*(c for c in table.c if c.name != "id")))), key=repr
            )
            for table in TABLES
        }
        summaries = sa.select(
            *(schema.RUNS.c[name] for name in ("digest", "seed", "engine")), schema.SUMMARIES.c.summary
        )
        found["summaries"] = sorted(map(tuple, connection.execute(summaries.join(schema.SUMMARIES))), key=repr)
        packed = sa.select(schema.MEASURED.c.measures).join(schema.RUNS).where(schema.RUNS.c.engine == engine_version())
        found["measured"] = sorted(connection.execute(packed).scalars())
    return found


def files(directory: Path) -> dict[Path, bytes]:
    """Returns the files below a directory."""
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def older(store: Store) -> None:
    """Adds to each run one of an earlier engine."""
    with store.writing() as connection:
        runs = [dict(row._mapping) for row in connection.execute(sa.select(schema.RUNS))]
        for run in runs:
            number = run.pop("id")
            run["engine"] = "1"
            run["checksum"] = checksums.of_row(run, checksums.RUN)
            new = connection.execute(sa.insert(schema.RUNS).returning(schema.RUNS.c.id), run).scalar_one()
            summary = sa.select(sa.literal(new), schema.SUMMARIES.c.summary).where(schema.SUMMARIES.c.run == number)
            connection.execute(sa.insert(schema.SUMMARIES).from_select(["run", "summary"], summary))
            connection.execute(
                sa.insert(schema.RECEIPTS), {column.name: run[column.name] for column in schema.RECEIPTS.c}
            )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a store with two studies, a trace, a failure and runs of another engine."""
    path = tmp_path_factory.mktemp("campaign") / "campaign.db"
    with closing(Store(path)) as store:
        Study(DESIGN, store, "lan").run(workers=1)
        older(store)
        base = BASE.with_(traces={"cwnd": True})
        traced = Study(Design.full_factorial(base, [TCP]), store, "traced")
        traced.run(workers=1)
        other = Study(Design.full_factorial(BASE.with_(duration="21 ms"), [TCP]), store, "other")
        store.fail(other.scenarios()[0], 1, "out of memory")
    return path


def test_copies_to_postgresql_and_back_are_equal(campaign: Path, database: str, tmp_path: Path) -> None:
    there, back = f"{database}&traces={tmp_path}/there", tmp_path / "back.db"
    assert copy_studies(campaign, there).copied == 14
    assert contents(there) == contents(str(campaign))
    assert copy_studies(there, back).copied == 14
    assert contents(str(back)) == contents(str(campaign))
    traces = files(Path(f"{campaign}.traces"))
    assert files(Path(f"{back}.traces")) == traces
    assert len(traces) == 2
    # Nothing is left to copy, and nothing changes.
    assert copy_studies(campaign, back).copied == 0
    assert contents(str(back)) == contents(str(campaign))


def test_copying_a_study_omits_other_studies(campaign: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    done = run("study", "copy", "lan", "--store", campaign, "--to", there)
    assert (done.returncode, done.stdout.strip()) == (0, f"12 runs copied to {there}")
    found, all_rows = contents(str(there)), contents(str(campaign))
    assert found["studies"] == [row for row in all_rows["studies"] if row[0] == "lan"]
    assert len(found["scenarios"]) == 2
    assert not Path(f"{there}.traces").exists()
    with closing(Study.open("lan", there)) as copied, closing(Study.open("lan", campaign)) as study:
        assert copied.frame().equals(study.frame())
        assert copied.status() == study.status()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns a store with a study of 6000 runs."""
    path = str(tmp_path_factory.mktemp("large") / "large.db")
    with closing(Store(path)) as store:
        fill(Study(Design.full_factorial(BASE, [TCP], replications=3000), store, "large"))
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_copy_is_continued(kind: str, large: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    there = f"sqlite:///{tmp_path}/there.db" if kind == "sqlite" else request.getfixturevalue("database")
    command = [sys.executable, "-m", "longpipe", "study", "copy", "--store", large, "--to", there]
    counts = [0]
    for kill in range(KILLS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and count(there) <= counts[-1]:
            time.sleep(0.002)
        time.sleep(random.Random(kill).uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        counts.append(count(there))
    assert any(0 < number < 6000 for number in counts)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
    assert contents(there) == contents(large)


def count(where: str) -> int:
    """Returns the number of runs of a store that may not exist yet."""
    try:
        with closing(Store(where, readonly=True)) as store:
            return store.count()
    except (ScenarioError, StoreError):
        return 0


def half(where: Path, first_seed: int, name: str) -> None:
    with closing(
        Study(Design.full_factorial(BASE, [TCP], replications=4, first_seed=first_seed), where, name)
    ) as study:
        study.run(workers=1)


def test_a_merger_has_overlapping_runs_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    half(one, 1, "first")
    half(two, 3, "second")
    done = run("study", "merge", two, "--store", one)
    assert (done.returncode, done.stdout.strip()) == (0, f"4 runs copied to {one}, 4 were there")
    with closing(Store(one, readonly=True)) as store:
        assert store.count() == 12
        for name in ("first", "second"):
            assert Study.open(name, store).status().complete


def test_a_merger_extends_a_study_of_the_same_name(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for where, replications in ((one, 2), (two, 5)):
        with closing(Study(Design.full_factorial(BASE, [TCP], replications=replications), where, "lan")) as study:
            study.run(workers=1)
    for source, target in ((two, one), (one, two)):
        copy_studies(source, target)
        with closing(Study.open("lan", target)) as study:
            assert study.status().finished == study.status().runs == 10


def test_contradictory_results_are_refused_in_one_line(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    half(one, 1, "first")
    half(two, 3, "second")
    with closing(Store(two)) as store, store.writing() as connection:
        row = dict(connection.execute(sa.select(schema.RUNS).where(schema.RUNS.c.seed == "3").limit(1)).one()._mapping)
        row["measures"] = row["measures"].replace('"efficiency":0.', '"efficiency":0.9')
        checksum = checksums.of_row(row, checksums.RUN)
        connection.execute(
            sa.update(schema.RUNS)
            .where(schema.RUNS.c.id == row["id"])
            .values(measures=row["measures"], checksum=checksum)
        )
        is_receipt = sa.and_(*(schema.RECEIPTS.c[name] == row[name] for name in ("digest", "seed", "engine")))
        connection.execute(sa.update(schema.RECEIPTS).where(is_receipt).values(checksum=checksum))
    done = run("study", "merge", two, "--store", one)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "the run of scenario 'tcp=vanilla', seed 3, engine" in line
    assert line.endswith("differ; needs stores with equal results of equal runs")
    with closing(Store(one, readonly=True)) as store:
        assert store.count() == 8


def test_different_studies_of_one_name_are_refused_in_one_line(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for where, base in ((one, BASE), (two, BASE.with_(duration="30 ms"))):
        Study(Design.full_factorial(base, [TCP]), where, "lan").close()
    done = run("study", "copy", "lan", "--store", two, "--to", one)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: study: 'lan' differs in ")
    assert "duration: '30 ms'; was '20 ms'" in line


def test_damaged_runs_are_not_copied(tmp_path: Path) -> None:
    one = tmp_path / "one.db"
    half(one, 1, "first")
    with closing(Store(one)) as store, store.writing() as connection:
        connection.execute(sa.update(schema.SUMMARIES).where(schema.SUMMARIES.c.run == 2).values(summary=b"x"))
    with pytest.raises(StoreError, match=r"store .*one.db: damaged: the run of scenario 'tcp=\w+', seed "):
        copy_studies(one, tmp_path / "two.db")


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Returns a store with two studies that share half of their runs."""
    where = tmp_path / "pair.db" if request.param == "sqlite" else request.getfixturevalue("database")
    with closing(Store(where)) as store:
        for name, first in (("first", 1), ("second", 3)):
            Study(Design.full_factorial(BASE, [TCP], replications=4, first_seed=first), store, name).run(workers=1)
        yield store


def test_a_deleted_study_leaves_shared_runs(pair: Store) -> None:
    assert delete_study(pair, "first") == 4
    assert pair.count() == 8
    assert Study.open("second", pair).status().finished == 8
    assert delete_study(pair, "second") == 8
    assert pair.count() == 0
    with pair.reading() as connection:
        for table in (*TABLES, schema.SUMMARIES, schema.MEASURED):
            assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0, table.name
    # The same object can store scenarios again.
    assert Study(DESIGN, pair, "third").run(workers=1).complete


def test_a_deleted_study_can_keep_its_runs(pair: Store) -> None:
    assert delete_study(pair, "first", keep_runs=True) == 0
    assert pair.count() == 12
    with pytest.raises(ScenarioError, match="'first' is not in"):
        delete_study(pair, "first")


def test_a_renamed_study_keeps_its_runs(pair: Store) -> None:
    before = Study.open("first", pair).frame()
    with pytest.raises(ScenarioError, match="'second' is already in"):
        rename_study(pair, "first", "second")
    rename_study(pair, "first", "new name")
    assert Study.open("new name", pair).frame().equals(before)
    with pytest.raises(ScenarioError, match="'first' is not in"):
        Study.open("first", pair)
    with pytest.raises(ScenarioError, match="needs a name of 1 to 200 characters"):
        rename_study(pair, "new name", " ")


def test_a_study_in_progress_is_neither_renamed_nor_deleted(pair: Store) -> None:
    study = Study.open("first", pair)
    key = (study.scenarios()[0].digest(), "1")
    with pair.leases() as leases:
        leases.take([key], fresh=True)
        for change in (lambda: rename_study(pair, "first", "new"), lambda: delete_study(pair, "first")):
            with pytest.raises(ScenarioError, match=rf"'first' is being run by process {os.getpid()} on "):
                change()
    rename_study(pair, "first", "new")


def test_a_deletion_removes_traces(campaign: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    copy_studies(campaign, there, "traced")
    assert len(files(Path(f"{there}.traces"))) == 2
    done = run("study", "delete", "traced", "--store", there)
    assert (done.returncode, "--yes" in done.stderr) == (2, True)
    done = run("study", "delete", "traced", "--yes", "--store", there)
    assert (done.returncode, done.stdout.strip()) == (0, "traced: deleted, with 2 of its 2 runs")
    assert files(Path(f"{there}.traces")) == {}


def test_a_created_study_waits_for_its_runs(tmp_path: Path) -> None:
    file, store = tmp_path / "lan.toml", tmp_path / "a.db"
    file.write_text(BASE.to_toml())
    done = run(
        "study", "create", "new", file, "--factor", "tcp.recovery=vanilla,reno", "--replications", 3, "--store", store
    )
    assert (done.returncode, done.stdout.strip()) == (
        0,
        f"new: 6 runs, 0 finished; longpipe study run new --store {store}",
    )
    with closing(Study.open("new", store)) as study:
        assert study.status().waiting == 6
        assert study.run(workers=1).complete


def test_a_store_is_not_copied_to_itself(campaign: Path) -> None:
    with pytest.raises(ScenarioError, match="is also the source of the copy"):
        copy_studies(campaign, f"sqlite:///{campaign}")


def test_a_missing_study_creates_no_target(campaign: Path, tmp_path: Path) -> None:
    done = run("study", "copy", "absent", "--store", campaign, "--to", tmp_path / "there.db")
    assert (done.returncode, "'absent' is not in" in done.stderr) == (2, True)
    assert not (tmp_path / "there.db").exists()
