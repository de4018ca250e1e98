"""Computes positions of satellites in an Earth-fixed frame with SGP4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.satellites.checks import error_codes

if TYPE_CHECKING:
    from longpipe.satellites.constellation import Constellation

DAY_S: Final = 86_400.0
J2000: Final = 2_451_545.0
DAYS_PER_CENTURY: Final = 36_525.0


def earth_fixed_m(constellation: Constellation, times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the Earth-fixed positions [m] of all satellites, by time, satellite and x, y, z; and error codes.

    `times_s` are measured from the constellation's epoch (UTC, with UT1 = UTC). Error codes, by time and satellite, are
    SGP4's own, 7 if a position is not a number, and 0 if there is no error. Positions with an error are NaN.
    """
    days, fraction = constellation.julian(times_s)
    errors, kilometres, _ = constellation.array.sgp4(days, fraction)
    errors = error_codes(errors, kilometres)
    angle = sidereal_angle(days, fraction)
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y, z = np.moveaxis(1e3 * kilometres, -1, 0)
    fixed = np.stack([cosine * x + sine * y, cosine * y - sine * x, z], axis=-1)
    fixed[errors != 0] = np.nan
    return np.swapaxes(fixed, 0, 1), np.swapaxes(errors, 0, 1)


def sidereal_angle(days: np.ndarray, fraction: np.ndarray) -> np.ndarray:
    """Returns Greenwich mean sidereal time [radian] (IAU 1982; Aoki et al.) for a UT1 Julian date in two parts."""
    centuries = (days - J2000 + fraction) / DAYS_PER_CENTURY
    seconds = 67_310.54841 + (8_640_184.812866 + (0.093104 - 6.2e-6 * centuries) * centuries) * centuries
    turns = (days % 1.0 + fraction + seconds / DAY_S % 1.0) % 1.0
    angle: np.ndarray = 2 * np.pi * turns
    return angle
