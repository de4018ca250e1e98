"""Stored runs belong to an engine number: runs of earlier builds without a number, and stores of other numbers."""

import json
import math
import sqlite3
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from commands import run
from longpipe import Scenario, _core, simulate
from longpipe.design import Design, Factor
from longpipe.store import Store, migrations, pack, schema, studies
from longpipe.store.engines import earlier_names, holds
from longpipe.study import Study
from test_store_versions import mounted

DATA = Path(__file__).parent / "data"
# The store tests/data/store-2.sql contains runs by two builds: first 0aff3d4 (the second of these names), then dfa47b9
# (the first).
*_, SOUND, HASTY = earlier_names(_core.__engine__)
SHORT = Scenario(name="short", duration="20 ms")
LINK = {"rate": "155.52 Mbit/s", "delay": "5 us"}
GRAPH = Scenario.model_validate(
    {
        "name": "tree",
        "duration": "20 ms",
        "network": {
            "kind": "graph",
            "nodes": [{"name": "a", "kind": "host"}, {"name": "s", "kind": "switch"}, {"name": "b", "kind": "host"}],
            "links": [{"between": ["a", "s"], **LINK}, {"between": ["s", "b"], **LINK}],
            "flows": [{"name": "ab", "from": "a", "to": "b"}],
        },
    }
)
VBR = SHORT.with_(**{"network.sources": 2, "network.vbr": {"period": "3 ms"}, "switch.scheduler": {"kind": "priority"}})
TRACED = SHORT.with_(**{"traces.cwnd": True})
FEW, MANY = ({"switch.buffer": f"{cells} cells"} for cells in (500, 1000))
CURRENT = [
    *((SHORT.with_(**buffer), seed) for buffer in (FEW, MANY) for seed in (1, 2)),
    *((GRAPH.with_(duration="10 ms", **buffer), seed) for buffer in (FEW, MANY) for seed in (1, 2)),
    (SHORT.with_(**MANY), 9),
    (TRACED, 1),
]
TO_DO = [*((GRAPH.with_(**buffer), seed) for buffer in (FEW, MANY) for seed in (1, 2)), (VBR, 1), (VBR, 2)]

Where = Callable[..., str | Path]


def of_version_2(path: Path, changes: str = "") -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript((DATA / "store-2.sql").read_text() + changes)
    return path


def downgrade(version: int) -> list[str]:
    """Returns SQL that turns the tables of a new store into those of versions 2 to 8, which had no checksums."""
    dropped = [
        f"alter table {table.name} drop column {column}"
        for table in schema.METADATA.sorted_tables
        for column in ("checksum", "parts", "runs", "plan")
        if column in table.c and table is not schema.RECEIPTS
    ]
    return ["drop table receipts", *dropped, f"update longpipe set version = {version}"]


def copied(path: Path, url: str) -> str:
    """Returns a copy of the store on PostgreSQL."""
    there = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    here = sa.create_engine(f"sqlite:///{path}")
    with here.connect() as read, there.begin() as write:
        migrations.copy(read, write)
        for statement in downgrade(2):
            write.execute(sa.text(statement))
        write.execute(sa.text("select setval(pg_get_serial_sequence('runs', 'id'), 100)"))
    there.dispose()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    """Creates a store of version 2, changed by some SQL. Returns its path."""

    def made(changes: str = "") -> str | Path:
        path = of_version_2(tmp_path / "runs.db", changes)
        return path if request.param == "sqlite" else copied(path, request.getfixturevalue("database"))

    return made


def finished(store: Store) -> list[tuple[Scenario, int]]:
    return [job for job in [*CURRENT, *TO_DO] if store.has(*job)]


def engines(store: Store) -> dict[str, int]:
    with store.reading() as connection:
        query = sa.select(schema.RUNS.c.engine, sa.func.count()).group_by(schema.RUNS.c.engine)
        return {row[0]: row[1] for row in connection.execute(query)}


def test_runs_of_builds_before_the_number_are_current_but_for_the_hasty_ones_on_graphs_and_with_vbr(
    where: Where,
) -> None:
    place = where()
    for _ in range(2):
        with closing(Store(place)) as store:
            assert finished(store) == CURRENT
            # One run was executed by both builds, and that of the correct build is used. The run with VBR belongs to
            # another engine.
            assert engines(store) == {_core.__engine__: len(CURRENT), SOUND: 1, HASTY: len(TO_DO)}


def test_what_they_stored_is_what_this_engine_finds(tmp_path: Path) -> None:
    with closing(Store(of_version_2(tmp_path / "runs.db"))) as store:
        for scenario, seed in CURRENT:
            if scenario is not TRACED:
                stored, now = store.require(scenario, seed), simulate(scenario, seed)
                assert stored.state_hash == now.state_hash
                # Runs of engine 6 lack these columns; the upper bound for efficiency then counts all bytes sent.
                flows = now.flows.drop(columns=["short_bytes", "reordered_packets"])
                pd.testing.assert_frame_equal(stored.flows, flows, check_dtype=False, check_exact=True)
                pd.testing.assert_frame_equal(stored.ports, now.ports, check_dtype=False, check_exact=True)


def test_their_studies_go_on(where: Where) -> None:
    with closing(Store(where())) as store:
        before = {name: Study.open(name, store) for name in ("buffers", "later", "trees")}
        states = {name: (study.status().finished, study.status().waiting) for name, study in before.items()}
        assert states == {"buffers": (4, 0), "later": (4, 0), "trees": (0, 4)}
        assert {study.engine for study in before.values()} == {_core.__engine__}
        ended = studies.all_runs(store)
        for study in before.values():
            assert study.run(workers=1).complete
        now = studies.all_runs(store)
        assert now.iloc[: len(ended)].equals(ended)
        assert len(now) == len(ended) + 4
        assert engines(store)[HASTY] == len(TO_DO)


def test_an_unknown_build_and_an_unknown_network_are_not_taken_for_this_engine(where: Where) -> None:
    few, many = (SHORT.with_(**buffer).digest() for buffer in (FEW, MANY))
    changes = f"""
        update runs set engine = '0.1.0+0123456789ab' where digest = '{many}';
        update scenarios set fields = null where digest = '{few}';
    """
    with closing(Store(where(changes))) as store:
        lost = [(SHORT.with_(**FEW), 2), *((SHORT.with_(**MANY), seed) for seed in (1, 2, 9))]
        assert finished(store) == [job for job in CURRENT if job not in lost]


def test_traces_stay_where_they_were_and_are_found(tmp_path: Path) -> None:
    path = of_version_2(tmp_path / "runs.db")
    digest, traces = TRACED.digest(), pack(simulate(TRACED, 1)).traces
    folder = tmp_path / "runs.db.traces" / HASTY / digest[:2] / digest / "1"
    folder.mkdir(parents=True)
    for kind, content in traces.items():
        (folder / f"{kind}.parquet").write_bytes(content)
    with closing(Store(path)) as store:
        expected = simulate(TRACED, 1).traces["cwnd"]
        assert store.require(TRACED, 1).traces["cwnd"].equals(expected)
        store.save(TRACED, 1, pack(simulate(TRACED, 1)))
    assert (tmp_path / "runs.db.traces" / _core.__engine__ / digest[:2] / digest / "1" / "cwnd.parquet").is_file()


def read_from_a_copy(place: str | Path) -> None:
    with closing(Store(place, readonly=True)) as store:
        assert finished(store) == CURRENT
        assert store.require(*CURRENT[0]).state_hash == simulate(*CURRENT[0]).state_hash
        assert {one.name: one.finished for one in studies.overview(store)} == {"buffers": 4, "later": 4, "trees": 0}
    shown = run("study", "status", "--store", place, "later")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"engine {_core.__engine__}" in shown.stdout
    assert "repeats all" not in shown.stdout


def test_a_store_on_a_readonly_disk_is_read_from_a_copy(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        path = of_version_2(disk / "runs.db")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        read_from_a_copy(path)


def test_a_readonly_postgresql_store_is_read_from_a_copy(tmp_path: Path, database: str) -> None:
    url = copied(of_version_2(tmp_path / "runs.db"), database)
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        name = connection.execute(sa.text("select current_database()")).scalar_one()
        connection.execute(sa.text(f"alter database {name} set default_transaction_read_only = on"))
    engine.dispose()
    read_from_a_copy(url)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "kept.db")) as store:
        store.save(SHORT, 1, pack(simulate(SHORT, 1)))
        yield store


def test_the_number_alone_decides(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "__version__", "99.0.0")
    assert kept.has(SHORT, 1)
    monkeypatch.setattr(_core, "__engine__", str(int(_core.__engine__) + 1))
    assert not kept.has(SHORT, 1)
    assert kept.load(SHORT, 1) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"tcp.recovery": "rack", "tcp.congestion": "cubic"},
        {"tcp.timer": {"kind": "fine", "timestamps": True}},
        {"network": {"kind": "dumbbell", "group": [{"name": "small", "tcp": {"mss": "100 B"}}]}},
    ],
    ids=["cubic", "timestamps", "groups"],
)
def test_what_is_another_now_is_not_taken_from_engine_1(tmp_path: Path, changes: dict[str, object]) -> None:
    other = SHORT.with_(**changes)
    with closing(Store(tmp_path / "runs.db")) as store:
        for scenario in (SHORT, other):
            store.save(scenario, 1, pack(simulate(scenario, 1)))
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute("update runs set engine = '1'")
        for statement in downgrade(3):
            database.execute(statement)
    with closing(Store(tmp_path / "runs.db")) as store:
        assert (store.has(SHORT, 1), store.has(other, 1)) == (True, False)


PACKETS = {"framing": "ip", "switch.buffer": "100 packets"}
MARKS = {**PACKETS, "tcp.ecn": "classic"}
GROUP = {"network": {"kind": "dumbbell", "group": [{"name": "new", "tcp": {"recovery": "rack"}}]}}


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({"tcp.recovery": "sack"}, True),
        ({"tcp.timer": {"kind": "fine", "timestamps": True}}, True),
        ({"tcp.vegas.gamma": 2.0}, True),
        ({"tcp.recovery": "sack", **MARKS}, True),
        ({**MARKS, "switch.policy": {"kind": "red"}}, True),
        ({"tcp.congestion": "ledbat", "tcp.timer": {"kind": "fine", "timestamps": True}}, True),
        ({"tcp.recovery": "rack"}, False),
        ({"tcp.recovery": "rfc6675"}, False),
        ({"tcp.recovery": "sack", "tcp.congestion": "hybla"}, False),
        (GROUP, False),
        ({"tcp.congestion": "vegas"}, False),
        ({"network": {"kind": "dumbbell", "group": [{"name": "old", "tcp": {"congestion": "vegas"}}]}}, False),
        ({"tcp.recovery": "sack", "tcp.congestion": "bic"}, False),
        ({"tcp.recovery": "rack", "tcp.congestion": "bbr"}, False),
        ({"tcp.recovery": "rack", "tcp.congestion": "bbr3"}, False),
        ({**MARKS, "switch.policy": {"kind": "pie"}}, False),
        ({**MARKS, "switch.policy": {"kind": "fq-codel"}}, False),
        ({"network": {"kind": "dumbbell", "group": [{"name": "voice", "traffic": {"kind": "cbr", "rate": "64 kbit/s"}}]}, **MARKS}, False),
        ({"network.sources": 2, "network.vbr": {"period": "3 ms"}, "switch.scheduler": {"kind": "priority"}}, False),
        ({"framing": "ip", "switch.buffer": "100 packets", "network.path": {"rate": [["0 s", "50 Mbit/s"]]}}, False),
        ({"traffic": {"kind": "web", "cycle": "5 ms"}}, False),
        ({"traffic": {"kind": "web", "cycle": "5 ms"}, "framing": "ip", "switch.buffer": "100 packets"}, True),
    ],
    ids=[
        "sack", "timestamps", "unused", "marks", "red", "ledbat", "rack", "rfc6675", "hybla", "groups", "vegas", "group-of-vegas",
        "bic", "bbr", "bbr3", "pie", "fq-codel", "datagrams", "vbr", "path", "web-of-cells", "web-of-packets",
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["2", "6"])
def test_engine_6_holds_but_for_what_engine_7_changed(
    tmp_path: Path, changes: dict[str, object], stays: bool, engine: str
) -> None:
    scenario = SHORT.with_(**changes)
    with closing(Store(tmp_path / "runs.db")) as store:
        store.save(scenario, 1, pack(simulate(scenario, 1)))
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute(f"update runs set engine = '{engine}'")
        # Engine 2 used version 4 of the tables, engine 3 version 5, and so on.
        for statement in downgrade(int(engine) + 2):
            database.execute(statement)
    with closing(Store(tmp_path / "runs.db")) as store:
        assert store.has(scenario, 1) is stays


def test_an_export_says_which_runs_an_upgrade_left_out(tmp_path: Path) -> None:
    design = Design.full_factorial(SHORT, [Factor.over("tcp.recovery", ["sack", "rack"])])
    path = tmp_path / "runs.db"
    with closing(Store(path)) as store:
        Study(design, store, "both").run(workers=1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update runs set engine = '6'")
        database.execute("update studies set engine = '6'")
        for statement in downgrade(8):
            database.execute(statement)
    told = run("study", "export", "both", "-o", str(tmp_path / "runs.csv"), "--store", str(path)).stdout
    assert told.startswith("1 runs: ")
    assert f"Left out: 1 runs of engine 6, which engine {_core.__engine__} has not repeated" in told
    assert list(pd.read_csv(tmp_path / "runs.csv")["tcp.recovery"]) == ["sack"]


@pytest.mark.parametrize("size", ["100 B", "512 B", "2000 B", "100 kB"])
def test_an_adopted_run_has_the_efficiency_of_a_new_one(tmp_path: Path, size: str) -> None:
    """Engine 6 did not count short segments, on which the attainable efficiency of cells depends."""
    scenario = SHORT.with_(traffic={"kind": "transfer", "size": size}, **{"tcp.recovery": "sack"})
    result = simulate(scenario, 1)
    assert math.isfinite(result.efficiency)
    path = tmp_path / "runs.db"
    with closing(Store(path)) as store:
        store.save(scenario, 1, pack(result))
    with closing(sqlite3.connect(path)) as database, database:
        (packed,) = database.execute("select summary from summaries").fetchone()
        summary = json.loads(zlib.decompress(packed))
        del summary["flows"]["short_bytes"]
        database.execute("update summaries set summary = ?", (zlib.compress(json.dumps(summary).encode()),))
        database.execute("update runs set engine = '6'")
        for statement in downgrade(8):
            database.execute(statement)
    with closing(Store(path)) as store:
        assert store.require(scenario, 1).efficiency == result.efficiency
        assert list(studies.all_runs(store)["efficiency"]) == [result.efficiency]


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({"tcp.recovery": "sack", **PACKETS}, True),
        ({**PACKETS, "switch.policy": {"kind": "pie"}}, False),
        ({**PACKETS, "switch.policy": {"kind": "codel"}}, True),
        ({"tcp.recovery": "rack", **MARKS}, False),
        ({"tcp.recovery": "rfc6675", **MARKS}, False),
        ({"tcp.congestion": "cubic", **PACKETS}, False),
        ({"tcp.ack": "linux", **MARKS}, False),
        ({**MARKS, "tcp.ecn": "dctcp"}, False),
    ],
)
def test_engine_7_holds_but_for_what_engine_8_changed(changes: dict[str, object], stays: bool) -> None:
    assert holds("7", json.loads(SHORT.with_(**changes).to_json())) is stays


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({"tcp.recovery": "rfc6675", **MARKS}, True),
        ({"tcp.congestion": "westwood", **PACKETS}, False),
        ({"tcp.ack": "linux", **MARKS}, False),
        ({"tcp.profile": "linux-6", **MARKS}, False),
    ],
)
def test_engine_8_holds_but_for_linux_s_acks_and_westwood(changes: dict[str, object], stays: bool) -> None:
    assert holds("8", json.loads(SHORT.with_(**changes).to_json())) is stays


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({"tcp.recovery": "sack", **PACKETS}, True),
        ({"tcp.recovery": "rfc6675", **MARKS}, True),
        ({"tcp.congestion": "westwood", **PACKETS}, False),
        ({"tcp.congestion": "linux-reno", **PACKETS}, True),
        ({"tcp.congestion": "cubic", **PACKETS}, False),
        ({"tcp.congestion": {"kind": "python", "class": f"{DATA}/classes/aimd.py:Aimd"}, **PACKETS}, False),
        ({"tcp.recovery": "rack", **MARKS}, False),
        ({"tcp.ack": "linux", **MARKS}, False),
        ({"tcp.profile": "linux-6", **MARKS}, False),
        ({"traces.queue": True, **MARKS}, True),
        ({"traces.vc_queue": True, **MARKS}, False),
    ],
)
def test_engine_9_holds_but_for_what_engine_10_changed(changes: dict[str, object], stays: bool) -> None:
    assert holds("9", json.loads(SHORT.with_(**changes).to_json())) is stays


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({}, False),
        (PACKETS, True),
        ({"tcp.profile": "linux-6", **MARKS}, False),
        ({"traces.vc_queue": True, **PACKETS}, False),
        ({"tcp.congestion": "cubic", "tcp.timer": "fine", **PACKETS}, True),
        ({"tcp.profile": "linux-6", "tcp.congestion": "bbr", **PACKETS}, False),
        ({"tcp.profile": "linux-6", "tcp.congestion": "bbr3", **PACKETS}, False),
    ],
)
def test_engine_10_holds_but_for_bbr_cells_and_rows_of_vc_queue(changes: dict[str, object], stays: bool) -> None:
    """Engine 11 changed the causes of window reductions over cells, which engines before 7 did not record."""
    fields = json.loads(SHORT.with_(**changes).to_json())
    assert holds("10", fields) is stays
    assert holds("6", json.loads(SHORT.to_json()))
    assert earlier_names(_core.__engine__)[:7] == ("16", "15", "14", "13", "12", "11", "10")


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({}, False),
        (MARKS, True),
        ({"traces.vc_queue": True, **PACKETS}, False),
        ({"traffic": "adaptive-video", **PACKETS}, False),
        ({"network.conditioners": [{"kind": "tbf", "rate": "5 Mbit/s", "burst": "16 KB"}], **PACKETS}, False),
        ({"network.conditioners": [{"kind": "policer", "rate": "5 Mbit/s", "burst": "16 KB"}], **PACKETS}, False),
        ({"switch.policy": {"kind": "cake", "rate": "5 Mbit/s"}, **PACKETS}, False),
        ({"network.conditioners": [{"kind": "jitter", "delay": "5 ms", "jitter": "0 s"}], **PACKETS}, False),
        ({"traffic": {"kind": "flow-arrivals", "load": 0.5, "sizes": "pareto"}, **PACKETS}, False),
        ({"network.conditioners": [{"kind": "duplication", "probability": 0.1}], **PACKETS}, True),
    ],
)
def test_engine_11_holds_but_for_cells_shapers_jitter_video_and_vc_queue(
    changes: dict[str, object], stays: bool
) -> None:
    assert holds("11", json.loads(SHORT.with_(**changes).to_json())) is stays


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({}, False),
        (PACKETS, True),
        ({"tcp.profile": "linux-6", **MARKS}, False),
        ({"traces.vc_queue": True, **PACKETS}, True),
        ({"switch.policy": {"kind": "cake", "rate": "5 Mbit/s"}, **PACKETS}, True),
        ({"traffic": {"kind": "stream", "rate": "1 Mbit/s"}, **PACKETS}, False),
        ({"traffic": "adaptive-video", **PACKETS}, False),
    ],
)
def test_engine_12_holds_but_for_cells_streams_and_video(changes: dict[str, object], stays: bool) -> None:
    """Engine 13 changed the causes of window reductions over cells, which engines before 7 did not record.

    It records what streams write and how long players wait, which limits and fairness need.
    """
    assert holds("12", json.loads(SHORT.with_(**changes).to_json())) is stays
    assert holds("6", json.loads(SHORT.to_json()))


JITTER = {"kind": "jitter", "delay": "10 ms", "jitter": "1 ms"}
DUPLICATION = {"kind": "duplication", "probability": 0.1}


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({}, False),
        (PACKETS, True),
        ({"tcp.profile": "linux-6", **PACKETS}, False),
        ({"tcp.profile": "linux-6", "tcp.ack": "immediate", **PACKETS}, False),
        ({"tcp.ack": "linux", **PACKETS}, False),
        ({"traffic.kind": "stream", "traffic.rate": "1 Mbit/s", **PACKETS}, True),
        ({"traffic.kind": "voice", **PACKETS}, True),
        ({"traffic.kind": "voice", "network.conditioners": [JITTER], **PACKETS}, False),
        ({"traffic.kind": "cbr", "traffic.rate": "1 Mbit/s", "network.conditioners": [DUPLICATION], **PACKETS}, False),
        ({"network.conditioners": [JITTER], **PACKETS}, True),
        ({"tcp.pacing": True, **PACKETS}, False),
        ({"tcp.pacing": True, "tcp.timer": "fine", **PACKETS}, True),
        ({"tcp.congestion": "illinois", **PACKETS}, True),
        ({"tcp.congestion": "hybla", **PACKETS}, False),
        ({"tcp.congestion": "hybla", "tcp.timer": "fine", **PACKETS}, True),
        (
            {
                "tcp.congestion": "prague",
                "tcp.recovery": "rack",
                "tcp.timer": "fine",
                "tcp.ecn": {"kind": "accurate", "ect": 1},
                **PACKETS,
            },
            False,
        ),
    ],
)
def test_engine_13_holds_but_for_cells_acks_of_linux_disordered_datagrams_prague_and_srtt_in_ticks(
    changes: dict[str, object], stays: bool
) -> None:
    """Engine 14 changed the causes of window reductions over cells, which engines before 7 did not record."""
    assert holds("13", json.loads(SHORT.with_(**changes).to_json())) is stays


POLICER = {"kind": "policer", "rate": "1 Mbit/s", "burst": "10 KB"}


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({}, True),
        (PACKETS, True),
        ({**PACKETS, "switch.buffer": "100 ms"}, True),
        ({"traffic.kind": "voice", **PACKETS}, True),
        ({"traffic.kind": "voice", **PACKETS, "switch.buffer": "100 KB"}, True),
        ({"traffic.kind": "voice", **PACKETS, "switch.buffer": "100 ms"}, False),
        ({"traffic.kind": "voice", **PACKETS, "switch.buffer": "2 BDP"}, False),
        ({"traffic.kind": "voice", "switch.buffer": "1000 cells"}, True),
        ({"traffic.kind": "voice", "switch.buffer": "30 packets"}, False),
        ({"network.conditioners": [POLICER], **PACKETS}, True),
        ({"network.conditioners": [POLICER], "warm_up": "5 ms", **PACKETS}, False),
    ],
)
def test_engine_14_holds_but_for_datagrams_in_buffers_of_packets_and_token_buckets_after_a_warm_up(
    changes: dict[str, object], stays: bool
) -> None:
    assert holds("14", json.loads(SHORT.with_(**changes).to_json())) is stays


@pytest.mark.parametrize(
    ("policy", "stays"),
    [
        ({}, True),
        ({"rate": "1 Mbit/s"}, True),
        ({"rate": "1 Mbit/s", "overhead": 40}, False),
        ({"rate": "1 Mbit/s", "overhead": -4}, False),
        ({"rate": "1 Mbit/s", "framing": "ptm"}, False),
        ({"rate": "1 Mbit/s", "mpu": 64}, False),
    ],
)
def test_engine_15_holds_but_for_shapers_that_count_other_lengths(policy: dict[str, object], stays: bool) -> None:
    changes = {"switch.policy": {"kind": "cake", **policy}, **PACKETS}
    assert holds("15", json.loads(SHORT.with_(**changes).to_json())) is stays


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({}, True),
        ({"tcp.ack": "linux"}, False),
        ({"tcp.profile": "linux-6"}, False),
        ({"tcp.recovery": "rack"}, True),
        ({"tcp.recovery": "rack", "tcp.timer": {"kind": "fine", "timestamps": True}}, False),
        ({"switch.policy": {"kind": "pie"}, **PACKETS}, False),
        ({"switch.policy": {"kind": "pie", "rules": "linux"}, **PACKETS}, True),
        ({"tcp.ecn": "accurate", "switch.policy": {"kind": "codel", "ecn": True}, **PACKETS}, False),
    ],
)
def test_engine_16_holds_but_for_what_engine_17_changed(changes: dict[str, object], stays: bool) -> None:
    assert holds("16", json.loads(SHORT.with_(**changes).to_json())) is stays
