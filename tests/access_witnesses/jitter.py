"""Jitter of Wi-Fi as in picoquic's simulator, drawn as in its code with integers; written from its rules.

A packet is delayed by N1 ms less a uniform share of a millisecond if N1 > 0, with N1 Poisson of mean 1. If the parameter j
is above 1 ms, N2 times 7.5 ms, less a uniform share of 7.5 ms if N2 > 1, is added with the probability (j - 1 ms) / 84 ms,
with N2 Poisson of mean 12. Poisson numbers are drawn by Knuth's products of 30-bit fractions.
"""

import random
from collections.abc import Iterator
from typing import Final

from access_witnesses.tables import Row

DRAWS: Final = 1_000_000
PARAMETERS_US: Final = (999, 3000, 7000, 12_000, 40_000)
# Delays [us] at which the distribution function is stated.
PLACES_US: Final = (0, 500, 1000, 2000, 4000, 60_000, 80_000, 100_000, 130_000)
ONE: Final = 1 << 30
# exp(-1) and exp(-12), times 2^30.
LIMITS: Final = (395_007_542, 6597)


def poisson(source: random.Random, limit: int) -> int:
    """Returns a Poisson number, for exp(-mean) times 2^30."""
    count, product = 0, ONE
    while product > limit:
        product = product * source.getrandbits(30) >> 30
        count += 1
    return count - 1


def delay_us(source: random.Random, parameter_us: int) -> int:
    """Returns the delay of a packet."""
    short = poisson(source, LIMITS[0])
    delay = 1000 * short - (source.randrange(1000) if short > 0 else 0)
    if parameter_us > 1000 and source.getrandbits(30) * 84_000 < (parameter_us - 1000) << 30:
        long = poisson(source, LIMITS[1])
        delay += 7500 * long - (source.randrange(7500) if long > 1 else 0)
    return delay


def rows() -> Iterator[Row]:
    """Yields the table `wifi-jitter`."""
    source, how = "picoquic d199d45 picoquic/sim_link.c (rules)", f"jitter.delay_us: {DRAWS} draws"
    for parameter_us in PARAMETERS_US:
        draws = random.Random(parameter_us)
        delays = [delay_us(draws, parameter_us) for _ in range(DRAWS)]
        mean = sum(delays) / DRAWS
        error = (sum((delay - mean) ** 2 for delay in delays) / DRAWS**2) ** 0.5
        where = f"jitter-ms={parameter_us / 1000:g}"
        yield Row("mean ms", where, f"{mean / 1000:.4f}", f"{error / 1000:.4f}", "1%", source, how)
        for place_us in PLACES_US:
            share = sum(delay <= place_us for delay in delays) / DRAWS
            error = (share * (1 - share) / DRAWS) ** 0.5
            at = f"{where} delay-ms={place_us / 1000:g}"
            yield Row("share of packets", at, f"{share:.5f}", f"{error:.5f}", "0.01", source, how)


COMMENT: Final = """
Delays that picoquic's simulator adds to packets over Wi-Fi: their mean, and the share of packets with at most a delay.
"""
