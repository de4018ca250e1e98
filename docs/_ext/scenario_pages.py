"""Generates a page with every field of a scenario, from the models that check scenarios."""

import inspect
import re
from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from longpipe.scenario import Scenario
from longpipe.scenario.reference import (
    ABSENT,
    REQUIRED,
    Style,
    accepts,
    defaults_of,
    described,
    kind_of,
    named_fields,
    parts,
    places,
)
from longpipe.units import BUFFER, RATE, SEGMENTS, SIZE, TICKS, TIME

HEADING: Final = """\
# Scenario fields

A scenario is a TOML file or a `longpipe.Scenario`. `longpipe init` writes a scenario with every default and its source,
and `longpipe fields` shows the tables below in a terminal.
Quantities are text with a unit, as in `"5 ms"`; a number without a unit is rejected. If a field accepts one of several
kinds, the name of a kind is short for a table with this kind and its defaults: `policy = "epd"` means
`policy = {kind = "epd"}`. A field with a default may be omitted.

`longpipe run --set`, `Scenario.with_` and `Factor.over` refer to a field by its **dotted name**, such as
`switch.buffer`; `network.flows.0.start` is the start of the first flow of a graph.
"""

# A part is a link to its section, a value is code.
MARKDOWN: Final = Style(part=lambda model, name: f"[{name}](#{_target(model)})", value=lambda text: f"`{text}`")


def pages() -> dict[str, str]:
    """Returns the page by file name."""
    return {"fields.md": "\n".join([HEADING, _units(), *_sections(Scenario, "", places())])}


def _units() -> str:
    rows = [(d.name, ", ".join(d.units), d.example) for d in (TIME, RATE, SIZE, BUFFER, TICKS, SEGMENTS)]
    lines = [f"| {name} | {units} | `{example}` |" for name, units, example in rows]
    return "\n".join(["| quantity | units | as in |", "| --- | --- | --- |", *lines, ""])


def _sections(model: type[BaseModel], path: str, places: dict[type[BaseModel], str]) -> Iterator[str]:
    """Yields a section for a part of the scenario, and subsections for the parts that are described in it."""
    del places[model]
    fields = named_fields(model)
    depth = "#" * min(path.count(".") + 2, 4)
    yield f"({_target(model)})=\n{depth} {_title(model, path)}\n\n{_prose(_described_part(model))}\n"
    if fields:
        rows = [_row(model, name, field) for name, field in fields.items()]
        head = ["| Field | Unit | Default | Accepts | Meaning |", "| --- | --- | --- | --- | --- |"]
        yield "\n".join([":::{container} fields", *head, *rows, ":::", ""])
    for name, field in fields.items():
        below = f"{path}.{name}".lstrip(".")
        for part in parts(field.annotation):
            if places.get(part) == below:
                yield from _sections(part, below, places)


def _described_part(model: type[BaseModel]) -> str:
    """Returns the description of a part without its fields, which the table lists."""
    return inspect.cleandoc(model.__doc__ or "").partition("\n\nFields:")[0]


def _title(model: type[BaseModel], path: str) -> str:
    if not path:
        return "At the top of the file"
    kind = kind_of(model)
    return f"`{path}`" if kind is None else f"`{path}`: {kind}"


def _row(model: type[BaseModel], name: str, field: FieldInfo) -> str:
    meaning, unit, source = described(field.description or "")
    default = defaults_of(model, name, field, MARKDOWN)
    cells = [
        f"`{name}`{{#{_target(model)}-{name}}}",
        unit,
        f"*{default}*" if default in (REQUIRED, ABSENT) else default,
        " ".join(accepts(field.annotation, field.metadata, MARKDOWN)),
        f"{_prose(meaning)}." + (f" *Source: {source}.*" if source else ""),
    ]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _target(model: type[BaseModel]) -> str:
    return model.__name__.lower()


def _prose(text: str) -> str:
    """Escapes Markdown in docstrings and descriptions, which are plain text except for backticks."""
    return re.sub(r"([*_<\[\]])", r"\\\1", text) if "`" not in text else text
