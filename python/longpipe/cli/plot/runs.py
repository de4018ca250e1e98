"""Runs of which `longpipe plot` draws a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.cli.run import scenario_with
from longpipe.cli.toolkit.progress import RunBar, Waiting
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError
from longpipe.result import duration_s

if TYPE_CHECKING:
    from longpipe.pictures.kinds.kind import Kind
    from longpipe.pictures.recorded import Recorded
    from longpipe.scenario import Scenario

# Maximum number of flows in a printed summary, and the minimum share that the summary lists.
MAX_TOLD: Final = 5
MIN_TOLD: Final = 0.005
# Ratio of the time span that is drawn to the time at which the last transfer ends.
MARGIN: Final = 1.05


@dataclass(frozen=True)
class Runs:
    """Runs by label, the link that was the only bottleneck of a flow, and the time at which each run's transfers ended.

    The links are keyed by label and flow; the time is infinite if something was still sending at the end.
    """

    by_label: dict[str, Recorded] = field(default_factory=dict)
    busy: dict[tuple[str, str], str] = field(default_factory=dict)
    ends_s: list[float] = field(default_factory=list)

    @property
    def first(self) -> Recorded:
        """Returns the first run."""
        return next(iter(self.by_label.values()))

    def span_s(self, begin: float | None, end: float | None) -> tuple[float, float]:
        """Returns the time span [s] to draw: without an end, and if all runs mostly send nothing, until they do."""
        scenario = self.first.scenario
        last = float(f"{MARGIN * max(self.ends_s, default=math.inf):.3g}")
        if end is None and (begin or 0.0) < last < duration_s(scenario) / 2:
            echo(f"drawn until {last:g} s, because all transfers end before; --to draws more")
            end = last
        return span_s(scenario, begin, end)

    def simulate(self, scenario: Scenario, seed: int, flows: Sequence[str] | None, called: str, label: str) -> None:
        """Runs a scenario and prints its limits. `called` is its name in titles."""
        from longpipe.pictures.recorded import Recorded, check_flows
        from longpipe.run import simulate
        from longpipe.verdicts.limits import idle_lines, limit_lines, notes

        check_flows(scenario, flows)
        with RunBar(label or scenario.name) as bar:
            result = simulate(scenario, seed, bar.update)
        limits = result.flow_limits
        lines = [f"limited by {line}" for line in limit_lines(limits)]
        lines += [f"note: {line}" for line in notes(limits)] + [f"ended: {line}" for line in idle_lines(limits)]
        for line in lines:
            echo(f"{label}: {line}" if label else line)
        self.busy.update({(label, limit.flow): limit.busy_link for limit in limits if limit.busy_link})
        ends = [math.inf] if result.part("vbr").get("source") else result.part("flows")["completion_s"]
        self.ends_s.append(max((math.inf if math.isnan(end) else end for end in ends), default=math.inf))
        self.by_label[label] = Recorded(result.scenario, result.traces, called, result.completions)

    def print_waiting(self, flows: Sequence[str] | None) -> None:
        """Prints, for each of the first flows, why its sender waited, if the traces are recorded."""
        from longpipe.pictures.recorded import flow_names
        from longpipe.pictures.share_of_time import time_shares

        for label, run in self.by_label.items():
            names = flows or flow_names(run.scenario)
            for name in names[:MAX_TOLD] if {"cwnd", "sequence", "events"} <= run.traces.keys() else ():
                shares = time_shares(run, name).sort_values(ascending=False, kind="stable")
                causes = ", ".join(f"{cause} {share:.0%}" for cause, share in shares.items() if share >= MIN_TOLD)
                if not causes:
                    # The flow sent no TCP segment.
                    continue
                # Behind a busy link, the window is full of queued packets.
                queue = f", behind {link}" if (link := self.busy.get((label, name))) else ""
                echo(f"{f'{label}: ' if label else ''}{name} held back by {causes} of its time{queue}")


def runs_of(
    source: Path,
    kind: Kind,
    seed: int,
    changes: list[str],
    compared: str | None,
    flows: list[str] | None,
    between: tuple[float | None, float | None],
) -> Runs:
    """Returns the recorded run, or simulates the scenario once or for each compared level; labels are the levels.

    A run is simulated until the end of the time span to draw, or for its duration.
    """
    from longpipe.cli.toolkit.warnings import warn
    from longpipe.pictures.recorded import Recorded, check_senders

    if source.is_dir():
        with Waiting(f"reading {source}"):
            return Runs({"": Recorded.from_directory(source)})
    scenario = scenario_with(source, [*changes, *(f"traces.{needed}=true" for needed in kind.traces)])
    if kind.needs_sender:
        check_senders(scenario, flows, kind.lacks)
    called = title_of(scenario, changes)
    scenario = until(scenario, span_s(scenario, *between)[1])
    scenarios = {"": scenario} if compared is None else _compared(scenario, compared)
    warn(*scenarios.values())
    runs = Runs()
    for label, swept in scenarios.items():
        runs.simulate(swept, seed, flows, called, label)
    return runs


def title_of(scenario: Scenario, changes: Iterable[str]) -> str:
    """Returns the scenario's name and its changes, for the title of a picture."""
    return ", ".join([scenario.name, *(change.replace('"', "") for change in changes)])


def span_s(scenario: Scenario, begin: float | None, end: float | None) -> tuple[float, float]:
    """Returns a time span of a run [s], by default all of it. Raises ScenarioError if it is empty."""
    last = duration_s(scenario)
    span = (0.0 if begin is None else begin, last if end is None else min(end, last))
    if not 0 <= span[0] < span[1]:
        raise ScenarioError(
            f"--from, --to: {span[0]:g} s to {span[1]:g} s; needs a beginning before the end, from 0 s to {last:g} s"
        )
    return span


def _compared(scenario: Scenario, compared: str) -> dict[str, Scenario]:
    """Returns the scenario of each level. Raises ScenarioError if two of them lead to the same run."""
    from longpipe.cli.design.factors import parse_factor
    from longpipe.design.level_names import common_names, legend_names
    from longpipe.scenario.overrides import overridden_fields

    factor = parse_factor(compared, scenario, "--compare")
    if len(factor.levels) < 2:
        raise ScenarioError(f"{factor.name}: levels {', '.join(map(repr, factor.levels))}; needs at least 2")
    names = common_names(factor) or {level: f"{factor.name} = {name}" for level, name in legend_names(factor).items()}
    scenarios = {names[level]: scenario.with_(**changes) for level, changes in factor.levels.items()}
    label_of: dict[str, str] = {}
    for label, swept in scenarios.items():
        if (same := label_of.setdefault(swept.digest(), label)) != label:
            ignored = overridden_fields(swept, (field for change in factor.levels.values() for field in change))
            same_run = f"--compare: {same!r} and {label!r} are the same run; needs levels that change it"
            raise ScenarioError(*(ignored or [same_run]))
    return scenarios


def until(scenario: Scenario, end_s: float) -> Scenario:
    """Returns the scenario shortened to a given end, or the scenario itself if that would change earlier events."""
    if end_s >= duration_s(scenario):
        return scenario
    try:
        short = scenario.with_(duration=f"{end_s:.12f} s")
    except ScenarioError:
        # For example, because a flow starts later.
        return scenario
    return short if _constant_fields(short) == _constant_fields(scenario) else scenario


def _constant_fields(scenario: Scenario) -> dict[str, Any]:
    """Returns the fields that a shorter duration must not change: for example, a buffer in BDP depends on the delay."""
    resolved = scenario.resolved
    return {
        "links": [
            {name: v for name, v in link.items() if name not in ("motion", "loss")} for link in resolved["links"]
        ],
        "flows": [{name: v for name, v in flow.items() if name != "rerouting"} for flow in resolved["flows"]],
    }
