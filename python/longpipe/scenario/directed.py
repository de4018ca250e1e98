"""Directed links of a resolved scenario, each with its port."""

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from longpipe.scenario.base import Model
from longpipe.scenario.buffers import Packet, Pipe, buffer
from longpipe.scenario.conditioning import core_conditioner, shaped_rate
from longpipe.scenario.core import core_fields
from longpipe.scenario.network import Dumbbell, Link
from longpipe.scenario.policies import Policy, TailDrop
from longpipe.scenario.schedulers import Fifo
from longpipe.scenario.topology import Topology
from longpipe.units import RATE

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Values of all fields of a link except its nodes.
_own_of_link: Final = itemgetter(*(name for name in Link.model_fields if name != "between"))


def directed_links(scenario: "Scenario", topology: Topology, largest: Packet) -> Iterator[dict[str, Any]]:
    """Yields both directions of each link of the graph, each with its port.

    Links that differ only in their nodes are converted once.
    """
    directions, kinds, position = _Directions(scenario, topology, largest), topology.kinds, topology.position
    # Values are compared by identity, because the graph keeps them alive and equal strings are usually the same object.
    made: dict[tuple[str, str, tuple[int, ...]], list[dict[str, Any]]] = {}
    for i, link in enumerate(topology.graph.links):
        a, b = link.between
        key = (kinds[a], kinds[b], tuple(map(id, _own_of_link(link.__dict__))))
        if (both := made.get(key)) is None:
            made[key] = both = [directions.of_link(i, back) for back in (0, 1)]
        yield {"from": position[a], "to": position[b], **both[0]}
        yield {"from": position[b], "to": position[a], **both[1]}


class _Directions:
    """Fields of directed links, without their nodes. Links share equal parts, which are therefore encoded once."""

    def __init__(self, scenario: "Scenario", topology: Topology, largest: Packet) -> None:
        self._switch, self._topology = scenario.switch, topology
        self._buffers = _Buffers(scenario, topology, largest)
        self._fifo = core_fields(Fifo())
        self._host_port = {"buffer": None, "policy": core_fields(TailDrop()), "scheduler": self._fifo}
        self._scheduler = core_fields(scenario.switch.scheduler)
        self._made: dict[int, dict[str, Any]] = {}

    def of_link(self, i: int, back: int) -> dict[str, Any]:
        """Returns a direction of link i: 0 is the direction from its first node, 1 the direction back to it."""
        link, topology = self._topology.graph.links[i], self._topology
        at = 2 * i + back
        loss, conditioners = link.loss, link.conditioners
        if back:
            loss, conditioners = link.return_loss, link.return_conditioners
        return {
            "rate_bps": RATE.parse(topology.rates[at]),
            "delay_ps": topology.delays_ps[at],
            **self._port(i, link, back, topology.rates[at]),
            "loss": self._shared(loss),
            **({"conditioners": [core_conditioner(one) for one in conditioners]} if conditioners else {}),
        }

    def _port(self, i: int, link: Link, back: int, rate: str) -> dict[str, Any]:
        """Returns the port from which a direction of link i leaves."""
        if self._topology.kinds[link.between[back]] == "switch":
            policy = link.policy or self._switch.policy
            if back:
                policy = link.return_policy or policy
            buffer = self._buffers.of_link(i, back, policy)
            return {"policy": self._shared(policy), "scheduler": self._scheduler, "buffer": buffer}
        if link.host_policy is None and link.host_buffer is None:
            return self._host_port
        of_host = self._shared(link.host_policy) if link.host_policy else self._host_port["policy"]
        return {"policy": of_host, "scheduler": self._fifo, "buffer": self._buffers.of_host(i, rate)}

    def _shared(self, part: Model) -> dict[str, Any]:
        if (found := self._made.get(id(part))) is None:
            self._made[id(part)] = found = core_fields(part)
        return found


class _Buffers:
    """Buffers of the ports of a topology's links; equal ones are built once."""

    def __init__(self, scenario: "Scenario", topology: Topology, largest: Packet) -> None:
        self._scenario, self._topology, self._largest = scenario, topology, largest
        self._made: dict[tuple[str, str], dict[str, Any] | None] = {}

    def of_link(self, i: int, back: int, policy: Policy) -> dict[str, Any] | None:
        """Returns the buffer of the port of a direction of link i, whose policy is given."""
        network, link = self._scenario.network, self._topology.graph.links[i]
        # In a dumbbell, 1 BDP is computed with the trunk's rate at all ports.
        rate = network.trunk_rate if isinstance(network, Dumbbell) else link.rate
        text = link.buffer or self._scenario.switch.buffer
        if not back:
            return self._made_of(i, "buffer", text, shaped_rate(rate, policy, link.conditioners))
        rate = shaped_rate(link.return_rate or rate, policy, link.return_conditioners)
        return self._made_of(i, "return_buffer", link.return_buffer or text, rate)

    def of_host(self, i: int, rate: str) -> dict[str, Any] | None:
        """Returns the buffer of a link's port at a host; `rate` is the rate of the port."""
        text = self._topology.graph.links[i].host_buffer
        return None if text is None else self._made_of(i, "host_buffer", text, rate)

    def _made_of(self, i: int, name: str, text: str, rate: str) -> dict[str, Any] | None:
        if (text, rate) not in self._made:
            pipe = Pipe(RATE.parse(rate), self._topology.longest_round_trip_ps)
            field, framing = self._field(i, name), self._scenario.framing
            self._made[text, rate] = buffer(field, text, framing, pipe, self._largest)
        return self._made[text, rate]

    def _field(self, i: int, name: str) -> str:
        """Returns the name under which the buffer of a link's port is set in the scenario."""
        link = self._topology.graph.links[i]
        if name == "host_buffer" or (name == "return_buffer" and link.return_buffer is not None):
            dumbbell = isinstance(self._scenario.network, Dumbbell)
            return f"network.{name}" if dumbbell else f"network.links[{i}].{name}"
        return "switch.buffer" if link.buffer is None else f"network.links[{i}].buffer"
