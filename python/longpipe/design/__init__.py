"""Designed experiments over scenarios: factors, points, seeds, cost, runs, and their analysis."""

from longpipe.design.cost import Cost
from longpipe.design.design import Design
from longpipe.design.factor import Factor
from longpipe.design.fraction import Fraction
from longpipe.design.sequential import Sequential, run_until

__all__ = ["Cost", "Design", "Factor", "Fraction", "Sequential", "run_until"]
