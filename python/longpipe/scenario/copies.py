"""Flows of a dumbbell that differ only in name and number: the first of each group is resolved, the others are copies.

A group's flows have equal hosts, links, TCP and traffic, so it is enough to resolve and check one of them.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.checks import check_begin
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.network import Dumbbell, Group
from longpipe.scenario.starts import StaggeredStart, Start
from longpipe.units import TIME

Row = dict[str, Any]
# Index of a row's first copy among all rows, and the distance between its copies, which is 0 for a row outside of
# groups.
Place = tuple[int, int]
# Nodes of a dumbbell between its sources and its sinks.
_SWITCHES: Final = 2


@by_identity
def first_of_each(network: Dumbbell) -> Dumbbell:
    """Returns a dumbbell with the first flow of each group, under its own name.

    Raises ScenarioError if the groups do not have `sources` flows in total, or if two flows have the same name.
    """
    if network.group is None:
        return network.model_copy(update={"sources": 1})
    if not network.group:
        raise ScenarioError("network.group: empty; needs at least one group")
    names = [name for group in network.group for name in group.flows]
    if len(names) != network.sources:
        raise ScenarioError(f"network.sources: {network.sources}; its groups have {len(names)}, needs that or nothing")
    if len(set(names)) < len(names):
        raise ScenarioError(_collision(network.group))
    groups = [group.model_copy(update={"name": group.flows[0], "count": 1}) for group in network.group]
    return network.model_copy(update={"sources": len(groups), "group": tuple(groups)})


def _collision(groups: Sequence[Group]) -> str:
    """Returns the problem of the first flow that has the name of an earlier one."""
    first: dict[str, tuple[int, int]] = {}
    flows = ((i, number, name) for i, group in enumerate(groups) for number, name in enumerate(group.flows, 1))
    for i, number, name in flows:
        before, flow = first.setdefault(name, (i, number))
        if (before, flow) != (i, number):
            break
    field, group, other = f"network.group[{i}].name", groups[i], groups[before]
    if group.name == other.name:
        return f"{field}: {group.name!r} is the name of network.group[{before}]; needs a unique name"
    owner = f"network.group[{before}]"
    holder = f"the name of flow {flow} of {owner}, {other.name!r}" if other.count > 1 else f"the name of {owner}"
    made = f"and number {number} give {name!r}, which is" if group.count > 1 else "is"
    return f"{field}: {group.name!r} {made} {holder}; needs another name"


def first_numbers(network: Dumbbell) -> list[int]:
    """Returns the number of the first flow of each group, counted from 0."""
    counts = [1] if network.group is None else [group.count for group in network.group]
    return [0, *accumulate(counts)][:-1]


def with_copies(resolved: Row, network: Dumbbell, start: Start, duration: str) -> Row:
    """Returns a resolved scenario with all flows of each group, from one with the first flow of each.

    `start` is the scenario's field. Raises ScenarioError if a staggered flow would begin after the end of the run.
    """
    groups = network.group or (None,)
    counts = [network.sources if group is None else group.count for group in groups]
    if max(counts) == 1:
        return resolved
    flows_of = [[f"flow{i + 1}" for i in range(network.sources)] if group is None else group.flows for group in groups]
    steps_ps = [_step_ps(start if group is None else group.start or start) for group in groups]
    for number, group in enumerate(groups):
        own = group is not None and group.start is not None
        field = f"network.group[{number}].start" if own else "start"
        _check_starts(field, resolved["flows"][number], flows_of[number], steps_ps[number], duration)

    nodes, links, flows = resolved["nodes"], resolved["links"], resolved["flows"]
    hosts = [*range(len(counts)), *[None] * _SWITCHES, *range(len(counts))]
    of_node: list[int | None] = [*hosts, *[None] * (len(nodes) - len(hosts))]
    # A link of a host belongs to the host's group, and a flow to the group of its links.
    of_link = [of_node[row["to"]] if (own := of_node[row["from"]]) is None else own for row in links]
    of_flow = [next(group for k in row["route"] if (group := of_link[k]) is not None) for row in flows]
    node_places, flow_places = _places(of_node, counts), _places(of_flow, counts)
    link_places = _places(of_link, counts, width=2)
    copies = [(flows_of[group], steps_ps[group]) for group in of_flow]
    return {
        **resolved,
        "nodes": list(_nodes(nodes, of_node, counts, first_numbers(network))),
        "links": list(_links(links, of_link, counts, node_places)),
        "flows": list(_flows(flows, copies, link_places, flow_places)),
        "vbr": [{**source, "route": [link_places[k][0] for k in source["route"]]} for source in resolved["vbr"]],
    }


def _step_ps(start: Start) -> int:
    """Returns the time [ps] from the start of a flow to the start of the next."""
    return TIME.parse(start.interval) if isinstance(start, StaggeredStart) else 0


def _check_starts(field: str, first: Row, names: Sequence[str], step_ps: int, duration: str) -> None:
    """Raises ScenarioError for the first staggered flow that would begin after the end of the run."""
    if step_ps:
        begin_ps = first["start"]["at_ps"]
        # The number is rounded up to the first flow that would not begin before the end.
        late = min(-((begin_ps - TIME.parse(duration)) // step_ps), len(names) - 1)
        check_begin(duration, lambda: f"{field} of flow {names[late]!r}", begin_ps + late * step_ps)


def _places(groups: Sequence[int | None], counts: Sequence[int], width: int = 1) -> list[Place]:
    """Returns the positions of rows.

    `width` consecutive rows, such as the directions of a link, are copied together.
    """
    found: list[Place] = []
    position = 0
    for number in range(0, len(groups), width):
        own, group = groups[number : number + width], groups[number]
        found += [(position + at, 0 if group is None else width) for at in range(len(own))]
        position += len(own) * (1 if group is None else counts[group])
    return found


def _nodes(
    rows: Sequence[Row], groups: Sequence[int | None], counts: Sequence[int], firsts: Sequence[int]
) -> Iterator[Row]:
    for number, (row, group) in enumerate(zip(rows, groups, strict=True)):
        if group is None:
            yield row
        else:
            role = "source" if number < len(counts) else "sink"
            for i in range(firsts[group] + 1, firsts[group] + counts[group] + 1):
                yield {**row, "name": f"{role}{i}"}


def _links(
    rows: Sequence[Row], groups: Sequence[int | None], counts: Sequence[int], nodes: Sequence[Place]
) -> Iterator[Row]:
    for number in range(0, len(rows), 2):
        both = [(row, *nodes[row["from"]], *nodes[row["to"]]) for row in rows[number : number + 2]]
        group = groups[number]
        for copy in range(1 if group is None else counts[group]):
            for row, a, step_a, b, step_b in both:
                yield {**row, "from": a + copy * step_a, "to": b + copy * step_b}


def _flows(
    rows: Sequence[Row],
    copies: Sequence[tuple[Sequence[str], int]],
    links: Sequence[Place],
    flows: Sequence[Place],
) -> Iterator[Row]:
    """Yields the copies of each flow; `copies` contains their names and the time between their starts [ps]."""
    for row, (own, step_ps) in zip(rows, copies, strict=True):
        there, back = ([links[k] for k in row[way]] for way in ("route", "return_route"))
        # The first part of a split flow has a suffix.
        suffix = row["name"].removeprefix(own[0])
        for copy, name in enumerate(own):
            made = {
                **row,
                "name": name + suffix,
                "route": [position + copy * step for position, step in there],
                "return_route": [position + copy * step for position, step in back],
            }
            if step_ps:
                made["start"] = {"kind": "fixed", "at_ps": row["start"]["at_ps"] + copy * step_ps}
            if (onward := row.get("onward")) is not None:
                position, step = flows[onward["flow"]]
                made["onward"] = {**onward, "flow": position + copy * step}
            if (rerouting := row.get("rerouting")) is not None:
                made["rerouting"] = _rerouted(rerouting, links, copy)
            yield made


def _rerouted(rerouting: Row, links: Sequence[Place], copy: int) -> Row:
    """Returns the changes of a copy's routes."""

    def way(route: Sequence[int]) -> list[int]:
        return [position + copy * step for position, step in [links[k] for k in route]]

    changes = [
        {**change, "route": way(change["route"]), "return_route": way(change["return_route"])}
        for change in rerouting["changes"]
    ]
    return {**rerouting, "changes": changes}
