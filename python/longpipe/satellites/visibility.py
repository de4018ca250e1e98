"""Visibility of satellites from ground stations, and their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.stations import Station


@dataclass(frozen=True)
class Sight:
    """Visibility rule of some stations: their positions, and the range or the sine of the minimum elevation."""

    places_m: np.ndarray
    up: np.ndarray
    max_ground_link_m: np.ndarray
    least_sine: np.ndarray

    @classmethod
    def of(cls, constellation: Constellation, stations: Sequence[Station]) -> Sight:
        """Creates the rule; a station's own minimum elevation overrides the constellation's range.

        A satellite in range is visible only above the horizon, because the range of Hypatia's rule is that over a flat
        Earth.
        """
        reach, elevation = [], []
        for station in stations:
            own = station.least_elevation_deg
            by_reach = own is None and constellation.max_ground_link_m is not None
            reach.append(constellation.max_ground_link_m if by_reach else np.inf)
            elevation.append(0.0 if by_reach else constellation.least_elevation_deg if own is None else own)
        return cls(
            np.array([station.earth_fixed_m for station in stations]),
            np.array([station.up for station in stations]),
            np.array(reach),
            np.sin(np.radians(elevation)),
        )

    def distances_m(self, satellites_m: np.ndarray) -> np.ndarray:
        """Returns distances [m] by station and satellite; infinite if the satellite is not visible."""
        away = satellites_m[None, :, :] - self.places_m[:, None, :]
        distance = np.sqrt(np.einsum("ijk,ijk->ij", away, away))
        height = np.einsum("ijk,ik->ij", away, self.up)
        with np.errstate(invalid="ignore"):
            seen = (distance <= self.max_ground_link_m[:, None]) & (height >= self.least_sine[:, None] * distance)
        return np.where(seen, distance, np.inf)
