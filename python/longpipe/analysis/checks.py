"""Tests of the assumptions of an analysis of variation, on its residuals."""

import warnings
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from longpipe.analysis.anova import Anova
from longpipe.analysis.effects import hat
from longpipe.analysis.factors import Floats
from longpipe.analysis.quantiles import f_tail

# Maximum sample size for which the Shapiro-Wilk test is calibrated.
MOST_FOR_SHAPIRO: Final = 5000
# Number of draws of a null distribution, their minimum, and the maximum total number of normal variates drawn for it.
DRAWS, FEWEST_DRAWS, MOST_DRAWN = 1999, 199, 5_000_000
MOST_CELLS_TO_PROJECT: Final = 2000
TINY: Final = np.finfo(float).tiny

# Default significance level of each test.
ALPHA: Final = 0.01
# Verdicts: the test does not reject its assumption, rejects it, or could not be computed.
NOT_REJECTED, FAILS, UNTESTED = "not rejected", "fails", "untested"
Row = tuple[str, str, float, float, str]


# Advice for each violated assumption.
ADVICE: Final = {
    "normality": "compare with bootstrap intervals and aligned ranks",
    "equal variance": "transform the response, or compare with bootstrap intervals",
    "independence": "use the seed as blocks, or give each run its own seed",
}


class AssumptionWarning(UserWarning):
    """Warning that the data contradict the assumptions of F tests and intervals."""


def check(found: Anova, *, alpha: float = ALPHA) -> pd.DataFrame:
    """Tests normality, equal variance and independence of the errors, each at significance level `alpha`.

    Columns: `assumption`, `test`, `statistic`, `p_value`, `verdict` (not rejected, fails, untested), `note`. Every
    violated assumption also causes an AssumptionWarning with advice. With thousands of rows even the smallest deviation
    is rejected, so read the numbers in the note as well.
    """
    residual = found.residuals["residual"].to_numpy()
    if not residual.any():
        rows = [(name, "", np.nan, np.nan, "all residuals are zero") for name in ("normality", "equal variance")]
        rows.append(("independence", "", np.nan, np.nan, "all residuals are zero: the replications are identical"))
    else:
        rows = [_normality(residual), _equal_variance(found, residual), _independence(found, residual)]
    table = pd.DataFrame(rows, columns=["assumption", "test", "statistic", "p_value", "note"])
    verdicts = np.where(table["p_value"] < alpha, FAILS, NOT_REJECTED)
    table.insert(4, "verdict", np.where(table["p_value"].isna(), UNTESTED, verdicts))
    for row in table[table["verdict"] == FAILS].itertuples():
        message = f"{found.response}: {row.assumption} fails ({row.test}, p = {row.p_value:.2g}; {row.note})"
        warnings.warn(f"{message}; {ADVICE[str(row.assumption)]}", AssumptionWarning, stacklevel=2)
    return table


def _normality(residual: Floats) -> Row:
    shape = f"skewness {stats.skew(residual):z.2f}, excess kurtosis {stats.kurtosis(residual):z.2f}"
    if len(residual) > MOST_FOR_SHAPIRO:
        statistic, p_value = stats.normaltest(residual)
        return "normality", "D'Agostino-Pearson", float(statistic), float(p_value), shape
    statistic, p_value = stats.shapiro(residual)
    return "normality", "Shapiro-Wilk", float(statistic), float(p_value), shape


def _equal_variance(found: Anova, residual: Floats) -> Row:
    groups = [residual[rows] for rows in _rows_by_cell(found)]
    if min(map(len, groups)) >= 3:
        test = stats.levene(*groups, center="median")
        deviations = [float(np.std(group, ddof=1)) for group in groups]
        note = f"standard deviations {min(deviations):.3g} to {max(deviations):.3g}"
        return "equal variance", "Brown-Forsythe", float(test.statistic), float(test.pvalue), note
    if (drawn := _drawn_residuals(found)) is None:
        return "equal variance", "", np.nan, np.nan, "needs 3 replications, or fewer cells"
    fitted = found.residuals["fitted"].to_numpy()
    statistic, null = _breusch_pagan(residual[None, :], fitted)[0], _breusch_pagan(drawn, fitted)
    note = "squared residuals against fitted values; a test by cells needs 3 replications"
    return "equal variance", "Breusch-Pagan", float(statistic), _exceeded(null, statistic), note


def _rows_by_cell(found: Anova) -> Iterator[npt.NDArray[np.int64]]:
    """Returns the row numbers of each observed combination of factors, without blocks."""
    count = len(found.factors)
    codes = np.ravel_multi_index(tuple(found.cells.codes[:, :count].T), found.cells.shape[:count])
    order = np.argsort(codes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _independence(found: Anova, residual: Floats) -> Row:
    if found.blocks is not None:
        return "independence", "", np.nan, np.nan, f"{found.blocks} is removed as blocks"
    if found.seeds is None:
        return _serial_correlation(found, residual)
    codes, names = pd.factorize(found.seeds)
    if len(names) == len(codes):
        return "independence", "", np.nan, np.nan, "every run has its own seed"
    if len(names) == 1 or found.error_df <= len(names) - 1:
        return "independence", "", np.nan, np.nan, "runs share seeds; too few runs to estimate the effect"
    sums, counts = np.bincount(codes, residual), np.bincount(codes)
    between, df = float(np.sum(sums**2 / counts)), len(names) - 1
    rest = found.error_df - df
    ratio = between / df / ((float(np.sum(residual**2)) - between) / rest)
    note = f"seeds explain {100 * between / np.sum(residual**2):.1f} % of the error"
    return "independence", "F test of shared seeds", ratio, f_tail(ratio, df, rest), note


def _serial_correlation(found: Anova, residual: Floats) -> Row:
    if (drawn := _drawn_residuals(found)) is None:
        return "independence", "", np.nan, np.nan, "no column of seeds, and too many cells for a test in row order"
    statistic, null = _durbin_watson(residual[None, :])[0], _durbin_watson(drawn)
    p_value = min(1.0, 2 * min(_exceeded(null, statistic), _exceeded(-null, -statistic)))
    note = "in the order of the rows; near 0 if neighbours are alike, near 4 if opposite"
    return "independence", "Durbin-Watson", float(statistic), p_value, note


def _drawn_residuals(found: Anova) -> Floats | None:
    """Simulates residuals for independent normal errors, with shape (draws, rows); None if there are too many cells."""
    cells = found.cells
    if len(cells.means) > MOST_CELLS_TO_PROJECT:
        return None
    draws = max(FEWEST_DRAWS, min(DRAWS, MOST_DRAWN // len(cells.y)))
    errors = np.random.default_rng(1).standard_normal((draws, len(cells.y)))
    means = np.stack([np.bincount(cells.index, drawn) for drawn in errors]) / cells.counts
    return errors - (means @ hat(cells, found.terms).T)[:, cells.index]


def _exceeded(null: Floats, statistic: float) -> float:
    """Returns the Monte Carlo p-value: the share of values, including the observed one, that are at least as large."""
    return (1 + int(np.sum(null >= statistic))) / (1 + len(null))


def _breusch_pagan(residuals: Floats, fitted: Floats) -> Floats:
    """Returns Koenker's n R² of squared residuals on fitted values; `residuals` has shape (sets, rows)."""
    squares, centred = residuals**2, fitted - fitted.mean()
    squares = squares - squares.mean(axis=1, keepdims=True)
    return np.asarray(len(fitted) * (squares @ centred) ** 2 / (np.sum(squares**2, axis=1) * np.sum(centred**2) + TINY))


def _durbin_watson(residuals: Floats) -> Floats:
    return np.asarray(np.sum(np.diff(residuals) ** 2, axis=1) / np.sum(residuals**2, axis=1))
