"""Copies of a scenario share results that depend on unchanged parts, and equal scenarios that share nothing."""

import gc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpipe import Scenario, ScenarioError
from longpipe.scenario import Dumbbell, Tcp
from longpipe.scenario.identity_cache import by_identity
from strategies import scenarios

CHANGES: list[dict[str, Any]] = [
    {"duration": "11 s"},
    {"framing": "aal5"},
    {"switch.buffer": "unlimited"},
    {"tcp.mss": "900 B"},
    {"tcp.receiver_window": "auto"},
    {"network.trunk_delay": "3 ms"},
    {"network.group": [{"name": "a", "count": 2}, {"name": "b", "tcp": {"mss": "700 B"}}]},
    {"network.pep": {"at": "switch1", "buffer": "1 MB"}},
    {"start": {"kind": "staggered", "interval": "1 ms"}},
    {"traffic": "web"},
]


@settings(max_examples=30, deadline=None)
@given(st.permutations(CHANGES), st.sampled_from(["ip", "aal5"]))
def test_changed_copies_have_the_digest_of_the_scenario_in_their_file(
    changes: list[dict[str, Any]], framing: str
) -> None:
    scenario = Scenario(defaults="1996").with_(framing=framing)
    for change in changes:
        # Some changes exclude each other, such as a framing and the unit of a buffer.
        with suppress(ScenarioError):
            scenario = scenario.with_(**change)
        assert Scenario.from_toml(scenario.to_toml()).digest() == scenario.digest()


@settings(max_examples=50, deadline=None)
@given(scenarios())
def test_random_scenarios_keep_their_digest_in_copies_with_another_name(scenario: Scenario) -> None:
    scenario.with_(name="other")
    assert scenario.with_(name="another").digest() == scenario.digest()


def test_unchanged_network_and_connection_are_shared() -> None:
    scenario = Scenario(defaults="1996", network=Dumbbell(sources=2), tcp=Tcp(mss="900 B"))
    changed = scenario.with_(duration="11 s")
    assert changed.network is scenario.network
    assert changed.tcp is scenario.tcp
    assert scenario.with_(**{"tcp.mss": "800 B"}).network is scenario.network


@pytest.mark.parametrize("name", ["flows", "links"])
def test_changing_the_result_of_resolve_does_not_change_the_scenario(name: str) -> None:
    scenario = Scenario(defaults="1996")
    before = scenario.with_(duration="11 s").digest()
    row = scenario.resolve()[name][0]
    for table in row.values():
        if isinstance(table, dict):
            table.clear()
    assert scenario.with_(duration="11 s").digest() == before


def test_results_are_cached_once_per_part() -> None:
    calls = []

    @by_identity
    def mss(tcp: Tcp) -> str:
        calls.append(tcp.mss)
        return tcp.mss

    tcp, equal = Tcp(mss="900 B"), Tcp(mss="900 B")
    assert [mss(tcp), mss(tcp), mss(equal)] == ["900 B"] * 3
    assert len(calls) == 2
    del tcp
    gc.collect()
    # Parts that get the address of a dead one have results of their own.
    for number in range(100, 200):
        assert mss(Tcp(mss=f"{number} B")) == f"{number} B"
