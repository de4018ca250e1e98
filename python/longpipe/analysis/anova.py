"""Analysis of variation: the share of a response's variation that each factor and each interaction explains.

Notation and formulas are those of R. Jain, The Art of Computer Systems Performance Analysis (Wiley 1991), chapters 17
to 23; the tables have the form of those in ATM Forum/98-0876 section 8.1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from longpipe.analysis.effects import Effect, Fit, fit
from longpipe.analysis.factors import (
    Cells,
    Term,
    check_factors,
    check_level,
    name_of,
    parse_terms,
    terms_up_to,
    text_of,
)
from longpipe.analysis.quantiles import f_tail, t_quantile
from longpipe.analysis.whole_table import WholeTable
from longpipe.errors import ScenarioError
from longpipe.measures.columns import with_expression
from longpipe.measures.readable import p_text

# An error below this share of the sum of squares counts as zero, because it may be a rounding error.
ROUNDING = 1e-22
COPIES = "no error: the replications are identical, so there is nothing to test against; needs a random part"


@dataclass(frozen=True, eq=False, repr=False)
class Anova:
    """A fitted model of one response.

    `terms` are the model's terms, with the blocks last if there are any; `pooled` lists the terms that form the error
    term.
    """

    response: str
    factors: tuple[str, ...]
    blocks: str | None
    cells: Cells
    terms: tuple[Term, ...]
    fit: Fit
    seeds: pd.Series | None

    def __repr__(self) -> str:
        """Returns a summary with the response and the allocation of its variation."""
        components = self.variation[["component", "percent", "df", "p_value"]].dropna(subset="percent")
        table = components.to_string(index=False, float_format="{:.4g}".format)
        copied = f"\n{COPIES}" if self.copied else ""
        return f"Anova of {self.response!r} over {', '.join(self.factors)}\n{table}{copied}"

    def _repr_html_(self) -> str:
        """Returns the allocation of variation, for notebooks."""
        components = self.variation
        return components.assign(p_value=components["p_value"].map(p_text)).to_html(index=False, na_rep="")

    @property
    def mean(self) -> float:
        """Overall mean in the response's unit; if the design is unbalanced, the mean of the fitted cell means."""
        return self.fit.mean

    @property
    def error_df(self) -> int:
        """Number of degrees of freedom of the error."""
        return self.fit.error_df

    @cached_property
    def standard_error(self) -> float:
        """Residual standard deviation s_e of one observation, or nan if there are no error degrees of freedom."""
        if self.error_df == 0:
            return float("nan")
        return float(np.sqrt(self._error / self.error_df))

    @property
    def copied(self) -> bool:
        """Whether the error is zero although it has degrees of freedom, because replications are identical."""
        return self.error_df > 0 and self._error == 0

    @property
    def _error(self) -> float:
        squares = self.fit.error_sum_of_squares
        return squares if squares > ROUNDING * float(np.sum(self.cells.y**2)) else 0.0

    @cached_property
    def variation(self) -> pd.DataFrame:
        """Returns the allocation of variation with one row per component.

        Columns: `component`, `sum_of_squares` (unit of the response squared), `percent` of the total variation, `df`,
        `mean_square`, `f` and `p_value` of the F test against the error, NaN if the error is zero. The first rows are
        the individual values, the overall mean and the total variation; then the terms; then "error". Unless the design
        is balanced or orthogonal, the terms' sums of squares are of type III and need not add up to the total.
        """
        y = self.cells.y
        total = float(np.sum((y - y.mean()) ** 2))
        error = self._error
        error_square = error / self.error_df if self.error_df else np.nan
        rows = [
            ("individual values", float(np.sum(y**2)), np.nan, len(y), np.nan, np.nan, np.nan),
            ("overall mean", len(y) * float(y.mean()) ** 2, np.nan, 1, np.nan, np.nan, np.nan),
            ("total variation", total, 100.0, len(y) - 1, np.nan, np.nan, np.nan),
        ]
        for term in self.terms:
            effect = self.fit.effects[term]
            square = effect.sum_of_squares / effect.df
            ratio = _ratio(square, error_square)
            p_value = f_tail(ratio, effect.df, self.error_df) if self.error_df and error else np.nan
            share = 100 * effect.sum_of_squares / total
            rows.append((name_of(term), effect.sum_of_squares, share, effect.df, square, ratio, p_value))
        rows.append(("error", error, 100 * error / total, self.error_df, error_square, np.nan, np.nan))
        columns = ["component", "sum_of_squares", "percent", "df", "mean_square", "f", "p_value"]
        return WholeTable(rows, columns=columns)

    def effects(self, level: float = 0.9, order: int = 1) -> pd.DataFrame:
        """Returns the effects of terms of up to `order` factors with intervals at a confidence level (0 to 1).

        Columns: `component`, `level` (for an interaction, one level per factor, as in "sack, 0.5"), `effect`,
        `standard_error`, `low`, `high`, all in the unit of the response. In a balanced design the standard error is s_e
        sqrt(df / rows), where df is the component's; quantiles come from Student's t distribution. The intervals are
        individual, not simultaneous.
        """
        check_level(level)
        rows: list[tuple[object, ...]] = []
        for term in self.terms:
            if len(term) <= order and term != (self.blocks,):
                rows.extend(self._rows(term, self.fit.effects[term], level))
        return WholeTable(rows, columns=["component", "level", "effect", "standard_error", "low", "high"])

    def _rows(self, term: Term, effect: Effect, level: float) -> Iterable[tuple[object, ...]]:
        t = self.quantile(level)
        labels = [", ".join(map(text_of, levels)) for levels in product(*(self.cells.axes[name] for name in term))]
        for label, value, scale in zip(labels, effect.by_level.ravel(), effect.scale.ravel(), strict=True):
            error = self.standard_error * float(scale)
            yield name_of(term), label, float(value), error, float(value) - t * error, float(value) + t * error

    def quantile(self, level: float) -> float:
        """Returns the two-sided quantile of Student's t with the error's degrees of freedom; None if there are none."""
        return t_quantile(level, self.error_df) if self.error_df and self._error else float("nan")

    def mean_interval(self, level: float = 0.9) -> tuple[float, float]:
        """Returns the confidence interval of the overall mean in the response's unit.

        If the model has blocks, the interval uses the variation between blocks, because an effect that all runs of a
        block share also shifts the mean.
        """
        check_level(level)
        error, t = self.standard_error * self.fit.mean_scale, self.quantile(level)
        if self.blocks is not None:
            block = self.fit.effects[(self.blocks,)]
            error = float(np.sqrt(block.sum_of_squares / block.df)) * self.fit.mean_scale
            t = t_quantile(level, block.df) if self._error else float("nan")
        return self.mean - t * error, self.mean + t * error

    def means(self, *factors: str) -> pd.DataFrame:
        """Returns the estimated mean of each combination of levels of some factors, averaged over the other factors.

        Columns: the factors, `rows` (number of observations), `mean`; effects that are not in the model count as zero.
        Raises ScenarioError for a name that is not a factor.
        """
        check_factors(factors, self.factors)
        inner = [name for name in self.cells.axes if name in factors]
        values = np.full([len(self.cells.axes[name]) for name in inner], self.mean)
        for term in self.terms:
            if set(term) <= set(factors):
                sizes = [len(self.cells.axes[name]) if name in term else 1 for name in inner]
                values = values + self.fit.effects[term].by_level.reshape(sizes)
        values = values.transpose([inner.index(name) for name in factors])
        names = list(self.cells.axes)
        codes = [self.cells.codes[:, names.index(name)] for name in factors]
        rows = np.bincount(np.ravel_multi_index(codes, values.shape), minlength=values.size)
        levels = pd.DataFrame(list(product(*(self.cells.axes[name] for name in factors))), columns=list(factors))
        return levels.assign(rows=rows, mean=values.ravel())

    @cached_property
    def residuals(self) -> pd.DataFrame:
        """Returns one row per observation: factors, blocks, `observed`, `fitted` and `residual` [response unit]."""
        cells = self.cells
        columns = {
            name: pd.Categorical.from_codes(cells.codes[:, i], pd.Index(levels)).to_numpy()
            for i, (name, levels) in enumerate(cells.axes.items())
        }
        fitted = self.fit.fitted[cells.index]
        residual = cells.y - fitted if self._error else np.zeros(len(cells.y))
        return pd.DataFrame({**columns, "observed": cells.y, "fitted": fitted, "residual": residual})


def anova(
    frame: pd.DataFrame,
    response: str,
    factors: Sequence[str],
    *,
    order: int | None = None,
    terms: Sequence[str] | None = None,
    blocks: str | None = None,
    seeds: str | None = "seed",
    saturated: bool = False,
) -> Anova:
    """Fits main effects and interactions of up to `order` factors, or only the `terms` given ("tcp", "tcp:buffer").

    `frame` has a row per run, a column per factor and a numeric column `response`, which may be an expression of
    columns such as "a / (a + b)". Without an order, the model has all interactions for a replicated design, with the
    replications as error; for an unreplicated design, it has all interactions except the highest, which becomes the
    error; and if combinations of levels are missing, it has only main effects. `blocks` is a column whose main effect
    is removed: the seed, if runs use common random numbers. `seeds` names the column, if the frame has it, that `check`
    uses to determine whether runs share random numbers. `saturated` allows a model without an error term, in which case
    F tests and intervals are NaN.

    Raises ScenarioError for unsuitable columns, terms that the design cannot separate, and a model that leaves no
    degrees of freedom.
    """
    factors = tuple(factors)
    if isinstance(frame, pd.DataFrame):
        frame = with_expression(frame, response)
    cells = Cells.of(frame, response, factors, blocks)
    chosen = _terms(cells, factors, blocks, order, terms)
    fitted = fit(cells, chosen)
    if fitted.error_df == 0 and not saturated:
        raise ScenarioError(
            f"order: {max(map(len, chosen))} leaves no degrees of freedom for the error ({len(cells.y)} rows, as many "
            "parameters); needs a lower order, replications, or a saturated model, without tests and intervals"
        )
    shared = frame[seeds].reset_index(drop=True) if seeds in frame.columns and seeds not in cells.axes else None
    return Anova(response, factors, blocks, cells, tuple(chosen), fitted, shared)


def _terms(
    cells: Cells, factors: tuple[str, ...], blocks: str | None, order: int | None, terms: Sequence[str] | None
) -> list[Term]:
    """Returns the terms of the model: `terms`, or all up to `order`.

    Raises ScenarioError if they cannot be estimated.
    """
    if order is not None and terms is not None:
        raise ScenarioError(f"order: {order} together with terms; needs one of the two")
    if order is not None and not 1 <= order <= len(factors):
        raise ScenarioError(f"order: {order}; needs 1 to {len(factors)}, the number of factors")
    if terms is not None:
        chosen = parse_terms(terms, factors)
    else:
        if order is None:
            full = len(factors) if len(cells.y) > _combinations(cells, factors) else max(1, len(factors) - 1)
            order = full if cells.complete else 1
        chosen = terms_up_to(factors, order)
    return [*chosen, (blocks,)] if blocks else chosen


def _combinations(cells: Cells, factors: tuple[str, ...]) -> int:
    return int(np.prod([len(cells.axes[name]) for name in factors]))


def _ratio(square: float, error: float) -> float:
    # If the error is zero because replications are identical, no F test is possible.
    return square / error if error > 0 else float("nan")
