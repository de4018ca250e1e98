"""What every part of a scenario is made of: strict immutable models whose quantities are checked text with a unit."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from longpipe.errors import ScenarioError
from longpipe.units import BUFFER, RATE, SEGMENTS, SIZE, SYMBOLS, TICKS, TIME, UNLIMITED, Dimension


class Model(BaseModel):
    """A part of a scenario. Unknown fields are errors, values can't change, and ScenarioError is all it raises."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Has `help()` show the fields, each with its default, unit and source."""
        super().__pydantic_init_subclass__(**kwargs)
        fields = [line for name, field in cls.model_fields.items() if name != "kind" for line in _help(name, field)]
        if fields:
            cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Fields::", "", *fields])
        keyword, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        cls.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, keyword, default=none if field.is_required() else field.default)
                for name, field in cls.model_fields.items()
                if name != "kind"
            ]
        )

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What differs from the defaults, and what has none."""
        for name, field in type(self).model_fields.items():
            if field.is_required() or getattr(self, name) != field.default:
                yield field.serialization_alias or name, getattr(self, name)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Returns a copy with some fields replaced, which are not validated.

        Parts are immutable and therefore shared. Pydantic's own method takes seven times as long, which counts
        because a dumbbell of 50 000 flows is 250 000 copies.
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

        # Pydantic's own mark: nested models are validated in one pass, which keeps the whole path in each error.
        __init__.__pydantic_base_init__ = True


def _help(name: str, field: FieldInfo) -> Iterator[str]:
    """A field in two lines: its name and default, and what it is."""
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
    """What the core has for a value: a field whose name ends with `suffix`, and what `convert` makes of the value."""

    suffix: str
    convert: Callable[[Any], Any]


@dataclass(frozen=True)
class Later:
    """Of a field that was not there when scenarios were stored: the core has it only where it isn't the default.

    Otherwise the digests of those scenarios, by which their runs are found, would change.
    """


LATER: Final = Later()


@dataclass(frozen=True)
class Checked(BeforeValidator):
    """A check of a value as written, with the words by which a reference names what passes it."""

    accepts: str = ""


@dataclass(frozen=True)
class Quantity(Checked, Becomes):
    """A quantity within bounds: text with a unit, for the core a whole number of base units, None if unlimited."""

    dimension: Dimension = dataclasses.field(kw_only=True)
    low: str = dataclasses.field(kw_only=True)
    high: str = dataclasses.field(kw_only=True)
    # Whether 'auto' will do.
    auto: bool = dataclasses.field(default=False, kw_only=True)


def _quantity(dimension: Dimension, low: str, high: str, suffix: str | None = None) -> Quantity:
    """From `low` to `high`; the core names it by the dimension's suffix unless there is another."""
    low_value, high_value = dimension.parse(low), dimension.parse(high)

    @lru_cache(maxsize=4096)
    def canonical(text: str) -> str:
        if dimension.unlimited and text in (UNLIMITED, "inf"):
            return UNLIMITED
        if not low_value <= dimension.parse(text) <= high_value:
            raise ValueError(f"{text}; needs {low} to {high}")
        return dimension.canonical(text)

    def check(value: object) -> str:
        return canonical(_text(value, dimension))

    def or_none(text: str) -> int | None:
        return None if text == UNLIMITED else dimension.parse(text)

    return Quantity(
        suffix=dimension.suffix if suffix is None else suffix,
        convert=or_none if dimension.unlimited else dimension.parse,
        func=check,
        accepts=f"{low} to {high}{f', or {UNLIMITED}' if dimension.unlimited else ''}",
        dimension=dimension,
        low=low,
        high=high,
    )


def _or_auto(quantity: Quantity) -> Quantity:
    """The same, or 'auto', which is resolved before the core asks for it."""

    def check(value: object) -> str:
        if isinstance(value, str) and value.strip() == AUTO:
            return AUTO
        try:
            return str(quantity.func(value))  # type: ignore[call-arg]
        except ValueError as error:
            raise ValueError(f"{error}, or {AUTO!r}") from None

    return replace(quantity, func=check, accepts=f"{quantity.accepts}, or {AUTO}", auto=True)


def _text(value: object, dimension: Dimension) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r}; {dimension.accepts()}")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; {dimension.accepts()}")
    return " ".join(value.split())


def _check_decimals(fraction: float) -> float:
    if _parts(fraction).denominator != 1:
        raise ValueError(f"{fraction}; needs at most 9 decimals")
    return fraction


def _parts(fraction: float) -> Fraction:
    """As written, in parts per billion."""
    return Fraction(str(fraction)) * 10**9


def _check_window_scale(value: object) -> int | str:
    if isinstance(value, str) and " ".join(value.split()) == AS_NEEDED:
        return AS_NEEDED
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_WINDOW_SCALE:
        raise ValueError(f"{value!r}; needs 0 to {MOST_WINDOW_SCALE}, or {AS_NEEDED!r}")
    return value


def _check_buffer(value: object) -> str:
    text = _text(value, BUFFER)
    if text in (UNLIMITED, "inf"):
        return UNLIMITED
    number, unit = BUFFER.split(text)
    most = MOST_BUFFER_BYTES / SIZE.units[unit] if unit in SIZE.units else MOST_CELLS
    if not 0 <= number <= most:
        raise ValueError(f"{text}; needs at least one full packet and at most {int(most)} {unit}, or {UNLIMITED!r}")
    counted = "bytes" if unit in SIZE.units else unit
    if counted in ("cells", "bytes") and (number * SIZE.units.get(unit, 1)).denominator != 1:
        raise ValueError(f"{text}; needs a whole number of {counted}")
    return BUFFER.canonical(text)


MOST_CELLS: Final = 10**9
MOST_BUFFER_BYTES: Final = 10**12
AS_NEEDED: Final = "as needed"
AUTO: Final = "auto"
MOST_WINDOW_SCALE: Final = 14

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
# 64 bits of picoseconds are 213 days.
Duration = Annotated[str, _quantity(TIME, "1 ps", "2400 h")]
Instant = Annotated[str, _quantity(TIME, "0 s", "100000 s")]
SymbolRate = Annotated[str, _quantity(SYMBOLS, "1 kbaud", "10 Gbaud")]
# To a billionth, which is exact.
Decibels = Annotated[float, Field(ge=-100, le=100)]
Delay = Annotated[str, _quantity(TIME, "0 s", "1000 s")]
QueueTime = Annotated[str, _quantity(TIME, "1 us", "1000 s")]
UpdateTime = Annotated[str, _quantity(TIME, "10 us", "1000 s")]
BurstTime = Annotated[str, _quantity(TIME, "1 us", "1000 s")]
FrameTime = Annotated[str, _quantity(TIME, "100 us", "1000 s")]
Rto = Annotated[str, _quantity(TIME, "1 us", "100000 s")]
ReferenceRtt = Annotated[str, _quantity(TIME, "1 us", "100 s")]
Granularity = Annotated[str, _quantity(TIME, "1 us", "1000 s")]
AckDelay = Annotated[str, _quantity(TIME, "1 ps", "1000 s")]
SackDelay = Annotated[str, _quantity(TIME, "0 s", "1000 s")]
WriteInterval = Annotated[str, _quantity(TIME, "0 s", "1000 s")]
VbrPeriod = Annotated[str, _quantity(TIME, "1 us", "1000000 s")]
VbrPhase = Annotated[str, _quantity(TIME, "0 s", "1000000 s")]
WebCycle = Annotated[str, _quantity(TIME, "1 ms", "100000 s")]
SampleInterval = Annotated[str, _quantity(TIME, "1 us", "1000 s")]
Tick = Annotated[str, _quantity(TIME, "1 us", "100 s")]
Rate = Annotated[str, _quantity(RATE, "1 kbit/s", "10 Tbit/s")]
# Of a step, where none is an outage.
StepRate = Annotated[str, _quantity(RATE, "0 bit/s", "10 Tbit/s")]
FileSize = Annotated[str, _quantity(SIZE, "1 B", "1000 GB")]
SplitBuffer = Annotated[str, _quantity(SIZE, "1 B", "1000 GB")]
# 65535 bytes of AAL5 payload leave room for this, 8 of LLC/SNAP and up to 100 of TCP/IP headers.
SegmentSize = Annotated[str, _quantity(SIZE, "1 B", "65000 B")]
Backlog = Annotated[str, _quantity(SIZE, "0 B", "1 GB")]
Quantum = Annotated[str, _quantity(SIZE, "1 B", "1 GB")]
TurnQuantum = Annotated[str, _quantity(SIZE, "64 B", "1 GB")]
# RFC 7323 scales a window to 1 GiB at most.
LARGEST_WINDOW: Final = "1 GiB"
Window = Annotated[str, _or_auto(_quantity(SIZE, "1 B", LARGEST_WINDOW))]
WindowScale = Annotated[int | str, Checked(_check_window_scale, accepts=f"0 to {MOST_WINDOW_SCALE}, or {AS_NEEDED}")]
Threshold = Annotated[str, _quantity(replace(SIZE, unlimited=True), "1 B", LARGEST_WINDOW)]
Segments = Annotated[str, _quantity(SEGMENTS, "1 segment", "65535 segments")]
InitialWindow = Annotated[str, _quantity(SEGMENTS, "1 segment", "1000000 segments")]
Burst = Annotated[str, _quantity(replace(SEGMENTS, unlimited=True), "1 segment", "65535 segments", suffix="")]
PacingBurst = Annotated[str, _quantity(replace(SEGMENTS, unlimited=True), "1 segment", "65535 segments")]
Ticks = Annotated[str, _quantity(TICKS, "1 tick", "1000000 ticks")]
Buffer = Annotated[
    str,
    Checked(
        _check_buffer, accepts=f"one full packet to {MOST_CELLS} cells or packets, in bytes or BDP too, or {UNLIMITED}"
    ),
]
Probability = Annotated[float, Field(ge=0, le=1)]
# As exact as it is written.
Share = Annotated[
    float, Field(ge=0, le=1), AfterValidator(_check_decimals), Becomes("ppb", lambda share: int(_parts(share)))
]
# Of something that is there for some of it: none would be nothing.
PositiveShare = Annotated[float, Field(gt=0, le=1)]
# What a set is to the core.
ASCENDING: Final = Becomes("", lambda values: sorted(set(values)))


def kind_or_table() -> BeforeValidator:
    """Lets a bare name stand for the table with that kind and its defaults: "epd" for {kind = "epd"}."""
    expand: Callable[[Any], Any] = lambda value: {"kind": value} if isinstance(value, str) else value  # noqa: E731
    return BeforeValidator(expand)


def kinds(union: object) -> tuple[str, ...]:
    """Names of the tables of which a field takes one."""
    return tuple(str(model.model_fields["kind"].default) for model in get_args(get_args(union)[0]))
