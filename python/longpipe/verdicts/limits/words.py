"""Lines about the limits of a run's flows, for terminals and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from longpipe.verdicts.limits.causes import Limit
from longpipe.verdicts.limits.verdicts import MEANINGS, FlowLimit

# Share of lost ACKs, or of time, at and above which the share is considered large.
MUCH: Final = 0.05
# Meaning of `slow start` for flows that completed before the end of the run.
TRANSFER_TOO_SHORT: Final = "the transfer is too short for the round trip"


def limit_lines(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line per limit with the number of its flows, the most frequent limit first.

    Further paths of connections do not count as flows.
    """
    found = without_further_paths(found)
    counts = Counter(one.limited_by for one in found)
    return [
        f"{limit}: {count} of {len(found)} flows, {_meaning(limit, found)}{_where(limit, found)}"
        for limit, count in counts.most_common()
    ]


def remedy_lines(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line per limit that has a remedy, the most frequent limit first.

    If the flows of a limit have different remedies, the line contains the most frequent one, with the number of its
    flows.
    """
    found = without_further_paths(found)
    lines = []
    for limit, count in Counter(one.limited_by for one in found).most_common():
        remedies = Counter(one.remedy.in_words for one in found if one.limited_by == limit and one.remedy is not None)
        for words, flows in remedies.most_common(1):
            lines.append(f"{limit}: {words}" + (f" ({flows} of {count} flows)" if flows < count else ""))
    return lines


def notes(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line about many lost ACKs: such losses do not limit a flow by themselves and are shown nowhere else."""
    found = without_further_paths(found)
    lost = [one.acks_lost for one in found if one.acks_lost >= MUCH]
    if not lost:
        return []
    where = Counter(one.return_link for one in found if one.acks_lost >= MUCH).most_common(1)[0][0]
    return [
        f"ACKs of {len(lost)} of {len(found)} flows: {sum(lost) / len(lost):.1%} lost on the return path, by {where}"
    ]


def idle_lines(found: Iterable[FlowLimit]) -> list[str]:
    """Returns a line about the flows that ended early, which also have a limit: that of their active time."""
    found = without_further_paths(found)
    idle = [one.idle for one in found if one.idle >= MUCH]
    return (
        [f"{len(idle)} of {len(found)} flows, which were then idle for {sum(idle) / len(idle):.0%} of the time"]
        if idle
        else []
    )


def without_further_paths(found: Iterable[FlowLimit]) -> list[FlowLimit]:
    """Returns the limits without those of further paths of connections."""
    return [one for one in found if one.limited_by != "-"]


def _meaning(limit: Limit, found: Iterable[FlowLimit]) -> str:
    """Returns the meaning of a limit, which names the transfer, not the run, if transfers ended before their run."""
    if limit != "slow start":
        return MEANINGS[limit]
    have_ended = {one.idle > 0 for one in found if one.limited_by == limit}
    if have_ended == {True}:
        return TRANSFER_TOO_SHORT
    return MEANINGS[limit] if have_ended == {False} else f"{MEANINGS[limit]}, or {TRANSFER_TOO_SHORT}"


def _where(limit: Limit, found: Iterable[FlowLimit]) -> str:
    """Returns the return link or the proxy that limits the most flows, if one does; users rarely look for it."""
    if limit not in ("return link", "proxy buffer"):
        return ""
    busy: dict[str, list[float]] = {}
    for one in found:
        if one.limited_by == limit:
            where, used = (
                (one.return_link, one.return_link_busy) if limit == "return link" else (one.proxy, one.proxy_used)
            )
            busy.setdefault(where, []).append(used)
    link, shares = max(busy.items(), key=lambda item: len(item[1]))
    return f": {link}, {sum(shares) / len(shares):.1%} used{' and others' if len(busy) > 1 else ''}"
