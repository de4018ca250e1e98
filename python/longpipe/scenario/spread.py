"""Expands links with satellite routes into routers, stations' transmitters, and flows with changing routes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.core import core_fields
from longpipe.scenario.network import Node
from longpipe.scenario.over_satellites import PS_PER_NS
from longpipe.scenario.policies import TailDrop
from longpipe.scenario.schedulers import Fifo
from longpipe.units import RATE, TIME, seconds

if TYPE_CHECKING:
    from longpipe.satellites.ways import Ways
    from longpipe.scenario.constellations import Crossings, Sky

Resolved = dict[str, Any]
Gaps = list[list[int]]
# Time [ps] from which a flow's route and return route apply, and their links.
Change = tuple[int, list[int], list[int]]
# Rate of the link after a transmitter: the transmitter has already serialized the packet.
_AT_ONCE_BPS: Final = RATE.parse("10 Tbit/s")
# Fields that links of one constellation share.
_SHARED: Final = ("rate_bps", "buffer", "policy")


def spread(resolved: Resolved, over: Crossings) -> Resolved:
    """Returns a resolved scenario with nodes and links for all used routes. Raises ScenarioError for conflicts."""
    links = resolved["links"]
    kept = [k for k in range(len(links)) if k // 2 not in over.paths]
    build = _Build(over, [*resolved["nodes"]], [links[k] for k in kept], {k: index for index, k in enumerate(kept)})
    for number, (sky, ways) in enumerate(over.skies):
        build.add(links, number, sky, ways)
    ends_ps = resolved["duration_ps"] + 1
    routes = [build.rerouted(flow, ends_ps) for flow in resolved["flows"]]
    flows = [flow for flow, _ in routes]
    build.hold(flows, [gaps for _, gaps in routes])
    vbr = [{**source, "route": [build.kept[k] for k in source["route"]]} for source in resolved["vbr"]]
    return {**resolved, "nodes": build.nodes, "links": build.links, "flows": flows, "vbr": vbr}


@dataclass
class _Build:
    over: Crossings
    nodes: list[dict[str, Any]]
    links: list[dict[str, Any]]
    # New numbers of the remaining links, by their old numbers.
    kept: dict[int, int]
    positions: dict[str, int] = field(default_factory=dict)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    # For each link with satellite routes: the times [ps] of changes, and the new links in both directions, which are
    # empty if there is no route.
    ways: dict[int, list[tuple[int, list[int], list[int]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.positions = {node["name"]: index for index, node in enumerate(self.nodes)}

    def add(self, links: Sequence[dict[str, Any]], number: int, sky: Sky, ways: Ways) -> None:
        """Adds the routes of a constellation's links."""
        first = next(iter(sky.pairs))
        like = links[2 * first]
        for k in (k for i in sky.pairs for k in (2 * i, 2 * i + 1)):
            for name in _SHARED:
                if links[k][name] != like[name]:
                    field = f"{self.over.where[k // 2].removesuffix('.path')}.{name.removesuffix('_bps')}"
                    raise ScenarioError(f"{field}: differs between links; needs one value per constellation")
        sky_links = _SkyLinks(self, like, number, sky, ways)
        for i, own in zip(sky.pairs, ways.changes, strict=True):
            pair = sky.pairs[i]
            step_ps = TIME.parse(sky.key[2])
            self.ways[i] = [
                (step * step_ps, sky_links.along(pair, route), sky_links.along(pair[::-1], route[::-1]))
                for step, route in own
            ]

    def node(self, name: str) -> int:
        """Returns the number of a router, which is created if necessary."""
        if name not in self.positions:
            self.positions[name] = len(self.nodes)
            self.nodes.append(core_fields(Node(name=name, kind="switch"), without=("pep",)))
        return self.positions[name]

    def link(self, a: str, b: str, fields: dict[str, Any]) -> int:
        """Returns the link between two nodes, which is created if necessary."""
        if (a, b) not in self.numbers:
            self.numbers[a, b] = len(self.links)
            self.links.append({"from": self.node(a), "to": self.node(b), **fields})
        return self.numbers[a, b]

    def rerouted(self, flow: dict[str, Any], ends_ps: int) -> tuple[dict[str, Any], Gaps]:
        """Returns a flow over the new links, and the times without a route in which its packets wait."""
        both = (flow["route"], flow["return_route"])
        taken = dict.fromkeys(k // 2 for way in both for k in way if k // 2 in self.ways)
        if not taken:
            return {**flow, "route": self._way(both[0], 0), "return_route": self._way(both[1], 0)}, []
        paths = [self.over.paths[i] for i in taken]
        holds = {path.outages.arriving == "hold" for path in paths}
        policies = {path.rerouting for path in paths}
        if len(holds) > 1 or len(policies) > 1:
            named = " and ".join(self.over.where[i] for i in taken)
            raise ScenarioError(
                f"{named}: flow {flow['name']!r} takes both; they need the same rerouting and outages.arriving"
            )
        gaps: Gaps = []
        found: list[Change] = []
        for at_ps in sorted({at for i in taken for at, _, _ in self.ways[i]}):
            out = any(not self._at(i, at_ps)[1] for i in taken)
            if out and holds == {True}:
                if not gaps or gaps[-1][1] != at_ps:
                    gaps.append([at_ps, at_ps])
                gaps[-1][1] = ends_ps
                continue
            if gaps and gaps[-1][1] == ends_ps:
                gaps[-1][1] = at_ps
            there, back = (self._way(way, at_ps) for way in both)
            for way in (there, back):
                self._check(flow["name"], way, at_ps)
            if not found or [there, back] != list(found[-1][1:]):
                found.append((at_ps, there, back))
        found = self._from_whole(flow, found)
        changes = [{"at_ps": at, "route": there, "return_route": back} for at, there, back in found[1:]]
        rerouting = {"rerouting": {"under_way": policies.pop(), "changes": changes}} if changes else {}
        return {**flow, "route": found[0][1], "return_route": found[0][2], **rerouting}, gaps

    def _from_whole(self, flow: dict[str, Any], found: list[Change]) -> list[Change]:
        """Returns a flow's routes, the first of which leads to its receiver, as the core requires.

        If there is no route at the start, the first one is the next whole route; it ends before a packet reaches a
        router. Raises ScenarioError if no route is whole at any time.
        """
        last = self.kept[flow["route"][-1]]
        whole = next((route for route in found if route[1][-1] == last), None)
        if whole is None:
            raise ScenarioError(f"network: flow {flow['name']!r} has no whole route at any instant of the run")
        if whole is found[0]:
            return found
        return [(0, *whole[1:]), *((max(at, 1), there, back) for at, there, back in found)]

    def _at(self, i: int, at_ps: int) -> tuple[int, list[int], list[int]]:
        return next(way for way in reversed(self.ways[i]) if way[0] <= at_ps)

    def _way(self, way: Sequence[int], at_ps: int) -> list[int]:
        """Returns the links of a route at a given time, up to the first link without a route."""
        found: list[int] = []
        for k in way:
            if k // 2 not in self.ways:
                found.append(self.kept[k])
                continue
            _, there, back = self._at(k // 2, at_ps)
            over = back if k % 2 else there
            if not over:
                break
            found += over
        return found

    def _check(self, flow: str, way: list[int], at_ps: int) -> None:
        nodes = [self.links[k]["to"] for k in way]
        if len(set(nodes)) < len(nodes):
            twice = next(node for index, node in enumerate(nodes) if node in nodes[:index])
            raise ScenarioError(
                f"flow {flow!r}: passes {self.nodes[twice]['name']} twice at {seconds(at_ps)}; "
                "needs routes that pass each satellite at most once"
            )

    def hold(self, flows: list[dict[str, Any]], gaps: list[Gaps]) -> None:
        """Adds outages to hosts' interfaces for the times at which the flows that use them have no route."""
        where = f"{next(iter(self.over.where.values()))}.outages.arriving"
        users: dict[int, list[int]] = {}
        for number, flow in enumerate(flows):
            for k in (flow["route"][0], flow["return_route"][0]):
                users.setdefault(k, []).append(number)
        for k, own in users.items():
            intervals = gaps[own[0]]
            other = next((flows[number]["name"] for number in own if gaps[number] != intervals), None)
            if other is not None:
                name = self.nodes[self.links[k]["from"]]["name"]
                raise ScenarioError(
                    f"{where}: hold; {name!r} sends for {flows[own[0]]['name']!r} and {other!r}, which lack a route at "
                    f"different times: needs drop, or separate hosts"
                )
            if not intervals:
                continue
            if "motion" in self.links[k]:
                raise ScenarioError(f"{where}: hold; the host's own link is also time-varying: needs drop")
            waits = {"arriving": "hold", "waiting": "hold", "in_service": "deliver", "in_flight": "deliver"}
            motion = {"order": "fifo", "outages": {"intervals_ps": intervals, **waits}}
            self.links[k] = {**self.links[k], "motion": motion}


@dataclass
class _SkyLinks:
    """Links of a constellation, created as routes use them."""

    build: _Build
    like: dict[str, Any]
    number: int
    sky: Sky
    ways: Ways
    known: dict[tuple[tuple[str, str], tuple[int, ...]], list[int]] = field(default_factory=dict)

    def along(self, pair: tuple[str, str], route: tuple[int, ...]) -> list[int]:
        """Returns the links from one station over satellites to another; empty if there is no route."""
        if (pair, route) not in self.known:
            self.known[pair, route] = list(self._along(pair, route)) if route else []
        return self.known[pair, route]

    def _along(self, pair: tuple[str, str], route: tuple[int, ...]) -> Iterator[int]:
        stations = {node: -1 - i for i, node in enumerate(self.sky.stations)}
        first, last = route[0], route[-1]
        up, down = f"{pair[0]}-up{self._suffix}", f"{self._name(last)}-down"
        yield self.build.link(pair[0], up, self._sends(None))
        yield self.build.link(up, self._name(first), self._carries((stations[pair[0]], first)))
        for a, b in pairwise(route):
            yield self.build.link(self._name(a), self._name(b), self._sends((a, b)))
        yield self.build.link(self._name(last), down, self._sends(None))
        yield self.build.link(down, pair[1], self._carries((last, stations[pair[1]])))

    @property
    def _suffix(self) -> str:
        return "" if self.number == 0 else str(self.number + 1)

    def _name(self, satellite: int) -> str:
        return f"sat{self._suffix}-{satellite}"

    def _sends(self, hop: tuple[int, int] | None) -> dict[str, Any]:
        """Returns a link with a queue: a station's or satellite's transmitter, or an inter-satellite link."""
        fields = {**self.like, **({"delay_ps": 0} if hop is None else self._series_of(hop))}
        return {name: value for name, value in fields.items() if name not in ("from", "to")}

    def _carries(self, hop: tuple[int, int]) -> dict[str, Any]:
        """Returns a link between the ground and a satellite."""
        plain = {"buffer": None, "policy": core_fields(TailDrop()), "scheduler": core_fields(Fifo())}
        return {"rate_bps": _AT_ONCE_BPS, "loss": self.like["loss"], **plain, **self._series_of(hop)}

    def _series_of(self, hop: tuple[int, int]) -> dict[str, Any]:
        knots = self.ways.knots.get(hop) or self.ways.knots[hop[::-1]]
        step_ps = TIME.parse(self.sky.key[2])
        knots_ps = [[step * step_ps, PS_PER_NS * round(1e9 * delay_s)] for step, delay_s in knots]
        delay = {"knots_ps": knots_ps, "between": self.sky.key[3], "at": "end"}
        return {"delay_ps": max(knot[1] for knot in knots_ps), "motion": {"order": "fifo", "delay": delay}}
