"""The resolved scenario, as the core requires it: every field present, every quantity an integer."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from longpipe._core import misplaced
from longpipe.errors import ScenarioError
from longpipe.scenario.buffers import Framing
from longpipe.scenario.checks import check_flow_arrivals, fields_of_flows, remedies
from longpipe.scenario.connections import own, whole
from longpipe.scenario.constellations import Crossings, crossings
from longpipe.scenario.core import core_fields
from longpipe.scenario.datagrams import HEADERS, longest_bytes
from longpipe.scenario.flow_arrivals import MAX_REPETITIONS, core_flow_arrivals
from longpipe.scenario.network import Dumbbell, Flow, Group, Link
from longpipe.scenario.own_stack import OwnStack, own_stack_tcp
from longpipe.scenario.route_links import RouteLink
from longpipe.scenario.schedulers import Fifo
from longpipe.scenario.series import Series, series
from longpipe.scenario.source import STACKS
from longpipe.scenario.spread import ByKind, spread
from longpipe.scenario.stack import Stack, stack_tcp
from longpipe.scenario.stack_path import StackPath, check_stack_paths
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import (
    Numbered,
    ResolvedNetwork,
    Topology,
    core_part,
    links_of,
    plain,
    values_of,
    vbr_of,
)
from longpipe.scenario.traffic import Arrivals, FlowArrivals, Traffic, Voice
from longpipe.scenario.variations import Coded, File, Moving
from longpipe.scenario.warm_up import resolved_warm_up
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Fields of links that the settings of a kind of links replace.
_OF_KIND: Final = ("rate", "buffer", "policy", "loss", "conditioners")
# Fields that the core lacks or represents differently.
_OF_SCENARIO: Final = ("name", "defaults", "network", "switch", "tcp", "traffic", "start", "stop", "warm_up")
_OF_SWITCH: Final = ("buffer", "policy", "scheduler")
_OF_FLOWS: Final = tuple({*Flow.model_fields, *Group.model_fields} - {"class_", "service"})
_OF_VBR: Final = ("from_", "to", "route", "period", "duty", "phase", "rate")


def resolve(scenario: "Scenario") -> dict[str, Any]:
    """Returns the scenario as the core requires it. Raises ScenarioError if fields contradict each other."""
    network = scenario.network
    written, moving, over = _with_series(scenario)
    topology = Topology.of(network, scenario.traffic, written)
    traffics = _traffics(scenario.traffic, topology.traffics[1:])
    settings = _settings(scenario, topology, traffics)
    made = _made(scenario, topology, settings)
    links = _links(scenario, topology, made)
    for link, one in moving.items():
        links[link] |= _moving(one, links[link], scenario.framing)
    resolved = {
        **core_fields(scenario, without=_OF_SCENARIO),
        **resolved_warm_up(scenario.warm_up, scenario.duration),
        **core_fields(scenario.switch, without=_OF_SWITCH),
        "nodes": made.nodes,
        "links": links,
        "flows": _flows(scenario, topology, made, traffics),
        "vbr": [
            core_fields(source, without=_OF_VBR) | fields
            for source, fields in zip(vbr_of(network), made.vbr, strict=True)
        ],
    }
    if any((flow.traffic or scenario.traffic).transport in STACKS for flow in topology.flows):
        # Every external packet needs an event.
        resolved["engine"] = "reference"
    if over.paths:
        resolved = spread(resolved, over, _by_kind(scenario, topology, settings, over))
    check_flow_arrivals(network, resolved)
    check_stack_paths(fields_of_flows(network, "traffic"), resolved["flows"])
    return resolved


def _by_kind(scenario: "Scenario", topology: Topology, settings_json: str, over: Crossings) -> ByKind:
    """Returns the directed links with the settings of each kind of links of graphs over satellites.

    Raises ScenarioError for settings that links cannot have.
    """
    by_kind = dict[tuple[str, str], list[dict[str, Any]]]()
    for kind, place, settings in over.kinds():
        where = f"{next(iter(over.where.values()))}.{kind}"
        links = {i: _with_settings(where, link, settings.get(i), scenario) for i, link in topology.links.items()}
        try:
            own = Topology(scenario.network, scenario.traffic, links) if settings else topology
            rows = _links(scenario, own, _made(scenario, own, settings_json))
        except ScenarioError as error:
            raise ScenarioError(f"{where}: {error}") from None
        for i, of_link in settings.items():
            if of_link.variation is not None:
                varied = _variation(f"{where}.variation", of_link.variation, scenario.duration)
                for k in (2 * i, 2 * i + 1):
                    rows[k] |= _moving(varied, rows[k], scenario.framing)
        by_kind[kind, place] = rows
    return by_kind


def _with_settings(where: str, link: Link, settings: RouteLink | None, scenario: "Scenario") -> Link:
    """Returns a link with the settings of a kind of links of a graph. Raises ScenarioError for an unsuitable queue."""
    if settings is None:
        return link
    if settings.policy is not None:
        unit = getattr(settings.policy, "unit", None)
        if problem := misplaced(scenario.framing == "aal5", settings.policy.kind, unit):
            raise ScenarioError(f"{where}.policy{problem}")
        for name, problem in settings.policy.problems():
            raise ScenarioError(f"{where}.policy.{name}: {problem}")
    own = {name: value for name in _OF_KIND if (value := getattr(settings, name)) is not None}
    back = {"return_loss": settings.loss, "return_conditioners": settings.conditioners}
    return link.model_copy(update={"path": None, **own, **back})


def _variation(where: str, variation: Moving | File | Coded, duration: str) -> Series:
    """Returns a series of rates, losses and outages. Raises ScenarioError for one with delays."""
    varied = series(where, variation, duration)
    if varied.max_delay_ps is not None:
        raise ScenarioError(f"{where}: with delays; needs none, because they follow from the orbits")
    return varied


def _with_series(scenario: "Scenario") -> tuple[Mapping[int, Link], dict[int, Series], Crossings]:
    """Returns the links, the series of the time-varying ones, which have their maximum delays, and satellite paths."""
    written, moving = links_of(scenario.network), dict[int, Series]()
    links = dict(written)
    known: dict[tuple[int, bool], Series] = {}
    over = crossings(scenario.network, links, scenario.framing, scenario.duration, scenario.switch.buffer)
    for i, longest_ps in over.longest_ps.items():
        links[i] = links[i].model_copy(update={"delay": TIME.format(longest_ps)})
    varying = [i for i, link in links.items() if link.path is not None or link.return_path is not None]
    for i in varying:
        if i in over.longest_ps:
            continue
        link = links[i]
        for back, name in enumerate(("path", "return_path")):
            # The return direction varies like the forward direction unless return_path is set.
            path = link.return_path or link.path if back else link.path
            if path is None:
                continue
            # A Starlink path describes both directions, which differ.
            is_opposite = back == 1 and link.return_path is None and isinstance(path, Starlink)
            where = f"network.{name}" if isinstance(scenario.network, Dumbbell) else f"network.links[{i}].{name}"
            # Both directions of a link share one path, and its series may be long.
            if (one := known.get((id(path), is_opposite))) is None:
                turned = path.opposite() if is_opposite and isinstance(path, Starlink) else path
                known[id(path), is_opposite] = one = series(where, turned, scenario.duration)
            moving[2 * i + back] = one
            if scenario.framing == "aal5":
                _check_cells(where, one.motion)
            if (delay_ps := one.max_delay_ps) is not None:
                field = "return_delay" if back else "delay"
                kept = {} if back or link.return_delay is not None else {"return_delay": link.delay}
                links[i] = links[i].model_copy(update={**kept, field: TIME.format(delay_ps)})
    return links if moving or over.paths else written, moving, over


def _check_cells(where: str, motion: dict[str, Any]) -> None:
    """Raises ScenarioError for a variation that ATM links do not support."""
    if motion.get("service", {}).get("kind") == "opportunities":
        raise ScenarioError(f"{where}: a schedule of packet transmissions; needs framing 'ip'")
    if motion["order"] != "fifo":
        raise ScenarioError(
            f"{where}.order: free; needs 'fifo' under AAL5, because the cells of a circuit keep their order"
        )


def _moving(series: Series, link: dict[str, Any], framing: Framing) -> dict[str, Any]:
    """Returns the additional fields of a time-varying link in the core."""
    if framing == "ip" and link["loss"]["kind"] == "bit-errors":
        raise ScenarioError("loss: bit-errors; with a path needs losses of another kind")
    scheduled = series.motion.get("service", {}).get("kind") == "opportunities"
    if scheduled and any(conditioner["kind"] == "aggregation" for conditioner in link.get("conditioners", ())):
        raise ScenarioError("conditioners: aggregation; not together with a schedule, whose transmissions are batches")
    fields: dict[str, Any] = {"motion": series.motion}
    if framing == "ip" and series.policy is not None and link["policy"]["kind"] == "tail-drop":
        # A queue discipline that the scenario selects replaces the queue of the path.
        fields["policy"] = series.policy
    if series.loss is None:
        return fields
    if link["loss"]["kind"] != "none":
        raise ScenarioError(f"loss: {link['loss']['kind']}; its path also has losses; needs one of them")
    return {**fields, "loss": series.loss}


def _settings(scenario: "Scenario", topology: Topology, known: Mapping[int, dict[str, Any]]) -> str:
    """Returns the settings besides the network as crates/scenario reads them.

    `known` contains the fields of each traffic in the core, by its identity.
    """
    switch, traces = scenario.switch, scenario.traces
    all_traffic = [scenario.traffic, *(traffic for traffic in topology.traffics if traffic is not None)]
    # Real stacks do not use the settings of TCP of their flows.
    given = Numbered[Tcp]()
    of_stacks = [None if (tcp := _tcp_of(one, scenario, topology)) is None else given.of(tcp) for one in all_traffic]
    settings = {
        "cells": scenario.framing == "aal5",
        "duration": scenario.duration,
        "start": values_of(scenario.start),
        "stop": values_of(scenario.stop),
        "delays": traces.delay,
        "sampling": traces.vc_queue_interval if traces.vc_queue else None,
        "buffer": switch.buffer,
        "policy": (core_fields(switch.policy), list(switch.policy.problems()), plain(switch.policy)),
        "scheduler": switch.scheduler.kind,
        "ties": switch.ties,
        "tcps": [whole(scenario.tcp), *map(own, filter(None, topology.tcps)), *map(whole, given.parts)],
        "traffics": [
            (
                traffic.bursts() if isinstance(traffic, Voice) else traffic,
                traffic.repeats,
                traffic.transport,
                longest_bytes(known[id(traffic)]) - HEADERS if traffic.transport == "datagrams" else None,
                None if number is None else len(topology.tcps) + number,
            )
            for traffic, number in zip(all_traffic, of_stacks, strict=True)
        ],
    }
    return orjson.dumps(settings, default=vars).decode()


def _tcp_of(traffic: Traffic, scenario: "Scenario", topology: Topology) -> Tcp | None:
    """Returns the settings of TCP of flows with a stack; a path has those of its connection. None for other traffic."""
    if isinstance(traffic, StackPath):
        flows = (flow.traffic or scenario.traffic for flow in topology.flows if flow.name == traffic.of)
        traffic = next(flows, traffic)
    if isinstance(traffic, Stack):
        return stack_tcp(traffic)
    return own_stack_tcp(traffic) if isinstance(traffic, OwnStack) else None


def _made(scenario: "Scenario", topology: Topology, settings: str) -> ResolvedNetwork:
    """Resolves the scenario in the core. Raises ScenarioError with the settings that would solve its problems."""
    try:
        return topology.resolve(settings)
    except ScenarioError as error:
        missing = remedies(scenario, topology, lambda names: topology.violated(settings, names))
        raise ScenarioError(*error.problems, remedies=missing) from None


def _links(scenario: "Scenario", topology: Topology, made: ResolvedNetwork) -> list[dict[str, Any]]:
    """Returns both directions of each link, each with its port.

    Links share equal parts, which are therefore encoded once. Raises ScenarioError with the line of an invalid file.
    """
    part = cache(lambda number: core_part(topology.parts[number]))
    switch = {name: core_fields(getattr(scenario.switch, name)) for name in ("policy", "scheduler")}
    ports = {"host": {"scheduler": core_fields(Fifo())}, "switch": switch}
    rows = [
        {
            "from": None,
            "to": None,
            "rate_bps": link["rate_bps"],
            "delay_ps": link["delay_ps"],
            **ports[link["port"]],
            **({} if link["policy"] is None else {"policy": part(link["policy"])}),
            "buffer": link["buffer"],
            "loss": part(link["loss"]),
            **({"conditioners": [part(number) for number in link["conditioners"]]} if link["conditioners"] else {}),
            **({} if link["access"] is None else {"access": part(link["access"])}),
        }
        for link in made.fields
    ]
    directed = list[dict[str, Any]]()
    for first, last, number in made.links:
        # A copy is made in half the time of a new table.
        there, back = rows[number].copy(), rows[number + 1].copy()
        there["from"] = back["to"] = first
        there["to"] = back["from"] = last
        directed += (there, back)
    return directed


def _flows(
    scenario: "Scenario", topology: Topology, resolved: ResolvedNetwork, known: Mapping[int, dict[str, Any]]
) -> list[dict[str, Any]]:
    least_gap_ps = -(-TIME.parse(scenario.duration) // MAX_REPETITIONS)
    # Flows with the same TCP, traffic, class and service category share these fields.
    made: dict[tuple[int, int, int, int], dict[str, Any]] = {}
    common: list[dict[str, Any]] = []
    for i, (flow, number) in enumerate(zip(topology.flows, resolved.tcp_of, strict=True)):
        traffic = flow.traffic or scenario.traffic
        key = (number, id(traffic), flow.class_, id(flow.service))
        if (fields := made.get(key)) is None:
            tcp = resolved.tcps[number]
            own = core_fields(flow, without=_OF_FLOWS)
            made[key] = fields = {**own, "tcp": tcp["fields"], "traffic": known[id(traffic)]}
            if tcp["scalable"]:
                fields["scalable"] = True
            if traffic.transport in STACKS:
                fields["foreign"] = True
        if isinstance(traffic, FlowArrivals):
            field = f"{topology.flow_field(i)}.traffic" if flow.traffic else "traffic"
            slowest_bps = topology.slowest_bps(i)
            arrivals = core_flow_arrivals(traffic, fields["tcp"], slowest_bps, least_gap_ps, field)
            fields = {**fields, "traffic": arrivals}
        common.append(fields)
    flows = []
    for of, way, own in resolved.flows:
        row = common[of].copy()
        row.update(own)
        row["route"], row["return_route"] = resolved.ways[way]
        flows.append(row)
    return flows


def _traffics(common: Traffic, own: Iterable[Traffic | None]) -> dict[int, dict[str, Any]]:
    """Converts each distinct traffic object for the core, and returns the fields by the object's identity.

    A file that several flows name is read once.
    """
    distinct = {id(traffic): traffic for traffic in (common, *own) if traffic is not None}
    files: dict[str, dict[str, Any]] = {}
    made: dict[int, dict[str, Any]] = {}
    for key, traffic in distinct.items():
        if not isinstance(traffic, Arrivals):
            made[key] = traffic.core()
        elif traffic.file in files:
            made[key] = files[traffic.file]
        else:
            made[key] = files[traffic.file] = traffic.core()
    return made
