"""Runs the same injected drops in longpipe and in ns-2, and compares the order and times of the segments.

One connection sends a file over an IP bottleneck; over ATM, times would be rounded to cell slots. All other links are a
thousand times faster than the bottleneck and have no delay.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import pandas as pd
from pydantic import BeforeValidator, Field

from longpipe import Scenario, simulate
from longpipe.ip import HEADER_BYTES, SPEED_UP
from longpipe.result import Result, SequenceEvent
from longpipe.scenario import Dumbbell, Switch, Traces, Transfer
from longpipe.scenario.base import Delay, Model, PacketNumber, Rate, SegmentSize, quantity
from longpipe.scenario.loss import PacketLoss
from longpipe.scenario.recovery import NewRenoOptions, RenoOptions, SackOptions, TahoeOptions
from longpipe.scenario.tcp import Tcp
from longpipe.units import RATE, SIZE, TIME
from longpipe_evidence.validate import ns2

Flavor = Literal["vanilla", "tahoe", "reno", "newreno", "sack"]

# Duration of a run, within which every transfer completes, also after many timeouts.
DURATION: Final = "10000 s"


def _sorted(value: object) -> object:
    return tuple(sorted(set(value))) if isinstance(value, list | tuple) else value


class DropCase(Model):
    """A connection and its lost packets. Each option of TCP's rules is set in both simulators."""

    tcp: Flavor = Field(default="reno", description="Loss recovery")
    drop: Annotated[tuple[PacketNumber, ...], BeforeValidator(_sorted)] = Field(
        default=(), description="Arrival numbers, from 0, of the packets that the bottleneck drops"
    )
    segments: int = Field(default=200, ge=1, le=100_000, description="Length of the file, in segments")
    window: int = Field(default=100, ge=1, le=100_000, description="Receiver's window, in segments")
    queue: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Queue at the bottleneck, in addition to the packet in service"
    )
    rate: Rate = Field(default="1.5 Mbit/s", description="Rate of the bottleneck")
    round_trip: Delay = Field(default="100 ms", description="Round-trip propagation time")
    mss: SegmentSize = Field(default="512 B", description="Payload of a segment")
    tick: Annotated[str, quantity(TIME, "1 us", "100 s")] = Field(
        default="100 ms", description="Length of a clock tick"
    )
    guard: bool | None = Field(
        default=None,
        description="No second fast retransmit below the recovery point (bugFix_); by default only for Tahoe and SACK",
    )
    hoe: bool = Field(
        default=True,
        description="NewReno: one segment per two duplicate ACKs, and an estimate of ssthresh (newreno_changes_)",
    )
    deflation: bool = Field(default=False, description="NewReno: partial window deflation (partial_window_deflation_)")
    timer_restart: Literal["first", "every"] = Field(
        default="every", description="NewReno: partial ACKs that restart the timer"
    )
    pipe: Literal["window", "outstanding"] = Field(
        default="window", description="SACK: initial value of PIPE (oldCode_: window)"
    )

    @property
    def guarded(self) -> bool:
        """Returns whether the guard against multiple fast retransmits is on."""
        return self.tcp in ("tahoe", "sack") if self.guard is None else self.guard

    @cached_property
    def packet_bytes(self) -> int:
        """Returns the length [bytes] of a full packet on the wire."""
        return SIZE.parse(self.mss) + HEADER_BYTES

    def scenario(self) -> Scenario:
        """Returns the case as a scenario."""
        mss, rate = SIZE.parse(self.mss), RATE.parse(self.rate)
        window = f"{self.window * mss} B"
        fast = f"{SPEED_UP * rate} bit/s"
        return Scenario(
            defaults="1996",
            name="drops",
            framing="ip",
            duration=DURATION,
            network=Dumbbell(
                sources=1,
                access_rate=fast,
                trunk_rate=self.rate,
                access_delay="0 s",
                trunk_delay=f"{TIME.parse(self.round_trip) // 2} ps",
                exit_delay="0 s",
                trunk_loss=PacketLoss(indices=self.drop),
            ),
            # The buffer includes the packet in service.
            switch=Switch(buffer=f"{self.queue + 1} packets" if self.queue else "unlimited"),
            tcp=Tcp(
                mss=self.mss,
                receiver_window=window,
                initial_ssthresh=window,
                estimate_ssthresh=self.hoe and self.tcp == "newreno",
                tahoe=TahoeOptions(guard=self.guarded),
                reno=RenoOptions(guard=self.guarded, deflate_on_timeout=True),
                newreno=NewRenoOptions(
                    flywheel=self.hoe,
                    max_burst="2 segments",
                    partial_deflation=self.deflation,
                    guard=self.guarded,
                    timer_restart=self.timer_restart,
                ),
                sack=SackOptions(pipe=self.pipe, guard=self.guarded),
                timer=ns2.timer(self.tick),
            ),
            traffic=Transfer(size=f"{self.segments * mss} B"),
            traces=Traces(sequence=True),
        ).with_(**{"tcp.recovery": self.tcp})

    def arguments(self) -> list[str]:
        """Returns the case as arguments of the ns-2 script, in the order of its parameters."""
        options: dict[str, Any] = {"bugFix_": int(self.guarded)}
        if self.tcp == "vanilla":
            options["noFastRetrans_"] = 1
        if self.tcp == "newreno":
            options |= {
                "newreno_changes_": int(self.hoe),
                "newreno_changes1_": int(self.timer_restart == "first"),
                "partial_window_deflation_": int(self.deflation),
            }
        if self.tcp == "sack":
            options |= {"partial_ack_": 0, "oldCode_": int(self.pipe == "window")}
        return [
            *ns2.AGENTS[self.tcp],
            str(RATE.parse(self.rate)),
            str(SPEED_UP * RATE.parse(self.rate)),
            f"{TIME.parse(self.round_trip) / 2e12:.12f}",
            str(self.packet_bytes),
            str(HEADER_BYTES),
            str(self.window),
            str(self.queue or 0),
            str(self.segments),
            f"{TIME.parse(self.tick) / 1e12:.12f}",
            " ".join(map(str, self.drop)),
            " ".join(f"{name} {value}" for name, value in options.items()),
        ]


@dataclass(frozen=True)
class Comparison:
    """Both simulators' segments in order of transmission; columns: longpipe_s, longpipe_segment, ns2_s, ns2_segment."""

    case: DropCase
    sent: pd.DataFrame
    timeouts: int

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks: whether both sent the same segments, and those from the first difference."""
        from longpipe.notebook import paragraph

        first = self.first_difference
        verdict = "same segments in the same order" if first is None else f"first difference at segment {first} sent"
        lag = f"largest lag {self.largest_lag_s:.3g} s, {self.timeouts} timeouts"
        rows = self.sent.iloc[max(0, (first or 0) - 2) :]
        return paragraph([f"{self.case.tcp}: {verdict}", lag]) + rows.to_html(max_rows=10)

    @property
    def differs(self) -> pd.Series:
        """Returns, for each segment in order of transmission, whether it differs."""
        return (self.sent["longpipe_segment"] != self.sent["ns2_segment"]).fillna(True).astype(bool)

    @property
    def same_order(self) -> bool:
        """Returns whether both sent the same segments in the same order."""
        return not self.differs.any()

    @property
    def first_difference(self) -> int | None:
        """Returns the position of the first difference, from 0, or None."""
        return None if self.same_order else int(self.differs.to_numpy().argmax())

    @property
    def largest_lag_s(self) -> float:
        """Returns the largest difference [s] between send times of equal segments before the order first differs."""
        equal = self.sent.iloc[: self.first_difference]
        return float((equal["longpipe_s"] - equal["ns2_s"]).abs().max())


def compare(case: DropCase) -> Comparison:
    """Runs the case in longpipe and in ns-2. Raises ScenarioError if ns-2 is missing."""
    result = simulate(case.scenario())
    simulated, ns2_sent = _longpipe(case, result), ns2.run(case.arguments()).sent
    sent = pd.concat([simulated.add_prefix("longpipe_"), ns2_sent.add_prefix("ns2_")], axis=1)
    columns = {"longpipe_segment": "Int64", "ns2_segment": "Int64"}
    return Comparison(case, sent.astype(columns), int(result.flows["timeouts"].iloc[0]))


def _longpipe(case: DropCase, result: Result) -> pd.DataFrame:
    """Returns the time `s` and the number `segment` of each segment that longpipe sends."""
    trace = result.traces["sequence"]
    sent = trace[trace["event"] == SequenceEvent.SENT].reset_index(drop=True)
    return pd.DataFrame({"s": sent["time_s"], "segment": sent["sequence_bytes"] // SIZE.parse(case.mss)})
