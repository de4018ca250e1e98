"""Regression tests of senders: plans, baselines, verdicts, and the commands of `longpipe ci`."""

import json
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

from longpipe import Scenario, ScenarioError
from longpipe.ci import baseline
from longpipe.ci.files import CHANGEABLE
from longpipe.ci.measured import MEASURES, SenderRun
from longpipe.ci.plan import STANDING, RegressionPlan, size_bytes, subject_flows, with_sender
from longpipe.ci.runs import runs_of
from longpipe.ci.verdicts import Verdict, compare
from longpipe.cli import app
from longpipe.fairness.controls import Sender
from longpipe.store import Store
from longpipe.study import Runner
from thorough import THOROUGH

# A plan of two standing scenarios with short runs.
QUICK = """
sender = "cubic"
seeds = 3
standing = ["loss", "incast"]
"""


def command(*words: str) -> Any:  # noqa: ANN401 - Click's Result
    return CliRunner().invoke(app, ["ci", *words])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("longpipe.toml").write_text(QUICK)
    return tmp_path


@pytest.mark.parametrize("name", STANDING)
def test_standing_scenario_has_a_finite_transfer(name: str, folder: Path) -> None:
    plan = _plan_of(name)
    assert size_bytes(plan.scenarios[name]) is not None


def _plan_of(*names: str) -> RegressionPlan:
    file = Path("standing.toml")
    file.write_text(f"sender = 'cubic'\nstanding = {json.dumps(names)}\n")
    return RegressionPlan.read(file)


@pytest.mark.parametrize("name", STANDING)
def test_transfers_of_linux_complete_in_each_standing_scenario(name: str, folder: Path) -> None:
    plan = _plan_of(name)
    runs = runs_of(
        RegressionPlan("cubic", plan.scenarios, plan.baseline, seeds=2), Sender.parse("cubic"), Runner(Store())
    )
    assert all(0 < run.values["time"] < 30 for run in runs[name])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seeds = 3", "longpipe.toml: sender: missing; needs a sender, such as stack:quinn-cubic"),
        ("sender = 3", "longpipe.toml: sender: 3; needs text"),
        ("sender = 'cubic'\nseed = 3", "longpipe.toml: seed: unknown field; did you mean 'seeds'?"),
        ("sender = 'cubic'\nseeds = 1", "longpipe.toml: seeds: 1; needs a whole number from 2 to 1000"),
        ("sender = 'cubic'\nmargin = 5", "longpipe.toml: margin: 5; needs a fraction between 0 and 1, such as 0.1"),
        ("sender = 'cubic'\nstanding = ['gio']", "longpipe.toml: standing: 'gio'; did you mean 'geo'?"),
        ("sender = 'cubic'\nstanding = []", "longpipe.toml: standing: []; needs a scenario, there or in scenarios"),
        (
            "sender = 'cubic'\n[scenarios]\ngeo = 'x.toml'",
            "longpipe.toml: scenarios.geo: is the name of a standing scenario; needs another name",
        ),
        (
            "sender = 'cubic'\nstanding = []\n[scenarios]\nmine = 'mine.toml'",
            "mine.toml: network.group: no group named 'subject'; needs the flows of the tested sender",
        ),
    ],
)
def test_bad_plan_is_rejected_in_one_line(text: str, line: str, folder: Path) -> None:
    Path("longpipe.toml").write_text(text)
    Path("mine.toml").write_text('framing = "ip"\n')
    with pytest.raises(ScenarioError) as error:
        RegressionPlan.read(Path("longpipe.toml"))
    [problem] = error.value.problems
    assert problem.startswith(line.split("?")[0])


def test_stack_transfers_the_size_of_the_scenario(folder: Path) -> None:
    scenario = _plan_of("geo").scenarios["geo"]
    traffic = with_sender(scenario, Sender.parse("stack:quinn-bbr")).network.group[0].traffic  # type: ignore[union-attr,index]
    assert (traffic.stack, traffic.congestion, traffic.size) == ("quinn", "bbr", "5 MB")  # type: ignore[union-attr]


def test_group_whose_name_continues_that_of_the_subject_is_not_tested() -> None:
    groups = [{"name": "subject", "count": 2}, {"name": "subject3", "count": 1}]
    scenario = Scenario.model_validate(
        {"defaults": "1996", "framing": "ip", "network": {"kind": "dumbbell", "group": groups}}
    )
    assert subject_flows(scenario) == {"subject1", "subject2"}


def test_own_stack_is_named_by_file_name_and_control(folder: Path) -> None:
    assert Sender.parse("own-stack:mine.so").fields == {"traffic": {"kind": "own-stack", "file": "mine.so"}}
    assert Sender.parse("own-stack:a/b.so:quinn-bbr").fields == {
        "traffic": {"kind": "own-stack", "file": "a/b.so", "stack": "quinn", "settings": {"congestion": "bbr"}}
    }
    assert Sender.parse("own-stack:mine.py:mine-cubic").fields["traffic"]["command"] == ["python", "mine.py"]
    program = Sender.parse("own-stack:ends/quic-go:quic-go-reno").fields["traffic"]
    assert (program["command"], program["stack"]) == (["ends/quic-go"], "quic-go")
    assert program["settings"] == {"congestion": "reno"}
    Path("mine").touch()
    assert Sender.parse("own-stack:mine:mine").fields["traffic"]["command"] == ["./mine"]
    with pytest.raises(ScenarioError, match=r"^--new: 'own-stack:'; needs a shared object or a program"):
        Sender.parse("own-stack:", "--new")


def _runs(times: np.ndarray[Any, Any], deaths: int = 0) -> list[SenderRun]:
    values = [{measure.name: float(time) for measure in MEASURES} for time in times]
    return [
        SenderRun(value, ["subject: quinn 1 lost its connection"] * (deaths > at)) for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, Verdict.NOT_REGRESSED),
        (1.05, Verdict.NOT_REGRESSED),
        (1.5, Verdict.REGRESSED),
        (0.5, Verdict.IMPROVED),
    ],
)
def test_verdict_follows_the_interval_of_paired_differences(factor: float, verdict: Verdict) -> None:
    times = np.random.default_rng(1).normal(10, 3, 8)
    noise = np.random.default_rng(2).normal(0, 0.01, 8)
    compared = compare({"a": _runs(times)}, {"a": _runs(times.mean() * (factor - 1) + times + noise)}, 0.1)
    assert {row.verdict for row in compared} == {verdict}


def test_noise_is_inconclusive_and_failure_is_a_regression() -> None:
    random = np.random.default_rng(3)
    base, new = random.normal(10, 3, 8), random.normal(10, 3, 8)
    assert {row.verdict for row in compare({"a": _runs(base)}, {"a": _runs(new)}, 0.1)} == {Verdict.INCONCLUSIVE}
    died = compare({"a": _runs(base)}, {"a": _runs(base, deaths=1)}, 0.1)
    assert {row.verdict for row in died} == {Verdict.REGRESSED}
    assert {row.verdict for row in compare({"a": _runs(base, 1)}, {"a": _runs(base, 1)}, 0.1)} == {
        Verdict.NOT_REGRESSED
    }


@pytest.mark.parametrize("skewed", [False, True])
def test_unchanged_sender_is_reported_in_at_most_one_comparison_of_a_hundred(skewed: bool) -> None:
    random = np.random.default_rng(4)

    def draw() -> dict[str, list[SenderRun]]:
        times = random.lognormal(0, 1, (12, 8)) if skewed else random.normal(10, 3, (12, 8))
        return {str(place): _runs(row) for place, row in enumerate(times)}

    alarms = sum(any(row.verdict == Verdict.REGRESSED for row in compare(draw(), draw(), 0.001)) for _ in range(200))
    assert alarms <= 2


@pytest.mark.skipif(not THOROUGH, reason="two thousand runs: make validate")
def test_unchanged_linux_with_other_seeds_does_not_regress(folder: Path) -> None:
    plan = _plan_of(*STANDING)
    pool = runs_of(
        RegressionPlan("cubic", plan.scenarios, plan.baseline, seeds=160), Sender.parse("cubic"), Runner(Store())
    )
    random, alarms = np.random.default_rng(5), 0
    for _ in range(200):
        chosen = random.permutation(160)[:16]
        base, new = (
            {name: [runs[i] for i in part] for name, runs in pool.items()} for part in (chosen[:8], chosen[8:])
        )
        alarms += any(row.verdict == Verdict.REGRESSED for row in compare(base, new, plan.margin))
    assert alarms <= 2, f"{alarms} false alarms in 200 comparisons"


def test_only_a_changed_sender_regresses(folder: Path) -> None:
    done = command("run", "--no-store")
    assert done.exit_code != 0
    assert command("run", "--update", "--no-store").exit_code == 0
    same = command("run", "--no-store", "--junit", "a.xml", "--page", "a.html")
    assert (same.exit_code, "No measure has regressed." in same.output) == (0, True), same.output
    suite = ET.parse("a.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "0", "0")
    assert "not regressed" in Path("a.html").read_text()
    changed = command("run", "--no-store", "--new", "bbr", "--junit", "b.xml")
    assert str(changed.exception) == "regressed in 1 of 2 scenarios: incast"
    assert [case.get("name") for case in ET.parse("b.xml").iter("testcase") if case.find("failure") is not None] == [
        "retransmissions"
    ]


def test_baseline_of_another_plan_is_rejected_in_one_line(folder: Path) -> None:
    assert command("run", "--update", "--no-store").exit_code == 0
    plan = RegressionPlan.read(Path("longpipe.toml"))
    assert baseline.read(plan).keys() == {"loss", "incast"}
    for text, words in (
        (QUICK.replace("3", "4"), "3 seeds; the plan has 4; measure it again with"),
        (QUICK.replace('"incast"', '"geo"'), "scenarios.geo: new or changed since the baseline"),
    ):
        Path("longpipe.toml").write_text(text)
        with pytest.raises(ScenarioError, match=words):
            baseline.read(RegressionPlan.read(Path("longpipe.toml")))
    content = json.loads(plan.baseline.read_text())
    for change, words in (({"engine": "1"}, "of engine 1, this is engine"), ({"scenarios": 3}, "not a baseline of")):
        plan.baseline.write_text(json.dumps({**content, **change}))
        with pytest.raises(ScenarioError, match=words):
            baseline.read(plan)


def test_baseline_that_cannot_be_written_is_rejected_before_the_runs(folder: Path) -> None:
    Path("longpipe.toml").write_text(f"{QUICK}baseline = 'longpipe.toml/baseline.json'\n")
    done = command("run", "--update", "--no-store")
    assert str(done.exception).startswith("longpipe.toml: baseline: "), done.exception
    assert "regression test" not in done.output


def test_init_writes_a_plan_and_a_workflow_once(folder: Path) -> None:
    Path("longpipe.toml").unlink()
    assert command("init", "stack:quinn-bbr").exit_code == 0
    assert RegressionPlan.read(Path("longpipe.toml")).scenarios.keys() == set(STANDING)
    assert "longpipe ci run longpipe.toml" in Path(".github/workflows/longpipe.yml").read_text()
    again = command("init", "stack:quinn-bbr")
    assert "longpipe.toml exists" in str(again.exception)


@pytest.mark.parametrize(("stack", "crate"), CHANGEABLE.items())
def test_init_writes_a_crate_for_a_changed_stack(stack: str, crate: str, folder: Path) -> None:
    Path("longpipe.toml").unlink()
    assert command("init", "--stack", stack).exit_code == 0
    written = tomllib.loads(Path(f"longpipe-{stack}/Cargo.toml").read_text())
    (used,) = written["dependencies"].values()
    assert used["features"] == [stack]
    assert (Path(used["path"]) / "Cargo.toml").is_file()
    assert f'# {crate} = {{ path = "../{crate}" }}' in Path(f"longpipe-{stack}/Cargo.toml").read_text()
    sender = tomllib.loads(Path("longpipe.toml").read_text())["sender"]
    assert sender == f"own-stack:longpipe-{stack}/target/release/liblongpipe_{stack}.so:{stack}-cubic"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "SENDER: needs either a sender or --stack"),
        (("cubic", "--stack", "quinn"), "SENDER: needs either a sender or --stack"),
        (("cubic", "--clone", "."), "--clone: not without --stack"),
        (("--stack", "quin"), "--stack: 'quin'; did you mean 'quinn'?"),
        (("--stack", "quinn", "--clone", "."), "is no clone of longpipe; needs the folder of one"),
    ],
)
def test_init_refuses_other_stacks_and_clones(words: tuple[str, ...], line: str, folder: Path) -> None:
    assert line in str(command("init", *words).exception)
