"""A fluid model of one Prague and one CUBIC flow over DualPI2, for paths on which p' is not constant.

Time advances in steps. In each step, the queues, both windows and the PI controller change by the rules of RFC 9332,
RFC 9438 with Linux's constants, and TCP Prague (module 0.7). Data are fluids, but marks and drops are single events:
a drop of CUBIC reduces its window by a finite amount, which changes p' for many RTTs. The model contains no code of the
simulator. After slow start, its only inputs are the rate of the link and the RTT.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from longpipe_evidence.validate.coupled_law import BETA, COUPLING, DECREASE, RTT_TARGET_S, TARGET_S

# Longest step [s], and number of steps in an RTT.
STEP_S: Final = 0.001
STEPS_PER_RTT: Final = 10
# Integral gain [1/s] and update interval [s] of DualPI2 (RFC 9332 appendix A.1).
ALPHA: Final = 0.16
UPDATE_S: Final = 0.016
# CUBIC's constant C, its growth per RTT in the Reno-friendly region, and the share of W_max that is kept if bandwidth
# is released (RFC 9438 sections 4.1, 4.3 and 4.7).
CUBIC_C: Final = 0.4
FRIENDLY: Final = 3 * (1 - DECREASE) / (1 + DECREASE)
RELEASED: Final = (1 + DECREASE) / 2
# Gain of Prague's average of marks, and number of rounds after which its growth depends on the RTT (module 0.7).
GAIN: Final = 1 / 16
ROUNDS: Final = 4
# Initial and smallest window [packets] of Linux.
INITIAL: Final = 10.0
LEAST: Final = 2.0
# Ratios of the pacing rate to the window per RTT in slow start and in congestion avoidance, and the bounds of CUBIC's
# growth [packets]: at least 1 % per window and at most a half per ACK (Linux: tcp_pacing_ss_ratio, tcp_pacing_ca_ratio,
# and bictcp_update of tcp_cubic.c).
PACING_SLOW_START: Final = 2.0
PACING_AVOIDANCE: Final = 1.2
MIN_GROWTH_PER_WINDOW: Final = 0.01
MAX_GROWTH_PER_ACK: Final = 0.5


class _Prague:
    """The state of a Prague sender: its window, packets in flight, and average share of marks."""

    def __init__(self) -> None:
        self.window = INITIAL
        self.flight = 0.0
        self.average = 0.0
        self.sent = self.acked = 0.0
        self.slow_start = True
        self.was_marked = False
        # Values of `acked` at which the round and the reduction end.
        self.round_end = self.reduction_end = 0.0
        # Rounds after slow start, and the marked and delivered packets of the present round.
        self.rounds = 0
        self.marks, self.delivered = 0, 0.0
        # Times of the latest updates of the average and of the latest reduction.
        self.averaged_s = self.reduced_s = -1.0

    def on_ack(self, acked: float, marks: int, now_s: float, rtt_s: float) -> None:
        """Processes `acked` packets, of which `marks` are marked."""
        self.acked += acked
        self.flight -= acked
        self.delivered += acked
        if marks:
            self._reduce(marks, now_s)
        unmarked = max(0.0, acked - marks)
        if self.slow_start:
            self.window += unmarked
        else:
            scale = (rtt_s / RTT_TARGET_S) ** 2 if self.rounds >= ROUNDS and rtt_s < RTT_TARGET_S else 1.0
            self.window += unmarked * scale / self.window
        self.window = max(LEAST, self.window)
        if self.acked >= self.round_end and (self.rounds < ROUNDS or now_s - self.averaged_s >= RTT_TARGET_S):
            self._end_round(now_s)

    def _reduce(self, marks: int, now_s: float) -> None:
        """Processes the marks of an ACK: reduces the window once per round trip by half of the mean share of marks.

        The first mark also halves the window, as in the module; the mean share is still 0 then.
        """
        self.marks += marks
        if not self.was_marked:
            self.was_marked = True
            self.window /= 2
        if self.acked < self.reduction_end:
            return
        self.reduction_end = self.sent
        self.slow_start = False
        if self.rounds < ROUNDS or now_s - self.reduced_s >= RTT_TARGET_S:
            self.reduced_s = now_s
            self.window -= self.window * self.average / 2

    def _end_round(self, now_s: float) -> None:
        if self.was_marked and self.delivered > 0:
            self.average += GAIN * (min(1.0, self.marks / self.delivered) - self.average)
            self.averaged_s = now_s
        self.marks, self.delivered = 0, 0.0
        self.round_end = self.sent
        self.rounds += not self.slow_start

    def send(self, step_s: float, rtt_s: float) -> float:
        """Returns the packets sent in a step, which pacing limits."""
        pace = (PACING_SLOW_START if self.slow_start else PACING_AVOIDANCE) * self.window / rtt_s * step_s
        sent = min(max(0.0, self.window - self.flight), pace)
        self.flight += sent
        self.sent += sent
        return sent


class _Cubic:
    """The state of a CUBIC sender."""

    def __init__(self) -> None:
        self.window = INITIAL
        self.flight = 0.0
        self.sent = self.acked = 0.0
        self.slow_start = True
        # Value of `acked` at which the recovery ends.
        self.recovery_end = -1.0
        # Window before the latest reduction, then the parameters of the epoch: the plateau of the cubic function, the
        # time at which it is reached, and the Reno-friendly window.
        self.w_max = 0.0
        self.origin = self.k_s = self.friendly = 0.0
        self.epoch_s: float | None = None

    def on_ack(self, acked: float, losses: int, now_s: float, rtt_s: float) -> None:
        """Processes `acked` packets and `losses` lost ones."""
        self.acked += acked + losses
        self.flight -= acked + losses
        if self.acked < self.recovery_end:
            return
        if losses:
            self.slow_start, self.epoch_s = False, None
            self.w_max = self.window * (RELEASED if self.window < self.w_max else 1.0)
            self.window = max(LEAST, DECREASE * self.window)
            self.recovery_end = self.sent
        elif self.slow_start:
            self.window += acked
        elif acked > 0:
            self._grow(acked, now_s, rtt_s)

    def _grow(self, acked: float, now_s: float, rtt_s: float) -> None:
        """Increases the window for acknowledged packets: the cubic function or the Reno-friendly window (RFC 9438)."""
        if self.epoch_s is None:
            self.epoch_s, self.friendly = now_s, self.window
            self.origin = max(self.window, self.w_max)
            self.k_s = ((self.origin - self.window) / CUBIC_C) ** (1 / 3)
        cubic = self.origin + CUBIC_C * (now_s - self.epoch_s + rtt_s - self.k_s) ** 3
        self.friendly += FRIENDLY * acked / self.window
        growth = max(max(cubic, self.friendly) - self.window, MIN_GROWTH_PER_WINDOW) / self.window
        self.window += acked * min(growth, MAX_GROWTH_PER_ACK)

    def send(self, acked: float) -> float:
        """Returns the packets sent in a step: during recovery, proportional to the ACKs (RFC 6937)."""
        sent = max(0.0, self.window - self.flight)
        if self.acked < self.recovery_end:
            sent = DECREASE * acked if self.flight > self.window else min(sent, acked)
        self.flight += sent
        self.sent += sent
        return sent


class _DualPi2:
    """The state of the two coupled queues, and of the PI controller."""

    def __init__(self) -> None:
        # Packets in the L4S queue, and packets that have entered and left the classic one.
        self.l4s = 0.0
        self.arrived = self.departed = 0.0
        # Times and counts of arrivals in the classic queue.
        self.arrivals = deque([(0.0, 0.0)])
        self.probability = self.delay_before_s = 0.0
        self.next_update_s = UPDATE_S
        self.marks_due = self.drops_due = 0.0

    def serve(self, l4s: float, classic: float, capacity: float, now_s: float) -> tuple[float, float, int, int]:
        """Returns the packets that leave in a step, and the number of marked and dropped ones."""
        self.l4s += l4s
        self.arrived += classic
        if classic > 0:
            self.arrivals.append((now_s, self.arrived))
        l4s_out = min(self.l4s, capacity)
        self.l4s -= l4s_out
        classic_out = min(max(0.0, self.arrived - self.departed), capacity - l4s_out)
        self.marks_due += COUPLING * self.probability * l4s_out
        self.drops_due += self.probability**2 * classic_out
        marks, drops = int(self.marks_due), int(self.drops_due)
        self.marks_due -= marks
        self.drops_due -= drops
        self.departed += classic_out + drops
        while len(self.arrivals) > 1 and self.arrivals[0][1] <= self.departed + 1e-12:
            self.arrivals.popleft()
        return l4s_out, classic_out, marks, drops

    def update(self, now_s: float) -> None:
        """Performs the update of p' that is due."""
        if self.next_update_s > now_s:
            return
        self.next_update_s += UPDATE_S
        delay_s = now_s - self.arrivals[0][0] if self.arrived - self.departed > 1e-9 else 0.0
        moved = ALPHA * (delay_s - TARGET_S) + BETA * (delay_s - self.delay_before_s)
        self.probability = min(1.0, max(0.0, self.probability + moved))
        self.delay_before_s = delay_s


def modeled_share(packets_per_s: float, rtt_s: float, begin_s: float, end_s: float) -> float:
    """Returns Prague's share of the packets that the model sends between two times, beside one CUBIC flow.

    `rtt_s` is the RTT without queueing.
    """
    step_s = min(STEP_S, rtt_s / STEPS_PER_RTT)
    capacity = packets_per_s * step_s
    prague, cubic, queue = _Prague(), _Cubic(), _DualPi2()
    # What left the queues in the previous RTT: packets of both flows, marks and drops.
    on_path = deque([(0.0, 0.0, 0, 0)] * round(rtt_s / step_s))
    shares = [0.0, 0.0]
    for step in range(round(end_s / step_s)):
        now_s = step * step_s
        prague_acked, cubic_acked, marks, losses = on_path.popleft()
        l4s_rtt_s = rtt_s + queue.l4s / packets_per_s
        prague.on_ack(prague_acked, marks, now_s, l4s_rtt_s)
        # CUBIC uses the minimum RTT, as tcp_cubic.c does (`delay_min`), Prague the present one.
        cubic.on_ack(cubic_acked, losses, now_s, rtt_s)
        left = queue.serve(prague.send(step_s, l4s_rtt_s), cubic.send(cubic_acked), capacity, now_s)
        on_path.append(left)
        queue.update(now_s)
        if now_s >= begin_s:
            shares[0] += left[0]
            shares[1] += left[1]
    return shares[0] / sum(shares)
