"""Independent rLEDBAT: computes the windows with which Rust's tests compare the receiver's rule `rledbat`.

It follows RFC 9840 with the rules of LEDBAT++ in ledbat_witness.py, and shares no code with longpipe. `python
tests/rledbat_witness.py` writes the table, `crates/tcp/src/receiver/rledbat_witness.csv`: a row for each segment that
arrives, with the window RLWND and the window that the ACK of the segment advertises.
"""

import math
import random
from collections.abc import Iterator
from pathlib import Path

from ledbat_witness import MSS, Sender, queue_us

TABLE = Path(__file__).parent.parent / "crates/tcp/src/receiver/rledbat_witness.csv"
HEADER = "case,time_us,sequence,length,rtt_us,retransmitted,rlwnd,threshold,advertised"
BUFFER, UNIT, INITIAL_SEGMENTS = 400_000, 128, 10


class Receiver:
    """Windows of an rLEDBAT receiver, in bytes and microseconds."""

    def __init__(self) -> None:
        self.control = Sender(INITIAL_SEGMENTS * MSS)
        # A window that has reached the buffer ends the first slow start.
        self.control.threshold = float(BUFFER)
        self.next = 0
        self.edge = rounded_up(INITIAL_SEGMENTS * MSS)
        self.rtt: int | None = None
        self.unchanged_until = 0

    def arrive(self, now: int, length: int, rtt: int | None, retransmitted: bool) -> None:
        """Processes a segment that advances RCV.NXT by its length; `rtt` is a sample of the receiver, if there is one."""
        # While the data in flight exceed RLWND, the window is being reduced, and RLWND does not change.
        reduced = self.edge - self.next <= rounded_up(self.control.window)
        if rtt is not None:
            self.rtt = rtt
            self.control.measure(now, rtt)
        self.next += length
        if self.rtt is None:
            return
        if retransmitted:
            # At most one reduction per round trip.
            if now >= self.unchanged_until:
                self.control.loss()
                self.unchanged_until = now + self.rtt
        elif reduced:
            self.control.react(now, length, self.rtt, now, now + self.rtt, limited=True)
            self.control.window = min(self.control.window, BUFFER)

    def advertise(self) -> int:
        """Returns the window of an ACK: RLWND, or the data in flight while RLWND is smaller."""
        window = min(rounded_up(max(self.control.window, self.edge - self.next)), BUFFER // UNIT * UNIT)
        self.edge = max(self.edge, self.next + window)
        return window


def rounded_up(window: float) -> int:
    """Returns a window in whole units of the window field."""
    return math.ceil(window / UNIT) * UNIT


def rows() -> Iterator[str]:
    for case, base_us in enumerate((7_000, 10_000, 60_000, 600_000)):
        draws = random.Random(case)
        receiver = Receiver()
        now, lost = base_us, {90, 91, 150 + case}
        for step in range(400):
            now += draws.randrange((base_us + 50_000) // 40, (base_us + 50_000) // 6)
            length = draws.choice((MSS, MSS, MSS, 400))
            measured = step > 0 and draws.random() < 0.7
            rtt = base_us + queue_us(case, step, draws) if measured else None
            sequence, retransmitted = receiver.next, step in lost
            receiver.arrive(now, length, rtt, retransmitted)
            advertised = receiver.advertise()
            control = receiver.control
            yield (
                f"{case},{now},{sequence},{length},{'' if rtt is None else rtt},{int(retransmitted)},"
                f"{control.window!r},{control.threshold!r},{advertised}"
            )


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
