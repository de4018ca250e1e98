"""Conclusions that do not apply today, with reasons."""

from typing import Final

_WITHOUT = (
    "Every stack of 2026 has fast retransmit and selective acknowledgments: there is no stack without them to compare "
    "with."
)
_EPD = (
    "EPD drops the rest of a frame that lost a cell. An IP packet is always dropped whole, so tail drop already equals "
    "EPD."
)
_LAN = (
    "An ATM LAN of 30 us is not among the three links; in data centers, other TCPs and marking queues have taken its "
    "place."
)
_INSTANT = "These are times of the ns-2 flavors of 2000, none of which is in use."

# Reasons by the statement's id.
REASONS: Final = {
    "F1": "Receivers tune their windows beyond any buffer, so growth ends with losses, which no buffer avoids.",
    "F4": _EPD,
    "F5": _EPD,
    "F8": _WITHOUT,
    "F9": _WITHOUT,
    "F11": _WITHOUT,
    "F12": _EPD,
    "F14": _WITHOUT,
    "G2": _LAN,
    "G3": _LAN,
    "G5": _LAN,
    "G9": "VBR of a constant rate while on is a service class of ATM. Today's video adapts its rate to the available "
    "bandwidth.",
    "L11": _INSTANT,
    "L12": _INSTANT,
    "L14": "CUBIC and BBRv3 do not grow by one segment per round trip, and no stack estimates ssthresh by packet "
    "pairs.",
}
