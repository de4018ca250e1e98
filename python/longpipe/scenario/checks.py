"""Checks that concern several parts of a scenario, each of which is valid by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import MissingSetting, ScenarioError
from longpipe.scenario import conditioning
from longpipe.scenario.conditioning import BESIDE_ACCESS
from longpipe.scenario.constraints import violated
from longpipe.scenario.framings import FOR_CELLS, FOR_PACKETS
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.network import Dumbbell, Graph
from longpipe.scenario.policies import Red, TailDrop
from longpipe.scenario.topology import MAX_PROBLEMS
from longpipe.units import SIZE, TIME, UNLIMITED

if TYPE_CHECKING:
    from longpipe.scenario.access import Access
    from longpipe.scenario.buffers import Framing
    from longpipe.scenario.network import Link, Network
    from longpipe.scenario.policies import Policy
    from longpipe.scenario.switch import Switch
    from longpipe.scenario.tcp import Tcp
    from longpipe.scenario.topology import Topology


def check(framing: Framing, network: Network, switch: Switch, topology: Topology, tcps: Sequence[Tcp]) -> None:
    """Raises ScenarioError for fields that exclude each other; `tcps` has an entry per flow, in the flows' order."""
    of_network = _network_problems(framing, network, switch, topology)
    problems = chain(_tcp_problems(framing, network, topology, tcps), of_network)
    _refuse(problems, lambda: _remedies(framing, network, switch, topology, tcps))


def check_network(framing: Framing, network: Network, switch: Switch, topology: Topology, tcps: Sequence[Tcp]) -> None:
    """Raises ScenarioError for fields that exclude each other, other than those of TCP."""
    problems = _network_problems(framing, network, switch, topology)
    _refuse(problems, lambda: _remedies(framing, network, switch, topology, tcps))


def _refuse(problems: Iterator[str], remedies: Callable[[], Iterable[MissingSetting]] = tuple) -> None:
    if found := dict.fromkeys(islice(problems, MAX_PROBLEMS)):
        raise ScenarioError(*found, remedies=remedies())


def _network_problems(framing: Framing, network: Network, switch: Switch, topology: Topology) -> Iterator[str]:
    return chain(
        _framing_problems(framing, network, switch, topology),
        topology.problems(framing),
        _conditioner_problems(framing, network, topology),
        _access_problems(framing, network, topology),
    )


def _tcp_problems(framing: Framing, network: Network, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[str]:
    # Flows without TCP fields of their own share one set of TCP settings.
    distinct = {id(tcp): (i, tcp) for i, tcp in enumerate(tcps)}
    for i, tcp in distinct.values():
        for name, problem in _problems_of(tcp):
            yield f"{tcp_field(topology, i, name)}: {problem}"
    for i, tcp in distinct.values():
        if framing == "aal5" and tcp.ecn.kind != "off":
            field = tcp_field(topology, i, "ecn")
            yield f"{field}: {tcp.ecn.kind}; needs off under AAL5, whose cells carry no ECN marks"


@by_identity
def _problems_of(tcp: Tcp) -> list[tuple[str, str]]:
    return list(tcp.problems())


def _remedies(
    framing: Framing, network: Network, switch: Switch, topology: Topology, tcps: Sequence[Tcp]
) -> Iterator[MissingSetting]:
    """Yields the settings that would end violations of constraints, each in the part that has its cause."""
    yield from _framing_remedies(framing, network, switch, topology, tcps)
    for field, policy in policies(network, switch, topology):
        if isinstance(policy, Red) and (framing == "aal5") != (policy.unit == "cells"):
            place = _settable(field)
            yield MissingSetting(f"{place}.unit", "cells" if framing == "aal5" else "packets", place)
    distinct = {id(tcp): (i, tcp) for i, tcp in enumerate(tcps)}
    for i, tcp in distinct.values():
        for constraint, _ in violated(tcp):
            if constraint.remedy is not None:
                field, value = constraint.remedy
                cause = tcp_field(topology, i, constraint.cause)
                own = tcp_field(topology, i, field)
                # A part whose own setting is the cause must not change that of other parts.
                place = own if own.startswith("network") else f"{cause.removesuffix(constraint.cause)}{field}"
                yield MissingSetting(_settable(place), value, _settable(cause))


def _framing_remedies(
    framing: Framing, network: Network, switch: Switch, topology: Topology, tcps: Sequence[Tcp]
) -> Iterator[MissingSetting]:
    """Yields the framing that queues and ECN need, and a buffer that this framing accepts."""
    queues = {policy.kind for _, policy in policies(network, switch, topology)}
    marked = framing == "aal5" and any(tcp.ecn.kind != "off" for tcp in tcps)
    if framing == "ip" and queues.difference(FOR_PACKETS):
        yield MissingSetting("framing", "aal5")
        accepted = ("cells", "BDP", UNLIMITED, *TIME.units)
    elif framing == "aal5" and (queues.difference(FOR_CELLS) or marked):
        yield MissingSetting("framing", "ip")
        if switch.policy.kind not in FOR_PACKETS:
            yield MissingSetting("switch.policy", TailDrop().kind)
        accepted = ("packets", "BDP", UNLIMITED, *TIME.units, *SIZE.units)
    else:
        return
    if "buffer" in switch.model_fields_set and switch.buffer.split()[-1] not in accepted:
        yield MissingSetting("switch.buffer", "1 BDP")
    if framing == "ip" and any(tcp.ecn.kind != "off" for tcp in tcps):
        yield MissingSetting("tcp.ecn", "off")


def _settable(field: str) -> str:
    """Returns the name by which `--set` and `with_` change a field: network.group.0.tcp for network.group[0].tcp."""
    return field.replace("[", ".").replace("]", "")


def check_flow_arrivals(network: Network, resolved: Mapping[str, Any]) -> None:
    """Checks flows that arrive dynamically.

    Raises ScenarioError if they are carried in ATM cells or resume from earlier flows.
    """
    own = fields_of_flows(network, "traffic")
    for flow in resolved["flows"]:
        if flow["traffic"]["kind"] != "flow-arrivals":
            continue
        field = f"{own.get(flow['name'], 'traffic')} of flow {flow['name']!r}"
        if resolved["framing"] == "aal5":
            raise ScenarioError(f"{field}: flow-arrivals; needs framing = 'ip'")
        if flow["tcp"].get("careful_resume", {}).get("kind") == "previous":
            raise ScenarioError(f"{field}: flow-arrivals with tcp.careful_resume = 'previous'; needs off or saved")


def fields_of_flows(network: Network, part: str) -> dict[str, str]:
    """Returns the field in which a flow or its group has its own `part`, by the name of the flow."""
    if isinstance(network, Dumbbell):
        groups = ((f"network.group[{i}].{part}", group) for i, group in enumerate(network.group or ()))
        return {name: field for field, one in groups if getattr(one, part) for name in one.flows}
    flows = ((f"network.flows[{i}].{part}", flow) for i, flow in enumerate(network.flows))
    return {one.name: field for field, one in flows if getattr(one, part)}


def tcp_field(topology: Topology, i: int, name: str) -> str:
    """Returns the name under which a field of a flow's TCP is set in the scenario."""
    tcp = topology.flows[i].tcp
    own = tcp is not None and name.partition(".")[0] in tcp.model_fields_set
    return f"{topology.flow_field(i)}.tcp.{name}" if own else f"tcp.{name}"


def policies(network: Network, switch: Switch, topology: Topology) -> Iterator[tuple[str, Policy]]:
    """Yields each policy that the scenario sets, with the name of its field."""
    yield "switch.policy", switch.policy
    for i, link in topology.special_links:
        for name in ("host_policy", "return_policy") if isinstance(network, Dumbbell) else _POLICIES:
            if (policy := getattr(link, name)) is not None:
                yield _link_field(network, i, name), policy


_POLICIES: Final = ("policy", "return_policy", "host_policy")


def _link_field(network: Network, i: int, name: str) -> str:
    """Returns the name of a field of link i in the scenario."""
    return f"network.{name}" if isinstance(network, Dumbbell) else f"network.links[{i}].{name}"


def _conditioner_problems(framing: Framing, network: Network, topology: Topology) -> Iterator[str]:
    """Yields the problems of each conditioner, of combinations, and of their use with the framing or send jitter."""
    jitter = _send_jitter(network, topology)
    for i, link in topology.special_links:
        for name, node in zip(("conditioners", "return_conditioners"), link.between, strict=True):
            if not (own := getattr(link, name)):
                continue
            field = _link_field(network, i, name)
            for k, conditioner in enumerate(own):
                yield from (f"{field}[{k}].{part}: {problem}" for part, problem in conditioner.problems())
            yield from (f"{field}{place}: {problem}" for place, problem in conditioning.problems(own))
            if framing == "aal5":
                yield f"{field}: set; needs framing 'ip', whose packets they act on"
            elif node in jitter:
                yield f"{field}: set; needs send_jitter 0 s, not {jitter[node]}, at {node}"


def accesses(network: Network, links: Mapping[int, Link]) -> Iterator[tuple[int, str, Access]]:
    """Yields the number of each directed link with medium access, the name of its field, and the access."""
    for i, link in links.items():
        for back, (name, access) in enumerate((("access", link.access), ("return_access", link.return_access))):
            if access is not None:
                yield 2 * i + back, _link_field(network, i, name), access
    if isinstance(network, Dumbbell):
        for name, access in _exit_accesses(network):
            # The links of the sinks follow those of the sources and the trunk.
            first = 2 * (network.sources + 1) + (name == "exit_return_access")
            yield from ((first + 2 * i, f"network.{name}", access) for i in range(network.sources))


def _exit_accesses(network: Dumbbell) -> Iterator[tuple[str, Access]]:
    """Yields the medium access of the links between switch2 and the sinks, with the names of its fields."""
    if network.exit_access is not None:
        yield "exit_access", network.exit_access
    if network.exit_return_access is not None:
        yield "exit_return_access", network.exit_return_access


def _exit_access_problems(framing: Framing, network: Dumbbell) -> Iterator[str]:
    for name, access in _exit_accesses(network):
        yield from (f"network.{name}.{part}: {problem}" for part, problem in access.problems())
        if framing == "aal5":
            yield f"network.{name}: {access.kind}; needs framing 'ip', whose packets it sends"
        elif name == "exit_return_access" and TIME.parse(network.send_jitter) > 0:
            yield f"network.{name}: {access.kind}; needs send_jitter 0 s, not {network.send_jitter}"


def _access_problems(framing: Framing, network: Network, topology: Topology) -> Iterator[str]:
    """Yields the problems of each medium access, and of its use with the framing, a path or send jitter."""
    if isinstance(network, Dumbbell):
        yield from _exit_access_problems(framing, network)
    links, jitter = topology.links, _send_jitter(network, topology)
    for number, field, access in accesses(network, links):
        back = number % 2
        if number // 2 not in links:
            continue
        link = links[number // 2]
        node = link.between[back]
        yield from (f"{field}.{part}: {problem}" for part, problem in access.problems())
        if framing == "aal5":
            yield f"{field}: {access.kind}; needs framing 'ip', whose packets it sends"
        elif node in jitter:
            yield f"{field}: {access.kind}; needs send_jitter 0 s, not {jitter[node]}, at {node}"
        path = (link.return_path or link.path) if back else link.path
        if path is not None:
            yield f"{field}: {access.kind}; needs a constant link, without a path in its direction"
        for conditioner in link.return_conditioners if back else link.conditioners:
            if not conditioner.beside_access:
                yield f"{field}: {access.kind}; not together with {conditioner.kind}, needs {', '.join(BESIDE_ACCESS)}"


def _send_jitter(network: Network, topology: Topology) -> dict[str, str]:
    """Returns the bound of each node's send jitter, as in the scenario; empty if no link needs this check."""
    # At a dumbbell's trunk, there are no hosts.
    nodes = network.nodes if topology.special_links and isinstance(network, Graph) else ()
    return {node.name: node.send_jitter for node in nodes if TIME.parse(node.send_jitter) > 0}


def misplaced(framing: Framing, policy: Policy) -> str | None:
    """Returns why a policy cannot be used with a framing, as text that follows the field's name; otherwise None."""
    if isinstance(policy, Red):
        if (framing == "aal5") == (policy.unit == "cells"):
            return None
        if framing == "aal5":
            return f".unit: {policy.unit}; is for IP packets, ATM switches count cells"
        return ".unit: cells; is for ATM switches, IP routers count packets or bytes"
    if framing == "aal5" and policy.kind not in FOR_CELLS:
        return f": {policy.kind}; is for IP packets, ATM switches accept {', '.join(FOR_CELLS)}"
    if framing == "ip" and policy.kind not in FOR_PACKETS:
        return f": {policy.kind}; is for cells, IP routers accept {', '.join(FOR_PACKETS)}"
    return None


def _framing_problems(framing: Framing, network: Network, switch: Switch, topology: Topology) -> Iterator[str]:
    for field, policy in policies(network, switch, topology):
        yield from (f"{field}.{name}: {problem}" for name, problem in policy.problems())
        if (problem := misplaced(framing, policy)) is not None:
            yield f"{field}{problem}"
    if framing == "aal5":
        return
    if switch.scheduler.kind != "fifo":
        yield f"switch.scheduler: {switch.scheduler.kind}; serves cells, IP routers accept fifo"
    if switch.ties == "rotating":
        yield "switch.ties: rotating; changes every cell time, IP routers accept port-order, random"
    if network.vbr:
        yield "network.vbr: sends cells, which IP links do not carry; needs framing 'aal5'"
