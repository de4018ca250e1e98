"""Rank correlation."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Returns Spearman's rank correlation (-1 to 1) of x and y, each of shape (n,); NaN if either is constant."""
    ranks = [pd.Series(np.asarray(values, dtype=float)).rank() for values in (x, y)]
    return float(ranks[0].corr(ranks[1]))
