import pandas as pd
import pytest

from longpipe import Result, Scenario, simulate

CELL_S = 424 / 155.52e6


def beside_vbr(scheduler: object, **changes: object) -> Result:
    fields = {"network.vbr": {"period": "50 ms"}, "switch.scheduler": scheduler, "duration": "1 s", **changes}
    return simulate(Scenario(defaults="1996").with_(**fields))


def at_trunk(result: Result, name: str) -> pd.Series:
    classes = result.classes
    return classes[(classes["port"] == "switch1->switch2") & (classes["class"] == name)].iloc[0]


@pytest.mark.parametrize("period_ms", [300, 100, 50])
def test_vbr_is_on_for_the_period_and_off_for_the_period(period_ms: int) -> None:
    changes = {"network.vbr": {"period": f"{period_ms} ms"}, "duration": f"{4 * period_ms} ms"}
    vbr = beside_vbr("priority", **changes).vbr.iloc[0]
    assert vbr["cells_sent"] == pytest.approx(2 * period_ms / 1000 / CELL_S, abs=2)


def test_duty_and_phase_determine_when_vbr_is_on() -> None:
    vbr = {"period": "10 ms", "duty": 0.25, "phase": "500 ms"}
    run = beside_vbr("priority", **{"network.vbr": vbr})
    assert run.vbr["cells_sent"].iloc[0] == pytest.approx(13 * 0.010 / CELL_S, abs=13)


def test_exponential_vbr_is_on_for_its_duty_and_depends_on_the_seed() -> None:
    vbr = {"period": "2 ms", "duty": 0.25, "times": "exponential"}
    fields = {"network.sources": 1, "network.vbr": vbr, "switch.scheduler": "priority", "duration": "4 s"}
    scenario = Scenario(defaults="1996").with_(**fields)
    sent = [int(simulate(scenario, seed).vbr["cells_sent"].iloc[0]) for seed in (1, 2)]
    assert sent[0] != sent[1]
    # The standard deviation of the share of time on is sqrt(2 * 0.25 * 0.75 * 1.5 ms / 4 s) = 0.012; the first cell of
    # a burst adds half a cell time.
    assert sent == pytest.approx([0.25 * 4 / CELL_S] * 2, rel=0.15)


def test_strict_priority_delays_vbr_by_no_more_than_a_cell() -> None:
    vbr = beside_vbr("priority").vbr.iloc[0]
    assert vbr["max_delay_s"] - vbr["min_delay_s"] <= CELL_S + 1e-12
    assert vbr["min_delay_s"] == pytest.approx(15e-6 + 3 * CELL_S, abs=CELL_S)
    assert vbr["cells_lost"] == 0


def test_half_of_the_link_for_ubr_delays_vbr_by_up_to_half_of_its_burst() -> None:
    half = beside_vbr({"kind": "guaranteed-rate", "share": 0.5}, duration="2 s")
    assert 0.040 < half.vbr["max_delay_s"].iloc[0] <= 0.0502
    assert half.vbr["cells_lost"].iloc[0] == 0
    assert at_trunk(half, "vbr")["peak_queue_cells"] == pytest.approx(0.025 / CELL_S, rel=0.2)


def test_classes_add_up_to_their_port() -> None:
    run = beside_vbr({"kind": "guaranteed-rate", "share": 0.1})
    trunk = run.ports[run.ports["port"] == "switch1->switch2"].iloc[0]
    both = [at_trunk(run, name) for name in ("ubr", "vbr")]
    for column in ("cells_in", "cells_out", "cells_held"):
        assert trunk[column] == sum(queue[column] for queue in both)


def test_efficiency_excludes_capacity_used_by_vbr() -> None:
    run = beside_vbr({"kind": "guaranteed-rate", "share": 0.5}, **{"network.sources": 1, "duration": "3 s"})
    attainable = 512 / 636 * (155.52e6 - 424 * at_trunk(run, "vbr")["cells_out"] / 3)
    assert run.efficiency == pytest.approx(run.flows["throughput_bps"].sum() / attainable)
    assert 0.9 < run.efficiency <= 1


def test_scheduler_without_vbr_does_not_change_the_run() -> None:
    plain = simulate(Scenario(defaults="1996", duration="500 ms"), 2)
    other = simulate(Scenario(defaults="1996", duration="500 ms").with_(**{"switch.scheduler": "priority"}), 2)
    assert plain.state_hash == other.state_hash
    assert plain.vbr.empty


def test_the_result_of_an_idle_source_has_no_delay() -> None:
    vbr = {"period": "10 ms", "phase": "2 s"}
    delays = beside_vbr("priority", **{"network.vbr": vbr}).vbr[["min_delay_s", "mean_delay_s", "max_delay_s"]]
    assert delays.isna().all(axis=None)
