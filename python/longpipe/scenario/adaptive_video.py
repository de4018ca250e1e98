"""Adaptive video: a player requests chunks over TCP, each at the bitrate that its rule selects."""

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from longpipe.scenario.base import (
    Bitrate,
    ChunkTime,
    Model,
    PlayingTime,
    SegmentSize,
    kind_or_table,
)
from longpipe.scenario.source import Source
from longpipe.units import RATE, TIME


class BufferRule(Model):
    """Selects the bitrate by the playing time in the buffer: BBA-0 (Huang et al., SIGCOMM 2014, algorithm 1)."""

    kind: Literal["buffer"] = "buffer"
    reservoir: PlayingTime = Field(
        default="5 s",
        description="Playing time in the buffer up to which the lowest bitrate is requested [time]; Pensieve's bb.py",
    )
    cushion: PlayingTime = Field(
        default="10 s",
        description="Additional playing time in the buffer over which the bitrate rises to the highest one "
        "[time]; Pensieve's bb.py",
    )


class ThroughputRule(Model):
    """Selects the highest bitrate of at most a given part of the harmonic mean of the latest chunks' throughput."""

    kind: Literal["throughput"] = "throughput"
    chunks: int = Field(
        default=5, ge=1, le=1000, description="Number of chunks in the mean (Yin et al., SIGCOMM 2015, section 7)"
    )
    safety: Annotated[float, Field(gt=0, le=10)] = Field(
        default=0.9, description="Part of the mean throughput that the bitrate may use; dash.js, bandwidthSafetyFactor"
    )


Rule = Annotated[BufferRule | ThroughputRule, Field(discriminator="kind"), kind_or_table()]


class AdaptiveVideo(Source):
    """A server of video chunks and, at the flow's receiving end, a player that requests one chunk at a time."""

    in_lab: ClassVar[bool] = False
    repeats: ClassVar[str | None] = "chunk"
    kind: Literal["adaptive-video"] = "adaptive-video"
    ladder: tuple[Bitrate, ...] = Field(
        default=("300 kbit/s", "750 kbit/s", "1200 kbit/s", "1850 kbit/s", "2850 kbit/s", "4300 kbit/s"),
        min_length=1,
        max_length=50,
        description="Bitrates of the video, ascending [bit/s] (Mao et al., SIGCOMM 2017)",
    )
    chunk: ChunkTime = Field(default="4 s", description="Playing time of a chunk [time] (Mao et al., SIGCOMM 2017)")
    buffer: PlayingTime = Field(
        default="60 s", description="Maximum playing time in the player's buffer [time] (Mao et al., SIGCOMM 2017)"
    )
    request: SegmentSize = Field(default="300 B", description="Payload of a request [bytes]")
    rule: Rule = Field(
        default=BufferRule.unchecked(), description="Rule that selects the bitrate of a chunk: buffer or throughput"
    )

    @field_validator("ladder")
    @classmethod
    def _ascends(cls, ladder: tuple[str, ...]) -> tuple[str, ...]:
        rates = [RATE.parse(rate) for rate in ladder]
        if any(low >= high for low, high in pairwise(rates)):
            raise ValueError(f"{', '.join(ladder)}; needs ascending rates")
        return ladder

    @field_validator("buffer")
    @classmethod
    def _check_buffer(cls, buffer: str, info: ValidationInfo) -> str:
        chunk = info.data.get("chunk", buffer)
        if TIME.parse(buffer) < TIME.parse(chunk):
            raise ValueError(f"{buffer}; needs at least chunk, {chunk}")
        return buffer
