"""Independent UDP Prague: computes the windows with which Rust's tests compare the control `udp-prague`.

It follows the rules of the L4S team's prague_cc.cpp with its counters of packets, and shares no code with longpipe.
`python tests/udp_prague_witness.py` writes the table, `crates/tcp/src/congestion/model/udp_prague/witness.csv`.
"""

import random
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/tcp/src/congestion/model/udp_prague/witness.csv"
HEADER = "case,initial_bps,time_us,received,marked,lost,rtt_us,in_flight,undone,window,rate,alpha,waits"
MTU = 1400


class Sender:
    """State of a sender; counters are those that the receiver echoes, in packets."""

    def __init__(self, rate: float) -> None:
        self.state, self.mode = "init", "window"
        self.pacing_rate, self.fractional_window = rate, 0.0
        self.alpha = self.srtt = self.vrtt = 0.0
        self.rtts_to_growth = rate // 1_920_000 + 7
        self.received = self.ce = self.lost = self.sent = 0
        self.alpha_ts = self.loss_ts = self.cwr_ts = 0.0
        self.alpha_received = self.alpha_ce = self.alpha_sent = self.loss_sent = self.cwr_sent = 0
        self.lost_amount, self.lost_mode, self.lost_rtts = 0.0, "window", 0.0

    def ack(self, now: float, rtt: float, received: int, ce: int, lost: int, sent: int) -> None:
        self.measure(rtt)
        settled = received + lost
        if settled > self.alpha_sent and now - self.alpha_ts >= self.vrtt and received > self.alpha_received:
            probability = (ce - self.alpha_ce) / (received - self.alpha_received)
            self.alpha += (probability - self.alpha) / 16
            self.alpha_sent, self.alpha_ce, self.alpha_received, self.alpha_ts = sent, ce, received, now
            self.rtts_to_growth = max(0.0, self.rtts_to_growth - 1)
        if self.state == "loss" and settled > self.loss_sent and now - self.loss_ts >= self.vrtt:
            self.state = "avoid"
        if self.state != "loss" and lost > self.lost:
            self.on_loss(now, sent)
        self.grow((received - self.received) - (ce - self.ce))
        if self.state == "cwr" and settled > self.cwr_sent and now - self.cwr_ts >= self.vrtt:
            self.state = "avoid"
        if self.state == "avoid" and ce > self.ce:
            self.rtts_to_growth = self.pacing_rate // 1_920_000 + 7
            if self.mode == "window":
                self.fractional_window -= self.fractional_window * self.alpha / 2
            else:
                self.pacing_rate -= self.pacing_rate * self.alpha / 2
            self.state, self.cwr_sent, self.cwr_ts = "cwr", sent, now
        if self.mode == "window":
            self.pacing_rate = self.fractional_window / self.srtt
        self.pacing_rate = max(self.pacing_rate, 12_500.0)
        self.fractional_window = self.pacing_rate * self.srtt
        self.received, self.ce, self.lost, self.sent = received, ce, lost, sent

    def measure(self, rtt: float) -> None:
        self.srtt = rtt if self.state == "init" else self.srtt + (rtt - self.srtt) / 8
        self.vrtt = max(self.srtt, 0.025)
        if self.state == "init":
            self.fractional_window, self.state = self.srtt * self.pacing_rate, "avoid"
        if self.srtt <= 0.002 or self.srtt <= MTU / self.pacing_rate:
            self.mode = "rate"
        else:
            if self.mode == "rate":
                self.fractional_window = self.srtt * self.pacing_rate
            self.mode = "window"

    def on_loss(self, now: float, sent: int) -> None:
        rtts = self.pacing_rate / 2 / MTU * 0.025 / self.vrtt * 0.025 // 1
        self.lost_rtts = min(self.lost_rtts + rtts - self.rtts_to_growth, rtts)
        self.rtts_to_growth = rtts
        self.lost_mode = self.mode
        if self.mode == "window":
            self.lost_amount = self.fractional_window / 2
            self.fractional_window -= self.lost_amount
        else:
            self.lost_amount = self.pacing_rate / 2
            self.pacing_rate -= self.lost_amount
        self.state, self.loss_sent, self.loss_ts = "loss", sent, now

    def undo(self) -> None:
        if self.lost_amount == 0:
            return
        self.mode = self.lost_mode
        if self.mode == "window":
            self.fractional_window += self.lost_amount
            self.pacing_rate = self.fractional_window / self.srtt
        else:
            self.pacing_rate += self.lost_amount
        self.rtts_to_growth = max(0.0, self.rtts_to_growth - self.lost_rtts)
        self.lost_amount = self.lost_rtts = 0.0
        self.state = "avoid"

    def grow(self, acks: int) -> None:
        if self.state == "loss" or acks <= 0:
            return
        increment = self.pacing_rate / 1000
        if increment < MTU or self.rtts_to_growth:
            increment = MTU
        if self.mode == "window":
            self.fractional_window += acks * MTU * (self.srtt / self.vrtt) ** 2 * increment / self.fractional_window
        else:
            self.pacing_rate += acks * increment / self.vrtt * MTU / self.vrtt / self.pacing_rate


def rows() -> Iterator[str]:
    """Yields the rows of five cases, with RTTs from 1 to 80 ms."""
    cases = [(100_000, 20_000), (20_000_000, 1_000), (20_000_000, 5_000), (50_000_000, 25_000), (100_000_000, 80_000)]
    for case, (initial_bps, base_us) in enumerate(cases):
        draws = random.Random(case)
        sender = Sender(initial_bps / 8)
        now_us, received, ce, lost, sent = base_us, 0, 0, 0, 40
        for step in range(300):
            now_us += draws.randrange(base_us // 5, base_us // 2)
            newly = draws.randrange(1, 9)
            marked = draws.randrange(0, newly + 1) if step > 60 and draws.random() < 0.2 else 0
            newly_lost = int(step % 90 == 89)
            undone = step % 180 == 93
            received, ce, lost = received + newly, ce + marked, lost + newly_lost
            sent = max(sent, received + lost + draws.randrange(1, 60))
            rtt_us = base_us + draws.randrange(0, 1 + base_us // 4)
            if undone:
                sender.undo()
            sender.ack(now_us / 1e6, rtt_us / 1e6, received, ce, lost, sent)
            yield (
                f"{case},{initial_bps},{now_us},{newly},{marked},{newly_lost},{rtt_us},{sent - received - lost},{int(undone)},"
                f"{sender.fractional_window!r},{sender.pacing_rate!r},{sender.alpha!r},{sender.rtts_to_growth!r}"
            )


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
