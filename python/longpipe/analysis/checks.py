"""Tests of the assumptions of an analysis of variation, on its residuals."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from longpipe.analysis.anova import Anova
from longpipe.analysis.effects import hat
from longpipe.analysis.factors import Floats
from longpipe.analysis.quantiles import f_tail
from longpipe.analysis.whole_table import WholeTable

# Maximum sample size for which the Shapiro-Wilk test is calibrated.
MAX_FOR_SHAPIRO: Final = 5000
# Number of draws of a null distribution, their minimum, and the maximum total number of normal variates drawn for it.
DRAWS, FEWEST_DRAWS, MAX_DRAWN = 1999, 199, 5_000_000
MAX_CELLS_TO_PROJECT: Final = 2000
# Replications from which the Brown-Forsythe statistic of normal errors has about the F distribution. With 3, it never
# exceeds the 95 % quantile of F, because one of three deviations from their median is 0; with 20, it does so in about
# half as many cases as F.
ENOUGH_FOR_F: Final = 100
# Maximum number of normal variates in memory at a time.
_DRAWN_AT_ONCE: Final = 1_000_000
TINY: Final = np.finfo(float).tiny

# Default significance level of each test.
ALPHA: Final = 0.01
# Verdicts: the test does not reject its assumption, rejects it, or could not be computed.
NOT_REJECTED, FAILS, UNTESTED = "not rejected", "fails", "untested"
Row = tuple[str, str, float, float, str]
# Row numbers of a cell.
Rows = npt.NDArray[np.int64]


# Advice for each violated assumption.
ADVICE: Final = {
    "normality": "compare with bootstrap intervals and aligned ranks",
    "equal variance": "transform the response, or compare with bootstrap intervals",
    "independence": "use the seed as blocks, or give each run its own seed",
}


class AssumptionWarning(UserWarning):
    """Warning that the data contradict the assumptions of F tests and intervals."""


def check(fitted: Anova, *, alpha: float = ALPHA) -> pd.DataFrame:
    """Tests normality, equal variance and independence of the errors, each at significance level `alpha`.

    Columns: `assumption`, `test`, `statistic`, `p_value`, `verdict` (not rejected, fails, untested), `note`. Every
    violated assumption also causes an AssumptionWarning with advice. With thousands of rows even the smallest deviation
    is rejected, so read the numbers in the note as well.
    """
    residual = fitted.residuals["residual"].to_numpy()
    if not residual.any():
        rows = [(name, "", np.nan, np.nan, "all residuals are zero") for name in ("normality", "equal variance")]
        rows.append(("independence", "", np.nan, np.nan, "all residuals are zero: the replications are identical"))
    else:
        rows = [_normality(residual), _equal_variance(fitted, residual), _independence(fitted, residual)]
    table = WholeTable(rows, columns=["assumption", "test", "statistic", "p_value", "note"])
    verdicts = np.where(table["p_value"] < alpha, FAILS, NOT_REJECTED)
    table.insert(4, "verdict", np.where(table["p_value"].isna(), UNTESTED, verdicts))
    for row in table[table["verdict"] == FAILS].itertuples():
        message = f"{fitted.response}: {row.assumption} fails ({row.test}, p = {row.p_value:.2g}; {row.note})"
        warnings.warn(f"{message}; {ADVICE[str(row.assumption)]}", AssumptionWarning, stacklevel=2)
    return table


def _normality(residual: Floats) -> Row:
    shape = f"skewness {stats.skew(residual):z.2f}, excess kurtosis {stats.kurtosis(residual):z.2f}"
    if len(residual) > MAX_FOR_SHAPIRO:
        statistic, p_value = stats.normaltest(residual)
        return "normality", "D'Agostino-Pearson", float(statistic), float(p_value), shape
    statistic, p_value = stats.shapiro(residual)
    return "normality", "Shapiro-Wilk", float(statistic), float(p_value), shape


def _equal_variance(anova: Anova, residual: Floats) -> Row:
    """Returns the check of equal variances: the Brown-Forsythe test, if there are enough replications per cell."""
    cells = list(_rows_by_cell(anova))
    fewest = min(map(len, cells))
    if fewest >= 3:
        statistic = float(_brown_forsythe(residual[None, :], cells)[0])
        deviations = [float(np.std(residual[rows], ddof=1)) for rows in cells]
        note = f"standard deviations {min(deviations):.3g} to {max(deviations):.3g}"
        if fewest >= ENOUGH_FOR_F:
            p_value = f_tail(statistic, len(cells) - 1, len(residual) - len(cells))
        else:
            p_value = _exceeded(_null_of_brown_forsythe(anova, cells), statistic)
        return "equal variance", "Brown-Forsythe", statistic, p_value, note
    if (draws := _drawn_residuals(anova)) is None:
        return "equal variance", "", np.nan, np.nan, "needs 3 replications, or fewer cells"
    fitted = anova.residuals["fitted"].to_numpy()
    statistic, null = _breusch_pagan(residual[None, :], fitted)[0], _breusch_pagan(draws, fitted)
    note = "squared residuals against fitted values; a test by cells needs 3 replications"
    return "equal variance", "Breusch-Pagan", float(statistic), _exceeded(null, statistic), note


def _null_of_brown_forsythe(anova: Anova, cells: Sequence[Rows]) -> Floats:
    """Returns simulated values of the Brown-Forsythe statistic for normal errors."""
    if anova.blocks is not None and (drawn := _drawn_residuals(anova)) is not None:
        return _brown_forsythe(drawn, cells)
    # Without blocks the statistic does not depend on the model, which has one value for all runs of a cell. With blocks
    # and too many cells to project, the blocks are a negligible part of the degrees of freedom.
    random, count = np.random.default_rng(1), len(anova.residuals)
    draws = max(FEWEST_DRAWS, min(DRAWS, MAX_DRAWN // count))
    at_once = max(1, _DRAWN_AT_ONCE // count)
    sizes = (min(at_once, draws - begin) for begin in range(0, draws, at_once))
    return np.concatenate([_brown_forsythe(random.standard_normal((size, count)), cells) for size in sizes])


def _brown_forsythe(residuals: Floats, cells: Sequence[Rows]) -> Floats:
    """Returns the F ratio of absolute deviations from the medians of cells; `residuals` has shape (sets, rows)."""
    between, within = np.zeros(len(residuals)), np.zeros(len(residuals))
    rows = len(residuals[0])
    deviations = np.empty_like(residuals)
    by_size: dict[int, list[Rows]] = {}
    for cell in cells:
        by_size.setdefault(len(cell), []).append(cell)
    for same_size in by_size.values():
        index = np.stack(same_size)
        values = residuals[:, index]
        deviations[:, index] = np.abs(values - np.median(values, axis=-1, keepdims=True))
    overall = deviations.mean(axis=1)
    for size, same_size in by_size.items():
        values = deviations[:, np.stack(same_size)]
        means = values.mean(axis=-1)
        between += size * np.sum((means - overall[:, None]) ** 2, axis=-1)
        within += np.sum((values - means[..., None]) ** 2, axis=(-1, -2))
    return np.asarray(between / (len(cells) - 1) / (within / (rows - len(cells)) + TINY))


def _rows_by_cell(anova: Anova) -> Iterator[Rows]:
    """Returns the row numbers of each observed combination of factors, without blocks."""
    count = len(anova.factors)
    codes = np.ravel_multi_index(tuple(anova.cells.codes[:, :count].T), anova.cells.shape[:count])
    order = np.argsort(codes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _independence(anova: Anova, residual: Floats) -> Row:
    """Returns the check that residuals are independent: of the seeds that runs share, or of the order of rows."""
    if anova.blocks is not None:
        return "independence", "", np.nan, np.nan, f"{anova.blocks} is removed as blocks"
    if anova.seeds is None:
        return _serial_correlation(anova, residual)
    codes, names = pd.factorize(anova.seeds)
    if len(names) == len(codes):
        return "independence", "", np.nan, np.nan, "every run has its own seed"
    if len(names) == 1 or anova.error_df <= len(names) - 1:
        return "independence", "", np.nan, np.nan, "runs share seeds; too few runs to estimate the effect"
    sums, counts = np.bincount(codes, residual), np.bincount(codes)
    between, df = float(np.sum(sums**2 / counts)), len(names) - 1
    rest = anova.error_df - df
    ratio = between / df / ((float(np.sum(residual**2)) - between) / rest)
    note = f"seeds explain {100 * between / np.sum(residual**2):.1f} % of the error"
    return "independence", "F test of shared seeds", ratio, f_tail(ratio, df, rest), note


def _serial_correlation(anova: Anova, residual: Floats) -> Row:
    if (residuals := _drawn_residuals(anova)) is None:
        return "independence", "", np.nan, np.nan, "no column of seeds, and too many cells for a test in row order"
    statistic, null = _durbin_watson(residual[None, :])[0], _durbin_watson(residuals)
    p_value = min(1.0, 2 * min(_exceeded(null, statistic), _exceeded(-null, -statistic)))
    note = "in the order of the rows; near 0 if neighbors are alike, near 4 if opposite"
    return "independence", "Durbin-Watson", float(statistic), p_value, note


def _drawn_residuals(anova: Anova) -> Floats | None:
    """Simulates residuals for independent normal errors, with shape (draws, rows); None if there are too many cells."""
    cells = anova.cells
    if len(cells.means) > MAX_CELLS_TO_PROJECT:
        return None
    draws = max(FEWEST_DRAWS, min(DRAWS, MAX_DRAWN // len(cells.y)))
    errors = np.random.default_rng(1).standard_normal((draws, len(cells.y)))
    means = np.stack([np.bincount(cells.index, drawn) for drawn in errors]) / cells.counts
    return errors - (means @ hat(cells, anova.terms).T)[:, cells.index]


def _exceeded(null: Floats, statistic: float) -> float:
    """Returns the Monte Carlo p-value: the share of values, including the observed one, that are at least as large."""
    return (1 + int(np.sum(null >= statistic))) / (1 + len(null))


def _breusch_pagan(residuals: Floats, fitted: Floats) -> Floats:
    """Returns Koenker's n R² of squared residuals on fitted values; `residuals` has shape (sets, rows)."""
    squares, centered = residuals**2, fitted - fitted.mean()
    squares = squares - squares.mean(axis=1, keepdims=True)
    return np.asarray(
        len(fitted) * (squares @ centered) ** 2 / (np.sum(squares**2, axis=1) * np.sum(centered**2) + TINY)
    )


def _durbin_watson(residuals: Floats) -> Floats:
    return np.asarray(np.sum(np.diff(residuals) ** 2, axis=1) / np.sum(residuals**2, axis=1))
