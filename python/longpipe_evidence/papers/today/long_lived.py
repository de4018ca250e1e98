"""Conclusions of frr-96, gr-97 and buf-97 as conditions on long-lived flows over IP.

Each function yields the conditions of the conclusion that its entry in QUESTIONS, at the end, states in words. A
condition compares means by seed; E is efficiency, F fairness and N the number of sources.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pandas as pd

from longpipe.analysis.anova import anova
from longpipe.analysis.claims import Condition, mean_by_seed
from longpipe_evidence.papers.today.conclusions import Question
from longpipe_evidence.papers.today.paths import PATHS, QUEUE_NAMES

LETTERS: Final = {"efficiency": "E", "fairness": "F"}
# Queues for conclusions about the buffer: one that lets it fill, and one that keeps it short.
OF_BUFFERS: Final = ("tail-drop", "fq-codel")
# Smallest and sufficient buffer [RTT], and smallest and largest number of sources of the design.
MIN_RTT, ENOUGH_RTT = 0.0625, 0.5
FEW, MANY = 5, 50


def _difference(runs: pd.DataFrame, metric: str, more: Mapping[str, object], less: Mapping[str, object]) -> pd.Series:
    """Returns, by seed, a metric's mean over the runs with the levels `more`, minus that with the levels `less`."""
    return mean_by_seed(runs, metric, **more) - mean_by_seed(runs, metric, **less)


def _small_buffers_suffer(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in PATHS:
        at: dict[str, object] = {"network": network, "policy": "tail-drop"}
        for metric, letter in LETTERS.items():
            gain = _difference(runs, metric, {**at, "buffer_rtt": 1.0}, {**at, "buffer_rtt": MIN_RTT})
            yield Condition(f"{network}, tail drop: {letter}(1 RTT) - {letter}(1/16 RTT)", gain, above=0.0)


def _timeouts_matter(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in PATHS:
        at: dict[str, object] = {"network": network, "policy": "tail-drop", "buffer_rtt": MIN_RTT}
        timeouts, recoveries = (mean_by_seed(runs, name, **at) for name in ("timeouts", "recoveries"))
        share = timeouts / (timeouts + recoveries)
        yield Condition(f"{network}, tail drop, 1/16 RTT: share of timeouts among recoveries", share, above=0.5)


def _selective_drop(runs: pd.DataFrame) -> Iterator[Condition]:
    for metric, letter in (("fairness", "F"), ("efficiency", "E")):
        for network in PATHS:
            more, less = ({"network": network, "policy": policy} for policy in ("selective-drop", "tail-drop"))
            gain = _difference(runs, metric, more, less)
            yield Condition(f"{network}: {letter}(Selective Drop) - {letter}(tail drop)", gain, above=0.0)


def _fq_codel_is_best(runs: pd.DataFrame) -> Iterator[Condition]:
    for metric, letter in LETTERS.items():
        for network in PATHS:
            means = {policy: mean_by_seed(runs, metric, network=network, policy=policy) for policy in QUEUE_NAMES}
            fq_codel = means.pop("fq-codel")
            lead = fq_codel - pd.DataFrame(means).max(axis="columns")
            yield Condition(f"{network}: {letter}(FQ-CoDel) - largest other {letter}", lead, above=0.0)


def _needless(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in PATHS:
        share = mean_by_seed(runs, "needless", network=network)
        yield Condition(f"{network}: share of retransmissions of segments that were not lost", share, above=0.01)


def _little_beyond(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether Selective Drop and FBA change efficiency little, and what they change in fairness."""
    for network in PATHS:
        drop, fba, tail = ({"network": network, "policy": policy} for policy in ("selective-drop", "fba", "tail-drop"))
        for more, name in ((drop, "Selective Drop"), (fba, "FBA")):
            gain = _difference(runs, "efficiency", more, tail)
            yield Condition(f"{network}: E({name}) - E(tail drop)", gain, above=-0.06, below=0.06, neutral=0.0)
        gain = _difference(runs, "fairness", drop, tail)
        yield Condition(f"{network}: F(Selective Drop) - F(tail drop)", gain, above=0.0)
    # The shortest link, the most sources and the smallest buffer, as in the document's case.
    at: dict[str, object] = {"network": "leo", "sources": MANY, "buffer_rtt": MIN_RTT}
    loss = _difference(runs, "fairness", {**at, "policy": "tail-drop"}, {**at, "policy": "fba"})
    yield Condition(f"leo, N {MANY}, 1/16 RTT: F(tail drop) - F(FBA)", loss, above=0.0)


def _senders_matter_most(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether the sender explains most of the variation of efficiency over GEO, and in which order."""
    chosen = runs[runs["network"] == "geo"]
    factors = ("tcp", "policy", "buffer_rtt", "sources")
    shares = {}
    for seed, of_seed in chosen.groupby("seed"):
        variation = anova(of_seed, "efficiency", factors, order=2).variation.set_index("component")["percent"]
        shares[seed] = variation["tcp"] / 100 - variation[list(factors[1:])].max() / 100
    yield Condition("geo: share(sender) - largest other main share, of E", pd.Series(shares), above=0.0)
    means = {tcp: mean_by_seed(chosen, "efficiency", tcp=tcp) for tcp in ("linux-reno", "cubic", "bbr3")}
    best = means["bbr3"] - pd.DataFrame([means["cubic"], means["linux-reno"]]).max()
    yield Condition("geo: E(BBRv3) - largest other E", best, above=0.0)
    worst = pd.DataFrame([means["cubic"], means["bbr3"]]).min() - means["linux-reno"]
    yield Condition("geo: smallest other E - E(Reno)", worst, above=0.0)


def _tiny_fails(runs: pd.DataFrame) -> Iterator[Condition]:
    for policy in OF_BUFFERS:
        for network in PATHS:
            at: dict[str, object] = {"network": network, "policy": policy, "sources": MANY}
            chosen = pd.DataFrame({b: mean_by_seed(runs, "efficiency", buffer_rtt=b, **at) for b in _buffers(runs)})
            short = chosen[MIN_RTT] - chosen.max(axis="columns") / 2
            name = f"{network}, {QUEUE_NAMES[policy]}: E(N {MANY}, 1/16 RTT) - half of the best of any buffer"
            yield Condition(name, short, below=0.0)


def _rises(runs: pd.DataFrame) -> Iterator[Condition]:
    for policy in OF_BUFFERS:
        for network in PATHS:
            at: dict[str, object] = {"network": network, "policy": policy}
            for less, more in ((MIN_RTT, ENOUGH_RTT), (ENOUGH_RTT, 1.0)):
                gain = _difference(runs, "efficiency", {**at, "buffer_rtt": more}, {**at, "buffer_rtt": less})
                name = f"{network}, {QUEUE_NAMES[policy]}: E({more:g} RTT) - E({less:g} RTT)"
                yield Condition(name, gain, above=0.0)


def _levels_off(runs: pd.DataFrame) -> Iterator[Condition]:
    for policy in OF_BUFFERS:
        for network in PATHS:
            at: dict[str, object] = {"network": network, "policy": policy}
            gain = _difference(runs, "efficiency", {**at, "buffer_rtt": 2.0}, {**at, "buffer_rtt": 1.0})
            yield Condition(f"{network}, {QUEUE_NAMES[policy]}: E(2 RTT) - E(1 RTT)", gain, above=-0.02, below=0.02)


def _half_is_enough(runs: pd.DataFrame) -> Iterator[Condition]:
    """Compares with the best buffer, because slow start alone costs 2 to 10 % of these runs."""
    for policy in OF_BUFFERS:
        for network in PATHS:
            for n in (FEW, MANY):
                at: dict[str, object] = {"network": network, "policy": policy, "sources": n}
                means = pd.DataFrame({b: mean_by_seed(runs, "efficiency", buffer_rtt=b, **at) for b in _buffers(runs)})
                share = means[ENOUGH_RTT] / means.max(axis="columns")
                yield Condition(f"{network}, {QUEUE_NAMES[policy]}, N {n}: E(1/2 RTT) / best E", share, above=0.98)


def _knee_sharpens(runs: pd.DataFrame) -> Iterator[Condition]:
    """Yields whether more sources gain more from a larger buffer, on each link."""
    for network in PATHS:
        at: dict[str, object] = {"network": network, "policy": "tail-drop"}
        gains = {
            n: _difference(
                runs,
                "efficiency",
                {**at, "sources": n, "buffer_rtt": ENOUGH_RTT},
                {**at, "sources": n, "buffer_rtt": MIN_RTT},
            )
            for n in (FEW, MANY)
        }
        name = f"{network}, tail drop: gain of E from 1/16 to 1/2 RTT, N {MANY} - N {FEW}"
        yield Condition(name, gains[MANY] - gains[FEW], above=0.0)


def _more_can_cost(runs: pd.DataFrame) -> Iterator[Condition]:
    for network in ("meo", "geo"):
        at: dict[str, object] = {"network": network, "policy": "tail-drop", "sources": FEW}
        cost = _difference(runs, "efficiency", {**at, "buffer_rtt": 1.0}, {**at, "buffer_rtt": 2.0})
        yield Condition(f"{network}, tail drop, N {FEW}: E(1 RTT) - E(2 RTT)", cost, above=0.0)
        needless = _difference(runs, "needless", {**at, "buffer_rtt": 2.0}, {**at, "buffer_rtt": ENOUGH_RTT})
        name = f"{network}, tail drop, N {FEW}: share of needless retransmissions, 2 RTT - 1/2 RTT"
        yield Condition(name, needless, above=0.0)


def _fair(runs: pd.DataFrame) -> Iterator[Condition]:
    chosen = runs[runs["buffer_rtt"] >= ENOUGH_RTT]
    for policy in OF_BUFFERS:
        for network in PATHS:
            fairness = mean_by_seed(chosen, "fairness", network=network, policy=policy, sources=MANY)
            yield Condition(f"{network}, {QUEUE_NAMES[policy]}: F(N {MANY}, 1/2 RTT or more)", fairness, above=0.95)


def _buffers(runs: pd.DataFrame) -> list[float]:
    return sorted(float(buffer) for buffer in runs["buffer_rtt"].unique())


DESIGN: Final = "long-lived"
QUESTIONS: Final = (
    Question(
        "F2",
        DESIGN,
        "A small buffer with tail drop gives less efficiency and less fairness than a buffer of one round trip",
        _small_buffers_suffer,
        (
            "A buffer below half a round trip empties before a reduced window has grown again; fairness follows the"
            " sender more than the buffer."
        ),
    ),
    Question(
        "F3",
        DESIGN,
        "With small buffers most recoveries are timeouts",
        _timeouts_matter,
        (
            "RACK-TLP repairs losses within a few round trips, and the timer has a resolution of a millisecond: "
            "timeouts are rare."
        ),
    ),
    Question(
        "F6",
        DESIGN,
        "Selective Drop is fairer than tail drop, and more efficient",
        _selective_drop,
        (
            "Selective Drop drops packets of the flows that occupy most of the buffer. Tail drop uses the whole "
            "buffer, so there is no efficiency to gain."
        ),
    ),
    Question(
        "F7",
        DESIGN,
        "The queue that accounts for each flow, FQ-CoDel, has the best efficiency and fairness",
        _fq_codel_is_best,
        (
            "A queue for each flow is fairest. CoDel drops after 100 ms above its target, which is less than a "
            "round trip over MEO and GEO, and empties the link there."
        ),
    ),
    Question(
        "F10",
        DESIGN,
        "More than 1 % of the retransmissions are of segments that were not lost",
        _needless,
        "Selective acknowledgments report what has arrived, and RACK waits for reordering before it declares a loss.",
    ),
    Question(
        "F13",
        DESIGN,
        (
            "Selective Drop and FBA change the efficiency of tail drop by less than .06; Selective Drop is fairer, and "
            "FBA less fair over LEO with 50 flows and a sixteenth of a round trip"
        ),
        _little_beyond,
        "Tail drop is efficient already; Selective Drop adds fairness, more at short delays than at long ones.",
    ),
    Question(
        "G6",
        DESIGN,
        "Over GEO the sender makes the most difference; the newest is best, the oldest worst",
        _senders_matter_most,
        (
            "The sender matters, but not by its age: CUBIC fills a long path, BBRv3 leaves headroom, and Reno grows"
            " by one segment a round trip."
        ),
    ),
    Question(
        "B1",
        DESIGN,
        "With 50 flows a sixteenth of a round trip gives less than half of the best efficiency",
        _tiny_fails,
        (
            "Windows of many small packets, selective acknowledgments and starts at different times prevent "
            "synchronization."
        ),
    ),
    Question(
        "B2",
        DESIGN,
        "Efficiency rises with the buffer up to one round trip",
        _rises,
        (
            "Tail drop uses a larger buffer up to one round trip where few flows halve their windows; FQ-CoDel keeps "
            "its queue short with any buffer."
        ),
    ),
    Question(
        "B3",
        DESIGN,
        "Beyond one round trip the efficiency stays within .02",
        _levels_off,
        "One round trip of data bridges any sender's reduction.",
    ),
    Question(
        "B4",
        DESIGN,
        "Half a round trip gives 98 % of the efficiency of the best buffer, for any number of flows",
        _half_is_enough,
        (
            "CUBIC reduces its window to .7 and needs less than half a round trip; Reno halves it and with few flows "
            "needs a whole round trip. FQ-CoDel does not fill its buffer."
        ),
    ),
    Question(
        "B5",
        DESIGN,
        "The gain from 1/16 to 1/2 RTT is larger for 50 flows than for 5",
        _knee_sharpens,
        "Few flows gain most: each of their reductions leaves the link idle, while 50 flows reduce at different times.",
    ),
    Question(
        "B6",
        DESIGN,
        "Over MEO and GEO 2 RTT cost 5 flows efficiency, because packets that wait in the buffer are retransmitted",
        _more_can_cost,
        "The timer follows the measured round trip, which includes the queue, and a tail loss probe precedes it.",
    ),
    Question(
        "B7",
        DESIGN,
        "50 flows have a fairness over .95",
        _fair,
        (
            "FQ-CoDel divides the link equally. With a single queue, the flows that grew first keep their lead "
            "throughout these runs."
        ),
    ),
)
