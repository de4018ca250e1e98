"""The 72 transfers of lbd-01 in longpipe and in ns-2: completion, losses, timeouts, segments sent again."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from longpipe import simulate
from longpipe.papers.lbd_01 import MSS, PACKET_BYTES, SEGMENTS, Transfer, measure
from longpipe.scenario import Dumbbell
from longpipe.units import RATE, SIZE, TIME
from longpipe.validate import ns2

ACK_BYTES: Final = 40
QUANTITIES: Final = ("completion_time_s", "losses", "first_losses", "timeouts", "retransmissions")
# Losses this close to the one before belong to one overflow.
GAP_ROUND_TRIPS: Final = 0.5


@dataclass(frozen=True)
class TransferComparison:
    """What both did: the QUANTITIES of each, and frames of `s` and `segment` for what was sent and lost.

    `first_losses` counts those of the first overflow, which ends slow start.
    """

    transfer: Transfer
    longpipe: dict[str, float]
    ns2: dict[str, float]
    longpipe_sent: pd.DataFrame
    ns2_sent: pd.DataFrame
    longpipe_lost: pd.DataFrame
    ns2_lost: pd.DataFrame

    @property
    def difference(self) -> float:
        """Relative difference of the completion times."""
        return self.longpipe["completion_time_s"] / self.ns2["completion_time_s"] - 1

    def row(self) -> dict[str, Any]:
        """Factors, each quantity of both, `difference`."""
        pairs = [(f"{name}_{kind}", getattr(self, kind)[name]) for name in QUANTITIES for kind in ("longpipe", "ns2")]
        return {**vars(self.transfer), **dict(pairs), "difference": self.difference}


def compare(transfer: Transfer, *, guard: bool = True) -> TransferComparison:
    """Runs a transfer in both, with or without the guard against repeated fast retransmits (`bugFix_`).

    Raises ScenarioError where ns-2 is missing.
    """
    scenario = transfer.scenario(
        **{
            "tcp.reno.guard": guard,
            "tcp.newreno.guard": guard,
            "tcp.sack.guard": True,
            "traces": {"sequence": True, "queue": True},
        }
    )
    theirs = ns2.run(_arguments(transfer, guard=guard))
    result = simulate(scenario)
    trace = result.traces["sequence"]
    sent = trace[trace["event"] == 0].reset_index(drop=True)
    ours = pd.DataFrame({"s": sent["time_s"], "segment": sent["sequence_bytes"] // MSS})
    lost = losses(result.traces["queue"], ours, transfer)
    measured = measure(result)
    return TransferComparison(
        transfer,
        longpipe={**{name: measured[name] for name in QUANTITIES if name in measured}, "first_losses": _first(lost)},
        ns2={
            "completion_time_s": _completion_s(theirs.arrived),
            "losses": len(theirs.lost),
            "first_losses": _first(theirs.lost),
            "timeouts": theirs.timeouts,
            "retransmissions": theirs.retransmissions,
        },
        longpipe_sent=ours,
        ns2_sent=theirs.sent,
        longpipe_lost=lost,
        ns2_lost=theirs.lost,
    )


def losses(queue: pd.DataFrame, sent: pd.DataFrame, transfer: Transfer) -> pd.DataFrame:
    """Packets lost at the bottleneck: `s`, when they came to it, and `segment`.

    `queue` is the trace of a run and `sent` all that its sender sent, with `segment`; both in order of time.
    """
    trunk = queue[queue["port"] == "switch1->switch2"].reset_index(drop=True)
    full = trunk.index[trunk["queue_packets"] > transfer.buffer_packets]
    return pd.DataFrame({"s": trunk.loc[full, "time_s"].to_numpy(), "segment": sent.loc[full, "segment"].to_numpy()})


def _first(lost: pd.DataFrame) -> int:
    if lost.empty:
        return 0
    gaps = lost["s"].diff() > GAP_ROUND_TRIPS * 0.1
    return int(gaps.to_numpy().argmax()) if gaps.any() else len(lost)


def _completion_s(arrived: pd.DataFrame) -> float:
    """When the last segment came that had not come before."""
    return float(arrived.drop_duplicates("segment")["s"].iloc[-1])


def _arguments(transfer: Transfer, *, guard: bool) -> list[Any]:
    scenario = transfer.scenario()
    network = scenario.network
    assert isinstance(network, Dumbbell)  # noqa: S101 - all of its scenarios are
    options = {"bugFix_": int(guard or transfer.tcp == "sack")}
    if transfer.tcp == "newreno":
        options |= {"newreno_changes_": 1, "newreno_changes1_": 0, "partial_window_deflation_": 0}
    if transfer.tcp == "sack":
        options |= {"partial_ack_": 0, "oldCode_": 0}
    return [
        *ns2.AGENTS[transfer.tcp],
        RATE.parse(network.trunk_rate),
        RATE.parse(network.access_rate),
        TIME.parse(network.trunk_delay) / 1e12,
        PACKET_BYTES,
        ACK_BYTES,
        SIZE.parse(scenario.tcp.receiver_window) // MSS,
        transfer.buffer_packets,
        SEGMENTS,
        TIME.parse("100 ms") / 1e12,
        "",
        " ".join(f"{name} {value}" for name, value in options.items()),
    ]
