"""Random paths with one complication each: a second connection, a policer, jitter, a varying rate, or AQM."""

from random import Random
from typing import Final

from longpipe_evidence.validate.linux import PACKET_BYTES, LinuxCase, LinuxControl, LinuxFlow, seconds
from longpipe_evidence.validate.linux_shared import DISCIPLINES, ROOM, between, red

KINDS: Final = ("shared", "policed", "jittered", "varying", "managed")
# Ranges: rate [bit/s], RTT [s], buffer [bandwidth-delay products].
RATES: Final = (4e6, 20e6)
ROUND_TRIPS: Final = (0.020, 0.150)
BUFFERS: Final = (0.4, 2.0)
MIN_BUFFER: Final = 10
DURATION_S: Final = 15
# Controls of the captured flow and of a second one; CUBIC is the default of Linux.
SENDERS: Final[tuple[LinuxControl, ...]] = ("cubic", "cubic", "reno", "bbr", "htcp", "illinois")
SECONDS: Final[tuple[LinuxControl, ...]] = ("cubic", "reno", "bbr")
# Start of a second connection [s].
LATEST_S: Final = 3.0
# Rate of a policer as a share of the bottleneck's, and size of its bucket in seconds of its rate.
POLICED: Final = (0.4, 0.9)
BUCKETS_S: Final = (0.02, 0.2)
# Half of the range of jitter [s]; its mean is longer by up to the same amount.
JITTERS_S: Final = (0.0005, 0.010)
# Time between two changes of the rate [s], and the guest's step of time.
CHANGES_S: Final = (3.0, 6.0)
STEP_S: Final = 0.02


def kind_of(number: int) -> str:
    """Returns the complication of a path."""
    return KINDS[number % len(KINDS)]


def draw_mixed(random: Random, number: int) -> LinuxCase:
    """Draws a path with the complication of its number."""
    rate, round_trip_s = between(random, *RATES), between(random, *ROUND_TRIPS)
    product = rate * round_trip_s / 8 / PACKET_BYTES
    case = LinuxCase(
        rate=_bps(rate),
        round_trip=f"{1000 * round_trip_s:.0f} ms",
        buffer=max(MIN_BUFFER, round(random.uniform(*BUFFERS) * product)),
        duration=f"{DURATION_S} s",
        flows=(LinuxFlow(control=random.choice(SENDERS)),),
    )
    changes: dict[str, object] = {}
    match kind_of(number):
        case "shared":
            start = f"{random.uniform(0, LATEST_S):.2f} s"
            changes["flows"] = (*case.flows, LinuxFlow(control=random.choice(SECONDS), start=start))
        case "policed":
            policed = rate * random.uniform(*POLICED)
            burst = policed / 8 * between(random, *BUCKETS_S)
            changes["police"] = f"rate {policed:.0f}bit burst {max(round(burst), 10 * PACKET_BYTES)}"
        case "jittered":
            half_s = between(random, *JITTERS_S)
            mean_s = half_s * random.uniform(1, 2)
            changes["jitter"] = (f"{1e6 * mean_s:.0f} us", f"{1e6 * half_s:.0f} us")
        case "varying":
            changes["rates"] = _changes(random, rate, seconds(case.duration))
        case _:
            changes |= {"discipline": _managed(random, rate), "buffer": ROOM}
    return case.model_copy(update=changes)


def _changes(random: Random, rate: float, duration_s: float) -> tuple[tuple[str, str], ...]:
    """Draws further rates within a factor of 2 of the first one."""
    changes, at_s = [], random.uniform(*CHANGES_S)
    while at_s < duration_s - CHANGES_S[0] / 2:
        changes.append((f"{STEP_S * round(at_s / STEP_S):.2f} s", _bps(rate * 2 ** random.uniform(-1, 1))))
        at_s += random.uniform(*CHANGES_S)
    return tuple(changes)


def _managed(random: Random, rate: float) -> str:
    words = [random.choice(DISCIPLINES)]
    if words[0] == "red":
        words += red(rate)
    if random.random() < 1 / 2:
        words.append("ecn")
    elif words[0] == "fq_codel":
        words.append("noecn")
    return " ".join(words)


def _bps(rate: float) -> str:
    return f"{round(rate, -5):.0f} bit/s"
