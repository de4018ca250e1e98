"""Datagram traffic, in addition to TCP: UDP over IP, without any response to congestion."""

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from longpipe.scenario.base import BurstTime, Delay, FrameTime, Model, Probability, Rate, SegmentSize, kind_or_table
from longpipe.scenario.rows import times_and_sizes
from longpipe.scenario.source import Source
from longpipe.units import TIME

# Headers of IPv4 and UDP (RFC 791, RFC 768), and of RTP before voice (RFC 3550) [bytes].
HEADERS: Final = 28
RTP_HEADER: Final = 12
# Amount of speech in a packet of 20 ms (RFC 3551 section 4.2) [bytes].
VOICE_INTERVAL: Final = "20 ms"
VOICE: Final = {"g711": 160, "g729": 20}
MOST_PAYLOAD: Final = 65_000

IpRate = Annotated[Rate, Field(description="Rate of the IP packets, including 28 bytes of headers each [bit/s]")]
Payload = Annotated[SegmentSize, Field(description="Payload of each datagram [bytes]")]


class Cbr(Source):
    """Datagrams of equal size at a constant rate."""

    kind: Literal["cbr"] = "cbr"
    rate: IpRate
    payload: Payload = "1000 B"


class Poisson(Source):
    """Datagrams of equal size with exponential gaps (Poisson process)."""

    kind: Literal["poisson"] = "poisson"
    rate: IpRate
    payload: Payload = "1000 B"


class FixedTimes(Model):
    """All durations equal the mean."""

    kind: Literal["fixed"] = "fixed"


class Exponential(Model):
    """Exponential durations."""

    kind: Literal["exponential"] = "exponential"


class Pareto(Model):
    """Pareto durations; many such flows together are self-similar (Willinger et al. 1997)."""

    kind: Literal["pareto"] = "pareto"
    shape: float = Field(
        default=1.5, gt=1, le=100, description="Tail index; below 2 the variance is infinite; ns-2 manual"
    )


Times = Annotated[FixedTimes | Exponential | Pareto, Field(discriminator="kind"), kind_or_table()]
BurstTimes = Annotated[Times, Field(description="Distribution of both durations: exponential, pareto or fixed")]


class OnOffSource(Source):
    """What on/off sources have in common."""

    kind: str
    rate: IpRate
    payload: Payload = "1000 B"
    on: BurstTime = Field(default="500 ms", description="Mean duration of an on period [time]; ns-2 manual")
    off: Delay = Field(default="500 ms", description="Mean duration of an off period [time]; ns-2 manual")
    times: BurstTimes = Exponential.unchecked()


class Bursts(OnOffSource):
    """Datagrams of equal size at a constant rate during on periods, none during off periods."""

    kind: Literal["on-off"] = "on-off"


class SelfSimilar(OnOffSource):
    """Datagrams of many on/off sources, each with this rate during on periods; their sum is self-similar.

    The sum's Hurst parameter is (3 - shape) / 2 for Pareto durations with a shape below 2 (Taqqu et al. 1997).
    """

    kind: Literal["self-similar"] = "self-similar"
    sources: int = Field(default=50, ge=1, le=10_000, description="Number of on/off sources")
    times: BurstTimes = Pareto.unchecked()


class Voice(Source):
    """One direction of a telephone call over RTP: a packet every 20 ms during talk spurts."""

    core_kind: ClassVar[str | None] = "on-off"
    needs_python: ClassVar[bool] = True
    kind: Literal["voice"] = "voice"
    codec: Literal["g711", "g729"] = Field(
        default="g711", description="160 or 20 bytes of speech per packet, 80 or 24 kbit/s as IP; RFC 3551 section 4.5"
    )
    on: BurstTime = Field(default="1.004 s", description="Mean duration of a talk spurt [time]; ITU-T P.59")
    off: Delay = Field(default="1.587 s", description="Mean duration of a pause [time]; ITU-T P.59")
    times: BurstTimes = Exponential.unchecked()

    def bursts(self) -> Bursts:
        """Returns the equivalent on/off source."""
        payload = VOICE[self.codec] + RTP_HEADER
        rate_bps = Fraction(8 * (payload + HEADERS) * 10**12, TIME.parse(VOICE_INTERVAL))
        return Bursts(rate=f"{rate_bps} bit/s", payload=f"{payload} B", on=self.on, off=self.off, times=self.times)

    def core(self) -> dict[str, Any]:
        """Returns the equivalent on/off source, for the core."""
        return self.bursts().core()


class Video(Source):
    """Live video at a constant mean rate: frames of varying size and spacing, each a burst of datagrams (RFC 8593)."""

    repeats: ClassVar[str | None] = "frame"
    kind: Literal["video"] = "video"
    rate: Rate = Field(
        default="1 Mbit/s", description="Mean rate of the payload [bit/s]; RFC 8593 has 150 kbit/s to 1.5 Mbit/s"
    )
    frame: FrameTime = Field(
        default="33.333 ms", description="Mean time between frames [time]; RFC 8593 section 5, 30 frames/s"
    )
    payload: SegmentSize = Field(default="1200 B", description="Maximum payload per datagram [bytes]")
    size_spread: Probability = Field(
        default=0.15,
        description="Mean deviation of the frame size, Laplace distribution [fraction]; RFC 8593 section 5 ",
    )
    time_spread: Probability = Field(
        default=0.15, description="Mean deviation of the time between frames, Laplace distribution [fraction]; RFC 8593"
    )


class Arrivals(Source):
    """Datagrams from a CSV file with the columns time (after the start, in seconds or with a unit) and bytes."""

    needs_python: ClassVar[bool] = True
    kind: Literal["arrivals"] = "arrivals"
    file: str = Field(
        min_length=1, max_length=4096, description="A path to the file, which is read when the scenario is checked"
    )

    def core(self) -> dict[str, Any]:
        """Returns the list of datagrams for the core. Raises ScenarioError with the line of an invalid file."""
        sent = times_and_sizes(self.file, MOST_PAYLOAD, f"a payload of 1 to {MOST_PAYLOAD}")
        return {"kind": self.kind, "sent_ps": sent}

    def data_file(self) -> str:
        """Returns the path of the file."""
        return self.file


def longest_bytes(core: dict[str, Any]) -> int:
    """Returns the length [bytes] of the longest IP packet of a resolved datagram flow."""
    if core["kind"] == "arrivals":
        return HEADERS + max((payload for _, payload in core["sent_ps"]), default=0)
    return HEADERS + int(core["payload_bytes"])
