"""Random parameters of scenario models, drawn from the bounds that their fields declare."""

import inspect
from collections.abc import Collection, Iterable
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Len, Lt
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from longpipe.scenario.base import Model, Quantity, models_by_kind

MAX_ITEMS = 4


def kinds_of(union: object, only: Collection[str] = (), **fixed: object) -> st.SearchStrategy[dict[str, Any]]:
    """Returns a strategy for tables of a union's kinds, or of some of them; `fixed` fields have one value."""
    models = models_by_kind(union)
    return st.one_of([table_of(models[kind], **fixed) for kind in only or models])


def table_of(model: type[Model], **fixed: object) -> st.SearchStrategy[dict[str, Any]]:
    """Returns a strategy for valid tables of a model; a field has its default in every second draw."""
    return _tables(model, fixed).filter(lambda table: is_valid(model, table))


# A composite strategy has a short representation, which Hypothesis computes for its arguments.
@st.composite
def _tables(draw: st.DrawFn, model: type[Model], fixed: dict[str, object]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        value: Any
        if name in fixed:
            value = fixed[name]
        elif name == "kind" or not (field.is_required() or draw(st.booleans())):
            value = field.default.model_dump() if isinstance(field.default, Model) else field.default
        else:
            value = draw(of_type(field.annotation, field.metadata))
        if value is not None:
            table[field.serialization_alias or name] = value
    return table


def is_valid(model: type[Model], table: dict[str, Any]) -> bool:
    """Returns whether a model accepts a table, and no constraint across its fields is violated."""
    try:
        return not list(model(**table).problems())
    except ValueError:
        return False


def of_type(annotation: Any, metadata: Iterable[object] = ()) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any annotation
    """Returns a strategy for values of a type with the bounds in its metadata."""
    origin, metadata = get_origin(annotation), tuple(metadata)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        flat = chain.from_iterable(one.metadata if isinstance(one, FieldInfo) else [one] for one in more)
        return of_type(inner, (*metadata, *flat))
    for one in metadata:
        if isinstance(one, Quantity):
            return quantities(one)
    if origin is Literal:
        return st.sampled_from(get_args(annotation))
    if origin in (Union, UnionType):
        return st.one_of([of_type(part, metadata) for part in get_args(annotation) if part is not NoneType])
    if origin is tuple:
        return _tuples(get_args(annotation), metadata)
    if inspect.isclass(annotation) and issubclass(annotation, Model):
        return table_of(annotation)
    if annotation is bool:
        return st.booleans()
    assert annotation in (int, float), annotation
    return numbers(annotation, metadata)


def _tuples(items: tuple[Any, ...], metadata: tuple[object, ...]) -> st.SearchStrategy[Any]:
    if items[-1] is not ...:
        return st.tuples(*map(of_type, items)).map(list)
    fewest = max((one.min_length for one in metadata if isinstance(one, Len)), default=0)
    return st.lists(of_type(items[0]), min_size=fewest, max_size=max(fewest, MAX_ITEMS))


def numbers(kind: type, metadata: Iterable[object]) -> st.SearchStrategy[Any]:
    """Returns a strategy for numbers within bounds, of which half have the order of magnitude of 1."""
    low: Any = None
    high: Any = None
    open_low = open_high = False
    for one in metadata:
        match one:
            case Ge(ge=low):
                pass
            case Gt(gt=low):
                open_low = True
            case Le(le=high):
                pass
            case Lt(lt=high):
                open_high = True
    if kind is int:
        low, high = low + open_low, high - open_high
        return st.one_of(st.integers(low, high), st.integers(low, min(high, low + 20)))
    wide = st.floats(low, high, exclude_min=open_low, exclude_max=open_high, allow_subnormal=False)
    return st.one_of(wide, st.floats(max(low, 0.001), min(high, 1.0), exclude_max=open_high, allow_subnormal=False))


def quantities(quantity: Quantity) -> st.SearchStrategy[str]:
    """Returns a strategy for quantities within bounds: both bounds, and numbers of any order of magnitude between."""
    low, high = (int(quantity.dimension.parse(text)) for text in (quantity.low, quantity.high))
    magnitudes = st.floats(0, 1).map(lambda share: round(max(low, 1) * (high / max(low, 1)) ** share))
    drawn = st.one_of(st.sampled_from([low, high]), magnitudes.map(lambda number: min(max(number, low), high)))
    return drawn.map(quantity.dimension.format)
