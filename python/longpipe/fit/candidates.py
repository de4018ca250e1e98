"""Simulation of a hypothesis about a path: the scenario of a rate, RTT, queue, losses and congestion control."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from longpipe.ip import HEADER_BYTES, bottleneck
from longpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Hypothesis:
    """A path with its sender: rate of the bottleneck for IP packets, RTT of a full segment on the empty path."""

    rate_bps: float
    base_rtt_s: float
    # Limit of the queue, without the packet in transmission.
    buffer_packets: int
    # `switch.policy` of the bottleneck.
    policy: Mapping[str, Any]
    # `network.trunk_loss`.
    loss: Mapping[str, Any] | str
    control: str
    mss: int
    headers: int
    duration_s: float
    initial_window: int = 10
    # Receiver window [bytes]; None if it never limits.
    window: int | None = None
    ecn: bool = False

    def with_(self, **changes: Any) -> Hypothesis:  # noqa: ANN401 - of the fields' types
        """Returns a hypothesis with other values."""
        return replace(self, **changes)

    @property
    def fields(self) -> dict[str, Any]:
        """Returns the scenario of the hypothesis as nested fields."""
        links = bottleneck(
            max(round(self.rate_bps), 1), self.mss + self.headers, self.headers, round(self.base_rtt_s * 1e12)
        )
        tcp: dict[str, Any] = {
            "profile": "linux-6",
            "mss": f"{self.mss} B",
            "initial_rtt": f"{round(self.base_rtt_s * 1e6)} us",
            "initial_window": f"{self.initial_window} segments",
            "congestion": self.control,
        }
        if self.headers == HEADER_BYTES:
            tcp["timer"] = {"timestamps": False}
        if self.window is not None:
            tcp["receiver_window"] = f"{self.window} B"
        if self.ecn:
            tcp["ecn"] = "classic"
        return {
            "name": "fitted",
            "framing": "ip",
            "duration": f"{self.duration_s:.9g} s",
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                **links,
                "trunk_loss": self.loss,
            },
            # longpipe counts the packet in transmission, too.
            "switch": {"buffer": f"{self.buffer_packets + 1} packets", "policy": dict(self.policy)},
            "tcp": tcp,
        }

    def scenario(self, **changes: object) -> Scenario:
        """Returns the scenario of the hypothesis with other values of dotted fields."""
        return Scenario(**self.fields).with_(**changes)
