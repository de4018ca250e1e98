"""Hosts, switches, links, and the flows between them."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SerializerFunctionWrapHandler, field_serializer

from longpipe.scenario.base import Buffer, Delay, Model, Rate, kind_or_table
from longpipe.scenario.loss import Loss, NoLoss
from longpipe.scenario.switch import Policy
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.traffic import Start, Traffic
from longpipe.scenario.vbr import OnOff, VbrFlow

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class Dumbbell(Model):
    """N sources share one trunk: source1..N, switch1, switch2, sink1..N; flow i runs from source i to sink i.

    All links are duplex. With the default delays the round-trip propagation time is 30 us.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    sources: int = Field(default=5, ge=1, le=10_000, description="Number of sources; ATM Forum/96-1761 figure 1")
    access_rate: Rate = Field(
        default="155.52 Mbit/s", description="Rate of the hosts' links [bit/s]; ATM Forum/96-1761"
    )
    trunk_rate: Rate = Field(default="155.52 Mbit/s", description="Rate of the shared link [bit/s]; ATM Forum/96-1761")
    access_delay: Delay = Field(default="5 us", description="Propagation source to switch1 [time]; ATM Forum/96-1761")
    trunk_delay: Delay = Field(default="5 us", description="Propagation switch1 to switch2 [time]; ATM Forum/96-1761")
    exit_delay: Delay = Field(default="5 us", description="Propagation switch2 to sink [time]; ATM Forum/96-1761")
    send_jitter: Delay = Field(default="0 s", description="Hosts delay each packet uniformly by less than this [time]")
    trunk_loss: Loss = Field(default=NoLoss(), description="Packets the trunk loses by force, switch1 to switch2")
    return_loss: Loss = Field(default=NoLoss(), description="Packets the trunk loses by force, switch2 to switch1")
    vbr: OnOff | None = Field(
        default=None, description="VBR over the trunk, from a host at switch1 to one at switch2; none if absent"
    )


class Node(Model):
    """A host, which ends flows, or a switch, which passes cells on."""

    name: Name = Field(description="A name of letters, digits, '_', '.', '-'; unique")
    kind: Literal["host", "switch"] = Field(description="A kind: host or switch")
    send_jitter: Delay = Field(
        default="0 s", description="A host delays each packet uniformly by less than this [time]"
    )


class Link(Model):
    """A duplex link: two directed links, each with its output port."""

    between: tuple[Name, Name] = Field(description="Two node names, as in ['a', 'b']")
    rate: Rate = Field(description="A bit rate of 53-byte cells or of IP packets [bit/s], as in '155.52 Mbit/s'")
    delay: Delay = Field(description="A propagation delay [time], as in '5 ms'")
    buffer: Buffer | None = Field(default=None, description="Buffer of its switch ports [cells, packets, bytes or BDP]")
    policy: Policy | None = Field(default=None, description="Policy of its switch ports")
    loss: Loss = Field(default=NoLoss(), description="Packets lost by force from the first node to the second")
    return_loss: Loss = Field(default=NoLoss(), description="Packets lost by force from the second node to the first")


class Flow(Model):
    """One TCP connection between two hosts; what it does not set it takes from the scenario."""

    name: Name = Field(description="A name of letters, digits, '_', '.', '-'; unique")
    from_: Name = Field(
        validation_alias=AliasChoices("from", "from_"), serialization_alias="from", description="The sending host"
    )
    to: Name = Field(description="The receiving host")
    route: tuple[Name, ...] | None = Field(
        default=None, description="Nodes from sender to receiver; fewest hops if absent"
    )
    return_route: tuple[Name, ...] | None = Field(default=None, description="Nodes back; the route reversed if absent")
    tcp: Tcp | None = Field(default=None, description="TCP fields that differ from the scenario's")
    traffic: Traffic | None = Field(default=None, description="Traffic, if not the scenario's")
    start: Start | None = Field(default=None, description="Start, if not the scenario's")

    @field_serializer("tcp", mode="wrap")
    def _only_overrides(self, tcp: Tcp | None, handler: SerializerFunctionWrapHandler) -> dict[str, Any] | None:
        written = handler(tcp)
        return None if tcp is None else {name: written[name] for name in tcp.model_fields_set}


class Graph(Model):
    """Any network of hosts, switches and duplex links."""

    kind: Literal["graph"] = "graph"
    nodes: tuple[Node, ...] = Field(description="A list of nodes, as in [{name = 'a', kind = 'host'}]")
    links: tuple[Link, ...] = Field(
        description="A list of links, as in [{between = ['a', 'b'], rate = ..., delay = ...}]"
    )
    flows: tuple[Flow, ...] = Field(description="A list of flows, as in [{name = 'f', from = 'a', to = 'b'}]")
    vbr: tuple[VbrFlow, ...] = Field(
        default=(), description="A list of VBR sources, as in [{name = 'v', from = 'c', to = 'd', period = '300 ms'}]"
    )


Network = Annotated[Dumbbell | Graph, Field(discriminator="kind"), kind_or_table()]
