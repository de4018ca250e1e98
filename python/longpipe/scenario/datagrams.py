"""Datagram traffic, in addition to TCP: UDP over IP, without any response to congestion."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal

from longpipe.scenario.parts import Part
from longpipe.scenario.rows import times_and_sizes
from longpipe.scenario.source import Source
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario.times import Times
    from longpipe.scenario.traffic import Bursts

# Headers of IPv4 and UDP (RFC 791, RFC 768), and of RTP before voice (RFC 3550) [bytes].
HEADERS: Final = 28
RTP_HEADER: Final = 12
# Amount of speech in a packet of 20 ms (RFC 3551 section 4.2) [bytes].
VOICE_INTERVAL: Final = "20 ms"
VOICE: Final = {"g711": 160, "g729": 20}
MAX_PAYLOAD: Final = 65_000


class Telephone(Source):
    """One direction of a telephone call."""

    if TYPE_CHECKING:
        codec: Literal["g711", "g729"]
        on: str
        off: str
        times: Part[Times]

    def bursts(self) -> "Bursts":
        """Returns the equivalent on/off source."""
        # The module of the models imports this one.
        from longpipe.scenario.traffic import Bursts

        payload = VOICE[self.codec] + RTP_HEADER
        rate_bps = Fraction(8 * (payload + HEADERS) * 10**12, TIME.parse(VOICE_INTERVAL))
        return Bursts(rate=f"{rate_bps} bit/s", payload=f"{payload} B", on=self.on, off=self.off, times=self.times)

    def core(self) -> dict[str, Any]:
        """Returns the equivalent on/off source, for the core."""
        return self.bursts().core()


class FromFile(Source):
    """Datagrams from a file."""

    if TYPE_CHECKING:
        kind: Literal["arrivals"]
        file: str

    def core(self) -> dict[str, Any]:
        """Returns the list of datagrams for the core. Raises ScenarioError with the line of an invalid file."""
        sent = times_and_sizes(self.file, MAX_PAYLOAD, f"a payload of 1 to {MAX_PAYLOAD}")
        return {"kind": self.kind, "sent_ps": sent}

    def data_file(self) -> str:
        """Returns the path of the file."""
        return self.file


def longest_bytes(core: dict[str, Any]) -> int:
    """Returns the length [bytes] of the longest IP packet of a resolved datagram flow."""
    if core["kind"] == "arrivals":
        return HEADERS + max((payload for _, payload in core["sent_ps"]), default=0)
    return HEADERS + int(core["payload_bytes"])
