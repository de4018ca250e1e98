"""longpipe: TCP over long, fat pipes of ATM cells, simulated cell by cell."""

from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario

__all__ = ["Scenario", "ScenarioError"]
