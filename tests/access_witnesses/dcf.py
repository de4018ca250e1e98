"""Saturated stations that contend by the rules of IEEE 802.11, slot by slot, and Bianchi's model of them.

Every station always has a frame for the access point, all stations hear each other, and frames are lost in collisions
only. A station that has transmitted draws a back-off of 0 to CW slots and transmits when it has counted down to 0. CW
is CWmin after a success or a discarded frame; otherwise, 2 CW + 1 up to CWmax.

The rules for the first slot after a busy period differ (Tinnirello, Bianchi and Xiao, IEEE Trans. Veh. Tech. 2010):

* `dcf` (802.11a and g): a station decrements at the end of each idle slot. After a busy period a listener resumes with
  the counter that it had, at least 1, so that only a station that has just transmitted can use the first slot.
* `edca` (802.11n, ac and ax): a station decrements at the boundary at which each slot begins, also if another station
  transmits in that slot. A busy period counts as one slot for the listeners, as in Bianchi's chain.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from access_witnesses.tables import Row

Rule = Literal["dcf", "edca"]
RULES: Final[tuple[Rule, ...]] = ("dcf", "edca")
Counts = NDArray[np.int64]

CW_MIN: Final = 15
CW_MAX: Final = 1023
PAYLOAD_BITS: Final = 8 * 1500
# Transmissions of a frame before it is discarded (dot11ShortRetryLimit).
RETRY_LIMIT: Final = 7
# Duration of an ACK at the lowest mandatory rate, 6 Mbit/s, from which EIFS follows [us].
LOWEST_RATE_ACK_US: Final = 44
# Slots (in `timed`, transmissions) before counting begins. Without a retry limit, 50 stations need about 2000 slots.
WARM_UP: Final = 3000
STATIONS: Final = (5, 10, 20, 50)
SEED: Final = 65


@dataclass(frozen=True)
class Contention:
    """Idle slots, successful transmissions and collisions of each replica."""

    idle: Counts
    successes: Counts
    collisions: Counts


def contend(
    stations: int,
    rule: Rule,
    retry_limit: int | None,
    *,
    replicas: int,
    slots: int,
    window: int = CW_MIN + 1,
    largest: int = CW_MAX + 1,
) -> Contention:
    """Simulates independent replicas for a number of slots; a busy period is one slot."""
    generator = np.random.default_rng([SEED, stations, rule == "edca", retry_limit or 0, window])
    shape = (replicas, stations)
    counters = generator.integers(0, window, shape)
    failures = np.zeros(shape, dtype=np.int64)
    idle, successes, collisions = (np.zeros(replicas, dtype=np.int64) for _ in range(3))
    for slot in range(WARM_UP + slots):
        sends = counters == 0
        senders = sends.sum(axis=1)
        counts_down = (senders == 0) if rule == "dcf" else np.ones(replicas, dtype=bool)
        counters -= counts_down[:, None] & ~sends
        failures[sends] += 1
        failures[senders == 1] *= ~sends[senders == 1]
        if retry_limit is not None:
            failures[failures == retry_limit] = 0
        windows = np.minimum(window << np.minimum(failures[sends], 20), largest)
        counters[sends] = (generator.random(len(windows)) * windows).astype(np.int64)
        if slot >= WARM_UP:
            idle += senders == 0
            successes += senders == 1
            collisions += senders > 1
    return Contention(idle, successes, collisions)


@dataclass(frozen=True)
class Mode:
    """Durations [us] of a data frame and its acknowledgement, payload [bit], and the spaces between frames [us]."""

    data_us: float
    ack_us: float
    payload_bits: int = PAYLOAD_BITS
    sifs_us: float = 16
    difs_us: float = 34
    slot_us: float = 9

    @property
    def success_us(self) -> float:
        """Duration from the start of a successful frame to the end of DIFS after its acknowledgement."""
        return self.data_us + self.sifs_us + self.ack_us + self.difs_us

    def collision_us(self, after: str) -> float:
        """Duration from the start of colliding frames until counting resumes: after DIFS, or EIFS with this ACK."""
        return self.data_us + self.difs_us + (self.sifs_us + self.ack_us if after == "eifs" else 0)


def symbols(payload_bytes: int, bits_per_symbol: int) -> int:
    """Returns the number of OFDM symbols of service field (16 bit), bytes and tail (6 bit)."""
    return math.ceil((16 + 8 * payload_bytes + 6) / bits_per_symbol)


def legacy_mode(bits_per_symbol: int, ack_bits_per_symbol: int, extension_us: float = 0, **spaces: float) -> Mode:
    """Returns 802.11a or g: preamble 20 us, symbol 4 us, MAC header, FCS and upper header 34 byte as in ns-3's table."""
    data_us = 20 + 4 * symbols(1534, bits_per_symbol) + extension_us
    return Mode(data_us, 20 + 4 * symbols(14, ack_bits_per_symbol) + extension_us, **spaces)  # type: ignore[arg-type]


def high_throughput(
    preamble_us: float, symbol_us: float, bits_per_symbol: int, ack_bits_per_symbol: int = 96, frames: int = 1
) -> Mode:
    """Returns 802.11n, ac or ax: 38 byte of headers; several frames form an A-MPDU, which a block ACK acknowledges."""
    # A delimiter of 4 byte precedes each frame of an A-MPDU, whose length is a multiple of 4 byte.
    size = 1538 if frames == 1 else 4 * math.ceil(1542 / 4) * frames
    payload_us = symbol_us * symbols(size, bits_per_symbol)
    if symbol_us == 3.6:
        # With the short guard interval, the duration is a multiple of 4 us (802.11-2016 equations 19-91 and 21-108).
        payload_us = 4 * math.ceil(round(payload_us / 4, 6))
    ack_us = 20 + 4 * symbols(14 if frames == 1 else 32, ack_bits_per_symbol)
    return Mode(preamble_us + payload_us, ack_us, frames * PAYLOAD_BITS)


# Preambles: 802.11n 36 us (mixed format), ac 40 us, ax 44 us; one spatial stream of 20 MHz.
MODES: Final = {
    "11a-6": legacy_mode(24, 24),
    "11a-54": legacy_mode(216, 96),
    "11g-54": legacy_mode(216, 96, 6, sifs_us=10, difs_us=28),
    "11n-mcs7": high_throughput(36, 3.6, 260),
    "11ac-mcs8": high_throughput(40, 3.6, 312),
    "11ax-mcs0": high_throughput(44, 13.6, 117, 24),
    "11ax-mcs7": high_throughput(44, 13.6, 1170),
    "11ax-mcs11": high_throughput(44, 13.6, 1950),
    "11n-mcs7-ampdu32": high_throughput(36, 3.6, 260, frames=32),
    "11ac-mcs8-ampdu32": high_throughput(40, 3.6, 312, frames=32),
    "11ax-mcs11-ampdu32": high_throughput(44, 13.6, 1950, frames=32),
}


def standard_rule(mode: str) -> Rule:
    """Returns the rule that the standard prescribes."""
    return "dcf" if mode.startswith(("11a-", "11g-")) else "edca"


def goodput(contention: Contention, mode: Mode, after: str) -> NDArray[np.float64]:
    """Returns the goodput [Mbit/s] of all stations together in each replica."""
    elapsed_us: NDArray[np.float64] = (
        contention.idle * mode.slot_us
        + contention.successes * mode.success_us
        + contention.collisions * mode.collision_us(after)
    )
    return contention.successes * mode.payload_bits / elapsed_us


@dataclass(frozen=True)
class FixedPoint:
    """Probability that a station transmits in a slot, and that its transmission collides."""

    transmits: float
    collides: float


def fixed_point(stations: int, window: int, doublings: int) -> FixedPoint:
    """Solves Bianchi's equations (7) and (9), JSAC 18(3), 2000, by bisection; frames are never discarded."""
    lower, upper = 0.0, 1.0
    while upper - lower > 1e-13:
        transmits = (lower + upper) / 2
        collides = 1 - (1 - transmits) ** (stations - 1)
        backoff = 1 + window + collides * window * sum((2 * collides) ** stage for stage in range(doublings))
        lower, upper = (transmits, upper) if transmits < 2 / backoff else (lower, transmits)
    return FixedPoint(lower, 1 - (1 - lower) ** (stations - 1))


def bianchi(
    stations: int, window: int, doublings: int, payload: float, slot: float, success: float, collision: float
) -> float:
    """Returns payload per time (Bianchi's equation 13)."""
    transmits = fixed_point(stations, window, doublings).transmits
    idle = (1 - transmits) ** stations
    succeeds = stations * transmits * (1 - transmits) ** (stations - 1)
    return succeeds * payload / (idle * slot + succeeds * success + (1 - idle - succeeds) * collision)


def fhss(stations: int, window: int, doublings: int, *, rts: bool = False) -> float:
    """Returns the normalized throughput with Bianchi's FHSS parameters (1 Mbit/s, so that 1 bit lasts 1 us)."""
    header, payload, propagation, sifs, difs = 272 + 128, 8184, 1, 28, 128
    ack, request, clear = 112 + 128, 160 + 128, 112 + 128
    success = header + payload + sifs + propagation + ack + difs + propagation
    collision = header + payload + difs + propagation
    if rts:
        success += request + sifs + propagation + clear + sifs + propagation
        collision = request + difs + propagation
    return bianchi(stations, window, doublings, payload, 50, success, collision)


def ns3_formula(stations: int, mode: Mode, after: str, *, anomaly: bool) -> float:
    """Returns ns-3's reference [Mbit/s] (src/wifi/examples/reference): Bianchi's formula with two changes.

    The duration of a success contains one further slot. With `anomaly` (802.11a and g), payload and duration of a
    success are divided by 1 - 1/16, because a station that draws 0 transmits again at once.
    """
    share = 1 - 1 / (CW_MIN + 1) if anomaly else 1
    # ns-3 adds a propagation delay of 0.1 us if it uses EIFS.
    delay = 0.1 if after == "eifs" else 0
    success = (mode.success_us + delay) / share + mode.slot_us
    return bianchi(
        stations, CW_MIN + 1, 6, mode.payload_bits / share, mode.slot_us, success, mode.collision_us(after) + delay
    )


def timed(stations: int, rule: Rule, mode: Mode, *, events: int, seed: int) -> float:
    """Returns the goodput [Mbit/s] if stations resume at different times after a collision, as in the standard.

    Senders wait for the ACK timeout (SIFS + slot + 20 us for the start of reception) and DIFS; listeners for EIFS with
    an ACK of 44 us at 6 Mbit/s. Frames that begin within the 4 us of clear-channel assessment collide.
    """
    generator = np.random.default_rng([SEED, stations, seed])
    counters = generator.integers(0, CW_MIN + 1, stations)
    failures = np.zeros(stations, dtype=np.int64)
    resumes = np.zeros(stations)
    delivered = 0
    first_us = began_us = 0.0
    for event in range(WARM_UP + events):
        starts = resumes + counters * mode.slot_us
        first_us = starts.min()
        if event == WARM_UP:
            delivered, began_us = 0, first_us
        sends = starts < first_us + 4
        listens = ~sends
        passed = np.floor((first_us - resumes[listens]) / mode.slot_us + 1e-6) + (rule == "edca")
        counters[listens] -= np.clip(passed, 0, counters[listens] - (rule == "dcf")).astype(np.int64)
        end_us = starts[sends].max() + mode.data_us
        if sends.sum() == 1:
            delivered += mode.payload_bits
            failures[sends] = 0
            resumes[:] = end_us + mode.sifs_us + mode.ack_us + mode.difs_us
        else:
            failures[sends] = (failures[sends] + 1) % RETRY_LIMIT
            resumes[sends] = end_us + mode.sifs_us + mode.slot_us + 20 + mode.difs_us
            resumes[listens] = end_us + mode.sifs_us + LOWEST_RATE_ACK_US + mode.difs_us
        windows = np.minimum((CW_MIN + 1) << failures[sends], CW_MAX + 1)
        counters[sends] = (generator.random(len(windows)) * windows).astype(np.int64)
    return float(delivered / (first_us - began_us))


def mean_and_error(values: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the mean and its standard error over independent replicas."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


REPLICAS: Final = 64
SLOTS: Final = 12_000
# Transmissions of each of 8 seeds of `timed`.
EVENTS: Final = 6_000
HOW: Final = f"dcf.contend: {REPLICAS} replicas of {SLOTS} slots"
CLAUSES: Final = "IEEE 802.11-2016 10.3.4.3 (dcf), 10.22.2.4 (edca)"


def aifs(mode: Mode) -> Mode:
    """Returns the mode with the best-effort AIFS of 43 us (AIFSN 3) in place of DIFS."""
    return replace(mode, difs_us=mode.sifs_us + 3 * mode.slot_us)


def simulated(quantity: str, conditions: str, values: NDArray[np.float64], how: str = HOW) -> Row:
    """Returns the row of a mean over replicas."""
    mean, error = mean_and_error(values)
    return Row(quantity, conditions, f"{mean:.4f}", f"{error:.4f}", "1%", CLAUSES, how)


def rows() -> Iterator[Row]:
    """Yields the table `wifi`."""
    for stations, rule, limit in product(STATIONS, RULES, (None, RETRY_LIMIT)):
        contention = contend(stations, rule, limit, replicas=REPLICAS, slots=SLOTS)
        where = f"n={stations} first-slot={rule} retry-limit={limit or 'none'}"
        yield simulated("idle slots per success", where, contention.idle / contention.successes)
        yield simulated("collisions per success", where, contention.collisions / contention.successes)
        for name, mode in MODES.items():
            marked = f"mode={name} {where} prescribed={'yes' if rule == standard_rule(name) else 'no'}"
            for after in ("eifs", "difs") if name == "11g-54" else ("eifs",):
                yield simulated(
                    "goodput Mbit/s", f"{marked} space=difs after={after}", goodput(contention, mode, after)
                )
            if rule == standard_rule(name) == "edca" and limit:
                yield simulated(
                    "goodput Mbit/s", f"{marked} space=aifs after=eifs", goodput(contention, aifs(mode), "eifs")
                )
    for stations, name in product(STATIONS, ("11a-54", "11ax-mcs7")):
        rule = standard_rule(name)
        values = [timed(stations, rule, MODES[name], events=EVENTS, seed=seed) for seed in range(8)]
        conditions = f"mode={name} n={stations} first-slot={rule} retry-limit=7 prescribed=yes space=difs after=by-role"
        yield simulated("goodput Mbit/s", conditions, np.array(values), f"dcf.timed: 8 seeds of {EVENTS} transmissions")


COMMENT: Final = """
Wi-Fi: saturated stations, one access category (CWmin 15, CWmax 1023), payloads of 1500 byte, no losses but collisions, no
RTS, no propagation delay. error is the standard error over replicas. prescribed=yes marks the rule of the mode's standard.
first-slot=dcf: after a busy period a listener resumes with its counter, so that only stations that have just transmitted can
use the first slot; =edca: a busy period counts as one slot for listeners (Bianchi's chain; ns-3's ChannelAccessManager).
space=difs: DIFS in all modes (34 us; 802.11g 28 us), as in ns-3's tables; =aifs: 43 us (best effort, AIFSN 3).
after=eifs: after a collision all stations wait SIFS + ACK + DIFS (or AIFS), as in ns-3's tables; =difs: all wait DIFS;
=by-role: senders wait for the ACK timeout (45 us) and DIFS, listeners for EIFS with an ACK of 44 us.
retry-limit: transmissions of a frame before it is discarded. Payload of 11a and g: MPDU of 1534 byte; of n, ac, ax: 1538 byte.
ampdu32: 32 frames of 1542 byte, padded to 1544, and a block ACK of 32 byte at 24 Mbit/s.
"""
