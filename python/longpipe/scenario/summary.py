"""Lines that describe a scenario, shown above the tables of a run and in notebooks."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Set
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel

from longpipe.scenario import Graph, Scenario
from longpipe.scenario.base import AUTO
from longpipe.scenario.jitter import delay_with_jitter_ps
from longpipe.scenario.module import Module
from longpipe.scenario.own_class import Python
from longpipe.scenario.paths import Resolved, paths, whole
from longpipe.scenario.profile_options import filled
from longpipe.scenario.profiles import CLASSIC
from longpipe.scenario.source import OF_STACKS, OVER_TCP
from longpipe.scenario.stack import is_own
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.timers import Coarse
from longpipe.scenario.variant import Variant
from longpipe.units import BUFFER, RATE, TICKS, TIME, UNLIMITED

# Maximum number of differing flows and links that the head lists, and of TCP fields that it shows.
MAX_EXCEPTIONS: Final = 4
SHOWN: Final = ("mss", "receiver_window", "initial_window")
# Longest delays [ps] by link, and beginning and end of a time span [ps].
Spans = dict[tuple[int, int, int], int]
_TIMES: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def summary_lines(scenario: Scenario) -> list[str]:
    """Returns framing, rates and delays; TCP; buffers and queue discipline; the first flows and links that differ."""
    tcp = scenario.tcp
    resolved = scenario.resolved
    return [
        f"{'IP packets' if scenario.framing == 'ip' else 'ATM cells'}, {_way(resolved)}",
        f"{_senders(tcp, resolved)}; {_discipline(scenario)} at {_buffer(scenario)}",
        *_exceptions(scenario),
    ]


def _discipline(scenario: Scenario) -> str:
    """Returns the queue discipline of the switches, or that of their paths, which limit the time in the queue."""
    policies = [link["policy"] for link in scenario.resolved["links"] if "motion" in link]
    limits_ps = sorted({policy["limit_ps"] for policy in policies if "limit_ps" in policy})
    if scenario.switch.policy.kind != "tail-drop" or not limits_ps:
        return _with_changes(scenario.switch.policy)
    return f"head-drop after {' or '.join(map(TIME.format, limits_ps))}"


def _senders(tcp: Tcp, resolved: Resolved) -> str:
    """Returns a line about the kinds of TCP, if any flow uses TCP, and real stacks; without TCP, also datagrams."""
    traffics = [flow["traffic"] for flow in resolved["flows"]]
    kinds = {traffic["kind"] for traffic in traffics}
    stacks = dict.fromkeys(_stack(traffic) for traffic in traffics if traffic["kind"] == "stack")
    if kinds & OVER_TCP <= OF_STACKS:
        return " and ".join([*stacks, *(["datagrams"] if kinds - OF_STACKS else [])])
    timer = _ticks(tcp.timer) if isinstance(tcp.timer, Coarse) else f"RTO from {tcp.timer.min_rto}"
    window = _windows(resolved) if tcp.receiver_window == AUTO else tcp.receiver_window
    return ", ".join([f"{_kinds(tcp)}, MSS {tcp.mss}, window {window}, {timer}", *stacks])


def _buffer(scenario: Scenario) -> str:
    """Returns the buffer and, if it is given in BDP or as a time, its size at the flows' bottlenecks."""
    buffer, network, resolved = scenario.switch.buffer, scenario.network, scenario.resolved
    is_relative = buffer != UNLIMITED and BUFFER.split(buffer)[1] in ("BDP", *TIME.units)
    # Links with a buffer of their own are listed as exceptions.
    if not is_relative or (isinstance(network, Graph) and any(link.buffer for link in network.links)):
        return buffer
    places = {path.bottleneck for path in paths(resolved)} - _with_own_buffer(scenario)
    sizes = [own for place in places if (own := resolved["links"][place]["buffer"])]
    if not sizes:
        return buffer
    limits, units = {size["limit"] for size in sizes}, {size["unit"] for size in sizes}
    low, high = min(limits), max(limits)
    return f"{buffer} ({low if low == high else f'{low} to {high}'} {'/'.join(sorted(units))})"


def _with_own_buffer(scenario: Scenario) -> set[int]:
    """Returns the directed links of a dumbbell whose buffer is not that of its switches: the trunk back to switch1."""
    if isinstance(scenario.network, Graph) or scenario.network.return_buffer is None:
        return set()
    nodes = [node["name"] for node in scenario.resolved["nodes"]]
    links = enumerate(scenario.resolved["links"])
    return {k for k, link in links if (nodes[link["from"]], nodes[link["to"]]) == ("switch2", "switch1")}


def _ticks(timer: Coarse) -> str:
    """Returns the length of a tick and, unless all three are the defaults, the initial and maximum RTO."""
    times_ps = _tick_and_rtos_ps(timer)
    if times_ps == _tick_and_rtos_ps(Coarse()):
        return f"ticks of {timer.tick}"
    _, first, most = map(TIME.format, times_ps)
    return f"ticks of {timer.tick} (RTO {first} at first, {most} at most)"


def _tick_and_rtos_ps(timer: Coarse) -> tuple[int, int, int]:
    """Returns the length of a tick, the initial RTO and the maximum RTO [ps]; the timer states the RTOs in ticks."""
    tick_ps = TIME.parse(timer.tick)
    return tick_ps, TICKS.parse(timer.initial_rto) * tick_ps, TICKS.parse(timer.max_rto) * tick_ps


def _stack(traffic: Resolved) -> str:
    """Returns the name and version of a real stack, and its congestion control if that is a setting."""
    control = dict(traffic["settings"]).get("congestion")
    version = traffic["version"][:12] if is_own(traffic["version"]) else traffic["version"]
    return f"{traffic['stack']} {version}{f' with {control}' if control else ''}"


def _exceptions(scenario: Scenario) -> list[str]:
    """Returns a line with the first flows and links that differ from the head's description."""
    network = scenario.network
    parts: list[tuple[str, Tcp | None]]
    if isinstance(network, Graph):
        parts = [(flow.name, flow.tcp) for flow in network.flows]
    else:
        parts = [
            (group.name if group.count == 1 else f"{group.name}1 to {group.count}", group.tcp)
            for group in network.group or ()
        ]
    found = [f"{name}: {own}" for name, tcp in parts if tcp and (own := _own(tcp, scenario.tcp))]
    if isinstance(network, Graph):
        for link in network.links:
            said: list[str] = [_with_changes(link.policy)] if link.policy else []
            said += [f"at {link.buffer}"] if link.buffer else []
            found += [f"{'->'.join(link.between)}: {' '.join(said)}"] if said else []
    else:
        back = [_with_changes(network.return_policy)] if network.return_policy else []
        back += [f"at {network.return_buffer}"] if network.return_buffer is not None else []
        found += [f"switch2->switch1: {' '.join(back)}"] if back else []
    if not found:
        return []
    more = [f"and {len(found) - MAX_EXCEPTIONS} more"] if len(found) > MAX_EXCEPTIONS else []
    return [f"but {'; '.join([*found[:MAX_EXCEPTIONS], *more])}"]


def _own(tcp: Tcp, others: Tcp) -> str:
    """Returns a flow's fields that differ from the other flows': kinds by name, other fields by value."""
    said = {field for field in tcp.model_fields_set if getattr(tcp, field) != getattr(others, field)}
    if "profile" in said:
        return _kinds(tcp)
    chosen = ((_part(tcp, part), _part(others, part)) for part in ("congestion", "recovery") if part in said)
    kinds = [own for own, usual in chosen if own != usual]
    plain = [f"{field} {value}" for field in SHOWN if field in said and isinstance(value := getattr(tcp, field), str)]
    ticks = [_ticks(tcp.timer)] if "timer" in said and isinstance(tcp.timer, Coarse) else []
    return ", ".join([*kinds, *plain, *ticks])


def _kinds(tcp: Tcp) -> str:
    congestion, recovery = _part(tcp, "congestion"), _part(tcp, "recovery")
    kinds = f"{recovery} TCP" if congestion == "aimd" else f"{congestion} TCP with {recovery}"
    return kinds if tcp.profile == CLASSIC else f"{kinds} ({tcp.profile})"


def _part(tcp: Tcp, field: Literal["congestion", "recovery"]) -> str:
    """Returns the kind of a recovery or controller with its changed parameters, as in "cubic (beta 0.8)".

    For a controller from a file or a class, the text also contains its name.
    """
    part: Variant = getattr(tcp, field)
    if isinstance(part, Module):
        return _changed(f"module {Path(part.file).name}", part.parameters or {})
    if isinstance(part, Python):
        return _changed(f"python {Path(part.class_).name}", part.parameters or {})
    if part.model_fields_set <= {"kind"}:
        # Without changed parameters, no comparison with the defaults is needed, which takes 10 ms.
        return _changed(str(part.kind), {})
    return _with_changes(part, _usual(tcp, field, part))


def _usual(tcp: Tcp, field: str, part: Variant) -> BaseModel | None:
    """Returns a recovery algorithm or controller with its profile's options; None if its kind has required fields.

    It is not validated, because building the validator of `Tcp` takes 20 ms.
    """
    model = type(part)
    usual = filled({"profile": tcp.profile}, Tcp).get(field)
    if not isinstance(usual, dict) or usual["kind"] != part.kind:
        usual = filled({"profile": tcp.profile, field: part.kind}, Tcp)[field]
    options = usual if isinstance(usual, dict) else {}
    if any(declared.is_required() and name not in options for name, declared in model.model_fields.items()):
        return None
    return model.unchecked(**options)


def _with_changes(part: Any, usual: BaseModel | None = None) -> str:  # noqa: ANN401 - a part with a kind
    """Returns the kind of a part, and its parameters that differ from `usual`, or from its fields' defaults."""
    fields = type(part).model_fields
    changed = {}
    for name in fields:
        value = getattr(part, name)
        default = fields[name].get_default(call_default_factory=True) if usual is None else getattr(usual, name)
        if name in part.model_fields_set - {"kind"} and value != default:
            changed[name] = value
    return _changed(str(part.kind), changed)


def _changed(name: str, parameters: Mapping[str, object]) -> str:
    """Returns a name with its changed parameters in parentheses; if there are many, only the first."""
    said = [f"{key} {text}" for key, value in parameters.items() if (text := _value(value))]
    if len(said) > MAX_EXCEPTIONS:
        said = [*said[:MAX_EXCEPTIONS], f"and {len(said) - MAX_EXCEPTIONS} more"]
    return f"{name} ({', '.join(said)})" if said else name


def _value(value: object) -> str:
    """Returns a parameter's value as text; for a part, its kind; for a list, ""."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str | int):
        return str(value)
    return str(getattr(value, "kind", ""))


def _way(resolved: Resolved) -> str:
    found = paths(resolved)
    flows = "1 flow" if len(found) == 1 else f"{len(found)} flows"
    links = resolved["links"]
    rates = _span({links[path.bottleneck]["rate_bps"] for path in found}, RATE.format)
    rates += " (nominal)" if any("service" in links[path.bottleneck].get("motion", {}) for path in found) else ""
    moving = any("delay" in links[k].get("motion", {}) for path in found for k in {*path.route, *path.return_route})
    rows = zip(found, whole(resolved), strict=True)
    known: Spans = {}
    longest = {_longest_ps(resolved, flow, known) if "rerouting" in flow else path.delay_ps for path, flow in rows}
    delays = _span(longest, _time_text)
    return f"{flows} over {rates}, round trip {'at most ' if moving else ''}{delays}"


def _longest_ps(resolved: Resolved, flow: Resolved, known: Spans) -> int:
    """Returns an upper bound of the delay [ps] of a flow's routes, without queues, each in the time of its use.

    The bound is the sum of the longest delays of the links, which may occur at different times. `known` contains these
    delays for the flows that share links.
    """
    links, ways = resolved["links"], [{**flow, "at_ps": 0}, *flow["rerouting"]["changes"]]
    spans = zip(ways, [*(way["at_ps"] for way in ways[1:]), resolved["duration_ps"]], strict=True)
    sums = []
    for way, end_ps in spans:
        sums.append(0)
        for k in (*way["route"], *way["return_route"]):
            if (span := (k, way["at_ps"], end_ps)) not in known:
                known[span] = _longest_of(links[k], way["at_ps"], end_ps)
            sums[-1] += known[span]
    return max(sums)


def _longest_of(link: Resolved, begin_ps: int, end_ps: int) -> int:
    """Returns the longest delay [ps] of a link within a time span."""
    delay_of = link.get("motion", {}).get("delay")
    if delay_of is None:
        return delay_with_jitter_ps(link)
    knots = delay_of["knots_ps"]
    first = max(0, bisect_right(knots, begin_ps, key=itemgetter(0)) - 1)
    last = bisect_left(knots, end_ps, key=itemgetter(0))
    jitter_ps = delay_with_jitter_ps(link) - int(link["delay_ps"])
    return jitter_ps + int(delay_of.get("grant_ps", 0)) + max(int(delay) for _, delay in knots[first : last + 1])


def _windows(resolved: Resolved) -> str:
    return f"{AUTO} ({_span({flow['tcp']['receiver_window_bytes'] for flow in resolved['flows']}, _size_text)})"


def _span(values: Set[int], text: Callable[[int], str]) -> str:
    minimum, maximum = text(min(values)), text(max(values))
    return minimum if minimum == maximum else f"{minimum} to {maximum}"


def _time_text(picoseconds: int) -> str:
    """Formats a time with four significant digits, in the largest unit that does not exceed it."""
    seconds = picoseconds / 1e12
    unit, scale = next((entry for entry in _TIMES if seconds >= entry[1]), _TIMES[-1])
    return f"{seconds / scale:.4g} {unit}"


def _size_text(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.3g} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.3g} KB"
