"""Conclusions of RFC 9438 about its tables, as conditions on one run of each connection; nothing is random."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Conditions, Exact

# Maximum relative difference between a mean and the printed one, and between two means that should be equal.
NEAR: Final = 0.05
# Maximum loss rate for the closed forms: a window of twelve segments cannot be treated as continuous.
RARE: Final = 2e-3
# Exponents of p in W by controller: Reno's and RFC 3649's, and equation 6 of section 5.1.
EXPONENTS: Final = {"reno": -0.5, "highspeed": -0.835, "cubic-0.4": -0.75}
CUBICS: Final = ("cubic-0.04", "cubic-0.4", "cubic-4")


def _exact(quantity: str, value: float, **limits: float) -> Condition:
    return Exact(quantity, pd.Series([value]), **limits)


def _beside_reno(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns CUBIC's rows of Tables 1 and 2, with `simulated_reno` and `published_reno` at the same loss."""
    of_tables = runs[runs["table"].isin(["1", "2"])]
    keys = ["table", "loss"]
    reno = of_tables[of_tables["control"] == "reno"][[*keys, "published", "simulated"]]
    cubic = of_tables[of_tables["control"].isin(CUBICS)]
    return cubic.merge(reno, on=keys, suffixes=("", "_reno"))


def _never_less(runs: pd.DataFrame) -> Iterator[Condition]:
    cubic = _beside_reno(runs)
    minimum = float((cubic["simulated"] / cubic["simulated_reno"]).min())
    yield _exact(f"W(CUBIC) / W(Reno), smallest of {len(cubic)}", minimum, above=1 - NEAR)


def _equal_where_printed_so(runs: pd.DataFrame) -> Iterator[Condition]:
    cubic = _beside_reno(runs)
    cubic = cubic[cubic["published"] == cubic["published_reno"]]
    maximum = float((cubic["simulated"] / cubic["simulated_reno"] - 1).abs().max())
    yield _exact(f"|W(CUBIC) / W(Reno) - 1| where equal in print, largest of {len(cubic)}", maximum, below=NEAR)


def _more_where_printed_so(runs: pd.DataFrame) -> Iterator[Condition]:
    cubic = _beside_reno(runs)
    cubic = cubic[cubic["published"] > cubic["published_reno"]]
    minimum = float((cubic["simulated"] / cubic["simulated_reno"]).min())
    yield _exact(f"W(CUBIC) / W(Reno) where larger in print, smallest of {len(cubic)}", minimum, above=1.2)


def _friendlier_than_highspeed(runs: pd.DataFrame) -> Iterator[Condition]:
    of_table = runs[(runs["table"] == "2") & (runs["loss"] < RARE / 10)].pivot_table(
        "simulated", index="loss", columns="control"
    )
    maximum = float((of_table["cubic-0.4"] / of_table["highspeed"]).max())
    yield _exact("W(CUBIC, C = 0.4) / W(HSTCP) at 10 ms, p <= 1e-4, largest", maximum, below=0.5)


def _slopes(runs: pd.DataFrame) -> Iterator[Condition]:
    for control, exponent in EXPONENTS.items():
        rows = runs[(runs["table"] == "1") & (runs["control"] == control) & (runs["loss"] < RARE / 10)]
        slope = float(np.polyfit(np.log(rows["loss"].to_numpy()), np.log(rows["simulated"].to_numpy()), 1)[0])
        limits = {"above": exponent - 0.02, "below": exponent + 0.02}
        yield _exact(f"log-log slope of W against p at 100 ms, p <= 1e-4, {control}", slope, **limits)


def _as_printed(runs: pd.DataFrame) -> Iterator[Condition]:
    for table in ("1", "2"):
        rows = runs[(runs["table"] == table) & (runs["loss"] < RARE)]
        maximum = float(rows["error"].abs().max())
        yield _exact(f"|W / printed - 1|, Table {table}, p <= 1e-3, largest of {len(rows)}", maximum, below=NEAR)


def _throughput(runs: pd.DataFrame) -> Iterator[Condition]:
    rows = runs[runs["table"] == "3"]
    maximum = float(rows["error"].abs().max())
    yield _exact(f"|W / printed - 1|, Table 3, largest of {len(rows)}", maximum, below=2 * NEAR)


def _claim(number: int, text: str, conditions: Conditions) -> Claim:
    return Claim(f"cubic-{number}", text, conditions, published=False)


CLAIMS: Final = (
    _claim(1, "CUBIC's window is nowhere smaller than Reno's", _never_less),
    _claim(2, "Where round trips are short and losses many, CUBIC's window is Reno's", _equal_where_printed_so),
    _claim(3, "Elsewhere it is larger", _more_where_printed_so),
    _claim(4, "At 10 ms CUBIC is friendlier to Reno than HSTCP is", _friendlier_than_highspeed),
    _claim(5, "Mean windows fall with the loss rate according to the closed forms", _slopes),
    _claim(6, "Mean windows equal those of Tables 1 and 2 where the closed forms hold", _as_printed),
    _claim(7, "The losses of Table 3 give its throughputs", _throughput),
)
