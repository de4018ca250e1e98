"""One run on several threads: the same results, or the reason why it uses one thread."""

from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from longpipe import Scenario, simulate
from longpipe.cli import app
from longpipe.errors import ScenarioError
from longpipe.result import Result

PIPE: Final[dict[str, Any]] = {
    "name": "pipe",
    "framing": "ip",
    "duration": "3 s",
    "network": {"kind": "dumbbell", "sources": 6, "trunk_rate": "50 Mbit/s", "trunk_delay": "20 ms"},
    "switch": {"buffer": "1 BDP"},
    "tcp": {"profile": "linux-6", "congestion": "cubic"},
}


def _scenario(**changes: object) -> Scenario:
    return Scenario(**PIPE).with_(**changes)


def _numbers(result: Result) -> tuple[Any, ...]:
    tables = [result.flows, result.ports, result.reductions]
    return result.state_hash, *(table.to_csv() for table in tables)


@pytest.mark.parametrize("control", ["cubic", "bbr", "linux-reno"])
def test_results_are_equal_on_any_number_of_threads(control: str) -> None:
    scenario = _scenario(**{"tcp.congestion": control})
    alone = simulate(scenario)
    assert alone.one_thread is None
    for threads in (2, 3, 4):
        result = simulate(scenario, threads=threads)
        assert result.one_thread is None
        assert _numbers(result) == _numbers(alone)


def test_auto_uses_one_thread_for_short_windows() -> None:
    result, alone = simulate(_scenario(), threads="auto"), simulate(_scenario())
    assert (result.events, result.one_thread) == (alone.events, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"traces.cwnd": True}, "traces are in the order of events"),
        ({"framing": "aal5", "switch.buffer": "1000 cells"}, "it carries cells"),
        ({"engine": "reference"}, "the reference engine processes events one by one"),
        ({"warm_up": "1 s"}, "its warm-up is subtracted"),
        (
            {f"network.{part}_delay": "0 s" for part in ("trunk", "access", "exit")} | {"switch.buffer": "100 packets"},
            "links without delay form a cycle",
        ),
    ],
)
def test_runs_on_one_thread_have_a_reason(changes: dict[str, Any], reason: str) -> None:
    assert simulate(_scenario(**changes), threads=2).one_thread == reason


@pytest.mark.parametrize("threads", [0, -1, 257, True, 1.5, "all"])
def test_other_numbers_of_threads_are_refused(threads: object) -> None:
    with pytest.raises(ScenarioError, match=r"^threads: .*; needs a number from 1 to 256, or auto$"):
        simulate(_scenario(), threads=threads)  # type: ignore[arg-type]


def test_the_option_warns_of_one_thread(tmp_path: Path) -> None:
    file = tmp_path / "pipe.toml"
    file.write_text(_scenario(engine="reference").to_toml())
    ran = CliRunner().invoke(app, ["run", str(file), "--no-store", "--threads", "2"])
    assert (ran.exit_code, ran.stderr.count("warning: --threads: the run used one thread: the reference engine")) == (
        0,
        1,
    )
    refused = CliRunner().invoke(app, ["run", str(file), "--no-store", "--threads", "many"])
    assert refused.exit_code != 0
    assert "--threads: 'many'; needs a number from 1 to 256, or auto" in refused.output + str(refused.exception)
