"""Runs of other engines in a store: kept, listed, exported and read, but used as results of no other engine."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from commands import run
from longpipe import Scenario, _core, simulate
from longpipe.design import Design, Factor
from longpipe.store import Store, pack, studies
from longpipe.study import Study
from longpipe.study.progress import Progress

SHORT = Scenario(defaults="1996", name="short", duration="20 ms")
OLDER = "7"
DESIGN = Design.full_factorial(SHORT, [Factor.over("tcp.recovery", ["sack", "reno"])])


@pytest.fixture
def of_engine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Makes this an older engine until the test ends or undoes it."""
    monkeypatch.setattr(_core, "__engine__", OLDER)
    return monkeypatch


def test_number_alone_decides_whether_a_run_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(tmp_path / "runs.db")) as store:
        store.save(SHORT, 1, pack(simulate(SHORT, 1)))
        monkeypatch.setattr(_core, "__version__", "99.0.0")
        assert store.has(SHORT, 1)
        for number in (OLDER, str(int(_core.__engine__) + 1)):
            monkeypatch.setattr(_core, "__engine__", number)
            assert not store.has(SHORT, 1)
            assert store.load(SHORT, 1) is None


def test_run_of_another_engine_is_read_by_its_number(tmp_path: Path, of_engine: pytest.MonkeyPatch) -> None:
    result = simulate(SHORT, 1)
    with closing(Store(tmp_path / "runs.db")) as store:
        store.save(SHORT, 1, pack(result))
        of_engine.undo()
        assert store.load(SHORT, 1) is None
        kept = store.require(SHORT, 1, engine=OLDER)
        assert kept.state_hash == result.state_hash
        pd.testing.assert_frame_equal(kept.ports, result.ports, check_dtype=False)


def test_column_names_of_another_engine_are_kept(tmp_path: Path) -> None:
    result = simulate(SHORT, 1)
    ports = {name.replace("_lost_aqm", "_lost_refused"): values for name, values in result.part("ports").items()}
    old = replace(result, columns={**result.columns, "ports": ports})
    with closing(Store(tmp_path / "runs.db")) as store:
        store.save(SHORT, 1, pack(old))
        kept = store.require(SHORT, 1)
    assert "cells_lost_refused" in kept.ports
    assert "cells_lost_aqm" not in kept.ports


def test_continued_study_repeats_runs_of_another_engine(tmp_path: Path, of_engine: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    with closing(Store(path)) as store:
        assert Study(DESIGN, store, "both").run(workers=1).complete
        of_engine.undo()
        study = Study.open("both", store)
        assert (study.engine, study.status().finished) == (OLDER, 2)
        assert len(study.runs(finished_only=True)) == 2
        before = pd.DataFrame(studies.all_runs(store))
    listed = run("study", "status", "both", "--store", path).stdout
    assert f"engine {OLDER}" in listed
    assert f"This engine is {_core.__engine__}: the next run repeats all." in listed
    exported = run("study", "export", "both", "-o", tmp_path / "runs.csv", "--store", path)
    assert exported.returncode == 0
    assert list(pd.read_csv(tmp_path / "runs.csv")["engine"]) == [int(OLDER)] * 2
    with closing(Store(path)) as store:
        study = Study.open("both", store)
        assert study.run(workers=1).complete
        assert study.engine == _core.__engine__
        now = pd.DataFrame(studies.all_runs(store))
    assert now.iloc[: len(before)].equals(before)
    assert list(now["engine"]) == [OLDER] * 2 + [_core.__engine__] * 2


def interrupt_after_one_run(progress: Progress) -> None:
    if progress.done == 1:
        raise KeyboardInterrupt


def test_export_names_runs_that_were_not_repeated(tmp_path: Path, of_engine: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    with closing(Store(path)) as store:
        Study(DESIGN, store, "both").run(workers=1)
        of_engine.undo()
        of_engine.setattr("longpipe.executors.batches.LARGEST", 1)
        with pytest.raises(KeyboardInterrupt):
            Study.open("both", store).run(workers=1, progress=interrupt_after_one_run)
    told = run("study", "export", "both", "-o", tmp_path / "runs.csv", "--store", path).stdout
    assert told.startswith("1 runs: ")
    assert f"Left out: 1 runs of engine {OLDER}, which engine {_core.__engine__} has not repeated" in told
    assert list(pd.read_csv(tmp_path / "runs.csv")["tcp.recovery"]) == ["sack"]
