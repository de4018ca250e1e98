"""Drawings of the networks in the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longpipe.pictures.kinds.network import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longpipe.scenario import Scenario

# Maximum number of sources in a drawing; more would only repeat the picture.
DRAWN_SOURCES: Final = 5


def topology(scenario: Scenario, title: str) -> Figure:
    """Draws a dumbbell with at most five of its sources, rates and delays on the links."""
    sources = getattr(scenario.network, "sources", 1)
    drawn = scenario.with_(**{"network.sources": min(sources, DRAWN_SOURCES)})
    figure = network(drawn)
    figure.suptitle(title)
    return figure
