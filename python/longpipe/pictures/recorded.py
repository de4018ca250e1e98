"""Where pictures take their traces from: a run, or the files that it left."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import pandas as pd

from longpipe.errors import ScenarioError, nearest
from longpipe.result import duration_s
from longpipe.scenario import Scenario

TRACES: Final = ("cwnd", "queue", "vc_queue", "sequence", "rtt", "delay", "drops", "arrivals", "control")
SCENARIO_FILE: Final = "scenario.toml"


class Run(Protocol):
    """A result, or anything else with a scenario and traces."""

    @property
    def scenario(self) -> Scenario:
        """What was run."""

    @property
    def traces(self) -> dict[str, pd.DataFrame]:
        """Frames by name of the trace."""


@dataclass(frozen=True)
class Recorded:
    """The traces of a run that has ended; `name` is what titles call it, by default the scenario's."""

    scenario: Scenario
    traces: dict[str, pd.DataFrame]
    name: str = ""

    @classmethod
    def from_directory(cls, directory: str | Path) -> "Recorded":
        """What `Result.to_csv` wrote; ScenarioError unless it is there."""
        directory = Path(directory)
        if not (directory / SCENARIO_FILE).is_file():
            raise ScenarioError(f"{directory}: no {SCENARIO_FILE} in it; needs a directory of longpipe run --csv")
        files = {name: directory / f"{name}.csv" for name in TRACES}
        traces = {name: pd.read_csv(path) for name, path in files.items() if path.is_file()}
        return cls(Scenario.from_toml(directory / SCENARIO_FILE), traces)


def trace(run: Run, name: str) -> pd.DataFrame:
    """A run's trace; ScenarioError, saying how to record it, if it has none."""
    if name not in run.traces:
        raise ScenarioError(f"traces.{name}: not recorded; needs traces.{name} = true, or longpipe run --trace {name}")
    return run.traces[name]


def name_of(run: Run) -> str:
    """What titles call a run."""
    return (run.name if isinstance(run, Recorded) else "") or run.scenario.name


def config_of(scenario: Scenario, flow: str) -> dict[str, Any]:
    """A flow's TCP as it is resolved."""
    return next(dict(config["tcp"]) for config in scenario.resolve()["flows"] if config["name"] == flow)


def flow_names(scenario: Scenario) -> list[str]:
    """All flows of a scenario, in their order."""
    return [flow["name"] for flow in scenario.resolve()["flows"]]


def check_flows(scenario: Scenario, flows: Sequence[str] | None) -> None:
    """ScenarioError for a flow that the scenario does not have."""
    known = flow_names(scenario)
    for flow in flows or ():
        if flow not in known:
            raise ScenarioError(f"flow: {flow!r} is not in the run; {nearest(flow, known)}")


class Chosen(NamedTuple):
    """Flows to draw, and what a title has to say of those that are not: "" if it is all, or those asked for."""

    names: list[str]
    note: str


def chosen(run: Run, flows: Sequence[str] | None, most: int | None, sizes: pd.Series, what: str) -> Chosen:
    """The flows asked for, else the `most` that are largest by `sizes` (by flow), largest first; None for all.

    `what` names the largest in the note, "largest windows". Raises ScenarioError for a flow that is not there.
    """
    check_flows(run.scenario, flows)
    known = flow_names(run.scenario)
    if flows or most is None or len(known) <= most:
        return Chosen(list(flows or known), "")
    size_of = {str(name): float(size) for name, size in sizes.items()}
    ranked = sorted(known, key=lambda name: -size_of.get(name, 0.0))
    return Chosen(ranked[:most], f"the {most} of {len(known)} flows with the {what}")


def shown_s(run: Run, span_s: tuple[float, float] | None) -> tuple[float, float]:
    """The time asked for, else all of the run [s]."""
    return span_s or (0.0, duration_s(run.scenario))


def of_flow(frame: pd.DataFrame, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """A flow's rows, those within the time asked for."""
    return within(frame[frame["flow"] == flow], span_s)


def within(frame: pd.DataFrame, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Rows from begin to end [s], both included."""
    return frame if span_s is None else frame[frame["time_s"].between(*span_s)]


def as_steps(frame: pd.DataFrame, span_s: tuple[float, float]) -> pd.DataFrame:
    """What holds from one row to the next, cut to a time [s]: it begins with the row before and is held to the end."""
    before = frame[frame["time_s"] < span_s[0]].tail(1).assign(time_s=span_s[0])
    inside = within(frame, span_s)
    last = (inside if len(inside) else before).tail(1).assign(time_s=span_s[1])
    return pd.concat([part for part in (before, inside, last) if len(part)] or [frame], ignore_index=True)
