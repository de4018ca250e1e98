"""Conditioners of an IP port (RFC 2475 section 2.3.3): policers, a shaper, jitter, reordering, duplication, batches."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from longpipe.scenario.aggregation import Aggregation
from longpipe.scenario.base import LATER, BucketSize, Model, PolicedRate, SegmentSize, kinds_that
from longpipe.scenario.conditioning import Conditioning
from longpipe.scenario.constraints import Constraint
from longpipe.scenario.core import core_fields
from longpipe.scenario.jitter import Duplication, Jitter, Reordering, core_jitter
from longpipe.scenario.schedulers import Cake
from longpipe.units import RATE

# Constraints of a token bucket with a peak rate.
_PEAK: Final = (
    Constraint("peak", "peak <= rate", "{peak}; needs more than rate, {rate}"),
    Constraint(
        "mtu",
        "peak is not none and mtu is none",
        "absent; with a peak rate it needs the longest packet, as in '1500 B'",
    ),
)


class Policer(Conditioning):
    """A token bucket that drops or marks packets that exceed a rate, and never delays them (Linux: `tc police`)."""

    kind: Literal["policer"] = "policer"
    rate: PolicedRate = Field(description="A token rate, in terms of IP packets [bit/s], as in '10 Mbit/s'")
    burst: BucketSize = Field(description="A size of the bucket [bytes], as in '125 KB'")
    peak: Annotated[PolicedRate | None, LATER] = Field(
        default=None, description="Peak rate, with a bucket of mtu bytes [bit/s]; none if absent"
    )
    mtu: Annotated[SegmentSize | None, LATER] = Field(
        default=None, description="Packet length above which packets always exceed the rate [bytes]; no limit if absent"
    )
    exceed: Literal["drop", "mark"] = Field(
        default="drop",
        description="Action on packets that exceed the rate: drop, or mark, which marks ECN-capable packets and drops "
        "others",
    )
    per_flow: bool = Field(
        default=False, description="A bucket for each direction of each flow instead of one for all packets"
    )

    constraints: ClassVar = _PEAK


class Tbf(Conditioning):
    """A token bucket that delays packets above a rate, between the queue discipline and the line (Linux: `tbf`)."""

    kind: Literal["tbf"] = "tbf"
    rate: PolicedRate = Field(description="A token rate, in terms of IP packets [bit/s], as in '10 Mbit/s'")
    burst: BucketSize = Field(description="A size of the bucket [bytes], as in '16 KB'; longer packets are dropped")
    peak: Annotated[PolicedRate | None, LATER] = Field(
        default=None, description="Peak rate, with a bucket of mtu bytes [bit/s]; none if absent"
    )
    mtu: Annotated[SegmentSize | None, LATER] = Field(
        default=None,
        description="Packet length above which packets are dropped [bytes]; no limit other than the burst if absent",
    )

    constraints: ClassVar = _PEAK


Conditioner = Annotated[Policer | Tbf | Jitter | Reordering | Duplication | Aggregation, Field(discriminator="kind")]


# Token buckets, in the order in which packets pass them.
BUCKETS: Final = kinds_that(Conditioner, lambda model: model.has_bucket)


def problems(own: Sequence[Conditioner]) -> Iterator[tuple[str, str]]:
    """Returns the problems of a port's combination of conditioners, as (index in brackets, message)."""
    for kind in kinds_that(Conditioner, lambda model: not model.repeats):
        places = [place for place, one in enumerate(own) if one.kind == kind]
        if len(places) > 1:
            yield f"[{places[1]}]", f"{kind}; needs at most one {kind}"
        if kind == "reordering" and places and not any(one.kind == "jitter" for one in own):
            yield f"[{places[0]}]", "reordering; needs jitter at the same port, whose delay packets skip"
        if kind == "aggregation" and places and any(one.kind == "tbf" for one in own):
            yield f"[{places[0]}]", "aggregation; not together with tbf at the same port"


def shaped_rate(rate: str, policy: Model, conditioners: Sequence[Conditioner]) -> str:
    """Returns the rate at which a port sends: that of its line, or the lower one of its shaper (tbf, or CAKE's)."""
    shapers = [one.rate for one in conditioners if isinstance(one, Tbf)]
    if isinstance(policy, Cake) and policy.rate is not None:
        shapers.append(policy.rate)
    return min(rate, *shapers, key=RATE.parse) if shapers else rate


def core_conditioner(conditioner: Conditioner) -> dict[str, Any]:
    """Converts a conditioner for the core."""
    return core_jitter(conditioner) if isinstance(conditioner, Jitter) else core_fields(conditioner)
