"""Expands links with satellite routes into routers, stations' transmitters, and flows with changing routes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.constellations import has_own_downlink
from longpipe.scenario.core import core_fields
from longpipe.scenario.network import Node
from longpipe.scenario.over_satellites import PS, PS_PER_NS
from longpipe.scenario.points import Points
from longpipe.scenario.policies import TailDrop
from longpipe.scenario.schedulers import Fifo
from longpipe.scenario.series import intervals
from longpipe.units import RATE, seconds

if TYPE_CHECKING:
    from longpipe.satellites.ways import RouteChange, Ways
    from longpipe.scenario.constellations import Crossings, Sky

Resolved = dict[str, Any]
Gaps = list[list[int]]
# Time [ps] from which a flow's route and return route apply, and their links.
Change = tuple[int, list[int], list[int]]
# Time [ps] from which a link's routes in both directions apply, and their links, which are empty without a route.
RouteOfTime = tuple[int, list[int], list[int]]
# Rate of the link after a transmitter: the transmitter has already serialized the packet.
AT_ONCE_BPS: Final = RATE.parse("10 Tbit/s")
# Fields that the links of one constellation, or of one station, have in common.
_SHARED: Final = ("rate_bps", "buffer", "policy", "loss", "conditioners", "motion")
# Directed links of the scenario, with the settings of a kind of links of the graph; by the kind, and by the place of a
# station with settings of its own, or "".
ByKind = Mapping[tuple[str, str], Sequence[dict[str, Any]]]
_NO_LOSS: Final = {"kind": "none"}


def spread(resolved: Resolved, over: Crossings, by_kind: ByKind) -> Resolved:
    """Returns a resolved scenario with nodes and links for all used routes. Raises ScenarioError for conflicts."""
    links = resolved["links"]
    kept = [k for k in range(len(links)) if k // 2 not in over.paths]
    build = _Build(over, [*resolved["nodes"]], [links[k] for k in kept], {k: index for index, k in enumerate(kept)})
    ends_ps = resolved["duration_ps"] + 1
    for number, (sky, ways) in enumerate(over.skies):
        build.add(by_kind, number, sky, ways, ends_ps)
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
    ways: dict[int, list[RouteOfTime]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.positions = {node["name"]: index for index, node in enumerate(self.nodes)}

    def add(self, by_kind: ByKind, number: int, sky: Sky, ways: Ways, ends_ps: int) -> None:
        """Adds the routes of a constellation's links."""
        sky_links = _SkyLinks(self, by_kind, number, sky, ways)
        for row, (i, own) in enumerate(zip(sky.pairs, ways.changes, strict=True)):
            routes = [
                (change.step * sky.step_ps, sky_links.along(i, change), sky_links.along(i, change, back=True))
                for change in own
            ]
            gaps = [(round(begin * PS), round(end * PS)) for begin, end in ways.interruptions[row]]
            path = self.over.paths[i]
            timed = intervals(f"{self.over.where[i]}.outages", path.outages, Points(gaps), ends_ps)
            self.ways[i] = _interrupted(routes, timed) if timed else routes

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

    def _at(self, i: int, at_ps: int) -> RouteOfTime:
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


def _interrupted(routes: list[RouteOfTime], outages: Points) -> list[RouteOfTime]:
    """Returns routes with times without a route, which are ordered and disjoint."""
    cut: list[RouteOfTime] = []
    begins = [at for at, _, _ in routes]
    outside = [0, *(end for _, end in outages)]
    until = [*(begin for begin, _ in outages), None]
    for since, end in zip(outside, until, strict=True):
        current = routes[bisect_right(begins, since) - 1]
        later = [route for route in routes if since < route[0] and (end is None or route[0] < end)]
        if end is None or since < end:
            cut += [(since, *current[1:]), *later]
        if end is not None:
            cut.append((end, [], []))
    return cut


@dataclass
class _SkyLinks:
    """Links of a constellation, created as routes use them."""

    build: _Build
    by_kind: ByKind
    number: int
    sky: Sky
    ways: Ways
    # Fields of transmitters, by the station or kind that they serve, with the link that they come from.
    fields: dict[tuple[str, str], tuple[int, dict[str, Any]]] = field(default_factory=dict)
    known: dict[tuple[int, RouteChange, bool], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for i, (first, second) in self.sky.pairs.items():
            path = self.build.over.paths[i]
            stations = [(first, path.from_, 0), *((second, place, 1) for place in (path.to, *self.sky.gateways[i]))]
            for node, place, back in stations:
                self._set("uplink", self._label(node, place), place, 2 * i + back)
                self._set("downlink", self._beam(node, place), place, 2 * i + 1 - back)
            for back in (0, 1):
                self._set("crosslink", "", "", 2 * i + back)

    def _set(self, kind: str, user: str, place: str, k: int) -> None:
        """Stores the fields of a kind of links, as directed link `k` has them.

        Raises ScenarioError if another link of the scenario defines others.
        """
        i, own = k // 2, (kind, place)
        rows = self.by_kind[own if own in self.by_kind else (kind, "")]
        row = {name: value for name, value in rows[k].items() if name not in ("from", "to")}
        first, known = self.fields.setdefault((kind, user), (i, row))
        for name in _SHARED:
            if row.get(name) == known.get(name):
                continue
            if name == "buffer" and self._is_relative(i) and self._is_relative(first):
                # A buffer in BDP or as a time depends on the pair; the largest one serves all.
                if row["buffer"]["limit"] > known["buffer"]["limit"]:
                    self.fields[kind, user] = first, {**known, "buffer": row["buffer"]}
                continue
            where = f"{self.build.over.where[i].removesuffix('.path')}.{name.removesuffix('_bps')}"
            raise ScenarioError(f"{where}: differs between links; needs one value per constellation")

    def _is_relative(self, i: int) -> bool:
        return i in self.build.over.relative_buffers

    def along(self, i: int, change: RouteChange, *, back: bool = False) -> list[int]:
        """Returns the links of a pair's route from its first station to its second, or back; empty without a route."""
        if (i, change, back) not in self.known:
            self.known[i, change, back] = list(self._along(i, change, back=back)) if change.satellites else []
        return self.known[i, change, back]

    def _along(self, i: int, change: RouteChange, *, back: bool) -> Iterator[int]:
        (first, second), path = self.sky.pairs[i], self.build.over.paths[i]
        node, place = list(self.sky.stations)[change.end]
        ends = [(first, path.from_, self.sky.stations[first, path.from_]), (node, place, change.end)]
        gateway = self._label(node, place)
        ground_ps = self.sky.gateways[i].get(place)
        if back:
            ends, route = ends[::-1], change.satellites[::-1]
        else:
            route = change.satellites
        (sender, from_place, sending), (receiver, to_place, receiving) = ends
        source, target = self._label(sender, from_place), self._label(receiver, to_place)
        if back and ground_ps is not None:
            yield self.build.link(second, gateway, self._ground(ground_ps))
        up, down = f"{source}-up{self._suffix}", f"{self._name(route[-1])}-down{self._beam(receiver, to_place)}"
        uplink, downlink = self.fields["uplink", source][1], self.fields["downlink", self._beam(receiver, to_place)][1]
        yield self.build.link(source, up, self._sends(uplink))
        yield self.build.link(up, self._name(route[0]), self._carries((-1 - sending, route[0]), uplink["loss"]))
        for a, b in pairwise(route):
            fields = self.fields["crosslink", ""][1]
            yield self.build.link(self._name(a), self._name(b), self._between((a, b), fields))
        yield self.build.link(self._name(route[-1]), down, self._sends(downlink))
        yield self.build.link(down, target, self._carries((route[-1], -1 - receiving), downlink["loss"]))
        if not back and ground_ps is not None:
            yield self.build.link(gateway, second, self._ground(ground_ps))

    @property
    def _suffix(self) -> str:
        return "" if self.number == 0 else str(self.number + 1)

    def _name(self, satellite: int) -> str:
        return f"sat{self._suffix}-{satellite}"

    def _label(self, node: str, place: str) -> str:
        """Returns the name of a station's router: its node, or a router of its own if it is a further gateway."""
        gateways = [own for own in self.sky.stations if own[0] == node]
        number = gateways.index((node, place))
        return node if number == 0 else f"{node}-gateway{number + 1}"

    def _beam(self, node: str, place: str) -> str:
        """Returns the suffix of a transmitter that serves one station alone; "" for that of all stations."""
        return f"-{self._label(node, place)}" if has_own_downlink(self.sky.path, place) else ""

    def _sends(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Returns the link of a transmitter to the ground or to satellites, with its queue."""
        return {**fields, "delay_ps": 0, "loss": _NO_LOSS}

    def _between(self, hop: tuple[int, int], fields: dict[str, Any]) -> dict[str, Any]:
        """Returns a link between two satellites, with its queue."""
        series = self._series_of(hop)
        return {**fields, **series, "motion": {**fields.get("motion", {}), **series["motion"]}}

    def _carries(self, hop: tuple[int, int], loss: dict[str, Any]) -> dict[str, Any]:
        """Returns a radio link between the ground and a satellite, behind its transmitter."""
        plain = {"buffer": None, "policy": core_fields(TailDrop()), "scheduler": core_fields(Fifo())}
        return {"rate_bps": AT_ONCE_BPS, "loss": loss, **plain, **self._series_of(hop)}

    def _ground(self, delay_ps: int) -> dict[str, Any]:
        """Returns a link between a gateway and the node behind it."""
        plain = {"buffer": None, "policy": core_fields(TailDrop()), "scheduler": core_fields(Fifo())}
        return {"rate_bps": AT_ONCE_BPS, "loss": _NO_LOSS, "delay_ps": delay_ps, **plain}

    def _series_of(self, hop: tuple[int, int]) -> dict[str, Any]:
        knots = self.ways.knots.get(hop) or self.ways.knots[hop[::-1]]
        step_ps = self.sky.step_ps
        knots_ps = [[step * step_ps, PS_PER_NS * round(1e9 * delay_s)] for step, delay_s in knots]
        delay = {"knots_ps": knots_ps, "between": self.sky.path.between, "at": "end"}
        return {"delay_ps": max(knot[1] for knot in knots_ps), "motion": {"order": "fifo", "delay": delay}}
