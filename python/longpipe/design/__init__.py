"""Designed experiments over scenarios: factors, points, seeds, cost, and the analysis of their runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe.design.cost import Cost
    from longpipe.design.design import Design
    from longpipe.design.factor import Factor
    from longpipe.design.fraction import Fraction

__all__ = ["Cost", "Design", "Factor", "Fraction"]

if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Load lazily, because the cost of a run is estimated without a design, which needs NumPy.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "Cost": "longpipe.design.cost",
            "Design": "longpipe.design.design",
            "Factor": "longpipe.design.factor",
            "Fraction": "longpipe.design.fraction",
        },
    )
    del lazy_attributes
