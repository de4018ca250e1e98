"""The resolved scenario, as the core requires it: every field present, every quantity an integer."""

import json
from collections.abc import Iterator
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from longpipe.errors import ScenarioError
from longpipe.scenario.base import AS_NEEDED, MOST_WINDOW_SCALE
from longpipe.scenario.buffers import Packet, buffer
from longpipe.scenario.loss import Loss, NoLoss, PacketLoss, TimedLoss
from longpipe.scenario.network import Dumbbell, Flow
from longpipe.scenario.switch import Fifo, GuaranteedRate, Policy, Scheduler, TailDrop
from longpipe.scenario.tcp import Ack, Coarse, Delayed, Fine, FixedPhase, Tcp
from longpipe.scenario.topology import Topology, as_graph
from longpipe.scenario.traffic import Greedy, RandomStart, StaggeredStart, Traffic
from longpipe.scenario.web import Web
from longpipe.units import RATE, SEGMENTS, SIZE, TICKS, TIME, UNLIMITED

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

MOST_SHARED = 8
LONGEST_RTO_PS = TIME.parse("10000 s")


def resolve(scenario: "Scenario") -> dict[str, Any]:
    """JSON-ready scenario for the core; ScenarioError where fields contradict each other."""
    graph = as_graph(scenario.network)
    topology = Topology(graph)
    tcps = [_merged(scenario.tcp, flow) for flow in graph.flows]
    # What differs in nothing is looked at once.
    distinct = {id(tcp): (i, flow, tcp) for i, (flow, tcp) in enumerate(zip(graph.flows, tcps, strict=True))}
    problems = [problem for i, flow, tcp in distinct.values() for problem in _tcp_problems(i, flow, tcp)]
    resolved = {key: _tcp(tcp) for key, (_, _, tcp) in distinct.items()}
    traffic = _traffic(scenario.traffic)
    packets = [Packet.of(tcp) for _, _, tcp in distinct.values()]
    problems += _framing_problems(scenario, topology)
    if problems:
        raise ScenarioError(*dict.fromkeys(problems))
    return {
        "engine": scenario.engine,
        "framing": scenario.framing,
        "duration_ps": TIME.parse(scenario.duration),
        "ties": scenario.switch.ties,
        "slot_phase": scenario.switch.slot_phase,
        "nodes": [
            {"name": node.name, "kind": node.kind, "send_jitter_ps": TIME.parse(node.send_jitter)}
            for node in graph.nodes
        ],
        "links": _links(scenario, topology, largest=max(packets, key=attrgetter("bytes"))),
        "flows": [
            {
                "name": flow.name,
                "route": route,
                "return_route": return_route,
                "tcp": resolved[id(tcp)],
                "traffic": traffic if flow.traffic is None else _traffic(flow.traffic),
                "start": _start(scenario, i, flow),
            }
            for i, (flow, tcp, (route, return_route)) in enumerate(zip(graph.flows, tcps, topology.routes, strict=True))
        ],
        "vbr": list(_vbr(scenario, topology)),
        "traces": {
            **scenario.traces.model_dump(exclude={"vc_queue_interval"}),
            "vc_queue_interval_ps": TIME.parse(scenario.traces.vc_queue_interval),
        },
    }


def canonical_json(resolved: dict[str, Any]) -> str:
    """A resolved scenario with its keys in order and without spaces; what flows share is encoded once."""
    shared = {id(flow["tcp"]): flow["tcp"] for flow in resolved["flows"]}
    if len(shared) > MOST_SHARED:
        return _json(resolved)
    numbers = {key: number for number, key in enumerate(shared)}
    flows = [{**flow, "tcp": numbers[id(flow["tcp"])]} for flow in resolved["flows"]]
    text = _json({**resolved, "flows": flows})
    # No name holds a quotation mark, so the pattern is a flow's field and nothing else.
    for number, tcp in enumerate(shared.values()):
        text = text.replace(f'"tcp":{number},', f'"tcp":{_json(tcp)},')
    return text


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _merged(tcp: Tcp, flow: Flow) -> Tcp:
    own = flow.tcp
    return tcp if own is None else tcp.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def _links(scenario: "Scenario", topology: Topology, largest: Packet) -> list[dict[str, Any]]:
    graph, network = topology.graph, scenario.network
    delays = [TIME.parse(link.delay) for link in graph.links]
    round_trip_ps = max(sum(delays[k // 2] for k in (*there, *back)) for there, back in topology.routes)
    host_port = {"buffer": None, "policy": _policy(TailDrop()), "scheduler": _scheduler(Fifo())}
    policy, scheduler = _policy(scenario.switch.policy), _scheduler(scenario.switch.scheduler)
    links = []
    for i, link in enumerate(graph.links):
        rate_bps = RATE.parse(link.rate)
        field = "switch.buffer" if link.buffer is None else f"network.links[{i}].buffer"
        bdp_rate_bps = RATE.parse(network.trunk_rate) if isinstance(network, Dumbbell) else rate_bps
        bdp_bits = Fraction(bdp_rate_bps * round_trip_ps, 10**12)
        switch_port = {
            "buffer": buffer(field, link.buffer or scenario.switch.buffer, scenario.framing, bdp_bits, largest),
            "policy": policy if link.policy is None else _policy(link.policy),
            "scheduler": scheduler,
        }
        for (a, b), loss in ((link.between, link.loss), (link.between[::-1], link.return_loss)):
            ends = {"from": topology.position[a], "to": topology.position[b]}
            port = switch_port if topology.kinds[a] == "switch" else host_port
            links.append({**ends, "rate_bps": rate_bps, "delay_ps": delays[i], **port, "loss": _loss(loss)})
    return links


def _framing_problems(scenario: "Scenario", topology: Topology) -> Iterator[str]:
    if scenario.framing == "aal5":
        return
    switch = scenario.switch
    policies = [("switch.policy", switch.policy)]
    policies += [
        (f"network.links[{i}].policy", link.policy) for i, link in enumerate(topology.graph.links) if link.policy
    ]
    for field, policy in policies:
        if policy.kind in ("partial-packet-discard", "epd"):
            yield f"{field}: {policy.kind}; is for cells, IP routers accept tail-drop, selective-drop, fba"
    if switch.scheduler.kind != "fifo":
        yield f"switch.scheduler: {switch.scheduler.kind}; serves cells, IP routers accept fifo"
    if switch.ties == "rotating":
        yield "switch.ties: rotating; turns every cell time, IP routers accept port-order, random"
    if topology.graph.vbr:
        yield "network.vbr: sends cells, which IP links do not carry; needs framing 'aal5'"


def _policy(policy: Policy) -> dict[str, Any]:
    return policy.model_dump()


def _scheduler(scheduler: Scheduler) -> dict[str, Any]:
    if isinstance(scheduler, GuaranteedRate):
        return {"kind": scheduler.kind, "share_ppb": int(Fraction(str(scheduler.share)) * 10**9)}
    return {"kind": scheduler.kind}


def _vbr(scenario: "Scenario", topology: Topology) -> Iterator[dict[str, Any]]:
    dumbbell = isinstance(scenario.network, Dumbbell)
    if topology.graph.vbr and isinstance(scenario.switch.scheduler, Fifo):
        raise ScenarioError("switch.scheduler: fifo has no queue for VBR; needs priority or guaranteed-rate")
    used = {link for there, back in topology.routes for link in (*there, *back)}
    first_links = [route[0] for route in topology.vbr_routes]
    for i, (source, route) in enumerate(zip(topology.graph.vbr, topology.vbr_routes, strict=True)):
        field = "network.vbr" if dumbbell else f"network.vbr[{i}]"
        if route[0] in used or first_links.count(route[0]) > 1:
            raise ScenarioError(f"{field}.from: {source.from_!r} sends other cells too; needs a host of its own")
        slowest = min((topology.graph.links[link // 2].rate for link in route), key=RATE.parse)
        rate = source.rate or slowest
        if RATE.parse(rate) > RATE.parse(slowest):
            raise ScenarioError(f"{field}.rate: {rate}; needs at most the rate of its slowest link, {slowest}")
        on_ps = TIME.parse(source.period)
        yield {
            "name": source.name,
            "route": route,
            "peak_bps": RATE.parse(rate),
            "on_ps": on_ps,
            "off_ps": round(on_ps / Fraction(str(source.duty))) - on_ps,
            "start_ps": TIME.parse(source.phase),
        }


def _loss(loss: Loss) -> dict[str, Any]:
    if isinstance(loss, NoLoss):
        return {"kind": loss.kind}
    if isinstance(loss, PacketLoss):
        return {"kind": loss.kind, "indices": sorted(set(loss.indices))}
    if isinstance(loss, TimedLoss):
        return {"kind": loss.kind, "instants_ps": sorted({TIME.parse(at) for at in loss.instants})}
    return loss.model_dump()


def _tcp(tcp: Tcp) -> dict[str, Any]:
    return {
        "recovery": tcp.recovery,
        "congestion": tcp.congestion,
        "mss_bytes": SIZE.parse(tcp.mss),
        "receiver_window_bytes": SIZE.parse(tcp.receiver_window),
        "window_scale": _least_window_scale(tcp) if tcp.window_scale == AS_NEEDED else tcp.window_scale,
        "initial_window_segments": SEGMENTS.parse(tcp.initial_window),
        "initial_ssthresh_bytes": None if tcp.initial_ssthresh == UNLIMITED else SIZE.parse(tcp.initial_ssthresh),
        "estimate_ssthresh": tcp.estimate_ssthresh,
        "duplicate_ack_threshold": tcp.duplicate_ack_threshold,
        "fast_retransmit_restarts_timer": tcp.fast_retransmit_restarts_timer,
        "fast_retransmit_interval_ps": TIME.parse(tcp.fast_retransmit_interval),
        "byte_counting": tcp.byte_counting,
        "silly_window_avoidance": tcp.silly_window_avoidance,
        "vegas": tcp.vegas.model_dump(),
        "idle_restart": tcp.idle_restart,
        "reno": tcp.reno.model_dump(),
        "newreno": {
            **tcp.newreno.model_dump(),
            "max_burst": None if tcp.newreno.max_burst == UNLIMITED else SEGMENTS.parse(tcp.newreno.max_burst),
        },
        "sack": tcp.sack.model_dump(),
        "timer": _timer(tcp.timer),
        "ack": _ack(tcp.ack),
    }


def _least_window_scale(tcp: Tcp) -> int:
    return min(max(0, SIZE.parse(tcp.receiver_window).bit_length() - 16), MOST_WINDOW_SCALE)


def _timer(timer: Coarse | Fine) -> dict[str, Any]:
    if isinstance(timer, Fine):
        return {
            "kind": timer.kind,
            "granularity_ps": TIME.parse(timer.granularity),
            "min_rto_ps": TIME.parse(timer.min_rto),
            "max_rto_ps": TIME.parse(timer.max_rto),
            "initial_rto_ps": TIME.parse(timer.initial_rto),
            "timestamps": timer.timestamps,
        }
    phase = timer.phase
    at = {"at_ps": TIME.parse(phase.at)} if isinstance(phase, FixedPhase) else {}
    return {
        "kind": timer.kind,
        "tick_ps": TIME.parse(timer.tick),
        "phase": {"kind": phase.kind, **at},
        "min_rto_ticks": TICKS.parse(timer.min_rto),
        "max_rto_ticks": TICKS.parse(timer.max_rto),
        "initial_rto_ticks": TICKS.parse(timer.initial_rto),
        "count_from_one": timer.count_from_one,
        "expires_on_tick": timer.expires_on_tick,
    }


def _ack(ack: Ack) -> dict[str, Any]:
    if not isinstance(ack, Delayed):
        return {"kind": ack.kind}
    return {"kind": ack.kind, "segments": SEGMENTS.parse(ack.segments), "timeout_ps": TIME.parse(ack.timeout)}


def _traffic(traffic: Traffic) -> dict[str, Any]:
    if isinstance(traffic, Greedy):
        return {"kind": traffic.kind}
    if isinstance(traffic, Web):
        return traffic.resolved()
    return {"kind": traffic.kind, "size_bytes": SIZE.parse(traffic.size)}


def _start(scenario: "Scenario", i: int, flow: Flow) -> dict[str, Any]:
    start = flow.start or scenario.start
    field = "start" if flow.start is None else f"network.flows[{i}].start"
    if isinstance(start, RandomStart):
        over = {"over_ps": TIME.parse(start.over)}
        return {"kind": start.kind, "from_ps": _begin(scenario, f"{field}.from", TIME.parse(start.from_)), **over}
    if isinstance(start, StaggeredStart):
        at = TIME.parse(start.first) + i * TIME.parse(start.interval)
        return {"kind": "fixed", "at_ps": _begin(scenario, f"{field} of flow {flow.name!r}", at)}
    return {"kind": start.kind, "at_ps": _begin(scenario, f"{field}.at", TIME.parse(start.at))}


def _begin(scenario: "Scenario", field: str, at_ps: int) -> int:
    if at_ps >= TIME.parse(scenario.duration):
        raise ScenarioError(f"{field}: {TIME.format(at_ps)}; needs less than the duration, {scenario.duration}")
    return at_ps


def _tcp_problems(i: int, flow: Flow, tcp: Tcp) -> Iterator[str]:
    def field(name: str) -> str:
        own = flow.tcp is not None and name.partition(".")[0] in flow.tcp.model_fields_set
        return f"network.flows[{i}].tcp.{name}" if own else f"tcp.{name}"

    mss = SIZE.parse(tcp.mss)
    if SIZE.parse(tcp.receiver_window) < mss:
        yield f"{field('receiver_window')}: {tcp.receiver_window}; needs at least one segment ({tcp.mss})"
    least = _least_window_scale(tcp)
    if tcp.window_scale != AS_NEEDED and int(tcp.window_scale) < least:
        accepted = f"needs {least} to {MOST_WINDOW_SCALE} for a window of {tcp.receiver_window}"
        yield f"{field('window_scale')}: {tcp.window_scale}; {accepted}"
    if tcp.initial_ssthresh != UNLIMITED and SIZE.parse(tcp.initial_ssthresh) < mss:
        yield f"{field('initial_ssthresh')}: {tcp.initial_ssthresh}; needs at least one segment ({tcp.mss})"
    timer = tcp.timer
    unit = TICKS if isinstance(timer, Coarse) else TIME
    low, initial, high = (unit.parse(rto) for rto in (timer.min_rto, timer.initial_rto, timer.max_rto))
    if high < low:
        yield f"{field('timer.max_rto')}: {timer.max_rto}; needs at least min_rto, {timer.min_rto}"
    elif not low <= initial <= high:
        yield f"{field('timer.initial_rto')}: {timer.initial_rto}; needs {timer.min_rto} to {timer.max_rto}"
    if isinstance(timer, Coarse):
        if high * TIME.parse(timer.tick) > LONGEST_RTO_PS:
            longest = TIME.format(LONGEST_RTO_PS)
            yield f"{field('timer.max_rto')}: {timer.max_rto} of {timer.tick}; needs at most {longest} in all"
        if isinstance(timer.phase, FixedPhase) and TIME.parse(timer.phase.at) >= TIME.parse(timer.tick):
            yield f"{field('timer.phase.at')}: {timer.phase.at}; needs less than one tick ({timer.tick})"
