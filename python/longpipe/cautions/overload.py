"""Links to which web servers and arriving flows offer more than they can carry."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from longpipe.scenario.flow_sizes import mean_of_points
from longpipe.scenario.paths import Resolved, port_name, sustained_bps, wire_bytes
from longpipe.units import RATE

# Largest index of a file's size within its class (ATM Forum/98-0876 section 5.2).
_SIZES: Final = 9
# Bits per byte times picoseconds per second.
_BIT_PS_PER_BYTE_S: Final = 8e12
# Share by which an offered load may exceed the rate because gaps between arrivals are rounded to a picosecond.
_ROUNDING: Final = 1e-6


def overloads(resolved: Resolved) -> Iterator[str]:
    """Yields a line for the link whose offered load exceeds its rate by the largest factor, if there is one.

    The offered load is that of web servers and of flows that arrive without end, in full packets with headers. Flows
    that stop are omitted, because their load is finite, and so are links whose rate varies.
    """
    # By link: the offered load [bit/s], and the number of flows that offer it.
    offered, users = defaultdict[int, float](float), Counter[int]()
    # Offered load [bit/s] of a flow, by the identities of its traffic and TCP parameters, which many flows share.
    per_traffic: dict[tuple[int, int], float] = {}
    for flow in resolved["flows"]:
        traffic, tcp = flow["traffic"], flow["tcp"]
        key = (id(traffic), id(tcp))
        if key not in per_traffic:
            mss = tcp["mss_bytes"]
            packets = payload_bps(traffic) / mss
            per_traffic[key] = packets * wire_bytes(resolved, mss, tcp["timer"].get("timestamps", False))
        if per_traffic[key] and "stop" not in flow:
            for link in flow["route"]:
                offered[link] += per_traffic[key]
                users[link] += 1
    rates = {link: sustained_bps(resolved["links"][link]) for link in offered if not _varies(resolved["links"][link])}
    overloaded = [link for link, rate in rates.items() if offered[link] > rate * (1 + _ROUNDING)]
    if overloaded:
        # All numbers below are those of the link with the largest ratio of load to rate.
        worst = max(overloaded, key=lambda link: offered[link] / rates[link])
        subject = f"{users[worst]} flows offer" if users[worst] > 1 else "a flow offers"
        endless = sum(flow["traffic"]["kind"] == "greedy" and worst in flow["route"] for flow in resolved["flows"])
        endless_flows = f", besides {endless} endless flow{'s' if endless > 1 else ''}" if endless else ""
        mean, rate = (RATE.format(round(float(f"{bps:.3g}"))) for bps in (offered[worst], rates[worst]))
        yield (
            f"{port_name(resolved, worst)}: {subject} {mean} on average, headers included{endless_flows}, over {rate}; "
            "completion times grow with the duration, whatever the queue; needs a lower load or a higher rate"
        )


def _varies(link: Resolved) -> bool:
    """Returns whether the rate of a link varies over time."""
    return "service" in link.get("motion", {})


def payload_bps(traffic: Mapping[str, Any]) -> float:
    """Returns the mean rate of the data that are requested or arrive [bit/s]; 0 for other traffic."""
    if traffic["kind"] == "web":
        return _web_bps(traffic)
    arrivals = traffic.get("arrivals", {})
    if traffic["kind"] == "flow-arrivals" and arrivals["kind"] == "poisson" and traffic["most_flows"] is None:
        return _BIT_PS_PER_BYTE_S * _mean_size_bytes(arrivals["sizes"]) / float(arrivals["gap_ps"])
    return 0.0


def _web_bps(web: Mapping[str, Any]) -> float:
    """Returns the mean rate [bit/s] of a client's requested files: a batch's bits over the time between batches."""
    requests = _limited_mean(web["requests_mean"], web["requests_most"], web["cut"])
    index = _limited_mean(web["size_mean"], _SIZES, web["cut"])
    shares = enumerate(web["class_shares_ppb"])
    size = index * web["kilobyte_bytes"] / 10 * sum(share / 1e9 * 10**number for number, share in shares)
    spacing_ps = (web["spacing_from_ps"] + web["spacing_to_ps"]) / 2
    # Time from the first to the last request of a batch, and the part of it that precedes the start of the cycle.
    batch_ps = (requests - 1) * spacing_ps
    preceding_ps = batch_ps if web["cycle_from"] == "last-request" else 0.0
    return float(_BIT_PS_PER_BYTE_S * requests * size / max(web["cycle_ps"] + preceding_ps, batch_ps))


def _limited_mean(mean: float, high: int, cut: str) -> float:
    """Returns the mean of a Poisson variable that is restricted to 1 to `high`.

    Values outside are drawn again if `cut` is "rejection"; otherwise 0 counts as 1, and larger values as `high`.
    """
    probability_of_0 = math.exp(-mean)
    probabilities, probability = [], probability_of_0
    for k in range(1, high + 1):
        probability *= mean / k
        probabilities.append(probability)
    within = sum(k * probability for k, probability in enumerate(probabilities, 1))
    if cut == "rejection":
        return within / sum(probabilities)
    probability_above = max(0.0, 1 - probability_of_0 - sum(probabilities))
    return within + probability_of_0 + high * probability_above


def _mean_size_bytes(sizes: Mapping[str, Any]) -> float:
    if sizes["kind"] == "cumulative":
        return mean_of_points(sizes["points"])
    return float(sizes["size_bytes" if sizes["kind"] == "fixed" else "mean_bytes"])
