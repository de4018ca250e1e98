"""Shells of satellites on circular orbits: those of known constellations, and custom ones given by five parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from longpipe.errors import ScenarioError, nearest

# WGS 72, to which SGP4's elements refer: equatorial radius [m] and GM [m³/s²].
EARTH_RADIUS_M: Final = 6_378_135.0
EARTH_GM: Final = 398_600.8e9
DAY_S: Final = 86_400.0
# Bounds of a shell's parameters.
MAX_ORBITS: Final = 500
MAX_PER_ORBIT: Final = 500
ALTITUDES_KM: Final = (160.0, 40_000.0)

Phasing = Literal["half"] | int


@dataclass(frozen=True)
class Shell:
    """Evenly spaced orbits with evenly spaced satellites.

    `phasing` is "half" if every odd orbit is shifted by half the distance between two satellites, or F in Walker's
    notation i:T/P/F, where each orbit is shifted by F/T of a circle relative to the previous one. `spread_deg` is 360,
    or 180 for a Walker star, whose last orbit has no links to the first. Each satellite has links to the next one in
    its orbit and to the one with the same number in the next orbit (+grid); `linked` is false if there are no links.
    """

    name: str
    orbits: int
    per_orbit: int
    altitude_km: float
    inclination_deg: float
    phasing: Phasing = "half"
    # None to compute it from the altitude by Kepler's third law.
    revolutions_per_day: float | None = None
    least_elevation_deg: float = 25.0
    # Maximum distance [km] along flat ground between a station and the point below the satellite, used instead of a
    # minimum elevation (Hypatia's rule).
    cone_km: float | None = None
    spread_deg: float = 360.0
    linked: bool = True

    def __post_init__(self) -> None:
        whole = (("orbits", self.orbits, MAX_ORBITS), ("satellites of an orbit", self.per_orbit, MAX_PER_ORBIT))
        for what, number, limit in whole:
            if not 1 <= number <= limit:
                raise ScenarioError(f"shell: {number} {what}; needs 1 to {limit}")
        low, high = ALTITUDES_KM
        if not low <= self.altitude_km <= high:
            raise ScenarioError(f"shell: altitude of {self.altitude_km:g} km; needs {low:g} to {high:g} km")
        if not 0 <= self.inclination_deg <= 180:
            raise ScenarioError(f"shell: inclination of {self.inclination_deg:g} degrees; needs 0 to 180")
        if not 0 <= self.least_elevation_deg < 90:
            raise ScenarioError(f"shell: least elevation of {self.least_elevation_deg:g} degrees; needs 0 to below 90")
        if self.phasing != "half" and not 0 <= self.phasing < self.orbits:
            raise ScenarioError(f"shell: phasing {self.phasing}; needs half, or 0 to {self.orbits - 1}")

    @property
    def satellites(self) -> int:
        """Returns the number of satellites."""
        return self.orbits * self.per_orbit

    @property
    def mean_motion(self) -> float:
        """Returns the number of revolutions per day."""
        if self.revolutions_per_day is not None:
            return self.revolutions_per_day
        radius = EARTH_RADIUS_M + 1e3 * self.altitude_km
        return DAY_S / (2 * math.pi * math.sqrt(radius**3 / EARTH_GM))

    @property
    def max_ground_link_m(self) -> float | None:
        """Returns the maximum length of a ground link [m]; None if the elevation is the limit instead."""
        return None if self.cone_km is None else math.hypot(1e3 * self.cone_km, 1e3 * self.altitude_km)

    def anomaly_deg(self, orbit: int, number: int) -> float:
        """Returns a satellite's position [degree] in its orbit at the epoch, counted from the ascending node."""
        slot = 360.0 / self.per_orbit
        shift = slot / 2 * (orbit % 2) if self.phasing == "half" else 360.0 * self.phasing * orbit / self.satellites
        return shift + number * slot

    def links(self) -> list[tuple[int, int]]:
        """Returns the links of the +grid, between satellites numbered orbit by orbit."""
        if not self.linked:
            return []
        size, pairs = self.per_orbit, set()
        # The shifts of F/T of a circle per orbit add up to F slots around the Earth, so the neighbor of a satellite of
        # the last orbit in the first orbit has a number that is higher by F.
        slots_shifted = self.phasing if isinstance(self.phasing, int) else 0
        for orbit in range(self.orbits):
            last = orbit == self.orbits - 1
            for number in range(size):
                here = orbit * size + number
                if size > 1:
                    pairs.add(_link(here, orbit * size + (number + 1) % size))
                if self.orbits > 1 and not (last and (self.spread_deg < 360.0 or self.orbits == 2)):
                    neighbor_number = (number + slots_shifted) % size if last else number
                    pairs.add(_link(here, (orbit + 1) % self.orbits * size + neighbor_number))
        return sorted(pairs)


def _link(a: int, b: int) -> tuple[int, int]:
    """Returns the pair of satellites with the smaller number first, so that equal links compare equal."""
    return (a, b) if a < b else (b, a)


def _flat_cone_km(altitude_km: float, elevation_deg: float) -> float:
    """Returns the distance along flat ground at which a satellite is seen at an elevation."""
    return altitude_km / math.tan(math.radians(elevation_deg))


# The first three are from Hypatia (Kassing et al., IMC 2020), with its rule for the range of ground links. OneWeb is
# from its FCC filing of 2016 (18 orbits of 40 satellites, 1200 km, 87.9 degrees, elevation of at least 55 degrees; no
# links between satellites in its first generation). Iridium is from its own filing (6 orbits of 11 satellites, 780 km,
# 86.4 degrees, 8.2 degrees).
SHELLS: Final[dict[str, Shell]] = {
    shell.name: shell
    for shell in (
        # Name, orbits, satellites per orbit, altitude [km], inclination [degree], phasing, revolutions per day, minimum
        # elevation [degree], cone [km], spread [degree].
        Shell("starlink-550", 72, 22, 550, 53, "half", 15.19, 25, 940.7),
        Shell("kuiper-630", 34, 34, 630, 51.9, "half", 14.80, 30, _flat_cone_km(630, 30)),
        Shell("telesat-1015", 27, 13, 1015, 98.98, "half", 13.66, 10, _flat_cone_km(1015, 10)),
        Shell("oneweb", 18, 40, 1200, 87.9, "half", None, 55, None, 180, linked=False),
        Shell("iridium", 6, 11, 780, 86.4, "half", None, 8.2, None, 180),
    )
}


def shell(name: str) -> Shell:
    """Returns a built-in shell. For an unknown name, raises a ScenarioError that lists the nearest names."""
    if name not in SHELLS:
        raise ScenarioError(f"shell: {name!r}; {nearest(name, SHELLS)}, or ORBITSxSATELLITES:KM:DEGREES:PHASING")
    return SHELLS[name]


def parse_shell(text: str) -> Shell:
    """Returns a shell given by name or by parameters, as in "72x22:550:53:half" or "6x11:780:86.4:2"."""
    parts = text.split(":")
    if len(parts) == 1:
        return shell(text)
    needs = "needs ORBITSxSATELLITES:ALTITUDE_KM:INCLINATION_DEG:PHASING, as in 72x22:550:53:half"
    try:
        grid, altitude, inclination, phasing = parts
        orbits, per_orbit = grid.split("x")
        walker_phasing: Phasing = "half" if phasing == "half" else int(phasing)
        return Shell(text, int(orbits), int(per_orbit), float(altitude), float(inclination), walker_phasing)
    except ScenarioError:
        raise
    except ValueError:
        raise ScenarioError(f"shell: {text!r}; {needs}") from None
