"""Converts parts of a scenario for the core by the types of their fields: names with units, integers."""

from collections.abc import Callable, Collection
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from longpipe.scenario.base import LATER, Becomes, Model

# None if the value is passed unchanged.
Convert = Callable[[Any], Any] | None


def core_fields(part: Model, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns the fields of a part and its nested parts, ready for JSON, excluding those in `without`."""
    values, (fields, later) = part.__dict__, _fields(type(part), without)
    if later:
        left_out = {name for name, default in later if values[name] == default}
        fields = tuple(field for field in fields if field[0] not in left_out)
    return {key: values[name] if convert is None else convert(values[name]) for name, key, convert in fields}


def core_rows(part: Model, names: Collection[str]) -> list[tuple[str, str, Any]]:
    """Returns the name, the name in the core, and the value there of fields of a part."""
    values, (fields, later) = part.__dict__, _fields(type(part), ())
    absent = {name for name, default in later if values[name] == default}
    return [
        (name, key, values[name] if convert is None else convert(values[name]))
        for name, key, convert in fields
        if name in names and name not in absent
    ]


@cache
def _fields(
    model: type[Model], without: tuple[str, ...]
) -> tuple[tuple[tuple[str, str, Convert], ...], tuple[tuple[str, Any], ...]]:
    """Returns the name, core name and conversion of each field, and the names and defaults of LATER fields."""
    found, later = [], []
    for name, field in model.model_fields.items():
        if name in without:
            continue
        suffix, convert = _becomes(field.annotation, field.metadata)
        known = field.serialization_alias or name
        found.append((name, known if suffix in ("", known) else f"{known}_{suffix}", convert))
        if LATER in field.metadata:
            later.append((name, field.default))
    return tuple(found), tuple(later)


def _becomes(annotation: Any, metadata: Collection[Any] = ()) -> tuple[str, Convert]:  # noqa: ANN401 - any type annotation
    """Returns the suffix and the conversion of a type.

    The conversion is applied to the parts of a value first, and then to the whole.
    """
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        metadata = (*metadata, *more)
    suffix, convert = _of_parts(annotation)
    for marker in metadata:
        if isinstance(marker, Becomes):
            suffix, convert = marker.suffix or suffix, _then(convert, marker.convert)
    return suffix, convert


def _of_parts(annotation: Any) -> tuple[str, Convert]:  # noqa: ANN401 - as above
    origin, parts = get_origin(annotation), [part for part in get_args(annotation) if part not in (NoneType, ...)]
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return "", core_fields
    if origin is tuple and ... not in get_args(annotation):
        each = [_becomes(part) for part in parts]
        return next((suffix for suffix, _ in each if suffix), ""), _one_by_one([convert for _, convert in each])
    if origin is tuple:
        suffix, convert = _becomes(parts[0])
        return suffix, list if convert is None else _of_each(convert)
    if origin in (Union, UnionType):
        # A union of kinds, or of values that are passed unchanged.
        suffix, convert = _becomes(parts[0])
        if convert is not None and NoneType in get_args(annotation):
            return suffix, _if_any(convert)
        return suffix, convert
    return "", None


def _of_each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: [convert(value) for value in values]


def _one_by_one(converts: list[Convert]) -> Callable[[Any], Any]:
    return lambda values: [
        value if convert is None else convert(value) for convert, value in zip(converts, values, strict=True)
    ]


def _if_any(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _then(first: Convert, second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return second if first is None else lambda value: second(first(value))
