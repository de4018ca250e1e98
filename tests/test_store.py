import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from longpipe import Scenario, ScenarioError, _core, simulate
from longpipe.store import Store, StoreError, pack

SHORT = Scenario(name="short", duration="50 ms")
LARGEST_SEED = 2**64 - 1


@pytest.fixture(params=["memory", "path", "url"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    where = {"memory": None, "path": tmp_path / "deep" / "runs.sqlite", "url": f"sqlite:///{tmp_path}/runs.sqlite"}
    with closing(Store(where[request.param])) as opened:
        yield opened


def test_a_stored_run_is_the_run(kept: Store) -> None:
    result = simulate(SHORT, LARGEST_SEED)
    kept.save(SHORT, LARGEST_SEED, pack(result))
    loaded = kept.require(SHORT, LARGEST_SEED)
    pd.testing.assert_frame_equal(loaded.flows, result.flows, check_dtype=False)
    pd.testing.assert_frame_equal(loaded.ports, result.ports, check_dtype=False)
    assert (loaded.state_hash, loaded.events, loaded.seed) == (result.state_hash, result.events, result.seed)
    assert (loaded.efficiency, loaded.fairness) == (result.efficiency, result.fairness)


def test_a_run_is_found_by_scenario_and_seed_whatever_its_name(kept: Store) -> None:
    kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    assert kept.has(SHORT.with_(name="other"), 1)
    assert not kept.has(SHORT, 2)
    assert not kept.has(SHORT.with_(duration="51 ms"), 1)
    assert kept.load(SHORT, 2) is None
    with pytest.raises(StoreError, match="scenario 'short', seed 2"):
        kept.require(SHORT, 2)


def test_a_run_of_another_engine_version_does_not_count(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    monkeypatch.setattr(_core, "__engine__", "0.0.0+other")
    assert not kept.has(SHORT, 1)
    kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    assert kept.count() == 2


def test_saving_again_replaces(kept: Store) -> None:
    for _ in range(2):
        kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    assert kept.count() == 1


@pytest.mark.parametrize("where", ["nonsense://x", "://", "postgresql://nobody@localhost:1/none"])
def test_a_url_that_cannot_be_opened_is_one_line(where: str) -> None:
    with pytest.raises(ScenarioError, match=r"store: .*needs a") as refused:
        Store(where)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database\n" * 100)
    with pytest.raises(ScenarioError, match=r"notes\.txt: file is not a database"):
        Store(path)
    assert path.read_text().startswith("not a database")


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ScenarioError, match=r"store: .*runs\.sqlite: .*; needs a database, or a new file"):
        Store(tmp_path / "file" / "runs.sqlite")


def test_a_file_of_other_tables_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("create table runs (a)")
        other.commit()
    with pytest.raises(ScenarioError, match=r"other\.sqlite: holds other tables; needs a store of longpipe"):
        Store(tmp_path / "other.sqlite")
