"""The 72 transfers of lbd-01 in longpipe and in ns-2: completion, losses, timeouts, retransmissions."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from longpipe.scenario import Dumbbell
from longpipe.units import RATE, SIZE, TIME
from longpipe_evidence.papers.lbd_01.courses import Course, first_overflow
from longpipe_evidence.papers.lbd_01.transfers import MSS, PACKET_BYTES, SEGMENTS, Transfer, measure
from longpipe_evidence.validate import ns2

ACK_BYTES: Final = 40
TICK_S: Final = TIME.parse("100 ms") / 1e12
QUANTITIES: Final = ("completion_time_s", "losses", "first_losses", "timeouts", "retransmissions")


@dataclass(frozen=True)
class TransferComparison:
    """Results of both simulators: QUANTITIES, and data frames with `s` and `segment` of sent and lost packets.

    `first_losses` counts the losses of the first overflow, which ends slow start.
    """

    transfer: Transfer
    longpipe: dict[str, float]
    ns2: dict[str, float]
    longpipe_sent: pd.DataFrame
    ns2_sent: pd.DataFrame
    longpipe_lost: pd.DataFrame
    ns2_lost: pd.DataFrame

    def _repr_html_(self) -> str:
        """Returns HTML with each quantity in both simulators, for notebooks."""
        from longpipe.notebook import paragraph, table

        rows = [(name, f"{self.longpipe[name]:.6g}", f"{self.ns2[name]:.6g}") for name in QUANTITIES]
        head = paragraph([f"completion times differ by {self.difference:.2%}"])
        return head + table(("quantity", "longpipe", "ns-2"), rows)

    @property
    def difference(self) -> float:
        """Returns the relative difference of the completion times."""
        return self.longpipe["completion_time_s"] / self.ns2["completion_time_s"] - 1

    def row(self) -> dict[str, Any]:
        """Returns the factors, each quantity in both simulators, and `difference`."""
        pairs = [(f"{name}_{kind}", getattr(self, kind)[name]) for name in QUANTITIES for kind in ("longpipe", "ns2")]
        return {**vars(self.transfer), **dict(pairs), "difference": self.difference}


def compare(transfer: Transfer, *, guard: bool = True) -> TransferComparison:
    """Runs a transfer in longpipe and ns-2, with or without the guard against repeated fast retransmits (`bugFix_`).

    Raises ScenarioError if ns-2 is missing.
    """
    ns2_run = ns2.run([*path_arguments(transfer), SEGMENTS, TICK_S, "", agent_options(transfer, guard=guard)])
    course = Course.of(transfer, **{"tcp.reno.guard": guard, "tcp.newreno.guard": guard})
    measured = measure(course.result)
    segments_sent, lost = (frame.rename(columns={"packet": "segment"}) for frame in (course.sent, course.lost))
    return TransferComparison(
        transfer,
        longpipe={
            **{name: measured[name] for name in QUANTITIES if name in measured},
            "first_losses": len(course.first_overflow),
        },
        ns2={
            "completion_time_s": _completion_s(ns2_run.arrived),
            "losses": len(ns2_run.lost),
            "first_losses": len(first_overflow(ns2_run.lost, course.round_trip_s)),
            "timeouts": ns2_run.timeouts,
            "retransmissions": ns2_run.retransmissions,
        },
        longpipe_sent=segments_sent,
        ns2_sent=ns2_run.sent,
        longpipe_lost=lost,
        ns2_lost=ns2_run.lost,
    )


def _completion_s(arrived: pd.DataFrame) -> float:
    """Returns the time at which the last new segment arrived."""
    return float(arrived.drop_duplicates("segment")["s"].iloc[-1])


def path_arguments(transfer: Transfer) -> list[Any]:
    """Returns the first arguments of ns-2's scripts: the agents, the path and its buffer."""
    scenario = transfer.scenario()
    network = scenario.network
    assert isinstance(network, Dumbbell)  # noqa: S101 - all of its networks are dumbbells
    return [
        *ns2.AGENTS[transfer.tcp],
        RATE.parse(network.trunk_rate),
        RATE.parse(network.access_rate),
        TIME.parse(network.trunk_delay) / 1e12,
        PACKET_BYTES,
        ACK_BYTES,
        SIZE.parse(scenario.tcp.receiver_window) // MSS,
        transfer.buffer_packets,
    ]


def agent_options(transfer: Transfer, *, guard: bool) -> str:
    """Returns the options of ns-2's sender for a transfer, as names and values."""
    options = {"bugFix_": int(guard or transfer.tcp == "sack")}
    if transfer.tcp == "newreno":
        options |= {"newreno_changes_": 1, "newreno_changes1_": 0, "partial_window_deflation_": 0}
    if transfer.tcp == "sack":
        options |= {"partial_ack_": 0, "oldCode_": 0}
    return " ".join(f"{name} {value}" for name, value in options.items())
