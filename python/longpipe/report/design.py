"""The design section of a study's report: factors and common settings."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel

from longpipe.errors import ScenarioError
from longpipe.pictures.kinds.network import network
from longpipe.pictures.saving import to_svg
from longpipe.report.frames import MAX_OPEN_ROWS, grid
from longpipe.report.parts import NOTHING, Cell, Column, Grid, Part, Picture, Section
from longpipe.report.svg import Palette, inline
from longpipe.scenario import Dumbbell, Scenario
from longpipe.scenario.overrides import is_within
from longpipe.scenario.paths import port_name
from longpipe.study import Study
from longpipe.units import RATE, TIME

# Fields of a graph that are shown as a drawing and as lists instead of settings.
_LISTED: Final = ("network.nodes", "network.links", "network.flows")


def section(study: Study, palette: Palette) -> Section:
    """Returns the section with factors, aliases, settings that differ from the defaults, and the drawing of a graph."""
    rows = []
    for factor in study.design.factors:
        for level, changes in factor.levels.items():
            settings = "; ".join(f"{field} = {value}" for field, value in _fields(dict(changes)))
            rows.append((Cell(factor.name), Cell(str(level)), Cell(settings)))
    columns = (Column("factor"), Column("level"), Column("fields"))
    closed = len(rows) > MAX_OPEN_ROWS
    parts: list[Part] = [Grid("factors", "Factors and levels", columns, tuple(rows), closed=closed, stacked=True)]
    fraction = study.design.fraction
    if fraction is not None and fraction.generators:
        title = (
            f"A fraction of resolution {fraction.resolution}: the effects on each line are aliased (cannot be "
            f"separated)"
        )
        parts.append(grid(fraction.alias_structure(), "aliases", title))
    return Section("design", "Design", parts=(*parts, *_settings(study), *_graph(study.design.base, palette)))


def _settings(study: Study) -> Iterator[Grid]:
    """Returns the common settings of all points that differ from the defaults."""
    base = study.design.base
    varied = {field for factor in study.design.factors for changes in factor.levels.values() for field in changes}
    settings, defaults = (
        dict(_fields(scenario.model_dump(mode="json", by_alias=True)))
        for scenario in (base, Scenario(defaults=base.defaults))
    )
    rows = [
        (Cell(field), Cell(str(value)), Cell(str(defaults.get(field, NOTHING))))
        for field, value in settings.items()
        if value not in (defaults.get(field), [], None)
        and field not in ("name", *_LISTED)
        and not any(is_within(field, field_of_factor) for field_of_factor in varied)
    ]
    if rows:
        note = "All other settings are defaults; scenario.toml has every setting."
        columns = (Column("field"), Column("value"), Column("default"))
        title = f"Settings common to all points: scenario {base.name!r}"
        yield Grid("settings", title, columns, tuple(rows), note=note, stacked=True)


def _graph(base: Scenario, palette: Palette) -> Iterator[Part]:
    """Returns the drawing of a graph with the lists of its links and flows."""
    if isinstance(base.network, Dumbbell):
        return
    try:
        drawing = inline(to_svg(network(base), "network"), "network", palette)
        yield Picture("network", drawing.title, drawing.alt, drawing.svg)
    except ScenarioError:
        # A graph that is too large to draw is shown by its lists only.
        pass
    resolved = base.resolved
    names = [node["name"] for node in resolved["nodes"]]
    links = [
        (Cell(port_name(resolved, i)), Cell(RATE.format(link["rate_bps"])), Cell(TIME.format(link["delay_ps"])))
        for i, link in enumerate(resolved["links"])
    ]
    columns = (Column("link"), Column("rate"), Column("delay"))
    yield Grid("links", "Links, each direction", columns, tuple(links), closed=True)
    flows = []
    for flow in resolved["flows"]:
        first_node = resolved["links"][flow["route"][0]]["from"]
        nodes = [first_node, *(resolved["links"][link]["to"] for link in flow["route"])]
        way = " \N{RIGHTWARDS ARROW} ".join(names[node] for node in nodes)
        flows.append((Cell(flow["name"]), Cell(flow["traffic"]["kind"]), Cell(way)))
    columns = (Column("flow"), Column("traffic"), Column("way"))
    yield Grid("flows", "Flows", columns, tuple(flows), closed=True, stacked=True)


def _fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    """Yields the dotted path and the value of each field in nested tables."""
    if isinstance(value, dict):
        for name, nested in value.items():
            yield from _fields(nested, f"{path}.{name}" if path else name)
    elif isinstance(value, BaseModel):
        yield from _fields(value.model_dump(mode="json", by_alias=True), path)
    else:
        yield path, value
