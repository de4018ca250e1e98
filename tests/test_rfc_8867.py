"""The suite of RFC 8867: its paths, its margins, and one case from the command line."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from longpipe import stacks
from longpipe.cli import app
from longpipe.units import RATE, TIME
from longpipe_evidence.suites import SUITES
from longpipe_evidence.suites.rfc_8867 import SUITE

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")
# Times [s] and capacities [Mbit/s] of the RFC's tables, as in Cisco's rmcat-wired-test-suite.cc (ns3-rmcat).
FORWARD = {
    "5.1": {0: 1.0, 40: 2.5, 60: 0.6, 80: 1.0},
    "5.2": {0: 4.0, 25: 2.0, 50: 3.5, 75: 1.0, 100: 2.0},
    "5.3": {0: 2.0, 20: 1.0, 40: 0.5, 60: 2.0},
}
BACKWARD = {"5.3": {0: 2.0, 35: 0.8, 70: 2.0}}
CONSTANT = {"5.4": 3.5, "5.5": 4.0, "5.6": 2.0}
STARTS = {"5.4": [0, 20, 40], "5.5": [0, 10, 20, 30, 40], "5.6": [0, 5]}


def network(case: str) -> dict[str, Any]:
    return dict(SUITE.only([case])[0].base["network"])


def steps(path: dict[str, Any]) -> dict[int, float]:
    return {TIME.parse(at) // 10**12: RATE.parse(rate) / 1e6 for at, rate in path["rate"]}


@pytest.mark.parametrize("case", FORWARD)
def test_capacities_are_those_of_the_tables(case: str) -> None:
    assert steps(network(case)["path"]) == FORWARD[case]
    if case in BACKWARD:
        assert steps(network(case)["return_path"]) == BACKWARD[case]


@pytest.mark.parametrize("case", CONSTANT)
def test_flows_start_at_times_of_the_timelines(case: str) -> None:
    of = network(case)
    assert RATE.parse(of["trunk_rate"]) / 1e6 == CONSTANT[case]
    starts = [TIME.parse(group.get("start", {"at": "0 s"})["at"]) // 10**12 for group in of["group"]]
    assert starts == STARTS[case]


@pytest.mark.parametrize("case", ["5.1", "5.2", "5.3", "5.4", "5.6"])
def test_one_way_delays_are_50_ms(case: str) -> None:
    of = network(case)
    assert sum(TIME.parse(of[f"{part}_delay"]) for part in ("access", "trunk", "exit")) == 50 * 10**9


def test_one_way_delays_of_the_rtt_case_equal_its_table() -> None:
    of = network("5.5")
    rest = sum(TIME.parse(of[f"{part}_delay"]) for part in ("trunk", "exit"))
    delays = [(TIME.parse(group["access_delay"]) + rest) // 10**9 for group in of["group"]]
    assert delays == [10, 25, 50, 100, 150]


def test_a_margin_of_convergence_uses_the_capacity_of_its_phase() -> None:
    (part,) = SUITE.only(["5.1"])
    phases = list(part.factors["phase"])
    assert phases[1:3] == ["50-60 s, 2.5 Mbit/s", "70-80 s, 0.6 Mbit/s"]
    assert part.factors["phase"][phases[1]] == {"warm_up": "50 s", "duration": "60 s"}
    rows = pd.DataFrame(
        {"media": [1.216e6, 0.54e6], "p95": [0.05, 0.3]},
        index=pd.MultiIndex.from_tuples([(phases[1], 1), (phases[2], 1)], names=["phase", "seed"]),
    )
    # At 2.5 Mbit/s the media's highest rate, 1.52 Mbit/s, is the limit.
    assert list(part.criteria[0].margin(rows, rows)) == pytest.approx([0.0, 0.1])
    assert list(part.criteria[1].margin(rows, rows)) == pytest.approx([0.05, -0.2])


def test_a_flow_without_goodput_fails_the_margin_of_fairness() -> None:
    (part,) = SUITE.only(["5.5"])
    rates = {f"flow_{ms}_ms": [0.6e6, 0.9e6] for ms in (25, 50, 100, 150)}
    rows = pd.DataFrame({"flow_10_ms": [0.2e6, 0.0], **rates})
    # A factor of 3 is the bound.
    assert list(part.criteria[0].margin(rows, rows)) == pytest.approx([0.0, -1.0])


def test_every_case_has_a_condition() -> None:
    parts = SUITES["rfc-8867"].parts
    assert [part.id for part in parts] == ["5.1", "5.2", "5.3", "5.4", "5.5", "5.6"]
    assert all(part.criteria for part in parts)


@needs_stacks
def test_one_command_judges_a_case(tmp_path: Path) -> None:
    arguments = ["suite", "rfc-8867", "5.6", "--seeds", "2", "--no-store", "--workers", "1", "-o", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exception is None, done.output
    assert "Proposed: The media keep at least their lowest rate" in done.output
    page = (tmp_path / "report.html").read_text()
    assert "the margins are proposed here" in page
    # There is a figure over time for each queue, and its text says what it shows.
    assert page.count("<svg") == 2
    assert "Over time, 1000 ms" in page
    assert "Up: rate [Mbit/s]; queue [ms]; lost packets. Legend: tcp; media" in page
    runs = pd.read_csv(tmp_path / "part-5.6.csv")
    # A larger queue is filled by TCP.
    p95 = runs.groupby("queue").p95.mean()
    assert p95["1000 ms"] > p95["300 ms"] > 0.1
