"""Comparison of an answer with the buffer rule of Appenzeller, Keslassy and McKeown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longpipe.ip import packet_bytes
from longpipe.scenario.buffers import bytes_of

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Controls that fill a buffer until it overflows and then reduce their window by a factor.
_LOSS_BASED: Final = ("aimd", "linux-reno", "cubic", "bic", "highspeed", "htcp", "hybla", "scalable", "westwood")
# Factor by which a buffer may differ from the rule and still agree with it.
AGREES: Final = 2.0
# Minimum number of flows whose windows are assumed to be independent (Appenzeller, Keslassy and McKeown, SIGCOMM 2004).
MANY: Final = 50


def rules(scenario: Scenario) -> Iterator[str]:
    """Yields the buffer B = C RTT / sqrt(n) for the long flows of a scenario, and a comparison with the choice.

    Yields nothing for cells, and without long flows over a common link with a limited buffer.
    """
    resolved = scenario.resolved
    flows = [flow for flow in resolved["flows"] if flow["traffic"]["kind"] == "greedy"]
    trunk = _shared(resolved, flows) if flows and resolved["framing"] == "ip" else None
    if trunk is None:
        return
    tcps = [flow["tcp"] for flow in flows]
    packet = max(packet_bytes(tcp["mss_bytes"], bool(tcp["timer"].get("timestamps"))) for tcp in tcps)
    pipe = trunk["rate_bps"] / 8 * _round_trip_s(resolved, flows)
    found = bytes_of(trunk["buffer"], packet)
    rule = pipe / math.sqrt(len(flows))
    plural = "s" if len(flows) > 1 else ""
    text = f"B = C RTT / sqrt(n) of {len(flows)} long flow{plural}: {_size(rule)}; the buffer has {_size(found)}"
    reasons = list(_exceptions(trunk, flows, pipe / packet))
    if rule / AGREES <= found <= rule * AGREES:
        yield f"{text}, which agrees"
    else:
        yield f"{text}; {'; '.join(reasons) or 'other goals and traffic decide'}"


def _exceptions(trunk: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], packets: float) -> Iterator[str]:
    """Yields the conditions of the rule that are not satisfied."""
    kinds = {_kind(flow["tcp"]["congestion"]) for flow in flows}
    if other := sorted(kinds - set(_LOSS_BASED)):
        yield f"the rule is for controls that reduce their window by loss, not for {', '.join(other)}"
    policy = _kind(trunk["policy"])
    if policy != "tail-drop":
        yield f"{policy} keeps the queue below the buffer"
    if len(flows) < MANY:
        yield f"with fewer than {MANY} flows their windows fall together"
    if packets < 10 * len(flows):
        yield f"{packets / len(flows):.0f} packets per flow in flight are few, and timeouts decide"


def _shared(resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Returns the slowest link with a limited buffer that all of the flows use; None if there is none."""
    common = set.intersection(*(set(flow["route"]) for flow in flows))
    links = [resolved["links"][number] for number in sorted(common)]
    limited = [link for link in links if link["buffer"] is not None]
    return min(limited, key=lambda link: int(link["rate_bps"]), default=None)


def _round_trip_s(resolved: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> float:
    """Returns the median propagation delay of the flows, both ways [s]."""
    links = resolved["links"]
    ways = ([*flow["route"], *flow["return_route"]] for flow in flows)
    return float(statistics.median(sum(links[number]["delay_ps"] for number in way) for way in ways)) / 1e12


def _kind(part: object) -> str:
    return str(part["kind"]) if isinstance(part, Mapping) else str(part)


def _size(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.3g} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.3g} kB"
