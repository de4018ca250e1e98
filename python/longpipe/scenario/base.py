"""What every part of a scenario is made of: strict immutable models whose quantities are checked text with a unit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from longpipe.errors import ScenarioError
from longpipe.units import BUFFER, RATE, SEGMENTS, SIZE, TICKS, TIME, UNLIMITED, Dimension


class Model(BaseModel):
    """A part of a scenario. Unknown fields are errors, values can't change, and ScenarioError is all it raises."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    if not TYPE_CHECKING:

        def __init__(self, /, **data: object) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise ScenarioError.from_pydantic(error, type(self)) from None

        # Pydantic's own mark: nested models are validated in one pass, which keeps the whole path in each error.
        __init__.__pydantic_base_init__ = True


@dataclass(frozen=True)
class Checked(BeforeValidator):
    """A check of a value as written, with the words by which a reference names what passes it."""

    accepts: str = ""


def _quantity(dimension: Dimension, low: str, high: str) -> Checked:
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

    return Checked(check, accepts=f"{low} to {high}{f', or {UNLIMITED}' if dimension.unlimited else ''}")


def _text(value: object, dimension: Dimension) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r}; {dimension.accepts()}")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; {dimension.accepts()}")
    return " ".join(value.split())


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
MOST_WINDOW_SCALE: Final = 14

Duration = Annotated[str, _quantity(TIME, "1 us", "100000 s")]
Instant = Annotated[str, _quantity(TIME, "0 s", "100000 s")]
Delay = Annotated[str, _quantity(TIME, "0 s", "1000 s")]
TimerDuration = Annotated[str, _quantity(TIME, "1 us", "1000 s")]
VbrPeriod = Annotated[str, _quantity(TIME, "1 us", "100000 s")]
WebCycle = Annotated[str, _quantity(TIME, "1 ms", "100000 s")]
SampleInterval = Annotated[str, _quantity(TIME, "1 us", "1000 s")]
Tick = Annotated[str, _quantity(TIME, "1 us", "100 s")]
Rate = Annotated[str, _quantity(RATE, "1 kbit/s", "10 Tbit/s")]
FileSize = Annotated[str, _quantity(SIZE, "1 B", "1000 GB")]
# 65535 bytes of AAL5 payload leave room for this, 8 of LLC/SNAP and up to 100 of TCP/IP headers.
SegmentSize = Annotated[str, _quantity(SIZE, "1 B", "65000 B")]
# RFC 7323 scales a window to 1 GiB at most.
Window = Annotated[str, _quantity(SIZE, "1 B", "1 GiB")]
WindowScale = Annotated[int | str, Checked(_check_window_scale, accepts=f"0 to {MOST_WINDOW_SCALE}, or {AS_NEEDED}")]
Threshold = Annotated[str, _quantity(replace(SIZE, unlimited=True), "1 B", "1 GiB")]
Segments = Annotated[str, _quantity(SEGMENTS, "1 segment", "65535 segments")]
Burst = Annotated[str, _quantity(replace(SEGMENTS, unlimited=True), "1 segment", "65535 segments")]
Ticks = Annotated[str, _quantity(TICKS, "1 tick", "1000000 ticks")]
Buffer = Annotated[
    str,
    Checked(
        _check_buffer, accepts=f"one full packet to {MOST_CELLS} cells or packets, in bytes or BDP too, or {UNLIMITED}"
    ),
]


def kind_or_table() -> BeforeValidator:
    """Lets a bare name stand for the table with that kind and its defaults: "epd" for {kind = "epd"}."""
    expand: Callable[[Any], Any] = lambda value: {"kind": value} if isinstance(value, str) else value  # noqa: E731
    return BeforeValidator(expand)
