"""`longpipe`, and `python -m longpipe`."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line; Ctrl-C while it is still loading is no traceback either."""
    try:
        from longpipe.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        # `longpipe.cli.INTERRUPTED`, which may not have been loaded.
        sys.exit(130)


if __name__ == "__main__":
    main()
