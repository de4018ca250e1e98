"""Conclusions of www-98 as conditions on today's web pages, judged by its own analysis of variation."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pandas as pd

from longpipe.analysis.claims import Condition, Conditions, mean_by_seed
from longpipe_evidence.papers.today.conclusions import SMALL, Question
from longpipe_evidence.papers.today.paths import PATHS, SENDERS
from longpipe_evidence.papers.www_98.variation import (
    Documents,
    apart,
    largest_share,
    overlap,
    policy_matters_little,
    small_effects_on_fairness,
    together,
)

# The document's WAN and today's LEO are the most similar of their links.
NEAR: Final = "leo"
BUFFERS: Final = (0.5, 1.0, 2.0)
# Policies: Selective Drop and tail drop; for whole packets, EPD is equal to tail drop.
PAIR: Final = ("selective-drop", "tail-drop")


def _mean(runs: pd.DataFrame, metric: str, network: str, **factors: object) -> pd.Series:
    return mean_by_seed(runs[runs["network"] == network], metric, **factors)


def _rises(runs: pd.DataFrame) -> Iterator[Condition]:
    for less, more in pairwise(BUFFERS):
        rise = _mean(runs, "efficiency", NEAR, buffer_bdp=more) - _mean(runs, "efficiency", NEAR, buffer_bdp=less)
        yield Condition(f"{NEAR}: E({more:g} RTT) - E({less:g} RTT)", rise, above=0.0)


def _gain(runs: pd.DataFrame, network: str, less: float, more: float, **factors: object) -> pd.Series:
    large, small = (_mean(runs, "efficiency", network, buffer_bdp=buffer, **factors) for buffer in (more, less))
    return large - small


def _old_gain(runs: pd.DataFrame) -> Iterator[Condition]:
    old = _gain(runs, NEAR, 1.0, 2.0, tcp="linux-reno")
    new = pd.DataFrame([_gain(runs, NEAR, 1.0, 2.0, tcp=tcp) for tcp in ("cubic", "bbr3")]).mean()
    yield Condition(f"{NEAR}: gain of E from 1 to 2 RTT, Reno - CUBIC and BBRv3", old - new, above=0.0)


def _selective_drop(senders: tuple[str, ...], **limits: float) -> Conditions:
    """Returns the efficiency of Selective Drop minus that of tail drop over LEO, for each sender and buffer."""

    def conditions(runs: pd.DataFrame) -> Iterator[Condition]:
        for tcp in senders:
            for buffer in BUFFERS:
                efficiencies = [_mean(runs, "efficiency", NEAR, policy=p, tcp=tcp, buffer_bdp=buffer) for p in PAIR]
                name = f"{NEAR}, {SENDERS[tcp]}, {buffer:g} RTT: E(Selective Drop) - E(tail drop)"
                yield Condition(name, efficiencies[0] - efficiencies[1], **limits)

    return conditions


def _policy_matters_to_reno_alone(runs: pd.DataFrame) -> Iterator[Condition]:
    """Requires that the queue changes Reno's efficiency, because otherwise likeness of the others means nothing."""
    yield from _selective_drop(("cubic", "bbr3"), above=-0.04, below=0.04, neutral=0.0)(runs)
    changes = {
        tcp: pd.DataFrame(
            [
                _mean(runs, "efficiency", NEAR, policy=PAIR[0], tcp=tcp, buffer_bdp=buffer)
                - _mean(runs, "efficiency", NEAR, policy=PAIR[1], tcp=tcp, buffer_bdp=buffer)
                for buffer in BUFFERS
            ]
        )
        .abs()
        .mean()
        for tcp in SENDERS
    }
    more = changes["linux-reno"] - pd.DataFrame([changes["cubic"], changes["bbr3"]]).max()
    name = f"{NEAR}: change of E by the queue, mean over buffers, Reno - largest of CUBIC and BBRv3"
    yield Condition(name, more, above=SMALL, neutral=0.0)


def _congested(runs: pd.DataFrame) -> Iterator[Condition]:
    for policy in PAIR:
        efficiencies = [
            _mean(runs, "efficiency", NEAR, tcp=t, policy=policy, buffer_bdp=0.5) for t in ("cubic", "bbr3")
        ]
        yield Condition(f"{NEAR}, 1/2 RTT, {policy}: E(CUBIC) - E(BBRv3)", efficiencies[0] - efficiencies[1], above=0.0)


def _fairness_levels_off(runs: pd.DataFrame) -> Iterator[Condition]:
    effects, half = Documents(runs).effects(NEAR, "fairness", "buffer_bdp")
    by_buffer = {float(str(level)): effects[level] for level in effects}
    yield Condition(
        f"{NEAR}: gap between the intervals of 1 and 1/2 RTT, of F", by_buffer[1.0] - by_buffer[0.5] - 2 * half, 0.0
    )
    gap = (by_buffer[2.0] - by_buffer[1.0]).abs() - 2 * half
    yield Condition(f"{NEAR}: gap between the intervals of 2 and 1 RTT, of F", gap, below=0.0)


def _fairest(runs: pd.DataFrame) -> Iterator[Condition]:
    effects, _ = Documents(runs).effects(NEAR, "fairness", "tcp")
    best = effects["cubic"] - effects.drop(columns="cubic").max(axis="columns")
    yield Condition(f"{NEAR}: effect of CUBIC on F - largest other", best, above=0.0)
    worst = effects.drop(columns="bbr3").min(axis="columns") - effects["bbr3"]
    yield Condition(f"{NEAR}: smallest other - effect of BBRv3 on F", worst, above=0.0)


def _fair_in_small_buffers(runs: pd.DataFrame) -> Iterator[Condition]:
    for buffer, limits in ((0.5, {"above": SMALL}), (2.0, {"above": -SMALL, "below": SMALL})):
        fairnesses = [_mean(runs, "fairness", NEAR, policy=p, buffer_bdp=buffer) for p in PAIR]
        yield Condition(
            f"{NEAR}, {buffer:g} RTT: F(Selective Drop) - F(tail drop)",
            fairnesses[0] - fairnesses[1],
            **limits,
            neutral=0.0,
        )


def _small_gains_over_meo(runs: pd.DataFrame) -> Iterator[Condition]:
    yield from largest_share("meo", "efficiency", "buffer_bdp", beside=("tcp",))(runs)
    for tcp, name in SENDERS.items():
        gain = _gain(runs, "meo", 0.5, 2.0, tcp=tcp) / _mean(runs, "efficiency", "meo", tcp=tcp, buffer_bdp=0.5)
        limits = {"above": 0.035, "below": 0.085} if tcp == "linux-reno" else {"below": 0.025}
        yield Condition(f"meo: relative gain of E from 1/2 to 2 RTT, {name}", gain, **limits)


def _two_round_trips_over_geo(runs: pd.DataFrame) -> Iterator[Condition]:
    effects, half = Documents(runs).effects("geo", "efficiency", "buffer_bdp")
    by_buffer = {float(str(level)): effects[level] for level in effects}
    gap = (by_buffer[1.0] - by_buffer[0.5]).abs() - 2 * half
    yield Condition("geo: gap between the intervals of 1 and 1/2 RTT, of E", gap, below=0.0)
    yield Condition("geo: effect of 2 RTT - effect of 1 RTT, of E", by_buffer[2.0] - by_buffer[1.0], above=0.0)
    yield Condition("geo: E(2 RTT) - E(1 RTT), Reno", _gain(runs, "geo", 1.0, 2.0, tcp="linux-reno"), above=0.02)


def _lead_grows(runs: pd.DataFrame) -> Iterator[Condition]:
    leads = {
        network: _mean(runs, "efficiency", network, tcp="bbr3") - _mean(runs, "efficiency", network, tcp="cubic")
        for network in PATHS
    }
    for near, far in pairwise(leads):
        yield Condition(f"lead of BBRv3 over CUBIC in E, {far} - {near}", leads[far] - leads[near], above=0.0)


def _buffers_matter_near(runs: pd.DataFrame) -> Iterator[Condition]:
    gains = {network: _gain(runs, network, 0.5, 2.0) for network in PATHS}
    for far in ("meo", "geo"):
        yield Condition(f"gain of E from 1/2 to 2 RTT, {NEAR} - {far}", gains[NEAR] - gains[far], above=0.0)
    shares = {network: Documents(runs).shares(network, "efficiency") for network in (NEAR, "geo")}
    lead = {
        network: components["tcp"] - components[["buffer_bdp", "policy"]].sum(axis="columns")
        for network, components in shares.items()
    }
    name = f"share(tcp) - share(buffer) - share(policy) of E, geo - {NEAR}"
    yield Condition(name, lead["geo"] - lead[NEAR], above=0.0)


def _less_fair_near(runs: pd.DataFrame) -> Iterator[Condition]:
    documents = Documents(runs)
    for network in PATHS:
        effects, _ = documents.effects(network, "fairness", "tcp")
        limits = {"above": SMALL} if network == NEAR else {"above": -2 * SMALL, "below": 2 * SMALL}
        difference = effects["cubic"] - effects["bbr3"]
        yield Condition(f"{network}: effect on F of CUBIC - of BBRv3", difference, **limits, neutral=0.0)


DESIGN: Final = "web"
QUESTIONS: Final = (
    Question(
        "W1",
        DESIGN,
        "The sender explains most of the variation of efficiency on every link",
        together(*(largest_share(network, "efficiency", "tcp") for network in PATHS)),
        (
            "Over LEO and MEO efficiencies differ by a few hundredths, and over GEO the queue and its interaction "
            "with the sender weigh as much as the sender."
        ),
    ),
    Question(
        "W2",
        DESIGN,
        "LEO: CUBIC and BBRv3 are more efficient than Reno, and do not differ",
        together(
            apart(NEAR, "cubic", "linux-reno", names=SENDERS),
            apart(NEAR, "bbr3", "linux-reno", names=SENDERS),
            overlap(NEAR, "cubic", "bbr3", names=SENDERS),
        ),
        (
            "All senders have selective acknowledgments and RACK, so pages over LEO fill the link with any of them; "
            "BBRv3 loses a little by its probing."
        ),
    ),
    Question(
        "W3",
        DESIGN,
        "LEO: the buffer is the next factor after the sender, and efficiency rises with it",
        together(largest_share(NEAR, "efficiency", "buffer_bdp", beside=("tcp",)), _rises),
        "52 clients with 71 requests each keep the link busy with half a round trip of buffer.",
    ),
    Question(
        "W4",
        DESIGN,
        "LEO: Reno gains more from 1 to 2 RTT than CUBIC and BBRv3",
        _old_gain,
        "No sender gains from more than half a round trip of buffer over LEO.",
    ),
    Question(
        "W5",
        DESIGN,
        "LEO: the interaction of sender and buffer is the third component",
        largest_share(NEAR, "efficiency", "tcp:buffer_bdp", beside=("tcp", "buffer_bdp")),
        "The buffer explains next to nothing, alone or with the sender; the sender and the queue interact instead.",
    ),
    Question(
        "W6",
        DESIGN,
        "LEO: for Reno Selective Drop is more efficient than tail drop with the same buffer",
        _selective_drop(("linux-reno",), above=0.0),
        "With RACK, Reno has no loss from tail drop that Selective Drop could avoid.",
    ),
    Question(
        "W7",
        DESIGN,
        "LEO: the queue changes the efficiency of CUBIC and BBRv3 by less than .04, and that of Reno by .01 more",
        _policy_matters_to_reno_alone,
        "Recovery from several losses in a window takes a round trip under either queue, for Reno, too.",
    ),
    Question(
        "W8",
        DESIGN,
        "LEO: with half a round trip CUBIC is more efficient than BBRv3",
        _congested,
        "CUBIC fills the queue between losses, BBRv3 drains it to measure the round trip.",
    ),
    Question(
        "W9",
        DESIGN,
        "LEO: the buffer is the first factor of fairness, which rises from 1/2 to 1 RTT and not beyond",
        together(largest_share(NEAR, "fairness", "buffer_bdp"), _fairness_levels_off),
        "The queue, not the buffer, determines fairness, which is close to 1 throughout.",
    ),
    Question(
        "W10",
        DESIGN,
        "LEO: the sender is the next factor of fairness; CUBIC is fairest, BBRv3 least fair",
        together(largest_share(NEAR, "fairness", "tcp", beside=("buffer_bdp",)), _fairest),
        "The queue is the first factor. BBRv3's flows share a single queue less evenly than loss-based ones.",
    ),
    Question(
        "W11",
        DESIGN,
        "LEO: Selective Drop is fairer than tail drop by more than .01 with 1/2 RTT, and within .01 of it with 2 RTT",
        _fair_in_small_buffers,
        "Differences in fairness over LEO are a few thousandths.",
    ),
    Question(
        "W12",
        DESIGN,
        "MEO: BBRv3 is most efficient, then CUBIC, then Reno",
        apart("meo", "bbr3", "cubic", "linux-reno", names=SENDERS),
        "CUBIC, not the newest sender, is most efficient: BBRv3 leaves headroom after each loss.",
    ),
    Question(
        "W13",
        DESIGN,
        "MEO: the buffer is next; Reno gains about 5 % from 1/2 to 2 RTT, the others at most 2 %",
        _small_gains_over_meo,
        "No sender gains from a larger buffer over MEO; the queue weighs more.",
    ),
    Question(
        "W14",
        DESIGN,
        "MEO: no main effect on fairness exceeds .0062, the largest of the document",
        small_effects_on_fairness("meo"),
        "FQ-CoDel is fairer than the queues that flows share, and the senders differ.",
    ),
    Question(
        "W15",
        DESIGN,
        "MEO and GEO: the queue explains less than 2 % of the variation of efficiency",
        policy_matters_little,
        (
            "CoDel, PIE and FQ-CoDel hold the queue below a delay that is far shorter than the round trip, and "
            "leave the link idle after reductions."
        ),
    ),
    Question(
        "W16",
        DESIGN,
        "GEO: BBRv3 is more efficient than the others, which do not differ",
        together(
            apart("geo", "bbr3", "cubic", names=SENDERS),
            apart("geo", "bbr3", "linux-reno", names=SENDERS),
            overlap("geo", "cubic", "linux-reno", names=SENDERS),
        ),
        "CUBIC with a queue that fills is most efficient; Reno and BBRv3 are less efficient, for different reasons.",
    ),
    Question(
        "W17",
        DESIGN,
        "GEO: 1/2 and 1 RTT are alike and 2 RTT better; Reno gains more than .02 from 1 to 2 RTT",
        _two_round_trips_over_geo,
        "The buffer matters only with tail drop and Selective Drop, and CUBIC's reduction to .7 needs less of it.",
    ),
    Question(
        "W18",
        DESIGN,
        "GEO: no main effect on fairness exceeds .0098, the largest of the document",
        small_effects_on_fairness("geo"),
        "The queue and the sender change fairness over GEO by several hundredths.",
    ),
    Question(
        "W19",
        DESIGN,
        "The lead of BBRv3 over CUBIC grows with the delay",
        _lead_grows,
        "BBRv3 has no lead: its bound on the data in flight limits its share of a long link.",
    ),
    Question(
        "W20",
        DESIGN,
        "Buffers matter more over LEO than over MEO and GEO, and the sender matters more as the delay grows",
        _buffers_matter_near,
        "Buffers do not matter over LEO, where the link is always full; over GEO senders and queues weigh most.",
    ),
    Question(
        "W21",
        DESIGN,
        "BBRv3 is less fair than CUBIC by more than .01 over LEO, and within .02 of it over MEO and GEO",
        _less_fair_near,
        "Over LEO and MEO BBRv3 is a little less fair than CUBIC, because its flows' estimates of the rate differ.",
    ),
)
