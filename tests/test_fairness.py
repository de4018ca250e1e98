"""Fairness among flows with equal or different demands."""

import math

import pytest

from graphs import as_graph
from longpipe import Scenario, simulate
from longpipe.cli.run.tables import show
from longpipe.metrics.atm_forum import fairness
from longpipe.metrics.shares import max_min_shares
from longpipe_evidence.papers.text import text_of


def test_max_min_shares_over_several_links() -> None:
    # Three flows on one link get a third each; a flow over two links gets the smaller of two shares, and leaves the
    # rest to others.
    routes = [(0, 1, 2), (1, 2), (2,), (0,)]
    assert max_min_shares([math.inf] * 4, [1, 1, 1], routes) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert max_min_shares([math.inf] * 3, [10, 4], [(0, 1), (0,), (1,)]) == pytest.approx([2, 8, 2])
    assert max_min_shares([1, math.inf, math.inf], [10, 4], [(0, 1), (0,), (1,)]) == pytest.approx([1, 9, 3])


@pytest.fixture
def mixed() -> Scenario:
    return Scenario.example("web-and-bulk").with_(duration="20 s")


def test_satisfied_web_user_has_its_share(mixed: Scenario) -> None:
    group = [{"name": "web", "traffic": "web"}, {"name": "bulk"}]
    beside = mixed.with_(**{"network.group": group, "network.trunk_delay": "5 ms"})
    result = simulate(beside)
    assert result.limits["limited_by"].tolist()[0] == "application"
    assert fairness(result.throughputs_bps) < 0.6
    assert result.fairness > 0.95
    assert result.demands_differ
    assert "relative to the max-min fair shares of the demands" in text_of(lambda console: show(result, console))


def test_files_of_several_lengths_over_a_graph(mixed: Scenario) -> None:
    short = {"name": "short", "traffic": {"kind": "transfer", "size": "1 MB"}}
    dumbbell = mixed.with_(**{"network.group": [short, {"name": "bulk"}], "network.trunk_delay": "5 ms"})
    one, graph = simulate(dumbbell), simulate(dumbbell.with_(network=as_graph(dumbbell.network)))
    assert one.fairness > 0.95
    assert graph.fairness == pytest.approx(one.fairness)


def test_equal_flows_have_the_index_of_their_throughputs(mixed: Scenario) -> None:
    result = simulate(Scenario.example("fiber").with_(duration="2 s"))
    assert not result.demands_differ
    assert result.fairness == fairness(result.throughputs_bps)


def test_tcp_shares_capacity_left_by_datagrams(mixed: Scenario) -> None:
    groups = [
        {"name": "back", "direction": "back"},
        {"name": "voice", "traffic": "voice"},
        {"name": "web", "traffic": "web"},
        {"name": "bulk"},
    ]
    result = simulate(mixed.with_(**{"network.group": groups, "network.trunk_delay": "5 ms", "duration": "10 s"}))
    assert result.demands_differ
    assert fairness(result.throughputs_bps) < 0.6
    assert result.fairness > 0.85
