"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, where they are known."""

from typing import Final

# Known cause: the receive window, which is still growing, limits Linux's sender (TCP_INFO: `receiver_limited_s`).
_WINDOW: Final = (
    "the receive window, which grows in Linux, limited the sender for {} s (TCP_INFO); longpipe's is large at once"
)
# Known cause: Westwood starts measuring when the connection is established, in the guest a second before data are sent.
_CONNECTS: Final = (
    "Linux connects a second before it sends, so that its first bandwidth estimate is 0; a guest that sends at once "
    "has {} Mbit/s"
)
# Causes by control and path number.
CAUSES: Final[dict[tuple[str, int], str]] = {
    (
        "bbr",
        2,
    ): "in Startup; both windows are within 1 % for the first .42 s; not traced further",
    ("hybla", 0): _WINDOW.format("2.9"),
    ("hybla", 3): _WINDOW.format(".9"),
    ("hybla", 8): _WINDOW.format(".3"),
    ("hybla", 12): _WINDOW.format("1.1"),
    ("hybla", 13): _WINDOW.format("1.2"),
    ("hybla", 15): _WINDOW.format("1.8"),
    ("hybla", 17): _WINDOW.format("2.3"),
    ("hybla", 18): _WINDOW.format("4.1"),
    ("westwood", 3): _CONNECTS.format("1.56"),
    ("westwood", 6): _CONNECTS.format("10.13"),
    ("westwood", 10): _CONNECTS.format("3.55"),
    ("westwood", 11): _CONNECTS.format("29.71"),
}
