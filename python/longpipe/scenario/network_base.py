"""What the models of networks have beside their fields: names of flows, counts of groups, and construction."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.base import Model

if TYPE_CHECKING:
    from longpipe.scenario.network import Flow, Group, Link, Node
    from longpipe.scenario.parts import Parts
    from longpipe.scenario.vbr import VbrFlow


class GroupBase(Model):
    """Flows with equal settings."""

    if TYPE_CHECKING:
        name: str
        count: int
        direction: str

    @property
    def flows(self) -> list[str]:
        """Returns the names of the group's flows."""
        return [self.name] if self.count == 1 else [f"{self.name}{i}" for i in range(1, self.count + 1)]


class DumbbellBase(Model):
    """Sources that share one trunk."""

    if TYPE_CHECKING:
        sources: int
        group: "Parts[tuple[Group, ...] | None]"

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
        groups = fields.get("group") if isinstance(fields, dict) and "sources" not in fields else None
        if isinstance(groups, list | tuple) and groups:
            counts = [_count(group) for group in groups]
            return {**fields, "sources": sum(counts)} if all(counts) else fields
        return fields


def _count(group: object) -> int:
    """Returns the number of flows of a group as written; 0 if it is not valid."""
    count = group.count if isinstance(group, GroupBase) else group.get("count", 1) if isinstance(group, dict) else 0
    return count if isinstance(count, int) and count > 0 else 0


def _link(link: "Link | tuple[str, str, str, str]") -> "Link":
    # The module of the models imports this module.
    from longpipe.scenario.network import Link

    if isinstance(link, Link):
        return link
    if not isinstance(link, tuple | list) or len(link) != 4:
        raise ScenarioError(f"links: {link!r}; needs a Link, or nodes, rate and delay: ('a', 's', '10 Mbit/s', '5 ms')")
    a, b, rate, delay = link
    return Link(between=(a, b), rate=rate, delay=delay)


class GraphBase(Model):
    """Nodes and links, and flows between the nodes."""

    if TYPE_CHECKING:
        nodes: "Parts[tuple[Node, ...]]"
        links: "Parts[tuple[Link, ...]]"
        flows: "Parts[tuple[Flow, ...]]"
        vbr: "Parts[tuple[VbrFlow, ...]]"

    @classmethod
    def of(
        cls,
        links: "Iterable[Link | tuple[str, str, str, str]]",
        flows: "Mapping[str, tuple[str, str]] | Iterable[Flow]",
        vbr: "Iterable[VbrFlow]" = (),
    ) -> Self:
        """Creates a graph from its links and flows; nodes at which flows begin or end are hosts, all others switches.

        A link is a Link, or its nodes, rate and delay: `("a", "s", "10 Mbit/s", "5 ms")`; flows are Flows, or their
        ends by name: `{"bulk": ("a", "b")}`. Nodes are in the order of the links. Raises ScenarioError.
        """
        # The module of the models imports this one.
        from longpipe.scenario.network import Flow, Node

        made = [_link(link) for link in links]
        if isinstance(flows, Mapping):
            flows = [Flow(name=name, from_=first, to=last) for name, (first, last) in flows.items()]
        streams = list(flows)
        for flow in streams:
            if not isinstance(flow, Flow):
                raise ScenarioError(f"flows: {flow!r}; needs a Flow, or all of them as {{'bulk': ('a', 'b')}}")
        sources = tuple(vbr)
        ends = [*((flow.from_, flow.to) for flow in streams), *((source.from_, source.to) for source in sources)]
        hosts = {host for pair in ends for host in pair}
        names = dict.fromkeys(name for link in made for name in link.between)
        nodes = [Node(name=name, kind="host" if name in hosts else "switch") for name in names]
        return cls(nodes=tuple(nodes), links=tuple(made), flows=tuple(streams), vbr=sources)
