"""Links, senders, queues and web pages of 2026, each with its source."""

from dataclasses import dataclass
from typing import Any, Final

from longpipe.units import RATE, TIME

ACCESS_DELAY: Final = "1 ms"


@dataclass(frozen=True)
class Path:
    """A satellite access: rate, round-trip time without queues, and where both come from."""

    name: str
    rate: str
    round_trip: str
    # Duration of runs with long-lived flows.
    duration: str
    source: str

    @property
    def trunk_delay(self) -> str:
        """Returns the one-way delay between the routers; each host's link adds ACCESS_DELAY."""
        return TIME.format(TIME.parse(self.round_trip) // 2 - 2 * TIME.parse(ACCESS_DELAY))

    @property
    def rate_bps(self) -> float:
        """Returns the rate [bit/s]."""
        return float(RATE.parse(self.rate))


PATHS: Final = {
    "leo": Path(
        "LEO",
        "104.71 Mbit/s",
        "45 ms",
        "30 s",
        "Ookla, first quarter of 2025: median download rate and latency of Starlink in the US",
    ),
    "meo": Path(
        "MEO",
        "104.71 Mbit/s",
        "140 ms",
        "20 s",
        "O3b's stated round-trip time; its successor mPOWER offers 50 Mbit/s to several Gbit/s (SpaceNews, August "
        "2020). The rate is that of the LEO path, so only the delay differs",
    ),
    "geo": Path(
        "GEO",
        "49.12 Mbit/s",
        "684 ms",
        "100 s",
        "Ookla, first quarter of 2025: median download rate and latency of Viasat in the US",
    ),
}

# Senders from the oldest to the newest, in place of the documents' TCP flavours.
SENDERS: Final = {"linux-reno": "Reno, RACK", "cubic": "CUBIC", "bbr3": "BBRv3"}

# Drop policies with their defaults: RFC 8289, 8290 and 8033; R and Z are those of ATM Forum/98-0876 for Selective Drop
# and of ATM Forum/96-1761 for Fair Buffer Allocation.
QUEUES: Final[dict[str, dict[str, Any]]] = {
    "tail-drop": {"kind": "tail-drop"},
    "selective-drop": {"kind": "selective-drop", "threshold": 0.8, "z": 0.8},
    "fba": {"kind": "fba", "threshold": 0.9, "z": 0.8},
    "codel": {"kind": "codel"},
    "pie": {"kind": "pie"},
    "fq-codel": {"kind": "fq-codel"},
}
QUEUE_NAMES: Final = {
    "tail-drop": "tail drop",
    "selective-drop": "Selective Drop",
    "fba": "FBA",
    "codel": "CoDel",
    "pie": "PIE",
    "fq-codel": "FQ-CoDel",
}
# Queues of the runs with web pages; ATM Forum/98-0876 does not use Fair Buffer Allocation.
WEB_QUEUES: Final = tuple(name for name in QUEUES if name != "fba")

# HTTP Archive, Web Almanac 2024, chapter "Page Weight": the median page on a desktop has 71 requests and 2652 KB; 42 of
# the requests are images (1054 KB) and scripts (613 KB).
REQUESTS: Final = 71
PAGE_KB: Final = 2652
# Shares of files of 1 to 9 KB, 10 to 90 KB and 100 to 900 KB: 42 of 71 are in the second class, and the third makes up
# the rest of the page's weight. Classes 0 and 4 are empty.
CLASS_SHARES: Final = (0.0, 0.395, 0.592, 0.013, 0.0)
PAGE: Final[dict[str, Any]] = {
    "kind": "web",
    "cycle": "10 s",
    "requests_mean": REQUESTS,
    "requests_most": 2 * REQUESTS,
    "spacing_from": "0 s",
    "spacing_to": "20 ms",
    "class_shares": CLASS_SHARES,
}
# Offered load of the clients relative to the link's rate, as in ATM Forum/98-0876 (48 Mbit/s over a link of 45 Mbit/s).
LOAD: Final = 1.07
PAGE_SOURCE: Final = (
    f"HTTP Archive, Web Almanac 2024, Page Weight: {REQUESTS} requests and {PAGE_KB} KB on the median desktop page. A "
    f"client requests a page every 10 s over one connection"
)


def clients(path: Path) -> int:
    """Returns the number of web clients that together request LOAD times the rate of a path."""
    page_bits = PAGE_KB * 1024 * 8
    return round(LOAD * path.rate_bps * 10 / page_bits)
