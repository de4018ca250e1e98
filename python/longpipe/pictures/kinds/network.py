"""Drawing of a scenario's network, with its flows running from left to right."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import ScenarioError
from longpipe.pictures.figure import Picture, with_literal_texts
from longpipe.pictures.style import BLUE, GREEN, font_points, title_in
from longpipe.scenario import Scenario
from longpipe.units import RATE, TIME

# Maximum number of nodes that can be distinguished.
MAX_NODES: Final = 60
# Maximum number of links for which all are labeled; if there are more, only links between switches are.
MAX_LABELS: Final = 16
# Maximum height of the drawn nodes [inches].
MAX_INCHES: Final = 8
# Marker, its size and its color for each kind of node.
_NODES: Final = {"switch": ("s", 13, BLUE), "host": ("o", 9, GREEN)}


@with_literal_texts
def network(scenario: Scenario, *, ax: Axes | None = None) -> Figure:
    """Draws hosts, switches, and links with their rates and delays; raises ScenarioError for more than 60 nodes."""
    resolved = scenario.resolved
    nodes, links = resolved["nodes"], resolved["links"]
    if len(nodes) > MAX_NODES:
        raise ScenarioError(f"network: {len(nodes)} nodes; draws at most {MAX_NODES}")
    at = _places(resolved)
    (first, last), (low, high) = ((min(places), max(places)) for places in zip(*at.values(), strict=True))
    inches = 1.6 + min(0.55 * (high - low), MAX_INCHES)
    figure = Picture(figsize=(8, inches), layout="constrained") if ax is None else ax.figure
    panel = figure.add_subplot() if ax is None else ax
    panel.set_axis_off()
    panel.set_xlim(first - 0.5, last + 0.5)
    panel.set_ylim(low - 0.8, high + 0.8)
    # Each pair of nodes has one line, whose label shows the first of its links.
    pairs = {tuple(sorted((link["from"], link["to"]))): link for link in reversed(links)}
    for (start, end), link in pairs.items():
        (x1, y1), (x2, y2) = at[start], at[end]
        panel.plot([x1, x2], [y1, y2], color="black", lw=1, zorder=1)
        of_switches = {nodes[start]["kind"], nodes[end]["kind"]} == {"switch"}
        if of_switches or len(pairs) <= MAX_LABELS:
            text = f"{RATE.format(link['rate_bps'])}\n{TIME.format(link['delay_ps'])}"
            middle = ((x1 + x2) / 2, (y1 + y2) / 2)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            panel.annotate(text, middle, ha="center", va="center", fontsize=font_points(7), bbox=box, zorder=2)
    for kind, (shape, size, color) in _NODES.items():
        of_kind = [i for i, node in enumerate(nodes) if node["kind"] == kind]
        panel.plot(
            [at[i][0] for i in of_kind], [at[i][1] for i in of_kind], shape, ms=size, color=color, label=kind, zorder=3
        )
    for i, node in enumerate(nodes):
        # Labels of the end nodes are placed next to them, all others above their nodes.
        offset, side = ((-8, -3), "right") if at[i][0] == first else ((8, -3), "left")
        if first < at[i][0] < last:
            offset, side = (0, 9), "center"
        named: dict[str, Any] = {"ha": side, "fontsize": font_points(8), "zorder": 4}
        panel.annotate(node["name"], at[i], offset, textcoords="offset points", **named)
    title = f"{scenario.name}: {len(nodes)} nodes, {len(resolved['flows'])} flows"
    if ax is None:
        figure.suptitle(title, fontsize=font_points(11))
    else:
        title_in(panel, title)
    return figure  # type: ignore[return-value]


def _places(resolved: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    """Returns the position (x, y) of each node.

    x is the node's distance along the flows' routes. Of the nodes with the same x, a switch is at y = 0, and the others
    alternate above and below it; nodes without a switch are centered on y = 0.
    """
    nodes, links = resolved["nodes"], resolved["links"]
    routes = [[(links[link]["from"], links[link]["to"]) for link in flow["route"]] for flow in resolved["flows"]]
    across = _depths(len(nodes), [hop for route in routes for hop in route])
    for route in routes:
        # A sender is placed one column before its first switch.
        across[route[0][0]] = max(across[route[0][0]], across[route[0][1]] - 1)
    columns: dict[int, list[int]] = {}
    for node in sorted(range(len(nodes)), key=lambda node: nodes[node]["kind"] != "switch"):
        columns.setdefault(across[node], []).append(node)
    positions = {}
    for column, members in columns.items():
        with_switch = nodes[members[0]]["kind"] == "switch"
        for index, node in enumerate(members):
            around_switch = (index + 1) // 2 * (1 if index % 2 else -1)
            row = float(around_switch) if with_switch else (len(members) - 1) / 2 - index
            positions[node] = (float(column), row)
    return positions


def _depths(count: int, hops: Iterable[tuple[int, int]]) -> list[int]:
    """Returns each node's longest distance over the given hops, ignoring hops that would form a cycle."""
    depths = [0] * count
    # Nodes that can be reached from each node over the hops that form no cycle.
    reachable = [{node} for node in range(count)]
    for start, end in dict.fromkeys(hops):
        if start in reachable[end]:
            continue
        for nodes in reachable:
            if start in nodes:
                nodes |= reachable[end]
    # The longest distance has at most `count` - 1 hops, and each pass makes those with one hop more correct.
    for _ in range(count):
        for start, end in dict.fromkeys(hops):
            if start not in reachable[end]:
                depths[end] = max(depths[end], depths[start] + 1)
    return depths
