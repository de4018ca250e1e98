"""Independent PI controller: computes the probabilities and verdicts with which Rust's tests compare `pi`.

It follows Hollot et al. 2001 with exact fractions, counts the queue from the times of all packets, and shares no code with
longpipe. `python tests/pi_witness.py` writes the table, `crates/network/tests/data/queues/pi.csv`: a row for each packet.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/network/tests/data/queues/pi.csv"
HEADER = "arrival_us,draw_4096ths,probability,dropped,begins_us"
SERVICE_US, UPDATE_US, TARGET = 800, 6_000, 5
A, B = Fraction(1, 512), Fraction(1, 600)


class Queue:
    """A line that is never reset: the times of all packets that were not dropped."""

    def __init__(self) -> None:
        self.times: list[tuple[int, int]] = []

    def length(self, instant: int) -> int:
        """Returns the number of packets that wait immediately after an instant."""
        return sum(arrival <= instant < begins for arrival, begins in self.times)

    def add(self, now: int) -> int:
        begins = max(now, self.times[-1][1] + SERVICE_US) if self.times else now
        self.times.append((now, begins))
        return begins


def probability(lengths: list[int]) -> Fraction:
    """Returns the probability after the updates that found queues of these lengths."""
    result, before = Fraction(0), 0
    for length in lengths:
        result += A * (length - TARGET) - B * (before - TARGET)
        result, before = min(max(result, Fraction(0)), Fraction(1)), length
    return result


def rows() -> Iterator[str]:
    draws = random.Random(2001)
    queue, lengths, now = Queue(), list[int](), 0
    for step in range(1200):
        # Times are multiples of 200 us, so that arrivals and transmission starts coincide with updates.
        if step % 300 == 299:
            now += 200 * draws.randrange(500, 2_000)
        else:
            now += 200 * draws.randrange(0, 6 if step % 300 < 200 else 12)
        lengths += [queue.length(update) for update in range(UPDATE_US * (len(lengths) + 1), now, UPDATE_US)]
        current, draw = probability(lengths), draws.randrange(4096)
        dropped = Fraction(draw, 4096) < current
        begins = "" if dropped else str(queue.add(now))
        yield f"{now},{draw},{float(current)!r},{int(dropped)},{begins}"


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
