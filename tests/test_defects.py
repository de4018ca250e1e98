"""A defect in the core is reported in one line, and does not affect other runs."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from longpipe import Scenario, _core, simulate
from longpipe.cli import main
from longpipe.design import Design, Factor
from longpipe.errors import RunError
from longpipe.executors import Failure
from longpipe.executors.base import run_job
from longpipe.study import Study, StudyError

SCENARIO = Scenario(defaults="1996", name="lan", duration="20 ms")
PANIC = "panic at crates/network/src/plan.rs:212: a route passes a switch"
MSS = Factor.over("tcp.mss", ["512 B", "1024 B"])
LINE = f"{PANIC}; a defect of longpipe, please report it with scenario {SCENARIO.digest()} and seed 3"


@pytest.fixture(autouse=True)
def _defect_at_seed_3(monkeypatch: pytest.MonkeyPatch) -> None:
    run = _core.run

    def fails(scenario_json: str, seed: int, *more: Any, **named: Any) -> dict[str, Any]:  # noqa: ANN401 - passed on
        if seed == 3:
            raise _core.DefectError(PANIC)
        return run(scenario_json, seed, *more, **named)

    monkeypatch.setattr(_core, "run", fails)


def test_a_defect_is_one_line_that_names_scenario_and_seed() -> None:
    with pytest.raises(RunError) as error:
        simulate(SCENARIO, 3)
    assert str(error.value) == LINE
    assert error.value.__suppress_context__


def test_a_worker_answers_with_the_line() -> None:
    assert run_job((SCENARIO, 3)) == Failure(LINE)


def test_the_other_runs_of_a_study_are_kept() -> None:
    with closing(Study(Design.full_factorial(SCENARIO, [MSS], replications=4))) as study, ThreadPoolExecutor(1) as pool:
        with pytest.raises(StudyError, match=r"^[^\n]*seed 3: .*\n[^\n]*seed 3: [^\n]*$"):
            study.run(pool)
        found = study.columns()
    assert [state == "failed" for state in found["state"]] == [seed == 3 for seed in found["seed"]]
    assert found["state"].count("finished") == 6
    assert LINE in found["message"]


def test_the_command_fails_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lan.toml"
    path.write_text(SCENARIO.to_toml())
    monkeypatch.setattr(sys, "argv", ["longpipe", "run", str(path), "--seed", "3", "--no-store"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {LINE}"
