"""What ATM Forum/98-0876 concludes, as conditions on replicated runs.

Each seed is analysed as the paper analysed its one set of runs: 24 runs a link, main effects and interactions of two
factors, 90 % intervals from what is left.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.anova import Anova, anova
from longpipe.analysis.claims import Claim, Condition, mean_by_seed

FACTORS: Final = ("tcp", "buffer_bdp", "policy")
NAMES: Final = {"tcp": "TCP", "buffer_bdp": "buffer", "policy": "policy"}
FLAVORS: Final = ("vanilla", "reno", "newreno", "sack")
LETTERS: Final = {"efficiency": "E", "fairness": "F"}
# Confidence of the paper's intervals.
LEVEL: Final = 0.9

Conditions = Callable[[pd.DataFrame], Iterator[Condition]]


class Documents:
    """The paper's analysis of each seed's runs, made once."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs = runs
        self._analysis = cache(self._analyse)

    def _analyse(self, network: str, metric: str) -> dict[object, Anova]:
        chosen = self._runs[self._runs["network"] == network]
        return {seed: anova(part, metric, FACTORS, order=2) for seed, part in chosen.groupby("seed")}

    def shares(self, network: str, metric: str) -> pd.DataFrame:
        """Share of the variation of each component [0 to 1], a row per seed."""
        found = {seed: one.variation.set_index("component") for seed, one in self._analysis(network, metric).items()}
        terms = [name for name in next(iter(found.values())).index[3:] if name != "error"]
        return pd.DataFrame({seed: table.loc[terms, "percent"] / 100 for seed, table in found.items()}).T

    def effects(self, network: str, metric: str, factor: str) -> tuple[pd.DataFrame, pd.Series]:
        """Main effects by level and half the length of their intervals, a row per seed."""
        effects, halves = {}, {}
        for seed, one in self._analysis(network, metric).items():
            table = one.effects(LEVEL)
            of_factor = table[table["component"] == factor].set_index("level")
            effects[seed] = of_factor["effect"]
            halves[seed] = float((of_factor["high"] - of_factor["low"]).iloc[0]) / 2
        return pd.DataFrame(effects).T, pd.Series(halves)


def _largest_share(network: str, metric: str, factor: str, beside: tuple[str, ...] = ()) -> Conditions:
    """The factor's share exceeds that of every other component but those in `beside`."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        shares = Documents(runs).shares(network, metric)
        others = shares.drop(columns=[factor, *beside]).max(axis="columns")
        rank = "largest other" if not beside else "largest below " + ", ".join(NAMES[name] for name in beside)
        what = f"{network}: share({NAMES[factor]}) - {rank} share, of {LETTERS[metric]}"
        yield Condition(what, shares[factor] - others, above=0.0)

    return conditions


def _apart(network: str, *order: str) -> Conditions:
    """Intervals of the flavors' effects on efficiency do not overlap, in this order, the largest first."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        effects, half = Documents(runs).effects(network, "efficiency", "tcp")
        for more, less in pairwise(order):
            gap = effects[more] - effects[less] - 2 * half
            yield Condition(f"{network}: gap between the intervals of {more} and {less}", gap, above=0.0)

    return conditions


def _overlap(network: str, *flavors: str) -> Conditions:
    """Intervals of these flavors' effects on efficiency all overlap."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        effects, half = Documents(runs).effects(network, "efficiency", "tcp")
        among = effects[list(flavors)]
        distance = among.max(axis="columns") - among.min(axis="columns") - 2 * half
        yield Condition(f"{network}: gap between the intervals of {', '.join(flavors)}", distance, below=0.0)

    return conditions


def _all(*parts: Conditions) -> Conditions:
    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        for part in parts:
            yield from part(runs)

    return conditions


def _efficiency(runs: pd.DataFrame, network: str, **factors: object) -> pd.Series:
    return mean_by_seed(runs[runs["network"] == network], "efficiency", **factors)


def _buffer_second(runs: pd.DataFrame) -> Iterator[Condition]:
    yield from _largest_share("wan", "efficiency", "buffer_bdp", beside=("tcp",))(runs)
    for less, more in pairwise((0.5, 1.0, 2.0)):
        rise = _efficiency(runs, "wan", buffer_bdp=more) - _efficiency(runs, "wan", buffer_bdp=less)
        yield Condition(f"wan: E({more:g} RTT) - E({less:g} RTT)", rise, above=0.0)


def _gain(runs: pd.DataFrame, flavors: tuple[str, ...]) -> pd.Series:
    chosen = runs[runs["tcp"].isin(flavors)]
    return _efficiency(chosen, "wan", buffer_bdp=2.0) - _efficiency(chosen, "wan", buffer_bdp=1.0)


def _old_flavors_gain(runs: pd.DataFrame) -> Iterator[Condition]:
    difference = _gain(runs, ("vanilla", "reno")) - _gain(runs, ("newreno", "sack"))
    yield Condition("wan: gain(vanilla, reno) - gain(newreno, sack), 1 to 2 RTT", difference, above=0.0)


def _newreno_under_congestion(runs: pd.DataFrame) -> Iterator[Condition]:
    for policy in ("epd", "selective-drop"):
        at = {"buffer_bdp": 0.5, "policy": policy}
        lead = _efficiency(runs, "wan", tcp="newreno", **at) - _efficiency(runs, "wan", tcp="sack", **at)
        yield Condition(f"wan, 0.5 RTT, {policy}: E(newreno) - E(sack)", lead, above=0.0)


def _fairest(runs: pd.DataFrame) -> Iterator[Condition]:
    effects, _ = Documents(runs).effects("wan", "fairness", "tcp")
    best = effects["newreno"] - effects.drop(columns="newreno").max(axis="columns")
    worst = effects.drop(columns="sack").min(axis="columns") - effects["sack"]
    yield Condition("wan: effect on F of newreno - largest other", best, above=0.0)
    yield Condition("wan: smallest other - effect on F of sack", worst, above=0.0)


def _policy_matters_little(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in ("meo", "geo"):
        share = Documents(runs).shares(network, "efficiency")["policy"]
        yield Condition(f"{network}: share(policy) of E", share, below=0.02)


def _fair_whatever(runs: pd.DataFrame) -> Iterator[Condition]:
    documents = Documents(runs)
    sizes = [documents.effects("geo", "fairness", factor)[0].abs().max(axis="columns") for factor in FACTORS]
    yield Condition("geo: largest main effect on F", pd.concat(sizes, axis="columns").max(axis="columns"), below=0.02)


def _lead_grows(runs: pd.DataFrame) -> Iterator[Condition]:
    lead = {
        network: _efficiency(runs, network, tcp="sack") - _efficiency(runs, network, tcp="newreno")
        for network in ("wan", "meo", "geo")
    }
    for near, far in pairwise(lead):
        yield Condition(f"lead of sack over newreno, {far} - {near}", lead[far] - lead[near], above=0.0)


CLAIMS: Final = (
    Claim(
        "www-1",
        "The TCP flavor explains most of the variation of efficiency on every link",
        _all(*(_largest_share(network, "efficiency", "tcp") for network in ("wan", "meo", "geo"))),
    ),
    Claim(
        "www-2",
        "WAN: NewReno and SACK beat Reno, Reno beats Vanilla",
        _all(_apart("wan", "newreno", "reno"), _apart("wan", "sack", "reno", "vanilla")),
    ),
    Claim("www-3", "WAN: NewReno and SACK can't be told apart", _overlap("wan", "newreno", "sack")),
    Claim("www-4", "WAN: the buffer is the second factor, and efficiency rises with it", _buffer_second),
    Claim("www-5", "WAN: only Vanilla and Reno gain much from 1 to 2 RTT of buffer", _old_flavors_gain),
    Claim("www-6", "WAN: under extreme congestion NewReno beats SACK", _newreno_under_congestion),
    Claim(
        "www-7",
        "WAN: the buffer explains most of the variation of fairness",
        _largest_share("wan", "fairness", "buffer_bdp"),
    ),
    Claim("www-8", "WAN: NewReno is the fairest flavor, SACK the least fair", _fairest),
    Claim("www-9", "MEO: SACK beats NewReno, NewReno Reno, Reno Vanilla", _apart("meo", *reversed(FLAVORS))),
    Claim("www-10", "MEO and GEO: the drop policy hardly matters", _policy_matters_little),
    Claim(
        "www-11",
        "GEO: SACK is above all others, which can't be told apart",
        _all(*(_apart("geo", "sack", other) for other in FLAVORS[:3]), _overlap("geo", *FLAVORS[:3])),
    ),
    Claim("www-12", "GEO: fairness depends on nothing much", _fair_whatever),
    Claim("www-13", "SACK's lead over NewReno grows with the delay", _lead_grows),
)
