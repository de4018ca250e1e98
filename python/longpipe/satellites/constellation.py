"""A constellation: satellites with their elements, inter-satellite links, and a visibility rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from longpipe.errors import ScenarioError, nearest, shown
from longpipe.satellites.checks import (
    doubts_of_epochs,
    doubts_of_errors,
    doubts_of_links,
    doubts_of_repetition,
    error_codes,
)
from longpipe.satellites.elements import read_elements
from longpipe.satellites.epochs import EPOCH, in_utc
from longpipe.satellites.grid import grid_links
from longpipe.satellites.hypatia import read_folder, read_pairs
from longpipe.satellites.links import sighted
from longpipe.satellites.shells import Shell

if TYPE_CHECKING:
    from sgp4.api import SatrecArray

DAY_S: Final = 86_400.0
# SGP4's origin of time, 1949 December 31 00:00 UT, as a Julian date.
SGP4_ORIGIN: Final = 2_433_281.5
MINUTES_PER_DAY: Final = 1440.0
# Eccentricity of shells, as in Hypatia. It is not exactly 0, because early SGP4 code could not handle circular orbits.
ECCENTRICITY: Final = 1e-7
# Default minimum elevation, which is that of Starlink's user terminals.
MIN_ELEVATION_DEG: Final = 25.0
# Rule for links between satellites of a file.
GRID: Final = "grid"
_MAX_DIGITS: Final = 9
_NO_LINKS: Final = np.empty((0, 2), dtype=np.int64)


def sgp4_api() -> ModuleType:
    """Imports SGP4, an optional dependency. Raises ScenarioError if it is not installed."""
    try:
        from sgp4 import api
    except ImportError:
        raise ScenarioError(
            "satellites: sgp4 is not installed; get it: pip install 'longpipe[orbits]' (longpipe doctor)"
        ) from None
    return cast(ModuleType, api)


@dataclass(frozen=True)
class Constellation:
    """Satellites in order; times are measured from `epoch`.

    A ground station sees satellites within `max_ground_link_m` or, if that is None, above `least_elevation_deg`.
    Satellites have the fixed links `links` or, if `link_range_m` is not None, the links that `links.links_within`
    returns at each time; a fixed link is usable while its satellites have a line of sight.
    """

    name: str
    names: Sequence[str]
    # SGP4's state of each satellite.
    satellites: Sequence[Any]
    epoch: datetime
    links: np.ndarray
    least_elevation_deg: float
    max_ground_link_m: float | None = None
    link_range_m: float | None = None
    # Warnings about repeated satellites, elements that are old at the epoch, satellites without a position then, and
    # links without a line of sight.
    doubts: tuple[str, ...] = ()

    @cached_property
    def array(self) -> SatrecArray:
        """Returns all satellites as an array for vectorized calls."""
        satellites: SatrecArray = sgp4_api().SatrecArray(self.satellites)
        return satellites

    @classmethod
    def of_shell(cls, shell: Shell, epoch: datetime = EPOCH) -> Constellation:
        """Creates the satellites of a shell, whose orbits start at `epoch`.

        Another epoch rotates the shell relative to the Earth. For a later start over the same shell, use `begin_s` of
        `round_trips` instead.
        """
        api = sgp4_api()
        epoch = in_utc(epoch)
        days, fraction = _julian(epoch)
        motion = shell.mean_motion * 2 * math.pi / MINUTES_PER_DAY
        satellites: list[Any] = []
        for orbit in range(shell.orbits):
            node = orbit * shell.spread_deg / shell.orbits
            for number in range(shell.per_orbit):
                satellite = api.Satrec()
                angles = [
                    math.radians(angle) for angle in (shell.inclination_deg, shell.anomaly_deg(orbit, number), node)
                ]
                inclination, anomaly, ascending = angles
                since = days - SGP4_ORIGIN + fraction
                # There is no drag, and the perigee is at the ascending node.
                satellite.sgp4init(
                    api.WGS72, "i", len(satellites) + 1, since, 0.0, 0.0, 0.0, ECCENTRICITY, 0.0, inclination, anomaly,
                    motion, ascending,
                )  # fmt: skip
                satellites.append(satellite)
        names = [f"{shell.name}-{number}" for number in range(len(satellites))]
        constellation = cls(
            shell.name,
            names,
            satellites,
            epoch,
            np.array(shell.links(), dtype=np.int64).reshape(-1, 2),
            shell.least_elevation_deg,
            shell.max_ground_link_m,
        )
        _, places = constellation.at_epoch()
        return replace(constellation, doubts=tuple(doubts_of_links(sighted(places, constellation.links))))

    @classmethod
    def of_file(
        cls,
        path: Path | str,
        *,
        epoch: datetime | None = None,
        least_elevation_deg: float = MIN_ELEVATION_DEG,
        link_range_m: float | None = None,
        links_from: str | None = None,
    ) -> Constellation:
        """Returns the satellites of a file of TLEs or OMMs, or of one of Hypatia's folders.

        A file's satellites have no links between them unless `link_range_m` [m] or `links_from` is given: "grid" for a
        +grid, or a file with two satellites per line. A folder defines its own links. Times are measured from `epoch`
        (in UTC if it has no time zone), by default the last epoch of the elements. `doubts` contains warnings about
        satellites that occur more than once, about elements that are old at this time, and about satellites and links
        that are left out. Raises ScenarioError if no satellite has a position, and if more than one of a range, links
        and a folder is given.
        """
        sgp4_api()
        path = Path(path)
        elements, links = read_folder(path) if path.is_dir() else (read_elements(path), _NO_LINKS)
        if len(links) and (link_range_m is not None or links_from is not None):
            raise ScenarioError(f"{path}: a folder defines its own links; not together with a range or other links")
        if link_range_m is not None and links_from is not None:
            raise ScenarioError(f"{path}: a range of links and {links_from}; needs one of them")
        begin = max(satellite.epoch for satellite in elements) if epoch is None else in_utc(epoch)
        names = [satellite.name for satellite in elements]
        satellites = [satellite.satellite for satellite in elements]
        constellation = cls(path.name, names, satellites, begin, links, least_elevation_deg, link_range_m=link_range_m)
        codes, places = constellation.at_epoch()
        if links_from is not None:
            links = constellation.linked_by(links_from, codes == 0)
            constellation = replace(constellation, links=links)
        placed_links = links[np.isfinite(places[links]).all(axis=(1, 2))]
        doubts = (
            *doubts_of_errors(names, codes),
            *doubts_of_epochs(elements, begin),
            *doubts_of_repetition(elements),
            *doubts_of_links(sighted(places, placed_links)),
        )
        if codes.all():
            raise ScenarioError(f"{path}: at {begin:%Y-%m-%dT%H:%M}: {doubts[0]}; needs elements of that time")
        return replace(constellation, doubts=doubts)

    def linked_by(self, links_from: str, is_placed: np.ndarray) -> np.ndarray:
        """Returns the links of a +grid ("grid") between satellites with a position, or those of a file.

        Raises ScenarioError for a line that does not name two satellites.
        """
        if links_from != GRID:
            return np.array(read_pairs(Path(links_from), self.number_of), dtype=np.int64).reshape(-1, 2)
        placed = np.nonzero(is_placed)[0]
        satellites = [self.satellites[number] for number in placed.tolist()]
        days, fraction = _julian(self.epoch)
        since_min = MINUTES_PER_DAY * np.array(
            [days - satellite.jdsatepoch + fraction - satellite.jdsatepochF for satellite in satellites],
            dtype=np.float64,
        )
        links: np.ndarray = placed[grid_links(satellites, since_min)].reshape(-1, 2)
        return links

    def number_of(self, text: str) -> int:
        """Returns the number of a satellite given by its name, number or catalog number. Raises ScenarioError."""
        if text in self._numbers:
            return self._numbers[text]
        count = len(self.names)
        if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
            if int(text) < count:
                return int(text)
            catalog = [number for number, satellite in enumerate(self.satellites) if satellite.satnum == int(text)]
            if catalog:
                return catalog[0]
        raise ScenarioError(
            f"{shown(text)}; {nearest(text, self.names)}, or a number from 0 to {count - 1}, or a catalog number"
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in reversed(list(enumerate(self.names)))}

    def at_epoch(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns each satellite's error code and inertial position [m] at the epoch, NaN with an error."""
        errors, kilometres, _ = self.array.sgp4(*self.julian(np.zeros(1)))
        codes = error_codes(errors[:, 0], kilometres[:, 0])
        return codes, np.where(codes[:, None] == 0, 1e3 * kilometres[:, 0], np.nan)

    def julian(self, times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns times after the epoch as Julian dates, each as the day (which ends in .5) and its fraction."""
        days, fraction = _julian(self.epoch)
        later = fraction + np.asarray(times_s, dtype=np.float64) / DAY_S
        whole = np.floor(later)
        return days + whole, later - whole


def _julian(instant: datetime) -> tuple[float, float]:
    """Returns a time's Julian date as the date at midnight and the fraction of the day."""
    since = instant - EPOCH
    return 2_451_544.5 + since.days, (since.seconds + since.microseconds / 1e6) / DAY_S
