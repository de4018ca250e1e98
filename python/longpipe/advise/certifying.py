"""Search for the indifference zone with which the runs of an uncertified answer would suffice."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from longpipe.advise.advise import replayed

if TYPE_CHECKING:
    from longpipe.advise.answer import Answer

# Maximum number of times that the zone is doubled in the search for the smallest certifying zone, and resolution of
# its binary logarithm.
_MAX_DOUBLINGS: Final = 40
_FINEST: Final = 1e-3


class CertifyingZone(NamedTuple):
    """An indifference zone, in the base unit of the objective, and the choice with it; None if there is no choice."""

    zone: float
    choice: int | None


# The terminal and the page both state the zone.
@lru_cache(maxsize=1)
def certifying_zone(answer: Answer) -> CertifyingZone | None:
    """Returns the smallest indifference zone, to three digits, with which the same runs complete the selection.

    Returns None if the answer is certified or has too few replications, or if no zone completes the selection because
    a limit is undecided.
    """
    question, zone = answer.advice.question, answer.advice.zone
    if answer.certified or answer.advice.selection is None:
        return None

    def rounded(exponent: float) -> float:
        return float(f"{zone * 2**exponent:.2e}")

    def completes(exponent: float) -> bool:
        return replayed(question, answer.rows, rounded(exponent)).done

    high = next((float(doublings) for doublings in range(1, _MAX_DOUBLINGS + 1) if completes(doublings)), None)
    if high is None:
        return None
    low = high - 1
    while high - low > _FINEST:
        middle = (low + high) / 2
        low, high = (low, middle) if completes(middle) else (middle, high)
    return CertifyingZone(rounded(high), replayed(question, answer.rows, rounded(high)).choice)
