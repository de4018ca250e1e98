"""Causes of losses and of window reductions, and the limit that each cause indicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

from longpipe import _core

Limit = Literal[
    "link", "return link", "shaper", "window", "proxy buffer", "buffer", "AQM", "random loss", "outage", "policer",
    "timeouts", "marks", "reordering", "access", "contention", "slow start", "congestion", "application", "not started",
    "not determined", "-",
]  # fmt: skip

# Limit that a loss or a mark indicates, by the cause that the core reports.
OF_CAUSE: Final[Mapping[str, Limit]] = {
    **{name: cast("Limit", limit) for name, _, limit, _ in _core.drop_causes()},
    "ecn": "marks",
    "none": "timeouts",
}
# Limit that losses at a port indicate, by the ending of the counter's name.
OF_COUNTER: Final[Mapping[str, Limit]] = {
    counter: OF_CAUSE[name] for name, counters, _, _ in _core.drop_causes() for counter in counters
}
