"""Ground stations: known cities, and places given by latitude and longitude."""

from __future__ import annotations

import csv
import difflib
import math
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from longpipe.errors import ScenarioError

# WGS 84: equatorial radius [m], flattening.
RADIUS_M: Final = 6_378_137.0
FLATTENING: Final = 1 / 298.257223563
# Maximum number of similar names in a message.
MAX_NEAREST: Final = 5


@dataclass(frozen=True)
class Station:
    """A place on the ground: geodetic latitude and longitude [degree] on WGS 84, and height [m] above the ellipsoid.

    `least_elevation_deg` overrides the constellation's minimum elevation.
    """

    name: str
    latitude_deg: float
    longitude_deg: float
    height_m: float = 0.0
    least_elevation_deg: float | None = None

    def __post_init__(self) -> None:
        if not -90 <= self.latitude_deg <= 90:
            raise ScenarioError(f"{self.name}: latitude of {self.latitude_deg:g} degrees; needs -90 to 90")
        if not -180 <= self.longitude_deg <= 360:
            raise ScenarioError(f"{self.name}: longitude of {self.longitude_deg:g} degrees; needs -180 to 360")

    @property
    def earth_fixed_m(self) -> np.ndarray:
        """Returns the Earth-fixed position [m]: x towards longitude 0 on the equator, z towards the north pole."""
        latitude, longitude = math.radians(self.latitude_deg), math.radians(self.longitude_deg)
        eccentricity_squared = FLATTENING * (2 - FLATTENING)
        # Radius of curvature in the prime vertical: the length of the normal from the ellipsoid to the axis.
        normal_m = RADIUS_M / math.sqrt(1 - eccentricity_squared * math.sin(latitude) ** 2)
        from_axis_m = (normal_m + self.height_m) * math.cos(latitude)
        z_m = (normal_m * (1 - eccentricity_squared) + self.height_m) * math.sin(latitude)
        return np.array([from_axis_m * math.cos(longitude), from_axis_m * math.sin(longitude), z_m])

    @property
    def up(self) -> np.ndarray:
        """Returns the Earth-fixed unit vector perpendicular to the ellipsoid."""
        latitude, longitude = math.radians(self.latitude_deg), math.radians(self.longitude_deg)
        horizontal = math.cos(latitude)
        return np.array([horizontal * math.cos(longitude), horizontal * math.sin(longitude), math.sin(latitude)])


@cache
def cities() -> dict[str, Station]:
    """Returns all known cities, starting with the largest."""
    with files(__package__).joinpath("cities.csv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {
            row["name"]: Station(row["name"], float(row["latitude_deg"]), float(row["longitude_deg"])) for row in rows
        }


def station(text: str) -> Station:
    """Returns a city by name, or a place: "47.37,8.54" or "Home=47.37,8.54". A ScenarioError lists similar names."""
    cities = _by_plain_name()
    if city := cities.get(_plain(text)):
        return city
    if place := _place(text):
        return place
    close = [cities[name].name for name in difflib.get_close_matches(_plain(text), cities, n=MAX_NEAREST, cutoff=0.5)]
    suggestion = f"nearest are {', '.join(close)}; " if close else ""
    raise ScenarioError(f"station: {text!r} is not a known city; {suggestion}or give LATITUDE,LONGITUDE in degrees")


@cache
def _by_plain_name() -> dict[str, Station]:
    return {_plain(name): city for name, city in cities().items()}


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip().casefold().replace("-", " "))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _place(text: str) -> Station | None:
    name, equals, location = text.rpartition("=")
    try:
        latitude, longitude = map(float, location.split(","))
    except ValueError:
        return None
    return Station(name if equals else location.strip(), latitude, longitude)
