"""The analysis of variation of ATM Forum/98-0876, and conditions on its shares and effects.

Each seed is analyzed as the paper analyzed its one set of runs: 24 runs per link, main effects and interactions of two
factors, and 90 % intervals from the residual.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.anova import Anova, anova
from longpipe.analysis.claims import Condition, Conditions

FACTORS: Final = ("tcp", "buffer_bdp", "policy")
NAMES: Final = {"tcp": "TCP", "buffer_bdp": "buffer", "policy": "policy", "tcp:buffer_bdp": "TCP x buffer"}
LETTERS: Final = {"efficiency": "E", "fairness": "F"}
# Confidence level of the paper's intervals.
LEVEL: Final = 0.9


class Documents:
    """The paper's analysis of each seed's runs, computed once."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs = runs
        self._analysis = cache(self._analyse)

    def _analyse(self, network: str, metric: str) -> dict[object, Anova]:
        chosen = self._runs[self._runs["network"] == network]
        return {seed: anova(part, metric, FACTORS, order=2) for seed, part in chosen.groupby("seed")}

    def shares(self, network: str, metric: str) -> pd.DataFrame:
        """Returns the share [0 to 1] of the variation that each component explains, a row per seed."""
        tables = {
            seed: analysis.variation.set_index("component")
            for seed, analysis in self._analysis(network, metric).items()
        }
        terms = [name for name in next(iter(tables.values())).index[3:] if name != "error"]
        return pd.DataFrame({seed: table.loc[terms, "percent"] / 100 for seed, table in tables.items()}).T

    def effects(self, network: str, metric: str, factor: str) -> tuple[pd.DataFrame, pd.Series]:
        """Returns the main effects by level, and the half-widths of their intervals, a row per seed."""
        effects, halves = {}, {}
        for seed, analysis in self._analysis(network, metric).items():
            table = analysis.effects(LEVEL)
            of_factor = table[table["component"] == factor].set_index("level")
            effects[seed] = of_factor["effect"]
            halves[seed] = float((of_factor["high"] - of_factor["low"]).iloc[0]) / 2
        return pd.DataFrame(effects).T, pd.Series(halves)


def largest_share(network: str, metric: str, component: str, beside: tuple[str, ...] = ()) -> Conditions:
    """Returns the condition that a component's share exceeds that of every other one except those in `beside`."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        shares = Documents(runs).shares(network, metric)
        largest_other = shares.drop(columns=[component, *beside]).max(axis="columns")
        rank = "largest other" if not beside else "largest below " + ", ".join(NAMES[name] for name in beside)
        what = f"{network}: share({NAMES[component]}) - {rank} share, of {LETTERS[metric]}"
        yield Condition(what, shares[component] - largest_other, above=0.0)

    return conditions


def apart(network: str, *order: str, names: Mapping[str, str] | None = None) -> Conditions:
    """Returns the conditions that the intervals of the flavors' effects on efficiency do not overlap.

    `order` lists the flavors, the one with the largest effect first.
    `names` contains the flavors' names in reports, if these differ from their levels.
    """

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        effects, half = Documents(runs).effects(network, "efficiency", "tcp")
        for more, less in pairwise(order):
            gap = effects[more] - effects[less] - 2 * half
            what = f"{network}: gap between the intervals of {_named(names, more)} and {_named(names, less)}"
            yield Condition(what, gap, above=0.0)

    return conditions


def overlap(network: str, *flavors: str, names: Mapping[str, str] | None = None) -> Conditions:
    """Returns the condition that intervals of these flavors' effects on efficiency all overlap.

    `names` contains the flavors' names in reports, if these differ from their levels.
    """

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        effects, half = Documents(runs).effects(network, "efficiency", "tcp")
        among = effects[list(flavors)]
        distance = among.max(axis="columns") - among.min(axis="columns") - 2 * half
        *first, last = (_named(names, flavor) for flavor in flavors)
        what = f"{network}: gap between the intervals of {', '.join(first)} and {last}"
        yield Condition(what, distance, below=0.0)

    return conditions


def _named(names: Mapping[str, str] | None, flavor: str) -> str:
    return flavor if names is None else names[flavor]


def together(*parts: Conditions) -> Conditions:
    """Returns the conditions of all parts."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        for part in parts:
            yield from part(runs)

    return conditions


def policy_matters_little(runs: pd.DataFrame) -> Iterator[Condition]:
    """Requires that the drop policy explains less than 2 % of the variation of efficiency over MEO and GEO."""
    for network in ("meo", "geo"):
        share = Documents(runs).shares(network, "efficiency")["policy"]
        yield Condition(f"{network}: share(policy) of E", share, below=0.02, neutral=0.0)


# Largest main effects on fairness in Tables 9 and 12, which the document calls very small, and half a unit of their
# last digit.
LARGEST_EFFECT: Final = {"meo": 0.0062 + 5e-5, "geo": 0.0098 + 5e-5}


def small_effects_on_fairness(network: str) -> Conditions:
    """Returns the condition that no main effect on fairness is larger than the document's largest, of either sign."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        documents, limit = Documents(runs), LARGEST_EFFECT[network]
        for factor in FACTORS:
            effects, _ = documents.effects(network, "fairness", factor)
            for level in effects:
                name = f"{network}: main effect on F of {NAMES[factor]} {level}"
                yield Condition(name, effects[level], above=-limit, below=limit)

    return conditions
