"""Explicit congestion notification: whether packets are ECN-capable, and how the receiver reports marks."""

from typing import Annotated, Literal

from pydantic import Field

from longpipe.scenario.base import LATER, Model, kind_or_table

Abe = Annotated[
    bool, Field(description="Alternative backoff: a mark multiplies the window by .85 (CUBIC) or .8 (Reno); RFC 8511")
]


class EcnOff(Model):
    """Packets are not ECN-capable."""

    kind: Literal["off"] = "off"


class EcnClassic(Model):
    """Classic ECN: ACKs carry ECE until the sender sets CWR; one reduction per window (RFC 3168)."""

    kind: Literal["classic"] = "classic"
    abe: Abe = False


class EcnDctcp(Model):
    """ACKs report for all data whether it was marked (RFC 8257 section 3.2)."""

    kind: Literal["dctcp"] = "dctcp"
    ect: Annotated[Literal[0, 1], LATER] = Field(
        default=0,
        description="Codepoint of data packets: ECT(0), or ECT(1) for low-latency (L4S) queues; RFC 9331 section 4.1",
    )


class EcnAccurate(Model):
    """Accurate ECN: ACKs count CE packets in 3 bits; the first and every second CE is reported at once (RFC 9768)."""

    kind: Literal["accurate"] = "accurate"
    abe: Abe = False
    ect: Literal[0, 1] = Field(
        default=0,
        description="Codepoint of data packets: ECT(0), or ECT(1) for low-latency (L4S) queues; RFC 9331 section 4.1",
    )
    option: Annotated[bool, LATER] = Field(
        default=False,
        description="ACKs also count marked bytes in the AccECN option of 12 bytes, or 8 with two SACK blocks; "
        "RFC 9768 section 3.2.3",
    )


Ecn = Annotated[EcnOff | EcnClassic | EcnDctcp | EcnAccurate, Field(discriminator="kind"), kind_or_table()]
