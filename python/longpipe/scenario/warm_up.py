"""The warm-up: the initial part of a run that means exclude."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.base import Checked, Span
from longpipe.units import TIME

AUTOMATIC: Final = "automatic"
NONE: Final = "0 s"
# Field of resolved scenarios, which the core does not have; AUTOMATIC, or picoseconds.
FIELD: Final = "warm_up_ps"


def _check(value: object) -> str:
    if isinstance(value, str) and value.strip() in (AUTOMATIC, "auto"):
        return AUTOMATIC
    try:
        text = str(_SPAN.func(value))  # type: ignore[call-arg]
    except ValueError as error:
        raise ValueError(f"{error}, or {AUTOMATIC!r}") from None
    return text if TIME.parse(text) else NONE


_SPAN: Final = next(one for one in Span.__metadata__ if isinstance(one, Checked))  # type: ignore[attr-defined]
WarmUp = Annotated[str, Checked(_check, accepts=f"less than the duration, or {AUTOMATIC}")]


def resolved_warm_up(warm_up: str, duration: str) -> dict[str, Any]:
    """Returns the field of a resolved scenario, if there is a warm-up.

    Raises ScenarioError if it is not shorter than the run.
    """
    if warm_up == NONE:
        return {}
    if warm_up == AUTOMATIC:
        return {FIELD: AUTOMATIC}
    warm_up_ps = TIME.parse(warm_up)
    if warm_up_ps >= TIME.parse(duration):
        raise ScenarioError(f"warm_up: {warm_up}; needs less than the duration, {duration}, or {AUTOMATIC!r}")
    return {FIELD: warm_up_ps}


def without_warm_up(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a resolved scenario as the core reads it."""
    return {name: value for name, value in resolved.items() if name != FIELD}
