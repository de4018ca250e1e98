"""Tests the BBR draft's suite: phases seen in packets are those that the sender reports; a command runs one case."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from longpipe import Result, Scenario, simulate, stacks
from longpipe.cli import app
from longpipe_evidence.suites import bbr_phases
from longpipe_evidence.suites.bbr_draft import NOQ, PROBE_ROUNDS, STARTUP_ROUNDS, SUITE

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")
ROUND_TRIP_S = 0.04


@cache
def run() -> Result:
    """Runs the first part with longpipe's BBRv3 and a trace of its states."""
    base = {**SUITE.only(["1-10"])[0].base, "traces": {"delay": True, "control": True}}
    return simulate(Scenario.model_validate({"defaults": "1996", **base}))


def stages(result: Result) -> list[tuple[float, str]]:
    """Returns the states that the sender entered, each with its time."""
    rows = result.traces["control"]
    changed = rows[rows.stage.ne(rows.stage.shift())]
    return [(float(at), str(stage)) for at, stage in zip(changed.time_s, changed.stage, strict=True)]


def entered(result: Result, stage: str) -> list[float]:
    return [at for at, found in stages(result) if found == stage]


def test_drain_begins_when_the_sender_enters_it() -> None:
    result = run()
    _, begin, lowest = bbr_phases._drain(bbr_phases._observed(result))
    (drain_s,) = entered(result, "drain")
    # Rates are averages over round trips, and most of such a round trip must lie in Drain.
    assert drain_s < begin < drain_s + 2 * ROUND_TRIP_S
    assert lowest == pytest.approx(0.5, abs=0.05)
    assert 0 < bbr_phases.startup_rounds(result) < STARTUP_ROUNDS


def test_drawn_probes_equal_those_of_the_sender() -> None:
    result = run()
    found = bbr_phases._probes(bbr_phases._observed(result))
    ups = entered(result, "probe-up")
    assert len(found) == len(ups) == bbr_phases.probes(result)
    for (begin, end), up in zip(found, ups, strict=True):
        assert up - ROUND_TRIP_S < begin < up + 4 * ROUND_TRIP_S
        assert end < up + PROBE_ROUNDS * ROUND_TRIP_S


def test_drawn_probe_rtts_equal_those_of_the_sender() -> None:
    result = run()
    found = bbr_phases._probe_rtts(bbr_phases._observed(result))
    for end, begin in zip(found, entered(result, "probe-rtt"), strict=True):
        assert begin < end < begin + 0.25
    assert bbr_phases.first_probe_rtt_s(result) == found[0]
    assert bbr_phases.probe_rtt_rate(result) == pytest.approx(0.5, abs=0.15)


def test_other_controls_have_no_phases_of_bbr() -> None:
    base = Scenario.model_validate(SUITE.only(["1-10"])[0].base)
    result = simulate(base.with_(**{"tcp.congestion": "cubic", "switch.buffer": "unlimited"}))
    assert np.isnan(bbr_phases.drain_rounds(result))
    assert np.isnan(bbr_phases.first_probe_rtt_s(result))


@needs_stacks
def test_command_validates_one_case(tmp_path: Path) -> None:
    command = ["suite", "bbr-draft", "14", "--seeds", "2", "--no-store", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "bbr3: holds" in result.output
    assert "noq-bbr3: holds" in result.output
    page = (tmp_path / "report.html").read_text()
    assert "Not observable" in page
    assert "inflight_longterm" in page


@needs_stacks
def test_packets_show_the_phases_of_noq() -> None:
    result = simulate(Scenario.model_validate(SUITE.only(["1-10"])[0].base).with_(traffic=NOQ))
    assert bbr_phases.drain_rate(result) == pytest.approx(0.5, abs=0.15)
    assert bbr_phases.probes(result) >= 2
