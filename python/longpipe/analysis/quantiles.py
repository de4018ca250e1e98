"""Quantiles and tail probabilities of the distributions that intervals and F tests need.

They use SciPy's special functions, because `scipy.stats`, which gives the same digits, takes half a second and 50 MB to
load. The functions are imported on first use, because pictures of runs have no intervals.
"""


def t_quantile(level: float, df: float) -> float:
    """Returns the half-width of a two-sided interval at confidence level `level` (0 to 1), in standard errors."""
    from scipy import special

    return float(special.stdtrit(df, (1 + level) / 2))


def f_tail(ratio: float, df: float, error_df: float) -> float:
    """Returns the probability that an F variate with the given degrees of freedom exceeds a ratio."""
    from scipy import special

    return float(special.fdtrc(df, error_df, ratio))
