"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, where they are known."""

from typing import Final

_SOCKET_BUFFERS: Final = "Linux's socket buffers grow in slow start and limit it; longpipe's hold everything at once"
# By control and number of the path.
CAUSES: Final[dict[tuple[str, int], str]] = {
    ("bbr", 2): "all of it in Startup: the window of its first recovery is smaller than Linux's",
    ("hybla", 0): _SOCKET_BUFFERS,
    ("hybla", 3): f"probably as path 0: {_SOCKET_BUFFERS}",
}
