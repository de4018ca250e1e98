"""Link aggregation: a transmitter that sends packets in batches, as Wi-Fi, cable and cellular links do."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from longpipe.scenario.base import LATER, BucketSize, Delay, PacketOverhead, SampleInterval
from longpipe.scenario.conditioning import Conditioning
from longpipe.scenario.constraints import Constraint


class Aggregation(Conditioning):
    """A transmitter that sends packets in batches (Wi-Fi's A-MPDUs, DOCSIS's grants, LTE's transport blocks)."""

    kind: Literal["aggregation"] = "aggregation"
    interval: Annotated[SampleInterval | None, LATER] = Field(
        default=None,
        description="Batches begin at multiples of this interval [time], as in DOCSIS and LTE; if absent, a "
        "batch begins when the line is free",
    )
    overhead: Delay = Field(
        default="0 s",
        description="Time before each batch in which no data is sent [time]: Wi-Fi's AIFS, backoff, preamble,"
        " SIFS and BlockAck",
    )
    packet_overhead: PacketOverhead = Field(
        default="0 B", description="Bytes that each packet adds to a batch [bytes]; 44 in an A-MPDU"
    )
    max_packets: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=64, description="Maximum number of packets in a batch [packets]; BlockAck of IEEE 802.11n"
    )
    max_size: Annotated[BucketSize | None, LATER] = Field(
        default=None, description="Maximum length of a batch [bytes], 65535 in IEEE 802.11n; no limit if absent"
    )
    max_duration: Annotated[SampleInterval | None, LATER] = Field(
        default=None,
        description="Maximum duration of a batch, excluding overhead [time], Wi-Fi's TXOP; if absent, "
        "interval minus overhead",
    )

    constraints: ClassVar = (
        Constraint("overhead", "overhead >= interval", "{overhead}; needs less than interval, {interval}"),
    )
