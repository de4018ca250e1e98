"""A page with every field of a scenario, from the models that check it."""

import inspect
import re
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from longpipe.scenario import Scenario
from longpipe.scenario.base import Checked
from longpipe.units import BUFFER, RATE, SEGMENTS, SIZE, TICKS, TIME

HEADING: Final = """\
# Scenario fields

A scenario is a TOML file or a `longpipe.Scenario`; `longpipe init` writes one with every default and its source.
Quantities are text with a unit, as in `"5 ms"`; a number without one is refused. Where a field takes one of several
kinds, the bare name of a kind stands for the table with that kind and its defaults: `policy = "epd"` is
`policy = {kind = "epd"}`. A field with a default may be left out.

**Dotted names**, such as `switch.buffer`, are how `longpipe run --set`, `Scenario.with_` and `Factor.over` reach a
field; `network.flows.0.start` is that of the first flow of a graph.
"""

BOUNDS: Final = {Gt: "more than {0.gt}", Ge: "at least {0.ge}", Lt: "less than {0.lt}", Le: "at most {0.le}"}
# A unit is in brackets; an example in brackets is no unit.
UNIT: Final = re.compile(r"(?<!as in) \[(?P<unit>[a-z][^\]'={}]*)\]", re.IGNORECASE)
# A source ends a description, after what else there is to say of the value.
SOURCE: Final = re.compile(
    r"; (?:(?P<note>[^;(]*?), )?(?:as )?"
    r"(?P<source>(?:ATM Forum|RFC \d|BSD|Brakmo|Hoe 1996|Gilbert|ITU-T|left open).*)"
)


def pages() -> dict[str, str]:
    """The page, by file name."""
    return {"fields.md": "\n".join([HEADING, _units(), *_sections(Scenario, "", _places())])}


def _units() -> str:
    rows = [(d.name, ", ".join(d.units), d.example) for d in (TIME, RATE, SIZE, BUFFER, TICKS, SEGMENTS)]
    lines = [f"| {name} | {units} | `{example}` |" for name, units, example in rows]
    return "\n".join(["| quantity | units | as in |", "| --- | --- | --- |", *lines, ""])


def _places() -> dict[type[BaseModel], str]:
    """The dotted name under which each part is described: of several, the shortest and first."""
    places: dict[type[BaseModel], str] = {Scenario: ""}
    waiting: list[type[BaseModel]] = [Scenario]
    for model in waiting:
        for name, field in _fields(model).items():
            for part in _parts(field.annotation):
                if part not in places:
                    places[part] = f"{places[model]}.{name}".lstrip(".")
                    waiting.append(part)
    return places


def _sections(model: type[BaseModel], path: str, places: dict[type[BaseModel], str]) -> Iterator[str]:
    """A section for a part of the scenario and, below it, for each part that is described there."""
    del places[model]
    fields = _fields(model)
    depth = "#" * min(path.count(".") + 2, 4)
    yield f"({_target(model)})=\n{depth} {_title(model, path)}\n\n{_prose(inspect.cleandoc(model.__doc__ or ''))}\n"
    if fields:
        rows = [_row(f"{_target(model)}-{name}", name, field) for name, field in fields.items()]
        head = ["| Field | Unit | Default | Accepts | Meaning |", "| --- | --- | --- | --- | --- |"]
        yield "\n".join([":::{container} fields", *head, *rows, ":::", ""])
    for name, field in fields.items():
        below = f"{path}.{name}".lstrip(".")
        for part in _parts(field.annotation):
            if places.get(part) == below:
                yield from _sections(part, below, places)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Fields by the names that a file has; the kind of a part is in its section's title."""
    fields = {f.serialization_alias or name: f for name, f in model.model_fields.items()}
    return fields if _kind(model) is None else {name: field for name, field in fields.items() if name != "kind"}


def _title(model: type[BaseModel], path: str) -> str:
    if not path:
        return "At the top of the file"
    kind = _kind(model)
    return f"`{path}`" if kind is None else f"`{path}`: {kind}"


def _row(target: str, name: str, field: FieldInfo) -> str:
    meaning, unit, source = _described(field.description or "")
    cells = [
        f"`{name}`{{#{target}}}",
        unit,
        _default(field),
        " ".join(_accepts(field.annotation, field.metadata)),
        meaning + (f" *Source: {source}.*" if source else ""),
    ]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _described(description: str) -> tuple[str, str, str]:
    """Meaning, unit and source, of which the last two may be empty."""
    unit = UNIT.search(description)
    text = UNIT.sub("", description, count=1)
    found = SOURCE.search(text)
    if found is not None:
        text = text[: found.start()] + (f"; {found['note']}" if found["note"] else "")
    return f"{_prose(text)}.", unit["unit"] if unit else "", found["source"] if found else ""


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    if value is PydanticUndefined:
        return "*required*"
    if value is None:
        return "*absent*"
    if isinstance(value, BaseModel):
        kind = _kind(type(value))
        return f"[its own](#{_target(type(value))})" if kind is None else f"`{kind}`"
    return f"`{str(value).lower() if isinstance(value, bool) else list(value) if isinstance(value, tuple) else value}`"


def _accepts(annotation: Any, metadata: Iterable[Any] = ()) -> Iterator[str]:  # noqa: ANN401 - a type, as typing has them
    """Words that name the values of a type."""
    metadata = list(metadata)
    if get_origin(annotation) is Annotated:
        annotation, *inner = get_args(annotation)
        metadata += [data for part in inner for data in (part.metadata if isinstance(part, FieldInfo) else [part])]
    if words := [data.accepts for data in metadata if isinstance(data, Checked)]:
        yield from words
        return
    arguments = [part for part in get_args(annotation) if part not in (NoneType, ...)]
    match get_origin(annotation):
        case origin if origin is Literal:
            yield ", ".join(f"`{value}`" for value in arguments)
        case origin if origin in (Union, UnionType):
            models = [part for part in arguments if isinstance(part, type) and issubclass(part, BaseModel)]
            if models:
                yield ", ".join([f"[{_kind(part) or 'a table'}](#{_target(part)})" for part in models])
            for part in [part for part in arguments if part not in models]:
                yield from _accepts(part)
        case origin if origin is tuple:
            number = "two" if len(arguments) == 2 else "a list:"
            yield " ".join([number, *_accepts(arguments[0], ())])
        case _:
            yield _plain(annotation, metadata)


def _plain(annotation: Any, metadata: list[Any]) -> str:  # noqa: ANN401 - a type, as typing has them
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[a table](#{_target(annotation)})"
    if annotation is bool:
        return "`true`, `false`"
    if annotation is str:
        return "a name" if any(hasattr(data, "pattern") for data in metadata) else "text"
    bounds = [words.format(data) for kind, words in BOUNDS.items() for data in metadata if isinstance(data, kind)]
    return ", ".join(["a whole number" if annotation is int else "a number", *bounds])


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - a type, as typing has them
    """The models within a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _kind(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("kind")
    return None if field is None or field.is_required() else str(field.default)


def _target(model: type[BaseModel]) -> str:
    return model.__name__.lower()


def _prose(text: str) -> str:
    """Docstrings and descriptions are plain text but for backticks."""
    return re.sub(r"([*_<\[\]])", r"\\\1", text) if "`" not in text else text
