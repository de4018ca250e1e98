"""Links of a graph that represent routes over satellites: checks, and computation of the routes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.motion import MAX_STEPS, Outages, Satellites
from longpipe.scenario.network import Graph, Link
from longpipe.scenario.over_satellites import PS, PS_PER_NS
from longpipe.scenario.shell_begin import begin_ps
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.satellites.ways import Ways
    from longpipe.scenario.buffers import Framing
    from longpipe.scenario.network import Network

# Fields that a link with satellite routes must not have.
_ALONE: Final = ("return_rate", "return_delay", "return_buffer", "return_policy", "return_path")


@dataclass(frozen=True)
class Sky:
    """A constellation shared by some links, with their pairs of stations by link number."""

    # Shell, begin, step, and interpolation of delays, as texts.
    key: tuple[str, str, str, str]
    stations: dict[str, str] = field(default_factory=dict)
    pairs: dict[int, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Crossings:
    """Links with satellite routes, by number; each with its path, the name of its field, and the longest delay."""

    paths: dict[int, Satellites]
    where: dict[int, str]
    longest_ps: dict[int, int]
    skies: tuple[tuple[Sky, Ways], ...]


def crossings(network: Network, links: Mapping[int, Link], framing: Framing, duration: str) -> Crossings:
    """Returns the links of a network with satellite routes for a run of this duration. Raises ScenarioError."""
    hosts = {node.name for node in network.nodes if node.kind == "host"} if isinstance(network, Graph) else set()
    where = {i: f"network.links[{i}]" if isinstance(network, Graph) else "network" for i in links}
    paths = {i: path for i, link in links.items() if (path := _as_graph(where[i], link)) is not None}
    where = {i: f"{where[i]}.path" for i in paths}
    if paths and framing == "aal5":
        raise ScenarioError(f"{next(iter(where.values()))}: satellites; carries packets, needs framing 'ip'")
    skies: dict[tuple[str, str, str, str], Sky] = {}
    for i, path in paths.items():
        link = links[i]
        _check(where[i], path, link, hosts)
        key = (path.shell, path.begin, path.step, path.between)
        sky = skies.setdefault(key, Sky(key))
        for node, place in zip(link.between, (path.from_, path.to), strict=True):
            if sky.stations.setdefault(node, place) != place:
                raise ScenarioError(f"{where[i]}: {node} at {place!r}; is at {sky.stations[node]!r} for another link")
        sky.pairs[i] = link.between
    longest_ps: dict[int, int] = {}
    found = []
    for sky in skies.values():
        ways = _ways(where[next(iter(sky.pairs))], sky, TIME.parse(duration))
        found.append((sky, ways))
        longest_ps |= {
            i: PS_PER_NS * round(1e9 * longest_s) for i, longest_s in zip(sky.pairs, ways.longest_s, strict=True)
        }
    return Crossings(paths, where, longest_ps, tuple(found))


def _as_graph(where: str, link: Link) -> Satellites | None:
    """Returns the path of a link with satellite routes, or None."""
    for name, path in (("return_path", link.return_path), ("path", link.path)):
        if not isinstance(path, Satellites):
            continue
        if path.as_ == "link" and path.rerouting != "keep":
            raise ScenarioError(f"{where}.{name}.rerouting: {path.rerouting}; needs as = 'graph'")
        if path.as_ == "graph":
            if name == "return_path":
                raise ScenarioError(
                    f"{where}.return_path.as: graph; needs a path that is a graph, too; it leads both ways"
                )
            return path
    return None


def _check(where: str, path: Satellites, link: Link, hosts: Collection[str]) -> None:
    """Raises ScenarioError for fields that do not fit changing routes."""
    for node in link.between:
        if node in hosts:
            raise ScenarioError(f"{where}.as: graph, at {node!r}, a host; needs switches, which represent stations")
    for name in _ALONE:
        if getattr(link, name) is not None:
            raise ScenarioError(f"{where}.as: graph, with {name}; needs links that are equal in both directions")
    if link.loss.kind != "none" or link.return_loss.kind != "none":
        raise ScenarioError(f"{where}.as: graph, with a loss; needs losses of other links, or as = 'link'")
    if path.at == "start":
        raise ScenarioError(f"{where}.at: start; a graph needs end")
    if path.order == "fifo":
        raise ScenarioError(f"{where}.order: fifo; a graph needs free, because routes differ in length")
    if path.outages.model_copy(update={"arriving": "hold"}) != Outages():
        raise ScenarioError(f"{where}.outages: a graph accepts only arriving, for times without a route")


def _ways(where: str, sky: Sky, duration_ps: int) -> Ways:
    shell, begin, step, _ = sky.key
    number = {node: i for i, node in enumerate(sky.stations)}
    pairs = tuple((number[a], number[b]) for a, b in sky.pairs.values())
    step_ps = TIME.parse(step)
    if duration_ps // step_ps > MAX_STEPS:
        raise ScenarioError(f"{where}.step: {duration_ps // step_ps} steps of {step}; needs at most {MAX_STEPS}")
    places = tuple(sky.stations.values())
    try:
        return _over_satellites(shell, places, pairs, begin_ps(begin), step_ps, duration_ps // step_ps + 2)
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None


@lru_cache(maxsize=16)
def _over_satellites(
    shell: str, places: Sequence[str], pairs: Sequence[tuple[int, int]], since_ps: int, step_ps: int, count: int
) -> Ways:
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.shells import parse_shell
    from longpipe.satellites.stations import station
    from longpipe.satellites.ways import ways

    constellation = Constellation.of_shell(parse_shell(shell))
    stations = [station(place) for place in places]
    return ways(constellation, stations, pairs, since_ps / PS, step_ps / PS, count)
