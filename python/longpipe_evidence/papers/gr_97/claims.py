"""Conclusions of ATM Forum/97-0424, as conditions on replicated runs."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Claim, Condition, Conditions, mean_by_seed

LETTERS: Final = {"efficiency": "E", "fairness": "F"}
PERIODS: Final = "1+2"
# Parts of the runs that only claims need: without the fitted settings, and with bursts longer than the round trip.
PLAIN_TIMER: Final = "no fitted settings"
LONG_BURSTS: Final = "long bursts"
# Part of the runs with one phase of the clock, of which the seed then draws the order of simultaneous cells only.
FIXED_PHASE: Final = "first tick at 30 ms"
LONG_BURST_MS: Final = 3000
BURST_MS: Final = 300
# Propagation delay of the satellite link and back.
SATELLITE_RTT_S: Final = 0.55
# Share of the link with which VBR's bursts are served while UBR has cells waiting, by GR.
FLATTENED: Final = {0.1: 0.9, 0.5: 0.5}
RIVALS: Final = {"policy": "policy", "guaranteed_rate": "GR", "tcp": "TCP"}

Chosen = Mapping[str, object]


def _difference(runs: pd.DataFrame, metric: str, more: Chosen, less: Chosen) -> Condition:
    names = [", ".join(str(level) for level in factors.values()) for factors in (more, less)]
    by_seed = mean_by_seed(runs, metric, **more) - mean_by_seed(runs, metric, **less)
    return Condition(f"{LETTERS[metric]}({names[0]}) - {LETTERS[metric]}({names[1]})", by_seed, above=0.0)


def _of_rates(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """Returns the runs of Tables 3 to 9: all TCP variants, policies and guaranteed rates with VBR bursts of 300 ms."""
    return runs[runs["table"].notna() & (runs["table"] != PERIODS) & (runs["network"] == network)]


def _of_the_document(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the LAN's runs without the two fitted settings (Vanilla TCP does not use them), for common seeds only."""
    vanilla = _of_rates(runs, "lan")
    vanilla = vanilla[vanilla["tcp"] == "vanilla"]
    plain = runs[runs["part"] == PLAIN_TIMER]
    both = pd.concat([vanilla[vanilla["seed"].isin(plain["seed"])], plain])
    return both.assign(table="3+5")


def _shares(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """Returns the share [0 to 1] of the variation of efficiency that each component explains, a row per seed."""

    def of_one_seed(chosen: pd.DataFrame) -> dict[str, float]:
        y = chosen["efficiency"]
        total = float(((y - y.mean()) ** 2).sum()) or math.nan
        return {
            factor: float(((y.groupby(chosen[factor]).transform("mean") - y.mean()) ** 2).sum()) / total
            for factor in RIVALS
        }

    shares = {seed: of_one_seed(chosen) for seed, chosen in _of_rates(runs, network).groupby("seed")}
    return pd.DataFrame.from_dict(shares, orient="index")


def _dominates(network: str, factor: str) -> Conditions:
    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        shares = _shares(runs, network)
        for other, name in RIVALS.items():
            if other != factor:
                yield Condition(f"share({RIVALS[factor]}) - share({name})", shares[factor] - shares[other], above=0.0)

    return conditions


def _longer_bursts_hurt(runs: pd.DataFrame) -> Iterator[Condition]:
    yield from _by_period(runs[(runs["table"] == PERIODS) & (runs["network"] == "wan")])


def _longer_bursts_hurt_in_a_phase(runs: pd.DataFrame) -> Iterator[Condition]:
    yield from _by_period(runs[runs["part"] == FIXED_PHASE].assign(table=PERIODS))


def _by_period(chosen: pd.DataFrame) -> Iterator[Condition]:
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


def _dominates_without_fit(runs: pd.DataFrame) -> Iterator[Condition]:
    yield from _dominates("lan", "policy")(_of_the_document(runs))


def _policy_matters_less(runs: pd.DataFrame) -> Iterator[Condition]:
    lan, wan = (_shares(runs, network)["policy"] for network in ("lan", "wan"))
    yield Condition("share(policy) of E, lan - wan", lan - wan, above=0.0)


def _selective_drop_under_priority(runs: pd.DataFrame) -> Iterator[Condition]:
    chosen = runs[(runs["table"] == PERIODS) & (runs["network"] == "lan")]
    for metric in LETTERS:
        yield _difference(chosen, metric, {"policy": "selective-drop"}, {"policy": "tail-drop"})


def _starvation_decides(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether a guaranteed rate helps over a satellite with long bursts, and more than with short ones."""
    long = runs[runs["part"] == LONG_BURSTS]
    short = _of_rates(runs, "satellite")
    short = short[(short["buffer_cells"] == long["buffer_cells"].iloc[0]) & (short["policy"] == "selective-drop")]

    def gain(chosen: pd.DataFrame) -> pd.Series:
        """Returns the efficiency with a GR of 0.5 minus the efficiency without one."""
        with_rate, without = (mean_by_seed(chosen, "true_efficiency", guaranteed_rate=rate) for rate in (0.5, 0.0))
        return with_rate - without

    name = f"satellite: E(GR 0.5) - E(GR 0) with bursts of {LONG_BURST_MS} ms"
    yield Condition(name, gain(long), above=0.0)
    yield Condition(f"{name}, minus that with {BURST_MS} ms", (gain(long) - gain(short)).dropna(), above=0.0)


def _bursts_tolerated(runs: pd.DataFrame) -> Iterator[Condition]:
    for tcp in ("vanilla", "reno", "sack"):
        timeout = mean_by_seed(runs[runs["part"] == "recorded"], "rto_s", tcp=tcp)
        name = f"satellite, GR 0: median of the retransmission timeout - round trip of {SATELLITE_RTT_S:g} s [s], {tcp}"
        yield Condition(name, timeout - SATELLITE_RTT_S, above=1e-3 * BURST_MS)


def _timeout_near_a_second(runs: pd.DataFrame) -> Iterator[Condition]:
    for tcp in ("vanilla", "reno", "sack"):
        timeouts_s = mean_by_seed(runs[runs["part"] == "recorded"], "rto_s", tcp=tcp)
        yield Condition(f"satellite, GR 0: median of the retransmission timeout [s], {tcp}", timeouts_s, 0.7, 1.3, 1.0)


def _bursts_flattened(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether a guaranteed rate leaves VBR the expected share of the link in a burst."""
    chosen = _of_rates(runs, "wan")
    alone = mean_by_seed(chosen, "vbr_longest_delay_s", guaranteed_rate=0.0)
    for rate, share in FLATTENED.items():
        # A burst of length T at the link's rate, served at `share` of it, ends after T / share, when its last cell is
        # served.
        wait_s = mean_by_seed(chosen, "vbr_longest_delay_s", guaranteed_rate=rate) - alone
        shares = 1e-3 * BURST_MS / (1e-3 * BURST_MS + wait_s)
        yield Condition(
            f"wan: VBR's share of the link in a burst, GR {rate:g}", shares, share - 0.02, share + 0.02, share
        )


def _others_matter_little(runs: pd.DataFrame) -> Iterator[Condition]:
    shares = _shares(runs, "satellite")
    for factor in ("guaranteed_rate", "policy"):
        yield Condition(f"share(TCP)/5 - share({RIVALS[factor]})", shares["tcp"] / 5 - shares[factor], above=0.0)


CLAIMS: Final = (
    Claim("gr-1", "On the WAN longer bursts of VBR lower TCP's efficiency", _longer_bursts_hurt),
    Claim(
        "gr-1-phase",
        "The same with the first tick of the hosts' common clock at 30 ms",
        _longer_bursts_hurt_in_a_phase,
        published=False,
        note="Of the phases that were tried, this one gives means closest to the printed ones.",
    ),
    Claim("gr-2", "On the LAN Selective Drop helps with any TCP and GR", _selective_drop_helps),
    Claim(
        "gr-3",
        "On the LAN the drop policy dominates",
        _dominates("lan", "policy"),
        note="Only with the fitted settings of Reno and SACK (200 ms between fast retransmits): see gr-3-plain.",
    ),
    Claim(
        "gr-3-plain",
        "The same without the two fitted settings, which no document states",
        _dominates_without_fit,
        published=False,
    ),
    Claim("gr-4", "On the WAN a GR of 0 hurts", _starving_hurts),
    Claim("gr-5", "On the WAN the GR dominates", _dominates("wan", "guaranteed_rate")),
    Claim("gr-6", "Over the satellite the TCP flavor dominates", _dominates("satellite", "tcp")),
    Claim("gr-7", "Over the satellite SACK is best and Reno worst", _sack_best_reno_worst),
    Claim(
        "gr-8",
        "Over the satellite GR and drop policy matter little",
        _others_matter_little,
        note="The limit, a fifth of what the TCP flavor explains, is longpipe's own.",
    ),
    Claim("gr-9", "The drop policy matters less on the WAN than on the LAN", _policy_matters_less),
    Claim(
        "gr-10",
        "On the LAN with VBR of strict priority Selective Drop improves SACK",
        _selective_drop_under_priority,
    ),
    Claim(
        "gr-11",
        "Over the satellite a GR helps if UBR is starved for longer than the round trip",
        _starvation_decides,
        published=False,
        note="Judged by additional runs of longpipe: bursts of 3 s in place of 300 ms, 200 000 cells, Selective Drop.",
    ),
    Claim(
        "gr-12",
        "A GR of .1 or .5 flattens VBR's bursts to 90 or 50 % of the link (Figure 2)",
        _bursts_flattened,
        published=False,
        note="Computed from the longest wait of a VBR cell; the tolerance of .02 is longpipe's own.",
    ),
    Claim(
        "gr-13",
        "Over the satellite the retransmission timeout tolerates a delay of 300 ms beyond the round trip",
        _bursts_tolerated,
        published=False,
    ),
    Claim(
        "gr-13-second",
        "Over the satellite the retransmission timeout is close to 1 s",
        _timeout_near_a_second,
        published=False,
        note="Timeouts are multiples of 100 ms; the limits of .7 and 1.3 s for close are longpipe's own.",
    ),
)
