"""Applies the remedy of every limit to random scenarios, and prints how often the named one raises the goodput.

`python tests/remedies.py [SCENARIOS] [FIRST]` prints a row per limit: how many flows it limits, for how many of them its
remedy raises the goodput by at least 5 %, and for how many the remedy of another limit would have raised it further.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))

from limit_scenarios import scenario
from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe.metrics.warm_up import begin_s
from longpipe.units import TIME
from longpipe.verdicts.limits import Limit, Remedy, remedies
from longpipe.verdicts.loads import active_time

# Factor by which a remedy must raise the goodput of its flow.
RISES: Final = 1.05
# Limits that name no remedy.
WITHOUT: Final = ("application", "not started", "slow start", "not determined", "-")


@dataclass(frozen=True)
class Judged:
    """A flow's limit, its goodput [bit/s], and its goodput with the remedy of each limit."""

    number: int
    flow: str
    limit: Limit
    named: bool
    goodput_bps: float
    with_remedy_bps: Mapping[Limit, float]

    def rises(self, limit: Limit) -> bool:
        """Returns whether the remedy of a limit raises the goodput."""
        changed = self.with_remedy_bps.get(limit, 0.0)
        return changed > 0 and changed >= RISES * self.goodput_bps

    @property
    def helps(self) -> bool:
        """Returns whether the remedy of the flow's own limit raises the goodput."""
        return self.rises(self.limit)

    @property
    def is_surpassed(self) -> bool:
        """Returns whether the remedy of another limit raises the goodput further."""
        own = max(self.with_remedy_bps.get(self.limit, 0.0), self.goodput_bps)
        return any(other >= RISES * own and other > 0 for other in self.with_remedy_bps.values())


def judged(number: int) -> Iterator[Judged]:
    """Yields the flows of a scenario with the effects of all remedies."""
    before = simulate(scenario(number))
    own, base = remedies(before.scenario, before.columns), goodputs(before)
    applied: dict[str, Mapping[str, float] | None] = {}
    for found in before.flow_limits:
        changed: dict[Limit, float] = {}
        for limit, remedy in own.get(found.flow, {}).items():
            if str(remedy) not in applied:
                applied[str(remedy)] = _with(before.scenario, remedy, base)
            after = applied[str(remedy)]
            if after is not None:
                changed[limit] = after[found.flow]
        yield Judged(number, found.flow, found.limited_by, found.remedy is not None, base[found.flow], changed)


def goodputs(result: Result) -> dict[str, float]:
    """Returns the goodput of each flow of a run in its active time [bit/s].

    The time is that after a warm-up, or that of the whole transfer if it completed within the warm-up.
    """
    flows, begin = result.part("flows"), begin_s(result.columns)
    duration_s = TIME.parse(result.scenario.duration) / 1e12 - begin
    found = {}
    early = result.columns.get("warm_up", {})
    before_bytes = dict(zip(early.get("flow", ()), early.get("delivered_before_bytes", ()), strict=True))
    rows = zip(*(flows[name] for name in ("flow", "delivered_bytes", "start_s", "completion_s")), strict=True)
    for flow, delivered_bytes, start_s, completion_s in rows:
        if completion_s is not None and completion_s < begin:
            found[flow] = 8 * before_bytes[flow] / (completion_s - start_s)
            continue
        start_s, end_s = active_time(start_s, completion_s, begin, duration_s)
        found[flow] = 8 * delivered_bytes / (end_s - start_s) if start_s < duration_s else 0.0
    return found


def _with(before: Scenario, remedy: Remedy, base: Mapping[str, float]) -> Mapping[str, float] | None:
    """Returns the goodputs with a remedy; None if another field of the scenario forbids the change.

    `base` are the goodputs without it, which are those with a remedy that changes nothing.
    """
    try:
        after = remedy.applied_to(before)
        return base if after.resolved == before.resolved else goodputs(simulate(after))
    except ScenarioError:
        return None


def table(flows: Iterable[Judged]) -> Iterator[str]:
    """Yields the lines of the table, most frequent limits first."""
    rows = list(flows)
    yield f"{'limit':<16}{'flows':>8}{'helps':>8}{'share':>8}{'other helps more':>18}"
    for limit, _ in Counter(one.limit for one in rows).most_common():
        own = [one for one in rows if one.limit == limit]
        count = len(own)
        helped = "-" if limit in WITHOUT else str(sum(one.helps for one in own))
        share = "-" if limit in WITHOUT else f"{sum(one.helps for one in own) / count:.1%}"
        more = sum(one.is_surpassed for one in own)
        yield f"{limit:<16}{count:>8}{helped:>8}{share:>8}{more:>18}"
    named = [one for one in rows if one.limit not in WITHOUT]
    in_all = sum(one.helps for one in named)
    yield f"{'all with remedy':<16}{len(named):>8}{in_all:>8}{in_all / len(named):>8.1%}"
    undetermined = sum(one.limit == "not determined" for one in rows)
    yield f"not determined: {undetermined / len(rows):.1%} of {len(rows)} flows"


if __name__ == "__main__":
    count, first = [int(argument) for argument in (*sys.argv[1:], *("2000", "0")[len(sys.argv) - 1 :])]
    flows = (one for number in range(first, first + count) for one in judged(number))
    sys.stdout.write("\n".join(table(flows)) + "\n")
