"""Conditioners of an IP port (RFC 2475 section 2.3.3): policers before its queue discipline, and a shaper behind it."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import LATER, BucketSize, Model, PolicedRate, SegmentSize
from longpipe.units import RATE


class Policer(Model):
    """A token bucket that drops or marks what exceeds a rate, and delays nothing (Linux: `tc police`)."""

    kind: Literal["policer"] = "policer"
    rate: PolicedRate = Field(description="A token rate, by IP packets [bit/s], as in '10 Mbit/s'")
    burst: BucketSize = Field(description="A size of the bucket [bytes], as in '125 KB'")
    peak: Annotated[PolicedRate | None, LATER] = Field(
        default=None, description="Peak rate, with a bucket of mtu bytes [bit/s]; none if absent"
    )
    mtu: Annotated[SegmentSize | None, LATER] = Field(
        default=None, description="Longer packets always exceed the rate [bytes]; no limit if absent"
    )
    exceed: Literal["drop", "mark"] = Field(
        default="drop",
        description="Packets that exceed the rate are dropped; mark: ECN-capable ones are marked, others dropped",
    )
    per_flow: bool = Field(
        default=False, description="A bucket for each direction of each flow instead of one for all packets"
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Cross-field problems, as (field, message)."""
        return _bucket_problems(self)


class Tbf(Model):
    """A token bucket that delays what exceeds a rate, between the queue discipline and the line (Linux: `tbf`)."""

    kind: Literal["tbf"] = "tbf"
    rate: PolicedRate = Field(description="A token rate, by IP packets [bit/s], as in '10 Mbit/s'")
    burst: BucketSize = Field(description="A size of the bucket [bytes], as in '16 KB'; longer packets are dropped")
    peak: Annotated[PolicedRate | None, LATER] = Field(
        default=None, description="Peak rate, with a bucket of mtu bytes [bit/s]; none if absent"
    )
    mtu: Annotated[SegmentSize | None, LATER] = Field(
        default=None, description="Longer packets are dropped [bytes]; no limit besides the burst if absent"
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Cross-field problems, as (field, message)."""
        return _bucket_problems(self)


def _bucket_problems(bucket: Policer | Tbf) -> Iterator[tuple[str, str]]:
    if bucket.peak is None:
        return
    if RATE.parse(bucket.peak) <= RATE.parse(bucket.rate):
        yield "peak", f"{bucket.peak}; needs more than rate, {bucket.rate}"
    if bucket.mtu is None:
        yield "mtu", "absent; needs the longest packet with a peak rate, as in '1500 B'"


Conditioner = Annotated[Policer | Tbf, Field(discriminator="kind")]
