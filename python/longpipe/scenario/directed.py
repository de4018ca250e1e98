"""Directed links of a resolved scenario, each with its port, and the windows that fill their routes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.scenario.base import AUTO, Model, accepted
from longpipe.scenario.buffers import Packet
from longpipe.scenario.conditioning import core_conditioner
from longpipe.scenario.core import core_fields
from longpipe.scenario.own_class import Python
from longpipe.scenario.schedulers import Fifo
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import Topology, facts_of
from longpipe.units import SIZE

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

LARGEST_WINDOW_BYTES: Final = SIZE.parse(accepted(Tcp, "receiver_window").high)


def directed_links(
    scenario: "Scenario", topology: Topology, tcps: Sequence[Tcp], largest: Packet
) -> tuple[list[dict[str, Any]], list[Tcp]]:
    """Returns both directions of each link, each with its port, and each flow's TCP with a window in bytes.

    Raises ScenarioError for the first buffer that does not fit its port. A policy of `longpipe.gym`, which may send
    more than the path holds, gets the largest window if its window is "auto".
    """
    switch = scenario.switch
    auto = [i for i, tcp in enumerate(tcps) if tcp.receiver_window == AUTO]
    lengths = {key: Packet.of(tcp).bytes for key, tcp in {id(tcps[i]): tcps[i] for i in auto}.items()}
    fields, links, windows = topology.directed_links(
        {
            "cells": scenario.framing == "aal5",
            "buffer": switch.buffer,
            "policy": facts_of(switch.policy),
            "largest": {"payload": largest.payload, "cells": largest.cells, "bytes": largest.bytes},
            "windows": [(i, lengths[id(tcps[i])], LARGEST_WINDOW_BYTES) for i in auto],
        }
    )
    made = _Made(scenario, topology)
    rows = [{"from": None, "to": None, **made.fields(field)} for field in fields]
    directed = list[dict[str, Any]]()
    for first, last, number in links:
        # A copy is made in half the time of a new table.
        there, back = rows[number].copy(), rows[number + 1].copy()
        there["from"] = back["to"] = first
        there["to"] = back["from"] = last
        directed += (there, back)
    return directed, _fitted(tcps, dict(zip(auto, windows, strict=True)))


class _Made:
    """Parts of links in the form of the core. Links share equal parts, which are therefore encoded once."""

    def __init__(self, scenario: "Scenario", topology: Topology) -> None:
        self._parts = topology.parts
        self._converted: dict[int, dict[str, Any]] = {}
        fifo = core_fields(Fifo())
        self._ports = {
            "host": {"scheduler": fifo},
            "switch": {
                "policy": core_fields(scenario.switch.policy), "scheduler": core_fields(scenario.switch.scheduler),
            },
        }  # fmt: skip

    def fields(self, link: dict[str, Any]) -> dict[str, Any]:
        """Returns the fields of a directed link other than its nodes."""
        port = self._ports[link["port"]]
        return {
            "rate_bps": link["rate_bps"],
            "delay_ps": link["delay_ps"],
            **port,
            **({} if link["policy"] is None else {"policy": self._part(link["policy"])}),
            "buffer": link["buffer"],
            "loss": self._part(link["loss"]),
            **({"conditioners": [self._part(i) for i in link["conditioners"]]} if link["conditioners"] else {}),
        }

    def _part(self, number: int) -> dict[str, Any]:
        if (found := self._converted.get(number)) is None:
            part: Model = self._parts[number]
            self._converted[number] = found = core_conditioner(part)
        return found


def _fitted(tcps: Sequence[Tcp], windows: dict[int, int]) -> list[Tcp]:
    """Returns each flow's TCP; `windows` are those of flows with automatic windows [byte], by flow."""
    made: dict[tuple[int, int], Tcp] = {}
    fitted = []
    for i, tcp in enumerate(tcps):
        window = windows.get(i, 0)
        if window and isinstance(tcp.congestion, Python) and tcp.congestion.policy:
            window = LARGEST_WINDOW_BYTES
        if (found := made.get((id(tcp), window))) is None:
            made[id(tcp), window] = found = tcp.model_copy(update={"receiver_window": f"{window} B"}) if window else tcp
        fitted.append(found)
    return fitted
