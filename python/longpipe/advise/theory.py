"""Comparison of an answer with closed forms: agreement, or the reason for a difference."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.analysis.closed_forms import BBR_WINDOW_GAIN, DCTCP_PART, mathis_bps, md1_wait_s
from longpipe.ip import packet_bytes
from longpipe.scenario.base import kinds_that
from longpipe.scenario.buffers import bytes_of
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.datagrams import HEADERS
from longpipe.scenario.own_control import OwnControl
from longpipe.scenario.paths import part_kind

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Congestion controls that fill a buffer until it overflows and then reduce their window; own ones are unknown.
LOSS_BASED: Final = kinds_that(Congestion, lambda model: model.fills_buffers and not issubclass(model, OwnControl))
_RENO: Final = kinds_that(Congestion, lambda model: model.is_reno)
# Factor by which a buffer may differ from the rule and still agree with it.
AGREES: Final = 2.0
# Minimum number of flows whose windows are assumed to be independent (Appenzeller, Keslassy and McKeown, SIGCOMM 2004).
MANY: Final = 50


def rules(scenario: Scenario) -> Iterator[str]:
    """Yields results of closed forms for the long flows over a common link with a limited buffer, and for datagrams.

    Yields nothing for cells.
    """
    resolved = scenario.resolved
    if resolved["framing"] != "ip":
        return
    flows = [flow for flow in resolved["flows"] if flow["traffic"]["kind"] == "greedy"]
    trunk = _shared(resolved, flows) if flows else None
    if trunk is not None:
        tcps = [flow["tcp"] for flow in flows]
        packet = max(packet_bytes(tcp["mss_bytes"], bool(tcp["timer"].get("timestamps"))) for tcp in tcps)
        yield from _of_buffer(resolved, flows, trunk, packet)
        kinds = {part_kind(flow["tcp"]["congestion"]) for flow in flows}
        if kinds <= set(_RENO):
            yield from _of_losses(resolved, flows, trunk)
        if kinds == {"dctcp"}:
            yield from _of_threshold(resolved, flows, trunk, packet)
        if kinds == {"bbr"}:
            yield from _of_bbr(resolved, flows, trunk, packet)
    yield from _of_arrivals(resolved)


def _of_buffer(
    resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], trunk: Mapping[str, Any], packet: int
) -> Iterator[str]:
    """Yields the buffer that B = C RTT / sqrt(n) gives for long flows, and a comparison with the present one."""
    pipe = trunk["rate_bps"] / 8 * _round_trip_s(resolved, flows)
    buffer_bytes = bytes_of(trunk["buffer"], packet)
    rule = pipe / math.sqrt(len(flows))
    text = f"B = C RTT / sqrt(n) of {_long(flows)}: {_size(rule)}; the buffer has {_size(buffer_bytes)}"
    if reasons := list(_exceptions(trunk, flows, pipe / packet)):
        yield f"{text}; the rule does not hold here: {'; '.join(reasons)}"
    elif rule / AGREES <= buffer_bytes <= rule * AGREES:
        yield f"{text}, which agrees"
    else:
        yield f"{text}; other goals and traffic decide"


def _of_losses(
    resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], trunk: Mapping[str, Any]
) -> Iterator[str]:
    """Yields the throughput to which injected losses limit Reno (Mathis et al. 1997)."""
    loss = trunk["loss"].get("probability", 0.0) if part_kind(trunk["loss"]) == "bernoulli" else 0.0
    if not 0 < loss < 1:
        return
    rtt_s = _round_trip_s(resolved, flows)
    rate_bps = sum(mathis_bps(flow["tcp"]["mss_bytes"], rtt_s, loss) for flow in flows)
    share = rate_bps / trunk["rate_bps"]
    text = f"MSS / RTT sqrt(3 / 2p) with losses of {100 * loss:.3g} %, {_long(flows)}: {_rate(rate_bps)}"
    if share < 1:
        yield f"{text}, {100 * share:.0f} % of the link: a larger buffer does not increase it"
    else:
        yield f"{text}, above the link's {_rate(trunk['rate_bps'])}: the buffer is the limit"


def _of_threshold(
    resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], trunk: Mapping[str, Any], packet: int
) -> Iterator[str]:
    """Yields whether a marking threshold keeps DCTCP's queue from running empty (Alizadeh et al. 2010)."""
    policy = trunk["policy"]
    if part_kind(policy) != "step-marking":
        return
    threshold = policy["threshold"] * (packet if policy["unit"] == "packets" else 1)
    minimum = trunk["rate_bps"] / 8 * _round_trip_s(resolved, flows) * DCTCP_PART
    text = f"K > C RTT / 7 of {_long(flows)} with DCTCP: {_size(minimum)}; the threshold is {_size(threshold)}"
    yield f"{text}, which agrees" if threshold > minimum else f"{text}, so the queue runs empty"


def _of_bbr(
    resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], trunk: Mapping[str, Any], packet: int
) -> Iterator[str]:
    """Yields the queue that BBR's window permits (Cardwell et al. 2016)."""
    maximum = (BBR_WINDOW_GAIN - 1) * trunk["rate_bps"] / 8 * _round_trip_s(resolved, flows)
    buffer_bytes = bytes_of(trunk["buffer"], packet)
    text = f"BBR's window of 2 BDP leaves at most {_size(maximum)} in the queue, apart from ACK aggregation"
    if buffer_bytes < maximum:
        yield f"{text}; the buffer has {_size(buffer_bytes)}, and several flows can fill it: losses do not slow BBR"
    else:
        yield f"{text}; the buffer has {_size(buffer_bytes)}, which is enough"


def _of_arrivals(resolved: Mapping[str, Any]) -> Iterator[str]:
    """Yields the mean wait of Poisson datagrams that have a link to themselves (M/D/1)."""
    flows = resolved["flows"]
    payloads = {flow["traffic"].get("payload_bytes") for flow in flows}
    if any(flow["traffic"]["kind"] != "poisson" for flow in flows) or len(payloads) != 1:
        return
    trunk = _shared(resolved, flows)
    if trunk is None:
        return
    load = sum(flow["traffic"]["rate_bps"] for flow in flows) / trunk["rate_bps"]
    if load < 1:
        [payload] = payloads
        wait_s = md1_wait_s(load, 8 * (payload + HEADERS) / trunk["rate_bps"])
        yield f"M/D/1 at a load of {100 * load:.0f} %: mean wait {1e3 * wait_s:.3g} ms, if the buffer does not overflow"


def _long(flows: Sequence[Mapping[str, Any]]) -> str:
    return f"{len(flows)} long flow{'s' if len(flows) > 1 else ''}"


def _rate(rate_bps: float) -> str:
    return f"{rate_bps / 1e6:.3g} Mbit/s"


def _exceptions(trunk: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], packets: float) -> Iterator[str]:
    """Yields the conditions of the rule that are not satisfied."""
    kinds = {part_kind(flow["tcp"]["congestion"]) for flow in flows}
    if other := sorted(kinds - set(LOSS_BASED)):
        yield f"it is for controls that reduce their window by loss, not for {', '.join(other)}"
    policy = part_kind(trunk["policy"])
    if policy != "tail-drop":
        yield f"{policy} keeps the queue below the buffer"
    if len(flows) < MANY:
        yield f"{_long(flows)} instead of the {MANY} or more whose windows are independent"
    if packets < 10 * len(flows):
        yield f"{packets / len(flows):.0f} packets per flow in flight are few, so timeouts dominate"


def _shared(resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Returns the slowest link with a limited buffer that all of the flows use, or None if there is none."""
    common = set.intersection(*(set(flow["route"]) for flow in flows))
    links = [resolved["links"][number] for number in sorted(common)]
    limited = [link for link in links if link["buffer"] is not None]
    return min(limited, key=lambda link: int(link["rate_bps"]), default=None)


def _round_trip_s(resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> float:
    """Returns the median round-trip propagation delay [s] of the flows."""
    links = resolved["links"]
    ways = ([*flow["route"], *flow["return_route"]] for flow in flows)
    return float(statistics.median(sum(links[number]["delay_ps"] for number in way) for way in ways)) / 1e12


def _size(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.3g} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.3g} kB"
