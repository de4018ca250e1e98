"""Known reasons why values of www-98 deviate from the published ones; docs/www-98.md contains the numbers."""

from typing import Final

from longpipe_evidence.papers.reasons import Reason

REASONS: Final = (
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
        "Over GEO, Vanilla gains .015 here from 1 to 2 RTT of buffer, whereas the document has a gain of .05; not "
        "explained (docs/www-98.md).",
        {"network": ("geo",), "tcp": ("vanilla",)},
        "efficiency",
    ),
)
