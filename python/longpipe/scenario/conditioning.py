"""Combinations of conditioners at an IP port, and their conversion for the core."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from longpipe.scenario.base import Model, kinds_that
from longpipe.scenario.conditioners import Conditioner, Jitter
from longpipe.scenario.core import core_fields
from longpipe.scenario.jitter import table_of
from longpipe.units import TIME

# Token buckets, in the order in which packets pass them.
BUCKETS: Final = kinds_that(Conditioner, lambda model: model.has_bucket)
# Conditioners of which a port may have only one.
_SINGLE: Final = kinds_that(Conditioner, lambda model: not model.repeats)
# Conditioners that a link with medium access may have.
BESIDE_ACCESS: Final = kinds_that(Conditioner, lambda model: model.beside_access)


def problems(own: Sequence[Conditioner]) -> Iterator[tuple[str, str]]:
    """Returns the problems of a port's combination of conditioners, as (index in brackets, message)."""
    if len(own) == 1 and own[0].kind != "reordering":
        return
    for kind in _SINGLE:
        numbers = [number for number, conditioner in enumerate(own) if conditioner.kind == kind]
        if len(numbers) > 1:
            yield f"[{numbers[1]}]", f"{kind}; needs at most one {kind}"
        if kind == "reordering" and numbers and not any(conditioner.kind == "jitter" for conditioner in own):
            yield f"[{numbers[0]}]", "reordering; needs jitter at the same port, whose delay packets skip"
        if kind == "aggregation" and numbers and any(conditioner.kind == "tbf" for conditioner in own):
            yield f"[{numbers[0]}]", "aggregation; not together with tbf at the same port"


def core_conditioner(part: Model) -> dict[str, Any]:
    """Converts a conditioner or another part of a link for the core."""
    return _core_jitter(part) if isinstance(part, Jitter) else core_fields(part)


def _core_jitter(jitter: Jitter) -> dict[str, Any]:
    """Converts jitter for the core."""
    table = table_of(jitter.distribution)
    return {
        "kind": "jitter",
        "delay_ps": TIME.parse(jitter.delay),
        "jitter_ps": TIME.parse(jitter.jitter),
        **({} if table is None else {"table": list(table)}),
        "correlation": jitter.correlation,
        "order": jitter.order,
    }
