import json
import pickle
import tomllib
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drawn import of_type
from longpipe import Design, Factor, ScenarioError
from longpipe.cautions.cautions import cautions
from longpipe.cli.init import commented_toml
from longpipe.scenario import (
    CommonPhase,
    Dumbbell,
    Epd,
    Flow,
    Graph,
    Group,
    Link,
    Node,
    Scenario,
    Tcp,
)
from longpipe.scenario.base import IntegerOr, Model
from longpipe.scenario.congestion import Aimd, Vegas
from longpipe.scenario.paths import paths
from longpipe.scenario.recovery import NewReno, NewRenoOptions, Tahoe, Vanilla
from longpipe.scenario.resolve import resolve
from strategies import scenarios
from thorough import examples

EXAMPLES = sorted((Path(__file__).parent.parent / "scenarios").glob("*.toml"))


def line(*names: str) -> Graph:
    """Returns nodes in a row, which are switches if their names start with s, and one flow from end to end."""
    nodes = tuple(Node(name=name, kind="switch" if name.startswith("s") else "host") for name in names)
    links = tuple(Link(between=ends, rate="1 Mbit/s", delay="1 ms") for ends in pairwise(names))
    return Graph(nodes=nodes, links=links, flows=(Flow(name="f", from_=names[0], to=names[-1]),))


@given(scenarios())
def test_toml_gives_the_same_scenario_back(scenario: Scenario) -> None:
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    assert Scenario.from_toml(scenario.to_toml()).digest() == scenario.digest()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_named_by_its_file(path: Path) -> None:
    assert Scenario.from_toml(path).name == path.stem


def test_scenario_without_a_name_uses_its_file_name(tmp_path: Path) -> None:
    path = tmp_path / "geo.toml"
    path.write_text('duration = "1 s"\n')
    assert (
        Scenario.from_toml(path)
        == Scenario(defaults="1996", name="geo", duration="1 s")
        == Scenario.from_toml(str(path))
    )


def test_the_commented_default_is_the_default() -> None:
    assert Scenario.from_toml(commented_toml(Scenario(defaults="1996"))) == Scenario(defaults="1996")


def test_digest_of_a_scenario_is_stable() -> None:
    assert Scenario(defaults="1996").digest() == "29ca4c92ed4564994bd76001c23763e15766f272ec15ad249ffa9b816ea1ec6a"


def test_scenario_without_options_of_tahoe_is_the_same_scenario() -> None:
    base = Scenario(defaults="1996").with_(**{"tcp.recovery": "tahoe"})
    fields = json.loads(base.to_json())
    assert fields["tcp"].pop("tahoe") == {"guard": False}
    assert Scenario(**fields) == base
    assert Scenario(**fields).digest() == base.digest()
    guarded = base.with_(**{"tcp.tahoe.guard": True})
    assert guarded.digest() != base.digest()
    assert Scenario.from_toml(guarded.to_toml()).resolve()["flows"][0]["tcp"]["tahoe"] == {"guard": True}


def test_recovery_options_are_in_its_table_or_field() -> None:
    table = Scenario(defaults="1996", tcp=Tcp(recovery=NewReno(guard=True), congestion=Vegas(alpha=2)))
    fields = Scenario.from_toml(
        """
        [tcp]
        recovery = "newreno"
        congestion = "vegas"
        newreno.guard = true
        vegas.alpha = 2
        """
    )
    assert (table, table.to_json(), table.digest()) == (fields, fields.to_json(), fields.digest())
    assert (table.tcp.newreno.guard, fields.tcp.recovery) == (True, NewReno(guard=True))
    assert table.tcp.recovery == "newreno"
    assert resolve(table)["flows"][0]["tcp"]["recovery"] == "newreno"


def test_options_wait_while_another_recovery_is_chosen() -> None:
    base = Scenario(defaults="1996").with_(**{"tcp.recovery": {"kind": "newreno", "max_burst": "2 segments"}})
    away = base.with_(**{"tcp.recovery": "sack"})
    assert away.tcp.newreno.max_burst == "2 segments"
    assert away.with_(**{"tcp.recovery": "newreno"}).digest() == base.digest()
    assert base.with_(**{"tcp.recovery.max_burst": "unlimited"}).tcp.newreno.max_burst == "unlimited"
    assert base.with_(**{"tcp.newreno.max_burst": "3 segments"}).tcp.recovery == NewReno(max_burst="3 segments")
    counted = base.with_(**{"tcp.congestion.byte_counting": True})
    assert counted.tcp.congestion == Aimd(byte_counting=True)
    assert counted.digest() == base.with_(**{"tcp.byte_counting": True}).digest()


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("tcp.byte_counting = true", 'tcp.congestion = { kind = "aimd", byte_counting = true }'),
        (
            'tcp.congestion = "aimd"\ntcp.byte_counting = true',
            'tcp.congestion = { kind = "aimd", byte_counting = true }',
        ),
        ('tcp.congestion = "vegas"\ntcp.vegas.alpha = 2', 'tcp.congestion = { kind = "vegas", alpha = 2 }'),
        (
            'tcp.congestion = { kind = "vegas", beta = 7 }\ntcp.vegas = { alpha = 2, beta = 4 }',
            'tcp.congestion = { kind = "vegas", alpha = 2, beta = 7 }',
        ),
        (
            'tcp.profile = "linux-6"\ntcp.congestion = "vegas"\ntcp.vegas = { beta = 7, gamma = 1 }',
            'tcp.profile = "linux-6"\ntcp.congestion = { kind = "vegas", beta = 7 }',
        ),
        ('tcp.congestion = "cubic"\ntcp.vegas.alpha = 2\ntcp.byte_counting = true', 'tcp.congestion = "cubic"'),
    ],
)
def test_former_fields_of_controls_are_read_as_their_options(former: str, present: str) -> None:
    scenario = Scenario.from_toml(former)
    assert scenario == Scenario.from_toml(present)
    written = scenario.to_toml()
    assert not {"vegas", "byte_counting"} & tomllib.loads(written)["tcp"].keys()
    assert Scenario.from_toml(written).digest() == scenario.digest()


def test_a_change_of_a_former_field_changes_the_selected_control() -> None:
    vegas = Scenario(defaults="1996").with_(**{"tcp.congestion": "vegas", "tcp.vegas.alpha": 2})
    assert vegas.tcp.congestion == Vegas(alpha=2)
    assert vegas.with_(**{"tcp.vegas.alpha": 3}).tcp.congestion == Vegas(alpha=3)
    with pytest.raises(ScenarioError, match=r"^tcp.congestion.alpha: "):
        Scenario(defaults="1996").with_(**{"tcp.vegas.alpha": 2})


@pytest.mark.parametrize(("control", "alpha"), [("vegas", 2.0), ("cubic", None)])
def test_former_fields_of_a_group_are_options_of_the_control_it_inherits(control: str, alpha: float | None) -> None:
    group = {"name": "a", "tcp": {"vegas": {"alpha": 2}, "mss": "1000 B"}}
    scenario = Scenario(defaults="1996", tcp={"congestion": control}, network={"kind": "dumbbell", "group": [group]})
    own = resolve(scenario)["flows"][0]["tcp"]
    assert own["mss_bytes"] == 1000
    assert own["congestion"]["kind"] == control if isinstance(own["congestion"], dict) else own["congestion"] == control
    assert alpha is None or own["vegas"]["alpha"] == alpha
    assert Scenario.from_toml(scenario.to_toml()).digest() == scenario.digest()


def test_former_fields_of_a_group_alone_need_a_congestion_control() -> None:
    with pytest.raises(ScenarioError, match=r"tcp: vegas: .*; needs congestion = \{kind = 'vegas', ...\} instead"):
        Group(name="a", tcp={"vegas": {"alpha": 2}})


def test_flow_inherits_the_options_of_its_recovery() -> None:
    graph = Scenario(defaults="1996", network=line("a", "s", "b"), tcp=Tcp(newreno=NewRenoOptions(guard=True)))
    named = graph.with_(**{"network.flows.0.tcp.recovery": "newreno"})
    said = graph.with_(**{"network.flows.0.tcp": {"recovery": {"kind": "newreno", "guard": False}}})
    assert [resolve(each)["flows"][0]["tcp"]["newreno"]["guard"] for each in (named, said)] == [True, False]
    assert [Scenario.from_toml(each.to_toml()).digest() for each in (named, said)] == [named.digest(), said.digest()]


def test_digest_ignores_the_spelling_of_values() -> None:
    base = Scenario(defaults="1996")
    assert base.with_(name="other", duration="10000 ms", **{"tcp.receiver_window": "65536 B"}).digest() == base.digest()
    assert base.with_(duration="11 s").digest() != base.digest()


def test_scenario_survives_pickling() -> None:
    scenario = Scenario(defaults="1996", network=line("a", "s", "b"))
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_with_changes_a_copy() -> None:
    base = Scenario(defaults="1996")
    changed = base.with_(**{"switch.buffer": "3000 cells", "tcp.recovery": "vanilla", "tcp.timer.phase": "common"})
    assert (changed.switch.buffer, changed.tcp.recovery.kind) == ("3000 cells", "vanilla")
    assert changed.tcp.timer.phase == CommonPhase()  # type: ignore[union-attr]
    assert base == Scenario(defaults="1996")


def changed_or_refused(scenario: Scenario, changes: dict[str, object]) -> tuple[str, ...]:
    try:
        changed = scenario.with_(**changes)
    except ScenarioError as error:
        return error.problems
    return changed.digest(), changed.to_toml()


@given(scenarios(), st.data())
@settings(max_examples=examples(60, 500), deadline=None, suppress_health_check=list(HealthCheck))
def test_changes_of_plain_values_equal_those_of_whole_parts(scenario: Scenario, data: st.DataObject) -> None:
    """A plain value is validated alone; the copy, or the error, is that of a copy whose parts are all validated."""
    name = data.draw(st.sampled_from(["tcp", "network"]))
    part: Model = getattr(scenario, name)
    fields = [field for field, value in part if isinstance(value, str | int | float)]
    field = data.draw(st.sampled_from(fields))
    annotation = type(part).model_fields[field]
    wrong: st.SearchStrategy[object] = st.sampled_from(["x", "5", "1 ms", "0 s", -1, 2.5, True, 10**9, "none"])
    # Strategies do not know integers that may also be a word.
    is_drawn = not any(isinstance(check, IntegerOr) for check in annotation.metadata)
    values = of_type(annotation.annotation, annotation.metadata) | wrong if is_drawn else wrong
    changes = {f"{name}.{field}": data.draw(values)}
    alone = changed_or_refused(scenario, changes)
    with mock.patch.object(Scenario, "_with_values", return_value=None):
        assert changed_or_refused(scenario, changes) == alone


def test_with_replaces_a_whole_part() -> None:
    assert Scenario(defaults="1996").with_(**{"switch.policy": Epd(threshold=0.5)}).switch.policy == Epd(threshold=0.5)


def test_with_does_not_modify_its_arguments() -> None:
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s"}
    changed = Scenario(defaults="1996").with_(**{"network": network, "network.trunk_rate": "50 Mbit/s"})
    assert isinstance(changed.network, Dumbbell)
    assert (changed.network.trunk_rate, network["trunk_rate"]) == ("50 Mbit/s", "20 Mbit/s")


def test_with_changes_items_of_lists() -> None:
    changed = Scenario(defaults="1996", network=line("a", "s", "b")).with_(**{"network.flows.0.tcp.recovery": "tahoe"})
    assert resolve(changed)["flows"][0]["tcp"]["recovery"] == "tahoe"


@pytest.mark.parametrize(
    ("buffer", "cells"),
    [
        ("1000 cells", 1000),
        ("20 packets", 240),
        # 155.52 Mbit/s times 30 us is 4665.6 bits, 11.004 cells.
        ("2 BDP", 22),
        ("60 us", 22),
        ("0.1 s", 36679),
        ("unlimited", None),
        ("inf", None),
    ],
)
def test_buffer_is_counted_in_cells(buffer: str, cells: int | None) -> None:
    links = Scenario(defaults="1996").with_(**{"switch.buffer": buffer}).resolve()["links"]
    trunk = next(link for link in links if link["from"] == 5 and link["to"] == 6)
    assert trunk["buffer"] == (cells and {"unit": "cells", "limit": cells})


@pytest.mark.parametrize(
    ("buffer", "unit", "limit"),
    [
        ("20 packets", "packets", 20),
        ("30 KB", "bytes", 30_000),
        ("552 bytes", "bytes", 552),
        # 155.52 Mbit/s times 30 us is 4665.6 bits, 1.0565 packets of 552 bytes.
        ("2.5 BDP", "packets", 2),
        # 75 us is 2.5 times 30 us.
        ("75 us", "packets", 2),
        # 155.52 Mbit/s times 100 ms is 15 552 000 bits, 3521.7 packets of 552 bytes.
        ("100 ms", "packets", 3521),
    ],
)
def test_an_ip_buffer_is_counted_in_packets_or_bytes(buffer: str, unit: str, limit: int) -> None:
    scenario = Scenario(defaults="1996").with_(framing="ip", **{"switch.buffer": buffer})
    trunk = next(link for link in scenario.resolve()["links"] if link["from"] == 5 and link["to"] == 6)
    assert trunk["buffer"] == {"unit": unit, "limit": limit}
    assert Scenario.from_toml(scenario.to_toml()).digest() == scenario.digest()


@pytest.mark.parametrize("framing", ["ip", "aal5"])
def test_time_buffer_is_the_bdp_at_each_ports_rate(framing: str) -> None:
    base = Scenario(defaults="1996").with_(
        framing=framing, **{"network.return_rate": "1 Mbit/s", "network.trunk_delay": "49.99 ms"}
    )
    in_time, in_bdp = (base.with_(**{"switch.buffer": buffer}) for buffer in ("100 ms", "1 BDP"))
    assert in_time.digest() == in_bdp.digest()
    assert Scenario.from_toml(in_time.to_toml()).digest() == in_time.digest()


def test_routers_without_a_given_buffer_have_one_bdp() -> None:
    by_default = Scenario(defaults="1996", framing="ip", network={"kind": "dumbbell", "trunk_delay": "50 ms"})
    assert by_default.switch.buffer == "1 BDP"
    assert by_default.digest() == by_default.with_(**{"switch.buffer": "1 BDP"}).digest()
    assert "buffer" not in by_default.switch.model_fields_set
    # Each framing has its own default, and a file that is written contains the values.
    assert by_default.with_(framing="aal5").switch.buffer == "1000 cells"
    assert (
        Scenario(defaults="1996").with_(framing="ip", **{"network.trunk_delay": "50 ms"}).digest()
        == by_default.digest()
    )
    assert Scenario.from_toml(by_default.to_toml()).has_buffer
    lines = [line for line in cautions(by_default) if line.startswith("switch.buffer")]
    # 155.52 Mbit/s times 100.02 ms is 15 555 110 bits, 3522.4 packets of 552 bytes.
    assert lines == ["switch.buffer: not given, routers have 1 BDP (3522 packets); set it to choose another size"]
    chosen = (by_default.with_(**{"switch.buffer": "2 BDP"}), Scenario(defaults="1996"))
    assert not any(line.startswith("switch.buffer") for one in chosen for line in cautions(one))


def test_groups_of_a_dumbbell_have_delays_of_their_own() -> None:
    groups = [
        {"name": "near", "count": 2, "tcp": {"congestion": "vegas"}},
        {"name": "far", "access_delay": "40 ms", "exit_delay": "1 ms", "traffic": "web"},
    ]
    scenario = Scenario(defaults="1996").with_(**{"network.group": groups, "network.trunk_delay": "9 ms"})
    resolved = scenario.resolve()
    names = [node["name"] for node in resolved["nodes"]]
    delays = {(names[link["from"]], names[link["to"]]): link["delay_ps"] // 10**6 for link in resolved["links"]}
    assert {ends: us for ends, us in delays.items() if us != 5} == {
        ("switch1", "switch2"): 9000,
        ("switch2", "switch1"): 9000,
        ("source3", "switch1"): 40_000,
        ("switch1", "source3"): 40_000,
        ("switch2", "sink3"): 1000,
        ("sink3", "switch2"): 1000,
    }
    # A BDP is that of the longest round trip, 2 (40 + 9 + 1) ms.
    assert path_round_trips(scenario) == [18_020, 18_020, 100_000]
    written = Scenario.from_toml(scenario.to_toml())
    assert written.digest() == scenario.digest()
    assert written.with_(**{"network.group.0.access_delay": "5 us"}).digest() == scenario.digest()


def path_round_trips(scenario: Scenario) -> list[int]:
    return [path.delay_ps // 10**6 for path in paths(scenario.resolved)]


@pytest.mark.parametrize(
    ("part", "kind", "field", "value"),
    [
        ("switch.policy", "codel", "ecn", True),
        ("switch.scheduler", "guaranteed-rate", "share", 0.5),
        ("network.trunk_loss", "bernoulli", "probability", 0.01),
        ("tcp.timer", "fine", "min_rto", "1 s"),
        ("tcp.ack", "delayed", "timeout", "50 ms"),
        ("tcp.congestion", "vegas", "beta", 7),
        ("traffic", "transfer", "size", "1 MB"),
        ("start", "random", "over", "1 s"),
    ],
)
def test_kind_and_field_are_changed_in_either_order(part: str, kind: str, field: str, value: object) -> None:
    base = Scenario(defaults="1996")
    if part == "switch.policy":
        base = base.with_(framing="ip", **{"switch.buffer": "20 packets"})
    changes = {part: kind, f"{part}.{field}": value}
    found = [base.with_(**dict(order)) for order in (changes.items(), reversed(changes.items()))]
    assert found[0] == found[1] == base.with_(**{part: {"kind": kind, field: value}})


def test_host_ports_are_unlimited_and_switch_ports_follow_the_switch() -> None:
    resolved = Scenario(defaults="1996", network=Dumbbell(sources=1)).with_(**{"switch.policy": "epd"}).resolve()
    places = [link["buffer"] and link["buffer"]["limit"] for link in resolved["links"]]
    ports = [
        (link["from"], link["to"], n, link["policy"]["kind"]) for link, n in zip(resolved["links"], places, strict=True)
    ]
    assert ports == [
        (0, 1, None, "tail-drop"),
        (1, 0, 1000, "epd"),
        (1, 2, 1000, "epd"),
        (2, 1, 1000, "epd"),
        (2, 3, 1000, "epd"),
        (3, 2, None, "tail-drop"),
    ]
    assert (resolved["flows"][0]["route"], resolved["flows"][0]["return_route"]) == ([0, 2, 4], [5, 3, 1])


def test_route_has_fewest_hops_through_switches() -> None:
    graph = line("a", "s1", "s2", "s3", "b")
    shortcut = Link(between=("s1", "s3"), rate="1 Mbit/s", delay="1 ms")
    scenario = Scenario(defaults="1996", network=graph.model_copy(update={"links": (*graph.links, shortcut)}))
    assert scenario.resolve()["flows"][0]["route"] == [0, 8, 6]


def test_flow_overrides_only_its_own_fields() -> None:
    graph = line("a", "s", "b")
    flow = graph.flows[0].model_copy(update={"tcp": Tcp(recovery=Vanilla())})
    scenario = Scenario(
        defaults="1996",
        network=graph.model_copy(update={"flows": (flow,)}),
        tcp=Tcp(recovery=Tahoe(), receiver_window="600 KB"),
    )
    tcp = scenario.resolve()["flows"][0]["tcp"]
    assert (tcp["recovery"], tcp["receiver_window_bytes"]) == ("vanilla", 600_000)
    assert Scenario.from_toml(scenario.to_toml()).digest() == scenario.digest()


def test_staggered_flows_start_one_interval_apart() -> None:
    scenario = Scenario(defaults="1996").with_(start={"kind": "staggered", "first": "1 ms", "interval": "10 ms"})
    starts = [flow["start"]["at_ps"] for flow in scenario.resolve()["flows"]]
    assert starts == [10**9 + i * 10**10 for i in range(5)]


def test_name_of_a_kind_keeps_existing_parameters() -> None:
    red = {"kind": "red", "min": 30, "max": 90, "max_p": 0.02}
    base = Scenario(defaults="1996").with_(framing="ip", **{"switch.buffer": "500 packets", "switch.policy": red})
    assert base.with_(**{"switch.policy": "red"}).digest() == base.digest()
    levels = Factor.over("switch.policy", ["tail-drop", "red"])
    of_red = Design.full_factorial(base, [levels]).scenarios[1]
    assert of_red.resolve()["links"] == base.resolve()["links"]
    assert base.with_(**{"switch.policy": {"kind": "red"}}).digest() != base.digest()
