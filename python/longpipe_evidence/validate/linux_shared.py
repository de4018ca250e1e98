"""Random paths with AQM, in Linux, each shared by several connections."""

from collections.abc import Sequence
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt

from longpipe_evidence.validate.linux import PACKET_BYTES, STEADY, LinuxCase, LinuxControl, LinuxFlow, LinuxRun, seconds

SHARED: Final = 20
# Number of seeds per path: several, because some results depend on single packets, and only systematic differences
# count.
SEEDS: Final = 6
MAX_FLOWS: Final = 8
DISCIPLINES: Final = ("codel", "fq_codel", "pie", "red")
CONTROLS: Final[tuple[LinuxControl, ...]] = ("cubic", "reno", "bbr")
# Buffer that never fills [packets].
ROOM: Final = 1000
# Interval between the starts of connections [s].
APART_S: Final = 0.5
# RED's minimum threshold: the larger of 5 packets and the data sent in this time [s] (Floyd, Gummadi and Shenker 2001).
RED_LEAST, RED_TARGET_S = 5, 0.0025
# Rate [bit/s] above which half of the duration is sufficient.
FAST: Final = 25e6


def draw_shared(number: int) -> LinuxCase:
    """Draws a path of 5 to 50 Mbit/s and 10 to 200 ms with AQM, and 1 to 8 connections that use CUBIC, Reno or BBR."""
    random = Random(f"shared path {number}")  # noqa: S311 - not used for cryptography
    rate, round_trip = between(random, 5e6, 50e6), between(random, 0.010, 0.200)
    discipline = managed(random.choice(DISCIPLINES), rate, ecn=random.random() < 1 / 2)
    flows = tuple(
        LinuxFlow(control=random.choice(CONTROLS), start=f"{flow * APART_S:g} s")
        for flow in range(random.randint(1, MAX_FLOWS))
    )
    return LinuxCase(
        rate=f"{round(rate, -5):.0f} bit/s",
        round_trip=f"{1000 * round_trip:.0f} ms",
        buffer=ROOM,
        discipline=discipline,
        flows=flows,
        duration="60 s" if rate <= FAST else "30 s",
    )


def shared_measures(run: LinuxRun) -> dict[str, float | int]:
    """Returns goodput, fairness and median delay after the first third, and losses and marks over the whole run."""
    end = seconds(run.case.duration)
    begin = round(end * STEADY, 1)
    flows = range(len(run.case.flows))
    srtt_s = np.concatenate([_later(run, flow, begin) for flow in flows])
    goodputs = [run.goodput(begin, end, flow) / 1e6 for flow in flows]
    return {
        "goodput_mbps": round(sum(goodputs), 4),
        "jain": round(jain(goodputs), 4),
        "median_wait_ms": round(1000 * (float(np.median(srtt_s)) - seconds(run.case.round_trip)), 3),
        "drops": run.queue_drops,
        "marks": run.marks,
    }


def jain(goodputs: Sequence[float]) -> float:
    """Returns Jain's index: 1 for equal shares, 1/n if one of n gets everything."""
    shares = np.array(goodputs)
    return float(shares.sum() ** 2 / (len(shares) * (shares**2).sum()))


def _later(run: LinuxRun, flow: int, begin: float) -> npt.NDArray[np.float64]:
    srtt = run.of(flow)["srtt_us"]
    later: npt.NDArray[np.float64] = srtt[srtt.index > begin].to_numpy(dtype=float) / 1e6
    return later


def managed(discipline: str, rate: float, *, ecn: bool) -> str:
    """Returns an AQM for a link with a rate [bit/s], in tc's syntax."""
    words = [discipline, *(_red(rate) if discipline == "red" else ())]
    if ecn:
        words.append("ecn")
    elif discipline == "fq_codel":
        words.append("noecn")
    return " ".join(words)


def _red(rate: float) -> list[str]:
    """Returns the parameters of RED for a rate [bit/s], in tc's syntax."""
    least = max(RED_LEAST, rate * RED_TARGET_S / 8 / PACKET_BYTES) * PACKET_BYTES
    burst = round(5 * least / 3 / PACKET_BYTES) + 1
    named = {"limit": ROOM * PACKET_BYTES, "min": round(least), "max": 3 * round(least), "avpkt": PACKET_BYTES}
    return [f"{name} {value}" for name, value in {**named, "burst": burst, "probability": 0.1}.items()]


def between(random: Random, low: float, high: float) -> float:
    """Draws a log-uniform number."""
    return float(low * (high / low) ** random.random())
