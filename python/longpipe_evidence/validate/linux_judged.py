"""Compares a run of longpipe with the same case in Linux: compared quantities and tolerances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# Difference in packet counts that is always accepted, because one additional loss in a recovery is not an error.
FEW_PACKETS: Final = 2
# Counters of a run, which share a tolerance.
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
    """Maximum accepted difference from Linux, relative to Linux's value."""

    goodput: float = 0.05
    round_trip: float = 0.05
    counts: float = 0.15

    def of(self, quantity: str) -> float:
        """Returns the tolerance of one of QUANTITIES."""
        return {"goodput_mbps": self.goodput, "srtt_ms": self.round_trip}.get(quantity, self.counts)


@dataclass(frozen=True)
class Judgement:
    """A quantity's values in Linux and longpipe, and its tolerance."""

    quantity: str
    linux: float
    longpipe: float
    tolerance: float
    flow: int | None = None

    @property
    def difference(self) -> float:
        """Returns the difference relative to Linux's value: 0 if both are equal, infinite if only Linux's is 0."""
        if self.longpipe == self.linux:
            return 0.0
        return self.longpipe / self.linux - 1 if self.linux else float("inf")

    @property
    def agrees(self) -> bool:
        """Returns whether the difference is within the tolerance; counts may always differ by FEW_PACKETS."""
        if self.quantity in COUNTS and abs(self.longpipe - self.linux) <= FEW_PACKETS:
            return True
        return abs(self.difference) <= self.tolerance


def judge(
    linux: Mapping[str, float], longpipe: Mapping[str, float], tolerances: Tolerances, flow: int | None = None
) -> list[Judgement]:
    """Returns a judgement for each quantity that `linux` contains."""
    return [
        Judgement(quantity, linux[quantity], longpipe[quantity], tolerances.of(quantity), flow)
        for quantity in QUANTITIES
        if quantity in linux
    ]


def only_shares_differ(judged: Sequence[Judgement]) -> bool:
    """Returns whether goodputs of flows differ although their total is within the tolerance."""
    goodputs = [judgement for judgement in judged if judgement.quantity == "goodput_mbps"]
    if all(judgement.agrees for judgement in goodputs):
        return False
    linux = sum(goodput.linux for goodput in goodputs)
    longpipe = sum(goodput.longpipe for goodput in goodputs)
    return len(goodputs) > 1 and Judgement("goodput_mbps", linux, longpipe, goodputs[0].tolerance).agrees
