"""Analysis of variation by ranks: F tests for errors with heavy tails."""

import numpy as np
import pandas as pd
from scipy import stats

from longpipe.analysis.anova import Anova
from longpipe.analysis.effects import fit
from longpipe.analysis.factors import Cells, Floats, Term, name_of
from longpipe.analysis.quantiles import f_tail
from longpipe.analysis.whole_table import WholeTable
from longpipe.errors import ScenarioError

# Values that differ by less than this share of their range are treated as ties, because of rounding.
TIE = 1e-9


def aligned_ranks(anova: Anova) -> pd.DataFrame:
    """Returns F tests of all terms by the aligned rank transform, one row per term.

    For each term, all other effects are removed from the response, which is then ranked and analyzed with the whole
    model; only the F of this term is used, because ranks of the raw response would mix interactions and main effects.
    If the errors are strongly skewed, the tests reject too often. Columns: `component`, `df`, `f`, `p_value`. For a
    single factor it is the F form of the Kruskal-Wallis test. Raises ScenarioError for a saturated model. Source: J. O.
    Wobbrock, L. Findlater, D. Gergle, J. J. Higgins, The Aligned Rank Transform for Nonparametric Factorial Analyses
    Using Only ANOVA Procedures (CHI 2011).
    """
    if anova.error_df == 0:
        raise ScenarioError("ranks: a saturated model has no residuals to rank; needs a lower order or replications")
    residual = anova.residuals["residual"].to_numpy()
    rows = []
    for term in anova.terms:
        ranks = stats.rankdata(_without_split_ties(residual + _effect_of_rows(anova, term)))
        fitted = fit(_with_response(anova.cells, ranks), anova.terms)
        effect = fitted.effects[term]
        error = fitted.error_sum_of_squares / fitted.error_df
        ratio = effect.sum_of_squares / effect.df / error if error else float("inf")
        rows.append((name_of(term), effect.df, ratio, f_tail(ratio, effect.df, fitted.error_df)))
    return WholeTable(rows, columns=["component", "df", "f", "p_value"])


def _effect_of_rows(anova: Anova, term: Term) -> Floats:
    """Returns, for each row of the table, the estimated effect of its levels of a term's factors."""
    names = list(anova.cells.axes)
    codes = tuple(anova.cells.codes[:, names.index(name)] for name in term)
    return np.asarray(anova.fit.effects[term].by_level[codes])


def _without_split_ties(values: Floats) -> Floats:
    """Returns values, in another unit, in which those that differ only by rounding errors are equal."""
    unit = TIE * np.ptp(values)
    return np.asarray(np.round(values / unit)) if unit else values


def _with_response(cells: Cells, y: Floats) -> Cells:
    """Returns cells with the same levels and another response of each row."""
    means = np.bincount(cells.index, y) / cells.counts
    return Cells(cells.axes, cells.codes, y, cells.index, cells.counts, means, cells.at)
