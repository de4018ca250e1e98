"""Links of a graph that represent routes over satellites: checks, and computation of the routes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError, nearest
from longpipe.inputs import read_lines, reads
from longpipe.inputs.notes import keep
from longpipe.scenario.motion import OwnSatellites, Satellites
from longpipe.scenario.network import Graph, Link
from longpipe.scenario.over_satellites import PS, PS_PER_NS, constellation_of_elements, constellation_of_shell, stamp
from longpipe.scenario.route_links import Handover, RouteLink
from longpipe.scenario.shell_begin import begin_ps
from longpipe.scenario.variations import MAX_STEPS, Outages
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.handovers import HandoverRule
    from longpipe.satellites.ways import Ways
    from longpipe.scenario.buffers import Framing
    from longpipe.scenario.network import Network

AnySatellites = Satellites | OwnSatellites
# Fields that a link with satellite routes must not have.
_ALONE: Final = (
    "return_rate", "return_delay", "return_buffer", "return_policy", "return_path", "access", "return_access",
)  # fmt: skip
# Fields of a path that only a graph has, and of which each pair of stations has its own.
_OF_GRAPH: Final = ("rerouting", "uplink", "downlink", "crosslink", "handover", "stations", "gateways", "failures")
# Fields that determine which satellites links share, and further ones that these links need to have in common.
_OF_CONSTELLATION: Final = (
    "kind", "shell", "elements", "begin", "step", "between", "least_elevation", "link_range", "links",
)  # fmt: skip
_IN_COMMON: Final = ("uplink", "downlink", "crosslink", "handover", "stations", "failures")
# Kinds of links of a graph, which are fields of a path.
KINDS: Final = ("uplink", "downlink", "crosslink")


@dataclass(frozen=True)
class Sky:
    """A constellation shared by some links, with their pairs of stations by link number.

    A station is identified by its node and its place; the stations of a pair are those of the first node, and those
    that lead to the second node.
    """

    # The first link's path.
    path: AnySatellites
    stations: dict[tuple[str, str], int] = field(default_factory=dict)
    pairs: dict[int, tuple[str, str]] = field(default_factory=dict)
    # Gateways of each pair besides the station of the path, by place, with the delay on the ground [ps].
    gateways: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def step_ps(self) -> int:
        """Returns the interval between two steps [ps]."""
        return TIME.parse(self.path.step)


@dataclass(frozen=True)
class Crossings:
    """Links with satellite routes, by number; each with its path, the name of its field, and the longest delay."""

    paths: dict[int, AnySatellites]
    where: dict[int, str]
    longest_ps: dict[int, int]
    skies: tuple[tuple[Sky, Ways], ...]
    # Links whose buffers are given in BDP or as a time.
    relative_buffers: frozenset[int]

    def kinds(self) -> Iterator[tuple[str, str, dict[int, RouteLink]]]:
        """Yields each kind of links with the settings of each link; then those of stations, by place."""
        for kind in KINDS:
            common = {i: getattr(path, kind) for i, path in self.paths.items() if getattr(path, kind) is not None}
            yield kind, "", common
            for sky, _ in self.skies:
                for station in sky.path.stations:
                    if (own := getattr(station, kind, None)) is not None:
                        yield kind, station.place, dict.fromkeys(sky.pairs, own)


def crossings(network: Network, links: Mapping[int, Link], framing: Framing, duration: str, buffer: str) -> Crossings:
    """Returns the links of a network with satellite routes for a run of this duration. Raises ScenarioError.

    `buffer` is that of links without one of their own.
    """
    hosts = {node.name for node in network.nodes if node.kind == "host"} if isinstance(network, Graph) else set()
    where = {i: f"network.links[{i}]" if isinstance(network, Graph) else "network" for i in links}
    paths = {i: path for i, link in links.items() if (path := _as_graph(where[i], link)) is not None}
    where = {i: f"{where[i]}.path" for i in paths}
    if paths and framing == "aal5":
        raise ScenarioError(f"{next(iter(where.values()))}: satellites; carries packets, needs framing 'ip'")
    skies: dict[tuple[object, ...], Sky] = {}
    places: dict[tuple[object, str], str] = {}
    for i, path in paths.items():
        _check(where[i], path, links[i], hosts)
        key = tuple(getattr(path, name, None) for name in _OF_CONSTELLATION)
        sky = skies.setdefault(key, Sky(path))
        for name in _IN_COMMON:
            if getattr(path, name) != getattr(sky.path, name):
                raise ScenarioError(f"{where[i]}.{name}: differs between links; needs one value per constellation")
        first, second = links[i].between
        for node, place in ((first, path.from_), (second, path.to)):
            if (known := places.setdefault((key, node), place)) != place:
                raise ScenarioError(f"{where[i]}: {node} at {place!r}; another link has it at {known!r}")
        sky.gateways[i] = {gateway.place: TIME.parse(gateway.delay) for gateway in path.gateways}
        for station in ((first, path.from_), (second, path.to), *((second, place) for place in sky.gateways[i])):
            sky.stations.setdefault(station, len(sky.stations))
        sky.pairs[i] = first, second
    longest_ps: dict[int, int] = {}
    found = []
    for sky in skies.values():
        ways = _ways(where[next(iter(sky.pairs))], sky, paths, TIME.parse(duration))
        found.append((sky, ways))
        longest_ps |= {
            i: PS_PER_NS * round(1e9 * longest_s) for i, longest_s in zip(sky.pairs, ways.longest_s, strict=True)
        }
    relative = frozenset(i for i in paths if (links[i].buffer or buffer).split()[-1] in ("BDP", *TIME.units))
    return Crossings(paths, where, longest_ps, tuple(found), relative)


def has_own_downlink(path: AnySatellites, place: str) -> bool:
    """Returns whether satellites have a transmitter of their own for a station."""
    return any(station.place == place and station.downlink is not None for station in path.stations)


def _as_graph(where: str, link: Link) -> AnySatellites | None:
    """Returns the path of a link with satellite routes, or None."""
    for name, path in (("return_path", link.return_path), ("path", link.path)):
        if not isinstance(path, AnySatellites):
            continue
        if path.as_ == "link":
            for own in _OF_GRAPH:
                if (value := getattr(path, own)) != type(path).model_fields[own].default:
                    shown = value if isinstance(value, str) else "set"
                    raise ScenarioError(f"{where}.{name}.{own}: {shown}; needs as = 'graph'")
        if path.as_ == "graph":
            if name == "return_path":
                raise ScenarioError(
                    f"{where}.return_path.as: graph; needs a path that is a graph, too; it leads both ways"
                )
            return path
    return None


def _check(where: str, path: AnySatellites, link: Link, hosts: Collection[str]) -> None:
    """Raises ScenarioError for fields that do not fit changing routes."""
    for node in link.between:
        if node in hosts:
            raise ScenarioError(f"{where}.as: graph, at {node!r}, a host; needs switches, which represent stations")
    for name in _ALONE:
        if getattr(link, name) is not None:
            raise ScenarioError(f"{where}.as: graph, with {name}; needs links that are equal in both directions")
    if link.loss.kind != "none" or link.return_loss.kind != "none":
        raise ScenarioError(
            f"{where}.as: graph, with a loss; needs path.uplink.loss, path.downlink.loss or path.crosslink.loss"
        )
    if link.conditioners or link.return_conditioners:
        raise ScenarioError(
            f"{where}.as: graph, with conditioners; needs path.uplink.conditioners, or those of another kind of links"
        )
    _check_path(where, path)


def _check_path(where: str, path: AnySatellites) -> None:
    """Raises ScenarioError for fields of a path that a graph does not accept, and for repeated stations."""
    if path.at == "start":
        raise ScenarioError(f"{where}.at: start; a graph needs end")
    if path.order == "fifo":
        raise ScenarioError(f"{where}.order: fifo; a graph needs free, because routes differ in length")
    for name in ("waiting", "in_service", "in_flight"):
        if getattr(path.outages, name) == Outages.model_fields[name].default:
            continue
        raise ScenarioError(
            f"{where}.outages.{name}: {getattr(path.outages, name)}; a graph, in which outages are times without a "
            "route, accepts only arriving; uplink.variation.outages accepts it"
        )
    known = (path.from_, path.to, *(gateway.place for gateway in path.gateways))
    for i, station in enumerate(path.stations):
        if [other.place for other in path.stations].count(station.place) > 1:
            raise ScenarioError(f"{where}.stations[{i}].place: {station.place!r}; needs each station once")
    for i, gateway in enumerate(path.gateways):
        if known.count(gateway.place) > 1:
            raise ScenarioError(
                f"{where}.gateways[{i}].place: {gateway.place!r}; needs other stations than from and to"
            )


def _ways(where: str, sky: Sky, paths: Mapping[int, AnySatellites], duration_ps: int) -> Ways:
    step_ps = sky.step_ps
    if duration_ps // step_ps > MAX_STEPS:
        steps = f"{duration_ps // step_ps} steps of {sky.path.step}"
        raise ScenarioError(f"{where}.step: {steps}; needs at most {MAX_STEPS}")
    places = tuple(place for _, place in sky.stations)
    for i, station in enumerate(sky.path.stations):
        if station.place not in places:
            raise ScenarioError(f"{where}.stations[{i}].place: {station.place!r}; {nearest(station.place, places)}")
    pairs = []
    for i, (first, second) in sky.pairs.items():
        ends = [(sky.stations[second, paths[i].to], 0.0)]
        ends += [(sky.stations[second, place], delay / PS) for place, delay in sky.gateways[i].items()]
        pairs.append((sky.stations[first, paths[i].from_], tuple(ends)))
    files = _tables(sky.path)
    if isinstance(sky.path, OwnSatellites):
        files += [sky.path.elements, *([sky.path.links] if sky.path.links not in (None, "grid") else [])]
    stamps = tuple(map(stamp, files))
    try:
        path = sky.path.model_copy(update={"from_": "", "to": "", "outages": Outages.unchecked(), "gateways": ()})
        ways = _over_satellites(path, stamps, places, tuple(pairs), step_ps, duration_ps // step_ps + 2)
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None
    for file in files:
        reads.note(file)
    return ways


def _tables(path: AnySatellites) -> list[str]:
    """Returns the files of handovers."""
    handovers = [path.handover, *(station.handover for station in path.stations if station.handover is not None)]
    return [handover.table for handover in handovers if handover.table is not None]


@lru_cache(maxsize=16)
def _over_satellites(
    path: AnySatellites,
    stamps: tuple[tuple[int, int], ...],
    places: Sequence[str],
    pairs: Sequence[tuple[int, tuple[tuple[int, float], ...]]],
    step_ps: int,
    count: int,
) -> Ways:
    """Computes the routes; `stamps` identify the contents of the files that the path names."""
    from dataclasses import replace

    from longpipe.satellites.stations import station
    from longpipe.satellites.ways import Conditions, Failure, StationPair, ways

    if isinstance(path, Satellites):
        constellation, begin_s = constellation_of_shell(path.shell), begin_ps(path.begin) / PS
    else:
        (constellation, notes), begin_s = constellation_of_elements(path), 0.0
        keep(path.elements, notes)
    end_s = count * step_ps / PS
    own = {settings.place: settings for settings in path.stations}
    stations = []
    failures: list[Failure] = []
    handovers: list[HandoverRule] = []
    gaps: list[tuple[int, float]] = []
    for number, place in enumerate(places):
        settings = own.get(place)
        elevation = path.least_elevation if isinstance(path, Satellites) else None
        handover = path.handover
        if settings is not None:
            elevation = elevation if settings.least_elevation is None else settings.least_elevation
            handover = handover if settings.handover is None else settings.handover
            failures += [
                Failure(number, TIME.parse(begin) / PS, TIME.parse(end) / PS) for begin, end in settings.outages
            ]
        stations.append(replace(station(place), least_elevation_deg=elevation))
        if handover.gap is not None:
            gaps.append((number, TIME.parse(handover.gap) / PS))
        if (rule := _rule(number, handover, constellation)) is not None:
            handovers.append(rule)
    lost = tuple(
        Failure(
            constellation.number_of(failure.satellite),
            TIME.parse(failure.begin) / PS,
            end_s if failure.end is None else TIME.parse(failure.end) / PS,
        )
        for failure in path.failures
    )
    conditions = Conditions(lost, tuple(failures), tuple(handovers), tuple(gaps))
    return ways(
        constellation, stations, [StationPair(*pair) for pair in pairs], begin_s, step_ps / PS, count, conditions
    )


def _rule(number: int, handover: Handover, constellation: Constellation) -> HandoverRule | None:
    """Returns the rule of a station; None if each pair of stations uses its shortest route."""
    from longpipe.satellites.handovers import HandoverRule

    if handover.rule == "shortest-route":
        if handover.dwell is not None:
            raise ScenarioError(
                "handover.dwell: with the rule shortest-route; needs nearest, highest or longest-visible"
            )
        return None
    dwell_s = 0.0 if handover.dwell is None else TIME.parse(handover.dwell) / PS
    table = () if handover.table is None else tuple(_table(handover.table, constellation))
    if (handover.rule == "table") != bool(table):
        raise ScenarioError(f"handover.table: with the rule {handover.rule}; needs the rule table and a file")
    return HandoverRule(number, handover.rule, dwell_s, table)


def _table(file: str, constellation: Constellation) -> list[tuple[float, int]]:
    """Reads times [s] and satellites of a CSV file, whose first line may be a heading. Raises ScenarioError."""
    rows: list[tuple[float, int]] = []
    needs = "time and satellite, as in 15.0,184"
    for number, line in enumerate(read_lines(Path(file), needs), 1):
        time, comma, satellite = (word.strip() for word in line.partition(","))
        if not line.strip() or (number == 1 and time == "time"):
            continue
        try:
            rows.append((float(time), constellation.number_of(satellite)))
        except ValueError:
            raise ScenarioError(f"{file}:{number}: {line[:40]!r}; needs {needs}") from None
        except ScenarioError as error:
            raise ScenarioError(f"{file}:{number}: {error}") from None
        if not comma or (len(rows) > 1 and rows[-1][0] <= rows[-2][0]):
            raise ScenarioError(f"{file}:{number}: {line[:40]!r}; needs {needs}, in increasing order")
    return rows
