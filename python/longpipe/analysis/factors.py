"""Grouping of measured rows into the cells of a factorial design."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe.errors import ScenarioError, nearest
from longpipe.inputs.frame import not_numbers

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Term = tuple[str, ...]

# Limits of an analysis, for memory and time.
MAX_CELLS: Final = 2**20
MAX_TERMS: Final = 2**12
# Maximum number of columns that an error names.
MAX_NAMED: Final = 30


@dataclass(frozen=True, eq=False)
class Cells:
    """A response grouped by factors, with blocks as the last axis.

    `axes` gives the levels of each factor; `codes` (rows, axes) contains each row's levels; `index` (rows,) is the
    index of each row's cell among the observed cells; `counts` and `means` (cells,) describe the cells, and `at`
    (cells, axes) locates them.
    """

    axes: Mapping[str, tuple[Any, ...]]
    codes: Integers
    y: Floats
    index: Integers
    counts: Integers
    means: Floats
    at: Integers

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels along each axis."""
        return tuple(len(levels) for levels in self.axes.values())

    @property
    def complete(self) -> bool:
        """Whether every combination of levels was observed."""
        return len(self.counts) == math.prod(self.shape)

    @property
    def balanced(self) -> bool:
        """Whether every combination of levels was observed equally often."""
        return self.complete and bool((self.counts == self.counts[0]).all())

    @property
    def replicated(self) -> bool:
        """Whether every observed combination of levels has at least two rows."""
        return bool((self.counts > 1).all())

    def within(self) -> float:
        """Returns the sum of squares of the rows about the means of their cells."""
        return float(np.sum((self.y - self.means[self.index]) ** 2))

    def variances(self) -> Floats:
        """Returns the variance of the rows of each cell (cells,), nan for cells with a single row."""
        squares = np.bincount(self.index, (self.y - self.means[self.index]) ** 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(self.counts > 1, squares / (self.counts - 1), np.nan))

    @classmethod
    def of(cls, frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: str | None = None) -> "Cells":
        """Groups the rows of a frame; raises ScenarioError for a column that cannot be a factor or response."""
        check_columns(frame, response, factors, blocks)
        y = _response(frame, response)
        axes, codes = {}, []
        for name in (*factors, *([blocks] if blocks else [])):
            axes[name], column = _levels(frame, name)
            codes.append(column)
        shape = tuple(len(levels) for levels in axes.values())
        if math.prod(shape) > MAX_CELLS:
            written = " x ".join(map(str, shape))
            raise ScenarioError(f"factors: {written} combinations of levels; needs at most {MAX_CELLS}")
        matrix = np.stack(codes, axis=1)
        flat = np.ravel_multi_index(tuple(matrix.T), shape)
        observed, index, counts = np.unique(flat, return_inverse=True, return_counts=True)
        means = np.bincount(index, y) / counts
        return cls(axes, matrix, y, index, counts, means, np.stack(np.unravel_index(observed, shape), axis=1))


def check_columns(frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: str | None = None) -> None:
    """Raises ScenarioError unless the frame has the given columns, none of which is named twice."""
    if not isinstance(frame, pd.DataFrame):
        raise ScenarioError(f"frame: a {type(frame).__name__}; needs a table of runs, as study.frame() gives")
    columns = [str(column) for column in frame.columns]
    if not factors:
        raise ScenarioError(f"factors: none; accepts {', '.join(columns[:MAX_NAMED])}")
    if frame.empty:
        raise ScenarioError("rows: none; needs one row per run")
    used: dict[str, str] = {}
    for field, name in [("response", response), *(("factors", f) for f in factors), ("blocks", blocks)]:
        if name is None:
            continue
        if name not in columns:
            raise ScenarioError(f"{field}: {name!r} is not a column; {nearest(name, columns, MAX_NAMED)}")
        if name in used:
            raise ScenarioError(f"{field}: {name!r} is already used as {used[name]}; needs another column")
        used[name] = field


def check_factors(names: Sequence[str], factors: Sequence[str]) -> None:
    """Raises ScenarioError unless the given names are factors of the model, none of which is named twice."""
    for name in names:
        if name not in factors:
            raise ScenarioError(f"factors: {name!r}; {nearest(name, factors)}")
    if len(set(names)) < len(names) or not names:
        raise ScenarioError(f"factors: {', '.join(names) or 'none'}; needs each once: {', '.join(factors)}")


def check_level(level: float) -> None:
    """Raises ScenarioError unless the value is a confidence level in (0, 1)."""
    if not 0 < level < 1:
        raise ScenarioError(f"level: {level:g}; needs more than 0 and less than 1, as in 0.9")


def name_of(term: Iterable[str]) -> str:
    """Formats a term, as in "tcp:buffer"."""
    return ":".join(term)


def text_of(level: object) -> str:
    """Formats a level of a factor."""
    return f"{level:g}" if isinstance(level, float) else str(level)


def terms_up_to(factors: Sequence[str], order: int) -> list[Term]:
    """Returns main effects (order 1), then interactions of two factors (order 2), and so on."""
    count = sum(math.comb(len(factors), size) for size in range(1, order + 1))
    if count > MAX_TERMS:
        raise ScenarioError(f"order: {order} with {len(factors)} factors gives {count} terms; needs a lower order")
    return [term for size in range(1, order + 1) for term in combinations(factors, size)]


def parse_terms(terms: Iterable[str], factors: Sequence[str]) -> list[Term]:
    """Parses terms such as "tcp" or "tcp:buffer" into tuples in the order of `factors`."""
    parsed: list[Term] = []
    for text in terms:
        names = [name.strip() for name in text.split(":")]
        for name in names:
            if name not in factors:
                raise ScenarioError(f"terms: {text!r} names {name!r}; {nearest(name, factors)}")
        if len(set(names)) < len(names):
            raise ScenarioError(f"terms: {text!r} names a factor twice; needs each once")
        term = tuple(name for name in factors if name in names)
        if term in parsed:
            raise ScenarioError(f"terms: {text!r} occurs twice; needs each term once")
        parsed.append(term)
    if not parsed:
        raise ScenarioError("terms: none; needs at least one, as in 'tcp' or 'tcp:buffer'")
    return parsed


def _response(frame: pd.DataFrame, response: str) -> Floats:
    """Returns the values of the response. Raises ScenarioError if any is not a finite number."""
    column = frame[response]
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
        raise ScenarioError(f"response: {response!r} {not_numbers(column)}")
    y = column.to_numpy(dtype=float, na_value=np.nan)
    missing = int((~np.isfinite(y)).sum())
    if missing:
        minimum = y[np.isfinite(y)].min(initial=np.inf)
        without = (
            f", or only the other rows, which may leave out the worst (--where '{response}>={minimum:g}')"
            if minimum < np.inf
            else ""
        )
        raise ScenarioError(
            f"response: {missing} of {len(y)} values of {response!r} are not finite, for example because a flow did "
            f"not end; needs numbers: longer runs, a measure that every run has{without}"
        )
    if np.ptp(y) == 0:
        raise ScenarioError(f"response: {response!r} is {y[0]:g} in every row; needs values that vary")
    return y


def _levels(frame: pd.DataFrame, name: str) -> tuple[tuple[Any, ...], Integers]:
    """Returns a factor's levels (numbers and categories sorted, others in order of appearance) and each row's code."""
    column = frame[name]
    missing = int(column.isna().sum())
    if missing:
        raise ScenarioError(f"factors: {missing} of {len(column)} rows have no {name!r}; needs a level in each row")
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        codes, levels = column.cat.codes.to_numpy(dtype=np.int64), column.cat.categories
    else:
        codes, levels = pd.factorize(column, sort=pd.api.types.is_numeric_dtype(column))
    if len(levels) < 2:
        raise ScenarioError(f"factors: {name!r} is {text_of(levels[0])!r} in every row; needs at least 2 levels")
    return tuple(levels.tolist()), np.asarray(codes, dtype=np.int64)
