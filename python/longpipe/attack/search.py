"""Searches for a setting in which a control has a defect (`attack.defects`), and then reduces the setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.attack.varied import Setting, Varied, setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Size of a population: the minimum, and the number of members per coordinate.
MEMBERS: Final = 12
MEMBERS_PER_COORDINATE: Final = 2
# Default number of generations of a population. A caller then starts another one at other places, because a population
# that has gathered around a local optimum rarely leaves it.
GENERATIONS: Final = 10
# Parameters of differential evolution: bounds of the factor of differences, which is drawn for each generation, the
# probability of a coordinate to be taken from the mutant, and the relative spread of scores at which a population has
# converged. They are close to SciPy's defaults (0.5 to 1, 0.7 and 0.01), except that the spread is smaller, because
# scores of a population without the defect may be nearly equal.
MUTATION: Final = (0.4, 0.9)
RECOMBINATION: Final = 0.8
CONVERGED: Final = 1e-6
# Number of generations of a search with fewer fields than a known candidate changes; see `Attack`.
FEWER_FIELDS_GENERATIONS: Final = 2
# Numbers of significant digits to which numbers of the answer are rounded if they keep the defect.
DIGITS: Final = (1, 2)


def evolve(
    varied: Sequence[Varied],
    scores: Callable[[list[Setting]], list[float]],
    seed: int,
    generations: int = GENERATIONS,
) -> None:
    """Calls `scores` with one population of settings after another, which evolve towards larger scores.

    The search ends when a population has converged or after `generations`; an exception of `scores` ends it earlier.
    Equal arguments and scores give equal populations.
    """
    # Imported here because SciPy's optimizers take a third of a second to load.
    from scipy.optimize import Bounds, differential_evolution
    from scipy.stats import qmc

    size = sum(varied_field.size for varied_field in varied)
    members = max(MEMBERS, MEMBERS_PER_COORDINATE * size)
    rng = np.random.default_rng(seed)

    def losses(places: Numbers) -> Numbers:
        """Returns the negative scores, which SciPy minimizes; `places` has a column per setting."""
        columns = np.atleast_2d(places.T)
        return -np.array(scores([setting(varied, [float(position) for position in column]) for column in columns]))

    differential_evolution(
        # The function is vectorized: it takes and returns arrays.
        losses,  # type: ignore[arg-type]
        Bounds(np.zeros(size), np.ones(size)),
        init=qmc.LatinHypercube(size, seed=rng).random(members),
        maxiter=generations,
        mutation=MUTATION,
        recombination=RECOMBINATION,
        tol=CONVERGED,
        polish=False,
        updating="deferred",
        vectorized=True,
        seed=rng,
    )


def reductions(start: Setting, has_defect: Callable[[Setting], bool]) -> Iterator[Setting]:
    """Yields increasingly simple settings that still have the defect.

    Fields return to their values in the base scenario one at a time, until no single field can return.
    """
    current = start
    has_reduced = True
    while has_reduced:
        has_reduced = False
        for name in list(current):
            other = {field: numbers for field, numbers in current.items() if field != name}
            if has_defect(other):
                current, has_reduced = other, True
                yield current


def roundings(varied: Sequence[Varied], start: Setting, has_defect: Callable[[Setting], bool]) -> Iterator[Setting]:
    """Yields settings that still have the defect, with numbers rounded to one or two significant digits."""
    current = start
    for varied_field in varied:
        if varied_field.field in current and (other := _rounded(varied_field, current, has_defect)) is not None:
            current = other
            yield current


def _rounded(varied_field: Varied, current: Setting, has_defect: Callable[[Setting], bool]) -> Setting | None:
    """Returns the setting with the fewest digits of a field that has the defect; None if the field keeps its digits."""
    for digits in DIGITS:
        other = {**current, varied_field.field: varied_field.rounded(current[varied_field.field], digits)}
        if other == current:
            return None
        if has_defect(other):
            return other
    return None
