"""Tukey's simultaneous comparison of all pairs of levels."""

from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy import stats

from longpipe.analysis.anova import Anova
from longpipe.analysis.effects import mean_weights
from longpipe.analysis.factors import Floats, check_factors, check_level, text_of
from longpipe.analysis.whole_table import WholeTable
from longpipe.errors import ScenarioError

# Maximum number of levels, or of combinations of levels, that are compared.
MAX_LEVELS = 200


def tukey(anova: Anova, *factors: str, level: float = 0.9) -> pd.DataFrame:
    """Returns the differences between all pairs of levels of a factor, or of combinations of levels of several factors.

    The intervals contain all true differences simultaneously with confidence level `level` (0 to 1); the confidence is
    exact if the means have equal variances, and higher otherwise (Tukey 1953, Kramer 1956). Columns: `component`,
    `first`, `second`, `difference` (mean of first minus mean of second) with `low` and `high`, in the response's unit,
    `p_value` adjusted for the number of pairs, and `differs`. A factor's means are averages over the other factors: if
    it interacts with another factor, compare combinations of both. Raises ScenarioError for a name that is not a
    factor, more than 200 combinations, or a model without an error term.
    """
    check_level(level)
    check_factors(factors, anova.factors)
    if anova.error_df == 0:
        raise ScenarioError("tukey: a saturated model has no error term; needs a lower order or replications")
    axes = [anova.cells.axes[name] for name in factors]
    labels = [", ".join(map(text_of, levels)) for levels in product(*axes)]
    if len(labels) > MAX_LEVELS:
        raise ScenarioError(f"factors: {len(labels)} combinations of levels to compare; needs at most {MAX_LEVELS}")
    means = anova.means(*factors)["mean"].to_numpy()
    pairs = np.array(list(combinations(range(len(labels)), 2)))
    difference = means[pairs[:, 0]] - means[pairs[:, 1]]
    error = anova.standard_error * _scales(anova, factors, pairs)
    quantile = float(stats.studentized_range.ppf(level, len(labels), anova.error_df)) / np.sqrt(2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(2) * np.abs(difference) / error
    p_value = np.clip(stats.studentized_range.sf(ratio, len(labels), anova.error_df), 0, 1)
    low, high = difference - quantile * error, difference + quantile * error
    return WholeTable(
        {
            "component": ":".join(factors),
            "first": [labels[i] for i in pairs[:, 0]],
            "second": [labels[i] for i in pairs[:, 1]],
            "difference": difference,
            "low": low,
            "high": high,
            "p_value": p_value,
            "differs": (low > 0) | (high < 0),
        }
    )


def _scales(anova: Anova, factors: tuple[str, ...], pairs: Floats) -> Floats:
    """Returns the differences' standard errors in units of s_e, with shape (pairs,)."""
    cells = anova.cells
    # Main effects and interactions of the compared factors.
    terms = [
        tuple(n for n in anova.factors if n in part)
        for size in range(1, len(factors) + 1)
        for part in combinations(factors, size)
    ]
    if cells.balanced and set(terms) <= set(anova.terms):
        per_mean = len(cells.y) / np.prod([len(cells.axes[name]) for name in factors])
        return np.full(len(pairs), np.sqrt(2 / per_mean))
    weights = mean_weights(cells, anova.terms, factors)
    contrasts = weights[pairs[:, 0]] - weights[pairs[:, 1]]
    return np.asarray(np.sqrt((contrasts**2 / cells.counts).sum(axis=1)))
