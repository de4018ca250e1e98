"""Delay of a link that represents the route over satellites between two ground stations."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from longpipe.errors import ScenarioError
from longpipe.inputs import reads
from longpipe.inputs.notes import Notes, keep
from longpipe.scenario.motion import OwnSatellites, Satellites
from longpipe.scenario.shell_begin import begin_ps
from longpipe.scenario.variations import MAX_STEPS, Outages
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.satellites.constellation import Constellation

PS: Final = 10**12
PS_PER_NS: Final = 10**3

# Points of a delay: time and one-way delay [ps]; and periods without a route: start and end [ps].
Knots = tuple[tuple[int, int], ...]
Gaps = tuple[tuple[int, int], ...]


class _Route(NamedTuple):
    """Stations, and times of the run [ps]: `begin_ps` counts from the epoch of the constellation."""

    where: str
    first: str
    second: str
    begin_ps: int
    step_ps: int
    duration_ps: int


def delays_and_gaps(where: str, path: Satellites | OwnSatellites, duration_ps: int) -> tuple[Knots, Gaps]:
    """Returns the points of a link's delay and the times without a route.

    Raises ScenarioError for an unknown shell or station, a file that cannot be read, too many steps, and stations that
    never have a route.
    """
    step_ps = TIME.parse(path.step)
    if duration_ps // step_ps > MAX_STEPS:
        steps = f"{duration_ps // step_ps} steps of {TIME.format(step_ps)}"
        raise ScenarioError(f"{where}.step: {steps}; needs at most {MAX_STEPS}")
    if isinstance(path, Satellites):
        route = _Route(where, path.from_, path.to, begin_ps(path.begin), step_ps, duration_ps)
        return _delays_over_shell(path.shell, path.least_elevation, route)
    own = path.model_copy(update={"from_": "", "to": "", "step": "1 s", "outages": Outages.unchecked()})
    route = _Route(where, path.from_, path.to, 0, step_ps, duration_ps)
    knots, gaps, notes = _delays_over_elements(own, (stamp(path.elements), stamp(path.links or "")), route)
    keep(path.elements, notes)
    # The files are recorded here, because delays from the cache are returned without reading them.
    reads.note(path.elements)
    if path.links not in (None, "grid"):
        reads.note(path.links)
    return knots, gaps


def stamp(file: str) -> tuple[int, int]:
    """Returns the size and the time of modification of a file, so that a changed file is read again."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        # If the file is missing, reading it reports the error.
        return (0, 0)
    return (status.st_size, status.st_mtime_ns)


def constellation_of_shell(shell: str) -> Constellation:
    """Returns the satellites of a shell."""
    # Imported here because few scenarios need satellites.
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.shells import parse_shell

    return Constellation.of_shell(parse_shell(shell))


def constellation_of_elements(path: OwnSatellites, where: str = "network.path") -> tuple[Constellation, Notes]:
    """Returns the satellites of a file, and what was read. Raises ScenarioError."""
    # Imported here because few scenarios need satellites.
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.epochs import utc

    epoch = None if path.begin is None else utc(f"{where}.begin", path.begin)
    range_m = None if path.link_range is None else 1e3 * path.link_range
    constellation = Constellation.of_file(
        Path(path.elements),
        epoch=epoch,
        least_elevation_deg=path.least_elevation,
        link_range_m=range_m,
        links_from=path.links,
    )
    begin = f"{constellation.epoch:%Y-%m-%dT%H:%M:%S} UTC"
    read = f"{path.elements}: {len(constellation.names)} satellites; the run begins at {begin}"
    return constellation, Notes(read, tuple(f"{path.elements}: {line}" for line in constellation.doubts))


@lru_cache(maxsize=32)
def _delays_over_shell(shell: str, least_elevation_deg: float | None, route: _Route) -> tuple[Knots, Gaps]:
    return _delays_over(constellation_of_shell(shell), route, least_elevation_deg)


@lru_cache(maxsize=32)
def _delays_over_elements(
    path: OwnSatellites, stamps: tuple[tuple[int, int], tuple[int, int]], route: _Route
) -> tuple[Knots, Gaps, Notes]:
    """Computes the route; `stamps` identify the contents of the files that the path names."""
    constellation, notes = constellation_of_elements(path, route.where)
    return (*_delays_over(constellation, route), notes)


def _delays_over(
    constellation: Constellation, route: _Route, least_elevation_deg: float | None = None
) -> tuple[Knots, Gaps]:
    # Imported here because few scenarios need satellites.
    from longpipe.satellites.knots import knots
    from longpipe.satellites.stations import station

    where, first, second, since_ps, step_ps, duration_ps = route
    stations = (
        replace(station(first), least_elevation_deg=least_elevation_deg),
        replace(station(second), least_elevation_deg=least_elevation_deg),
    )
    try:
        # The last point is that of the first step after the end of the run.
        found, gaps = knots(constellation, stations, since_ps / PS, step_ps / PS, duration_ps // step_ps + 2)
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None
    delays = tuple((at * step_ps, PS_PER_NS * round(1e9 * delay)) for at, delay in found)
    return delays, tuple((begin * step_ps, end * step_ps) for begin, end in gaps)
