"""Designed experiments over scenarios: factors, points, seeds, cost, and the analysis of their runs."""

from longpipe.design.cost import Cost
from longpipe.design.design import Design
from longpipe.design.factor import Factor
from longpipe.design.fraction import Fraction

__all__ = ["Cost", "Design", "Factor", "Fraction"]
