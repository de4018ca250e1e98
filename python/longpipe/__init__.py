"""longpipe: TCP over long, fat pipes of ATM cells, simulated cell by cell."""

from longpipe.captures import CaptureError
from longpipe.errors import ScenarioError
from longpipe.result import Result
from longpipe.run import simulate
from longpipe.scenario import Scenario

__all__ = ["CaptureError", "Result", "Scenario", "ScenarioError", "simulate"]
