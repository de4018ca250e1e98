"""Dumbbells with groups of different flows, and links whose two directions differ."""

from pathlib import Path
from typing import Any

import pytest

from commands import run
from longpipe import Flow, Graph, Link, Scenario, ScenarioError, simulate
from longpipe.scenario.overrides import overridden

MIXED = """
framing = "ip"
duration = "5 s"

[network]
kind = "dumbbell"
trunk_rate = "50 Mbit/s"
trunk_delay = "290 ms"
return_rate = "5 Mbit/s"
return_delay = "300 ms"
return_buffer = "50 packets"

[[network.group]]
name = "web"
count = 3
traffic = "web"
tcp = { receiver_window = "1 MB" }

[[network.group]]
name = "download"
start = { kind = "fixed", at = "1 s" }

[switch]
buffer = "0.5 BDP"
"""


def scenario(**network: Any) -> Scenario:  # noqa: ANN401 - any type of field
    return Scenario(defaults="1996", network={"kind": "dumbbell", **network})


def test_flows_of_a_group_have_its_name_and_fields() -> None:
    flows = Scenario.from_toml(MIXED).resolve()["flows"]
    assert [flow["name"] for flow in flows] == ["web1", "web2", "web3", "download"]
    assert [flow["traffic"]["kind"] for flow in flows] == ["web"] * 3 + ["greedy"]
    assert [flow["tcp"]["receiver_window_bytes"] for flow in flows] == [10**6] * 3 + [65536]
    assert [flow["start"]["at_ps"] for flow in flows] == [0, 0, 0, 10**12]


def test_directions_of_a_trunk_have_separate_rates_delays_and_buffers() -> None:
    links = Scenario.from_toml(MIXED).resolve()["links"]
    there, back = links[8:10]
    assert (there["rate_bps"], back["rate_bps"]) == (50_000_000, 5_000_000)
    assert (there["delay_ps"], back["delay_ps"]) == (290 * 10**9, 300 * 10**9)
    # The buffer is half of 50 Mbit/s times 590.02 ms, in packets of 552 bytes.
    assert (there["buffer"]["limit"], back["buffer"]["limit"]) == (3340, 50)


def test_bdp_of_the_return_direction_uses_its_rate() -> None:
    changed = scenario(trunk_delay="10 ms", return_rate="15.552 Mbit/s").with_(**{"switch.buffer": "1 BDP"})
    there, back = changed.resolve()["links"][10:12]
    assert there["buffer"]["limit"] // 10 == back["buffer"]["limit"]


def test_directions_of_a_graphs_link_have_separate_fields() -> None:
    nodes = [{"name": name, "kind": "switch" if name == "s" else "host"} for name in ("a", "s", "b")]
    links = [
        {"between": ["a", "s"], "rate": "10 Mbit/s", "delay": "1 ms", "return_rate": "1 Mbit/s"},
        {
            "between": ["s", "b"],
            "rate": "10 Mbit/s",
            "delay": "1 ms",
            "return_delay": "5 ms",
            "return_buffer": "20 cells",
        },
    ]
    flows = [{"name": "f", "from": "a", "to": "b"}]
    found = Scenario(
        defaults="1996", network={"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    ).resolve()["links"]
    assert [link["rate_bps"] // 10**6 for link in found] == [10, 1, 10, 10]
    assert [link["delay_ps"] // 10**9 for link in found] == [1, 1, 1, 5]


def test_a_graph_is_built_from_its_links_and_flows() -> None:
    links: list[Link | tuple[str, str, str, str]] = [
        ("a", "s", "10 Mbit/s", "1 ms"),
        Link(between=("s", "b"), rate="1 Mbit/s", delay="2 ms", return_rate="1 kbit/s"),
    ]
    short = Graph.of(links, {"f": ("a", "b")})
    assert [(node.name, node.kind) for node in short.nodes] == [("a", "host"), ("s", "switch"), ("b", "host")]
    assert [link.rate for link in short.links] == ["10 Mbit/s", "1 Mbit/s"]
    assert short.links[1].return_rate == "1 kbit/s"
    assert Graph.of(links, [Flow(name="f", from_="a", to="b")]) == short
    assert simulate(Scenario(defaults="1996", network=short, duration="1 s")).flows["delivered_bytes"].item() > 0
    with pytest.raises(ScenarioError, match="'c' is not a host"):
        Scenario(defaults="1996", network=Graph.of(links, {"f": ("a", "c")}))


@pytest.mark.parametrize("framing", ["aal5", "ip"])
def test_both_engines_agree_where_directions_and_flows_differ(framing: str) -> None:
    of_engine = [
        simulate(
            Scenario.from_toml(MIXED).with_(engine=engine, framing=framing, **{"network.return_buffer": "0.5 BDP"})
        )
        for engine in ("trains", "reference")
    ]
    assert of_engine[0].state_hash == of_engine[1].state_hash
    assert of_engine[0].flows["delivered_bytes"].min() > 0


def test_slow_return_direction_delays_acks() -> None:
    fast, slow = (
        simulate(scenario(sources=1, return_rate=rate).with_(duration="1 s")).efficiency
        for rate in ("155.52 Mbit/s", "1 Mbit/s")
    )
    # An ACK of one cell takes 424 us, and releases a segment of 512 bytes.
    assert slow < 512 * 8 / 424e-6 / 125e6 * 1.01 < fast


def test_scenario_with_groups_survives_writing_and_reading() -> None:
    mixed = Scenario.from_toml(MIXED)
    assert Scenario.from_toml(mixed.to_toml()) == mixed
    assert "group" not in Scenario(defaults="1996").to_toml()


def test_count_of_a_group_is_a_single_change() -> None:
    assert len(Scenario.from_toml(MIXED).with_(**{"network.group.0.count": 7}).resolve()["flows"]) == 8


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"group": []}, "network.group: empty; needs at least one group"),
        ({"sources": 3, "group": [{"name": "a"}]}, "network.sources: 3; the counts of the groups add up to 1; needs this number, or no value"),
        ({"group": [{"name": "a", "count": 0}]}, "network.group[0].count: 0; needs at least 1"),
        ({"group": [{"name": "a", "cuont": 2}]}, "network.group[0].cuont: unknown field; did you mean 'count'? accepts name, count, tcp, traffic, start, stop, class, service, split, access_delay, exit_delay, direction"),
        ({"group": [{"name": "a", "tcp": {"mss": "100 KB"}}]}, "network.group[0].tcp.mss: 100 KB; needs 1 B to 65000 B"),
        ({"group": [{"name": "b"}, {"name": "a", "tcp": {"receiver_window": "10 B"}}]}, "network.group[1].tcp.receiver_window: 10 B; needs at least one segment (512 B)"),
        ({"group": [{"name": "a", "start": {"kind": "fixed", "at": "20 s"}}]}, "network.group[0].start.at: 20 s; needs less than the duration, 10 s"),
        ({"return_buffer": "1 cell"}, "network.return_buffer: 1 cell; needs at least one full packet (12 cells at MSS 512)"),
    ],
)  # fmt: skip
def test_mistake_in_a_group_is_rejected_in_one_line(network: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(**network)
    assert str(error.value) == message


def test_incomplete_links_and_flows_are_rejected() -> None:
    with pytest.raises(ScenarioError, match=r"^links: \('a', 'b'\); needs a Link, or nodes, rate and delay"):
        Graph.of([("a", "b")], {"f": ("a", "b")})  # type: ignore[list-item]
    with pytest.raises(ScenarioError, match=r"^flows: \('a', 'b'\); needs a Flow, or all of them as \{'bulk'"):
        Graph.of([("a", "b", "10 Mbit/s", "1 ms")], [("a", "b")])  # type: ignore[list-item]


DUEL: dict[str, Any] = {
    "framing": "ip",
    "duration": "200 ms",
    "network": {
        "kind": "dumbbell",
        "group": [{"name": "a", "tcp": {"congestion": "cubic"}}, {"name": "b", "tcp": {"congestion": "linux-reno"}}],
    },
}
IGNORED = (
    "tcp.congestion: no effect, because every group sets its own; use network.group.0.tcp.congestion, "
    "network.group.1.tcp.congestion"
)


def test_a_field_that_every_group_overrides_is_reported(tmp_path: Path) -> None:
    (tmp_path / "duel.toml").write_text(Scenario(defaults="1996", **DUEL).to_toml(), encoding="utf-8")
    levels = "tcp.congestion=bbr,cubic"
    compared = run("plot", "duel.toml", "window", "--compare", levels, "-o", "a.svg", cwd=tmp_path)
    assert (compared.returncode, compared.stderr) == (2, f"error: {IGNORED}\n")
    design = run("design", "duel.toml", "--factor", levels, cwd=tmp_path)
    assert (design.returncode, design.stderr) == (2, f"error: {IGNORED}\n")
    changed = run("run", "duel.toml", "--no-store", "--set", "tcp.congestion=bbr", cwd=tmp_path)
    assert (changed.returncode, changed.stderr.splitlines()[0]) == (0, f"warning: --set {IGNORED}")
    drawn = ("plot", "duel.toml", "queue", "-o", "a.svg", "--port", "switch1->switch2", "--set", "tcp.congestion=bbr")
    assert run(*drawn, cwd=tmp_path).stderr.count(IGNORED) == 1
    compared = run("whatif", "duel.toml", "--seeds", "3", "--set", "tcp.congestion=bbr", cwd=tmp_path)
    assert (compared.returncode, compared.stderr.splitlines()[0]) == (0, f"warning: --set {IGNORED}")


def test_compared_levels_that_lead_to_the_same_run_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "duel.toml").write_text(Scenario(defaults="1996", **DUEL).to_toml(), encoding="utf-8")
    compared = run("plot", "duel.toml", "window", "--compare", "duration=200 ms,0.2 s", "-o", "a.svg", cwd=tmp_path)
    assert compared.stderr == (
        "error: --compare: 'duration = 200 ms' and 'duration = 0.2 s' are the same run; needs levels that change it\n"
    )


def test_field_used_by_a_group_has_an_effect() -> None:
    duel = Scenario(defaults="1996", **DUEL)
    assert overridden(duel, "tcp.congestion") == IGNORED
    assert overridden(duel, "tcp.congestion.beta")
    assert overridden(duel, "tcp.recovery") is overridden(duel, "traffic") is overridden(duel, "switch.buffer") is None
    assert overridden(duel.with_(**{"network.group": [{"name": "a"}]}), "tcp.congestion") is None
    assert overridden(Scenario(defaults="1996"), "tcp.congestion") is None


@pytest.mark.parametrize("count", [-2, 0])
def test_an_impossible_count_of_a_group_is_the_only_field_named(count: int) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(group=[{"name": "a", "count": count}, {"name": "b"}])
    assert caught.value.problems == (f"network.group[0].count: {count}; needs at least 1",)
