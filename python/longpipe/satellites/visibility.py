"""Which satellites a ground station sees, and how far they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.stations import Station


@dataclass(frozen=True)
class Sight:
    """What decides for some stations: their places, and the reach or the sine of the least elevation of each."""

    places_m: np.ndarray
    up: np.ndarray
    reach_m: np.ndarray
    least_sine: np.ndarray

    @classmethod
    def of(cls, constellation: Constellation, stations: Sequence[Station]) -> Sight:
        """A station's own least elevation goes before the constellation's reach."""
        reach, elevation = [], []
        for one in stations:
            own = one.least_elevation_deg
            by_reach = own is None and constellation.reach_m is not None
            reach.append(constellation.reach_m if by_reach else np.inf)
            elevation.append(-90.0 if by_reach else constellation.least_elevation_deg if own is None else own)
        return cls(
            np.array([one.earth_fixed_m for one in stations]),
            np.array([one.up for one in stations]),
            np.array(reach),
            np.sin(np.radians(elevation)),
        )

    def distances_m(self, satellites_m: np.ndarray) -> np.ndarray:
        """Distance of each satellite from each station, by station and satellite [m]; infinite where it is not seen."""
        away = satellites_m[None, :, :] - self.places_m[:, None, :]
        distance = np.sqrt(np.einsum("ijk,ijk->ij", away, away))
        height = np.einsum("ijk,ik->ij", away, self.up)
        with np.errstate(invalid="ignore"):
            seen = (distance <= self.reach_m[:, None]) & (height >= self.least_sine[:, None] * distance)
        return np.where(seen, distance, np.inf)
