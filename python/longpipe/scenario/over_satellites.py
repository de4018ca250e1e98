"""Delay of a link that represents the route over satellites between two ground stations."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from longpipe.errors import ScenarioError
from longpipe.inputs import reads
from longpipe.inputs.notes import Notes, keep
from longpipe.scenario.motion import MAX_STEPS, OwnSatellites, Satellites
from longpipe.scenario.shell_begin import begin_ps
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.satellites.constellation import Constellation

PS: Final = 10**12
PS_PER_NS: Final = 10**3

# Time and one-way delay [ps], or start and end [ps] of a period without a route.
Knots = tuple[tuple[int, int], ...]


class _Route(NamedTuple):
    """Stations, and times of the run [ps]: `begin_ps` counts from the epoch of the constellation."""

    where: str
    first: str
    second: str
    begin_ps: int
    step_ps: int
    duration_ps: int


class _File(NamedTuple):
    """A file of elements with its size and time of modification, so that a changed file is read again."""

    name: str
    stamp: tuple[int, int]
    begin: str | None
    least_elevation_deg: float
    link_range_km: float | None


def delays_and_gaps(where: str, path: Satellites | OwnSatellites, duration_ps: int) -> tuple[Knots, Knots]:
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
        return _over_shell(path.shell, route)
    file = _File(path.elements, _stamp(path.elements), path.begin, path.least_elevation, path.link_range)
    knots, gaps, notes = _over_elements(file, _Route(where, path.from_, path.to, 0, step_ps, duration_ps))
    keep(path.elements, notes)
    # Recorded here, because delays from the cache are returned without reading the file.
    reads.note(path.elements)
    return knots, gaps


def _stamp(file: str) -> tuple[int, int]:
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        # If the file is missing, reading it reports the error.
        return (0, 0)
    return (status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=32)
def _over_shell(shell: str, route: _Route) -> tuple[Knots, Knots]:
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.shells import parse_shell

    return _over(Constellation.of_shell(parse_shell(shell)), route)


@lru_cache(maxsize=32)
def _over_elements(file: _File, route: _Route) -> tuple[Knots, Knots, Notes]:
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.epochs import utc

    epoch = None if file.begin is None else utc(f"{route.where}.begin", file.begin)
    range_m = None if file.link_range_km is None else 1e3 * file.link_range_km
    constellation = Constellation.of_file(
        Path(file.name), epoch=epoch, least_elevation_deg=file.least_elevation_deg, link_range_m=range_m
    )
    begin = f"{constellation.epoch:%Y-%m-%dT%H:%M:%S} UTC"
    read = f"{file.name}: {len(constellation.names)} satellites; the run begins at {begin}"
    doubts = tuple(f"{file.name}: {line}" for line in constellation.doubts)
    return (*_over(constellation, route), Notes(read, doubts))


def _over(constellation: Constellation, route: _Route) -> tuple[Knots, Knots]:
    from longpipe.satellites.knots import knots
    from longpipe.satellites.stations import station

    where, first, second, since_ps, step_ps, duration_ps = route
    stations = (station(first), station(second))
    try:
        found, gaps = knots(constellation, stations, since_ps / PS, step_ps / PS, duration_ps // step_ps + 2)
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None
    delays = tuple((at * step_ps, PS_PER_NS * round(1e9 * delay)) for at, delay in found)
    return delays, tuple((begin * step_ps, end * step_ps) for begin, end in gaps)
