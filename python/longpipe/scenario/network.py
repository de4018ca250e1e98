"""Hosts, switches, links, and the flows between them."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AliasChoices, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.base import LATER, Buffer, Delay, Model, Name, Rate, kind_or_table
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.loss import Loss, NoLoss
from longpipe.scenario.motion import Path
from longpipe.scenario.own import OwnTcp
from longpipe.scenario.parts import Part, Parts, part
from longpipe.scenario.pep import Pep, TrunkPep
from longpipe.scenario.policies import Policy
from longpipe.scenario.services import Service
from longpipe.scenario.traffic import Start, Stop, Traffic
from longpipe.scenario.vbr import OnOff, VbrFlow

Class = Annotated[
    int,
    LATER,
    Field(
        ge=0,
        le=255,
        validation_alias=AliasChoices("class", "class_"),
        serialization_alias="class",
        description="Class of its packets in both directions: at ports with classes 0 is the first one; at CAKE it is "
        "the DSCP",
    ),
]


CATEGORY: Final = "ATM service category of the VC of its data: ubr, or gfr, a guaranteed rate; ubr if absent"


class Group(Model):
    """Flows of a dumbbell with equal settings, called name1 to nameN, or just name if there is only one.

    Settings that the group does not specify are taken from the scenario.
    """

    name: Name = Field(description="Prefix of the flows' names: letters, digits, '_', '.', '-'")
    count: int = Field(default=1, ge=1, le=100_000, description="Number of flows")
    tcp: Part[OwnTcp] = part(default=None, description="TCP fields that differ from the scenario's")
    traffic: Part[Traffic | None] = part(default=None, description="Traffic; the scenario's if absent")
    start: Part[Start | None] = part(default=None, description="Start time; the scenario's if absent")
    stop: Part[Stop | None] = part(default=None, description="Stop time; the scenario's if absent")
    class_: Class = 0
    service: Annotated[Part[Service | None], LATER] = part(default=None, description=CATEGORY)
    access_delay: Delay | None = Field(
        default=None, description="Propagation delay from source to switch1 [time]; network.access_delay if absent"
    )
    exit_delay: Delay | None = Field(
        default=None, description="Propagation delay from switch2 to sink [time]; network.exit_delay if absent"
    )
    direction: Literal["forth", "back"] = Field(
        default="forth", description="Direction of the data: from source to sink (forth), or from sink to source (back)"
    )

    @property
    def flows(self) -> list[str]:
        """Returns the names of the group's flows."""
        return [self.name] if self.count == 1 else [f"{self.name}{i}" for i in range(1, self.count + 1)]


class Dumbbell(Model):
    """N sources share one trunk: source1..N, switch1, switch2, sink1..N; flow i runs from source i to sink i, or back.

    All links are duplex. With the default delays the round-trip propagation time is 30 us.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    sources: int = Field(
        default=5, ge=1, le=100_000, description="Number of sources, in total with groups; ATM Forum/96-1761 figure 1"
    )
    group: Parts[tuple[Group, ...] | None] = part(
        default=None,
        description="Groups of flows, as in [{name = 'web', count = 20, traffic = 'web'}]; all flows equal if absent",
    )
    access_rate: Rate = Field(
        default="155.52 Mbit/s", description="Rate of the hosts' links [bit/s]; ATM Forum/96-1761"
    )
    trunk_rate: Rate = Field(default="155.52 Mbit/s", description="Rate of the shared link [bit/s]; ATM Forum/96-1761")
    access_delay: Delay = Field(
        default="5 us", description="Propagation delay from source to switch1 [time]; ATM Forum/96-1761"
    )
    trunk_delay: Delay = Field(
        default="5 us", description="Propagation delay from switch1 to switch2 [time]; ATM Forum/96-1761"
    )
    exit_delay: Delay = Field(
        default="5 us", description="Propagation delay from switch2 to sink [time]; ATM Forum/96-1761"
    )
    return_rate: Rate | None = Field(
        default=None, description="Rate of the trunk from switch2 to switch1 [bit/s]; trunk_rate if absent"
    )
    return_delay: Delay | None = Field(
        default=None, description="Propagation delay from switch2 to switch1 [time]; trunk_delay if absent"
    )
    return_buffer: Buffer | None = Field(
        default=None,
        description="Buffer of the port from switch2 to switch1 [cells, packets, bytes, BDP or time]; switch.buffer if "
        "absent",
    )
    return_policy: Part[Policy | None] = part(
        default=None, description="Policy of the port from switch2 to switch1; switch.policy if absent"
    )
    send_jitter: Delay = Field(
        default="0 s",
        description="Send jitter: each host delays each packet by a uniform random time below this [time]",
    )
    host_policy: Part[Policy | None] = part(
        default=None, description="Queue discipline of the hosts' interfaces; tail drop if absent"
    )
    host_buffer: Buffer | None = Field(
        default=None, description="Buffer of the hosts' interfaces [packets, bytes, BDP or time]; unlimited if absent"
    )
    trunk_loss: Part[Loss] = part(
        default=NoLoss.unchecked(), description="Injected losses of the trunk, switch1 to switch2"
    )
    return_loss: Part[Loss] = part(
        default=NoLoss.unchecked(), description="Injected losses of the trunk, switch2 to switch1"
    )
    conditioners: Parts[tuple[Conditioner, ...]] = part(
        default=(),
        description="Policers, shaper, jitter, reordering, duplication, batches of the trunk, switch1 to switch2: "
        "[{kind = 'policer', rate = '10 Mbit/s', burst = '125 KB'}]",
    )
    return_conditioners: Parts[tuple[Conditioner, ...]] = part(
        default=(),
        description="Policers, shaper, jitter, reordering, duplication, batches of the trunk, switch2 to switch1",
    )
    path: Part[Path | None] = part(
        default=None,
        description="Variation of the trunk over time, switch1 to switch2; static if absent",
    )
    return_path: Part[Path | None] = part(
        default=None, description="Variation of the trunk over time, switch2 to switch1; equal to path if absent"
    )
    pep: Part[TrunkPep | None] = part(
        default=None, description="Split-TCP proxy at one of the switches (RFC 3135); none if absent"
    )
    vbr: Part[OnOff | None] = part(
        default=None,
        description="VBR source over the trunk, from a host at switch1 to a host at switch2; none if absent ",
    )

    @property
    def sent_back(self) -> list[bool]:
        """Returns, for each flow, whether its data go from sink to source."""
        if self.group is None:
            return [False] * self.sources
        return [group.direction == "back" for group in self.group for _ in group.flows]

    @property
    def has_both_directions(self) -> bool:
        """Returns whether the data of some flows go from source to sink and those of others from sink to source."""
        return len(set(self.sent_back)) == 2

    @model_serializer(mode="wrap")
    def _without_sources(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The number of sources is computed from the groups, so a user who changes a group's count has to change only
        # one field.
        return {name: v for name, v in handler(self).items() if self.group is None or name != "sources"}

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_its_groups(cls, fields: Any) -> Any:  # noqa: ANN401 - unvalidated input
        if isinstance(fields, dict) and fields.get("group") and "sources" not in fields:
            counts = [_count(group) for group in fields["group"]]
            return {**fields, "sources": sum(counts)} if all(counts) else fields
        return fields


class Node(Model):
    """A host, where flows begin and end, or a switch (router), which forwards."""

    name: Name = Field(description="A name of letters, digits, '_', '.', '-'; unique")
    kind: Literal["host", "switch"] = Field(description="A kind: host or switch")
    send_jitter: Delay = Field(
        default="0 s",
        description="Send jitter of a host: it delays each packet by a uniform random time below this [time]",
    )
    pep: Part[Pep | None] = part(
        default=None,
        description="Split-TCP proxy of a switch (RFC 3135); none if absent",
    )


def _count(group: object) -> int:
    """Returns the number of flows of a group as written; 0 if it is not valid."""
    count = group.count if isinstance(group, Group) else group.get("count", 1) if isinstance(group, dict) else 0
    return count if isinstance(count, int) and count > 0 else 0


class Link(Model):
    """A duplex link: two directed links, each with its output port."""

    between: tuple[Name, Name] = Field(description="Two node names, as in ['a', 'b']")
    rate: Rate = Field(description="A bit rate of 53-byte cells or of IP packets [bit/s], as in '155.52 Mbit/s'")
    delay: Delay = Field(description="A propagation delay [time], as in '5 ms'")
    return_rate: Rate | None = Field(
        default=None, description="Rate from the second node to the first [bit/s]; equal to rate if absent"
    )
    return_delay: Delay | None = Field(
        default=None, description="Delay from the second node to the first [time]; equal to delay if absent"
    )
    buffer: Buffer | None = Field(
        default=None, description="Buffer of the link's switch ports [cells, packets, bytes, BDP or time]"
    )
    return_buffer: Buffer | None = Field(
        default=None,
        description="Buffer of the second node's port [cells, packets, bytes, BDP or time]; equal to buffer if absent ",
    )
    policy: Part[Policy | None] = part(default=None, description="Queue discipline of the link's switch ports")
    return_policy: Part[Policy | None] = part(
        default=None, description="Queue discipline of the second node's port; equal to policy if absent"
    )
    host_policy: Part[Policy | None] = part(
        default=None, description="Queue discipline of the link's host interfaces; tail drop if absent"
    )
    host_buffer: Buffer | None = Field(
        default=None,
        description="Buffer of the link's host interfaces [packets, bytes, BDP or time]; unlimited if absent",
    )
    loss: Part[Loss] = part(
        default=NoLoss.unchecked(), description="Injected losses, from the first node to the second"
    )
    return_loss: Part[Loss] = part(
        default=NoLoss.unchecked(), description="Injected losses, from the second node to the first"
    )
    conditioners: Parts[tuple[Conditioner, ...]] = part(
        default=(),
        description="Policers, shaper, jitter, reordering, duplication, batches of the first node's port",
    )
    return_conditioners: Parts[tuple[Conditioner, ...]] = part(
        default=(),
        description="Policers, shaper, jitter, reordering, duplication, batches of the second node's port",
    )
    path: Part[Path | None] = part(
        default=None, description="Variation over time, from the first node to the second; static if absent"
    )
    return_path: Part[Path | None] = part(
        default=None, description="Variation over time, from the second node to the first; equal to path if absent"
    )


class Flow(Model):
    """A TCP connection or a datagram flow between two hosts; fields that it lacks are taken from the scenario."""

    name: Name = Field(description="A name of letters, digits, '_', '.', '-'; unique")
    from_: Name = Field(
        validation_alias=AliasChoices("from", "from_"), serialization_alias="from", description="The sending host"
    )
    to: Name = Field(description="The receiving host")
    route: tuple[Name, ...] | None = Field(
        default=None, description="Nodes from sender to receiver; fewest hops if absent"
    )
    return_route: tuple[Name, ...] | None = Field(
        default=None, description="Nodes of the return route; the reversed route if absent"
    )
    tcp: Part[OwnTcp] = part(default=None, description="TCP fields that differ from the scenario's")
    traffic: Part[Traffic | None] = part(default=None, description="Traffic; the scenario's if absent")
    start: Part[Start | None] = part(default=None, description="Start time; the scenario's if absent")
    stop: Part[Stop | None] = part(default=None, description="Stop time; the scenario's if absent")
    class_: Class = 0
    service: Annotated[Part[Service | None], LATER] = part(default=None, description=CATEGORY)


def _link(one: Link | tuple[str, str, str, str]) -> Link:
    if isinstance(one, Link):
        return one
    if not isinstance(one, tuple | list) or len(one) != 4:
        raise ScenarioError(f"links: {one!r}; needs a Link, or nodes, rate and delay: ('a', 's', '10 Mbit/s', '5 ms')")
    a, b, rate, delay = one
    return Link(between=(a, b), rate=rate, delay=delay)


class Graph(Model):
    """Any network of hosts, switches and duplex links."""

    kind: Literal["graph"] = "graph"
    nodes: Parts[tuple[Node, ...]] = Field(description="A list of nodes, as in [{name = 'a', kind = 'host'}]")
    links: Parts[tuple[Link, ...]] = Field(
        description="A list of links, as in [{between = ['a', 'b'], rate = ..., delay = ...}]"
    )
    flows: Parts[tuple[Flow, ...]] = Field(description="A list of flows, as in [{name = 'f', from = 'a', to = 'b'}]")
    vbr: Parts[tuple[VbrFlow, ...]] = part(
        default=(), description="A list of VBR sources, as in [{name = 'v', from = 'c', to = 'd', period = '300 ms'}]"
    )

    @classmethod
    def of(
        cls,
        links: Iterable[Link | tuple[str, str, str, str]],
        flows: Mapping[str, tuple[str, str]] | Iterable[Flow],
        vbr: Iterable[VbrFlow] = (),
    ) -> Self:
        """Creates a graph from its links and flows; nodes at which flows begin or end are hosts, all others switches.

        A link is a Link, or its nodes, rate and delay: `("a", "s", "10 Mbit/s", "5 ms")`; flows are Flows, or their
        ends by name: `{"bulk": ("a", "b")}`. Nodes are in the order of the links. Raises ScenarioError.
        """
        made = [_link(one) for one in links]
        if isinstance(flows, Mapping):
            flows = [Flow(name=name, from_=first, to=last) for name, (first, last) in flows.items()]
        streams = list(flows)
        for one in streams:
            if not isinstance(one, Flow):
                raise ScenarioError(f"flows: {one!r}; needs a Flow, or all of them as {{'bulk': ('a', 'b')}}")
        sources = tuple(vbr)
        ends = [*((flow.from_, flow.to) for flow in streams), *((source.from_, source.to) for source in sources)]
        hosts = {host for pair in ends for host in pair}
        names = dict.fromkeys(name for one in made for name in one.between)
        nodes = [Node(name=name, kind="host" if name in hosts else "switch") for name in names]
        return cls(nodes=tuple(nodes), links=tuple(made), flows=tuple(streams), vbr=sources)


@dataclass(frozen=True)
class FlowFields:
    """Names of a network's flows in the scenario: "network.group[2]" for the flows of a group."""

    network: Dumbbell | Graph

    @cached_property
    def _ends(self) -> list[int]:
        """Number of flows up to and including each group, in which a search is fast even for thousands of groups."""
        groups = self.network.group if isinstance(self.network, Dumbbell) else None
        return list(accumulate(group.count for group in groups or ()))

    def of(self, i: int) -> str:
        """Returns the name of flow i, counted from 0."""
        number = bisect_right(self._ends, i)
        return f"network.group[{number}]" if number < len(self._ends) else f"network.flows[{i}]"


Network = Annotated[Dumbbell | Graph, Field(discriminator="kind"), kind_or_table()]
