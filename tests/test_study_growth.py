"""Changes to a study's design."""

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.design import Design, Factor
from longpipe.store import Store
from longpipe.study import Study

BASE = Scenario(name="short", duration="20 ms")
POLICY = Factor.over("switch.policy", ["tail-drop", "epd"])
RECOVERY = Factor.over("tcp.recovery", ["vanilla", "reno"])


def design(*factors: Factor, base: Scenario = BASE, replications: int = 2) -> Design:
    return Design.full_factorial(base, factors, replications=replications)


DESIGN = design(POLICY, RECOVERY)


def refusal(store: Store, changed: Design) -> str:
    with pytest.raises(ScenarioError) as refused:
        Study(changed, store, name="growth")
    return str(refused.value)


def test_another_design_under_a_study_s_name_is_rejected_with_the_difference() -> None:
    store = Store()
    Study(DESIGN, store, name="growth")
    longer = refusal(store, design(POLICY, RECOVERY, base=BASE.with_(duration="30 ms")))
    assert "duration: '30 ms'; was '20 ms'" in longer
    assert "another name" in longer
    other = refusal(store, design(POLICY, Factor.over("tcp.recovery", ["sack", "reno"]), replications=3))
    assert "tcp.recovery: without level 'vanilla'; was there" in other
    more = refusal(store, design(POLICY, replications=3))
    assert "factors: switch.policy; was switch.policy, tcp.recovery" in more
    assert Study.open("growth", store).design.replications == 2


def test_a_study_takes_on_a_larger_design_and_runs_only_what_is_new() -> None:
    store = Store()
    assert Study(DESIGN, store, name="growth").run(workers=1).finished == 8
    three = Factor.over("tcp.recovery", ["vanilla", "reno", "sack"])
    larger = Study(design(POLICY, three, replications=3), store, name="growth")
    before = larger.status()
    assert (before.runs, before.finished) == (18, 8)
    assert larger.run(workers=1).complete
    assert store.count() == 18


def test_a_smaller_design_changes_nothing() -> None:
    store = Store()
    Study(DESIGN, store, name="growth")
    assert Study(design(POLICY, RECOVERY, replications=1), store, name="growth").status().runs == 8
