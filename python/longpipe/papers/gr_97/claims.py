"""What ATM Forum/97-0424 concludes, as conditions on replicated runs."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, mean_by_seed

LETTERS: Final = {"efficiency": "E", "fairness": "F"}
PERIODS: Final = "1+2"
RIVALS: Final = {"policy": "policy", "guaranteed_rate": "GR", "tcp": "TCP"}

Chosen = Mapping[str, object]
Conditions = Callable[[pd.DataFrame], Iterator[Condition]]


def _difference(runs: pd.DataFrame, metric: str, more: Chosen, less: Chosen) -> Condition:
    names = [", ".join(str(level) for level in factors.values()) for factors in (more, less)]
    by_seed = mean_by_seed(runs, metric, **more) - mean_by_seed(runs, metric, **less)
    return Condition(f"{LETTERS[metric]}({names[0]}) - {LETTERS[metric]}({names[1]})", by_seed, above=0.0)


def _of_rates(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """The runs of Tables 3 to 9: every TCP, policy and GR beside VBR of 300 ms."""
    return runs[(runs["table"] != PERIODS) & (runs["network"] == network)]


def _shares(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """Share of the variation of efficiency that each rival explains, a row per seed [0 to 1]."""

    def of_one_seed(chosen: pd.DataFrame) -> dict[str, float]:
        y = chosen["efficiency"]
        total = float(((y - y.mean()) ** 2).sum()) or math.nan
        return {
            factor: float(((y.groupby(chosen[factor]).transform("mean") - y.mean()) ** 2).sum()) / total
            for factor in RIVALS
        }

    found = {seed: of_one_seed(chosen) for seed, chosen in _of_rates(runs, network).groupby("seed")}
    return pd.DataFrame.from_dict(found, orient="index")


def _dominates(network: str, factor: str) -> Conditions:
    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        shares = _shares(runs, network)
        for other, name in RIVALS.items():
            if other != factor:
                yield Condition(f"share({RIVALS[factor]}) - share({name})", shares[factor] - shares[other], above=0.0)

    return conditions


def _longer_bursts_hurt(runs: pd.DataFrame) -> Iterator[Condition]:
    chosen = runs[(runs["table"] == PERIODS) & (runs["network"] == "wan")]
    for less, more in pairwise((300, 100, 50)):
        yield _difference(chosen, "efficiency", {"vbr_period_ms": more}, {"vbr_period_ms": less})


def _selective_drop_helps(runs: pd.DataFrame) -> Iterator[Condition]:
    chosen = _of_rates(runs, "lan")
    for metric in LETTERS:
        for factor in ("tcp", "guaranteed_rate"):
            for level in sorted(chosen[factor].unique(), reverse=True):
                both = ({factor: level, "policy": policy} for policy in ("selective-drop", "tail-drop"))
                yield _difference(chosen, metric, *both)


def _starving_hurts(runs: pd.DataFrame) -> Iterator[Condition]:
    chosen = _of_rates(runs, "wan")
    for less, more in pairwise((0.0, 0.1, 0.5)):
        yield _difference(chosen, "efficiency", {"guaranteed_rate": more}, {"guaranteed_rate": less})


def _sack_best_reno_worst(runs: pd.DataFrame) -> Iterator[Condition]:
    chosen = _of_rates(runs, "satellite")
    for more, less in pairwise(("sack", "vanilla", "reno")):
        yield _difference(chosen, "efficiency", {"tcp": more}, {"tcp": less})


def _others_matter_little(runs: pd.DataFrame) -> Iterator[Condition]:
    shares = _shares(runs, "satellite")
    for factor in ("guaranteed_rate", "policy"):
        yield Condition(f"share(TCP)/5 - share({RIVALS[factor]})", shares["tcp"] / 5 - shares[factor], above=0.0)


CLAIMS: Final = (
    Claim("gr-1", "On the WAN longer bursts of VBR lower TCP's efficiency", _longer_bursts_hurt),
    Claim("gr-2", "On the LAN Selective Drop helps whatever the TCP and the GR", _selective_drop_helps),
    Claim("gr-3", "On the LAN the drop policy dominates", _dominates("lan", "policy")),
    Claim("gr-4", "On the WAN a GR of 0 hurts", _starving_hurts),
    Claim("gr-5", "On the WAN the GR dominates", _dominates("wan", "guaranteed_rate")),
    Claim("gr-6", "Over the satellite the TCP flavor dominates", _dominates("satellite", "tcp")),
    Claim("gr-7", "Over the satellite SACK is best and Reno worst", _sack_best_reno_worst),
    Claim("gr-8", "Over the satellite GR and drop policy matter little", _others_matter_little),
)
