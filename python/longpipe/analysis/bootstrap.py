"""Bootstrap intervals of effects, which do not assume normal errors of equal variance."""

from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from longpipe.analysis.anova import Anova
from longpipe.analysis.effects import effect_weights, hat
from longpipe.analysis.factors import Cells, Floats, check_level, name_of, text_of
from longpipe.analysis.whole_table import WholeTable
from longpipe.errors import ScenarioError

# Maximum number of values in memory at a time.
CHUNK: Final = 4_000_000
# Accepted numbers of draws.
FEWEST_DRAWS, MAX_DRAWS = 200, 100_000
# Finite value in place of an infinite t statistic, which occurs in draws with identical values.
FARTHEST: Final = 1e9


def bootstrap(fitted: Anova, *, level: float = 0.9, order: int = 1, draws: int = 2000, seed: int = 1) -> pd.DataFrame:
    """Returns bootstrap-t intervals of the effects of up to `order` factors, with the columns of `Anova.effects`.

    It resamples the replications within each combination of levels, or whole blocks if the model has blocks, so that
    neither normality nor equal variances are assumed; without replications it resamples residuals, which assumes equal
    variances. `standard_error` is computed cell by cell from the means; an end for which there are too few
    replications is infinite. The same seed gives the same intervals. Raises ScenarioError for fewer than 200 draws,
    incomplete blocks, or if only some combinations have a single replication. Method: B. Efron and R. J. Tibshirani, An
    Introduction to the Bootstrap (1993), section 12.5.
    """
    check_level(level)
    if not FEWEST_DRAWS <= draws <= MAX_DRAWS:
        raise ScenarioError(f"draws: {draws}; needs {FEWEST_DRAWS} to {MAX_DRAWS}")
    cells, terms = fitted.cells, [term for term in fitted.terms if term != (fitted.blocks,)]
    if fitted.blocks is not None:
        if not cells.balanced:
            raise ScenarioError(f"blocks: {fitted.blocks!r} lacks runs of some combinations; needs all in every block")
        cells = _without_blocks(cells)
    # Each effect is a weighted sum of the means of the cells, so that a row of `stacked` is an effect.
    weights = effect_weights(cells, terms)
    stacked = np.vstack([weights[term] for term in terms if len(term) <= order])
    rng = np.random.default_rng(seed)
    if fitted.blocks is not None:
        by_block = fitted.cells.means.reshape(len(cells.means), -1).T
        estimate, error, t = _units(by_block @ stacked.T, draws, rng)
    elif cells.replicated:
        estimate, error, t = _rows(cells, stacked, draws, rng)
    elif cells.counts.max() == 1:
        estimate, error, t = _residuals(fitted, stacked, draws, rng)
    else:
        raise ScenarioError("replications: one for some combinations, several for others; needs at least 2 for each")
    # The quantiles of t are swapped: a long upper tail of the estimate extends the interval downwards.
    below, above = np.quantile(t, [(1 - level) / 2, (1 + level) / 2], axis=0)
    rows = [
        (name_of(term), ", ".join(map(text_of, levels)))
        for term in terms
        if len(term) <= order
        for levels in product(*(cells.axes[name] for name in term))
    ]
    table = pd.DataFrame(rows, columns=["component", "level"])
    low = np.where(above < FARTHEST, estimate - above * error, -np.inf)
    high = np.where(below > -FARTHEST, estimate - below * error, np.inf)
    return WholeTable(table.assign(effect=estimate, standard_error=error, low=low, high=high))


def _without_blocks(cells: Cells) -> Cells:
    """Returns the cells of all factors but the last one, the blocks; runs of different blocks become replications."""
    names = list(cells.axes)[:-1]
    sizes = cells.shape[:-1]
    count = int(np.prod(sizes))
    index = np.ravel_multi_index(tuple(cells.codes[:, :-1].T), sizes)
    return replace(
        cells,
        axes={name: cells.axes[name] for name in names},
        codes=cells.codes[:, :-1],
        index=index,
        counts=np.bincount(index),
        means=np.bincount(index, cells.y) / np.bincount(index),
        at=np.stack(np.unravel_index(np.arange(count), sizes), axis=1),
    )


def _units(effects: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Returns estimates, errors and t, shape (draws, effects), from resampled units; `effects` is (units, effects)."""
    units = len(effects)
    estimate, error = effects.mean(axis=0), effects.std(axis=0, ddof=1) / np.sqrt(units)
    t = np.empty((draws, effects.shape[1]))
    for part in _chunks(draws, effects.size):
        resampled_effects = effects[rng.integers(0, units, (len(part), units))]
        t[part] = _ratio(
            resampled_effects.mean(axis=1) - estimate, resampled_effects.std(axis=1, ddof=1) / np.sqrt(units)
        )
    return estimate, error, t


def _rows(cells: Cells, weights: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Returns estimates, errors and t, shape (draws, effects), from replications resampled within each cell.

    The variance of an effect is the sum of weight^2 * variance / replications over the cells.
    """
    estimate = weights @ cells.means
    error = np.sqrt(weights**2 @ (cells.variances() / cells.counts))
    order = np.argsort(cells.index, kind="stable")
    groups = np.split(cells.y[order], np.cumsum(cells.counts)[:-1])
    means, variances = np.empty((draws, len(groups))), np.empty((draws, len(groups)))
    for i, group in enumerate(groups):
        for part in _chunks(draws, len(group)):
            resamples = group[rng.integers(0, len(group), (len(part), len(group)))]
            means[part, i] = resamples.mean(axis=1)
            variances[part, i] = resamples.var(axis=1, ddof=1) / len(group)
    return estimate, error, _ratio(means @ weights.T - estimate, np.sqrt(variances @ (weights**2).T))


def _residuals(anova: Anova, weights: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Returns estimates, errors and t, shape (draws, effects), from resampled residuals of cells with one replication.

    A draw is a response without effects, whose estimated effects are pure error.
    """
    cells, fit = anova.cells, anova.fit
    if anova.error_df == 0:
        raise ScenarioError("bootstrap: a saturated model has no residuals; needs a lower order or replications")
    # Maps a response to the residuals of the model that is fitted to it.
    to_residuals = np.eye(len(cells.means)) - hat(cells, anova.terms)
    residual = cells.means - fit.fitted
    # Residuals vary less than errors, by the degrees of freedom that the fit takes.
    scaled = residual * np.sqrt(len(residual) / anova.error_df)
    # Standard error of an effect per unit of the standard deviation of a response.
    norm = np.sqrt(np.sum(weights**2, axis=1))
    residuals = rng.choice(scaled, (draws, len(scaled)))
    deviations = np.sqrt(np.sum((residuals @ to_residuals.T) ** 2, axis=1) / anova.error_df)
    estimate = weights @ cells.means
    return estimate, anova.standard_error * norm, _ratio(residuals @ weights.T, deviations[:, None] * norm)


def _chunks(draws: int, size: int) -> list[range]:
    """Returns ranges of draws, of `size` values each, that together need at most CHUNK values of memory."""
    step = max(1, CHUNK // size)
    return [range(first, min(first + step, draws)) for first in range(0, draws, step)]


def _ratio(difference: Floats, error: Floats) -> Floats:
    """Returns t statistics; for a draw of identical values (zero error), a large value with the correct sign."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / error
    return np.asarray(np.clip(np.nan_to_num(t, nan=0.0), -FARTHEST, FARTHEST))
