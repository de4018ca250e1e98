"""Files that a scenario reads: what was read of them, and what of it may have been meant otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from longpipe.inputs.notes import latest

if TYPE_CHECKING:
    from longpipe.scenario import Scenario


def read_from_files(scenario: Scenario) -> list[str]:
    """Returns a line for each file that this process read for a scenario: its rows, their span and their values."""
    return [notes.read for file in _files(scenario) if (notes := latest(file))]


def doubts_of_files(scenario: Scenario) -> list[str]:
    """Returns a line for each column whose values are implausible in the unit in which they count."""
    return [line for file in _files(scenario) if (notes := latest(file)) for line in notes.doubts]


def _files(scenario: Scenario) -> list[str]:
    return list(dict.fromkeys(_named_files(scenario)))


def _named_files(scenario: Scenario) -> Iterator[str]:
    network = scenario.network
    for link in (network,) if network.kind == "dumbbell" else network.links:
        for path in (link.path, link.return_path):
            if path is not None and path.kind in ("file", "coded") and path.file is not None:
                yield path.file
    parts = (network.group or ()) if network.kind == "dumbbell" else network.flows
    for traffic in (scenario.traffic, *(part.traffic for part in parts)):
        if traffic is not None and traffic.kind == "arrivals":
            yield traffic.file
