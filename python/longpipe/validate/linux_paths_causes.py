"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, where they are known."""

from typing import Final

# Known cause: two runs of a path in Linux differ by the time between a tick and the first segment.
_ALONE: Final = "chance of Linux's start: the same case alone in a start of the guest has {}"
# Known cause: Linux reads data behind a filled hole packet by packet (tcp_rcv_space_adjust): its buffer grew more.
_WINDOW: Final = "the receiver's window: Linux's grows for longer, and each growth is acknowledged at once"
# Causes by control and path number.
CAUSES: Final[dict[tuple[str, int], str]] = {
    ("bic", 27): _WINDOW,
    ("highspeed", 7): _WINDOW,
    ("highspeed", 27): _WINDOW,
    ("highspeed", 28): _WINDOW,
    ("htcp", 16): _ALONE.format("305 packets lost"),
    ("htcp", 30): _WINDOW,
    ("hybla", 13): _ALONE.format("1416 packets lost"),
    ("illinois", 0): _ALONE.format("7.61 Mbit/s"),
    ("illinois", 2): _ALONE.format("7.15 Mbit/s"),
    ("veno", 13): _ALONE.format("3.72 Mbit/s"),
    ("westwood", 0): _ALONE.format("15.39 Mbit/s"),
    ("westwood", 26): _ALONE.format("4.67 Mbit/s"),
}
