"""Entry point of `longpipe` and `python -m longpipe`."""

import gc
import sys
from types import ModuleType
from typing import NoReturn

from longpipe.system.interrupts import INTERRUPTED, exit_on_interrupt, interrupted_exit, raise_on_interrupt

# Starting creates more than 100 000 permanent objects, for which the default threshold of 700 would cause constant
# garbage collection.
COLLECT_AFTER = 200_000


def main() -> NoReturn:
    """Runs the command line; Ctrl-C at any time ends it without a traceback."""
    # There is nothing to clean up yet.
    exit_on_interrupt()
    gc.set_threshold(COLLECT_AFTER)
    _without_plugins()
    try:
        from longpipe.cli import main as run

        raise_on_interrupt()
        run()
    except KeyboardInterrupt:
        exit_on_interrupt()
        status, line = interrupted_exit() or (INTERRUPTED, "interrupted")
        sys.stderr.write(f"{line}\n")
        sys.exit(status)
    finally:
        # Python collects garbage twice more when it exits, which takes a fifth of the CPU time of a short run. Frozen
        # objects are skipped; nothing depends on this collection, because commands close their files themselves.
        gc.freeze()


def _without_plugins() -> None:
    """Keeps pydantic from searching for its plugins, which no command uses.

    The search would import an e-mail parser.
    """
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)


if __name__ == "__main__":
    main()
