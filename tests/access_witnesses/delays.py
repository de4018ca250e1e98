"""Closed forms of the delays of request-grant loops, retransmissions and multi-user scheduling."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from access_witnesses.tables import Row

# DVB-RCS2 [ms]: superframe, one-way delay between terminal and gateway, processing and transmission of the plan.
SUPERFRAME: Final = 100
ONE_WAY: Final = 270
PLAN: Final = 100
# SNS3: superframes from the NCC's decision at a boundary to the superframe that it plans, as the gateway receives it.
SNS3_LEAD: Final = (560 + 100) // SUPERFRAME + 1
SEED: Final = 545

RCS2_MEANS: Final = {
    "cra": ONE_WAY + SUPERFRAME / 2,
    "random-access": ONE_WAY + SUPERFRAME / 2,
    "on-demand": 4 * SUPERFRAME / 2 - SUPERFRAME / 2 + 3 * ONE_WAY + PLAN,
    "periodic": 4 * SUPERFRAME / 2 + 3 * ONE_WAY + PLAN,
    "sns3": 4 * SUPERFRAME / 2 + ONE_WAY + SNS3_LEAD * SUPERFRAME,
}


def rcs2_delays(case: str, packets: int) -> NDArray[np.float64]:
    """Simulates first packets [ms] on a timeline with random phases of arrival, evaluation, NCC and superframe.

    A terminal has one slot in each superframe for a packet or a request, and uses the next one.
    """
    generator = np.random.default_rng([SEED, list(RCS2_MEANS).index(case)])

    def next_instant(times: NDArray[np.float64]) -> NDArray[np.float64]:
        # Next instant of a grid with the period of a superframe and a random phase.
        phases = generator.random(packets) * SUPERFRAME
        return times + (phases - times) % SUPERFRAME

    arrivals = generator.random(packets) * SUPERFRAME
    if case in ("cra", "random-access"):
        return next_instant(arrivals) + ONE_WAY - arrivals
    requests = next_instant(arrivals) if case in ("periodic", "sns3") else arrivals
    received = next_instant(requests) + ONE_WAY
    decided = next_instant(received)
    if case == "sns3":
        # Slots are planned for reception at the gateway; the terminal sends earlier by its timing advance.
        return decided + SNS3_LEAD * SUPERFRAME + generator.random(packets) * SUPERFRAME - arrivals
    return next_instant(decided + PLAN + ONE_WAY) + ONE_WAY - arrivals


def nr_first_packet(sr_slot: int, sr_period_slots: int, *, report: bool) -> float:
    """Returns the mean [ms] from arrival to the end of the first uplink transmission, over all phases of arrival.

    Slots last 0.5 ms; the TDD period is six downlink slots, one special slot and three uplink slots. The request is
    decoded in the slot after it; the grant leaves in the next downlink slot, and the uplink slot is at least four slots
    later. With `report`, the first transmission carries a buffer status report only, and one further cycle follows.
    """

    def granted(request: int) -> int:
        grant = request + 2
        while grant % 10 > 6:
            grant += 1
        uplink = grant + 4
        while uplink % 10 < 7:
            uplink += 1
        return uplink

    uplink = granted(sr_slot)
    if report:
        uplink = granted(uplink)
    return 0.5 * (sr_period_slots / 2 + uplink - sr_slot + 1)


def harq_mean(error: float, rtt_ms: float, attempts: int) -> float:
    """Returns the mean delay [ms] that retransmissions add to packets that succeed within a number of attempts."""
    weights = [error**failures for failures in range(attempts)]
    return rtt_ms * sum(failures * weight for failures, weight in enumerate(weights)) / sum(weights)


def in_order_mean(error: float, rtt_ms: int) -> float:
    """Returns the mean delay [ms] that retransmissions add if one block per ms is delivered in order.

    A block waits for all blocks before it: P(D <= d) = prod over i >= 0 of P(G rtt <= d + i), with G geometric.
    """
    mean = 0.0
    for delay in range(200 * rtt_ms):
        within = 1.0
        for earlier in range(100 * rtt_ms):
            within *= 1 - error ** ((delay + earlier) // rtt_ms + 1)
        mean += 1 - within
        if 1 - within < 1e-12:
            break
    return mean


def proportional_fair(users: int, slots: int, *, memory: float = 2000, seed: int = SEED) -> float:
    """Simulates proportional fair scheduling over Rayleigh fading, rate linear in SNR, equal means.

    Returns the mean over users of N times the throughput, relative to the mean rate. Half of the slots warm up.
    """
    generator = np.random.default_rng([seed, users])
    averages = np.ones(users)
    served = np.zeros(users)
    for slot in range(2 * slots):
        rates = generator.standard_exponential(users)
        best = int(np.argmax(rates / averages))
        averages *= 1 - 1 / memory
        averages[best] += rates[best] / memory
        if slot >= slots:
            served[best] += rates[best]
    return float(served.sum() / slots)


def harmonic(users: int) -> float:
    """Returns the gain of proportional fair scheduling: the sum of 1/k."""
    return sum(1 / k for k in range(1, users + 1))


# DOCSIS [ms]: OFDMA frame, symbols per frame, round trip of the plant, interleaver and three symbols downstream (assumed).
FRAME: Final = 0.135
FRAME_SYMBOLS: Final = 6
PLANT_RTT: Final = 0.2
DOWNSTREAM: Final = 0.1
CMTS_PROCESSING: Final = 0.2
PACKETS: Final = 200_000
MODEM_PROCESSING: Final = 0.6 + FRAME * (FRAME_SYMBOLS + 1) / FRAME_SYMBOLS


def docsis_parts(interval: float) -> dict[str, float]:
    """Returns the mean parts [ms] of the delay of a packet that finds no grant, to the start of its grant."""
    return {
        # Request instants are uniform in each interval: E(gap^2) / (2 E(gap)) with gap = M + U' - U.
        "wait-for-request": 7 / 12 * interval,
        "request-travel": PLANT_RTT / 2 + 3 * FRAME,
        "wait-for-map": interval / 2,
        "map-lead": MODEM_PROCESSING + DOWNSTREAM + PLANT_RTT / 2 + CMTS_PROCESSING,
        "grant-position": interval / 2,
    }


def docsis_delays(interval: float, packets: int) -> NDArray[np.float64]:
    """Simulates the delays [ms] to the start of the grant, and of the loop from request to grant, in two rows."""
    generator = np.random.default_rng([SEED, round(100 * interval)])
    arrivals = generator.random(packets) * interval
    # Requests of this interval and the next two; the first one after the arrival carries it.
    instants = (np.arange(3)[:, None] + generator.random((3, packets))) * interval
    requests = np.where(instants >= arrivals, instants, np.inf).min(axis=0)
    received = requests + PLANT_RTT / 2 + 3 * FRAME
    lead = docsis_parts(interval)["map-lead"]
    # MAPs are made `lead` before each interval.
    starts = np.ceil((received + lead) / interval) * interval
    grants = starts + generator.random(packets) * interval
    return np.stack([grants - arrivals, grants - requests])


def rlc_mean(residual: float, detection_ms: float) -> float:
    """Returns the mean delay [ms] that acknowledged mode adds: each failure of HARQ costs its detection once."""
    return residual / (1 - residual) * detection_ms


def exact(quantity: str, conditions: str, value: float, tolerance: str, source: str, how: str = "closed form") -> Row:
    """Returns the row of an exact value with four decimals."""
    return Row(quantity, conditions, f"{value:.4f}", "", tolerance, source, how)


def rows() -> Iterator[Row]:
    """Yields the table `delays`."""
    for case, mean in RCS2_MEANS.items():
        source = "SNS3 e543342 satellite-beam-scheduler.cc" if case == "sns3" else "sum of parts"
        yield exact(
            "DVB-RCS2 first packet ms",
            f"case={case} superframe=100 evaluation=100 plan=100 one-way=270",
            mean,
            "50",
            source,
        )
    yield exact(
        "LTE or NR first packet ms",
        "sr-period=20 sum-of-parts=10+1+2+2.5",
        15.5,
        "0.5",
        "srsRAN du_high_config.h (parameters)",
    )
    yield exact(
        "LTE or NR first packet ms",
        "sr-period=10 sum-of-parts=5+1+2+2.5",
        10.5,
        "0.5",
        "srsRAN du_high_config.h (parameters)",
    )
    for slot, period, report in product((7, 8, 9), (20, 40), (False, True)):
        yield exact(
            "NR first packet ms", f"sr-slot={slot} sr-period={period / 2:.0f} buffer-status={'yes' if report else 'no'}",
            nr_first_packet(slot, period, report=report), "0.5", "TDD 6D 1S 3U, 30 kHz, k2 >= 4", "delays.nr_first_packet",
        )  # fmt: skip
    for error, rtt in ((0.1, 8), (0.01, 8), (0.1, 5), (0.1, 10)):
        where = f"bler={error} rtt={rtt}"
        yield exact(
            "HARQ mean added ms",
            f"{where} attempts=5",
            harq_mean(error, rtt, 5),
            "2%",
            "geometric, at most 4 retransmissions",
        )
        yield exact(
            "HARQ mean added ms",
            f"{where} attempts=5 order=kept block-every-ms=1",
            in_order_mean(error, rtt),
            "2%",
            "product of geometric distributions",
        )
        yield Row(
            "HARQ residual loss",
            f"{where} attempts=5",
            f"{error**5:.4e}",
            "",
            "10%",
            "geometric",
            "closed form, no soft combining",
        )
        for retransmissions in range(3):
            yield exact(
                "HARQ share",
                f"{where} retransmissions={retransmissions}",
                (1 - error) * error**retransmissions,
                "2%",
                "geometric",
            )
    for residual, detection in ((1e-3, 45.0), (1e-3, 30.0), (1e-2, 45.0)):
        yield exact(
            "RLC AM mean added ms",
            f"residual={residual} detection={detection:.0f}",
            rlc_mean(residual, detection),
            "5%",
            "geometric",
        )
    for users in (1, 2, 4, 10, 20):
        yield exact(
            "proportional fair gain",
            f"users={users} fading=rayleigh rate=linear",
            harmonic(users),
            "2%",
            "order statistics of the exponential distribution",
        )
    for interval in (1.0, 2.0):
        parts = docsis_parts(interval)
        for part, mean in parts.items():
            yield exact(
                "DOCSIS mean part ms",
                f"map-interval={interval:.0f} part={part}",
                mean,
                "2%",
                "docsis-ns3 documentation",
            )
        for quantity, values in zip(
            ("packet to grant", "request-grant loop"), docsis_delays(interval, PACKETS), strict=True
        ):
            error = values.std() / math.sqrt(PACKETS)
            yield Row(
                f"DOCSIS mean {quantity} ms", f"map-interval={interval:.0f}", f"{values.mean():.4f}", f"{error:.4f}", "2%",
                "docsis-ns3 documentation", f"delays.docsis_delays: {PACKETS} packets",
            )  # fmt: skip
        least = parts["request-travel"] + parts["map-lead"]
        yield exact(
            "DOCSIS least request-grant loop ms",
            f"map-interval={interval:.0f}",
            least,
            "2%",
            "docsis-ns3 documentation",
        )
        yield exact(
            "DOCSIS largest request-grant loop ms",
            f"map-interval={interval:.0f}",
            least + 2 * interval,
            "2%",
            "docsis-ns3 documentation",
        )


COMMENT: Final = """
DVB-RCS2: means over the phases of arrival, evaluation, NCC and slot, from the arrival at the terminal to the reception of the
packet's burst at the gateway. on-demand: slot for the request T/2, d, NCC T/2, plan p, d, slot T/2, d; periodic: and T/2.
sns3: evaluation, slot for the request, d, NCC T/2, 7 superframes, slot T/2. SNS3 counts superframes in the gateway's time of
reception (timing advance), so that the one-way delay of the plan and of the burst are within the lead.
NR: to the end of the first uplink slot; sr-slot is the slot of the scheduling request in a TDD period of 10 slots.
HARQ order=kept: one block per ms, delivered in order. RLC: detection is what a status report or poll timer takes, with one
further HARQ cycle. DOCSIS: frame .135 ms of 6 symbols, plant round trip .2 ms; downstream interleaver and symbols .1 ms are
assumed (docsis-ns3's defaults were not readable). A request that comes too late for a MAP waits for the next one. The sum of the
parts differs from the simulated mean by up to 1.2 %, because the wait for the MAP depends on the wait for the request.
"""
