"""Satellites: positions, visibility, routes and RTTs of constellations; needs the extra `longpipe[orbits]`.

For example::

    from longpipe.satellites import Constellation, round_trips, shell, station

    kuiper = Constellation.of_shell(shell("kuiper-630"))
    found = round_trips(kuiper, [station("Manila"), station("Dalian")], duration_s=200, step_s=0.1)
"""

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.elements import read_elements
from longpipe.satellites.positions import earth_fixed_m
from longpipe.satellites.round_trips import RoundTrips, round_trips
from longpipe.satellites.shells import SHELLS, Shell, shell
from longpipe.satellites.stations import Station, cities, station

__all__ = [
    "SHELLS",
    "Constellation",
    "RoundTrips",
    "Shell",
    "Station",
    "cities",
    "earth_fixed_m",
    "read_elements",
    "round_trips",
    "shell",
    "station",
]
