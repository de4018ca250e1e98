"""Checks that concern several parts of a scenario, each of which is valid by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from longpipe.errors import MissingSetting, ScenarioError
from longpipe.scenario.framings import FOR_CELLS, FOR_PACKETS
from longpipe.scenario.network import Dumbbell
from longpipe.scenario.policies import Red, TailDrop
from longpipe.scenario.tcp import Tcp
from longpipe.units import SIZE, TIME, UNLIMITED

if TYPE_CHECKING:
    from longpipe.scenario.buffers import Framing
    from longpipe.scenario.network import Network
    from longpipe.scenario.policies import Policy
    from longpipe.scenario.switch import Switch
    from longpipe.scenario.topology import Topology


# Names of fields of TCP, by constraint.
Names = Sequence[Sequence[str]]


class Checked(Protocol):
    """The parts of a scenario that exclude each other."""

    framing: Framing
    network: Network
    switch: Switch
    tcp: Tcp


def remedies(
    scenario: Checked, topology: Topology, violated: Callable[[Names], list[tuple[int, list[str]]]]
) -> Iterator[MissingSetting]:
    """Yields the settings that would end violations of constraints, each in the part that has its cause.

    `violated` returns the numbers of the constraints of TCP that connections violate, with the names of fields in the
    scenario.
    """
    yield from _framing_remedies(scenario, topology)
    framing = scenario.framing
    for field, policy in policies(scenario.network, scenario.switch, topology):
        if isinstance(policy, Red) and (framing == "aal5") != (policy.unit == "cells"):
            place = _settable(field)
            yield MissingSetting(f"{place}.unit", "cells" if framing == "aal5" else "packets", place)
    names = [[] if rule.remedy is None else [rule.cause, rule.remedy[0]] for rule in Tcp.constraints]
    for number, fields in violated(names):
        constraint = Tcp.constraints[number]
        if constraint.remedy is not None:
            (cause, own), (field, value) = fields, constraint.remedy
            # A part whose own setting is the cause must not change that of other parts.
            place = own if own.startswith("network") else f"{cause.removesuffix(constraint.cause)}{field}"
            yield MissingSetting(_settable(place), value, _settable(cause))


def _framing_remedies(scenario: Checked, topology: Topology) -> Iterator[MissingSetting]:
    """Yields the framing that queues and ECN need, and a buffer that this framing accepts."""
    framing, switch = scenario.framing, scenario.switch
    queues = {policy.kind for _, policy in policies(scenario.network, switch, topology)}
    owns = [flow.tcp for flow in topology.flows]
    tcps = [scenario.tcp if own is None or "ecn" not in own.model_fields_set else own for own in owns]
    has_marks = any(tcp.ecn.kind != "off" for tcp in tcps)
    if framing == "ip" and queues.difference(FOR_PACKETS):
        yield MissingSetting("framing", "aal5")
        accepted = ("cells", "BDP", UNLIMITED, *TIME.units)
    elif framing == "aal5" and (queues.difference(FOR_CELLS) or has_marks):
        yield MissingSetting("framing", "ip")
        if switch.policy.kind not in FOR_PACKETS:
            yield MissingSetting("switch.policy", TailDrop().kind)
        accepted = ("packets", "BDP", UNLIMITED, *TIME.units, *SIZE.units)
    else:
        return
    if "buffer" in switch.model_fields_set and switch.buffer.split()[-1] not in accepted:
        yield MissingSetting("switch.buffer", "1 BDP")
    if framing == "ip" and has_marks:
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
