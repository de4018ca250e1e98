import hashlib
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from longpipe import Design, Scenario, ScenarioError, Study, _core, simulate
from longpipe.store import Store, StoreError, pack
from longpipe.store.packing import _words, summary_text

SHORT = Scenario(defaults="1996", name="short", duration="50 ms")
LARGEST_SEED = 2**64 - 1


@pytest.fixture(params=["memory", "path", "url", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    where: Path | str | None = {
        "memory": None, "path": tmp_path / "deep" / "runs.sqlite", "url": f"sqlite:///{tmp_path}/runs.sqlite",
    }.get(request.param)  # fmt: skip
    if request.param == "postgresql":
        where = f"{request.getfixturevalue('database')}&traces={tmp_path}/traces"
    with closing(Store(where)) as opened:
        yield opened


def test_stored_run_equals_the_original(kept: Store) -> None:
    result = simulate(SHORT, LARGEST_SEED)
    kept.save(SHORT, LARGEST_SEED, pack(result))
    loaded = kept.require(SHORT, LARGEST_SEED)
    pd.testing.assert_frame_equal(loaded.flows, result.flows, check_dtype=False)
    pd.testing.assert_frame_equal(loaded.ports, result.ports, check_dtype=False)
    assert (loaded.state_hash, loaded.events, loaded.seed) == (result.state_hash, result.events, result.seed)
    assert (loaded.efficiency, loaded.fairness) == (result.efficiency, result.fairness)


def test_traces_are_kept_with_the_run(kept: Store, tmp_path: Path) -> None:
    traced = SHORT.with_(
        **{f"traces.{kind}": True for kind in ("cwnd", "queue", "sequence", "rtt", "vc_queue", "arrivals")}
    )
    result = simulate(traced, 1)
    kept.save(traced, 1, pack(result))
    loaded = kept.require(traced, 1)
    assert set(loaded.traces) == {"cwnd", "queue", "sequence", "rtt", "vc_queue", "arrivals"}
    for kind, trace in result.traces.items():
        pd.testing.assert_frame_equal(loaded.traces[kind], trace, check_exact=True)
    files = list(tmp_path.rglob("*.parquet"))
    assert len(files) == (0 if kept.name == "in memory" else 6)
    assert not kept.has(SHORT, 1)
    for file in files:
        file.unlink()
    if files:
        with pytest.raises(StoreError, match=r"\.parquet: .*; needs the traces of its runs"):
            _ = kept.require(traced, 1).traces
        # The run and what was computed from its traces remain readable.
        assert kept.require(traced, 1).flows.equals(loaded.flows)


def test_a_study_keeps_quantiles_of_traces_that_were_deleted(tmp_path: Path) -> None:
    traced = Scenario.example("fiber").with_(**{"duration": "1 s", "traces.delay": True})
    design = Design.full_factorial(
        traced, [], replications=2, measures=["q95=port:switch1->switch2.queueing_p95", "p=port:switch1->switch2.loss"]
    )
    study = Study(design, str(tmp_path / "runs.db"), "quantiles")
    study.run(workers=1)
    before = study.frame()
    assert (before["q95"] > 0).all()
    shutil.rmtree(tmp_path / "runs.db.traces")
    again = Study.open("quantiles", str(tmp_path / "runs.db"))
    pd.testing.assert_frame_equal(again.frame(), before)
    # No run is repeated.
    again.run(workers=1)
    assert not (tmp_path / "runs.db.traces").exists()


def test_traces_without_a_directory_are_rejected(database: str) -> None:
    with closing(Store(database)) as kept, pytest.raises(StoreError, match=r"no directory for traces; needs \?traces="):
        kept.check_traces(SHORT.with_(**{"traces.cwnd": True}))


def test_identifiers_of_summaries_never_change() -> None:
    # Stored summaries can only be read with the same preset dictionary.
    found = hashlib.sha256(_words()).hexdigest()
    assert found == "8501bf70e306a9a92020a52036fb5060743897b1b42b148506b29b0f0e126e89"


def test_summaries_are_read_with_and_without_identifiers() -> None:
    packed = pack(simulate(Scenario(defaults="1996", name="short", duration="20 ms")))
    text = summary_text(packed.summary)
    assert summary_text(zlib.compress(text)) == text
    assert len(packed.summary) < len(zlib.compress(text)) / 2
    for damaged in (packed.summary[:-5], b"x" + packed.summary):
        with pytest.raises(zlib.error):
            summary_text(damaged)


def test_stored_run_is_found_regardless_of_its_name(kept: Store) -> None:
    kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    assert kept.has(SHORT.with_(name="other"), 1)
    assert not kept.has(SHORT, 2)
    assert not kept.has(SHORT.with_(duration="51 ms"), 1)
    assert kept.load(SHORT, 2) is None
    with pytest.raises(StoreError, match="scenario 'short', seed 2"):
        kept.require(SHORT, 2)


def test_a_run_of_another_engine_does_not_count(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    monkeypatch.setattr(_core, "__engine__", "0")
    assert not kept.has(SHORT, 1)
    kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    assert kept.count() == 2


def test_saving_again_replaces(kept: Store) -> None:
    for _ in range(2):
        kept.save(SHORT, 1, pack(simulate(SHORT, 1)))
    assert kept.count() == 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nonsense://x", "store: nonsense://...: unknown kind of store; accepts sqlite, postgresql; needs a file, or "),
        ("postgre://x", "store: postgre://...: unknown kind of store; did you mean 'postgresql'? accepts sqlite, "),
        ("://", "store: '://': unknown kind of store; accepts sqlite, postgresql; needs a file, or a URL such as "),
        ("postgresql://me:secret@localhost:x/none", "store: postgresql://...: cannot be read; needs a file, or a URL "),
        ("postgresql://me:secret@localhost:1/none", "store: postgresql://me:***@localhost:1/none: connection "),
    ],
)
def test_invalid_url_is_rejected_in_one_line(where: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Store(where)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_file_without_a_database_is_rejected_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database\n" * 100)
    with pytest.raises(ScenarioError, match=r"notes\.txt: file is not a database"):
        Store(path)
    assert path.read_text().startswith("not a database")


def test_a_directory_that_cannot_be_made_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ScenarioError, match=r"store: .*runs\.sqlite: .*; needs a database, or a new file"):
        Store(tmp_path / "file" / "runs.sqlite")


def test_a_file_of_other_tables_is_rejected(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("create table runs (a)")
        other.commit()
    with pytest.raises(ScenarioError, match=r"other\.sqlite: contains other tables; needs a store of longpipe"):
        Store(tmp_path / "other.sqlite")
