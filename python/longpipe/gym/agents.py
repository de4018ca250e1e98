"""Flows that agents control: which ones, what they need, and the scenario as the core simulates it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest
from longpipe.ip import packet_bytes
from longpipe.scenario import Scenario
from longpipe.scenario.base import AUTO, accepted
from longpipe.scenario.buffers import bytes_of
from longpipe.scenario.canonical import canonical_json
from longpipe.scenario.connections import LARGEST_WINDOW_BYTES
from longpipe.scenario.jitter import delay_with_jitter_ps
from longpipe.scenario.network import Dumbbell
from longpipe.scenario.paths import part_kind
from longpipe.scenario.series import mean_rate_bps
from longpipe.scenario.source import SOURCES
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.warm_up import without_warm_up

_MAX_NAMED: Final = 10
# Constants of a flow's path in the information of environments.
PATH: Final = ("link_rate_bps", "path_rtt_s", "buffer_bytes")


def agent_flows(scenario: Scenario, agents: Sequence[str] | int) -> list[int]:
    """Returns the indices of the flows with these names, or of the first flows that agents can control.

    Raises ScenarioError for a flow that does not exist, occurs twice, or cannot have an agent.
    """
    flows = scenario.resolved["flows"]
    if isinstance(agents, int):
        able = [i for i, flow in enumerate(flows) if _carries(flow)][:agents]
        if len(able) < agents:
            counted = f"the scenario has {len(able)} TCP flows that agents can control"
            raise ScenarioError(f"agents: {agents}; {counted}, needs as many")
        indices = able
    else:
        names = [str(flow["name"]) for flow in flows]
        for name in agents:
            if name not in names:
                raise ScenarioError(f"agents: {name!r}; {nearest(str(name), names, _MAX_NAMED)}")
        if repeated := sorted({name for name in agents if list(agents).count(name) > 1}):
            raise ScenarioError(f"agents: {repeated[0]!r} repeated; needs one agent for each flow")
        indices = [names.index(name) for name in agents]
    for i in indices:
        _check(flows, i)
    return indices


def _carries(flow: Mapping[str, Any]) -> bool:
    facts = SOURCES[flow["traffic"]["kind"]]
    return facts["transport"] == "tcp" and not facts["many_connections"] and not flow.get("foreign")


def _check(flows: Sequence[Mapping[str, Any]], i: int) -> None:
    flow = flows[i]
    if not _carries(flow):
        able = [str(flow["name"]) for flow in flows if _carries(flow)]
        accepted = f"accepts {', '.join(able[:_MAX_NAMED])}" if able else "the scenario has none"
        raise ScenarioError(
            f"agents: {flow['name']!r} has the traffic {flow['traffic']['kind']!r}; needs a TCP connection of "
            f"longpipe; {accepted}"
        )
    recovery = part_kind(flow["tcp"]["recovery"])
    if recovery != "rack":
        raise ScenarioError(
            f"agents: {flow['name']!r} has tcp.recovery = {recovery!r}; needs tcp.recovery = 'rack', as in "
            "scenario.with_(**{'tcp.recovery': 'rack'})"
        )


def core_scenario(scenario: Scenario, flows: Sequence[int]) -> str:
    """Returns the JSON of a scenario for the core, in which automatic receiver windows do not limit the agents."""
    resolved = scenario.resolved
    rows = list(resolved["flows"])
    for i in flows:
        tcp = dict(rows[i]["tcp"])
        flow_tcp = _own_tcp(scenario, str(rows[i]["name"]))
        if _setting(scenario, flow_tcp, "receiver_window") == AUTO:
            tcp["receiver_window_bytes"] = LARGEST_WINDOW_BYTES
            if isinstance(_setting(scenario, flow_tcp, "window_scale"), str):
                tcp["window_scale"] = accepted(Tcp, "window_scale").high
        rows[i] = {**rows[i], "tcp": tcp}
    return canonical_json(without_warm_up({**resolved, "flows": rows}))


def _own_tcp(scenario: Scenario, name: str) -> Tcp | None:
    """Returns the TCP settings of a flow or of its group."""
    network = scenario.network
    if isinstance(network, Dumbbell):
        return next((group.tcp for group in network.group or () if name in group.flows), None)
    return next((flow.tcp for flow in network.flows if flow.name == name), None)


def _setting(scenario: Scenario, flow_tcp: Tcp | None, field: str) -> object:
    return getattr(flow_tcp if flow_tcp is not None and field in flow_tcp.model_fields_set else scenario.tcp, field)


def path_of(scenario: Scenario, flow: int) -> dict[str, float]:
    """Returns the constants of a flow's path, as docs/gym.md describes them."""
    resolved = scenario.resolved
    flow_row, links = resolved["flows"][flow], resolved["links"]
    mss, timestamps = flow_row["tcp"]["mss_bytes"], bool(flow_row["tcp"]["timer"].get("timestamps"))
    rates = {k: _rate_bps(links[k], resolved["duration_ps"]) for k in flow_row["route"]}
    slowest = min(rates, key=rates.__getitem__)
    buffer = links[slowest]["buffer"]
    values = (
        rates[slowest],
        sum(_delay_ps(links[k]) for k in (*flow_row["route"], *flow_row["return_route"])) / 1e12,
        float("inf") if buffer is None else float(bytes_of(buffer, packet_bytes(mss, timestamps))),
    )
    return dict(zip(PATH, values, strict=True))


def _rate_bps(link: Mapping[str, Any], duration_ps: int) -> float:
    service = link.get("motion", {}).get("service")
    return float(link["rate_bps"]) if service is None else mean_rate_bps(service, duration_ps)


def _delay_ps(link: Mapping[str, Any]) -> int:
    knots = link.get("motion", {}).get("delay", {}).get("knots_ps", ())
    return min((int(knot[1]) for knot in knots), default=delay_with_jitter_ps(link))
