"""Changes to a study's design."""

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.design import Design, Factor
from longpipe.store import Store
from longpipe.study import Study

BASE = Scenario(defaults="1996", name="short", duration="20 ms")
POLICY = Factor.over("switch.policy", ["tail-drop", "epd"])
RECOVERY = Factor.over("tcp.recovery", ["vanilla", "reno"])


def design(*factors: Factor, base: Scenario = BASE, replications: int = 2) -> Design:
    return Design.full_factorial(base, factors, replications=replications)


DESIGN = design(POLICY, RECOVERY)


def refusal(store: Store, changed: Design) -> str:
    with pytest.raises(ScenarioError) as refused:
        Study(changed, store, name="growth")
    return str(refused.value)


def test_different_design_of_a_study_is_rejected_with_differences() -> None:
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


GROUPS = [{"name": name, "count": 2, "access_delay": "15 ms"} for name in ("mine20", "mine80", "cubic20")]
GROUPED = BASE.with_(
    framing="ip",
    network={"kind": "dumbbell", "trunk_rate": "2 Mbit/s", "group": GROUPS},
    **{"switch.buffer": "20 packets"},
)


@pytest.mark.parametrize(
    ("field", "value", "difference"),
    [
        ("network.group.1.tcp.hz", 250, "network.group.1.tcp.hz: 250; was nothing; "),
        ("network.group.2.count", 3, "network.group.2.count: 3; was 2; "),
        ("network.group", GROUPS[:2], "network.group: 2 elements; was 3 elements; "),
        ("network.group.0.access_delay", "9 ms", "network.group.0.access_delay: '9 ms'; was '15 ms'; "),
    ],
)
def test_designs_with_a_changed_list_report_the_field(field: str, value: object, difference: str) -> None:
    store = Store()
    Study(design(RECOVERY, base=GROUPED), store, name="growth")
    message = refusal(store, design(RECOVERY, base=GROUPED.with_(**{field: value})))
    assert message.startswith(difference)
    assert len(message.splitlines()) == 1


def test_designs_with_a_changed_level_report_the_field() -> None:
    store = Store()
    levels = [{"network.group": [*GROUPS[:2], {**GROUPS[2], "count": count}]} for count in (2, 1)]
    first, second = (Factor("groups", {"all": level, "two": {"network.group": GROUPS[:2]}}) for level in levels)
    Study(design(first, base=GROUPED), store, name="growth")
    message = refusal(store, design(second, base=GROUPED))
    assert message.startswith("groups: 'all' has network.group.2.count = 1; was 2; ")


def test_study_with_equal_base_and_point_accepts_its_design() -> None:
    store = Store()
    # The first level states the default, so that its point has the digest of the base, but other fields.
    factor = Factor.over("network.group.1.tcp.recovery", [GROUPED.tcp.recovery.kind, "sack"])
    assert GROUPED.digest() in [scenario.digest() for scenario in design(factor, base=GROUPED).scenarios]
    Study(design(factor, base=GROUPED), store, name="growth")
    again = Study(design(factor, base=GROUPED), store, name="growth")
    assert again.design.base.to_json() == GROUPED.to_json()


def test_extended_design_runs_only_new_points() -> None:
    store = Store()
    assert Study(DESIGN, store, name="growth").run(workers=1).finished == 8
    three = Factor.over("tcp.recovery", ["vanilla", "reno", "sack"])
    larger = Study(design(POLICY, three, replications=3), store, name="growth")
    before = larger.status()
    assert (before.runs, before.finished) == (18, 8)
    assert larger.run(workers=1).complete
    assert store.count() == 18


def test_smaller_design_does_not_change_a_study() -> None:
    store = Store()
    Study(DESIGN, store, name="growth")
    assert Study(design(POLICY, RECOVERY, replications=1), store, name="growth").status().runs == 8
