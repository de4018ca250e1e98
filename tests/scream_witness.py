"""Independent SCReAMv2: computes the windows with which Rust's tests compare the control `scream`.

It follows the pseudocode of draft-ietf-ccwg-rfc8298bis-screamv2 (August 2026) and of two earlier texts of the draft, and
shares no code with longpipe.
`python tests/scream_witness.py` writes the table, `crates/tcp/src/congestion/model/scream/witness.csv`.
"""

import math
import random
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/tcp/src/congestion/model/scream/witness.csv"
HEADER = "case,rules,l4s,time_us,acked,marked,lost,rtt_us,in_flight,ref_wnd,l4s_alpha,qdelay_avg,target_bps"
MSS = 1000
VIRTUAL_RTT = 0.025
QDELAY_TARGET = 0.06


class Sender:
    """State of SCReAMv2's network congestion control and media rate control, in bytes and seconds."""

    in_flight_ratio = 0.0

    def __init__(self, ref_wnd: float, *, l4s: bool) -> None:
        self.ref_wnd, self.ref_wnd_i, self.ref_wnd_i_update_allowed = ref_wnd, 1.0, True
        self.is_l4s = l4s
        self.l4s_alpha = self.qdelay_avg = 0.0
        self.delivered_this_rtt = self.marked_this_rtt = 0
        self.last_alpha = self.last_qdelay = self.last_reaction = self.last_congestion = 0.0
        self.loss_detected = self.data_units_marked = False
        self.max_in_flight = self.max_in_flight_prev = 0
        self.round_began = 0.0

    def feedback(
        self, now: float, acked: int, marked: int, lost: bool, rtt: tuple[float, float], in_flight: int
    ) -> None:
        s_rtt, qdelay = rtt
        if now - self.round_began >= s_rtt:
            self.max_in_flight_prev, self.max_in_flight, self.round_began = self.max_in_flight, 0, now
        self.max_in_flight = max(self.max_in_flight, in_flight)
        self.delivered_this_rtt += acked
        self.marked_this_rtt += marked
        self.loss_detected |= lost
        self.data_units_marked |= marked > 0
        if now - self.last_alpha >= min(0.01, s_rtt):
            fraction = self.marked_this_rtt / self.delivered_this_rtt
            if fraction >= self.l4s_alpha:
                self.l4s_alpha = fraction / 8 + (1 - 1 / 8) * self.l4s_alpha
            else:
                self.l4s_alpha *= 1 - 1 / 128
            self.last_alpha, self.delivered_this_rtt, self.marked_this_rtt = now, 0, 0
        if now - self.last_qdelay >= min(VIRTUAL_RTT, s_rtt):
            self.qdelay_avg = qdelay if qdelay < self.qdelay_avg else 0.25 * qdelay + 0.75 * self.qdelay_avg
            self.last_qdelay = now
        scl = min(1.0, max(0.1, (8 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i) ** 2))
        self.reduce(now, s_rtt, qdelay, scl)
        self.increase(now, s_rtt, acked - marked, scl)

    def reduce(self, now: float, s_rtt: float, qdelay: float, scl: float) -> None:
        if self.loss_detected or self.data_units_marked:
            self.last_congestion = now
        queued = self.qdelay_avg > QDELAY_TARGET / 2
        if now - self.last_reaction < min(VIRTUAL_RTT, s_rtt) or not (
            self.loss_detected or self.data_units_marked or queued
        ):
            return
        if self.ref_wnd_i_update_allowed:
            self.ref_wnd_i, self.ref_wnd_i_update_allowed = self.ref_wnd, False
        if self.loss_detected:
            self.ref_wnd *= 0.7
        elif self.data_units_marked:
            self.on_ce(now, s_rtt, qdelay, scl)
        else:
            alpha_v = min(1.0, (self.qdelay_avg - QDELAY_TARGET / 2) / (QDELAY_TARGET / 2))
            self.ref_wnd *= 1 - alpha_v / 2 / max(1.0, s_rtt / VIRTUAL_RTT)
        self.ref_wnd = max(3000.0, self.ref_wnd)
        self.last_reaction, self.loss_detected, self.data_units_marked = now, False, False

    def on_ce(self, now: float, s_rtt: float, qdelay: float, scl: float) -> None:
        if not self.is_l4s:
            self.ref_wnd *= 0.8
            return
        backoff = self.l4s_alpha / 2 / max(1.0, s_rtt / VIRTUAL_RTT)
        if qdelay < QDELAY_TARGET / 4:
            backoff *= max(0.25, scl)
        if now - self.last_reaction > 100 * max(VIRTUAL_RTT, s_rtt):
            self.ref_wnd = min(self.ref_wnd, self.max_in_flight_prev)
        self.ref_wnd *= 1 - backoff

    def increase(self, now: float, s_rtt: float, unmarked: int, scl: float) -> None:
        post = min(1.0, (now - self.last_congestion) / (100 * max(VIRTUAL_RTT, s_rtt)))
        increment = unmarked * min(1.0, MSS / self.ref_wnd) * min(1.0, s_rtt / VIRTUAL_RTT) * max(0.25, scl)
        increment *= 1 + 0.02 * self.ref_wnd / MSS * post * scl
        if increment > 0 and self.ref_wnd + increment <= MSS + 1.5 * max(self.max_in_flight, self.max_in_flight_prev):
            self.ref_wnd += increment
            self.ref_wnd_i_update_allowed = True

    def target_bps(self, s_rtt: float, qdelay: float) -> float:
        small = 1 - min(0.2, max(0.0, min(1.0, MSS / self.ref_wnd) - 0.1))
        return small * MSS / (MSS + 20) / 1.2 * 8 * self.ref_wnd / s_rtt


class EarlierSender(Sender):
    """State of SCReAMv2 by the text of October 2024 (commit 29ff2f6), or by that of March 2025 (0e8dc3a)."""

    def __init__(self, ref_wnd: float, *, l4s: bool, emulates_cubic: bool) -> None:
        super().__init__(ref_wnd, l4s=l4s)
        self.emulates_cubic = emulates_cubic
        self.last_mark, self.last_inflection = -math.inf, 0.0
        self.target = 50e3

    def l4s_active(self, now: float) -> bool:
        return self.is_l4s and now - self.last_mark < 5

    def feedback(
        self, now: float, acked: int, marked: int, lost: bool, rtt: tuple[float, float], in_flight: int
    ) -> None:
        s_rtt, qdelay = rtt
        self.now = now
        self.in_flight_ratio = in_flight / self.ref_wnd
        if now - self.round_began >= s_rtt:
            self.max_in_flight_prev, self.max_in_flight, self.round_began = self.max_in_flight, 0, now
        self.max_in_flight = max(self.max_in_flight, in_flight)
        if marked > 0:
            self.last_mark = now
        self.delivered_this_rtt += acked
        self.marked_this_rtt += marked
        self.loss_detected |= lost
        self.data_units_marked |= marked > 0
        if now - self.last_alpha >= min(0.01, s_rtt):
            fraction = self.marked_this_rtt / self.delivered_this_rtt
            self.l4s_alpha = fraction / 16 + (1 - 1 / 16) * self.l4s_alpha
            self.last_alpha, self.delivered_this_rtt, self.marked_this_rtt = now, 0, 0
        if now - self.last_qdelay >= s_rtt:
            self.qdelay_avg = qdelay if qdelay < self.qdelay_avg else 0.25 * qdelay + 0.75 * self.qdelay_avg
            self.last_qdelay = now
        scl = self.scale()
        self.reduce(now, s_rtt, qdelay, scl)
        self.increase(now, s_rtt, acked - marked, scl if self.emulates_cubic else self.scale())
        self.target = self.target_bps(s_rtt, qdelay)

    def scale(self) -> float:
        slope = 8 if self.emulates_cubic else 4
        return min(1.0, max(0.1, (slope * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i) ** 2))

    def reduce(self, now: float, s_rtt: float, qdelay: float, scl: float) -> None:
        # Only this report counts: marks and losses of reports before the interval has passed are ignored.
        is_loss, is_ce, is_virtual_ce, alpha_v = self.loss_detected, self.data_units_marked, False, 0.0
        self.loss_detected = self.data_units_marked = False
        if now - self.last_congestion < min(VIRTUAL_RTT, s_rtt):
            return
        if qdelay > QDELAY_TARGET / 2:
            limit = 2 / self.target * MSS * 8 / s_rtt
            if self.l4s_alpha < limit or not self.l4s_active(now):
                alpha_v = min(1.0, max(0.0, (self.qdelay_avg - QDELAY_TARGET / 2) / (QDELAY_TARGET / 2)))
                is_virtual_ce = True
        if not (is_loss or is_ce or is_virtual_ce):
            return
        if now - self.last_inflection > 10 * s_rtt:
            self.last_inflection, self.ref_wnd_i = now, self.ref_wnd
        if is_loss:
            self.ref_wnd *= 0.7
        if is_ce:
            self.on_ce(now, s_rtt, qdelay, scl)
        if is_virtual_ce:
            self.ref_wnd *= 1 - alpha_v / 2
        self.ref_wnd = max(3000.0, self.ref_wnd)
        self.last_congestion = now

    def on_ce(self, now: float, s_rtt: float, qdelay: float, scl: float) -> None:
        if not self.is_l4s:
            self.ref_wnd *= 0.8
            return
        backoff = self.l4s_alpha / 2 * max(0.5, 1 - MSS / self.ref_wnd)
        if self.emulates_cubic and qdelay < 0.25 * QDELAY_TARGET:
            backoff *= max(0.25, scl)
        if now - self.last_congestion >= 100 * max(VIRTUAL_RTT, s_rtt):
            self.ref_wnd = min(self.ref_wnd, self.max_in_flight_prev)
            backoff = max(backoff, 0.25)
            self.l4s_alpha = 0.25
        self.ref_wnd *= 1 - backoff

    def increase(self, now: float, s_rtt: float, unmarked: int, scl: float) -> None:
        post = min(1.0, (now - self.last_congestion) / (100 * max(VIRTUAL_RTT, s_rtt)))
        ratio = min(1.0, MSS / self.ref_wnd)
        increment = unmarked * ratio * min(1.0, s_rtt / VIRTUAL_RTT) ** 2
        if not self.l4s_active(now):
            increment *= scl
        elif self.emulates_cubic:
            increment *= max(0.25, scl)
        increment *= max(0.5, 1 - ratio) * (1 + 0.02 * self.ref_wnd / MSS * post * scl)
        if self.ref_wnd + increment <= MSS + 2.0 * max(self.max_in_flight, self.max_in_flight_prev):
            self.ref_wnd += increment

    def target_bps(self, s_rtt: float, qdelay: float) -> float:
        rate = 1.0
        is_limited = qdelay / QDELAY_TARGET > 0.5 if self.emulates_cubic else not self.l4s_active(self.now)
        if is_limited and self.in_flight_ratio > 0.9:
            rate /= min(1.5, self.in_flight_ratio / 0.9)
        rate *= 1 - min(0.2, max(0.0, min(1.0, MSS / self.ref_wnd) - 0.1))
        return rate * MSS / (MSS + 20) * 8 * self.ref_wnd / s_rtt


def start(rules: str, l4s: bool) -> Sender:
    """Returns the sender of a text of the draft."""
    if rules == "2026-08":
        return Sender(10.0 * MSS, l4s=l4s)
    return EarlierSender(10.0 * MSS, l4s=l4s, emulates_cubic=rules == "2025-03")


def rows() -> Iterator[str]:
    """Yields the rows of six cases of each text: L4S and classic ECN, over three base RTTs."""
    cases = [
        (rules, base_us, l4s)
        for rules in ("2026-08", "2025-03", "2024-10")
        for l4s in (True, False)
        for base_us in (10_000, 25_000, 100_000)
    ]
    for case, (rules, base_us, l4s) in enumerate(cases):
        draws = random.Random(case)
        sender = start(rules, l4s)
        now_us = base_us
        for step in range(250 if rules == "2026-08" else 100):
            now_us += draws.randrange(base_us // 12, base_us // 4)
            wave = 0.5 * (1 - math.cos(step / (20 + 4 * (case % 6))))
            queue_us = int(70_000 * wave * draws.random()) if step > 40 else 0
            acked = MSS * draws.randrange(1, 12)
            marked = MSS * draws.randrange(0, acked // MSS + 1) if step > 30 and draws.random() < 0.3 * wave else 0
            lost = step % 61 == 60
            in_flight = int(sender.ref_wnd * draws.uniform(0.5, 1.2))
            rtt_us = base_us + queue_us
            s_rtt, qdelay = rtt_us / 1e6, queue_us / 1e6
            sender.feedback(now_us / 1e6, acked, marked, lost, (s_rtt, qdelay), in_flight)
            yield (
                f"{case},{rules},{int(l4s)},{now_us},{acked},{marked},{int(lost)},{rtt_us},{in_flight},{sender.ref_wnd!r},"
                f"{sender.l4s_alpha!r},{sender.qdelay_avg!r},{sender.target_bps(s_rtt, qdelay)!r}"
            )


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
