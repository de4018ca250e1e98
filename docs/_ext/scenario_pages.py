"""A page with every field of a scenario, from the models that check it."""

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
    default_of,
    described,
    kind_of,
    named_fields,
    parts,
    places,
)
from longpipe.units import BUFFER, RATE, SEGMENTS, SIZE, TICKS, TIME

HEADING: Final = """\
# Scenario fields

A scenario is a TOML file or a `longpipe.Scenario`; `longpipe init` writes one with every default and its source, and
`longpipe fields` shows what follows in a terminal.
Quantities are text with a unit, as in `"5 ms"`; a number without one is refused. Where a field takes one of several
kinds, the bare name of a kind stands for the table with that kind and its defaults: `policy = "epd"` is
`policy = {kind = "epd"}`. A field with a default may be left out.

**Dotted names**, such as `switch.buffer`, are how `longpipe run --set`, `Scenario.with_` and `Factor.over` reach a
field; `network.flows.0.start` is that of the first flow of a graph.
"""

# A part is a link to its section, a value is code.
MARKDOWN: Final = Style(part=lambda model, name: f"[{name}](#{_target(model)})", value=lambda text: f"`{text}`")


def pages() -> dict[str, str]:
    """The page, by file name."""
    return {"fields.md": "\n".join([HEADING, _units(), *_sections(Scenario, "", places())])}


def _units() -> str:
    rows = [(d.name, ", ".join(d.units), d.example) for d in (TIME, RATE, SIZE, BUFFER, TICKS, SEGMENTS)]
    lines = [f"| {name} | {units} | `{example}` |" for name, units, example in rows]
    return "\n".join(["| quantity | units | as in |", "| --- | --- | --- |", *lines, ""])


def _sections(model: type[BaseModel], path: str, places: dict[type[BaseModel], str]) -> Iterator[str]:
    """A section for a part of the scenario and, below it, for each part that is described there."""
    del places[model]
    fields = named_fields(model)
    depth = "#" * min(path.count(".") + 2, 4)
    yield f"({_target(model)})=\n{depth} {_title(model, path)}\n\n{_prose(_described_part(model))}\n"
    if fields:
        rows = [_row(f"{_target(model)}-{name}", name, field) for name, field in fields.items()]
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


def _row(target: str, name: str, field: FieldInfo) -> str:
    meaning, unit, source = described(field.description or "")
    default = default_of(field, MARKDOWN)
    cells = [
        f"`{name}`{{#{target}}}",
        unit,
        f"*{default}*" if default in (REQUIRED, ABSENT) else default,
        " ".join(accepts(field.annotation, field.metadata, MARKDOWN)),
        f"{_prose(meaning)}." + (f" *Source: {source}.*" if source else ""),
    ]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _target(model: type[BaseModel]) -> str:
    return model.__name__.lower()


def _prose(text: str) -> str:
    """Docstrings and descriptions are plain text but for backticks."""
    return re.sub(r"([*_<\[\]])", r"\\\1", text) if "`" not in text else text
