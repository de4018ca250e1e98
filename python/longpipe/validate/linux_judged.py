"""Judges a run of longpipe by the same case in Linux: which quantities are compared, and how far apart they may be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# Counts of packets may always differ by this many: a recovery that loses one packet more than another is no error.
FEW_PACKETS: Final = 2
# The counts of a run, all judged by one tolerance.
COUNTS: Final = ("losses", "marks", "retransmissions")
QUANTITIES: Final = {
    "goodput_mbps": "goodput",
    "srtt_ms": "round trip",
    "losses": "packets lost in the queue",
    "marks": "packets marked",
    "retransmissions": "retransmissions",
}


@dataclass(frozen=True)
class Tolerances:
    """The largest difference from Linux that counts as agreement, as a share of Linux's value."""

    goodput: float = 0.05
    round_trip: float = 0.05
    counts: float = 0.15

    def of(self, quantity: str) -> float:
        """The tolerance of a quantity of QUANTITIES."""
        return {"goodput_mbps": self.goodput, "srtt_ms": self.round_trip}.get(quantity, self.counts)


@dataclass(frozen=True)
class Judgement:
    """One quantity of both simulators, and the tolerance that it is judged by."""

    quantity: str
    linux: float
    longpipe: float
    tolerance: float
    flow: int | None = None

    @property
    def difference(self) -> float:
        """Longpipe's value relative to Linux's: 0 if equal, infinite if Linux alone has 0."""
        if self.longpipe == self.linux:
            return 0.0
        return self.longpipe / self.linux - 1 if self.linux else float("inf")

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance; counts may differ by FEW_PACKETS in any case."""
        if self.quantity in COUNTS and abs(self.longpipe - self.linux) <= FEW_PACKETS:
            return True
        return abs(self.difference) <= self.tolerance


def judge(
    linux: Mapping[str, float], longpipe: Mapping[str, float], tolerances: Tolerances, flow: int | None = None
) -> list[Judgement]:
    """Judges every quantity of QUANTITIES that `linux` has."""
    return [
        Judgement(quantity, linux[quantity], longpipe[quantity], tolerances.of(quantity), flow)
        for quantity in QUANTITIES
        if quantity in linux
    ]
