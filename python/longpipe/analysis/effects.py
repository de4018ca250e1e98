"""Least-squares effects of factors and their interactions, under the constraint that they sum to zero.

A balanced design has a closed form (Jain 1991, sections 20.2 to 23.2). For other designs the effects are those of
ordinary least squares, and the sum of squares of a term is the decrease of the model's sum of squares if this term is
removed (type III).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from longpipe.analysis.factors import Cells, Floats, Integers, Term, name_of
from longpipe.errors import ScenarioError

# Maximum number of parameters; the time of a least-squares fit grows with its cube.
MAX_PARAMETERS: Final = 2000


@dataclass(frozen=True, eq=False)
class Effect:
    """Effects of one term, shape (levels, ...).

    The standard error of an effect is `scale` times that of one observation.
    """

    by_level: Floats
    scale: Floats
    sum_of_squares: float
    df: int


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit: effects of all terms, the mean with its multiplier, fitted values (cells,), residual sum of squares."""

    mean: float
    mean_scale: float
    effects: dict[Term, Effect]
    fitted: Floats
    error_sum_of_squares: float
    error_df: int


def fit(cells: Cells, terms: Sequence[Term]) -> Fit:
    """Fits a mean and the given terms.

    Raises a ScenarioError that names the first term that is confounded with earlier ones.
    """
    return _balanced(cells, terms) if cells.balanced else _least_squares(cells, terms)


def _balanced(cells: Cells, terms: Sequence[Term]) -> Fit:
    """Returns the fit of a balanced design in closed form: effects are differences of means."""
    rows, names = len(cells.y), list(cells.axes)
    grid = cells.means.reshape(cells.shape)
    mean = float(cells.means.mean())
    centered = grid - mean
    solved: dict[Term, Floats] = {}

    def effect(term: Term) -> Floats:
        if term not in solved:
            averaged_axes = tuple(i for i, name in enumerate(names) if name not in term)
            value = centered.mean(axis=averaged_axes, keepdims=True)
            for size in range(1, len(term)):
                for part in combinations(term, size):
                    value = value - effect(part)
            solved[term] = value
        return solved[term]

    effects, fitted = {}, np.full(cells.shape, mean)
    for term in terms:
        value = effect(term)
        fitted = fitted + value
        df = int(np.prod([size - 1 for size in value.shape if size > 1]))
        squares = rows / value.size * float(np.sum(value**2))
        shape = tuple(len(cells.axes[name]) for name in term)
        effects[term] = Effect(value.reshape(shape), np.full(shape, np.sqrt(df / rows)), squares, df)
    lack = rows / grid.size * float(np.sum((grid - fitted) ** 2))
    error_df = rows - 1 - sum(effect.df for effect in effects.values())
    return Fit(mean, float(np.sqrt(1 / rows)), effects, fitted.ravel(), cells.within() + lack, error_df)


def _least_squares(cells: Cells, terms: Sequence[Term]) -> Fit:
    """Returns the fit of any design by least squares."""
    x, blocks = _model_matrix(cells, terms)
    solve = _solve(cells, x)
    parameter, covariance = solve @ cells.means, (solve / cells.counts) @ solve.T
    effects, first = {}, 1
    for term, block in blocks.items():
        columns_of_term = slice(first, first + block.shape[1])
        first = columns_of_term.stop
        spread = _sum_to_zero(cells, term)
        values, within = spread @ parameter[columns_of_term], covariance[columns_of_term, columns_of_term]
        scale = np.sqrt(np.einsum("ij,jk,ik->i", spread, within, spread))
        squares = float(parameter[columns_of_term] @ np.linalg.solve(within, parameter[columns_of_term]))
        shape = tuple(len(cells.axes[name]) for name in term)
        effects[term] = Effect(values.reshape(shape), scale.reshape(shape), squares, block.shape[1])
    fitted = x @ parameter
    lack = float(np.sum(cells.counts * (cells.means - fitted) ** 2))
    error_df = len(cells.y) - x.shape[1]
    return Fit(float(parameter[0]), float(np.sqrt(covariance[0, 0])), effects, fitted, cells.within() + lack, error_df)


def effect_weights(cells: Cells, terms: Sequence[Term]) -> dict[Term, Floats]:
    """Returns the weights that map cell means to each term's effects, shape (combinations of levels, cells)."""
    x, blocks = _model_matrix(cells, terms)
    solve = _solve(cells, x)
    weights, first = {}, 1
    for term, block in blocks.items():
        weights[term] = _sum_to_zero(cells, term) @ solve[first : first + block.shape[1]]
        first += block.shape[1]
    return weights


def mean_weights(cells: Cells, terms: Sequence[Term], factors: Sequence[str]) -> Floats:
    """Returns the weights that map cell means to `Anova.means` of the given factors, shape (combinations, cells)."""
    x, blocks = _model_matrix(cells, terms)
    sizes = [len(cells.axes[name]) for name in factors]
    at = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    rows = [np.ones((len(at), 1))]
    for term, block in blocks.items():
        used = set(term) <= set(factors)
        codes = [at[:, factors.index(name)] for name in term] if used else []
        rows.append(_products(cells, term, codes) if used else np.zeros((len(at), block.shape[1])))
    return np.asarray(np.hstack(rows) @ _solve(cells, x))


def hat(cells: Cells, terms: Sequence[Term]) -> Floats:
    """Returns the projection from cell means to fitted values, shape (cells, cells)."""
    x, _ = _model_matrix(cells, terms)
    return np.asarray(x @ _solve(cells, x))


def _model_matrix(cells: Cells, terms: Sequence[Term]) -> tuple[Floats, dict[Term, Floats]]:
    """Returns the model matrix and its block of columns for each term. Raises ScenarioError if it is too large."""
    sizes = [math.prod(len(cells.axes[name]) - 1 for name in term) for term in terms]
    if 1 + sum(sizes) > MAX_PARAMETERS:
        raise ScenarioError(
            f"order: {1 + sum(sizes)} parameters without a closed form; needs at most {MAX_PARAMETERS}: a lower "
            f"order, or equally many rows for every combination"
        )
    places = {name: cells.at[:, i] for i, name in enumerate(cells.axes)}
    blocks = {term: _products(cells, term, [places[name] for name in term]) for term in terms}
    x = np.hstack([np.ones((len(cells.means), 1)), *blocks.values()])
    _check_estimable(x, blocks)
    return x, blocks


def _solve(cells: Cells, x: Floats) -> Floats:
    """Returns the map from cell means to the least-squares parameters, shape (parameters, cells).

    A mean has the weight of its observations. If `s` is the map, the covariance of the parameters, for observations of
    variance 1, is `s / counts @ s.T`.
    """
    root = np.sqrt(cells.counts)[:, None]
    return np.asarray(np.linalg.pinv(x * root) * root.T)


def _check_estimable(x: Floats, blocks: dict[Term, Floats]) -> None:
    """Raises ScenarioError if a term cannot be separated from those before it; `x` is the model matrix."""
    if np.linalg.matrix_rank(x) == x.shape[1]:
        return
    first, earlier = 1, ["the mean"]
    for term, block in blocks.items():
        first += block.shape[1]
        if np.linalg.matrix_rank(x[:, :first]) < first:
            raise ScenarioError(
                f"terms: {name_of(term)!r} cannot be separated from {', '.join(earlier)} in this design; needs a lower "
                f"order, "
                "fewer terms, or the missing combinations of levels"
            )
        earlier.append(name_of(term))


def _products(cells: Cells, term: Term, codes: Sequence[Integers]) -> Floats:
    """Returns the columns of a term in the model matrix for rows of level codes, shape (rows, degrees of freedom)."""
    columns: Floats = np.ones((len(codes[0]), 1))
    for name, code in zip(term, codes, strict=True):
        contrast = _contrasts(len(cells.axes[name]))[code]
        columns = np.einsum("ij,ik->ijk", columns, contrast).reshape(len(columns), -1)
    return columns


def _sum_to_zero(cells: Cells, term: Term) -> Floats:
    """Returns the map from a term's parameters to its effects, shape (combinations of levels, degrees of freedom)."""
    spread = np.ones((1, 1))
    for name in term:
        spread = np.asarray(np.kron(spread, _contrasts(len(cells.axes[name]))), dtype=np.float64)
    return spread


def _contrasts(levels: int) -> Floats:
    return np.vstack([np.eye(levels - 1), -np.ones((1, levels - 1))])
