"""Plan of a live run: which hosts of a scenario are real, and the scenario that the core runs between them.

Real programs take the place of the simulated connections between real hosts. For the core, their packets belong to
*external flows*, whose packets come from outside of the simulation. Each pair of real hosts has a fixed number of
external flows, over the route of the first simulated flow between them, so that queues per flow can separate
connections.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest
from longpipe.ip import HEADER_BYTES, packet_bytes
from longpipe.scenario import Scenario, Switch, Tcp
from longpipe.scenario.canonical import canonical_json
from longpipe.scenario.warm_up import without_warm_up

# Number of external flows between two hosts; queues can distinguish this many.
FLOWS: Final = 128
MIN_MTU: Final = 68
LARGEST_MTU: Final = 65_535
MIN_MTU_6: Final = 1280
# The maximum duration that the core accepts; a live run ends when its command does.
LONGEST_PS: Final = 100 * 86_400 * 10**12
_ADDRESSES: Final = IPv4Address("10.0.0.0")
_ADDRESSES_6: Final = IPv6Address("fd00::")


@dataclass(frozen=True)
class RealHost:
    """A host with real programs, with the number that it has in captures of simulated runs."""

    name: str
    node: int

    @property
    def address(self) -> str:
        """Returns the IPv4 address: 10.0.0.0 plus the node's number, counted from 1."""
        return str(_ADDRESSES + self.node + 1)

    @property
    def address_6(self) -> str:
        """Returns the IPv6 address: fd00:: plus the node's number, counted from 1."""
        return str(_ADDRESSES_6 + self.node + 1)


@dataclass(frozen=True)
class Plan:
    """The parts of a live run."""

    scenario: Scenario
    hosts: tuple[RealHost, ...]
    # For each pair of hosts: both hosts' numbers, the number of the first external flow, and the number of these flows.
    ways: tuple[tuple[int, int, int, int], ...]
    # Scenario in the form for the core.
    resolved_json: str
    # Maximum length of an IP packet [bytes].
    mtu: int
    # Names of the flows that are simulated in addition to the programs.
    simulated: tuple[str, ...]

    @property
    def has_ipv6(self) -> bool:
        """Returns whether the MTU is sufficient for IPv6."""
        return self.mtu >= MIN_MTU_6


def plan(scenario: Scenario, names: tuple[str, ...] = (), *, mtu: int | None = None, alone: bool = False) -> Plan:
    """Replaces simulated hosts by real ones: the named hosts, or the first flow's sender.

    A single host gets the other end of one of its flows as its partner. Programs replace the flows of real hosts. Other
    flows are simulated unless `alone`. The default of `mtu` is a full packet of the first flow. Raises ScenarioError.
    """
    resolved = scenario.resolved
    nodes = {node["name"]: number for number, node in enumerate(resolved["nodes"])}
    flows: list[dict[str, Any]] = resolved["flows"]
    if any("onward" in flow for flow in flows):
        raise ScenarioError(
            f"{scenario.name}: network.pep: a proxy splits the connections; real programs need a path without one, or "
            f"a graph with a host at the gateway on which a relay such as socat runs"
        )
    ends = [_ends(resolved, flow) for flow in flows]
    real_hosts = _real_hosts(resolved, ends, names)
    if mtu is None:
        tcp_of_first = flows[0]["tcp"]
        mtu = packet_bytes(tcp_of_first["mss_bytes"], tcp_of_first["timer"].get("timestamps", False))
    if not MIN_MTU <= mtu <= LARGEST_MTU:
        raise ScenarioError(f"--mtu: {mtu}; needs {MIN_MTU} to {LARGEST_MTU} bytes")
    simulated = (
        [] if alone else [flow for flow, pair in zip(flows, ends, strict=True) if not set(pair) & set(real_hosts)]
    )
    external: list[dict[str, Any]] = []
    ways, tcp = [], _tcp(mtu)
    for number in _joining(real_hosts, ends):
        sender, receiver = map(real_hosts.index, ends[number])
        ways.append((sender, receiver, len(simulated) + len(external), FLOWS))
        external += [_external(flows[number], tcp, f"live-{number}-{n}") for n in range(FLOWS)]
    return Plan(
        scenario=scenario,
        hosts=tuple(RealHost(name, nodes[name]) for name in real_hosts),
        ways=tuple(ways),
        resolved_json=canonical_json(_core_scenario(resolved, simulated + external)),
        mtu=mtu,
        simulated=tuple(flow["name"] for flow in simulated),
    )


def _core_scenario(resolved: Mapping[str, Any], flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the scenario for the core: with other flows, without warm-up and traces, and without an end."""
    traces = {name: False if isinstance(value, bool) else value for name, value in resolved["traces"].items()}
    return {
        **without_warm_up(resolved),
        "engine": "reference",
        "duration_ps": LONGEST_PS,
        "flows": flows,
        "traces": traces,
    }


def first_sender(scenario: Scenario) -> str:
    """Returns the name of the host that sends the data of the scenario's first flow."""
    return _ends(scenario.resolved, scenario.resolved["flows"][0])[0]


def _real_hosts(resolved: Mapping[str, Any], ends: list[tuple[str, str]], names: tuple[str, ...]) -> list[str]:
    """Returns the names of the real hosts, without duplicates."""
    kinds = {node["name"]: node["kind"] for node in resolved["nodes"]}
    for name in names:
        if kinds.get(name) != "host":
            problem = "a switch" if name in kinds else "not there"
            raise ScenarioError(
                f"--at: {name!r}; {problem}, {nearest(name, [kind for kind in kinds if kinds[kind] == 'host'])}"
            )
    hosts = list(dict.fromkeys(names or ends[0][:1]))
    if len(hosts) > 1:
        return hosts
    # The other end of the first flow that connects the host with another one.
    partner = next((b if a == hosts[0] else a for a, b in ends if hosts[0] in (a, b) and a != b), None)
    if partner is None:
        raise ScenarioError(f"network: no flow connects {hosts[0]} with another host; needs one, for its route")
    return [*hosts, partner]


def _joining(hosts: list[str], ends: list[tuple[str, str]]) -> list[int]:
    """Returns, for each pair of hosts that has a flow, the number of its first flow."""
    pairs: dict[frozenset[str], int] = {}
    for number, pair in enumerate(ends):
        if set(pair) <= set(hosts) and pair[0] != pair[1]:
            pairs.setdefault(frozenset(pair), number)
    for name in hosts:
        if not any(name in pair for pair in pairs):
            peers = " or ".join(host for host in hosts if host != name)
            raise ScenarioError(f"--at: {name!r}; no flow connects it with {peers}: needs one, for its route")
    return list(pairs.values())


def _ends(resolved: Mapping[str, Any], flow: dict[str, Any]) -> tuple[str, str]:
    """Returns the names of a resolved flow's sender and receiver."""
    links, nodes, route = resolved["links"], resolved["nodes"], flow["route"]
    return nodes[links[route[0]]["from"]]["name"], nodes[links[route[-1]]["to"]]["name"]


def _tcp(mtu: int) -> dict[str, Any]:
    """Returns the TCP fields that set only the maximum packet length."""
    mss = max(1, mtu - HEADER_BYTES)
    fields: dict[str, Any] = {
        "profile": "classic",
        "mss": f"{mss} B",
        "receiver_window": f"{max(65_535, 2 * mss)} B",
        "timer": {"kind": "fine"},
    }
    single = Scenario(framing="ip", switch=Switch(buffer="unlimited"), tcp=Tcp(**fields))
    resolved_tcp: dict[str, Any] = json.loads(single.resolved_json())["flows"][0]["tcp"]
    return resolved_tcp


def _external(flow: dict[str, Any], tcp: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a flow over a flow's route whose packets come from outside of the simulation."""
    return {
        **flow,
        "name": name,
        "tcp": tcp,
        "traffic": {"kind": "greedy"},
        "start": {"kind": "fixed", "at_ps": 0},
        "foreign": True,
    }
