"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, where they are known."""

from typing import Final

# Known cause: two runs of a path in Linux differ by the time between a tick and the first segment.
_ALONE: Final = "chance of Linux's start: the same case alone in a start of the guest has {}"
# Causes by control and path number.
CAUSES: Final[dict[tuple[str, int], str]] = {
    ("htcp", 16): _ALONE.format("305 packets lost"),
    ("hybla", 13): _ALONE.format("1416 packets lost"),
    ("illinois", 2): _ALONE.format("7.15 Mbit/s"),
    ("veno", 13): _ALONE.format("3.72 Mbit/s"),
    ("westwood", 0): _ALONE.format("15.39 Mbit/s"),
    ("westwood", 26): _ALONE.format("4.67 Mbit/s"),
}
