"""Known reasons why values of gr-97 deviate from the published ones; docs/gr-97.md contains the numbers."""

from typing import Final

from longpipe_evidence.papers.reasons import Reason

REASONS: Final = (
    Reason(
        "With bursts of strict priority on the WAN, the result depends on the phase of the coarse timer relative to "
        "the bursts (the phase alone gives means from .42 to .78), which the document does not state (docs/gr-97.md).",
        {"network": ("wan",), "guaranteed_rate": (0.0,)},
    ),
    Reason(
        "SACK of the document stalls where the text's SACK does not; no setting makes it stall here.",
        {"network": ("wan",), "tcp": ("sack",)},
        "efficiency",
    ),
    Reason(
        "The document's Reno times out in cases in which it recovers here, almost as frequently as Vanilla; the fitted "
        "interval of "
        "200 ms between fast retransmits explains a part (docs/gr-97.md).",
        {"network": ("lan",), "tcp": ("reno",)},
    ),
    Reason(
        "Over the satellite, one timeout more or less in 40 s changes a cell by .1 or more (docs/gr-97.md).",
        {"network": ("satellite",), "tcp": ("reno", "vanilla")},
    ),
)
