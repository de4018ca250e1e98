"""Random paths with time-varying rates and various queue disciplines: draws them and measures Linux's runs."""

from random import Random
from typing import Final

from longpipe_evidence.validate.linux import LinuxCase, LinuxControl, LinuxFlow

VARYING: Final = 12
# Number of runs of each path in Linux, each with its own seed.
SEEDS: Final = 3
DISCIPLINES: Final = (
    "codel",
    "fq_codel",
    "pie",
    "red limit 1500000 min 20000 max 60000 avpkt 1514 burst 20 probability 0.1",
    "fq flow_limit 200",
)
CONTROLS: Final[tuple[LinuxControl, ...]] = ("cubic", "reno")
ROOM: Final = 1000
DURATION_S: Final = 40
# Range of rates [bit/s] and of the time between two changes [s], and the guest's time step for changes of its token
# bucket.
RATES: Final = (4e6, 40e6)
MIN_S, MAX_S, STEP_S = 1.0, 5.0, 0.02


def draw_varying(number: int) -> LinuxCase:
    """Draws a path of 20 to 100 ms, a new rate every 1 to 5 s, 1 to 3 CUBIC or Reno flows, and a discipline."""
    random = Random(f"varying path {number}")  # noqa: S311 - not used for cryptography
    discipline = DISCIPLINES[number % len(DISCIPLINES)]
    flows = tuple(
        LinuxFlow(control=random.choice(CONTROLS), start=f"{flow / 2:g} s") for flow in range(random.randint(1, 3))
    )
    rates, at_s = [], random.uniform(MIN_S, MAX_S)
    while at_s < DURATION_S:
        rates.append((f"{STEP_S * round(at_s / STEP_S):.2f} s", _rate(random)))
        at_s += random.uniform(MIN_S, MAX_S)
    return LinuxCase(
        rate=_rate(random),
        rates=tuple(rates),
        round_trip=f"{random.uniform(20, 100):.0f} ms",
        buffer=ROOM,
        discipline=discipline,
        flows=flows,
        duration=f"{DURATION_S} s",
    )


def _rate(random: Random) -> str:
    low, high = RATES
    return f"{round(low * (high / low) ** random.random(), -5):.0f} bit/s"
