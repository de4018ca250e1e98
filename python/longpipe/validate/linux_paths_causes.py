"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, if they are known."""

from typing import Final

# Known cause: two runs of a path in Linux differ by the time between a tick and the first segment.
_ALONE: Final = "random effect of Linux's start: the same case alone in a start of the guest has {}"
_BUCKET: Final = "Linux's token bucket sends 86 bytes early after a pause; with a tbf of 1600 bytes longpipe has {}"
# Causes by control and path number.
CAUSES: Final[dict[tuple[str, int], str]] = {
    ("bic", 0): _BUCKET.format("10.05 Mbit/s"),
    ("bic", 7): _BUCKET.format("149 packets lost"),
    ("bic", 31): _BUCKET.format("a goodput within 3 %"),
    ("highspeed", 24): _BUCKET.format("22.26 Mbit/s"),
    ("htcp", 6): _BUCKET.format("an RTT of 63.1 ms"),
    ("htcp", 16): _ALONE.format("305 packets lost"),
    ("htcp", 23): _BUCKET.format(".946 Mbit/s"),
    ("hybla", 13): _ALONE.format("1416 packets lost"),
    ("illinois", 0): _ALONE.format("7.60 Mbit/s"),
    ("illinois", 2): _ALONE.format("7.15 Mbit/s"),
    ("vegas", 19): _BUCKET.format("376 packets lost"),
    ("veno", 13): _ALONE.format("3.72 Mbit/s"),
    ("westwood", 0): _ALONE.format("15.39 Mbit/s"),
    ("westwood", 26): _ALONE.format("4.67 Mbit/s"),
    ("westwood", 34): "random effect of the start: alone in a start of the guest Linux has 8.08 Mbit/s and longpipe "
    "8.12",
}
