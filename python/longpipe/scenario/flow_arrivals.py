"""Flows that arrive, transfer their data over their own connection, and leave."""

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, cast

from pydantic import Field

from longpipe.errors import ScenarioError
from longpipe.ip import packet_bytes
from longpipe.scenario.base import Model
from longpipe.scenario.flow_sizes import LARGEST, Sizes
from longpipe.scenario.rows import times_and_sizes
from longpipe.units import TIME

_LONGEST_GAP_PS: Final = TIME.parse("100000 s")


class FlowArrivals(Model):
    """Flows that arrive one after another, each with its own TCP connection, which ends with its data.

    They arrive as a Poisson process with this `rate`, or with the rate that loads the slowest link of the path to the
    share `load`, or at the times in a `file`, a CSV file with the columns time (after the start, in seconds or with a
    unit) and bytes.
    """

    kind: Literal["flow-arrivals"] = "flow-arrivals"
    load: float | None = Field(
        default=None, gt=0, le=10, description="Offered load, as a share of the slowest link's rate, including headers"
    )
    rate: float | None = Field(
        default=None, gt=0, le=1e9, description="Mean number of flows per second, in place of a load"
    )
    sizes: Sizes | None = Field(
        default=None, description="Distribution of the flows' sizes: fixed, pareto, web-search or file"
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="A path to a file of arrival times and sizes, in place of load, rate and sizes",
    )
    flows: int | None = Field(
        default=None, ge=1, le=10**9, description="Maximum number of flows that arrive; no limit if absent"
    )
    most_active: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="Maximum number of simultaneous flows, for which memory is reserved; further flows wait until one "
        "ends",
    )

    def problem(self) -> tuple[str, str] | None:
        """Returns the field and the problem if a combination of fields is invalid."""
        if self.file is not None:
            name = next((name for name in ("load", "rate", "sizes") if getattr(self, name) is not None), None)
            return None if name is None else (name, "set; not together with a file, which contains times and sizes")
        if self.load is None and self.rate is None:
            return "load", "absent; needs load, rate or file"
        if self.load is not None and self.rate is not None:
            return "rate", f"{self.rate:g} together with load, {self.load:g}; needs one of them"
        if self.sizes is None:
            return "sizes", "absent; needs fixed, pareto, web-search or file"
        return None


def core_flow_arrivals(
    arrivals: FlowArrivals, tcp: Mapping[str, Any], slowest_bps: int, least_gap_ps: int, field: str
) -> dict[str, Any]:
    """Converts arriving flows of connections with `tcp` for the core; `slowest_bps` is the rate of the slowest link.

    Raises ScenarioError for fields that exclude each other, an invalid file, and a rate outside its range.
    """
    if (problem := arrivals.problem()) is not None:
        raise ScenarioError(f"{field}.{': '.join(problem)}")
    common = {"kind": arrivals.kind, "most_active": arrivals.most_active, "most_flows": arrivals.flows}
    if arrivals.file is not None:
        flows = times_and_sizes(arrivals.file, LARGEST, "at least 1")
        return {**common, "arrivals": {"kind": "list", "flows_ps": flows}}
    # `problem` has already rejected flows without a rate or without sizes.
    sizes = cast("Sizes", arrivals.sizes)
    name = "load" if arrivals.rate is None else "rate"
    rate = shown = cast("float", getattr(arrivals, name))
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
            f"{field}.{name}: {shown:g}, a flow every {gap_s:.3g} s; needs one every {least}, a billionth of the "
            "duration, to 100000 s"
        )
    return {**common, "arrivals": {"kind": "poisson", "gap_ps": gap_ps, "sizes": sizes.core()}}


def wire_bytes(sizes: Sizes, tcp: Mapping[str, Any]) -> float:
    """Returns the mean length [bytes] of a flow's packets, without retransmissions."""
    size, segments = sizes.means(tcp["mss_bytes"])
    return size + segments * packet_bytes(0, tcp["timer"].get("timestamps", False))
