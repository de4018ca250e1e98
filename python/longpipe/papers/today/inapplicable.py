"""Conclusions that do not apply today, with reasons."""

from typing import Final

_WITHOUT = (
    "Every stack of 2026 has fast retransmit and selective acknowledgments: nothing without them is left to compare."
)
_EPD = (
    "EPD drops the rest of a frame that lost a cell. An IP packet is dropped whole, so that tail drop is EPD already."
)
_LAN = (
    "An ATM LAN of 30 us is none of the three links; within a data center other TCPs and marking queues took its place."
)
_INSTANT = "Instants of the ns-2 flavors of 2000; none of these flavors is in use."

# Reasons by the statement's id.
REASONS: Final = {
    "F1": "Receivers tune their windows beyond any buffer, so that losses end the growth and no buffer avoids them.",
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
    "G9": "VBR of a constant rate while on is a service class of ATM. Today's video adapts its rate to what it gets.",
    "L11": _INSTANT,
    "L12": _INSTANT,
    "L14": "CUBIC and BBRv3 do not grow by a segment a round trip, and no stack estimates ssthresh by packet pairs.",
}
