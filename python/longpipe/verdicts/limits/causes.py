"""Causes of losses and of window reductions, and the limit that each cause indicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Limit = Literal[
    "link", "return link", "shaper", "window", "proxy buffer", "buffer", "AQM", "random loss", "outage", "policer",
    "timeouts", "marks", "reordering", "slow start", "congestion", "application", "not started", "not determined", "-",
]  # fmt: skip

# Limit that a window reduction indicates, by the cause that the core reports.
OF_CAUSE: Final[Mapping[str, Limit]] = {
    "overflow": "buffer",
    "aqm": "AQM",
    "partial_frame": "buffer",
    "ack_filter": "buffer",
    "injected_loss": "random loss",
    "bit_error": "random loss",
    "outage": "outage",
    "no_route": "outage",
    "policer": "policer",
    "ecn": "marks",
    "none": "timeouts",
}
# Limit that packets lost at a port indicate, by the suffix of the counter's name, for suffixes that are not among the
# causes above.
OF_COUNTER: Final[Mapping[str, Limit]] = {
    "discarded": "buffer",
    "injected": "random loss",
    "errors": "random loss",
    "on_wire": "outage",
}
