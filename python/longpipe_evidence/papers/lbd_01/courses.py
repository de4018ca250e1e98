"""Transfers of lbd-01 over time: normalized throughput and its slope; packets sent, acknowledged and lost."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd

from longpipe import simulate
from longpipe.result import Result, SequenceEvent
from longpipe.scenario import Dumbbell
from longpipe.units import RATE, TIME
from longpipe_evidence.papers.lbd_01.transfers import MSS, PACKET_BYTES, Transfer

TRACES: Final = {"traces": {"sequence": True, "queue": True, "cwnd": True}}
# Minimum gap between losses of different overflows [RTT].
GAP: Final = 0.5
# Share of the bottleneck that counts as fully used.
FULL: Final = 0.98
# Number of RTTs until ACKs reach the pace of congestion avoidance.
SETTLING_RTTS: Final = 3
# Number of RTTs excluded at the end of the transfer, in which fewer segments than cwnd are in flight.
FINAL_RTTS: Final = 2
# Minimum number of steps through which a slope is fitted.
MIN_STEPS: Final = 3


@dataclass(frozen=True)
class Course:
    """A transfer recorded over time.

    `sent`, `lost` and `acknowledged` are data frames with the columns `s`, a time [s], and `packet`, a number from 0.
    """

    transfer: Transfer
    result: Result

    @classmethod
    def of(cls, transfer: Transfer, **changes: object) -> "Course":
        """Runs a transfer with changed (dotted) fields."""
        return cls(transfer, simulate(transfer.scenario(**TRACES, **changes)))

    @cached_property
    def round_trip_s(self) -> float:
        """Returns the propagation delay in both directions [s]."""
        network = self.result.scenario.network
        assert isinstance(network, Dumbbell)  # noqa: S101 - all of its networks are dumbbells
        return 2 * TIME.parse(network.trunk_delay) / 1e12

    @cached_property
    def sent(self) -> pd.DataFrame:
        """Returns every packet sent; `again` marks retransmissions."""
        trace = self.result.traces["sequence"]
        sent = trace[trace["event"] == SequenceEvent.SENT]
        columns = {"s": sent["time_s"], "packet": sent["sequence_bytes"] // MSS, "again": sent["retransmission"]}
        return pd.DataFrame(columns).reset_index(drop=True)

    @cached_property
    def acknowledged(self) -> pd.DataFrame:
        """Returns every ACK received; packets below `packet` are acknowledged."""
        trace = self.result.traces["sequence"]
        acks = trace[trace["event"] == SequenceEvent.ACK]
        return pd.DataFrame({"s": acks["time_s"], "packet": acks["sequence_bytes"] // MSS}).reset_index(drop=True)

    @cached_property
    def lost(self) -> pd.DataFrame:
        """Returns packets that found the bottleneck's buffer full, at their arrival times."""
        queue = self.result.traces["queue"]
        # A single flow keeps its order, so packets arrive at the bottleneck in the order in which they were sent.
        trunk = queue[queue["port"] == "switch1->switch2"].reset_index(drop=True)
        # The limit includes the packet in service; the trace has the number of packets that an arriving packet finds.
        limit = int(self.result.scenario.switch.buffer.removesuffix(" packets"))
        full = trunk.index[trunk["queue_packets"] >= limit]
        columns = {"s": trunk.loc[full, "time_s"].to_numpy(), "packet": self.sent.loc[full, "packet"].to_numpy()}
        return pd.DataFrame(columns)

    @cached_property
    def first_overflow(self) -> pd.DataFrame:
        """Returns the losses of the first overflow, which ends slow start."""
        return first_overflow(self.lost, self.round_trip_s)

    @property
    def recovery_s(self) -> float:
        """Returns the time from the first loss until all packets of the first overflow are acknowledged."""
        return self.recovered_s - float(self.lost["s"].iloc[0])

    @property
    def recovered_s(self) -> float:
        """Returns the time at which all packets of the first overflow are acknowledged."""
        last = self.first_overflow["packet"].max()
        return float(self.acknowledged.loc[self.acknowledged["packet"] > last, "s"].iloc[0])

    @property
    def second_loss_s(self) -> float:
        """Returns the time of the first drop after the first overflow, or nan if there was none."""
        later = self.lost["s"].iloc[len(self.first_overflow) :]
        return float(later.iloc[0]) if len(later) else float("nan")

    @property
    def pipe_full_s(self) -> float:
        """Returns the middle of the first RTT after the recovery that fully uses the bottleneck; nan if none does."""
        steps = self.throughput()
        full = steps[(steps["s"] > self.recovered_s) & (steps["throughput"] >= FULL)]
        return float(full["s"].iloc[0]) if len(full) else float("nan")

    @property
    def reductions_s(self) -> list[float]:
        """Returns the times at which ssthresh changes."""
        trace = self.result.traces["cwnd"]
        thresholds = trace["ssthresh_bytes"].to_numpy()
        return [float(s) for s in trace["time_s"].to_numpy()[1:][thresholds[1:] != thresholds[:-1]]]

    @property
    def estimate_packets(self) -> float:
        """Returns NewReno's first finite ssthresh, which it estimates from the first ACKs; nan if there is none."""
        thresholds = self.result.traces["cwnd"]["ssthresh_bytes"]
        finite = thresholds[np.isfinite(thresholds)]
        return float(finite.iloc[0]) / MSS if len(finite) else float("nan")

    def throughput(self, begin_s: float = 0.0, end_s: float | None = None) -> pd.DataFrame:
        """Returns T_N in steps of an RTT: `s`, the middle of each, and `throughput`, a fraction of the bottleneck.

        T_N is the rate of arriving packets divided by the bottleneck's rate. Each arriving packet is acknowledged, so
        the ACKs in a step count the arrivals half an RTT earlier. Incomplete steps at the end are omitted.
        """
        network = self.result.scenario.network
        assert isinstance(network, Dumbbell)  # noqa: S101 - all of its networks are dumbbells
        step_s = self.round_trip_s
        last_s = float(self.acknowledged["s"].iloc[-1])
        edges = np.arange(begin_s, last_s if end_s is None else min(end_s + step_s / 2, last_s), step_s)
        arrived, _ = np.histogram(self.acknowledged["s"], edges)
        share = arrived * 8 * PACKET_BYTES / (RATE.parse(network.trunk_rate) * step_s)
        return pd.DataFrame({"s": edges[:-1] + step_s / 2, "throughput": share})

    def avoidance_s(self) -> tuple[float, float]:
        """Returns the start and the end of the first congestion avoidance in which cwnd grows to W*.

        If there is none, it is the last congestion avoidance, without the last `FINAL_RTTS` round trips. Between two
        changes of ssthresh, congestion avoidance begins when cwnd reaches ssthresh. Raises ValueError without one.
        """
        trace = self.result.traces["cwnd"]
        windows = trace["cwnd_bytes"].to_numpy() / MSS
        thresholds, times = trace["ssthresh_bytes"].to_numpy() / MSS, trace["time_s"].to_numpy()
        # Rows at which ssthresh has a new value, and the end of the trace.
        changes = [*(np.flatnonzero(thresholds[1:] != thresholds[:-1]) + 1), len(times)]
        for begin, end in pairwise(changes):
            linear = begin + np.flatnonzero(windows[begin:end] >= thresholds[begin])
            if not len(linear) or not np.isfinite(thresholds[begin]):
                continue
            full = linear[windows[linear] >= self.transfer.w_star_packets]
            # A window of W* at the start has not grown to W* in congestion avoidance.
            grows_to_full = len(full) and full[0] > linear[0]
            if end == len(times) or grows_to_full:
                before_end_s = times[end - 1] - FINAL_RTTS * self.round_trip_s
                return float(times[linear[0]]), float(times[full[0]] if len(full) else before_end_s)
        raise ValueError(f"{self.result.scenario.name}: no congestion avoidance")

    def slope_per_s(self) -> float:
        """Returns the slope of T_N in `avoidance_s` by least squares; nan if that is shorter than `MIN_STEPS` steps."""
        begin_s, end_s = self.avoidance_s()
        step_s = self.round_trip_s
        steps = self.throughput(begin_s + SETTLING_RTTS * step_s, end_s)
        if len(steps) < MIN_STEPS:
            return float("nan")
        return float(np.polyfit(steps["s"], steps["throughput"], 1)[0])


def first_overflow(lost: pd.DataFrame, round_trip_s: float) -> pd.DataFrame:
    """Returns the losses up to the first gap between their times `s`."""
    gaps = (lost["s"].diff() > GAP * round_trip_s).to_numpy()
    return lost.iloc[: int(gaps.argmax())] if gaps.any() else lost
