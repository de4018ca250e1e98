"""Random Linux test paths with which the validation checks `longpipe fit` outside of its simplest case.

Each path has one complication: a second connection, a policer, jitter, a varying rate, or AQM. A Linux guest carries
real TCP over the path, and `fit_runs` compares the fit with the drawn settings.
"""

from random import Random
from typing import Final

from longpipe_evidence.validate.linux import PACKET_BYTES, LinuxCase, LinuxControl, LinuxFlow, seconds
from longpipe_evidence.validate.linux_shared import DISCIPLINES, ROOM, between, managed

KINDS: Final = ("shared", "policed", "jittered", "varying", "managed")
# Ranges: rate [bit/s], RTT [s], buffer [bandwidth-delay products]; and minimum buffer [packets].
RATES_BPS: Final = (4e6, 20e6)
ROUND_TRIPS_S: Final = (0.020, 0.150)
BUFFERS_BDP: Final = (0.4, 2.0)
MIN_BUFFER_PACKETS: Final = 10
DURATION_S: Final = 15
# Controls of the captured flow and of a second one; CUBIC is the default of Linux.
SENDERS: Final[tuple[LinuxControl, ...]] = ("cubic", "cubic", "reno", "bbr", "htcp", "illinois")
SECOND_SENDERS: Final[tuple[LinuxControl, ...]] = ("cubic", "reno", "bbr")
# Latest start of a second connection [s].
LATEST_START_S: Final = 3.0
# Ranges of a policer's rate as a share of the bottleneck's, and of the size of its bucket in seconds of its rate.
POLICED_SHARES: Final = (0.4, 0.9)
BUCKETS_S: Final = (0.02, 0.2)
# Range of half the width of jitter [s]; the mean of the jitter is one to two times that half.
JITTERS_S: Final = (0.0005, 0.010)
# Range of the time between two changes of the rate [s], and resolution of their times [s].
CHANGE_INTERVALS_S: Final = (3.0, 6.0)
STEP_S: Final = 0.02


def kind_of(number: int) -> str:
    """Returns the complication of a path."""
    return KINDS[number % len(KINDS)]


def draw_mixed(random: Random, number: int) -> LinuxCase:
    """Draws path number `number`, whose complication is `kind_of(number)`."""
    rate_bps, round_trip_s = between(random, *RATES_BPS), between(random, *ROUND_TRIPS_S)
    bdp_packets = rate_bps * round_trip_s / 8 / PACKET_BYTES
    case = LinuxCase(
        rate=_bps(rate_bps),
        round_trip=f"{1000 * round_trip_s:.0f} ms",
        buffer=max(MIN_BUFFER_PACKETS, round(random.uniform(*BUFFERS_BDP) * bdp_packets)),
        duration=f"{DURATION_S} s",
        flows=(LinuxFlow(control=random.choice(SENDERS)),),
    )
    changes: dict[str, object] = {}
    match kind_of(number):
        case "shared":
            start = f"{random.uniform(0, LATEST_START_S):.2f} s"
            changes["flows"] = (*case.flows, LinuxFlow(control=random.choice(SECOND_SENDERS), start=start))
        case "policed":
            policed_bps = rate_bps * random.uniform(*POLICED_SHARES)
            burst_bytes = policed_bps / 8 * between(random, *BUCKETS_S)
            changes["police"] = f"rate {policed_bps:.0f}bit burst {max(round(burst_bytes), 10 * PACKET_BYTES)}"
        case "jittered":
            half_s = between(random, *JITTERS_S)
            mean_s = half_s * random.uniform(1, 2)
            changes["jitter"] = (f"{1e6 * mean_s:.0f} us", f"{1e6 * half_s:.0f} us")
        case "varying":
            changes["rates"] = _changes(random, rate_bps, seconds(case.duration))
        case _:
            changes |= {
                "discipline": managed(random.choice(DISCIPLINES), rate_bps, ecn=random.random() < 1 / 2),
                "buffer": ROOM,
            }
    return case.model_copy(update=changes)


def _changes(random: Random, rate_bps: float, duration_s: float) -> tuple[tuple[str, str], ...]:
    """Draws changes of the rate, each a time and a rate within a factor of 2 of the first rate."""
    changes, at_s = [], random.uniform(*CHANGE_INTERVALS_S)
    while at_s < duration_s - CHANGE_INTERVALS_S[0] / 2:
        changes.append((f"{STEP_S * round(at_s / STEP_S):.2f} s", _bps(rate_bps * 2 ** random.uniform(-1, 1))))
        at_s += random.uniform(*CHANGE_INTERVALS_S)
    return tuple(changes)


def _bps(rate_bps: float) -> str:
    """Returns a rate as text, rounded to 100 kbit/s."""
    return f"{round(rate_bps, -5):.0f} bit/s"
