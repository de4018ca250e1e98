"""Checks of orbit elements: SGP4 must yield a position, and epochs should be near the requested times."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.errors import ScenarioError, shown
from longpipe.satellites.links import CLEARANCE_M

if TYPE_CHECKING:
    from longpipe.satellites.satellite import Elements

# Age of elements above which SGP4's positions of low satellites are wrong by tens of kilometres (Vallado et al. 2006,
# AIAA 2006-6753).
OLD_DAYS: Final = 14
# Age of elements above which the error along the orbit, which grows with the square of the age, exceeds thousands of
# kilometres.
VERY_OLD_DAYS: Final = 180
_DAY_S: Final = 86_400.0
_SHOWN: Final = 3
# Texts for SGP4's error codes; 7 means that the position is not a number.
_ERRORS: Final = {
    1: "an orbit that has probably decayed (a mean eccentricity that is not within 0 to 1)",
    2: "an orbit that has probably decayed (a negative mean motion)",
    3: "an eccentricity that is not within 0 to 1",
    4: "a negative semilatus rectum",
    6: "an orbit that has decayed",
    7: "a position that is not a number",
}


def check_satellite(location: str, satellite: Any) -> None:  # noqa: ANN401 - a Satrec, which sgp4 does not type
    """Raises a ScenarioError that names `where` unless SGP4 yields a position at the elements' epoch."""
    code, place, _ = satellite.sgp4(satellite.jdsatepoch, satellite.jdsatepochF)
    code = code or satellite.error or (0 if all(map(math.isfinite, place)) else 7)
    if code:
        raise ScenarioError(
            f"{location}: {_words(code)} at the epoch, according to SGP4; needs elements of a satellite in orbit"
        )


def error_codes(errors: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Returns the error code of each position: SGP4's own, 7 for a position that is not a number, 0 for no error."""
    codes: np.ndarray = np.where(errors != 0, errors, np.where(np.isfinite(places).all(axis=-1), 0, 7))
    return codes


def doubts_of_errors(names: Sequence[str], codes: np.ndarray) -> Iterator[str]:
    """Yields a line per kind of error; `codes` contains each satellite's first error, or 0."""
    for code, count in sorted(Counter(codes[codes != 0].tolist()).items()):
        which = [names[i] for i in np.nonzero(codes == code)[0][:_SHOWN]]
        yield f"{count} of {len(names)} satellites left out: {_words(code)}, according to SGP4 ({_named(which, count)})"


def doubts_of_epochs(elements: Sequence[Elements], begin: datetime) -> Iterator[str]:
    """Yields a line if the elements' epochs differ from `begin` by more than OLD_DAYS."""
    days = [abs((begin - satellite.epoch).total_seconds()) / _DAY_S for satellite in elements]
    old = sorted((i for i, distance in enumerate(days) if distance > OLD_DAYS), key=lambda i: -days[i])
    if old:
        which = [f"{elements[i].name}: {elements[i].epoch:%Y-%m-%d}" for i in old[:_SHOWN]]
        error = (
            "a satellite may be anywhere along its orbit"
            if days[old[0]] > VERY_OLD_DAYS
            else "positions may be off by tens of km or more"
        )
        yield (
            f"{len(old)} of {len(elements)} satellites have elements that are more than {OLD_DAYS} days from "
            f"{begin:%Y-%m-%d}, up to {days[old[0]]:.0f} days ({_named(which, len(old))}); {error}; needs "
            "elements of that time, or a begin near theirs"
        )


def doubts_of_repetition(elements: Sequence[Elements]) -> Iterator[str]:
    """Yields a line if a satellite, identified by its catalog number, occurs more than once."""
    counts = Counter(number for satellite in elements if (number := satellite.satellite.satnum))
    repeated = {number for number, count in counts.items() if count > 1}
    if repeated:
        names = {
            satellite.satellite.satnum: satellite.name
            for satellite in elements
            if satellite.satellite.satnum in repeated
        }
        which = [f"{name}: {counts[number]} times" for number, name in names.items()]
        yield (
            f"satellites that occur more than once: {len(which)} ({_named(which[:_SHOWN], len(which))}); each "
            "occurrence counts as a satellite of its own"
        )


def doubts_of_links(usable: np.ndarray) -> Iterator[str]:
    """Yields a line if some links between satellites are not usable, because they have no line of sight."""
    if count := int((~usable).sum()):
        yield (
            f"links between satellites that pass less than {CLEARANCE_M / 1e3:g} km above the Earth's surface at the "
            f"start: {count} of {len(usable)}; a link is left out while it does"
        )


def _words(code: int) -> str:
    return _ERRORS.get(code, f"error {code}")


def _named(names: Sequence[str], count: int) -> str:
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return ", ".join(shown(name)[1:-1] for name in names) + more
