"""Directed links of a resolved scenario, each with its port, and the windows that fill their routes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from longpipe._core import Ports
from longpipe.scenario.base import Model, accepted
from longpipe.scenario.core import core_fields
from longpipe.scenario.own_class import Python
from longpipe.scenario.schedulers import Fifo
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.topology import Topology, core_part, plain
from longpipe.units import SIZE

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

LARGEST_WINDOW: Final = accepted(Tcp, "receiver_window").high
LARGEST_WINDOW_BYTES: Final = SIZE.parse(LARGEST_WINDOW)


def ports_of(scenario: "Scenario", tcps: Sequence[Tcp], datagrams: Sequence[int]) -> Ports:
    """Returns the switches' ports and the flows' TCP as crates/scenario reads them.

    `datagrams` are the payloads [bytes] of all flows if none uses TCP.
    """
    distinct = {id(tcp): tcp for tcp in tcps}
    numbers = {key: i for i, key in enumerate(distinct)}
    switch = scenario.switch
    fields = {
        "cells": scenario.framing == "aal5",
        "buffer": switch.buffer,
        "policy": (core_fields(switch.policy), list(switch.policy.problems()), plain(switch.policy)),
        "scheduler": switch.scheduler.kind,
        "ties": switch.ties,
        "tcps": [(tcp.mss, tcp.timestamps, tcp.receiver_window) for tcp in distinct.values()],
        "tcp_of": [numbers[id(tcp)] for tcp in tcps],
        "datagrams": datagrams,
        "most_window": LARGEST_WINDOW,
    }
    return Ports(orjson.dumps(fields).decode())


def directed_links(
    scenario: "Scenario", topology: Topology, tcps: Sequence[Tcp], ports: Ports
) -> tuple[list[dict[str, Any]], list[Tcp]]:
    """Returns both directions of each link, each with its port, and each flow's TCP with a window in bytes.

    Raises ScenarioError for the first buffer or medium access that does not fit its port. A policy of `longpipe.gym`,
    which may send more than the path holds, gets the largest window if its window is "auto".
    """
    fields, links, windows = topology.directed_links(ports)
    made = _Made(scenario, topology)
    rows = [{"from": None, "to": None, **made.fields(field)} for field in fields]
    directed = list[dict[str, Any]]()
    for first, last, number in links:
        # A copy is made in half the time of a new table.
        there, back = rows[number].copy(), rows[number + 1].copy()
        there["from"] = back["to"] = first
        there["to"] = back["from"] = last
        directed += (there, back)
    return directed, _fitted(tcps, dict(windows))


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
            **({} if link["access"] is None else {"access": self._part(link["access"])}),
        }

    def _part(self, number: int) -> dict[str, Any]:
        if (found := self._converted.get(number)) is None:
            part: Model = self._parts[number]
            self._converted[number] = found = core_part(part)
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
