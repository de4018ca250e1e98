"""SCReAMv2 sends at the rate that its reference window permits, and shares DualPI2 with Prague."""

import pytest

import scream_witness
from longpipe import Scenario, simulate
from longpipe_evidence.cli.validate.scream import FILE
from longpipe_evidence.validate.scream import Cell, compare, rate_mbps, scenario


def test_the_witness_table_is_that_of_the_independent_program() -> None:
    lines = scream_witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [scream_witness.HEADER, *scream_witness.rows()]


def alone(**changes: object) -> Scenario:
    return scenario(25, 0).with_(**{"network.trunk_rate": "10 Mbit/s", **changes})


def test_the_encoder_limits_the_rate_and_the_queue_stays_short() -> None:
    congestion = {"kind": "scream", "max_rate": "2 Mbit/s"}
    result = simulate(alone(**{"network.group.0.tcp.congestion": congestion}), 1)
    assert result.flows["throughput_bps"].iloc[0] == pytest.approx(2e6, rel=0.02)


def test_without_marks_the_queueing_delay_stays_below_the_target() -> None:
    groups = [{"name": "media", "tcp": {"congestion": "scream"}}]
    changes = {"network.group": groups, "switch": {"buffer": "1 MB", "policy": "tail-drop"}, "traces.delay": True}
    result = simulate(alone(**changes), 1)
    delays = result.traces["delay"]
    at_trunk = delays["port"] == "switch1->switch2"
    assert delays["delay_s"][at_trunk].quantile(0.95) < 0.06
    assert result.flows["throughput_bps"].iloc[0] > 0.6 * 10e6
    assert result.flows["retransmitted_segments"].iloc[0] == 0


def test_a_rate_is_close_within_a_tenth_of_the_link() -> None:
    assert Cell(25, 1, 60, 50).is_close
    assert not Cell(25, 1, 60, 49.9).is_close


def test_the_rate_falls_with_the_number_of_prague_flows() -> None:
    rates = [rate_mbps(scenario(5, flows), 1) for flows in (0, 2)]
    assert rates[0] > 1.3 * rates[1] > 0


@pytest.mark.parametrize("rules", ["2024-10", "2025-03"])
def test_earlier_texts_share_equally_with_prague(rules: str) -> None:
    assert 35 < rate_mbps(scenario(25, 1, rules), 1) < 60


def test_the_record_of_28_october_has_four_paths() -> None:
    rows = FILE.with_name("published-2024-10-28.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 4 * 5


def test_the_published_cells_are_those_of_five_paths(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("scream") / "none.csv"
    header, *rows = FILE.read_text(encoding="utf-8").splitlines()
    assert len(rows) == 25
    file.write_text(header + "\n", encoding="utf-8")
    assert list(compare(file, 1)) == []
