"""Checks that concern several parts of a scenario, each of which is valid by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

from longpipe.errors import MissingSetting, ScenarioError
from longpipe.scenario.constraints import violated
from longpipe.scenario.framings import FOR_CELLS, FOR_PACKETS
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.network import Dumbbell
from longpipe.scenario.policies import Red, TailDrop
from longpipe.scenario.topology import MAX_PROBLEMS
from longpipe.units import SIZE, TIME, UNLIMITED

if TYPE_CHECKING:
    from longpipe._core import Ports
    from longpipe.scenario.buffers import Framing
    from longpipe.scenario.network import Network
    from longpipe.scenario.policies import Policy
    from longpipe.scenario.switch import Switch
    from longpipe.scenario.tcp import Tcp
    from longpipe.scenario.topology import Topology


class Checked(Protocol):
    """The parts of a scenario that exclude each other."""

    framing: Framing
    network: Network
    switch: Switch


def check(scenario: Checked, topology: Topology, tcps: Sequence[Tcp], ports: Ports) -> None:
    """Raises ScenarioError for fields that exclude each other; `tcps` has an entry per flow, in the flows' order."""
    problems = chain(_tcp_problems(scenario.framing, topology, tcps), topology.problems(ports))
    _refuse(problems, lambda: _remedies(scenario, topology, tcps))


def check_network(scenario: Checked, topology: Topology, tcps: Sequence[Tcp], ports: Ports) -> None:
    """Raises ScenarioError for fields that exclude each other, other than those of TCP."""
    _refuse(topology.problems(ports), lambda: _remedies(scenario, topology, tcps))


def _refuse(problems: Iterable[str], remedies: Callable[[], Iterable[MissingSetting]]) -> None:
    if lines := list(dict.fromkeys(problems))[:MAX_PROBLEMS]:
        raise ScenarioError(*lines, remedies=remedies())


def _tcp_problems(framing: Framing, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[str]:
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


def _remedies(scenario: Checked, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[MissingSetting]:
    """Yields the settings that would end violations of constraints, each in the part that has its cause."""
    yield from _framing_remedies(scenario, topology, tcps)
    framing = scenario.framing
    for field, policy in policies(scenario.network, scenario.switch, topology):
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


def _framing_remedies(scenario: Checked, topology: Topology, tcps: Sequence[Tcp]) -> Iterator[MissingSetting]:
    """Yields the framing that queues and ECN need, and a buffer that this framing accepts."""
    framing, switch = scenario.framing, scenario.switch
    queues = {policy.kind for _, policy in policies(scenario.network, switch, topology)}
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
