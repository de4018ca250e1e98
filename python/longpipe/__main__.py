"""Entry point of `longpipe` and `python -m longpipe`."""

import gc
import sys
from typing import NoReturn

from longpipe.interrupts import INTERRUPTED, interruptible, leave_at_once

# Imports create many permanent objects; Python's default threshold of 700 would run the collector all the time.
COLLECT_AFTER = 50_000


def main() -> NoReturn:
    """Runs the command line; Ctrl-C at any time ends it without a traceback."""
    # Nothing needs to be cleaned up yet.
    leave_at_once()
    gc.set_threshold(COLLECT_AFTER)
    try:
        from longpipe.cli import main as run

        interruptible()
        run()
    except KeyboardInterrupt:
        leave_at_once()
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
