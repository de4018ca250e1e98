"""Files that a scenario reads: summaries, and warnings about values that may be in a different unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from longpipe.inputs.notes import latest
from longpipe.units import TIME, seconds

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.access import Access
    from longpipe.scenario.network import Dumbbell, Graph


def read_from_files(scenario: Scenario) -> list[str]:
    """Returns a line for each file that this process read for a scenario: rows, time span and ranges of values."""
    return [notes.read for file in _files(scenario) if (notes := latest(file))]


def doubts_of_files(scenario: Scenario) -> list[str]:
    """Returns a line for each column whose values are implausible for its unit."""
    end_ps = TIME.parse(scenario.duration)
    doubts: list[str] = []
    for file in _files(scenario):
        notes = latest(file)
        if notes is None:
            continue
        doubts += notes.doubts
        if notes.second_ps is not None and notes.second_ps > end_ps:
            doubts.append(
                f"{file}: the second row is at {seconds(notes.second_ps)}, after the end of the run of "
                f"{scenario.duration}: the column names no unit, so s was assumed; if ms is meant, name it 'time [ms]'"
            )
    return doubts


def _files(scenario: Scenario) -> list[str]:
    return list(dict.fromkeys(_named_files(scenario)))


def _named_files(scenario: Scenario) -> Iterator[str]:
    """Yields the data files that a scenario names: of paths and of traffic."""
    network = scenario.network
    for link in (network,) if network.kind == "dumbbell" else network.links:
        for path in (link.path, link.return_path):
            if path is None:
                continue
            if path.kind in ("file", "coded") and path.file is not None:
                yield path.file
            if path.kind == "elements":
                yield path.elements
    for access in _accesses(network):
        yield from access.data_files()
    parts = (network.group or ()) if network.kind == "dumbbell" else network.flows
    for traffic in (scenario.traffic, *(part.traffic for part in parts)):
        if traffic is not None and (file := traffic.data_file()) is not None:
            yield file


def _accesses(network: Dumbbell | Graph) -> Iterator[Access]:
    """Yields the medium access of a network's links."""
    ways = [(link.access, link.return_access) for link in ((network,) if network.kind == "dumbbell" else network.links)]
    if network.kind == "dumbbell":
        ways.append((network.exit_access, network.exit_return_access))
    yield from (access for way in ways for access in way if access is not None)
