"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, if they are known."""

from typing import Final

# Known cause: two runs of a path in Linux differ by the cases before them in the same start of the guest.
_ALONE: Final = "random effect of Linux's start: the same case alone in a start of the guest has {}"
# Causes by control and path number.
CAUSES: Final[dict[tuple[str, int], str]] = {
    ("bic", 0): _ALONE.format("9.39 Mbit/s"),
    ("highspeed", 29): _ALONE.format("an RTT of 203 ms"),
    ("illinois", 2): _ALONE.format("7.15 Mbit/s"),
    ("veno", 13): _ALONE.format("3.72 Mbit/s"),
    ("westwood", 35): _ALONE.format("752 packets lost"),
}
