"""`longpipe analyse` and `longpipe design`, from the shell."""

import json
import re
from importlib import resources
from pathlib import Path

import pandas as pd
import pytest

from commands import run, without_cpu_time
from longpipe import Design, Factor, Scenario, ScenarioError
from longpipe.cli import app
from longpipe.cli.design.factors import parse_factor
from longpipe.cli.design.means import means
from longpipe.cli.toolkit.naming import change
from longpipe.design.text import from_json, to_json

WWW_98 = str(resources.files("longpipe_evidence.papers.www_98") / "published.csv")
WAN = ["--factors", "tcp,buffer_bdp,policy", "--where", "network=wan"]


def refusal(*arguments: str | Path) -> str:
    """Returns the error with which a command rejects its arguments, in this process."""
    with pytest.raises(ScenarioError) as error:
        app([str(argument) for argument in arguments], standalone_mode=False)
    return str(error.value)


def test_bad_input_is_rejected_in_one_line_with_status_2() -> None:
    refused = run("analyse", WWW_98, "--response", "efficiency", "--factors", "tpc")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(
        "error: factors: 'tpc' is not a column; did you mean 'tcp'? accepts table, network"
    )
    assert refused.stderr.count("\n") == 1


def test_a_published_table_is_analyzed_in_80_columns() -> None:
    shown = run("analyse", WWW_98, "--response", "efficiency", *WAN, "--level", ".9")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert max(map(len, shown.stdout.splitlines())) <= 80
    # Tables 5 and 6 of ATM Forum/98-0876.
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["tcp:buffer_bdp", "0.0411", "8.99"] in [line[:3] for line in lines]
    assert ["newreno", "0.0939", "0.0055", "0.0832", "0.1046"] in lines
    assert "s_e 0.0156, 6 df" in shown.stdout


def test_means_of_two_points_end_with_paired_difference() -> None:
    base = Scenario.example("fiber").with_(duration="3 s")
    design = Design.full_factorial(base, [Factor.over("tcp.congestion", ["cubic", "bbr"], "cc")], replications=3)
    runs = pd.DataFrame({
        "point": [1, 1, 1, 2, 2, 2], "seed": ["1", "2", "3", "3", "2", "1"],
        "cc": ["cubic"] * 3 + ["bbr"] * 3, "efficiency": [0.5, 0.7, 0.9, 0.91, 0.71, 0.51], "fairness": 1.0,
    })  # fmt: skip
    table = means(design, runs, {1: "link", 2: "link"})
    assert [list(column.cells)[-1] for column in table.columns] == [
        "difference",
        "0.0100 ±0.0000",
        "0.0000 ±0.0000",
        "",
    ]
    independent = Design.full_factorial(base, design.factors, replications=3, common=False)
    assert means(independent, runs, {1: "link", 2: "link"}).row_count == 2


def test_standard_output_has_only_json() -> None:
    report = json.loads(run("analyse", WWW_98, "--response", "fairness", *WAN, "--json", "-").stdout)
    shares = {row["component"]: row["percent"] for row in report["variation"]}
    assert shares["buffer_bdp"] == pytest.approx(53.55, abs=0.006)
    assert shares["individual values"] is None
    assert (report["error_df"], report["level"], report["rows"], report["balanced"]) == (6, 0.9, 24, True)
    assert {row["assumption"] for row in report["checks"]} == {"normality", "equal variance", "independence"}


def test_analyse_writes_tables_and_figures_to_given_folders(tmp_path: Path) -> None:
    options = ["--compare", "tcp", "--compare", "buffer_bdp,policy", "--robust"]
    done = run(
        "analyse", WWW_98, "--response", "efficiency", *WAN, *options, "--csv", tmp_path / "t", "--figures", tmp_path / "f"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [f"Tables: {tmp_path / 't'}", f"Figures: {tmp_path / 'f'}"]
    names = {"variation", "effects", "checks", "comparisons", "bootstrap", "ranks", "residuals"}
    assert {path.stem for path in (tmp_path / "t").iterdir()} == names
    assert len(pd.read_csv(tmp_path / "t" / "comparisons.csv")) == 6 + 15
    figures = {"main-effects", "variation", "residuals", "interactions"}
    assert {path.name for path in (tmp_path / "f").iterdir()} == {
        f"{name}.{k}" for name in figures for k in ("png", "svg")
    }


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["--response", "eficiency", "--factors", "tcp"],
            "response: 'eficiency' is not a column; did you mean 'efficiency'? "
            "accepts table, network, policy, tcp, buffer_bdp, buffer_cells, efficiency, fairness",
        ),
        (
            ["--response", "efficiency", "--factors", "tcp,,policy"],
            "--factors: 'tcp,,policy'; accepts names separated by commas, as in tcp,buffer",
        ),
        (
            ["--response", "efficiency", "--factors", "tcp,policy,buffer_bdp", "--where", "network=wan", "--order", "3"],
            "order: 3 leaves no degrees of freedom for the error (24 rows, as many parameters); needs a lower order, "
            "replications, or a saturated model, without tests and intervals",
        ),
        (
            ["--response", "efficiency", "--factors", "tcp", "--where", "network=van"],
            "--where: no row has network = 'van'; did you mean 'wan'? accepts wan, meo, geo",
        ),
        (
            ["--response", "efficiency", "--factors", "tcp", "--level", "90"],
            "level: 90; needs more than 0 and less than 1, as in 0.9",
        ),
        (["--response", "efficiency", "--factors", "tcp", "--csv", "/dev/null/x"],
         "--csv: /dev/null/x cannot be written (not a directory); needs a writable directory"),
    ],
)  # fmt: skip
def test_invalid_analysis_options_are_rejected(arguments: list[str], error: str) -> None:
    assert refusal("analyse", WWW_98, *arguments) == error


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", ": empty; needs a CSV file with a header"),
        (b"a,b\n2,3,4,5\n", ":2: 4 cells; needs 2: a, b"),
        (b'a,b\n1,"2\n3,4\n', ":3: not CSV, unexpected end of data; needs a CSV file with a header"),
        (b"a,b,a\n1,2,3\n", ":1: column 'a' occurs twice; needs each once"),
        (b"a,b\n\0,1\n", ":2: not text (it has a NUL character); needs a CSV file with a header"),
    ],
)
def test_a_file_that_is_not_csv_is_rejected(tmp_path: Path, content: bytes, error: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert refusal("analyse", path, "--response", "a", "--factors", "b") == f"{path}{error}"


def test_a_missing_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    expected = f"{path}: cannot be read, no such file or directory; needs a CSV file with a header"
    assert refusal("analyse", path, "--response", "a", "--factors", "b") == expected


@pytest.fixture
def lan(tmp_path: Path) -> Path:
    path = tmp_path / "lan.toml"
    path.write_text(
        'schema = 1\nduration = "20 ms"\nstart = {kind = "random", over = "1 ms"}\nswitch.ties = "random"\n'
    )
    return path


FACTORS = ["--factor", "tcp:tcp.recovery=vanilla,reno", "--factor", "buffer:switch.buffer=100 cells,1000 cells"]


def test_a_design_is_planned_without_running(lan: Path, tmp_path: Path) -> None:
    shown = run("design", lan, *FACTORS, "--replications", "3", "--csv", tmp_path / "plan.csv")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "4 points, 12 runs, 0.24 s of simulated time" in shown.stdout
    plan = pd.read_csv(tmp_path / "plan.csv")
    assert list(plan.columns[:5]) == ["point", "tcp", "buffer", "replication", "seed"]
    assert list(plan["seed"]) == [1, 2, 3] * 4


def test_a_design_runs_resumes_and_names_its_analysis(lan: Path, tmp_path: Path) -> None:
    command: list[str | Path] = ["design", lan, *FACTORS, "--replications", "3", "--run", "lan"]
    command += ["--store", tmp_path / "campaign.db", "--csv", tmp_path / "runs.csv"]
    first, again = run(*command), run(*command)
    assert first.returncode == 0, first.stderr
    assert without_cpu_time(first.stdout) == without_cpu_time(again.stdout)
    # Paths are not wrapped.
    assert max(len(line) for line in first.stdout.splitlines()[:-2] if str(tmp_path) not in line) <= 80
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert len(runs) == 12
    analysis = run(*first.stdout.splitlines()[-1].split()[1:])
    assert analysis.returncode == 0, analysis.stderr
    assert "seed as blocks" in analysis.stdout


def test_replications_until_a_margin(lan: Path, tmp_path: Path) -> None:
    options: list[str | Path] = ["--until", "efficiency ±50 %", "--most", "6", "--run", "lan"]
    done = run("design", lan, *FACTORS, *options, "--store", tmp_path / "a.db", "--csv", tmp_path / "runs.csv")
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "runs.csv").groupby("point").size().between(5, 6).all()
    plan = " ".join(done.stdout.split())
    assert "4 points, 24 runs, " in plan
    assert "At least these 24 runs (6 per point), at most 24 (6 per point), until efficiency ±50 %." in plan
    again = run("design", lan, *FACTORS, "--until", "cells_lost ±100000", *options[2:], "--store", tmp_path / "a.db")
    assert again.returncode == 0, again.stderr
    assert re.search(r"^tcp +buffer +cells lost +efficiency", again.stdout, re.MULTILINE)
    wide = re.search(
        r"efficiency ±50 %: (\d) of 4 points need more than the 6 replications of --most; about (\d+) "
        r"suffice at tcp=\w+, buffer=[^:]+: "
        r"repeat with --most (\d+), which reuses these runs, or a larger margin",
        plan,
    )
    assert wide is not None
    assert int(wide[2]) == int(wide[3]) > 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["efficiency ±1 %", "--most", "3"], "most: 3; needs at least 5"),
        (["efficiency ±0"], "until: '±0'; accepts ±0.01"),
        (["throughput ±1 ms"], "until: '1 ms' combines bit/s and s; needs terms with the same unit"),
        (["throughputs ±1 %"], "metric: 'throughputs'; did you mean 'throughput_bps'?"),
    ],
)
def test_an_invalid_margin_is_rejected_before_the_plan_is_printed(
    options: list[str], message: str, lan: Path, tmp_path: Path
) -> None:
    done = run("design", lan, *FACTORS, "--until", *options, "--run", "lan", "--store", tmp_path / "a.db")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {message}")
    assert not (tmp_path / "a.db").exists()


def test_margin_may_have_a_unit(lan: Path, tmp_path: Path) -> None:
    options = [
        "--measure",
        "d=port:switch1->switch2.delay",
        "--most",
        "5",
        "--run",
        "lan",
        "--store",
        tmp_path / "a.db",
    ]
    for margin in ("±900 ms", "±0.9"):
        done = run("design", lan, *FACTORS, *options, "--until", f"d {margin}")
        assert done.returncode == 0, done.stderr
        assert "until d ±900 ms." in " ".join(done.stdout.split())
        assert "\nd ±900 ms: " in done.stdout


def test_fractional_design_lists_its_aliases(lan: Path) -> None:
    policy = ["--factor", 'policy:switch.policy="tail-drop",{kind = "epd", threshold = 0.5}']
    shown = run("design", lan, *FACTORS, *policy, "--generator", "policy=tcp*buffer")
    assert shown.returncode == 0, shown.stderr
    assert "resolution 3" in shown.stdout
    assert "  tcp = buffer:policy" in shown.stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["--factor", "tcp.recovery"],
            "--factor: 'tcp.recovery'; accepts FIELD=LEVEL,LEVEL as in tcp.recovery=vanilla,reno",
        ),
        (
            [*FACTORS, "--until", "efficiency", "--run", "one"],
            "until: 'efficiency'; accepts METRIC ±MARGIN, as in 'efficiency ±0.01'",
        ),
        (
            ["--factor", "tcp.mss=0 B,512 B"],
            "tcp.mss: 0 B; needs 1 B to 65000 B",
        ),
        ([*FACTORS, "--until", "efficiency=±0.01"], "--until: needs --run STUDY"),
        (
            [*FACTORS, "--one-at-a-time", "--generator", "tcp=buffer"],
            "--one-at-a-time: not with --generator or --confounded; needs one kind of design",
        ),
    ],
)
def test_bad_designs_are_rejected(lan: Path, arguments: list[str], error: str) -> None:
    assert refusal("design", lan, *arguments) == error


def test_levels_may_be_tables_with_bare_words() -> None:
    factor = parse_factor("queue:switch.policy=tail-drop, {kind = 'red', min = 30, max = 90} ,codel")
    assert [changes["switch.policy"] for changes in factor.levels.values()] == [
        "tail-drop",
        {"kind": "red", "min": 30, "max": 90},
        "codel",
    ]
    assert list(parse_factor("tcp.recovery=vanilla,reno").levels) == ["vanilla", "reno"]
    # TOML does not accept a number that begins with a dot.
    assert list(parse_factor("tcp.congestion.beta=.5,0.9,1").levels) == [0.5, 0.9, 1]
    assert list(parse_factor("switch.buffer=.5 BDP,007").levels) == [".5 BDP", "007"]
    table = "{kind = 'bernoulli', probability = .01}"
    (lossy,) = parse_factor(f"network.trunk_loss={table}").levels.values()
    assert lossy == {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.01}}
    assert change(f"network.trunk_loss={table}")[1] == {"kind": "bernoulli", "probability": 0.01}
    for text in ("{kind = 'red', min}", "[1, 2"):
        with pytest.raises(
            ScenarioError, match=r"^--set switch.policy: .*not TOML, .*; needs a table or a list, as in"
        ):
            change(f"switch.policy={text}")
    assert [change(f"x.y={text}")[1] for text in (".5", "-.25", "5.", "1 ms")] == [0.5, -0.25, 5.0, "1 ms"]


def test_levels_may_be_named_tables_or_none() -> None:
    text = """pep:network.pep=none,split={at="switch1",buffer="4 MB"},large={buffer = "8 MB", tcp = {mss = "536 B"}}"""
    factor = parse_factor(text)
    assert factor.name == "pep"
    assert {label: changes["network.pep"] for label, changes in factor.levels.items()} == {
        "none": None,
        "split": {"at": "switch1", "buffer": "4 MB"},
        "large": {"buffer": "8 MB", "tcp": {"mss": "536 B"}},
    }
    # A kind that is itself named `none` is kept.
    kinds = parse_factor("network.trunk_loss=none,rare={kind = 'bernoulli', probability = 0.001}")
    assert kinds.levels["none"] == {"network.trunk_loss": "none"}
    unnamed = parse_factor('network.pep=none,{at="switch1",buffer="8 MB"}')
    assert unnamed.levels["at=switch1 buffer=8 MB"] == {"network.pep": {"at": "switch1", "buffer": "8 MB"}}
    losses = parse_factor(
        "network.trunk_loss=none,a={kind='bernoulli',probability=0.1},{kind='bernoulli',probability=0.2},"
        "{kind='bernoulli',probability=0.3}"
    )
    assert list(losses.levels) == ["none", "a", "bernoulli probability=0.2", "bernoulli probability=0.3"]
    with pytest.raises(ScenarioError, match=r"^network.pep: level 'a' occurs twice; needs unique labels$"):
        parse_factor("network.pep=none,a={buffer='8 MB'},a={buffer='9 MB'}")
    proxied = Scenario.example("geo-pep")
    design = from_json(to_json(Design.full_factorial(proxied, [factor])))
    assert [scenario.network.pep is None for scenario in design.scenarios] == [True, False, False]  # type: ignore[union-attr]


def test_a_design_may_have_a_factor_with_one_level(lan: Path, tmp_path: Path) -> None:
    done = run("design", lan, "--factor", "tcp.recovery=reno", "--run", "one", "--store", tmp_path / "a.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tcp.recovery: reno\n1 point, 1 run, ")


@pytest.mark.parametrize(("warm_up", "exceeds"), [("0 s", False), ("1 s", False), ("5.05 s", True)])
def test_throughput_above_the_rate_after_warm_up_is_explained(warm_up: str, exceeds: bool, tmp_path: Path) -> None:
    # The retransmission of the segment that is lost before 5.05 s arrives after it, and with it half a window.
    network = {
        "kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "50 ms",
        "trunk_loss": {"kind": "at-times", "instants": ["4.9 s"]},
    }  # fmt: skip
    tcp = {"recovery": "sack", "receiver_window": "auto"}
    scenario = Scenario(
        defaults="1996", framing="ip", duration="5.15 s", network=network, switch={"buffer": "1 BDP"}, tcp=tcp
    )
    (tmp_path / "loss.toml").write_text(scenario.with_(warm_up=warm_up).to_toml())
    words = ("design", "loss.toml", "--measure", "bulk=throughput", "--run", "loss", "--store", "runs.db")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("exceeds the rate of the slowest links" in " ".join(done.stdout.split())) is exceeds


def test_a_factor_may_complete_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "vbr.toml"
    file.write_text(
        'schema = 1\nduration = "20 ms"\nnetwork = {kind = "dumbbell", sources = 1, vbr = {period = "3 ms"}}'
    )
    assert "switch.scheduler: fifo has no queue for VBR" in run("run", file).stderr
    words = ("design", file, "--factor", "switch.scheduler=priority,{kind='guaranteed-rate', share=0.1}")
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 points" in done.stdout
    # Without the factor, the error is that of the file.
    refused = run("design", file, "--factor", "switch.buffer=1000 cells,2000 cells")
    assert "switch.scheduler: fifo has no queue for VBR" in refused.stderr
