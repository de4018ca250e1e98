"""Independent LEDBAT++: computes the windows with which Rust's tests compare the control `ledbat-plus-plus`.

It follows the rules of draft-irtf-iccrg-ledbat-plus-plus and shares no code with longpipe. `python tests/ledbat_witness.py`
writes the table, `crates/tcp/src/congestion/rfc/ledbat_plus_plus_witness.csv`.
"""

import math
import random
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/tcp/src/congestion/rfc/ledbat_plus_plus_witness.csv"
HEADER = "case,event,time_us,acked,rtt_us,una,max,limited,phase,cwnd,ssthresh"
MSS, TARGET_US = 1000, 60_000


class Sender:
    """Window of a LEDBAT++ sender, in bytes and microseconds."""

    def __init__(self, window: float) -> None:
        self.window, self.threshold = window, math.inf
        self.phase, self.until, self.since = "initial", 0, 0
        self.minima: dict[int, int] = {}
        self.recent: list[int] = []
        self.reduced_until = 0

    def gain(self) -> float:
        base = min(self.minima.values())
        return 1 / min(16, math.ceil(2 * TARGET_US / base))

    def queueing(self) -> int:
        return min(self.recent) - min(self.minima.values())

    def slow_start(self, acked: int) -> None:
        self.window = min(self.window + self.gain() * acked, self.threshold)

    def avoid(self, acked: int, una: int, sent: int, limited: bool) -> None:
        if self.queueing() < TARGET_US:
            if limited and self.window < self.threshold:
                self.slow_start(acked)
            elif limited:
                self.window += self.gain() * acked * MSS / self.window
        elif una >= self.reduced_until:
            excess = self.queueing() / TARGET_US - 1
            change = max(self.gain() * MSS - self.window * excess, -self.window / 2)
            self.window = max(self.window + change, 2 * MSS)
            self.threshold = self.window
            self.reduced_until = sent

    def measure(self, now: int, rtt: int) -> None:
        minute = now // 60_000_000
        self.minima[minute] = min(rtt, self.minima.get(minute, rtt))
        self.minima = {m: least for m, least in self.minima.items() if m > minute - 10}
        self.recent = [*self.recent, rtt][-4:]

    def ack(self, now: int, acked: int, rtt: int, una: int, sent: int, limited: bool) -> None:
        self.measure(now, rtt)
        self.react(now, acked, rtt, una, sent, limited)

    def react(self, now: int, acked: int, rtt: int, una: int, sent: int, limited: bool) -> None:
        match self.phase:
            case "initial" if 4 * self.queueing() > 3 * TARGET_US or self.window >= self.threshold:
                self.threshold = min(self.threshold, self.window)
                self.phase, self.until = "first", now + 2 * rtt
                self.avoid(acked, una, sent, limited)
            case "initial" if limited:
                self.slow_start(acked)
            case "first" | "steady" if now >= self.until:
                self.phase, self.until, self.since = "frozen", now + 2 * rtt, now
                self.threshold, self.window = self.window, 2 * MSS
            case "first" | "steady":
                self.avoid(acked, una, sent, limited)
            case "frozen" if now >= self.until:
                self.phase = "ramp"
                self.ramp(now, acked, limited)
            case "ramp":
                self.ramp(now, acked, limited)

    def ramp(self, now: int, acked: int, limited: bool) -> None:
        if limited:
            self.slow_start(acked)
        if self.window >= self.threshold:
            self.phase, self.until = "steady", now + 9 * (now - self.since)

    def loss(self) -> None:
        if self.phase == "frozen":
            self.threshold = max(self.threshold / 2, 2 * MSS)
        else:
            self.window = self.threshold = max(self.window / 2, 2 * MSS)


def queue_us(case: int, step: int, draws: random.Random) -> int:
    """Returns a queueing delay: growing and falling, with noise."""
    wave = 36_000 * (1 + math.sin(step / (15 + 5 * case)))
    return int(wave + draws.uniform(0, 8_000)) if step > 25 and step % 40 > 2 else 0


def rows() -> Iterator[str]:
    for case, base_us in enumerate((7_000, 10_000, 60_000, 600_000)):
        draws = random.Random(case)
        sender = Sender(10 * MSS)
        now, una, lost = base_us, 0, {90, 150 + case}
        for step in range(260):
            now += draws.randrange((base_us + 50_000) // 40, (base_us + 50_000) // 6)
            if step in lost or (step > 100 and sender.phase == "frozen" and step % 11 == 0):
                sender.loss()
                yield row(case, "loss", now, 0, 0, una, una, True, sender)
                continue
            rtt = base_us + queue_us(case, step, draws)
            acked = MSS * draws.randrange(1, 4)
            una += acked
            sent = una + int(sender.window)
            limited = draws.random() < 0.9
            sender.ack(now, acked, rtt, una, sent, limited)
            yield row(case, "ack", now, acked, rtt, una, sent, limited, sender)


def row(
    case: int, event: str, now: int, acked: int, rtt: int, una: int, sent: int, limited: bool, sender: Sender
) -> str:
    return (
        f"{case},{event},{now},{acked},{rtt},{una},{sent},{int(limited)},{sender.phase},"
        f"{sender.window!r},{sender.threshold!r}"
    )


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
