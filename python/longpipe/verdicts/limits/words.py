"""Lines about the limits of a run's flows, for terminals and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from longpipe.verdicts.limits.causes import Limit
from longpipe.verdicts.limits.verdicts import MEANINGS, FlowLimit

# Share of lost ACKs, or of idle time, from which it is reported.
REPORTED_SHARE: Final = 0.05
# Limit of a further path of a connection, which has no limit of its own.
FURTHER_PATH: Final = "-"
# Meaning of `slow start` for flows that completed before the end of the run.
TRANSFER_TOO_SHORT: Final = "the transfer is too short for the round trip"


def limit_lines(flows: Iterable[FlowLimit]) -> list[str]:
    """Returns a line per limit with the number of its flows, the most frequent limit first.

    Further paths of connections do not count as flows.
    """
    flows = without_further_paths(flows)
    counts = Counter(flow.limited_by for flow in flows)
    return [
        f"{limit}: {count} of {len(flows)} flows, {_meaning(limit, flows)}{_where(limit, flows)}"
        for limit, count in counts.most_common()
    ]


def remedy_lines(flows: Iterable[FlowLimit]) -> list[str]:
    """Returns a line per limit that has a remedy, the most frequent limit first.

    If the flows of a limit have different remedies, the line contains the most frequent one, with the number of its
    flows.
    """
    flows = without_further_paths(flows)
    lines = []
    for limit, count in Counter(flow.limited_by for flow in flows).most_common():
        remedies = Counter(
            flow.remedy.in_words for flow in flows if flow.limited_by == limit and flow.remedy is not None
        )
        for words, flows_helped in remedies.most_common(1):
            lines.append(f"{limit}: {words}" + (f" ({flows_helped} of {count} flows)" if flows_helped < count else ""))
    return lines


def notes(flows: Iterable[FlowLimit]) -> list[str]:
    """Returns a line about many lost ACKs: such losses do not limit a flow by themselves and are shown nowhere else."""
    flows = without_further_paths(flows)
    lost = [flow.acks_lost for flow in flows if flow.acks_lost >= REPORTED_SHARE]
    if not lost:
        return []
    link = Counter(flow.return_link for flow in flows if flow.acks_lost >= REPORTED_SHARE).most_common(1)[0][0]
    return [
        f"ACKs of {len(lost)} of {len(flows)} flows: {sum(lost) / len(lost):.1%} lost on the return path, by {link}"
    ]


def idle_lines(flows: Iterable[FlowLimit]) -> list[str]:
    """Returns a line about the flows that ended early, which also have a limit: that of their active time."""
    flows = without_further_paths(flows)
    idle = [flow.idle for flow in flows if flow.idle >= REPORTED_SHARE]
    return (
        [f"{len(idle)} of {len(flows)} flows, which were then idle for {sum(idle) / len(idle):.0%} of the time"]
        if idle
        else []
    )


def without_further_paths(flows: Iterable[FlowLimit]) -> list[FlowLimit]:
    """Returns the limits without those of further paths of connections."""
    return [flow for flow in flows if flow.limited_by != FURTHER_PATH]


def _meaning(limit: Limit, flows: Iterable[FlowLimit]) -> str:
    """Returns the meaning of a limit, which names the transfer, not the run, if transfers ended before their run."""
    if limit != "slow start":
        return MEANINGS[limit]
    have_ended = {flow.idle > 0 for flow in flows if flow.limited_by == limit}
    if have_ended == {True}:
        return TRANSFER_TOO_SHORT
    return MEANINGS[limit] if have_ended == {False} else f"{MEANINGS[limit]}, or {TRANSFER_TOO_SHORT}"


def _where(limit: Limit, flows: Iterable[FlowLimit]) -> str:
    """Returns the return link or the proxy that limits the most flows, as a suffix; "" for limits of other kinds."""
    if limit not in ("return link", "proxy buffer"):
        return ""
    busy: dict[str, list[float]] = {}
    for flow in flows:
        if flow.limited_by == limit:
            where, used = (
                (flow.return_link, flow.return_link_busy) if limit == "return link" else (flow.proxy, flow.proxy_used)
            )
            busy.setdefault(where, []).append(used)
    link, shares = max(busy.items(), key=lambda item: len(item[1]))
    return f": {link}, {sum(shares) / len(shares):.1%} used{' and others' if len(busy) > 1 else ''}"
