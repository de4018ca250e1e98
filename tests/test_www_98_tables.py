"""The analysis of variation reproduces Tables 5, 6, 8, 9, 11 and 12 of ATM Forum/98-0876 from Tables 4, 7 and 10."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources

import pandas as pd
import pytest

from longpipe.analysis.anova import Anova, anova

FACTORS = ["tcp", "buffer_bdp", "policy"]
NETWORKS = ["wan", "meo", "geo"]
METRICS = ["efficiency", "fairness"]
# Values whose last printed digit differs by one: longpipe's value, and the printed one. Most WAN fairness values were
# truncated instead of rounded.
LAST_DIGIT = {
    ("wan", "fairness"): {
        "individual values sum_of_squares": ("18.6267", "18.6266"),
        "overall mean sum_of_squares": ("18.3817", "18.3816"),
        "tcp sum_of_squares": ("0.0527", "0.0526"),
        "tcp percent": ("21.50", "21.49"),
        "tcp:buffer_bdp sum_of_squares": ("0.0425", "0.0424"),
        "tcp:buffer_bdp percent": ("17.33", "17.32"),
        "standard error": ("0.0473", "0.0472"),
        "vanilla low": ("-0.0633", "-0.0632"),
        "reno high": ("0.0650", "0.0649"),
        "newreno low": ("0.0249", "0.0248"),
        "sack low": ("-0.0915", "-0.0914"),
        "sack high": ("-0.0266", "-0.0265"),
        "1 effect": ("0.0383", "0.0382"),
        "1 low": ("0.0118", "0.0117"),
        "1 high": ("0.0648", "0.0647"),
        "2 high": ("0.0917", "0.0916"),
        "epd low": ("-0.0218", "-0.0217"),
        "selective-drop high": ("0.0218", "0.0217"),
    },
    ("geo", "efficiency"): {
        "vanilla low": ("-0.0421", "-0.0420"),
        "reno low": ("-0.0378", "-0.0377"),
    },
}
# Tolerance for the rounding of binary fractions, which must not affect exact halves.
NOISE = 1e-12


def table(name: str) -> pd.DataFrame:
    with (resources.files("longpipe_evidence.papers.www_98") / name).open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str)


def analysis(network: str, metric: str) -> Anova:
    runs = table("published.csv")
    runs = runs[runs["network"] == network].assign(**{metric: lambda frame: frame[metric].astype(float)})
    return anova(runs, metric, FACTORS, order=2)


def numbers(network: str, metric: str) -> Iterator[tuple[str, float, str]]:
    """Yields the name, the computed value and the printed text of every number in two published tables."""
    found = analysis(network, metric)
    variation, effects = found.variation.set_index("component"), found.effects(0.9).set_index(["component", "level"])
    rows = table("variation.csv")
    for row in rows[(rows["network"] == network) & (rows["metric"] == metric)].to_dict("records"):
        for column in ("sum_of_squares", "percent"):
            if isinstance(row[column], str):
                yield f"{row['component']} {column}", float(variation.loc[row["component"], column]), row[column]
        if isinstance(row["standard_error"], str):
            yield "standard error", found.standard_error, row["standard_error"]
    rows = table("effects.csv")
    for row in rows[(rows["network"] == network) & (rows["metric"] == metric)].to_dict("records"):
        for column in ("effect", "low", "high"):
            value = float(effects.loc[(row["component"], row["level"]), column])
            yield f"{row['level']} {column}", value, row[column]


def printed(value: float, like: str) -> Decimal:
    return (Decimal(value) + Decimal(NOISE).copy_sign(Decimal(value))).quantize(Decimal(like), ROUND_HALF_UP)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("metric", METRICS)
def test_published_tables_follow_to_the_printed_digits(network: str, metric: str) -> None:
    differences = {}
    count = 0
    for name, value, text in numbers(network, metric):
        ours, theirs = printed(value, text), Decimal(text)
        assert abs(ours - theirs) <= Decimal(1).scaleb(int(theirs.as_tuple().exponent)), name
        if ours != theirs:
            differences[name] = (str(ours), text)
        count += 1
    assert count == 17 + 27
    assert differences == LAST_DIGIT.get((network, metric), {})


def test_published_design_has_six_degrees_of_freedom_for_its_error() -> None:
    found = analysis("wan", "efficiency")
    assert found.error_df == 6
    assert list(found.variation["df"]) == [24, 1, 23, 3, 2, 1, 6, 3, 2, 6]
    assert found.quantile(0.9) == pytest.approx(1.943, abs=5e-4)


def test_the_published_factors_are_a_full_factorial_of_24() -> None:
    runs = table("published.csv")
    assert len(runs) == 72
    assert (runs.groupby(["network", *FACTORS]).size() == 1).all()
    assert len(runs[["network", "buffer_bdp", "buffer_cells"]].drop_duplicates()) == 9
