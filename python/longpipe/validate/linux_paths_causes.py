"""Causes of the differences between longpipe and Linux over the random paths of `linux_paths`, where they are known."""

from typing import Final

# By control and number of the path.
CAUSES: Final[dict[tuple[str, int], str]] = {}
