"""Known reasons why values of www-98 deviate from the published ones; docs/www-98.md contains the numbers."""

from typing import Final

from longpipe_evidence.papers.reasons import Reason

REASONS: Final = (
    Reason(
        "SACK is more efficient than printed by .03 to .05 at 10, 200 and 550 ms, with any buffer, and fairer on the "
        "WAN: the document's SACK stalled where the text's does not. If fast retransmits do not restart the timer, "
        "most of the difference disappears over MEO and GEO, but none on the WAN (docs/www-98.md).",
        {"tcp": ("sack",), "buffer_bdp": (1.0, 2.0)},
    ),
    Reason(
        "First requests after 100 to 500 ms, another reading of the document, halve the error (docs/www-98.md).",
        {"network": ("wan",), "buffer_bdp": (0.5,)},
        "fairness",
    ),
    Reason(
        "NewReno is closer if only the first partial ACK restarts the timer, contrary to the text, which says every "
        "one (docs/www-98.md).",
        {"network": ("meo", "geo"), "tcp": ("newreno",)},
        "efficiency",
    ),
    Reason(
        "Over GEO, Vanilla gains nothing here from 1 to 2 RTT of buffer, whereas the document has a gain of .05; not "
        "explained (docs/www-98.md).",
        {"network": ("geo",), "tcp": ("vanilla",)},
        "efficiency",
    ),
)
