"""What live paths need of the machine."""

import sys

from longpipe.errors import RunError


def check_machine() -> None:
    """Raises RunError if the machine does not support live paths."""
    if sys.platform != "linux":
        raise RunError("live: not a Linux system; needs network namespaces")
    try:
        import pyroute2  # noqa: F401 - part of an extra
    except ImportError:
        raise RunError(
            "live: pyroute2 is not installed; get it: pip install 'longpipe[live]' (longpipe doctor)"
        ) from None
