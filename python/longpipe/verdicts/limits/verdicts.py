"""What limited each flow of a run, determined from counters that every run has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from longpipe.system.gc_pause import without_collections
from longpipe.verdicts.limits.causes import Limit
from longpipe.verdicts.limits.evidence import Evidence, evidence
from longpipe.verdicts.limits.kinds import KINDS, Kind, Strength
from longpipe.verdicts.limits.remedy import Remedy
from longpipe.verdicts.limits.run import Columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longpipe.scenario import Scenario

# Meanings of the short names in the table.
MEANINGS: Final[Mapping[Limit, str]] = {kind.name: kind.meaning for kind in KINDS}
# Kinds of limits, each with the maximum strength of its evidence, so that most need not be evaluated.
_MAX_STRENGTHS: Final = [(kind, kind.most) for kind in KINDS]


@dataclass(frozen=True)
class FlowLimit:
    """The limit of a flow.

    `link` is the directed link that left the least capacity for the flow, `link_busy` is the share of the flow's active
    time, from its start to its end, in which this link, or its shaper, was busy (estimated, see `Loads`), `window_used`
    is the mean share of the receiver window in flight (estimated from rates, delays and mean queues in both
    directions), and `idle` is the share of time after the last byte was delivered. `return_link` is the busiest link on
    the return path of the ACKs, `return_link_busy` is its share of busy time, as `link_busy`, and `acks_lost` is the
    share of ACKs lost at its ports. `proxy` is the proxy whose buffer is used most, "" without proxies, and
    `proxy_used` is the mean share of this buffer that the data in flight before and after the proxy take (estimated as
    `window_used`). `limited_by` is "-" for a further path of a connection, whose first path has the limit. `remedy` is
    the change of one field that raises the flow's goodput, None if the limit has none.
    """

    flow: str
    limited_by: Limit
    link: str
    link_busy: float
    window_used: float
    idle: float
    return_link: str
    return_link_busy: float
    acks_lost: float
    proxy: str = ""
    proxy_used: float = 0.0
    remedy: Remedy | None = None

    @property
    def row(self) -> dict[str, Any]:
        """Returns the fields as a row of a table, in which texts replace the remedy.

        `remedy_field` is the dotted field, "" without a remedy. `remedy_value` is its value, as JSON unless it is a
        text.
        """
        row = vars(self) | {"remedy_field": "", "remedy_value": ""}
        del row["remedy"]
        if self.remedy is not None:
            row["remedy_field"], value = self.remedy.field, self.remedy.value
            row["remedy_value"] = value if isinstance(value, str) else json.dumps(value)
        return row

    @property
    def busy_link(self) -> str:
        """Returns the link whose rate, or whose shaper, limits the flow, or ""."""
        return {"link": self.link, "shaper": self.link, "return link": self.return_link}.get(self.limited_by, "")


@without_collections()
def limits(scenario: Scenario, columns: Columns) -> list[FlowLimit]:
    """Returns what limited each flow of a run, in the order of the flows; `columns` are those of its `Result`."""
    return [_limit(of_flow) for of_flow in evidence(scenario, columns)]


def remedies(scenario: Scenario, columns: Columns) -> dict[str, dict[Limit, Remedy]]:
    """Returns, for each flow that has started, the remedy of every limit that has one, whether it limits or not."""
    by_flow: dict[str, dict[Limit, Remedy]] = {}
    for of_flow in evidence(scenario, columns):
        named = {kind.name: kind.remedy(of_flow) for kind in KINDS if of_flow.has_started}
        by_flow[of_flow.path.flow] = {name: remedy for name, remedy in named.items() if remedy is not None}
    return by_flow


def strongest(e: Evidence) -> Kind:
    """Returns the limit with the strongest evidence; of equally strong ones, the first."""
    limit, max_strength = KINDS[-1], Strength.NONE
    for kind, at_most in _MAX_STRENGTHS:
        if at_most > max_strength and (strength := kind.strength(e)) > max_strength:
            limit, max_strength = kind, strength
            if max_strength is Strength.CERTAIN:
                break
    return limit


def _limit(e: Evidence) -> FlowLimit:
    """Returns what limited a flow, with the evidence."""
    names = e.ports.names
    if not e.has_started:
        return FlowLimit(
            flow=e.path.flow,
            limited_by="not started",
            link=names[e.path.bottleneck],
            link_busy=0.0,
            window_used=0.0,
            idle=0.0,
            return_link="",
            return_link_busy=0.0,
            acks_lost=0.0,
        )
    kind = strongest(e)
    proxy, proxy_used = e.proxy_used
    return FlowLimit(
        flow=e.path.flow,
        limited_by=kind.name,
        link=names[e.slowest],
        link_busy=e.busy,
        window_used=e.window_used,
        idle=e.idle,
        return_link=names[e.slowest_back],
        return_link_busy=e.busy_back,
        acks_lost=e.acks_lost,
        proxy=proxy,
        proxy_used=proxy_used,
        remedy=kind.remedy(e),
    )
