"""Scenario models as plain data for the lab: each field has its type, bounds, unit, default and description.

The page defines no default, bound, unit or name itself; they are read from the models when the page is built.
"""

from collections.abc import Collection, Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from longpipe.lab import beyond
from longpipe.scenario import Scenario
from longpipe.scenario.base import (
    ASCENDING,
    LATER,
    Becomes,
    Buffer,
    IntegerOr,
    Model,
    Quantity,
)
from longpipe.scenario.reference import described, kind_of, parts
from longpipe.scenario.variant import CHOSEN

Json = dict[str, Any]
# Fields whose parts have no controls in the page, so that it does not need their texts.
_WITHOUT_CONTROLS: Final = (
    *("group", "vbr", "pep", "nodes", "links", "flows"), *beyond.ACCESSES, *beyond.CONDITIONERS,
)  # fmt: skip
# Attributes of kinds that the page uses.
FACTS: Final = ("label", "is_model", "detection", "after_loss", "after_mark", "by_model", "transport", "repeats")


def models() -> Json:
    """Returns all parts of a scenario by name: kind, ordered fields, and constraints between the fields."""
    # The page rejects the fields of a network that it does not support before it reads their parts. Of these parts, and
    # of other kinds that it does not support, it only knows the fields' names, for its messages.
    classes = _reached(beyond.OF_NETWORK)
    reached = _reached({*beyond.OF_NETWORK, *_WITHOUT_CONTROLS})
    fields = [field for model in classes.values() for field in model.model_fields.values()]
    every = {part.__name__: part for field in fields for part in parts(field.annotation)} | classes
    return {
        name: _model(model, shown=name in reached)
        if name in classes
        else {"kind": kind_of(model), "names": names_of(model)}
        for name, model in sorted(every.items())
    }


def names_of(model: type[BaseModel]) -> list[str]:
    """Returns the names of a part's fields, as in files."""
    return [field.serialization_alias or name for name, field in model.model_fields.items()]


def _reached(without: Collection[str]) -> dict[str, type[BaseModel]]:
    """Returns the parts of a scenario that the page supports by name, other than those in the given fields."""
    models: dict[str, type[BaseModel]] = {}
    waiting: list[type[BaseModel]] = [Scenario]
    while waiting:
        model = waiting.pop()
        if model.__name__ not in models:
            models[model.__name__] = model
            fields = [field for name, field in model.model_fields.items() if name not in without]
            waiting += [part for field in fields for part in parts(field.annotation) if _in_lab(part)]
    return models


def _model(model: type[BaseModel], *, shown: bool) -> Json:
    rules = model.constraints if issubclass(model, Model) else ()
    constraints = [(constraint.field, constraint.condition, constraint.message) for constraint in rules]
    # The page puts the kind before the other fields.
    names = names_of(model)
    has_others = not beyond.FIELDS.isdisjoint(names) or "kind" in names[1:]
    return {
        "kind": kind_of(model),
        "fields": _fields(model, shown=shown),
        **{name: fact for name in FACTS if (fact := getattr(model, name, None))},
        **({"names": names} if has_others else {}),
        **({"constraints": constraints} if constraints else {}),
    }


def _fields(model: type[BaseModel], *, shown: bool) -> list[Json]:
    # The page adds the field of a part's kind, which has only one value.
    left_out = beyond.FIELDS if kind_of(model) is None else {*beyond.FIELDS, "kind"}
    return [_field(name, field, shown=shown) for name, field in model.model_fields.items() if name not in left_out]


def _field(name: str, field: FieldInfo, *, shown: bool) -> Json:
    meaning, unit, source = described(field.description or "") if shown else ("", "", "")
    written: Json = {
        "name": field.serialization_alias or name,
        "type": _with_needs(_type(field.annotation, field.metadata), field.description or ""),
        **{name: text for name, text in (("meaning", meaning), ("unit", unit), ("source", source)) if text},
    }
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        # The whole description is part of the error about a missing field.
        written["description"] = field.description or ""
    else:
        written["default"] = _plain(default)
    if LATER in field.metadata:
        written["later"] = True
    return written


def _with_needs(kind: Json, description: str) -> Json:
    """Adds the description of a field to the type of its rows, for the error about a missing item."""
    if "length" in kind:
        return kind | {"needs": description}
    return kind | {"of": _with_needs(kind["of"], description)} if kind["is"] == "list" else kind


def _in_lab(part: type[BaseModel]) -> bool:
    return not issubclass(part, Model) or part.in_lab


def _plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, BaseModel):
        kind = kind_of(type(value))
        # A part's default has its kind's default fields, so the kind's name is sufficient.
        return {} if kind is None else {"kind": kind}
    return list(value) if isinstance(value, tuple) else value


def _type(annotation: Any, metadata: Iterable[Any] = ()) -> Json:  # noqa: ANN401 - any type annotation
    metadata = list(metadata)
    while get_origin(annotation) is Annotated:
        annotation, *inner = get_args(annotation)
        metadata += [data for part in inner for data in (part.metadata if isinstance(part, FieldInfo) else [part])]
        metadata += [part for part in inner if isinstance(part, FieldInfo)]
    arguments = [part for part in get_args(annotation) if part is not ...]
    if NoneType in arguments:
        whole = [part for part in arguments if part is not NoneType]
        return {**_type(whole[0] if len(whole) == 1 else Union[tuple(whole)], metadata), "optional": True}  # noqa: UP007
    if (checked := next(filter(None, map(_checked, metadata)), None)) is not None:
        return checked
    if get_origin(annotation) in (dict, tuple):
        return _many(annotation, arguments, metadata)
    if get_origin(annotation) is Literal:
        return {"is": "one of", "values": arguments, **_becomes(metadata)}
    if get_origin(annotation) in (Union, UnionType):
        kinds = {str(kind_of(part)): part.__name__ for part in arguments}
        return {"is": "kinds", "kinds": kinds, "chosen": CHOSEN in metadata}
    if issubclass(annotation, BaseModel):
        return {"is": "part", "part": annotation.__name__}
    return _scalar(annotation, metadata)


def _many(annotation: object, items: list[Any], metadata: list[Any]) -> Json:
    """Describes a mapping by name, a list of one type, or a fixed-length row with a type for each item."""
    bounds = {key: value for data in metadata for key, value in _lengths(data).items()}
    if get_origin(annotation) is dict:
        return {"is": "values", **bounds}
    each = [_type(item) for item in items]
    listed: Json = {"is": "list", "of": each[0], "ascending": ASCENDING in metadata, **bounds}
    if ... not in get_args(annotation):
        listed |= {"length": len(each)}
        if any(item != each[0] for item in each):
            listed |= {"each": each}
    return listed


def _scalar(annotation: type, metadata: list[Any]) -> Json:
    written: Json = {"is": {str: "text", bool: "bool", int: "int", float: "float"}[annotation]}
    for data in metadata:
        for key, kind in {"ge": Ge, "gt": Gt, "le": Le, "lt": Lt}.items():
            if isinstance(data, kind):
                written[key] = getattr(data, key)
        written |= _lengths(data)
        if (pattern := getattr(data, "pattern", None)) is not None:
            written["pattern"] = pattern
    return written | _becomes(metadata) | ({"decimals": 9} if _is_share(metadata) else {})


def _checked(data: object) -> Json | None:
    """Describes a type by its check, if there is one."""
    if isinstance(data, IntegerOr):
        return {"is": "integer or word", "low": data.low, "high": data.high, "word": data.word}
    if data is get_args(Buffer)[1]:
        return {"is": "buffer"}
    if not isinstance(data, Quantity):
        return None
    return {
        "is": "quantity",
        "dimension": data.dimension.key,
        "low": data.low,
        "high": data.high,
        "suffix": data.suffix,
        "unlimited": data.dimension.unlimited,
        "auto": data.auto,
    }


def _becomes(metadata: list[Any]) -> Json:
    suffix = next((data.suffix for data in metadata if isinstance(data, Becomes) and data.suffix), "")
    return {"suffix": suffix} if suffix else {}


def _is_share(metadata: list[Any]) -> bool:
    return any(isinstance(data, AfterValidator) for data in metadata) and bool(_becomes(metadata))


def _lengths(data: object) -> Json:
    if isinstance(data, MinLen):
        return {"least": data.min_length}
    return {"most": data.max_length} if isinstance(data, MaxLen) else {}
