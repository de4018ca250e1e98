"""The time to build, check and summarize scenarios grows in proportion to the number of flows, hosts and groups."""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from graphs import as_graph
from longpipe import Scenario, ScenarioError, simulate
from longpipe.cautions.cautions import cautions
from longpipe.design import Design, Factor
from longpipe.metrics import convergence
from longpipe.scenario import KEPT, Dumbbell, Graph, Link
from longpipe.scenario.canonical import canonical_json
from longpipe.scenario.points import Points
from longpipe.scenario.topology import Topology, links_of
from longpipe.scenario.traffic import Greedy
from longpipe.store import Store, StoreError, checksums
from longpipe.study import Study

# Four times the size takes four times as long; if each flow required a search, it would take sixteen times as long.
TIMES = 4
MAX_RATIO = 9.0
# MAX_PROBLEMS of crates/scenario/src/topology.rs.
MAX_PROBLEMS = 10
FEW = 200


def dumbbell(flows: int) -> dict[str, object]:
    return {"kind": "dumbbell", "sources": flows, "trunk_rate": "10 Gbit/s"}


def groups(flows: int) -> dict[str, object]:
    """Returns one group for each flow; all groups differ."""
    group = [{"name": f"g{i}", "start": {"kind": "fixed", "at": f"{i} ps"}, "class": 0} for i in range(flows)]
    return {"kind": "dumbbell", "group": group, "trunk_rate": "10 Gbit/s"}


def star(flows: int) -> dict[str, object]:
    return {
        "kind": "graph",
        "nodes": [{"name": "s", "kind": "switch"}, *({"name": f"h{i}", "kind": "host"} for i in range(flows))],
        "links": [{"between": [f"h{i}", "s"], "rate": "1 Mbit/s", "delay": "5 ms"} for i in range(flows)],
        "flows": [
            {"name": f"f{i}", "from": f"h{i}", "to": f"h{flows - 1 - i}"} for i in range(flows) if 2 * i + 1 != flows
        ],
    }


def policed(flows: int) -> dict[str, object]:
    """Returns a star whose hosts each have a policer."""
    network: dict[str, Any] = star(flows)
    policer = {"kind": "policer", "rate": "1 Mbit/s", "burst": "10 KB"}
    return network | {"links": [{**link, "conditioners": [policer]} for link in network["links"]]}


def scenario(network: dict[str, object], duration: str = "1 us") -> Scenario:
    return Scenario(defaults="1996", duration=duration, framing="ip", network=network, switch={"buffer": "100 packets"})


T = TypeVar("T")
# Each time is the minimum of this number of measurements.
MEASURED = 3


@dataclass
class Times:
    """CPU times by the name of the work."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def of(self, name: str, work: Callable[[], T]) -> T:
        """Performs and measures a part of the work."""
        gc.collect()
        began = time.process_time()
        done = work()
        self.seconds.setdefault(name, []).append(time.process_time() - began)
        return done


def ratios(work: Callable[[int, Times], object]) -> dict[str, float]:
    """Returns, for each part of the work, the ratio of the CPU time for `TIMES * FEW` to that for `FEW`."""
    few, many = Times(), Times()
    for _ in range(MEASURED):
        work(FEW, few)
        work(TIMES * FEW, many)
    return {name: min(seconds) / min(few.seconds[name]) for name, seconds in many.seconds.items()}


@pytest.mark.parametrize("network", [dumbbell, groups, star, policed])
def test_duration_of_each_step_is_proportional_to_the_flows(
    network: Callable[[int], dict[str, object]],
) -> None:
    def work(flows: int, times: Times) -> None:
        written = network(flows)
        built = times.of("building", lambda: scenario(written))
        times.of("checking", lambda: cautions(built))
        result = times.of("laying out", lambda: simulate(built))
        times.of("summing up", result.to_json)

    found = ratios(work)
    assert list(found) == ["building", "checking", "laying out", "summing up"]
    assert max(found.values()) < MAX_RATIO, found


def unlike(flows: int) -> dict[str, object]:
    """Returns groups of one flow that share nothing: each has its own TCP, traffic, start, stop, delays and class."""
    group = [
        {
            "name": f"g{i}",
            "tcp": {"receiver_window": f"{64 + i} KB", "timer": {"kind": "fine", "max_rto": f"{60 + i} s"}},
            "traffic": {"kind": "stream", "rate": f"{10 + i} kbit/s"},
            "start": {"kind": "fixed", "at": f"{i} ps"},
            "stop": {"kind": "after", "after": f"{1000 + i} ns"},
            "access_delay": f"{5 + i} us",
            "class": i % 2,
        }
        for i in range(flows)
    ]
    return {"kind": "dumbbell", "group": group, "trunk_rate": "10 Gbit/s"}


def lines_of(work: Callable[[], object]) -> int:
    """Returns the number of lines of Python that a piece of work executes."""
    lines = 0

    def count(_frame: object, event: str, _value: object) -> Any:  # noqa: ANN401 - sys.settrace's own type
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("network", [dumbbell, groups, unlike, star, policed])
def test_executed_lines_of_building_are_proportional_to_the_flows(
    network: Callable[[int], dict[str, object]],
) -> None:
    def work(flows: int) -> int:
        return lines_of(lambda: cautions(scenario(network(flows))))

    work(2)
    few, many = work(50), work(200)
    assert many < 4.2 * few


def test_executed_lines_of_convergence_are_proportional_to_the_flows() -> None:
    def work(flows: int) -> int:
        recorded = scenario(unlike(flows), duration="200 us").with_(traces={"arrivals": True})
        columns = simulate(recorded).columns
        trace = columns["traces"]["arrivals"]
        return lines_of(lambda: convergence.by_flow(recorded.resolved, trace, columns["flows"]))

    work(2)
    few, many = work(50), work(200)
    assert many < 4.6 * few


def test_layout_of_a_chain_takes_time_proportional_to_its_length() -> None:
    # Every tenth switch has a host, which sends to the next one.
    def chain(n: int) -> Scenario:
        hosts = [i for i in range(n) if i % 10 == 0]
        links = [(f"n{i}", f"n{i + 1}", "1 Gbit/s", "1 us") for i in range(n - 1)]
        links += [(f"h{i}", f"n{i}", "1 Gbit/s", "1 us") for i in hosts]
        graph = Graph.of(links, {f"f{i}": (f"h{i}", f"h{i + 10}") for i in hosts[:-1]})
        return scenario(graph.model_dump(by_alias=True, exclude_none=True))

    def work(length: int, times: Times) -> None:
        built = chain(length)
        times.of("resolving", built.resolve)
        times.of("laying out", lambda: simulate(built))

    found = ratios(work)
    assert list(found) == ["resolving", "laying out"]
    assert max(found.values()) < MAX_RATIO, found


MIXED = [
    {"name": "a", "count": 3, "direction": "back", "access_delay": "3 ms"},
    {"name": "b"},
    {"name": "c", "count": 4, "start": "fixed", "tcp": {"recovery": "sack"}},
    {"name": "w", "count": 2, "traffic": "web", "start": {"kind": "staggered", "first": "2 s", "interval": "1 s"}},
]
STAGGERED = {"kind": "staggered", "first": "1 ms", "interval": "10 ms"}


@pytest.mark.parametrize("pep", [None, "switch1", "switch2"])
@pytest.mark.parametrize("own", [{"sources": 7}, {"group": MIXED}])
def test_copied_flows_are_those_of_the_whole_graph(own: dict[str, object], pep: str | None) -> None:
    # A graph is resolved flow by flow.
    proxy = {} if pep is None else {"pep": {"at": pep, "buffer": "1 MB", "tcp": {"recovery": "rack"}}}
    short = scenario({"kind": "dumbbell", **own, **proxy}, duration="20 s").with_(start=STAGGERED)
    graph = as_graph(short.network)
    assert short.resolve() == short.with_(network=graph).resolve()
    assert len(graph.flows) == len({flow.name for flow in graph.flows})


def test_copied_flows_over_changing_routes_use_their_own_hosts() -> None:
    path = {"shell": "66x24:550:53:5", "from": "London", "to": "Sydney", "as": "graph", "step": "5 s"}
    resolved = scenario({"kind": "dumbbell", "sources": 3, "path": path}, duration="60 s").resolve()
    nodes, links = ([row["name"] for row in resolved["nodes"]], resolved["links"])
    for i, flow in enumerate(resolved["flows"], 1):
        ways = [flow, *flow["rerouting"]["changes"]]
        assert len(ways) == 3
        for way in ways:
            for route, ends in (("route", ("source", "sink")), ("return_route", ("sink", "source"))):
                begin, end = links[way[route][0]]["from"], links[way[route][-1]]["to"]
                assert (nodes[begin], nodes[end]) == (f"{ends[0]}{i}", f"{ends[1]}{i}")


def test_a_flow_of_each_group_is_checked() -> None:
    network = scenario(
        {"kind": "dumbbell", "group": [{"name": "a", "count": 500}, {"name": "b", "count": 500}]}
    ).network
    assert len(Topology(network, Greedy(), links_of(network)).flows) == 2


@pytest.mark.parametrize(
    ("group", "start", "problem"),
    [
        (None, {"interval": "3 s"}, "start of flow 'flow5': 12 s; needs less than the duration, 10 s"),
        ([{"name": "a", "count": 4}, {"name": "b"}], {"interval": "3 s"}, "start of flow 'b': 12 s; needs less"),
        ([{"name": "a"}, {"name": "b", "count": 3}], {"first": "6 s", "interval": "2 s"}, "start of flow 'b2': 10 s;"),
        (
            [{"name": "a", "count": 9, "start": {"kind": "staggered", "interval": "5 s"}}],
            {"interval": "0 s"},
            "network.group[0].start of flow 'a3': 10 s; needs less than the duration, 10 s",
        ),
        (
            [{"name": "a1"}, {"name": "a", "count": 2}],
            {"interval": "0 s"},
            "network.group[1].name: 'a' and number 1 give 'a1', which is the name of network.group[0]; needs another name",
        ),
        (
            [{"name": "rtt2", "count": 12}, {"name": "rtt21", "count": 2}],
            {"interval": "0 s"},
            "network.group[1].name: 'rtt21' and number 1 give 'rtt211', which is the name of flow 11 of "
            "network.group[0], 'rtt2'; needs another name",
        ),
        (
            [{"name": "a", "count": 2}, {"name": "a2"}],
            {"interval": "0 s"},
            "network.group[1].name: 'a2' is the name of flow 2 of network.group[0], 'a'; needs another name",
        ),
        (
            [{"name": "a"}, {"name": "a"}],
            {"interval": "0 s"},
            "network.group[1].name: 'a' is the name of network.group[0]; needs a unique name",
        ),
    ],
)
def test_invalid_copied_flow_is_named(group: object, start: dict[str, str], problem: str) -> None:
    network = {"kind": "dumbbell", **({"sources": 6} if group is None else {"group": group})}
    with pytest.raises(ScenarioError) as error:
        Scenario(defaults="1996", network=network, start={"kind": "staggered", **start})
    assert problem in str(error.value)


def with_outages(every: str) -> Scenario:
    network = {"kind": "dumbbell", "sources": 1, "path": {"outages": {"every": every, "gap": "1 us"}}}
    return scenario(network, duration="1 s")


def test_outages_use_little_memory() -> None:
    # As nested lists, these rows would take 144 bytes each, several times over; they take 16 bytes each, and the text
    # of about 24 bytes per row exists three times.
    def peak(every: str) -> tuple[int, int]:
        tracemalloc.start()
        found = with_outages(every)
        found.resolved_json()
        outages = found.resolved["links"][2]["motion"]["outages"]["intervals_ps"]
        assert isinstance(outages, Points)
        taken = len(outages), tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken

    (few, low), (many, high) = peak("100 us"), peak("25 us")
    assert (high - low) / (many - few) < 150


def test_a_list_of_outages_keeps_the_written_texts() -> None:
    # A copy of each time would take 60 bytes, which is 120 MB for a million outages.
    begin, end = (f"{milliseconds} ms" for milliseconds in (123_457, 123_458))
    outages = {"intervals": [["130 s", "131 s"], [begin, end]]}
    built = scenario({"kind": "dumbbell", "sources": 1, "path": {"outages": outages}}, duration="150 s")
    path = built.network.model_dump(by_alias=True)["path"]["outages"]
    assert path["intervals"][1][0] is begin
    assert path["intervals"][1][1] is end
    ordered = built.resolved["links"][2]["motion"]["outages"]["intervals_ps"]
    assert ordered == [[123_457 * 10**9, 123_458 * 10**9], [130 * 10**12, 131 * 10**12]]


def test_long_series_are_written_as_json_writes_lists(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("time,rate,delay,loss\n0,10 Mbit/s,0.02,1e-7\n1.5,5e6,30 ms,0.25\n")
    down = tmp_path / "a.down"
    down.write_text("0\n2\n2\n5\n")
    for path in ({"file": str(file)}, {"file": str(down)}, {"outages": {"every": "1 ms", "gap": "1 us"}}):
        found = scenario({"kind": "dumbbell", "sources": 2, "path": path}, duration="1 s")
        assert found.resolved_json() == json.dumps(found.resolve(), sort_keys=True, separators=(",", ":"))


def test_outages_of_all_kinds_are_merged_in_order() -> None:
    outages = {
        "every": "3 s",
        "gap": "1 s",
        "phase": "1 s",
        "intervals": [["7500 ms", "9 s"], ["1500 ms", "3 s"], ["6 s", "7 s"]],
    }
    found = scenario({"kind": "dumbbell", "sources": 1, "path": {"outages": outages}}, duration="10 s")
    merged = found.resolve()["links"][2]["motion"]["outages"]["intervals_ps"]
    assert merged == [[a * 10**12, b * 10**12] for a, b in ((1, 3), (4, 5), (6, 9))]


def test_a_scenario_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = scenario(dumbbell(3), duration="10 ms")
    calls: list[Scenario] = []
    monkeypatch.setattr(KEPT, "_resolve", calls.append)
    result = simulate(built)
    built.digest(), repr(result), result.to_json(), cautions(built), result.warnings
    assert not calls


def test_caches_of_scenarios_are_bounded_and_freed() -> None:
    large = [scenario(dumbbell(8_000)) for _ in range(3)]
    parts = [one.parts for one in KEPT._resolved.values()]
    assert sum(parts[:-1]) + parts[-1] <= max(100_000, parts[-1])
    digest = large[0].digest()
    assert large[0].resolved == large[0].resolve()
    assert large[0].digest() == digest == large[1].digest()
    keys = {id(one) for one in large}
    del large
    gc.collect()
    assert not keys & {*KEPT._resolved, *KEPT._digests, *KEPT._alive}


def test_shared_tables_are_encoded_as_json_encodes_them() -> None:
    switch = {"buffer": "100 packets", "policy": {"kind": "red", "unit": "packets", "max_p": 1e-7}}
    fields = Scenario(defaults="1996", framing="ip", network=groups(3), switch=switch, traffic="web").resolve()
    assert canonical_json(fields) == json.dumps(fields, sort_keys=True, separators=(",", ":"))


def test_many_problems_are_listed_partially() -> None:
    wrong = star(500)
    wrong["links"] = [{**link, "between": [link["between"][0], "t"]} for link in wrong["links"]]  # type: ignore[attr-defined]
    with pytest.raises(ScenarioError) as refused:
        scenario(wrong)
    assert len(refused.value.problems) == MAX_PROBLEMS
    assert len(str(refused.value)) < 10_000


def test_first_link_wins_among_routes_with_equal_hops() -> None:
    links = [("a", "s", "1 Mbit/s", "1 ms")]
    links += [("s", middle, "1 Mbit/s", "1 ms") for middle in ("t", "u")]
    links += [(middle, "v", "1 Mbit/s", "1 ms") for middle in ("u", "t")]
    links += [("v", "b", "1 Mbit/s", "1 ms"), ("c", "u", "1 Mbit/s", "1 ms"), ("c", "t", "1 Mbit/s", "1 ms")]
    graph = Graph.of(
        [Link(between=(a, b), rate=rate, delay=delay) for a, b, rate, delay in links],
        {"ab": ("a", "b"), "ac": ("a", "c"), "cb": ("c", "b")},
    )
    resolved = Scenario(defaults="1996", framing="ip", network=graph, switch={"buffer": "9 packets"}).resolve()
    names = [node["name"] for node in resolved["nodes"]]
    ways = [[names[resolved["links"][k]["to"]] for k in flow["route"]] for flow in resolved["flows"]]
    # The routes are: from a via t, on the first of s's links; to c via t, which the search visits before u; from c via
    # u.
    assert ways == [["s", "t", "v", "b"], ["s", "t", "c"], ["u", "v", "b"]]


def test_a_dumbbell_has_up_to_100_000_sources() -> None:
    many = [{"name": "web", "count": 60_000}, {"name": "bulk", "count": 40_001}]
    with pytest.raises(ScenarioError, match=r"network.sources: 100001; needs at most 100000"):
        scenario({"kind": "dumbbell", "group": many})
    assert Dumbbell(sources=100_000).sources == 100_000


def test_runs_of_a_study_are_read_by_few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    base, asked = (
        Scenario(defaults="1996", name="short", duration="1 ms"),
        ("all=flow:*.throughput", "first=flow:flow1.window_used"),
    )
    factors = [Factor.over("switch.buffer", ["100 cells", "200 cells"], "buffer")]
    study = Study(Design.full_factorial(base, factors, replications=60, measures=asked), Store())
    study.run(workers=1)
    queries: list[object] = []
    rows_of = checksums.rows_of
    monkeypatch.setattr(checksums, "rows_of", lambda *query: queries.append(query) or rows_of(*query))  # type: ignore[func-returns-value]
    frame = study.frame()
    read = len(queries)
    assert len(frame) == 120
    # There are two queries for the summaries, in addition to those that read the study itself.
    assert read <= 2 + 4
    for row, result in zip(frame.to_dict("records"), study.results(), strict=True):
        assert row["all"] == sum(result.throughputs_bps)
        assert row["first"] == result.limits["window_used"][0]
        assert (row["seed"], row["buffer"]) == (result.seed, result.scenario.switch.buffer)


def test_run_missing_from_the_store_is_named() -> None:
    store, short = Store(), Scenario(defaults="1996", name="short", duration="1 ms")
    store.keep(simulate(short, 1))
    store.keep(simulate(short, 3))
    assert [result and result.seed for result in store.load_all([(short, n) for n in (3, 2, 1)])] == [3, None, 1]
    with pytest.raises(StoreError, match="seed 2 has disappeared from it"):
        list(store.require_all([(short, n) for n in (1, 2)]))
