"""The named remedy raises the goodput: random scenarios of every kind, and inputs whose limit is known."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from longpipe import Scenario, simulate
from longpipe.cautions.cautions import cautions
from longpipe.verdicts.limits import MEANINGS, Remedy
from remedies import WITHOUT, Judged, judged
from thorough import THOROUGH, one_in

SCENARIOS: Final = 2000
# Share of the flows with a remedy whose goodput rises: `python tests/remedies.py` prints 94.9 %. A sample has fewer
# flows, so that its share varies.
HELPED: Final = 0.94 if THOROUGH else 0.92
# Share of flows whose limit is not determined, at most; and number of flows for each limit, at least.
UNDETERMINED: Final = 0.1
OCCURS: Final = 20


@cache
def flows() -> list[Judged]:
    return [one for number in one_in(25, range(SCENARIOS)) for one in judged(number)]


def test_named_remedies_raise_the_goodput() -> None:
    named = [one for one in flows() if one.limit not in WITHOUT]
    assert sum(one.helps for one in named) >= HELPED * len(named)


def test_limits_with_a_remedy_name_one() -> None:
    assert all(one.named for one in flows() if one.limit not in WITHOUT)
    assert not any(one.named for one in flows() if one.limit in WITHOUT)


def test_few_limits_are_not_determined() -> None:
    undetermined = {(one.number, one.flow) for one in flows() if one.limit == "not determined"}
    assert len(undetermined) <= UNDETERMINED * len(flows())
    lines = (Path(__file__).parent / "data" / "limits-that-helped.txt").read_text().splitlines()
    helped = {(int(number), flow) for line in lines[1:] for number, *names in [line.split()] for flow in names}
    assert not undetermined & helped


@pytest.mark.skipif(not THOROUGH, reason="a sample does not contain every limit")
def test_every_limit_occurs() -> None:
    counts = Counter(one.limit for one in flows())
    assert [limit for limit in MEANINGS if limit != "-" and counts[limit] < OCCURS] == []


WINDOW: Final = """
framing = "ip"
duration = "30 s"
switch = { buffer = "1 BDP" }
tcp = { profile = "linux-6", receiver_window = "1448 B" }
[network]
kind = "dumbbell"
sources = 1
access_rate = "1 Gbit/s"
trunk_rate = "20 Mbit/s"
trunk_delay = "20 ms"
"""


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_window_of_few_segments_limits_despite_delayed_acks(segments: int) -> None:
    """The receiver delays the ACK of a segment that no second one follows, so that less than a window is in flight."""
    scenario = Scenario.from_toml(WINDOW).with_(**{"tcp.receiver_window": f"{1448 * segments} B"})
    before = simulate(scenario)
    (found,) = before.flow_limits
    assert found.limited_by == "window"
    assert found.remedy == Remedy("tcp.receiver_window", f"{1448 * max(segments + 2, 2 * segments)} B")
    assert simulate(found.remedy.applied_to(scenario)).total_bps > 1.05 * before.total_bps
    row = before.limits.to_dict("records")[0]
    assert scenario.with_(**{row["remedy_field"]: row["remedy_value"]}) == found.remedy.applied_to(scenario)


@pytest.mark.parametrize("kind", ["tbf", "policer"])
@pytest.mark.parametrize("traffic", [{"kind": "cbr", "rate": "5 Mbit/s", "payload": "1472 B"}, "greedy"])
@pytest.mark.parametrize("small", [{"mtu": "1000 B"}, {"burst": "1000 B"}, {"mtu": "1000 B", "burst": "1200 B"}])
def test_bucket_below_a_packet_is_the_limit(kind: str, traffic: object, small: dict[str, str]) -> None:
    bucket = {"kind": kind, "rate": "10 Mbit/s", "burst": "10 KB", **small}
    scenario = Scenario.from_toml(WINDOW).with_(
        **{"traffic": traffic, "network.conditioners": [bucket], "tcp.receiver_window": "auto", "duration": "10 s"}
    )
    (found,) = simulate(scenario).flow_limits
    assert found.limited_by == {"tbf": "shaper"}.get(kind, kind)
    assert any(f"{kind} with a" in line and "drops all packets of 1500 B" in line for line in cautions(scenario))
    assert found.remedy is not None
    after = found.remedy.applied_to(scenario)
    assert simulate(after).total_bps > 0
    assert not any("drops all packets" in line for line in cautions(after))


@pytest.mark.parametrize("arriving", ["hold", "drop"])
@pytest.mark.parametrize("last", ["50 s", "60 s"])
def test_outage_limits_whether_it_holds_or_drops(arriving: str, last: str) -> None:
    """An outage that holds packets fills the queue, so that it causes overflows."""
    outages = {"intervals": [["12 s", last]], "arriving": arriving}
    path = {"network.path": {"kind": "moving", "outages": outages}, "tcp.receiver_window": "auto", "duration": "60 s"}
    scenario = Scenario.from_toml(WINDOW).with_(**path)
    before = simulate(scenario)
    (found,) = before.flow_limits
    assert found.limited_by == "outage"
    assert found.remedy == Remedy("network.path.outages", {})
    assert simulate(found.remedy.applied_to(scenario)).total_bps > 1.05 * before.total_bps


# Paris and London see no common satellite of this shell for 347 of 600 s, and Paris and Madrid for 376 s.
SHELL: Final = {"shell": "24x4:550:53:10", "from": "Paris", "step": "1 s"}


@pytest.mark.parametrize("of", ["link", "graph"])
@pytest.mark.parametrize("arriving", ["hold", "drop"])
@pytest.mark.parametrize("buffer", ["101 packets", "1 BDP"])
def test_missing_route_limits_whether_packets_wait_or_drop(of: str, arriving: str, buffer: str) -> None:
    path = {**SHELL, "to": "London", "as": of, "outages": {"arriving": arriving}}
    changes = {"network.path": path, "tcp.receiver_window": "auto", "duration": "600 s", "switch.buffer": buffer}
    scenario = Scenario.from_toml(WINDOW).with_(**changes)
    before = simulate(scenario)
    (found,) = before.flow_limits
    assert found.limited_by == "outage"
    assert found.remedy is not None
    assert found.remedy.field == "network.path"
    assert simulate(found.remedy.applied_to(scenario)).total_bps > 1.05 * before.total_bps


@pytest.mark.parametrize(("of", "arriving"), [("link", "hold"), ("link", "drop"), ("graph", "drop")])
def test_missing_routes_to_two_gateways_limit_flows_of_each(of: str, arriving: str) -> None:
    hosts = {"user": "terminal", "london": "gateway1", "madrid": "gateway2"}
    links: list[dict[str, object]] = [
        {"between": [host, switch], "rate": "1 Gbit/s", "delay": "1 ms"} for host, switch in hosts.items()
    ]
    links += [
        {
            "between": ["terminal", gateway],
            "rate": "10 Mbit/s",
            "delay": "20 ms",
            "path": {**SHELL, "to": city, "as": of, "outages": {"arriving": arriving}},
        }
        for gateway, city in (("gateway1", "London"), ("gateway2", "Madrid"))
    ]
    nodes = [{"name": name, "kind": "host"} for name in hosts]
    nodes += [{"name": name, "kind": "switch"} for name in hosts.values()]
    flows = [{"name": f"to-{to}", "from": "user", "to": to} for to in ("london", "madrid")]
    scenario = Scenario(
        defaults="1996",
        framing="ip",
        duration="600 s",
        network={"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
        switch={"buffer": "1 BDP"},
        tcp={"profile": "linux-6"},
    )
    before = simulate(scenario)
    fields = [found.remedy and found.remedy.field for found in before.flow_limits]
    assert [found.limited_by for found in before.flow_limits] == ["outage", "outage"]
    assert fields == ["network.links.3.path", "network.links.4.path"]
    for number, found in enumerate(before.flow_limits):
        assert found.remedy is not None
        after = simulate(found.remedy.applied_to(scenario))
        assert after.throughputs_bps[number] > 1.05 * before.throughputs_bps[number]


def test_default_rate_that_limits_is_named_before_the_run() -> None:
    scenario = Scenario.from_toml(WINDOW.replace('access_rate = "1 Gbit/s"\n', "").replace("20 Mbit/s", "1 Gbit/s"))
    (line,) = [line for line in cautions(scenario) if line.startswith("network.access_rate")]
    assert line.startswith("network.access_rate: the default, 155.52 Mbit/s, limits flow1")
    assert not any(": the default" in line for line in cautions(Scenario.from_toml(WINDOW)))
    (found,) = simulate(scenario.with_(**{"tcp.receiver_window": "auto", "duration": "5 s"})).flow_limits
    assert (found.limited_by, found.remedy) == ("link", Remedy("network.access_rate", "1 Gbit/s"))
