"""Known reasons why values of frr-96 deviate from the published ones; docs/frr-96.md contains the numbers."""

from typing import Final

from longpipe_evidence.papers.reasons import Reason

REASONS: Final = (
    Reason(
        "The printed value results from synchronized sources that all wait for one timeout of 3 s, the initial RTO. "
        "With a minimum RTO of 3 s this row is .82 to .83, but then the LAN deviates strongly (docs/frr-96.md).",
        {"network": ("wan",), "sources": (5,), "buffer_cells": (36000,), "tcp": ("vanilla",)},
        "efficiency",
    ),
    Reason(
        "A separate clock for each host reduces FBA's error to .04, but moves plain UBR by .18; R and Z are the best "
        "of a "
        "scan (docs/frr-96.md).",
        {"network": ("lan",), "buffer_cells": (1000,), "tcp": ("vanilla",), "policy": ("fba",)},
    ),
    Reason(
        "If the order of simultaneous cells is drawn for each cell, an overflow damages a packet of nearly every "
        "source; timeouts follow, from which slow start recovers quickly. No variant comes close to the printed value "
        "(docs/frr-96.md).",
        {"tcp": ("reno",), "policy": ("tail-drop",)},
    ),
)
