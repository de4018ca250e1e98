"""Warnings before a run about scenarios, or points of a design, that do not test what they seem to test."""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final

from longpipe.cautions.defaults import (
    default_buffer,
    default_delays,
    default_rates,
    default_segments,
    default_windows,
)
from longpipe.cautions.files import doubts_of_files
from longpipe.cautions.overload import overloads
from longpipe.cautions.replaced import replaced_delays, replaced_rates
from longpipe.cautions.windows import window_warnings
from longpipe.ip import packet_bytes
from longpipe.scenario.access import Access
from longpipe.scenario.base import kinds_that
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.datagrams import longest_bytes
from longpipe.scenario.loss import Loss
from longpipe.scenario.paths import Resolved, part_kind, port_name
from longpipe.scenario.policies import Policy
from longpipe.scenario.profiles import PROFILES
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.shapers import buckets, cake_bps, line_bytes, longest_passing_bytes
from longpipe.scenario.source import OVER_TCP, SOURCES
from longpipe.scenario.traffic import Traffic
from longpipe.system.gc_pause import without_collections
from longpipe.units import RATE, TIME, seconds

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.network import Dumbbell, Link

# Kinds of each part that draw random numbers.
DRAWN_TRAFFIC, DRAWN_LOSSES, DRAWN_QUEUES, DRAWN_CONTROLS, DRAWN_CONDITIONERS, DRAWN_ACCESSES = (
    kinds_that(union, lambda model: model.draws) for union in (Traffic, Loss, Policy, Congestion, Conditioner, Access)
)
DRAWN_PHASES: Final = ("common", "per-flow")
# Policies that always mark ECN-capable packets; others mark if they have a field `ecn` and it is set.
MARK: Final = kinds_that(Policy, lambda model: model.marks in ("capable", "scalable"))
# Recovery algorithms that use SACK blocks.
SELECTIVE: Final = kinds_that(Recovery, lambda model: "blocks" in model.model_fields)
# Minimum number of changes for the warning; a path with fewer changes is assumed to remain constant afterwards
# intentionally.
MIN_STEPS: Final = 4

# Matches a number in a warning, other than in a name.
_NUMBERS: Final = re.compile(r"(?<![\w.])\d+(\.\d+)?")
# Maximum number of ports or fields that a warning about several of them names.
_MAX_NAMED: Final = 3
_ARTICLES: Final = {"burst": "a", "mtu": "an"}
_REMEDY: Final = "needs start = {kind = 'random', over = '1 s'}, or another random part"
# SACK delay [ps] in the profile `linux-6`, which the user did not choose explicitly.
SACK_DELAY_PS: Final = TIME.parse(PROFILES["linux-6"]["ack"]["sack_delay"])


@without_collections()
def cautions(scenario: Scenario) -> list[str]:
    """Returns a line per warning about a scenario, the most important ones first.

    They concern offered loads above a link's rate, buffers and rates that are not given, implausible values of files,
    links and buffers that windows cannot fill, paths that end before the run or replace a delay or a rate, shapers and
    policers that have no effect or drop every packet, and ECN that only the queues or only the flows support.
    """
    return [line for _, line in _by_importance(scenario)]


def _by_importance(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Yields each warning about a scenario with its rank; 0 is the most important rank."""
    resolved = scenario.resolved
    ranks: tuple[Iterable[str], ...] = (
        # The run does not use the values that were meant, transfers nothing, or has no steady state.
        doubts_of_files(scenario),
        _buckets_that_drop_all(resolved),
        overloads(resolved),
        # Buffers and windows have sizes that were not meant.
        replaced_rates(scenario),
        window_warnings(scenario),
        # Settings have no effect.
        replaced_delays(scenario),
        _unsplit_connections(scenario),
        _ecn_of_one_side(resolved),
        _shapers_without_effect(resolved),
        _autotuning_without_timestamps(resolved),
        _sack_delay_without_effect(resolved),
        _min_rto_without_effect(resolved),
        # Defaults apply.
        default_rates(scenario),
        default_delays(scenario),
        default_windows(scenario),
        default_segments(scenario),
        _differing_return_paths(scenario),
        _ended_series(resolved),
        default_buffer(scenario),
    )
    for rank, lines in enumerate(ranks):
        for line in _merged(lines):
            yield rank, line


def _merged(lines: Iterable[str]) -> Iterator[str]:
    """Yields warnings of the form "port or field: text", in order; those with equal texts are one line."""
    subjects: dict[str, list[str]] = {}
    for line in lines:
        subject, _, text = line.partition(": ")
        subjects.setdefault(text, []).append(subject)
    for text, names in subjects.items():
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        yield f"{', '.join(names[:_MAX_NAMED])}{more}: {text}"


def of_points(scenarios: Sequence[Scenario], replications: int) -> list[str]:
    """Returns a line per kind of warning about a design's points, with the number of points, and whether seeds matter.

    Warnings that differ only in numbers are of one kind; the line contains the first of them. The most important kinds
    are first.
    """
    lines_by_kind: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for scenario in scenarios:
        kinds: dict[tuple[int, str], str] = {}
        for rank, line in _by_importance(scenario):
            kinds.setdefault((rank, _NUMBERS.sub("0", line)), line)
        for kind, line in kinds.items():
            lines_by_kind.setdefault(kind, []).append((scenario.name, line))
    ordered = (lines_by_kind[kind] for kind in sorted(lines_by_kind, key=lambda kind: kind[0]))
    lines = [f"{len(points)} of {len(scenarios)} points, as {points[0][0]}: {points[0][1]}" for points in ordered]
    without_seed = [line for scenario in scenarios if (line := seedless(scenario))] if replications > 1 else []
    if without_seed:
        scope = ""
        if len(without_seed) < len(scenarios):
            scope = f"{len(without_seed)} of {len(scenarios)} points: "
        lines.append(scope + without_seed[0])
    return lines


def seedless(scenario: Scenario) -> str:
    """Returns a warning if runs do not depend on the seed, otherwise ""."""
    resolved = scenario.resolved
    if resolved["framing"] != "ip" and len(resolved["flows"]) > 1 and resolved["ties"] == "random":
        # Cells from several circuits often reach a switch at the same time, and the order of such cells is random.
        return ""
    if any(_drawn(resolved)):
        return ""
    if len(resolved["flows"]) == 1 or resolved["ties"] != "random":
        return f"seed: nothing in the scenario depends on it, so replications are identical; {_REMEDY}"
    return f"seed: it determines only the order of simultaneous packets, so replications may be identical; {_REMEDY}"


def _drawn(resolved: Resolved) -> Iterator[bool]:
    """Yields, for each part of a scenario, whether it depends on the seed."""
    for flow in resolved["flows"]:
        start, tcp = flow["start"], flow["tcp"]
        yield start["kind"] == "random" and start["over_ps"] > 1
        yield _draws(flow["traffic"])
        yield tcp["timer"].get("phase", {}).get("kind") in DRAWN_PHASES
        yield part_kind(tcp["congestion"]) in DRAWN_CONTROLS
    for link in resolved["links"]:
        yield link["loss"]["kind"] in DRAWN_LOSSES
        yield link["policy"]["kind"] in DRAWN_QUEUES
        yield any(_draws_for_packets(conditioner) for conditioner in link.get("conditioners", ()))
        yield "access" in link and _draws_for_access(link["access"])
        # The hash that assigns flows to queues is random.
        yield link["policy"].get("queues") is not None and len(resolved["flows"]) > 1
    yield any(node["send_jitter_ps"] > 0 for node in resolved["nodes"])
    yield any(_draws({"kind": "vbr", **source}) for source in resolved["vbr"])


def _draws_for_packets(conditioner: Mapping[str, Any]) -> bool:
    """Returns whether a conditioner's action on a packet is random; a share of 0 or 1 and a jitter of 0 are not."""
    return (
        conditioner["kind"] in DRAWN_CONDITIONERS
        and 0 < conditioner.get("probability", 0.5) < 1
        and conditioner.get("jitter_ps", 1) > 0
    )


def _draws_for_access(access: Mapping[str, Any]) -> bool:
    """Returns whether a medium access is random; one that only loses requests is not with a share of 0 or 1."""
    return access["kind"] in DRAWN_ACCESSES and 0 < access.get("request_loss", 0.5) < 1


def _draws(traffic: Mapping[str, Any]) -> bool:
    """Returns whether traffic is random; for bursts this depends on the distribution of their durations."""
    bursts = traffic.get("bursts") or traffic
    return traffic["kind"] in DRAWN_TRAFFIC or bursts.get("times", {}).get("kind", "fixed") != "fixed"


def _differing_return_paths(scenario: Scenario) -> Iterator[str]:
    """Yields a line per satellite path whose return path differs, because a user may have changed only one of them."""
    network = scenario.network
    links: list[tuple[str, Dumbbell | Link]] = []
    if network.kind == "dumbbell":
        links.append(("network", network))
    else:
        links += [(f"network.links[{k}]", link) for k, link in enumerate(network.links)]
    for field, link in links:
        forward, backward = link.path, link.return_path
        if forward and forward.kind == "satellites" and backward and backward.kind != "satellites":
            without = f"without it, the return path uses the satellites of {field}.path"
            yield f"{field}.return_path: {backward.kind}; {without}"


def _unsplit_connections(scenario: Scenario) -> Iterator[str]:
    """Yields a line per proxy and kind of connections of real stacks that pass the proxy, which does not split them."""
    network, resolved = scenario.network, scenario.resolved
    if network.kind == "dumbbell":
        proxies = {str(network.pep.at): "network.pep"} if network.pep else {}
    else:
        proxies = {node.name: f"network.nodes[{k}].pep" for k, node in enumerate(network.nodes) if node.pep}
    if not proxies:
        return
    nodes, links = resolved["nodes"], resolved["links"]
    kinds = [
        (flow["traffic"]["kind"], {nodes[links[link]["from"]]["name"] for link in flow["route"]})
        for flow in resolved["flows"]
        if SOURCES[flow["traffic"]["kind"]]["transport"] == "stack"
    ]
    for name, field in proxies.items():
        for kind, count in Counter(kind for kind, passed in kinds if name in passed).items():
            passing = f"{count} flows of {kind} traffic pass" if count > 1 else f"1 flow of {kind} traffic passes"
            yield f"{field}: {passing} unsplit; proxies do not split real stacks"


def _sack_delay_without_effect(resolved: Resolved) -> Iterator[str]:
    """Yields a line if `ack.sack_delay`, other than that of `linux-6`, has no effect without SACK and timestamps."""
    delays = [(flow["tcp"]["ack"].get("sack_delay_ps", 0), flow["tcp"]) for flow in resolved["flows"]]
    with_delay = [tcp for delay, tcp in delays if delay not in (0, SACK_DELAY_PS)]
    if any(part_kind(tcp["recovery"]) not in SELECTIVE for tcp in with_delay):
        yield f"tcp.ack.sack_delay: no ACK waits without SACK; needs tcp.recovery {', '.join(SELECTIVE)}"
    elif not all(tcp["timer"].get("timestamps") for tcp in with_delay):
        yield "tcp.ack.sack_delay: no ACK waits while the RTT is unknown; needs tcp.timer.timestamps = true"


def _autotuning_without_timestamps(resolved: Resolved) -> Iterator[str]:
    """Yields a line if `ack.growing_window` keeps the window at its initial size, because timestamps are off."""
    growing = [flow["tcp"] for flow in resolved["flows"] if flow["tcp"]["ack"].get("growing_window")]
    if not all(tcp["timer"].get("timestamps") for tcp in growing):
        yield "tcp.ack.growing_window: the window stays at 64 KiB; needs tcp.timer.timestamps = true to grow"


def _min_rto_without_effect(resolved: Resolved) -> Iterator[str]:
    """Yields a warning if a minimum RTO is below the granularity G: the RTO is SRTT + max(G, 4 RTTVAR) (RFC 6298)."""
    timers = [flow["tcp"]["timer"] for flow in resolved["flows"] if flow["tcp"]["timer"]["kind"] == "fine"]
    low = next((timer for timer in timers if timer["min_rto_ps"] < timer["granularity_ps"]), None)
    if low is not None:
        min_rto, granularity = (TIME.format(low[name]) for name in ("min_rto_ps", "granularity_ps"))
        yield (
            f"tcp.timer.min_rto: {min_rto} has no effect, because an RTO is at least SRTT + tcp.timer.granularity, "
            f"{granularity}; set tcp.timer.granularity, too, as in Linux, whose rto_min is both"
        )


def _shapers_without_effect(resolved: Resolved) -> Iterator[str]:
    """Yields a line per link between routers whose rate is below the rate of CAKE's shaper.

    The shaper counts packets with overhead and framing, so the link's rate is that of full-sized packets counted so.
    """
    routers = {i for i, node in enumerate(resolved["nodes"]) if node["kind"] == "switch"}
    shaped = [
        (k, link)
        for k, link in enumerate(resolved["links"])
        if "motion" not in link and {link["from"], link["to"]} <= routers and math.isfinite(cake_bps(link))
    ]
    longest_of = _longest_packets(resolved, datagrams=True) if shaped else {}
    counted_bps = {k: _counted_bps(link, longest_of.get(k, packet_bytes(0, True))) for k, link in shaped}
    for k, link in shaped:
        policy, rate_bps = link["policy"], link["policy"]["rate_bps"]
        if rate_bps > counted_bps[k]:
            link_rate = RATE.format(link["rate_bps"])
            if round(counted_bps[k]) != link["rate_bps"]:
                link_rate += f" ({RATE.format(round(counted_bps[k]))} as CAKE counts full packets)"
            # A policy that shapes another link was meant for that link.
            elsewhere = any(
                shaped_link["policy"] == policy and rate_bps <= counted_bps[other] for other, shaped_link in shaped
            )
            needs = "a separate policy (return_policy)" if elsewhere else "a lower rate"
            above = f"CAKE's rate of {RATE.format(rate_bps)} is above the link's {link_rate}"
            yield f"{port_name(resolved, k)}: {above} and shapes nothing; needs {needs}"


def _counted_bps(link: Resolved, packet: int) -> float:
    """Returns the rate [bit/s] of a link that sends packets of this length, as its shaper counts them."""
    return float(link["rate_bps"]) * line_bytes(link, packet) / packet


def _buckets_that_drop_all(resolved: Resolved) -> Iterator[str]:
    """Yields a line per policer or shaper that drops full packets of a flow over its link, whatever their rate."""
    conditioned = [(k, bucket) for k, link in enumerate(resolved["links"]) for bucket in buckets(link)]
    longest_of = _longest_packets(resolved, datagrams=True) if conditioned else {}
    for k, conditioner in conditioned:
        passing, longest = longest_passing_bytes(conditioner), longest_of.get(k, 0)
        if passing < longest:
            name = "burst" if conditioner["burst_bytes"] == passing else "mtu"
            subject = f"{port_name(resolved, k)}: {conditioner['kind']} with {_ARTICLES[name]} {name} of {passing} B"
            yield f"{subject} drops all packets of {longest} B; needs {_ARTICLES[name]} {name} of at least one packet"


def _ecn_of_one_side(resolved: Resolved) -> Iterator[str]:
    """Yields a line if queues are set to mark packets but no flow is ECN-capable, or vice versa."""
    kinds = {
        part_kind(flow["tcp"].get("ecn", "off")) for flow in resolved["flows"] if flow["traffic"]["kind"] in OVER_TCP
    }
    capable = sorted(kinds - {"off"})
    is_scalable = any(flow.get("scalable") for flow in resolved["flows"])
    # A real stack decides by itself whether its packets are ECN-capable.
    if not capable and not any(flow.get("foreign") for flow in resolved["flows"]):
        marking = [k for k, link in enumerate(resolved["links"]) if _is_to_mark(link["policy"])]
        if marking:
            data = {k for flow in resolved["flows"] for k in flow["route"]}
            slowest = min(marking, key=lambda k: (k not in data, resolved["links"][k].get("rate_bps", 0)))
            policy = resolved["links"][slowest]["policy"]
            queue = f"{part_kind(policy)} with ecn = true" if policy.get("ecn") else part_kind(policy)
            port = port_name(resolved, slowest)
            yield f"{port}: {queue} marks nothing, because no flow is ECN-capable; needs tcp.ecn, as in 'classic'"
    elif capable and not any(_may_mark(link, is_scalable=is_scalable) for link in resolved["links"]):
        needs = "needs a queue that marks, as switch.policy = {kind = 'codel', ecn = true}"
        yield f"tcp.ecn: {', '.join(capable)}, but no packet is marked, because no queue marks; {needs}"


def _is_to_mark(policy: Mapping[str, Any]) -> bool:
    """Returns whether marking was requested for a queue; other queues mark ECN-capable packets by default."""
    return part_kind(policy) == "step-marking" or (part_kind(policy) not in MARK and _has_marking_option(policy))


def _has_marking_option(policy: Mapping[str, Any]) -> bool:
    """Returns whether an option of a queue makes it mark: `ecn`, or a threshold of the sojourn time."""
    return bool(policy.get("ecn")) or "ce_threshold_ps" in policy


def _may_mark(link: Mapping[str, Any], *, is_scalable: bool) -> bool:
    """Returns whether a link can mark ECN-capable packets; DualPI2 with ecn = false marks those of scalable flows."""
    policy, conditioners = link["policy"], link.get("conditioners", ())
    marks = _has_marking_option(policy) or (part_kind(policy) in MARK and (is_scalable or "ecn" not in policy))
    return marks or any(conditioner.get("exceed") == "mark" for conditioner in conditioners)


def _longest_packets(resolved: Resolved, *, datagrams: bool = False) -> dict[int, int]:
    """Returns the length [bytes] of the longest TCP segment, or datagram, over each link that carries any."""
    longest: dict[int, int] = {}
    for flow in resolved["flows"]:
        over_tcp = flow["traffic"]["kind"] in OVER_TCP
        if over_tcp or datagrams:
            of_tcp = packet_bytes(flow["tcp"]["mss_bytes"], bool(flow["tcp"]["timer"].get("timestamps")))
            size = of_tcp if over_tcp else longest_bytes(flow["traffic"])
            for k in flow["route"]:
                longest[k] = max(longest.get(k, 0), size)
    return longest


def _ended_series(resolved: Resolved) -> Iterator[str]:
    """Yields a line per path whose series of changes, or last route, ends before the run does."""
    duration_ps = resolved["duration_ps"]
    changing = [flow for flow in resolved["flows"] if "rerouting" in flow]
    routes = [route for flow in changing for route in (flow, *flow["rerouting"]["changes"])]
    # Series of links that routes use only temporarily may end.
    temporary = {k for route in routes for k in (*route["route"], *route["return_route"])}
    for k, link in enumerate(resolved["links"]):
        instants = _instants(link)
        if len(instants) < MIN_STEPS or k in temporary:
            continue
        longest = max(after - before for before, after in pairwise(instants))
        if duration_ps - instants[-1] <= longest or _has_recovered(link):
            continue
        outage_ps = _last_outage_ps(link, duration_ps)
        if outage_ps is not None and outage_ps - instants[-1] <= longest:
            yield f"{port_name(resolved, k)}: an outage lasts from {seconds(outage_ps)} to the end of the run"
        else:
            yield f"{port_name(resolved, k)}: the path's series ends at {seconds(instants[-1])}; held from then on"


def _last_outage_ps(link: Mapping[str, Any], duration_ps: int) -> int | None:
    """Returns the start [ps] of an outage of a link that lasts to the end of the run; None without one."""
    intervals = link.get("motion", {}).get("outages", {}).get("intervals_ps", ())
    return next((begin for begin, end in intervals if begin < duration_ps <= end), None)


def _has_recovered(link: Mapping[str, Any]) -> bool:
    """Returns whether only the rate varies and its last value is its first and highest one, as after rain."""
    motion = link.get("motion", {})
    rates = [rate for _, rate in motion.get("service", {}).get("steps", ())]
    varies_otherwise = len(motion.get("delay", {}).get("knots_ps", ())) > 1 or link["loss"]["kind"] == "over-time"
    return bool(rates) and not varies_otherwise and rates[-1] == rates[0] == max(rates)


def _instants(link: Mapping[str, Any]) -> Sequence[int]:
    """Returns the times at which a time-varying link changes, except those of repeating series."""
    is_lossy = link["loss"]["kind"] == "over-time"
    if "motion" not in link and not is_lossy:
        return ()
    motion = link.get("motion", {})
    service = motion.get("service", {})
    if service.get("kind") == "opportunities" or service.get("cycle_ps") is not None:
        return ()
    steps = [service.get("steps", ()), motion.get("delay", {}).get("knots_ps", ())]
    if is_lossy:
        steps.append(link["loss"]["steps_ps"])
    # The times of each series are sorted.
    in_order = heapq.merge(*((at for at, _ in rows) for rows in steps))
    return array("Q", (at for at, _ in groupby(in_order)))
