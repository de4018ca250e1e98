"""Base of all parts of a scenario: strict immutable models whose quantities are checked texts with a unit."""

import dataclasses
import inspect
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    SerializationInfo,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticKnownError, SchemaValidator
from pydantic_core.core_schema import (
    CoreConfig,
    CoreSchema,
    NoInfoValidatorFunction,
    no_info_before_validator_function,
    no_info_plain_validator_function,
    plain_serializer_function_ser_schema,
)

from longpipe._core import MAX_CELLS, BoundedQuantity, check_buffer
from longpipe.errors import ScenarioError, shown
from longpipe.scenario.constraints import Constraint, violated, violations
from longpipe.units import BUFFER, RATE, SIZE, SYMBOLS, TIME, UNLIMITED, Dimension


class _Signature:
    """A class's signature with fields and defaults, but without the annotations, which are long; computed when read."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> inspect.Signature:
        keyword, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        return inspect.Signature(
            [
                inspect.Parameter(name, keyword, default=none if field.is_required() else field.default)
                for name, field in owner.model_fields.items()
                if name != "kind"
            ]
        )


_SIGNATURE: Final = _Signature()


@cache
def _defaults(model: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of models, which mypy cannot hash
    """Returns the values of a model's optional fields, which no scenario changes."""
    fields = model.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields if not field.is_required()}


class Model(BaseModel):
    """A part of a scenario. It is immutable, rejects unknown fields, and raises only ScenarioError."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False, defer_build=True)
    # Constraints across the fields, which `problems` evaluates.
    constraints: ClassVar[tuple[Constraint, ...]] = ()
    # Defaults that differ from the listed ones, by the name of a profile or of the scenario's `defaults`, and by field.
    profile_options: ClassVar[dict[str, dict[str, Any]]] = {}
    # Common name of a kind, as in menus; that of files if it is empty.
    label: ClassVar[str] = ""
    # Whether the core, or a program or module, draws random numbers for it.
    draws: ClassVar[bool] = False
    # Whether the lab's page has it.
    in_lab: ClassVar[bool] = True

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Returns pydantic's schema, in which numbers and booleans need to be of their own types."""
        schema = handler(source)
        _refuse_other_types(handler.resolve_ref_schema(schema), cls)
        return schema

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Adds the fields with defaults, units and sources to the class's docstring, for `help()`."""
        super().__pydantic_init_subclass__(**kwargs)
        for field in cls.model_fields.values():
            # The types guarantee that these defaults are valid, so they are not validated again; a link of a graph has
            # ten of them.
            if field.default is None or isinstance(field.default, Model):
                field.validate_default = False
        fields = [line for name, field in cls.model_fields.items() if name != "kind" for line in _help(name, field)]
        if fields:
            cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Fields::", "", *fields])
        cls.__signature__ = cast("inspect.Signature", _SIGNATURE)
        _forget_class_variables(cls)

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        """Restores the signature that building the validator replaced."""
        super().__pydantic_on_complete__()
        cls.__signature__ = cast("inspect.Signature", _SIGNATURE)

    @classmethod
    def unchecked(cls, **values: Any) -> Self:  # noqa: ANN401 - values of its fields
        """Returns the model with values that are known to be valid, and defaults for all other fields.

        A validator takes milliseconds to build. The validator of a whole scenario contains those of its parts, so most
        processes need only this one. Pydantic's own method takes ten times as long, because it copies the defaults,
        which are immutable.
        """
        made = object.__new__(cls)
        object.__setattr__(made, "__dict__", {**_defaults(cls), **values})
        object.__setattr__(made, "__pydantic_fields_set__", set(values))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yields the field and the message of each violated constraint across fields."""
        return violations(self)

    def fields_and_parts(self, written: Collection[str]) -> dict[str, Any]:
        """Returns the fields that have a value, as in a file, except that parts remain models.

        Parts in the fields `written` become tables.
        """
        parts = {name: value for name, value in self.__dict__.items() if name not in written and _has_parts(value)}
        return self.model_dump(by_alias=True, exclude_none=True, exclude=set(parts)) | parts

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """Returns the fields that differ from their defaults or have no default, except absent ones."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if field.is_required() or (name in self.model_fields_set and _is_other(value, field.default)):
                yield field.serialization_alias or name, value

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Returns a copy with some fields replaced, which are not validated.

        Parts are immutable and therefore shared. Pydantic's own method takes seven times as long, which matters because
        a dumbbell of 50 000 flows needs 250 000 copies.
        """
        if deep:
            return super().model_copy(update=update, deep=True)
        changes = update or {}
        copied = object.__new__(type(self))
        object.__setattr__(copied, "__dict__", {**self.__dict__, **changes})
        object.__setattr__(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys())
        object.__setattr__(copied, "__pydantic_extra__", None)
        object.__setattr__(copied, "__pydantic_private__", None)
        return copied

    if not TYPE_CHECKING:

        def __init__(self, /, **data: object) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise ScenarioError.from_pydantic(error, type(self)) from None

        # This is pydantic's own marker. Nested models are validated in one pass, so each error contains the whole path.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name: str, value: object) -> None:
            if name in type(self).model_fields:
                change = f"{name}=..." if hasattr(self, "with_") else "**{'switch.buffer': ...}"
                raise ScenarioError(
                    f"{name}: scenarios and their parts cannot be changed; scenario.with_({change}) "
                    "returns a changed copy"
                )
            super().__setattr__(name, value)


def _forget_class_variables(model: type[BaseModel]) -> None:
    """Removes the annotations of class variables, which pydantic would evaluate again for each subclass."""
    for name in model.__class_vars__ & model.__annotations__.keys():
        del model.__annotations__[name]


_forget_class_variables(Model)


def _refuse_other_types(schema: Any, model: type[BaseModel]) -> None:  # noqa: ANN401 - a part of a pydantic schema
    """Adds checks to the numbers and booleans of a model, because pydantic reads "5", True and "yes" as either."""
    kind = schema["type"]
    is_number = kind == "literal" and not isinstance(schema["expected"][0], str)
    if kind in _REFUSED or is_number:
        types, problem = _REFUSED.get(kind, ((bool,), "literal_error"))
        expected = {"expected": str(schema["expected"])} if is_number else None
        check = partial(_refuse_types, types=types, problem=problem, context=expected)
        inner = dict(schema)
        schema.clear()
        schema.update(no_info_before_validator_function(check, inner))
    elif kind == "model-fields":
        for field in schema["fields"].values():
            _refuse_other_types(field["schema"], model)
    elif kind == "tuple":
        for item in schema["items_schema"]:
            _refuse_other_types(item, model)
    # The schema of another model has its own checks.
    elif "schema" in schema and schema.get("cls", model) is model:
        _refuse_other_types(schema["schema"], model)


# Types of values that are refused before pydantic's checks, and the problem, by the type of a schema.
_REFUSED: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "int": ((bool, str, bytes), "int_type"),
    "float": ((bool, str, bytes), "float_type"),
    "bool": ((int, float, str, bytes), "bool_type"),
}


def _refuse_types(value: object, types: tuple[type, ...], problem: Any, context: Any) -> object:  # noqa: ANN401 - literals
    # A boolean is an integer to Python.
    if isinstance(value, types) and (type(value) is not bool or bool in types):
        raise PydanticKnownError(problem, context)
    return value


@cache
def validator_of(model: Any, name: str) -> SchemaValidator:  # noqa: ANN401 - a class of models, which mypy cannot hash
    """Returns the validator of one field without its default, which is built faster than that of its model."""
    field = model.model_fields[name]
    annotation: Any = Annotated[field.annotation, Field(), *field.metadata]
    schema = TypeAdapter(annotation).core_schema
    _refuse_other_types(schema, model)
    return SchemaValidator(schema, CoreConfig(allow_inf_nan=False))


def _is_other(value: object, default: object) -> bool:
    """Returns whether a value differs from a default, of which absent fields of a part may depend on other fields."""
    if isinstance(value, Model) and type(value) is type(default):
        return any(True for _ in value.__repr_args__())
    return value != default


def _has_parts(value: object) -> bool:
    return isinstance(value, Model) or (isinstance(value, tuple) and any(isinstance(item, Model) for item in value[:1]))


def _help(name: str, field: FieldInfo) -> Iterator[str]:
    """Describes a field in two lines: name and default, and meaning."""
    if field.is_required():
        default = "required"
    elif isinstance(field.default, Model):
        default = f"default {getattr(field.default, 'kind', 'its own')}"
    else:
        default = "absent by default" if field.default is None else f"default {field.default!r}"
    yield f"    {field.serialization_alias or name}: {default}"
    yield f"        {field.description or ''}"


@dataclass(frozen=True)
class Becomes:
    """Conversion for the core: `suffix` is appended to the field's name, and `convert` converts its value."""

    suffix: str
    convert: Callable[[Any], Any]


@dataclass(frozen=True)
class Later:
    """Marks a field that is newer than stored scenarios: the core gets the field only if its value is not the default.

    Otherwise the digests of stored scenarios would change, and their runs would not be found.
    """


LATER: Final = Later()


class Conversion(BeforeValidator):
    """A function of one argument that is applied to a specified value before its type is checked."""

    def __get_pydantic_core_schema__(self, source_type: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Returns pydantic's own schema for a function of one argument, without reading the function's signature.

        Reading the signatures of all quantities takes a tenth of the time to build a scenario's validator.
        """
        check = cast("NoInfoValidatorFunction", self.func)
        return no_info_before_validator_function(check, schema=handler(source_type))


@dataclass(frozen=True)
class Checked(Conversion):
    """A check of a specified value, and the description of the accepted values for the reference."""

    accepts: str = ""


@dataclass(frozen=True)
class Quantity(Checked, Becomes):
    """A bounded quantity: text with a unit; for the core an integer number of base units, None if unlimited."""

    dimension: Dimension = dataclasses.field(kw_only=True)
    low: str = dataclasses.field(kw_only=True)
    high: str = dataclasses.field(kw_only=True)
    # Whether the quantity accepts 'auto'.
    auto: bool = dataclasses.field(default=False, kw_only=True)


def _words(value: object) -> object:
    """Splits a command line into words as a shell does."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ValueError(f"{value!r} ({error}); needs a command line") from None


@cache
def quantity(
    dimension: Dimension,
    low: str,
    high: str,
    suffix: str | None = None,
    *,
    unlimited: bool = False,
    auto: bool = False,
) -> Quantity:
    """Creates a quantity from `low` to `high`; by default, its suffix for the core is that of the dimension.

    It may also accept 'unlimited', or 'auto', which is resolved before it reaches the core.
    """
    if unlimited:
        dimension = Dimension(dimension.key, unlimited=True)
    bounded = BoundedQuantity(dimension, low, high, auto=auto)
    word = f", or {UNLIMITED}" if dimension.unlimited else f", or {AUTO}" if auto else ""

    @lru_cache(maxsize=4096)
    def canonical(written: str) -> str:
        text = bounded.check(written)
        # Returning the same text keeps one copy of it, which matters for lists of a million times.
        return written if text == written else text

    def check(value: object) -> str:
        # Longer text, with many spaces, would fill the cache.
        if type(value) is str and len(value) < LONGEST_QUANTITY:
            return canonical(value)
        return canonical(_text(value, dimension, word=f", or {AUTO!r}" if auto else ""))

    def or_none(text: str) -> int | None:
        return None if text == UNLIMITED else dimension.parse(text)

    return Quantity(
        suffix=dimension.suffix if suffix is None else suffix,
        convert=or_none if dimension.unlimited else dimension.parse,
        func=check,
        accepts=f"{low} to {high}{word}",
        dimension=dimension,
        low=low,
        high=high,
        auto=auto,
    )


def _text(value: object, dimension: Dimension, *, word: str = "") -> str:
    """Returns a text with single spaces. Raises ValueError for other values; `word` ends the message."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{shown(value)}; {dimension.accepts()}{word}")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; {dimension.accepts()}{word}")
    return " ".join(value.split())


@cache
def increasing(dimension: Dimension) -> AfterValidator:
    """Creates a check of a list of quantities, each of which needs to exceed the previous one."""

    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        numbers = [dimension.parse(value) for value in values]
        if any(low >= high for low, high in pairwise(numbers)):
            raise ValueError(f"{', '.join(values)}; needs ascending {dimension.name.split()[-1]}s")
        return values

    return AfterValidator(check)


def _check_sum(shares: tuple[float, ...]) -> tuple[float, ...]:
    if sum(Fraction(str(share)) for share in shares) != 1:
        raise ValueError(f"{list(shares)} adds up to {sum(shares):g}; needs shares that add up to 1")
    return shares


def satisfies_rules(cls: type[Model], value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - a value of any field
    """Checks the constraints of a field while its model is validated; those on invalid fields are skipped."""
    values = {**info.data, str(info.field_name): value}
    part = cls.unchecked(**values)
    for constraint, message in violated(part):
        if constraint.field == info.field_name and constraint.operands <= values.keys():
            raise ValueError(message)
    return value


def _check_decimals(fraction: float) -> float:
    if _parts(fraction).denominator != 1:
        raise ValueError(f"{fraction}; needs at most 9 decimals")
    return fraction


def _parts(fraction: float) -> Fraction:
    """Converts a fraction exactly as written into parts per billion."""
    return Fraction(str(fraction)) * 10**9


@dataclass(frozen=True)
class IntegerOr(Checked):
    """A bounded integer, or a word for a value that is computed."""

    low: int = dataclasses.field(kw_only=True)
    high: int = dataclasses.field(kw_only=True)
    word: str = dataclasses.field(kw_only=True)


def integer_or(low: int, high: int, word: str) -> IntegerOr:
    """Creates a check of an integer from `low` to `high`, or a word."""

    def check(value: object) -> int | str:
        if isinstance(value, str) and " ".join(value.split()) == word:
            return word
        if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 or not low <= value <= high:
            raise ValueError(f"{shown(value)}; needs {low} to {high}, or {word!r}")
        return int(value)

    return IntegerOr(func=check, accepts=f"{low} to {high}, or {word}", low=low, high=high, word=word)


def _check_buffer(value: object) -> str:
    return check_buffer(_text(value, BUFFER))


# Length at and above which the text of a quantity is normalized before it is cached.
LONGEST_QUANTITY: Final = 64
AUTO: Final = "auto"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
# 2^64 ps are 213 days.
_LONGEST: Final = "2400 h"
Duration = Annotated[str, quantity(TIME, "1 ps", _LONGEST)]
# QUIC states idle timeouts in milliseconds (RFC 9000 section 18.2).
IdleTimeout = Annotated[str, quantity(TIME, "1 ms", _LONGEST)]
# A part of a duration, which may be 0.
Span = Annotated[str, quantity(TIME, "0 s", _LONGEST)]
Instant = Annotated[str, quantity(TIME, "0 s", "100000 s")]
SymbolRate = Annotated[str, quantity(SYMBOLS, "1 kbaud", "10 Gbaud")]
# Fractions are exact to 1e-9.
Decibels = Annotated[float, Field(ge=-100, le=100)]
Delay = Annotated[str, quantity(TIME, "0 s", "1000 s")]
Rate = Annotated[str, quantity(RATE, "1 kbit/s", "10 Tbit/s")]
MediaRate = Annotated[str, quantity(RATE, "10 kbit/s", "1 Gbit/s")]
# Maximum rate of Opus (RFC 6716 section 2.1.1), at which a packet of 20 ms still fits into one datagram.
AudioRate = Annotated[str, quantity(RATE, "0 bit/s", "510 kbit/s")]
# Rate of a step; 0 is an outage.
StepRate = Annotated[str, quantity(RATE, "0 bit/s", "10 Tbit/s")]
FileSize = Annotated[str, quantity(SIZE, "1 B", "1000 GB")]
# UDP payloads of 1200 to 65507 bytes and 28 bytes of headers (RFC 9000 section 14).
PathMtu = Annotated[str, quantity(SIZE, "1228 B", "65535 B")]
# A program and its arguments; text is split into words as a shell does.
CommandLine = Annotated[tuple[str, ...], BeforeValidator(_words), Field(max_length=256)]
SplitBuffer = Annotated[str, quantity(SIZE, "1 B", "1000 GB")]
# An AAL5 payload of 65535 bytes has room for the largest of these segments, 8 bytes of LLC/SNAP, and up to 100 bytes of
# TCP/IP headers.
# Smallest and largest MSS.
MSS_RANGE: Final = ("1 B", "65000 B")
SegmentSize = Annotated[str, quantity(SIZE, *MSS_RANGE)]
FlowWindow = Annotated[str, quantity(SIZE, "1200 B", "1 GiB")]
# QUIC datagrams contain a time, and fit into the shortest packet of each stack.
DatagramLength = Annotated[str, quantity(SIZE, "8 B", "1100 B")]
DatagramInterval = Annotated[str, quantity(TIME, "1 us", "4000 s")]
Buffer = Annotated[
    str,
    Checked(
        _check_buffer,
        accepts=f"one full packet to {MAX_CELLS} cells or packets, in bytes, BDP or time too, or {UNLIMITED}",
    ),
]
Probability = Annotated[float, Field(ge=0, le=1)]
PacketNumber = Annotated[int, Field(ge=0, lt=2**63)]
# The number is converted exactly as written.
EXACT: Final = AfterValidator(_check_decimals)
IN_PPB: Final = Becomes("ppb", lambda share: int(_parts(share)))
Share = Annotated[float, Field(ge=0, le=1), EXACT, IN_PPB]
SUM_TO_ONE: Final = AfterValidator(_check_sum)
# The core takes sets as sorted lists.
ASCENDING: Final = Becomes("", lambda values: sorted(set(values)))


class KindOrTable:
    """Accepts a bare name in place of the table of that kind with its defaults: "epd" for {kind = "epd"}.

    The validators of kinds are built when they are needed, because those of all kinds take 60 ms.
    """

    def __get_pydantic_core_schema__(self, source_type: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Returns the schema of a union of tables."""
        tables = _Tables(source_type)
        return no_info_plain_validator_function(
            tables.validate,
            serialization=plain_serializer_function_ser_schema(_serialized, info_arg=True),
            metadata={"pydantic_js_functions": [lambda _schema, handler: handler(tables.adapter.core_schema)]},
        )


class _Tables:
    """A union of tables by kind."""

    def __init__(self, union: Any) -> None:  # noqa: ANN401 - a union of classes
        self._union = union
        self._models: dict[object, Any] = {model.model_fields["kind"].default: model for model in get_args(union)}

    def validate(self, value: object) -> object:
        """Returns a model, from a model, a table or the name of a kind."""
        table = {"kind": value} if isinstance(value, str) else value
        if type(table) is dict:
            kind = table.get("kind")
            if isinstance(kind, str) and kind in self._models:
                try:
                    return self._models[kind].__pydantic_validator__.validate_python(table)
                except ValidationError:
                    # The validator of the union reports the error with the kind.
                    pass
        elif self._models.get(getattr(table, "kind", None)) is type(table):
            return table
        return self.adapter.validate_python(table)

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """The union with the validators of all kinds."""
        union: Any = Annotated[self._union, Field(discriminator="kind")]
        return TypeAdapter(union)


def _serialized(part: Any, info: SerializationInfo) -> Any:  # noqa: ANN401 - a part of any kind
    """Returns the fields of a part of a union."""
    return part.__pydantic_serializer__.to_python(
        part,
        mode=info.mode,
        include=info.include,
        exclude=info.exclude,
        by_alias=info.by_alias,
        exclude_unset=info.exclude_unset,
        exclude_defaults=info.exclude_defaults,
        exclude_none=info.exclude_none,
        round_trip=info.round_trip,
    )


def kind_or_table() -> KindOrTable:
    """Accepts a bare name in place of the table of that kind with its defaults: "epd" for {kind = "epd"}."""
    return KindOrTable()


def models_by_kind(union: object) -> dict[str, Any]:
    """Returns the classes of a union of tables by kind."""
    members = get_args(union)[0]
    return {str(model.model_fields["kind"].default): model for model in get_args(members) or (members,)}


def accepted(model: type[Model], field: str) -> Any:  # noqa: ANN401 - `Quantity` or `IntegerOr`
    """Returns the check of a field, which has its bounds."""
    return next(check for check in model.model_fields[field].metadata if isinstance(check, Checked))


def kinds(union: object) -> tuple[str, ...]:
    """Returns the kinds of a union of tables."""
    return tuple(models_by_kind(union))


def kinds_that(union: object, holds: Callable[[Any], bool]) -> tuple[str, ...]:
    """Returns the kinds of a union of tables for whose classes a condition holds."""
    return tuple(kind for kind, model in models_by_kind(union).items() if holds(model))
