"""The time to build, check and summarise scenarios grows in proportion to the number of flows, hosts and groups."""

import gc
import json
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.analysis.cautions import cautions
from longpipe.design import Design, Factor
from longpipe.result import Result
from longpipe.scenario import KEPT, Dumbbell, Graph, Link
from longpipe.scenario.canonical import canonical_json
from longpipe.scenario.topology import MOST_PROBLEMS
from longpipe.store import Store, StoreError, checksums
from longpipe.study import Study

# Four times the size takes four times as long; a search for each flow would take sixteen times as long.
TIMES = 4
MOST_RATIO = 9.0
FEW = 400


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


def scenario(network: dict[str, object], duration: str = "1 us") -> Scenario:
    return Scenario(duration=duration, framing="ip", network=network, switch={"buffer": "100 packets"})


T = TypeVar("T")


def ratio(prepare: Callable[[int], T], work: Callable[[T], object]) -> float:
    """Returns the CPU time of work prepared for `TIMES * FEW` over that for `FEW`, each the minimum of three."""

    def best(n: int) -> float:
        times = []
        for _ in range(3):
            prepared = prepare(n)
            gc.collect()
            began = time.process_time()
            work(prepared)
            times.append(time.process_time() - began)
        return min(times)

    return best(TIMES * FEW) / best(FEW)


NETWORKS = pytest.mark.parametrize("network", [dumbbell, groups, star])
Written = Callable[[int], dict[str, object]]


@NETWORKS
def test_building_a_scenario_takes_time_in_proportion_to_its_flows(network: Written) -> None:
    assert ratio(network, scenario) < MOST_RATIO


@NETWORKS
def test_laying_out_a_run_takes_time_in_proportion_to_its_flows(network: Written) -> None:
    assert ratio(lambda n: scenario(network(n)), simulate) < MOST_RATIO


@NETWORKS
def test_checking_a_scenario_takes_time_in_proportion_to_its_flows(network: Written) -> None:
    assert ratio(lambda n: scenario(network(n)), cautions) < MOST_RATIO


@NETWORKS
def test_summing_up_a_run_takes_time_in_proportion_to_its_flows(network: Written) -> None:
    assert ratio(lambda n: simulate(scenario(network(n))), Result.to_json) < MOST_RATIO


def test_a_chain_of_switches_is_laid_out_in_time_in_proportion_to_its_length() -> None:
    # Every tenth switch has a host, which sends to the next one.
    def chain(n: int) -> Scenario:
        hosts = [i for i in range(n) if i % 10 == 0]
        links = [(f"n{i}", f"n{i + 1}", "1 Gbit/s", "1 us") for i in range(n - 1)]
        links += [(f"h{i}", f"n{i}", "1 Gbit/s", "1 us") for i in hosts]
        graph = Graph.of(links, {f"f{i}": (f"h{i}", f"h{i + 10}") for i in hosts[:-1]})
        return scenario(graph.model_dump(by_alias=True, exclude_none=True))

    assert ratio(chain, Scenario.resolve) < MOST_RATIO
    assert ratio(chain, simulate) < MOST_RATIO


def test_a_scenario_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = scenario(dumbbell(3), duration="10 ms")
    calls: list[Scenario] = []
    monkeypatch.setattr(KEPT, "_resolve", calls.append)
    result = simulate(built)
    built.digest(), repr(result), result.to_json(), cautions(built), result.warnings
    assert not calls


def test_what_is_kept_of_scenarios_is_bounded_and_goes_with_them() -> None:
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
    fields = Scenario(framing="ip", network=groups(3), switch=switch, traffic="web").resolve()
    assert canonical_json(fields) == json.dumps(fields, sort_keys=True, separators=(",", ":"))


def test_many_problems_are_named_in_part() -> None:
    wrong = star(500)
    wrong["links"] = [{**link, "between": [link["between"][0], "t"]} for link in wrong["links"]]  # type: ignore[attr-defined]
    with pytest.raises(ScenarioError) as refused:
        scenario(wrong)
    assert len(refused.value.problems) == MOST_PROBLEMS
    assert len(str(refused.value)) < 10_000


def test_among_routes_of_equally_many_hops_the_link_written_first_wins() -> None:
    links = [("a", "s", "1 Mbit/s", "1 ms")]
    links += [("s", middle, "1 Mbit/s", "1 ms") for middle in ("t", "u")]
    links += [(middle, "v", "1 Mbit/s", "1 ms") for middle in ("u", "t")]
    links += [("v", "b", "1 Mbit/s", "1 ms"), ("c", "u", "1 Mbit/s", "1 ms"), ("c", "t", "1 Mbit/s", "1 ms")]
    graph = Graph.of(
        [Link(between=(a, b), rate=rate, delay=delay) for a, b, rate, delay in links],
        {"ab": ("a", "b"), "ac": ("a", "c"), "cb": ("c", "b")},
    )
    resolved = Scenario(framing="ip", network=graph, switch={"buffer": "9 packets"}).resolve()
    names = [node["name"] for node in resolved["nodes"]]
    ways = [[names[resolved["links"][k]["to"]] for k in flow["route"]] for flow in resolved["flows"]]
    # From a via t, the first of s's links; to c via t, which the search visits before u; from c via u.
    assert ways == [["s", "t", "v", "b"], ["s", "t", "c"], ["u", "v", "b"]]


def test_a_dumbbell_has_up_to_100_000_sources() -> None:
    many = [{"name": "web", "count": 60_000}, {"name": "bulk", "count": 40_001}]
    with pytest.raises(ScenarioError, match=r"network.sources: 100001; needs at most 100000"):
        scenario({"kind": "dumbbell", "group": many})
    assert Dumbbell(sources=100_000).sources == 100_000


def test_runs_of_a_study_are_read_by_few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    base, asked = Scenario(name="short", duration="1 ms"), ("all=flow:*.throughput", "first=flow:flow1.window_used")
    factors = [Factor.over("switch.buffer", ["100 cells", "200 cells"], "buffer")]
    study = Study(Design.full_factorial(base, factors, replications=60, measures=asked), Store())
    study.run(workers=1)
    queries: list[object] = []
    rows_of = checksums.rows_of
    monkeypatch.setattr(checksums, "rows_of", lambda *query: queries.append(query) or rows_of(*query))  # type: ignore[func-returns-value]
    frame = study.frame()
    read = len(queries)
    assert len(frame) == 120
    # Two queries for the summaries, and those that read the study itself.
    assert read <= 2 + 4
    for row, result in zip(frame.to_dict("records"), study.results(), strict=True):
        assert row["all"] == sum(result.throughputs_bps)
        assert row["first"] == result.limits["window_used"][0]
        assert (row["seed"], row["buffer"]) == (result.seed, result.scenario.switch.buffer)


def test_a_run_that_is_not_in_the_store_is_named_among_those_that_are() -> None:
    store, short = Store(), Scenario(name="short", duration="1 ms")
    store.keep(simulate(short, 1))
    store.keep(simulate(short, 3))
    assert [result and result.seed for result in store.load_all([(short, n) for n in (3, 2, 1)])] == [3, None, 1]
    with pytest.raises(StoreError, match="seed 2 has left it"):
        list(store.require_all([(short, n) for n in (1, 2)]))
