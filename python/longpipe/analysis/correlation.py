"""How far one quantity rises with another."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's, from -1 to 1, of x and y, shape (n,) each; ties share their mean rank; nan if one is constant."""
    ranks = [pd.Series(np.asarray(values, dtype=float)).rank() for values in (x, y)]
    return float(ranks[0].corr(ranks[1]))
