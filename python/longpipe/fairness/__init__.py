"""Pairs of congestion controls on one link: shares, harm, losses and delays."""

from typing import Final

# Default number of replications; an even number, so that each flow of a pair starts first in half of them.
SEEDS: Final = 6
