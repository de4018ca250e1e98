"""AIMD as a class, with the arithmetic of longpipe's own controller: slow start and congestion avoidance of RFC 5681."""

from typing import Any

from longpipe import Ack, Control, Event, Grant, Interval, compiled


class Aimd(Control):
    def __init__(self, beta: float = 0.5, crashes_after: float = 1e9) -> None:
        self.beta, self.crashes_after = beta, crashes_after

    def on_ack(self, ack: Ack) -> Grant | None:
        if ack.now > self.crashes_after:
            raise LookupError("no such window")
        if not ack.grows:
            return None
        increase = ack.mss if ack.window < ack.ssthresh else ack.mss * ack.mss / ack.window
        return Grant(window=min(ack.window + increase, ack.receiver_window))

    def cut(self, event: Event) -> float:
        window = float(int(min(event.window, event.receiver_window)))
        return float(max(int(window * self.beta / event.mss), 2)) * event.mss

    def on_loss(self, event: Event) -> Grant:
        return Grant(window=self.cut(event))

    def on_timeout(self, event: Event) -> Grant:
        return Grant(ssthresh=self.cut(event))


class CompiledAimd(Control):
    """AIMD in the form that Numba can compile."""

    state_fields = ("beta",)

    def __init__(self, beta: float = 0.5) -> None:
        self.state.beta = beta

    @compiled
    def on_ack(state: Any, ack: Ack, grant: Any) -> None:  # noqa: ANN401, N805 - no method
        if ack.grows:
            increase = ack.mss if ack.window < ack.ssthresh else ack.mss * ack.mss / ack.window
            grant.window = min(ack.window + increase, ack.receiver_window)

    @compiled
    def on_loss(state: Any, event: Event, grant: Any) -> None:  # noqa: ANN401, N805 - no method
        window = float(int(min(event.window, event.receiver_window)))
        grant.ssthresh = float(max(int(window * state.beta / event.mss), 2)) * event.mss
        grant.window = grant.ssthresh

    @compiled
    def on_timeout(state: Any, event: Event, grant: Any) -> None:  # noqa: ANN401, N805 - no method
        window = float(int(min(event.window, event.receiver_window)))
        grant.ssthresh = float(max(int(window * state.beta / event.mss), 2)) * event.mss
        grant.window = event.mss


class Paced(Control):
    """Sends at `gain` times the delivery rate of the latest round trip, with at most twice the BDP in flight."""

    interval = "1 RTT"
    paces = True
    owns_window = True

    def __init__(self, gain: float = 1.5) -> None:
        self.gain = gain

    def on_interval(self, interval: Interval) -> Grant | None:
        if not interval.delivery_rate > 0:
            return None
        bdp = interval.delivery_rate / 8 * interval.min_rtt
        return Grant(window=max(2 * bdp, 4 * interval.mss), rate=self.gain * interval.delivery_rate)
