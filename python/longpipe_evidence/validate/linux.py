"""Cases and results of Linux 6.1's TCP over one bottleneck, in virtual time."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pandas as pd
from pydantic import BeforeValidator, Field, model_validator

from longpipe.errors import RunError, ScenarioError, nearest
from longpipe.measured.headers import Other, segment_of
from longpipe.measured.pcap import CaptureFile
from longpipe.scenario.base import Delay, Duration, FileSize, Instant, Model, PacketNumber, Probability, Rate
from longpipe.units import RATE, SIZE, TIME
from longpipe_evidence.validate import linux_boot

LinuxControl = Literal[
    "reno", "cubic", "bbr", "hybla", "westwood", "htcp", "illinois", "veno", "scalable", "highspeed", "bic", "dctcp",
    "vegas", "yeah", "cdg", "nv", "lp",
]  # fmt: skip
# Disciplines of tc with a `limit` in packets, and all others that work under the token bucket.
BY_PACKETS: Final = ("pfifo", "codel", "fq_codel", "pie", "fq", "sfq")
DISCIPLINES: Final = (*BY_PACKETS, "bfifo", "red", "choke", "cake")
# Payload [bytes] of a full segment, and its length [bytes] at the bottleneck including all headers (also Ethernet's).
MSS: Final = 1448
PACKET_BYTES: Final = 1514
INTERVAL_S: Final = 0.1
# Share of a run after which measurements start.
STEADY: Final = 1 / 3
# Limits [s] of CPU time for the guest's start and for each packet; a twentieth of them suffices.
START_S, PACKET_S = 120.0, 0.002
# Text in the guest's error if its tc rejects the queue; `linux_guest.path` runs this command.
QUEUE_COMMAND: Final = "['tc', '-n', 'r', '-batch', '-']"
# Minimum duration [s], chosen so that a series has at least ten rows.
MIN_S: Final = 1.0
STATES: Final = ("open", "disorder", "cwr", "recovery", "loss")


def _sorted(value: object) -> object:
    return tuple(sorted(set(value))) if isinstance(value, list | tuple) else value


class LinuxFlow(Model):
    """One connection of a case."""

    control: LinuxControl = Field(default="cubic", description="Congestion control, by Linux's name")
    start: Instant = Field(default="0 s", description="Start time of sending")
    size: FileSize | None = Field(default=None, description="Amount of data that it sends; unlimited if absent")
    dscp: int = Field(default=0, ge=0, le=63, description="DiffServ codepoint of its data")


class LinuxCase(Model):
    """One or more connections over one bottleneck, which is a token bucket filter with a queue."""

    rate: Rate = Field(default="10 Mbit/s", description="Rate of the bottleneck, Ethernet headers included")
    round_trip: Delay = Field(default="100 ms", description="Round-trip propagation time")
    buffer: int = Field(default=100, ge=1, le=1_000_000, description="Limit of the queue, in packets")
    discipline: str = Field(
        default="pfifo",
        description="Queueing discipline in tc's syntax; without its own limit it gets the buffer. CAKE with a "
        "bandwidth replaces the token bucket as bottleneck",
    )
    ecn: bool = Field(default=False, description="Negotiate ECN; also with a discipline that marks by 'ecn'")
    loss: Probability = Field(default=0.0, description="Probability of a loss before the queue, per packet")
    lose: Annotated[tuple[PacketNumber, ...], BeforeValidator(_sorted)] = Field(
        default=(), description="Arrival numbers, from 0, of the data packets that are lost before the queue"
    )
    flows: tuple[LinuxFlow, ...] = Field(
        default=(LinuxFlow(),), min_length=1, max_length=16, description="The connections"
    )
    police: str = Field(
        default="", description="Policer before the queue, in tc's syntax: 'rate 5mbit burst 50k'; for IP packets"
    )
    shape: str = Field(
        default="",
        description="Token bucket filter with its own queue instead of rate, buffer and discipline, in tc's syntax: "
        "'rate 5mbit burst 50k limit 100k'",
    )
    rates: tuple[tuple[Instant, Rate], ...] = Field(
        default=(), description="Further rates of the bottleneck, each from an instant on, in multiples of 20 ms"
    )
    round_trips: tuple[tuple[Instant, Delay], ...] = Field(
        default=(),
        description="Further round-trip propagation times, each from an instant on, in multiples of 20 ms; packets "
        "keep their order",
    )
    jitter: tuple[Delay, Delay] | None = Field(
        default=None,
        description="Additional delay of each packet after the bottleneck, uniform in mean +- half of its range; "
        "packets keep their order",
    )
    hystart: bool = Field(default=True, description="HyStart of CUBIC, the parameter of Linux's module")
    duration: Duration = Field(default="60 s", description="Maximum simulated time")
    capture: bool = Field(default=False, description="Capture the packets at the sender's device")
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of all of the guest's randomness")

    @model_validator(mode="after")
    def _known(self) -> "LinuxCase":
        words = self.discipline.split()
        if not words or words[0] not in DISCIPLINES:
            raise ValueError(f"discipline: {self.discipline!r}; {nearest(words[0] if words else '', DISCIPLINES)}")
        if seconds(self.duration) < MIN_S:
            raise ValueError(f"duration: {self.duration}; needs at least {MIN_S:g} s")
        return self

    @property
    def shapes_itself(self) -> bool:
        """Returns whether the discipline limits the rate itself, without a token bucket."""
        words = self.discipline.split()
        return words[0] == "cake" and "bandwidth" in words

    @property
    def guest(self) -> dict[str, Any]:
        """Returns the case in the guest's format."""
        words = self.discipline.split()
        limited = "limit" in words or words[0] not in BY_PACKETS
        return {
            "rate": RATE.parse(self.rate),
            "rates": [[seconds(at), RATE.parse(rate)] for at, rate in self.rates],
            "delay_s": seconds(self.round_trip) / 2,
            "delays": [[seconds(at), seconds(round_trip) / 2] for at, round_trip in self.round_trips],
            "jitter_s": self.jitter and [seconds(quantity) for quantity in self.jitter],
            "hystart": self.hystart,
            "discipline": self.discipline if limited else f"{self.discipline} limit {self.buffer}",
            "loss": self.loss,
            "lost_packets": list(self.lose),
            "police": self.police,
            "root": f"tbf {self.shape}" if self.shape else self.discipline if self.shapes_itself else "",
            "ecn": self.ecn or "ecn" in words,
            "capture": self.capture,
            "interval_s": INTERVAL_S,
            "duration_s": seconds(self.duration),
            "flows": [
                {
                    "control": flow.control,
                    "start_s": seconds(flow.start),
                    "bytes": flow.size and SIZE.parse(flow.size),
                    "dscp": flow.dscp,
                }
                for flow in self.flows
            ],
        }


@dataclass(frozen=True)
class LinuxRun:
    """Results of a case in Linux.

    `series` has a row per 100 ms and flow: `time_s`, `flow`, then fields of TCP_INFO: `cwnd`, `ssthresh`, and `unacked`
    [segments], `srtt_us`, `rttvar_us`, `min_rtt_us`, `ca_state` (index in STATES), `bytes_acked`, `delivered` and
    `retransmits` since the start [segments], and for BBR (otherwise 0) `bbr_bw` [byte/s] and `bbr_pacing_gain` [1/256].
    `queue_drops`, `marks`, `link_losses` and `policed` count packets; `receiver_limited_s` is the time during which the
    receiver's window limited each flow.

    With a capture at the sender's device, `sent` has a row per data segment: `time_s`, `flow` (numbered by start),
    `byte` (offset of its first byte, from 0) and `bytes`; `acks` has a row per ACK received: `time_s`, `flow`, `ack`
    [bytes] and `sacked` (blocks, as in 2896-4344). `pcap` is the capture: headers only, with timestamps from 0.
    """

    case: LinuxCase
    kernel: str
    series: pd.DataFrame
    queue_drops: int
    marks: int
    link_losses: int
    policed: int
    retransmissions: tuple[int, ...]
    receiver_limited_s: tuple[float, ...]
    sent: pd.DataFrame | None = None
    acks: pd.DataFrame | None = None
    pcap: bytes | None = None

    def goodput(self, begin_s: float, end_s: float, flow: int = 0) -> float:
        """Returns the goodput [bit/s] between two times (multiples of 100 ms), computed from acknowledged bytes."""
        acked = self.of(flow)["bytes_acked"]
        return float(acked.loc[end_s] - acked.loc[begin_s]) * 8 / (end_s - begin_s)

    def delivery_rate(self, begin_s: float, end_s: float, flow: int = 0) -> float:
        """Returns the payload [bit/s] that ACKs or SACK blocks reported between two times (multiples of 100 ms).

        Unlike the goodput, it does not depend on whether a lost segment has been repaired.
        """
        delivered = self.of(flow)["delivered"]
        return float(delivered.loc[end_s] - delivered.loc[begin_s]) * MSS * 8 / (end_s - begin_s)

    def median_srtt(self, begin_s: float, end_s: float, flow: int = 0) -> float:
        """Returns the median SRTT [s] between two times."""
        srtt = self.of(flow)["srtt_us"]
        return float(srtt[(srtt.index > begin_s) & (srtt.index <= end_s)].median()) / 1e6

    def of(self, flow: int) -> pd.DataFrame:
        """Returns the series of a flow, indexed by `time_s`."""
        return self.series[self.series["flow"] == flow].set_index("time_s")


def seconds(time: str) -> float:
    """Converts a time from text to seconds."""
    return TIME.parse(time) / 1e12


def run(case: LinuxCase) -> LinuxRun:
    """Runs a case in the guest. Raises ScenarioError if the guest is unavailable, and RunError if the guest fails."""
    (result,) = run_each([case], seed=case.seed)
    return result


def run_each(cases: Sequence[LinuxCase], *, seed: int) -> Iterator[LinuxRun]:
    """Starts the guest once and runs cases in it, one after another; yields each run as soon as it has finished.

    `seed` replaces the cases' own seeds: all random numbers depend on it and on the previous cases. All cases must
    agree on ECN and on whether only DCTCP is used, because a listening socket keeps these settings, and on whether
    there is jitter.
    """
    timeout_s = START_S + math.fsum(PACKET_S * _packets_at_most(case) for case in cases)
    guests = [case.guest for case in cases]
    try:
        yield from linux_boot.boot(
            guests, seed=seed, timeout_s=timeout_s, read=lambda number, folder: _read(cases[number], folder)
        )
    except RunError as error:
        # The discipline is the only part of the tc command that comes from the user.
        if QUEUE_COMMAND not in str(error):
            raise
        reported = str(error).partition("early: ")[2].partition(": subprocess.")[0]
        requested = ", ".join(dict.fromkeys(repr(case.discipline) for case in cases))
        raise ScenarioError(
            f"discipline: {requested}; needs a discipline that tc accepts; tc reports: {reported}"
        ) from None


def _packets_at_most(case: LinuxCase) -> float:
    """Returns the maximum number of packets of a case: what the bottleneck can send, or twice that of its files."""
    fastest = max(RATE.parse(rate) for rate in (case.rate, *(rate for _, rate in case.rates)))
    packets = fastest * seconds(case.duration) / 8 / PACKET_BYTES
    sizes = [SIZE.parse(flow.size) for flow in case.flows if flow.size is not None]
    return min(packets, 2 * math.fsum(sizes) / MSS) if len(sizes) == len(case.flows) else packets


def _read(case: LinuxCase, share: Path) -> LinuxRun:
    """Returns the results that the guest has written to the shared folder."""
    reported = json.loads((share / "result.json").read_text())
    queue = reported["queue"]
    pcap = (share / "sender.pcap").read_bytes() if case.capture else None
    sent, acks = (None, None) if pcap is None else _packets(pcap)
    return LinuxRun(
        case,
        kernel=reported["kernel"],
        series=pd.read_csv(share / "series.csv"),
        queue_drops=queue["drops"],
        marks=sum(part.get("ecn_mark", 0) or part.get("marked", 0) for part in (queue, *queue.get("tins", ()))),
        link_losses=reported["link"]["drops"] + reported.get("by_number", 0),
        policed=reported["policed"],
        retransmissions=tuple(flow["retransmits"] for flow in reported["flows"]),
        receiver_limited_s=tuple(flow["receiver_limited_us"] / 1e6 for flow in reported["flows"]),
        sent=sent,
        acks=acks,
        pcap=pcap,
    )


def _packets(pcap: bytes) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the segments sent and ACKs received in a capture at the sender; byte offsets start at 0 for each flow."""
    sent: list[tuple[float, int, int, int]] = []
    acks: list[tuple[float, int, int, str]] = []
    flows: dict[bytes, tuple[int, int]] = {}
    for packet in CaptureFile("sender.pcap", pcap).packets():
        segment = segment_of(packet.link_type, packet.data, packet.length)
        if packet.time_ns is None or isinstance(segment, Other):
            continue
        s, ns = divmod(packet.time_ns, 10**9)
        time_s = s + ns / 1e9
        if segment.length > 0:
            flow, first = flows.setdefault(segment.source, (len(flows), segment.seq))
            sent.append((time_s, flow, (segment.seq - first) % 2**32, segment.length))
        elif segment.target in flows:
            flow, first = flows[segment.target]
            sacked = " ".join(f"{(low - first) % 2**32}-{(high - first) % 2**32}" for low, high in segment.sack)
            acks.append((time_s, flow, (segment.ack - first) % 2**32, sacked))
    return (
        pd.DataFrame(sent, columns=["time_s", "flow", "byte", "bytes"]),
        pd.DataFrame(acks, columns=["time_s", "flow", "ack", "sacked"]),
    )
