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
        ranges_m, elevations_deg = [], []
        for station in stations:
            of_station = station.least_elevation_deg
            by_range = of_station is None and constellation.max_ground_link_m is not None
            of_constellation = 0.0 if by_range else constellation.least_elevation_deg
            ranges_m.append(constellation.max_ground_link_m if by_range else np.inf)
            elevations_deg.append(of_constellation if of_station is None else of_station)
        return cls(
            np.array([station.earth_fixed_m for station in stations]),
            np.array([station.up for station in stations]),
            np.array(ranges_m),
            np.sin(np.radians(elevations_deg)),
        )

    def of_station(self, station: int) -> Sight:
        """Returns the rule of one station alone."""
        rows = slice(station, station + 1)
        return Sight(self.places_m[rows], self.up[rows], self.max_ground_link_m[rows], self.least_sine[rows])

    def sines(self, station: int, satellites_m: np.ndarray) -> np.ndarray:
        """Returns the sines of the elevations at which a station sees satellites; negative below the horizon."""
        vectors_m = satellites_m - self.places_m[station]
        sines: np.ndarray = vectors_m @ self.up[station] / np.linalg.norm(vectors_m, axis=-1)
        return sines

    def distances_m(self, satellites_m: np.ndarray) -> np.ndarray:
        """Returns distances [m] by station and satellite; infinite if the satellite is not visible."""
        vectors_m = satellites_m[None, :, :] - self.places_m[:, None, :]
        distance = np.sqrt(np.einsum("ijk,ijk->ij", vectors_m, vectors_m))
        # Height above the station's horizontal plane: the distance times the sine of the elevation.
        height = np.einsum("ijk,ik->ij", vectors_m, self.up)
        with np.errstate(invalid="ignore"):
            is_visible = (distance <= self.max_ground_link_m[:, None]) & (height >= self.least_sine[:, None] * distance)
        return np.where(is_visible, distance, np.inf)
