"""Flows that arrive, transfer their data over their own connection, and leave."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self, cast

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails

from longpipe.errors import ScenarioError, shown
from longpipe.ip import packet_bytes
from longpipe.scenario.flow_sizes import LARGEST
from longpipe.scenario.parts import Part
from longpipe.scenario.rows import times_and_sizes
from longpipe.scenario.sizes import Sizes
from longpipe.scenario.source import Source
from longpipe.units import TIME

# Maximum number of times that an event that needs no packet occurs in a run (crates/scenario/src/repetition.rs).
MAX_REPETITIONS: Final = 10**9
_LONGEST_GAP_PS: Final = TIME.parse("100000 s")


class Arriving(Source):
    """Flows that arrive over time."""

    if TYPE_CHECKING:
        load: float | None
        rate: float | None
        sizes: Part[Sizes | None]
        file: str | None
        flows: int | None
        most_active: int

    @model_validator(mode="wrap")
    @classmethod
    def _complete(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401 - unvalidated input
        """Reports absent and contradictory fields together with invalid ones."""
        model, invalid = None, []
        try:
            model = handler(values)
        except ValidationError as error:
            invalid = [_details(details) for details in error.errors(include_url=False)]
        given = values if model is None else vars(model)
        for name, problem in _problems(given) if isinstance(given, Mapping) else ():
            details = InitErrorDetails(type="value_error", loc=(name,), input=None, ctx={"error": ValueError(problem)})
            invalid.append(details)
        if model is None or invalid:
            raise ValidationError.from_exception_data(cls.__name__, invalid)
        return model

    def core(self) -> dict[str, Any]:
        """Returns no fields, because they depend on the flow's path; `core_flow_arrivals` converts them."""
        return {}

    def data_file(self) -> str | None:
        """Returns the path of the file, if there is one."""
        return self.file


def _details(error: ErrorDetails) -> InitErrorDetails:
    return InitErrorDetails(type=error["type"], loc=error["loc"], input=error["input"], ctx=error.get("ctx", {}))


def _problems(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields absent and contradictory fields, as (field, message)."""
    given = {name: value for name, value in fields.items() if value is not None}
    if "file" in given:
        for name in ("load", "rate", "sizes"):
            if name in given:
                yield name, "set; not together with a file, which contains times and sizes"
        return
    if "load" not in given and "rate" not in given:
        yield "load", "absent; needs load, rate or file"
    elif "load" in given and "rate" in given:
        rate, load = (shown(given[name]).removesuffix(".0") for name in ("rate", "load"))
        yield "rate", f"{rate} together with load, {load}; needs one of them"
    if "sizes" not in given:
        yield "sizes", "absent; needs fixed, pareto, web-search or file"


def core_flow_arrivals(
    arrivals: Arriving, tcp: Mapping[str, Any], slowest_bps: int, least_gap_ps: int, field: str
) -> dict[str, Any]:
    """Converts arriving flows of connections with `tcp` for the core; `slowest_bps` is the rate of the slowest link.

    Raises ScenarioError for an invalid file, and for a rate outside its range.
    """
    common = {"kind": arrivals.kind, "most_active": arrivals.most_active, "most_flows": arrivals.flows}
    if arrivals.file is not None:
        flows = times_and_sizes(arrivals.file, LARGEST, "at least 1")
        return {**common, "arrivals": {"kind": "list", "flows_ps": flows}}
    # The model has already rejected flows without a rate or without sizes.
    sizes = cast("Sizes", arrivals.sizes)
    name = "load" if arrivals.rate is None else "rate"
    rate = written = cast("float", getattr(arrivals, name))
    if name == "load":
        if (length := wire_bytes(sizes, tcp)) == 0:
            raise ScenarioError(f"{field}.sizes: 0 bytes for every flow; needs a larger size, or rate in place of load")
        rate *= slowest_bps / (8 * length)
    exact_ps = 1e12 / rate if rate else math.inf
    # The limit only keeps the number finite; longer gaps are rejected below.
    gap_ps = round(min(exact_ps, 2.0 * _LONGEST_GAP_PS))
    if not max(1, least_gap_ps) <= gap_ps <= _LONGEST_GAP_PS:
        least, gap_s = TIME.format(max(1, least_gap_ps)), exact_ps / 1e12
        raise ScenarioError(
            f"{field}.{name}: {written:g}, a flow every {gap_s:.3g} s; needs one every {least}, a billionth of the "
            "duration, to 100000 s"
        )
    return {**common, "arrivals": {"kind": "poisson", "gap_ps": gap_ps, "sizes": sizes.core()}}


def wire_bytes(sizes: Sizes, tcp: Mapping[str, Any]) -> float:
    """Returns the mean length [bytes] of a flow's packets, without retransmissions."""
    size, segments = sizes.means(tcp["mss_bytes"])
    return size + segments * packet_bytes(0, tcp["timer"].get("timestamps", False))
