"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, if they are known."""

from typing import Final

# Known cause: two runs of a path in Linux differ by the cases before them in the same start of the guest.
_ALONE: Final = "random effect of Linux's start: the same case alone in a start of the guest has {}"
# Known cause: results depend on the phase of the application's writes, each of which sets PSH on its last segment.
_WRITES: Final = "which segments carry PSH: with a write every {} instead of 20 ms, longpipe's {}"
# Causes by control and path number.
CAUSES: Final[dict[tuple[str, int], str]] = {
    ("highspeed", 22): _WRITES.format("19", "RTT is 1022 ms"),
    ("htcp", 19): _WRITES.format("21", "goodput is 1.64 Mbit/s"),
    ("htcp", 33): _WRITES.format("21", "goodput is 15.62 Mbit/s"),
    ("hybla", 23): "before the first loss, longpipe has acknowledged one segment more; windows of 32 767 follow",
    ("illinois", 2): _ALONE.format("7.15 Mbit/s"),
    ("illinois", 38): _WRITES.format("21", "RTT is 673 ms"),
    ("veno", 12): _WRITES.format("22", "goodput is 1.89 Mbit/s"),
    ("veno", 13): _ALONE.format("3.72 Mbit/s"),
    ("westwood", 0): _ALONE.format("15.39 Mbit/s"),
    ("westwood", 15): "after the first recovery, longpipe's window has 21 instead of 22 segments",
    ("westwood", 26): _ALONE.format("4.67 Mbit/s"),
}
