"""A constellation: satellites with their elements, links between them, and what decides who sees whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from longpipe.errors import ScenarioError
from longpipe.satellites.checks import doubts_of_epochs, doubts_of_errors, error_codes
from longpipe.satellites.elements import read_elements
from longpipe.satellites.shells import Shell

if TYPE_CHECKING:
    from sgp4.api import SatrecArray

DAY_S: Final = 86_400.0
# Of SGP4: 1949 December 31 00:00 UT, and revolutions a day as radians a minute.
SGP4_ORIGIN: Final = 2_433_281.5
MINUTES_PER_DAY: Final = 1440.0
# Of shells, as Hypatia has it: orbits are not quite circles, which SGP4's elements could not describe once.
ECCENTRICITY: Final = 1e-7
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
# Of elements that name no least elevation: what users' terminals of Starlink are built for.
LEAST_ELEVATION_DEG: Final = 25.0


def sgp4_api() -> ModuleType:
    """SGP4, which is an extra; ScenarioError where it is not installed."""
    try:
        from sgp4 import api
    except ImportError:
        raise ScenarioError(
            "satellites: sgp4 is not installed; get it: pip install 'longpipe[orbits]' (longpipe doctor)"
        ) from None
    return cast(ModuleType, api)


@dataclass(frozen=True)
class Constellation:
    """Satellites in their order; times count from `epoch`.

    A ground station sees satellites that are no farther than `reach_m`, or, where that is None, no lower than
    `least_elevation_deg`.
    """

    name: str
    names: Sequence[str]
    # SGP4's state of each.
    satellites: Sequence[Any]
    epoch: datetime
    links: np.ndarray
    least_elevation_deg: float
    reach_m: float | None = None
    # Lines on elements that are old at the epoch, or of satellites that have no position then.
    doubts: tuple[str, ...] = ()

    @cached_property
    def array(self) -> SatrecArray:
        """All of them, for one call."""
        found: SatrecArray = sgp4_api().SatrecArray(self.satellites)
        return found

    @classmethod
    def of_shell(cls, shell: Shell, epoch: datetime = EPOCH) -> Constellation:
        """The satellites of a shell, at the beginning of their orbits at `epoch`."""
        api = sgp4_api()
        days, fraction = _julian(epoch)
        motion = shell.mean_motion * 2 * math.pi / MINUTES_PER_DAY
        satellites: list[Any] = []
        for orbit in range(shell.orbits):
            node = orbit * shell.spread_deg / shell.orbits
            for number in range(shell.per_orbit):
                one = api.Satrec()
                angles = [
                    math.radians(angle) for angle in (shell.inclination_deg, shell.anomaly_deg(orbit, number), node)
                ]
                inclination, anomaly, ascending = angles
                since = days - SGP4_ORIGIN + fraction
                # Without drag; perigee at the node.
                one.sgp4init(
                    api.WGS72, "i", len(satellites) + 1, since, 0.0, 0.0, 0.0, ECCENTRICITY, 0.0, inclination, anomaly,
                    motion, ascending,
                )  # fmt: skip
                satellites.append(one)
        names = [f"{shell.name}-{number}" for number in range(len(satellites))]
        return cls(
            shell.name,
            names,
            satellites,
            epoch,
            np.array(shell.links(), dtype=np.int64).reshape(-1, 2),
            shell.least_elevation_deg,
            shell.reach_m,
        )

    @classmethod
    def of_file(
        cls, path: Path, *, epoch: datetime | None = None, least_elevation_deg: float = LEAST_ELEVATION_DEG
    ) -> Constellation:
        """Returns the satellites of a file of TLEs or OMMs, without links between them.

        Times count from `epoch`, or from the last epoch of the elements. `doubts` has lines on elements that are old
        then, and on satellites that SGP4 has no position for; ScenarioError if that is all of them.
        """
        sgp4_api()
        elements = read_elements(path)
        begin = max(one.epoch for one in elements) if epoch is None else epoch
        names = [one.name for one in elements]
        satellites = [one.satellite for one in elements]
        links = np.empty((0, 2), dtype=np.int64)
        found = cls(path.name, names, satellites, begin, links, least_elevation_deg)
        errors, places, _ = found.array.sgp4(*found.julian(np.zeros(1)))
        codes = error_codes(errors[:, 0], places[:, 0])
        doubts = (*doubts_of_errors(names, codes), *doubts_of_epochs(elements, begin))
        if codes.all():
            raise ScenarioError(f"{path}: at {begin:%Y-%m-%dT%H:%M}: {doubts[0]}; needs elements of that time")
        return replace(found, doubts=doubts)

    def julian(self, times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Julian dates, whole days and a half, and the rest, of times that count from the epoch."""
        days, fraction = _julian(self.epoch)
        later = fraction + np.asarray(times_s, dtype=np.float64) / DAY_S
        whole = np.floor(later)
        return days + whole, later - whole


def _julian(instant: datetime) -> tuple[float, float]:
    """Julian date of an instant: of its midnight, and the fraction of its day."""
    since = instant.astimezone(UTC) - datetime(2000, 1, 1, tzinfo=UTC)
    return 2_451_544.5 + since.days, (since.seconds + since.microseconds / 1e6) / DAY_S
