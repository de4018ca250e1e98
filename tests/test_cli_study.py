"""`longpipe study`, from the shell."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from commands import run
from longpipe import Scenario, ScenarioError
from longpipe.cli import app
from longpipe.cli.design.plan import plan
from longpipe.design import Design, Factor
from longpipe.store import engine_version
from longpipe.study import Study

BASE = Scenario(defaults="1996", name="lan", duration="20 ms").with_(start={"kind": "random", "over": "1 ms"})
DESIGN = Design.full_factorial(
    BASE,
    [
        Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp"),
        Factor.over("switch.buffer", ["100 cells", "1000 cells"], "buffer"),
    ],
    replications=2,
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns a store with one finished study and one study that has not started."""
    found = f"sqlite:///{tmp_path_factory.mktemp('study')}/campaign.db"
    study = Study(DESIGN, found)
    study.run(workers=1)
    Study(DESIGN, study.store, "later")
    study.close()
    return found


def refusal(*arguments: str | Path) -> str:
    """Returns the error with which a command rejects its arguments, in this process."""
    with pytest.raises(ScenarioError) as error:
        app([str(argument) for argument in arguments], standalone_mode=False)
    return str(error.value)


def output(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    """Returns the lines that a command writes, in this process."""
    app([str(argument) for argument in arguments], standalone_mode=False)
    return capsys.readouterr().out.splitlines()


def test_studies_are_listed_one_per_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows, _, total = output(capsys, "study", "list", "--store", url)
    assert head.split() == ["study", "finished", "runs", "failed", "changed", "(UTC)", "engine"]
    assert {tuple(row.split()[:3]) for row in rows} == {("lan", "8", "8"), ("later", "8", "8")}
    assert all(row.split()[-1] == engine_version() for row in rows)
    assert total == f"8 runs in {url.removeprefix('sqlite:///')}"


@pytest.mark.parametrize(
    ("start", "options", "names"),
    [
        ("{kind='random', over='1 ms'}", [], ["plot", "study"]),
        ("fixed", ["--set", "switch.ties=port-order"], ["plot"]),
        ("{kind='random', over='1 ms'}", ["--replications", "2"], ["plot", "study", "analyse"]),
        ("fixed", ["--factor", "tcp:tcp.recovery=vanilla,reno"], ["plot", "study", "analyse"]),
    ],
)
def test_command_that_design_suggests_works(
    start: str, options: list[str], names: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("lan.toml").write_text(BASE.to_toml())
    factor = ["--factor", "buffer:switch.buffer=100 cells,1000 cells", "--set", f"start={start}", *options]
    said = output(capsys, "design", "lan.toml", *factor, "--run", "a b", "--store", "c.db", "--workers", "1")
    lines = said[said.index("Next:") + 1 :]
    assert [line.split()[1] for line in lines] == names
    for line in lines:
        assert output(capsys, *shlex.split(line)[1:])


def test_a_study_is_shown_with_its_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "study", "show", "lan", "--store", url, "--where", "tcp=reno", "--where", "seed<2")
    assert lines[0] == "lan: 4 points, 2 replications each"
    assert "tcp: vanilla, reno" in lines
    assert "seeds 1 to 2" in lines
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["point", "tcp", "buffer", "seed", "state", "efficiency", "fairness"]
    assert [line.split()[:2] for line in table[1:]] == [["3", "reno"], ["4", "reno"]]
    assert max(map(len, lines)) <= 80


def test_measures_of_a_study_are_added_and_removed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = ("study", "measure", "lan", "--store", url)
    assert output(capsys, *name) == ["none except those of every run"]
    used = "port:switch1->switch2.utilization"
    assert output(capsys, *name, "--add", f"used={used}") == [f"used={used}"]
    assert output(capsys, *name, "--add", "flow:flow1.throughput", "--drop", "used") == ["flow:flow1.throughput"]
    assert refusal(*name, "--drop", "usd") == "measure: 'usd'; accepts flow:flow1.throughput"
    assert output(capsys, *name, "--drop", "flow:flow1.throughput") == ["none except those of every run"]


@pytest.mark.parametrize("command", ["run", "status", "show"])
def test_commands_for_a_study_create_no_store(tmp_path: Path, command: str) -> None:
    path = tmp_path / "kept" / "none.db"
    assert refusal("study", command, "lan", "--store", path) == (
        f"store: {path}: no such file; needs the store of an earlier run"
    )
    with pytest.raises(ScenarioError, match="no such file"):
        Study.open("lan", path)
    assert not path.parent.exists()


def test_a_store_in_place_of_the_name_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    for url in (path, str(path), f"sqlite:///{path}"):
        error = f"study: '{url}', store: 'lan'; name and store are swapped? needs Study"
        with pytest.raises(ScenarioError, match=re.escape(f"{error}.open('NAME', store)")):
            Study.open(url, "lan")  # type: ignore[arg-type]
        with pytest.raises(ScenarioError, match=re.escape(f"{error}(design, store, 'NAME')")):
            Study(DESIGN, "lan", url)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_export_contains_the_data_frame(
    url: str, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"runs{suffix}"
    assert output(capsys, "study", "export", "lan", "-o", path, "--store", url) == [f"8 runs: {path}"]
    if suffix == ".json":
        found = pd.DataFrame(json.loads(path.read_text()))
    else:
        found = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    frame = Study.open("lan", url).frame()
    found = found.astype({"tcp": str, "buffer": str})
    pd.testing.assert_frame_equal(found[frame.columns], frame, check_dtype=False, check_exact=True)
    assert list(found.pop("buffer_value")) == [100] * 2 + [1000] * 2 + [100] * 2 + [1000] * 2
    assert list(found.columns[len(frame.columns) :]) == ["digest", "finished_at", "seconds", "machine", "engine"]
    assert list(found["digest"][:2]) == [DESIGN.scenarios[0].digest()] * 2


def test_all_runs_of_a_store_are_exported_without_a_name(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "all.parquet"
    output(capsys, "study", "export", "-o", path, "--store", url, "--where", "efficiency>0")
    found = pd.read_parquet(path)
    assert len(found) == 8
    assert set(found["scenario"]) == {scenario.name for scenario in DESIGN.scenarios}


def test_a_design_changes_fields_of_every_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "lan.toml"
    scenario.write_text(BASE.to_toml())
    found = plan(scenario, ["tcp.recovery=vanilla,reno"], changes=["duration=30 ms"], one_at_a_time=False,
                 generators=None, confounded=None)  # fmt: skip
    assert [one.duration for one in found.scenarios] == ["30 ms"] * 2
    shown = output(capsys, "design", scenario, "--factor", "tcp.recovery=vanilla,reno", "--set", "duration=5 s")
    assert "2 runs, 10 s of simulated time" in "\n".join(shown)


def test_study_continues_with_more_replications(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/campaign.db"
    Study(DESIGN, url).close()
    assert run("study", "status", "lan", "--store", url).stdout.startswith("lan: 0 of 8 runs finished, 8 waiting\n")
    grown = run("study", "run", "lan", "--replications", "3", "--workers", "1", "--store", url)
    assert (grown.returncode, grown.stderr) == (0, "")
    assert grown.stdout.startswith("lan: 12 of 12 runs finished\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["status", "lam"], "study: 'lam' is not in STORE; did you mean 'lan'? accepts "),
        (["run", "lan", "--replications", "1"], "replications: 1; needs at least 2, the present number"),
        (["run", "lan", "--executor", "slurm"], "executor: 'slurm'; accepts "),
        (
            ["show", "lan", "--where", "tpc=reno"],
            "--where: 'tpc' is not a column; did you mean 'tcp'? accepts point, tcp, ",
        ),
        (["show", "lan", "--where", "reno"], "--where: 'reno'; accepts COLUMN=VALUE, also with !=, <, <=, > and >=, "),
        (["show", "lan", "--where", "tcp>reno"], "--where: 'tcp>reno' compares text by size; accepts tcp= and tcp!="),
        (["show", "lan", "--where", "seed>7"], "--where: no row has seed > '7'"),
        (["export", "lan"], "--output: missing; needs a file that ends in .csv, .parquet, .arrow, .feather, .json"),
        (
            ["export", "lan", "-o", "runs.xls"],
            "--output: runs.xls; needs a file that ends in .csv, .parquet, .arrow, .feather, .json",
        ),
    ],
)
def test_bad_input_is_rejected_in_one_line(url: str, arguments: list[str], error: str) -> None:
    found = refusal("study", *arguments, "--store", url).replace(url.removeprefix("sqlite:///"), "STORE")
    assert found.startswith(error)
    assert "\n" not in found
