"""Simulation of a hypothesis about a path: a scenario with given rate, RTT, queue, losses and congestion control."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.ip import bottleneck, packet_bytes, transmission_ps
from longpipe.scenario import Scenario
from longpipe.scenario.base import MSS_RANGE
from longpipe.scenario.profiles import PROFILES
from longpipe.units import RATE, SIZE, TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longpipe.fit.outages import FittedOutage

_PROFILE: Final = "linux-6"
# Range of a scenario's MSS [bytes].
_MIN_MSS, _MAX_MSS = (SIZE.parse(limit) for limit in MSS_RANGE)
# Number of packets in transmission, which `switch.buffer` counts in addition to the waiting packets.
IN_TRANSMISSION: Final = 1
# Name of the fitted flow among several.
FITTED: Final = "fitted"
# Upper limit of a growing window; the amount of data read per RTT limits the window earlier.
_GROWN: Final = "32 MiB"
# Range of idle times [s] after the handshake that a scenario states.
_MIN_IDLE_S: Final = 0.001
_MAX_IDLE_S: Final = 1000.0


def check_mss(flow: str, mss: int) -> None:
    """Raises ScenarioError if a scenario cannot have a flow's MSS [bytes]."""
    if not _MIN_MSS <= mss <= _MAX_MSS:
        raise ScenarioError(
            f"{flow}: MSS of {mss} bytes; needs {_MIN_MSS} to {_MAX_MSS} (loopback interfaces have more)"
        )


@dataclass(frozen=True)
class OtherFlow:
    """A flow that shares the bottleneck: its control, start [s], and payload [bytes], None if it never ends."""

    control: str
    start_s: float
    size: int | None

    def group(self, name: str, tcp: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the flow as an element of `network.group`; `tcp` has fields other than those of the scenario."""
        sends = {} if self.size is None else {"traffic": {"kind": "transfer", "size": f"{self.size} B"}}
        start = {"kind": "fixed", "at": f"{round(self.start_s * 1e6)} us"}
        return {"name": name, "tcp": {"congestion": self.control, **tcp}, "start": start, **sends}


@dataclass(frozen=True)
class Hypothesis:
    """A path and its sender.

    The rate is the bottleneck's for IP packets; the RTT is a full segment's on an idle path.
    """

    rate_bps: float
    base_rtt_s: float
    # Limit of the queue [packets], excluding the packet in transmission.
    buffer_packets: int
    # The bottleneck's `switch.policy`.
    policy: Mapping[str, Any]
    # `network.trunk_loss`.
    loss: Mapping[str, Any] | str
    control: str
    mss: int
    headers: int
    timestamps: bool
    duration_s: float
    initial_window: int = 10
    # Receiver window [bytes]; None if it never limits the flow.
    window: int | None = None
    ecn: bool = False
    # Whether the receiver's window grows from its initial value.
    window_grows: bool = False
    # Whether the sender paces its segments under controls without a pacing rate of their own.
    paced: bool = False
    # Data in flight [bytes] to which the sender's buffer or its application limits the flow; None if neither does.
    flight_limit: int | None = None
    # RTT of the handshake [s], None to assume `base_rtt_s`; and time from its end to the first data packet [s].
    handshake_s: float | None = None
    idle_s: float = 0.0
    # Rates over time at the bottleneck, as (time [s], rate); empty if the rate is constant.
    steps: tuple[tuple[float, float], ...] = ()
    # `network.conditioners`.
    conditioners: tuple[Mapping[str, Any], ...] = ()
    # Flows that share the bottleneck.
    others: tuple[OtherFlow, ...] = ()
    # Outages of the bottleneck.
    outages: tuple[FittedOutage, ...] = ()

    def with_(self, **changes: Any) -> Hypothesis:  # noqa: ANN401 - the fields' types vary
        """Returns a copy of the hypothesis with changed fields."""
        return replace(self, **changes)

    @property
    def fields(self) -> dict[str, Any]:
        """Returns the scenario of the hypothesis as nested fields."""
        # Scenarios have IPv4 headers, but the captured flow's headers may be longer, so that its packets take longer to
        # transmit.
        packet = packet_bytes(self.mss, timestamps=self.timestamps)
        share = packet / (self.mss + self.headers)
        rate_bps, round_trip_ps = max(round(self.rate_bps * share), 1), round(self.base_rtt_s * 1e12)
        around = bottleneck(rate_bps, packet, packet - self.mss, round_trip_ps)
        links: dict[str, Any] = {name: _readable(value) for name, value in around.items()}
        if self.steps:
            steps = tuple((at, rate * share) for at, rate in self.steps)
            links |= _moving(steps, packet, self.base_rtt_s)
        if self.outages:
            links |= {
                "path": {"kind": "moving", **links.get("path", {}), "outages": _intervals(self.outages)},
                "return_path": {"kind": "moving"},
            }
        if self.conditioners:
            links["conditioners"] = [dict(conditioner) for conditioner in self.conditioners]
        return {
            "name": "fitted",
            "framing": "ip",
            "duration": f"{self.duration_s:.9g} s",
            "network": {
                "kind": "dumbbell",
                **self._sources,
                **links,
                "trunk_loss": self.loss,
            },
            "switch": {"buffer": f"{self.buffer_packets + IN_TRANSMISSION} packets", "policy": dict(self.policy)},
            "tcp": self._tcp,
        }

    @property
    def _sources(self) -> dict[str, Any]:
        """Returns the number of sources, or their groups if other flows share the bottleneck."""
        if not self.others:
            return {"sources": 1}
        usual = {"receiver_window": _GROWN} if self.flight_limit is not None or self.window is not None else {}
        groups = [other.group(f"other{number}-", usual) for number, other in enumerate(self.others, 1)]
        return {"group": [{"name": FITTED}, *groups]}

    @property
    def _tcp(self) -> dict[str, Any]:
        """Returns the fields of the sender and the receiver."""
        tcp: dict[str, Any] = {
            "profile": _PROFILE,
            "mss": f"{self.mss} B",
            "initial_rtt": f"{round((self.handshake_s or self.base_rtt_s) * 1e6)} us",
            "initial_window": f"{self.initial_window} segments",
            "congestion": self.control,
        }
        if self.idle_s >= _MIN_IDLE_S:
            tcp["preconnect"] = f"{round(min(self.idle_s, _MAX_IDLE_S) * 1e6)} us"
        if not self.timestamps:
            tcp["timer"] = {**PROFILES[_PROFILE]["timer"], "timestamps": False}
        if self.window is not None:
            tcp["receiver_window"] = f"{self.window} B"
        if self.ecn:
            tcp["ecn"] = "classic"
        if self.window_grows:
            tcp["ack"] = {**PROFILES[_PROFILE]["ack"], "growing_window": True}
            tcp["receiver_window"] = _GROWN
        if self.paced:
            tcp["pacing"] = True
        if self.flight_limit is not None:
            tcp["receiver_window"] = f"{self.flight_limit} B"
        return tcp

    def scenario(self, **changes: object) -> Scenario:
        """Returns the scenario of the hypothesis; `changes` are dotted fields."""
        return Scenario(**self.fields).with_(**changes)


def _intervals(outages: tuple[FittedOutage, ...]) -> dict[str, Any]:
    """Returns the field `outages` of a path; packets are dropped in all outages if they are in one."""
    intervals = [[f"{round(at * 1e6)} us" for at in (outage.begin_s, outage.end_s)] for outage in outages]
    fate = "drop" if any(outage.fate == "drop" for outage in outages) else "hold"
    return {"intervals": intervals, "arriving": fate, "waiting": fate}


def _readable(quantity: str) -> str:
    """Converts a rate in bit/s to Mbit/s, and a time in ps to ms, exactly, which makes files easier to read."""
    dimension, unit, exponent = (RATE, "Mbit/s", 6) if quantity.endswith(RATE.base) else (TIME, "ms", 9)
    return f"{Decimal(dimension.parse(quantity)).scaleb(-exponent).normalize():f} {unit}"


def _moving(steps: tuple[tuple[float, float], ...], packet: int, base_rtt_s: float) -> dict[str, Any]:
    """Returns the fields of a link whose rate varies while the minimum RTT for `packet` bytes stays constant."""
    half_ps = round(base_rtt_s * 1e12) // 2
    points = [(f"{round(at * 1e9)} ns", round(rate)) for at, rate in steps]
    delays = [_readable(f"{max(0, half_ps - transmission_ps(packet, rate))} ps") for _, rate in points]
    return {
        "trunk_delay": delays[0],
        "path": {
            "rate": [[at, _readable(f"{rate} bit/s")] for at, rate in points],
            "delay": [[at, delay] for (at, _), delay in zip(points, delays, strict=True)],
            "between": "hold",
            "at": "start",
        },
        "return_path": {"kind": "moving"},
    }
