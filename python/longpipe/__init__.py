"""longpipe: TCP over long, fat pipes of ATM cells, simulated cell by cell."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe.captures import CaptureError
    from longpipe.errors import ScenarioError
    from longpipe.result import Result
    from longpipe.run import simulate
    from longpipe.scenario import Scenario

__all__ = ["CaptureError", "Result", "Scenario", "ScenarioError", "simulate"]

# Loaded when they are first used: the command line need not wait for what a command has no use for.
_HOMES = {
    "CaptureError": "longpipe.captures",
    "Result": "longpipe.result",
    "Scenario": "longpipe.scenario",
    "ScenarioError": "longpipe.errors",
    "simulate": "longpipe.run",
}


# Not for type checkers, which would take any name for one of these.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'longpipe' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
