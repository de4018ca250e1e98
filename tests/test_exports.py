"""Exported tables, as analysts read them."""

import csv
import io
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from commands import run
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.export import encoded, write_table
from longpipe.study import Study
from longpipe.study.table import table

BASE = Scenario(defaults="1996", name="lan", duration="300 ms", framing="ip").with_(
    start={"kind": "random", "over": "1 ms"}
)
# The order of the levels is neither that of their texts nor that of their numbers.
BUFFERS = ["1 MB", "20 kB", "300 kB"]
FACTORS = [
    Factor.over("switch.buffer", BUFFERS, "buffer"),
    Factor.over("tcp.congestion", ["linux-reno", "cubic"], "control"),
    Factor.over("network.sources", [2, 1], "flows"),
]
SUFFIXES = [".parquet", ".arrow", ".feather"]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns a store with a finished study."""
    path = str(tmp_path_factory.mktemp("exports") / "campaign.db")
    design = Design.full_factorial(BASE, FACTORS, replications=2, measures=["share=throughput/10 Mbit/s"])
    with closing(Study(design, path, "lan")) as study:
        study.run(workers=1)
    return path


@pytest.fixture(scope="module")
def exported(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with a file of each format."""
    folder = tmp_path_factory.mktemp("files")
    for suffix in (*SUFFIXES, ".csv", ".json"):
        assert run("study", "export", "lan", "--store", url, "-o", folder / f"runs{suffix}").returncode == 0
    return folder


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pandas_reads_levels_in_the_order_of_the_design(exported: Path, suffix: str) -> None:
    path = exported / f"runs{suffix}"
    found = pd.read_parquet(path) if suffix == ".parquet" else pd.read_feather(path)
    assert found["buffer"].cat.ordered
    assert list(found["buffer"].cat.categories) == BUFFERS
    assert list(found.groupby("buffer", observed=True)["buffer_value"].first()) == [1000, 20, 300]
    # Levels that are not numbers have no numeric column, and numbers without a unit are one already.
    assert "control_value" not in found
    assert found["flows"].dtype == "int64"
    assert str(found["finished_at"].dtype) == "datetime64[us, UTC]"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_fields_have_units_and_descriptions(exported: Path, suffix: str) -> None:
    path = exported / f"runs{suffix}"
    schema = parquet.read_schema(path) if suffix == ".parquet" else feather.read_table(path).schema
    assert {field.name for field in schema if b"description" not in (field.metadata or {})} == set()
    units = {field.name: field.metadata.get(b"unit", b"").decode() for field in schema}
    assert {name: unit for name, unit in units.items() if unit} == {
        "buffer_value": "KB", "throughput_bps": "bit/s", "packets_lost": "packets", "peak_queue_packets": "packets",
        "retransmitted_bytes": "B", "seconds": "s",
    }  # fmt: skip
    assert schema.field("share").metadata[b"description"] == b"share=throughput/10 Mbit/s"


def test_polars_reads_all_formats(url: str, exported: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = Study.open("lan", url).frame()
    for path in (exported / f"runs{suffix}" for suffix in SUFFIXES):
        found = polars.read_parquet(path) if path.suffix == ".parquet" else polars.read_ipc(path)
        assert found["throughput_bps"].to_list() == list(frame["throughput_bps"])
        assert found["buffer"].cast(polars.Enum(BUFFERS)).unique().sort().to_list() == BUFFERS
        assert found["finished_at"].dtype.time_zone == "UTC"


def test_duckdb_reads_parquet_and_csv(url: str, exported: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    means = Study.open("lan", url).frame().groupby("buffer")["throughput_bps"].mean()
    for suffix in (".parquet", ".csv"):
        query = "select buffer, avg(throughput_bps) from '{}' group by buffer order by min(point)"
        found = duckdb.sql(query.format(exported / f"runs{suffix}")).fetchall()
        assert [level for level, _ in found] == BUFFERS
        assert {level: pytest.approx(mean, rel=1e-12) for level, mean in found} == means.to_dict()
    times = duckdb.sql(f"select finished_at from '{exported}/runs.parquet'").fetchall()
    assert all(time.tzinfo is not None for (time,) in times)


def test_a_design_writes_the_csv_of_an_export(url: str, exported: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "lan.toml"
    scenario.write_text(BASE.to_toml())
    levels = [
        f"{factor.name}:{next(iter(next(iter(factor.levels.values()))))}={','.join(map(str, factor.levels))}"
        for factor in FACTORS
    ]
    options = [word for text in levels for word in ("--factor", text)]
    done = run(
        "design", scenario, *options, "--replications", 2, "--measure", "share=throughput/10 Mbit/s",
        "--run", "lan", "--store", url, "--csv", tmp_path / "runs.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows, others = (
        (list(csv.DictReader(io.StringIO((folder / "runs.csv").read_text())))) for folder in (tmp_path, exported)
    )
    assert [{name: other[name] for name in row} for row, other in zip(rows, others, strict=True)] == rows


def test_fewer_replications_than_stored_are_noted(url: str, tmp_path: Path) -> None:
    scenario = tmp_path / "lan.toml"
    scenario.write_text(BASE.to_toml())
    done = run(
        "design",
        scenario,
        "--factor",
        "buffer:switch.buffer=1 MB,20 kB",
        "--replications",
        3,
        "--run",
        "small",
        "--store",
        url,
    )
    assert "note" not in done.stderr
    done = run(
        "design",
        scenario,
        "--factor",
        "buffer:switch.buffer=1 MB,20 kB",
        "--replications",
        2,
        "--run",
        "small",
        "--store",
        url,
    )
    assert "note: study 'small' has 3 replications per point, not 2: the results include all of them" in done.stderr
    assert "runs are stored and are not repeated" in done.stderr


def test_levels_of_several_types_are_exported(tmp_path: Path) -> None:
    changes: dict[str | int | float | bool, dict[str, Any]] = {
        1: {"duration": "20 ms"},
        "long": {"duration": "30 ms"},
        2.5: {"duration": "40 ms"},
    }
    design = Design.full_factorial(BASE, [Factor("kind", changes)])
    with closing(Study(design, tmp_path / "a.db")) as study:
        study.run(workers=1)
        labels = list(map(str, design.factors[0].levels))
        assert table(study)["kind"].to_pylist() == labels
        write_table(study.frame(), tmp_path / "a.csv")
    assert list(pd.read_csv(tmp_path / "a.csv", dtype=str)["kind"]) == labels


@given(
    st.lists(
        st.tuples(
            st.text(alphabet="ab ,;\"'\r\n\t=é\u2028\0", max_size=6),
            st.floats(allow_nan=False),
            st.integers(-(2**63), 2**63 - 1),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_csv_preserves_texts_and_numbers(rows: list[tuple[str, float, int]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    written = encoded(pa.table(dict(zip("abc", columns, strict=True))), ".csv")
    # An empty text is an empty field, and a carriage return is kept within quotes.
    _, *found = csv.reader(io.StringIO(written.decode(), newline=""))
    assert [(text, float(number), int(whole)) for text, number, whole in found] == rows


def test_csv_quotes_only_where_needed() -> None:
    text = encoded(pd.DataFrame({"a b": ["x", "y,z"], "n": [1.0, None], "ok": [True, False]}), ".csv").decode()
    assert text == 'a b,n,ok\nx,1.0,True\n"y,z",,False\n'


def test_times_of_csv_are_in_utc(exported: Path) -> None:
    times = pd.read_csv(exported / "runs.csv", parse_dates=["finished_at"])["finished_at"]
    assert list(times) == list(pd.read_parquet(exported / "runs.parquet")["finished_at"])
    assert times.dt.tz == UTC
