"""Independent queue protection: computes the scores and verdicts with which Rust's tests compare `rfc9957`.

It follows RFC 9957 with a bucket of its own for each flow, and shares no code with longpipe. `python
tests/queue_protection_witness.py` writes the table, `crates/network/src/queues/protection_witness.csv`: a row for each packet
that arrives at the low-latency queue.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/network/src/queues/protection_witness.csv"
HEADER = "time_ns,flow,bytes,delay_ns,likelihood_64ths,score_ns,sanctioned"
CRITICAL_DELAY_NS, CRITICAL_SCORE_NS, MAX_SCORE_NS = 1_000_000, 4_000_000, 5_000_000_000
AGING_BYTES_PER_NS = Fraction(2**19, 2**30)


class Buckets:
    """Expiry times of the buckets; the score of a flow is the time to the expiry of its bucket."""

    def __init__(self) -> None:
        self.expiry: dict[int, Fraction] = {}

    def fill(self, now: int, flow: int, size: int, likelihood: Fraction) -> Fraction:
        expiry = max(self.expiry.get(flow, Fraction(now)), Fraction(now)) + likelihood * size / AGING_BYTES_PER_NS
        self.expiry[flow] = min(expiry, Fraction(now + MAX_SCORE_NS))
        return self.expiry[flow] - now


def is_sanctioned(delay: int, score: Fraction) -> bool:
    return delay > CRITICAL_DELAY_NS and delay * score > CRITICAL_DELAY_NS * CRITICAL_SCORE_NS


def rows() -> Iterator[str]:
    draws = random.Random(9957)
    buckets, now = Buckets(), 0
    for step in range(1500):
        now += draws.randrange(1_000, 400_000)
        # Flow 0 sends half of the packets, and large ones.
        flow = 0 if draws.random() < 0.5 else draws.randrange(1, 6)
        size = 1500 if flow == 0 else draws.randrange(60, 300)
        delay = draws.randrange(0, 3_000_000) if step % 300 < 200 else draws.randrange(0, 900_000)
        likelihood = Fraction(min(64, max(0, delay - 500_000) * 64 // 700_000), 64)
        score = buckets.fill(now, flow, size, likelihood)
        yield f"{now},{flow},{size},{delay},{int(likelihood * 64)},{float(score)!r},{int(is_sanctioned(delay, score))}"


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
