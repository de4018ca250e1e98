"""`longpipe`, and `python -m longpipe`."""

import gc
import sys
from typing import NoReturn

# Loading makes many objects that stay, over which Python's own threshold of 700 has the collector go all the time.
COLLECT_AFTER = 50_000


def main() -> NoReturn:
    """Runs the command line; Ctrl-C while it is still loading is no traceback either."""
    gc.set_threshold(COLLECT_AFTER)
    try:
        from longpipe.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        # `longpipe.cli.INTERRUPTED`, which may not have been loaded.
        sys.exit(130)


if __name__ == "__main__":
    main()
