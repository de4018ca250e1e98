import json
import math
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from commands import run
from longpipe import Scenario, _core
from longpipe.errors import ScenarioError
from longpipe.pictures.saving import save
from longpipe.store import Store
from longpipe.study import Runner
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers.frr_96 import figures
from longpipe_evidence.papers.frr_96.variants import READINGS
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.reproduction import Reproduction, reproduce
from longpipe_evidence.papers.statements import statements
from longpipe_evidence.papers.text import show
from reproduced import PAPER, WRITTEN, short_frr_96


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory that stores all short runs with two seeds."""
    directory, made = tmp_path_factory.mktemp("frr-96"), short_frr_96(tmp_path_factory)
    shutil.copytree(made / "reproduction", directory / "out")
    shutil.copy(made / "runs.db", directory)
    return directory / "out"


@pytest.fixture(scope="module")
def found(out: Path) -> Iterator[Reproduction]:
    with closing(Store(out.with_name("runs.db"))) as store:
        yield reproduce(PAPER, 2, Runner(store))


def test_a_directory_holds_report_tables_runs_and_figures(out: Path) -> None:
    figures = {f"{name}.{kind}" for name in ("network", "tables-1-2", "tables-3-4") for kind in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == {*WRITTEN, "runs.csv", "tables.csv", *figures}


def test_json_has_the_agreed_shape(found: Reproduction) -> None:
    report = json.loads(found.to_json())
    assert list(report) == ["paper", "version", "engine", "engine_kind", "seeds", "seconds", "tables", "claims"]
    assert (report["paper"], report["engine"], report["seeds"]) == ("frr-96", _core.__engine__, 2)
    assert report["engine_kind"] == Scenario(defaults="1996").engine
    assert [table["table"] for table in report["tables"]] == ["1+2", "3+4"]
    factors = ["network", "sources", "buffer_cells", "tcp", "policy"]
    numbers = ["published", "deterministic", "mean", "low", "high", "mean_low", "mean_high"]
    for table in report["tables"]:
        assert list(table["mean_absolute_error"]) == ["efficiency", "fairness"]
        assert list(table["mean_absolute_error_by_policy"]) == ["tail-drop", "epd", "selective-drop", "fba"]
        assert len(table["rows"]) == 32
        for row in table["rows"]:
            assert list(row) == [*factors, "efficiency", "fairness"]
            assert list(row["efficiency"]) == list(row["fairness"]) == numbers
    assert [claim["id"] for claim in report["claims"]] == [claim.id for claim in PAPER.claims]
    for claim in report["claims"]:
        assert claim["verdict"] in ("holds", "in part", "undecided", "fails")
        assert all(any(map(str.isdigit, condition["evidence"])) for condition in claim["conditions"])


def test_errors_are_those_of_the_replicated_means(found: Reproduction) -> None:
    table = json.loads(found.to_json())["tables"][1]
    wanted = [abs(row["fairness"]["mean"] - row["fairness"]["published"]) for row in table["rows"]]
    assert table["mean_absolute_error"]["fairness"] == pytest.approx(math.fsum(wanted) / 32, abs=1e-5)
    of_epd = [
        abs(row["efficiency"]["mean"] - row["efficiency"]["published"])
        for row in table["rows"]
        if row["policy"] == "epd"
    ]
    by_policy = table["mean_absolute_error_by_policy"]["epd"]["efficiency"]
    assert by_policy == pytest.approx(math.fsum(of_epd) / 8, abs=1e-5)


def test_tables_fit_100_columns_and_show_published_averages(found: Reproduction) -> None:
    text = StringIO()
    show(found, Console(file=text, width=100))
    assert max(map(len, text.getvalue().splitlines())) <= 100
    assert [text.getvalue().count(f"Table {n}: ") for n in (1, 2, 3, 4)] == [1, 1, 1, 1]
    averages = [line.split() for line in text.getvalue().splitlines() if line.startswith("average")]
    assert [[line[i] for i in (1, 4, 7, 10)] for line in averages] == [
        [".63", ".78", ".87", ".92"],
        [".73", ".82", ".93", ".97"],
        [".73", ".92", ".89", ".89"],
        [".81", ".97", ".99", ".95"],
    ]


def test_single_seed_has_no_intervals_or_verdicts(out: Path) -> None:
    with closing(Store(out.with_name("runs.db"))) as store:
        report = json.loads(reproduce(PAPER, 1, Runner(store)).to_json())
    assert report["tables"][0]["rows"][0]["efficiency"]["mean_low"] is None
    assert {claim["verdict"] for claim in report["claims"]} == {"undecided"}


def test_points_of_a_figure_are_the_rows_of_its_table(found: Reproduction) -> None:
    points = figures.efficiency_fairness_points(found, "3+4")
    assert len(points) == 32
    first = points.iloc[0]
    assert (first["network"], first["published_efficiency"], first["published_fairness"]) == ("lan", 0.53, 0.77)
    assert points["mean_efficiency"].notna().all()


def test_the_same_numbers_give_the_same_figure(found: Reproduction, tmp_path: Path) -> None:
    written = [save(figures.efficiency_fairness(found, "1+2"), tmp_path / name) for name in ("a", "b")]
    assert [path.suffix for path in written[0]] == [".png", ".svg"]
    for first, second in zip(*written, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_readings_are_judged_by_every_statement_and_table(out: Path, tmp_path: Path) -> None:
    paper = replace(PAPER, other_readings=READINGS[:1])
    with closing(Store(out.with_name("runs.db"))) as store:
        parts.run(paper, Part.READINGS, 2, tmp_path, Runner(store))
    names = ["as reproduced", READINGS[0].name]
    stated = pd.read_csv(tmp_path / "reading-statements.csv")
    assert list(stated.columns) == ["statement", *names]
    assert list(stated["statement"]) == [one.id for one in statements("frr-96") if one.claims]
    errors = pd.read_csv(tmp_path / "reading-errors.csv")
    tables = pd.read_csv(out / "tables.csv")
    first = tables[(tables["tcp"] == "vanilla") & (tables["metric"] == "efficiency")]
    wanted = (first["mean"] - first["published"]).abs().mean()
    assert errors.loc[0, "as reproduced"] == pytest.approx(wanted)
    assert errors.loc[0, names[1]] != pytest.approx(wanted)
    values = pd.read_csv(tmp_path / "reading-values.csv")
    assert values["reading"].value_counts().to_dict() == dict.fromkeys(names, 128)
    with pytest.raises(ScenarioError, match="--readings: frr-96 has no other reading; needs one of: frr-96"):
        parts.run(PAPER, Part.READINGS, 2, tmp_path, Runner(Store()))


def test_sensitivity_has_a_row_for_every_variant(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Store(out.with_name("runs.db"))) as store:
        parts.run(PAPER, Part.SENSITIVITY, 1, out, Runner(store))
    names = ["as reproduced", *(variant.name for variant in PAPER.variants)]
    lines = (out / "sensitivity.txt").read_text().splitlines()
    assert [sum(line.startswith(name) for line in lines) for name in names] == [3, 3, 3]
    assert max(map(len, lines)) <= 100
    summary = pd.read_csv(out / "sensitivity.csv", index_col="variant")
    assert list(summary.index) == names
    assert list(summary.filter(like="error of vanilla epd")) == [
        "error of vanilla epd efficiency",
        "error of vanilla epd fairness",
    ]
    assert summary.notna().all(axis=None)
    nearest = pd.read_csv(out / "closest.csv")
    assert len(nearest) == 64 * 2
    distance = {name: (nearest[name] - nearest["published"]).abs() for name in ("as_reproduced", "mean")}
    assert (distance["mean"] <= distance["as_reproduced"]).all()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["frr-69"],
            "PAPER: 'frr-69'; did you mean 'frr-96'? accepts frr-96, gr-97, buf-97, www-98, lbd-01, rfc-9438, hypatia-20, prague-24",
        ),
        (["frr-96", "--out", "file"], "--out: file cannot be written"),
        (["frr-96", "--json", "."], "--json: . is a directory"),
        (["frr-96", "--sensitivity", "--json", "-"], "--json: not with --sensitivity"),
        (["frr-96", "--executor", "threads"], "executor: 'threads'; accepts 'processes', 'dask://HOST:PORT'"),
        (["frr-96", "--executor", "dask://head:8786", "--workers", "2"], "workers: 2; 'dask://head:8786' has its own"),
        (
            ["lbd-01", "--seeds", "3"],
            "--seeds: 3; lbd-01 has no random inputs, so one run of each suffices; omit the option",
        ),
        (["buf-97", "--beyond", "--sensitivity"], "--beyond: not with --sensitivity; needs one of them"),
    ],
)
def test_bad_input_is_rejected_in_one_line_with_status_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run("reproduce", *arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"error: {message}")
    assert refused.stderr.count("\n") == 1


def test_unreachable_scheduler_is_rejected_in_one_line(tmp_path: Path) -> None:
    refused = run("reproduce", "frr-96", "--no-store", "--executor", "dask://127.0.0.1:9", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: executor: dask://127.0.0.1:9: no Dask scheduler answers")
    assert refused.stderr.count("\n") == 1
