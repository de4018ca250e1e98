"""Web traffic: clients request files in batches, servers respond at once (ATM Forum/98-0876 section 5)."""

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from longpipe.scenario.base import Becomes, Delay, SegmentSize, Share, WebCycle
from longpipe.scenario.source import Source
from longpipe.units import TIME

CycleFrom = Literal["first-request", "last-request"]
PoissonCut = Literal["rejection", "clamping"]
Mean = Annotated[float, Field(gt=0, le=100)]


class Web(Source):
    """A web server that sends a file for each request of its client, which is at the flow's receiving end.

    The requests depend only on the seed and the flow, not on the network.
    """

    repeats: ClassVar[str | None] = "cycle"
    kind: Literal["web"] = "web"
    cycle: WebCycle = Field(
        default="10 s", description="Time between batches of requests [time]; ATM Forum/98-0876 section 5.3"
    )
    cycle_from: CycleFrom = Field(
        default="first-request",
        description="Request of a batch at which the next cycle starts: first-request or last-request; "
        "ATM Forum/98-0876 section 6.1 (10 cycles in 100 s)",
    )
    request: SegmentSize = Field(
        default="128 B", description="Payload of a request [bytes]; ATM Forum/98-0876 section 6.2"
    )
    spacing_from: Delay = Field(
        default="100 ms", description="Minimum time between requests of a batch [time]; ATM Forum/98-0876 section 5.3"
    )
    spacing_to: Delay = Field(
        default="500 ms",
        description="Maximum time between requests of a batch, uniform [time]; ATM Forum/98-0876 section 5.3",
    )
    requests_mean: Mean = Field(
        default=5,
        description="Mean of the Poisson-distributed number of requests per batch, before truncation; ATM "
        "Forum/98-0876 section 5.3",
    )
    requests_most: int = Field(
        default=9, ge=1, le=1000, description="Maximum number of requests per batch; ATM Forum/98-0876 section 5.3"
    )
    size_mean: Mean = Field(
        default=5,
        description="Mean of the Poisson-distributed index of a file's size within its class, 1 to 9, before "
        "it is restricted; ATM Forum/98-0876 section 5.2",
    )
    cut: PoissonCut = Field(
        default="clamping",
        description="Restriction of the Poisson variables to their ranges: rejection (draw again) or clamping (to the "
        "nearest end); left open by ATM Forum/98-0876",
    )
    class_shares: tuple[Share, ...] = Field(
        default=(0.2, 0.28, 0.4, 0.112, 0.008),
        max_length=9,
        description="Share of the requests for each class [fraction]; ATM Forum/98-0876 table 1",
    )
    kilobyte: Annotated[Literal[1000, 1024], Becomes("bytes", int)] = Field(
        default=1024,
        description="Length of 1 KB [bytes], 1000 or 1024; class 0 has the sizes 0.1 to 0.9 KB, class 1 has 1 to 9 KB, "
        "and so "
        "on; left open by ATM Forum/98-0876",
    )

    @field_validator("spacing_to")
    @classmethod
    def _check_spacing(cls, spacing_to: str, info: ValidationInfo) -> str:
        least = info.data.get("spacing_from", spacing_to)
        if TIME.parse(spacing_to) < TIME.parse(least):
            raise ValueError(f"{spacing_to}; needs at least spacing_from, {least}")
        return spacing_to

    @field_validator("class_shares")
    @classmethod
    def _add_up_to_one(cls, shares: tuple[float, ...]) -> tuple[float, ...]:
        if sum(Fraction(str(share)) for share in shares) != 1:
            raise ValueError(f"{list(shares)} adds up to {sum(shares):g}; needs shares that add up to 1")
        return shares
