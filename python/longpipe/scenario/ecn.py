"""Explicit congestion notification: whether packets can be marked, and how the receiver tells of marks."""

from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import LATER, Model, kind_or_table


class EcnOff(Model):
    """No packet can be marked."""

    kind: Literal["off"] = "off"


class EcnClassic(Model):
    """ACKs echo a mark until the sender says that it reduced its window, once a window (RFC 3168)."""

    kind: Literal["classic"] = "classic"
    abe: bool = Field(
        default=False,
        description="A mark costs less than a loss: .85 of the window stays with CUBIC, .8 with Reno; RFC 8511",
    )


class EcnDctcp(Model):
    """ACKs say of all data whether it was marked (RFC 8257 section 3.2)."""

    kind: Literal["dctcp"] = "dctcp"
    ect: Annotated[Literal[0, 1], LATER] = Field(
        default=0,
        description="What data say: ECT(0), or ECT(1) for queues of low latency; RFC 9331 section 4.1",
    )


class EcnAccurate(Model):
    """ACKs count marked packets in three bits; where marks begin, and at every second, at once (RFC 9768)."""

    kind: Literal["accurate"] = "accurate"
    abe: bool = Field(
        default=False,
        description="A mark costs less than a loss: .85 of the window stays with CUBIC, .8 with Reno; RFC 8511",
    )
    ect: Literal[0, 1] = Field(
        default=0,
        description="What data say: ECT(0), or ECT(1) for queues of low latency; RFC 9331 section 4.1",
    )
    option: Annotated[bool, LATER] = Field(
        default=False,
        description="ACKs count marked bytes, too, in an option of 12 bytes, or 8 beside two SACK blocks; RFC 9768 "
        "section 3.2.3",
    )


Ecn = Annotated[EcnOff | EcnClassic | EcnDctcp | EcnAccurate, Field(discriminator="kind"), kind_or_table()]
