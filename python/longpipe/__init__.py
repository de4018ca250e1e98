"""longpipe: TCP over long, fat pipes of ATM cells, simulated cell by cell."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe._core import __version__ as __version__
    from longpipe.captures import CaptureError
    from longpipe.errors import ScenarioError
    from longpipe.result import Result
    from longpipe.run import simulate
    from longpipe.scenario import Scenario

__all__ = ["CaptureError", "Result", "Scenario", "ScenarioError", "simulate"]

# Not for type checkers, which would take any name for one of these.
if not TYPE_CHECKING:
    from longpipe.deferred import deferred

    # The command line need not wait for what a command has no use for.
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "__version__": "longpipe._core",
            "CaptureError": "longpipe.captures",
            "Result": "longpipe.result",
            "Scenario": "longpipe.scenario",
            "ScenarioError": "longpipe.errors",
            "simulate": "longpipe.run",
        },
    )
    del deferred
