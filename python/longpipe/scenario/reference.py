"""Reference of all fields of a scenario, for `longpipe fields` and the generated documentation."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from longpipe.scenario import Scenario
from longpipe.scenario.base import Checked, Model
from longpipe.scenario.defaults import MODERN


@dataclass(frozen=True)
class Style:
    """Formats the names and the values of parts."""

    part: Callable[[type[BaseModel], str], str]
    value: Callable[[str], str]


PLAIN: Final = Style(part=lambda _, name: name, value=str)


_BOUNDS: Final = {Gt: "more than {0.gt}", Ge: "at least {0.ge}", Lt: "less than {0.lt}", Le: "at most {0.le}"}
# Matches a unit in brackets that is not part of an example.
_UNIT: Final = re.compile(r"(?<!as in) \[(?P<unit>[a-z][^\]'={}]*)\]", re.IGNORECASE)
# Matches a source at the end of a description, after an optional note.
_SOURCE: Final = re.compile(
    r"; (?:(?P<note>[^;(]*?), )?(?:as )?"
    r"(?P<source>(?:ATM Forum|RFC \d|BSD|Brakmo|Hoe 1996|Gilbert|ITU-T|left open).*)"
)


REQUIRED: Final = "required"
ABSENT: Final = "absent"


@dataclass(frozen=True)
class Field:
    """A field: dotted name, kind that has it ("" for any), unit, default, accepted values, meaning, source."""

    name: str
    kind: str
    unit: str
    default: str
    accepts: str
    meaning: str
    source: str


@cache
def all_fields() -> tuple[Field, ...]:
    """Returns every field of a scenario in the order in which a file lists them, each under its first name."""
    return tuple(_of_part(Scenario, "", places()))


def may_be_absent(field: str) -> bool:
    """Returns whether a dotted field has no value by default, and none of its kinds is called `none`."""
    name = ".".join(part for part in field.split(".") if not part.isdigit())
    return any(
        model_field.name == name and model_field.default == ABSENT and "none" not in model_field.accepts.split(", ")
        for model_field in all_fields()
    )


def _of_part(model: type[BaseModel], path: str, left: dict[type[BaseModel], str]) -> Iterator[Field]:
    del left[model]
    fields = named_fields(model)
    for name, field in fields.items():
        meaning, unit, source = described(field.description or "")
        accepted = " ".join(accepts(field.annotation, field.metadata))
        whole = f"{path}.{name}".lstrip(".")
        default = defaults_of(model, name, field)
        yield Field(whole, kind_of(model) or "", unit, default, accepted, meaning, source)
    for name, field in fields.items():
        below = f"{path}.{name}".lstrip(".")
        for part in parts(field.annotation):
            if left.get(part) == below:
                yield from _of_part(part, below, left)


def places() -> dict[type[BaseModel], str]:
    """Returns the dotted name of each part.

    A part with several names has the one with the fewest components and, among these, the shortest.
    """
    places: dict[type[BaseModel], str] = {Scenario: ""}
    level = places
    while level:
        below: dict[type[BaseModel], str] = {}
        for model, place in level.items():
            for name, field in named_fields(model).items():
                whole = f"{place}.{name}".lstrip(".")
                for part in parts(field.annotation):
                    if part not in places and len(whole) < len(below.get(part, whole + "x")):
                        below[part] = whole
        places = {**places, **below}
        level = below
    return places


def named_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Returns fields by their names in a file, without the kind, which the section's title contains."""
    fields = {f.serialization_alias or name: f for name, f in model.model_fields.items()}
    return fields if kind_of(model) is None else {name: field for name, field in fields.items() if name != "kind"}


def described(description: str) -> tuple[str, str, str]:
    """Splits a description into meaning, unit and source; the last two may be empty."""
    unit = _UNIT.search(description)
    text = _UNIT.sub("", description, count=1)
    match = _SOURCE.search(text)
    if match is not None:
        text = text[: match.start()] + (f"; {match['note']}" if match["note"] else "")
    return text, unit["unit"] if unit else "", match["source"] if match else ""


def defaults_of(model: type[BaseModel], name: str, field: FieldInfo, style: Style = PLAIN) -> str:
    """Returns a field's default as written in a file, and in brackets those that depend on `defaults` or a profile."""
    options = model.profile_options if issubclass(model, Model) else {}
    others = {of: style.value(_written(values[name])) for of, values in options.items() if name in values}
    default = default_of(field, style)
    if MODERN in others:
        (other,) = {of for of in get_args(Scenario.model_fields["defaults"].annotation) if of != MODERN}
        default, others = others.pop(MODERN), {other: default, **others}
    words = (f"{of}: {value}" for of, value in others.items())
    return f"{default} ({', '.join(words)})" if others else default


def _written(value: object) -> str:
    """Returns a default as written in a file; that of a part is its kind."""
    if isinstance(value, dict):
        return str(value.get("kind", "its own"))
    return str(value).lower() if isinstance(value, bool) else str(value)


def default_of(field: FieldInfo, style: Style = PLAIN) -> str:
    """Returns a field's default as written in a file."""
    value: Any = field.default
    if value is PydanticUndefined:
        return REQUIRED
    if value is None:
        return ABSENT
    if isinstance(value, BaseModel):
        kind = kind_of(type(value))
        return style.part(type(value), "its own") if kind is None else style.value(kind)
    shown = str(value).lower() if isinstance(value, bool) else list(value) if isinstance(value, tuple) else value
    return style.value(str(shown))


def accepts(annotation: Any, metadata: Iterable[Any] = (), style: Style = PLAIN) -> Iterator[str]:  # noqa: ANN401 - a type
    """Yields phrases for the accepted values of a type."""
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
            yield ", ".join(style.value(str(value)) for value in arguments)
        case origin if origin in (Union, UnionType):
            models = [part for part in arguments if isinstance(part, type) and issubclass(part, BaseModel)]
            if models:
                yield ", ".join([style.part(part, kind_of(part) or "a table") for part in models])
            for part in [part for part in arguments if part not in models]:
                yield from accepts(part, (), style)
        case origin if origin is tuple:
            number = "two" if len(arguments) == 2 else "a list:"
            yield " ".join([number, *accepts(arguments[0], (), style)])
        case _:
            yield _words(annotation, metadata, style)


def _words(annotation: Any, metadata: list[Any], style: Style) -> str:  # noqa: ANN401 - any type annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return style.part(annotation, "a table")
    if annotation is bool:
        return f"{style.value('true')}, {style.value('false')}"
    if annotation is str:
        return "a name" if any(hasattr(data, "pattern") for data in metadata) else "text"
    bounds = [words.format(data) for kind, words in _BOUNDS.items() for data in metadata if isinstance(data, kind)]
    return ", ".join(["a whole number" if annotation is int else "a number", *bounds])


def parts(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - any type annotation
    """Yields the models within a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from parts(part)


def kind_of(model: type[BaseModel]) -> str | None:
    """Returns the kind of a part; None for a part with a single kind."""
    field = model.model_fields.get("kind")
    return None if field is None or field.is_required() else str(field.default)
