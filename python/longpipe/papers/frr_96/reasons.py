"""Known reasons for deviations of cells of frr-96; docs/frr-96.md contains the numbers."""

from typing import Final

from longpipe.papers.reasons import Reason

REASONS: Final = (
    Reason(
        "Printed is a lock step of the five sources that waits for one timeout of 3 s, the first RTO; with a smallest "
        "RTO of 3 s this row comes out at .82 to .83, but then the LAN is far off (docs/frr-96.md).",
        {"network": ("wan",), "sources": (5,), "buffer_cells": (36000,), "tcp": ("vanilla",)},
        "efficiency",
    ),
    Reason(
        "A clock of its own for each host brings FBA within .04, and plain UBR off by .18; R and Z are the best of a "
        "scan (docs/frr-96.md).",
        {"network": ("lan",), "buffer_cells": (1000,), "tcp": ("vanilla",), "policy": ("fba",)},
    ),
    Reason(
        "With an order of simultaneous cells drawn for each cell, an overflow damages a packet of nearly every source; "
        "timeouts follow, from which slow start recovers quickly. No variant brings it near (docs/frr-96.md).",
        {"tcp": ("reno",), "policy": ("tail-drop",)},
    ),
)
