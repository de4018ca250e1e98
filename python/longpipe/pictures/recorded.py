"""Sources of traces for pictures: a result, or the files of an earlier run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe.errors import ScenarioError, nearest
from longpipe.metrics.slowdowns import COMPLETIONS
from longpipe.result import duration_s
from longpipe.result.drops import completed
from longpipe.result.trace_frames import TraceFrames
from longpipe.scenario import Scenario, Traces
from longpipe.scenario.paths import port_name
from longpipe.scenario.source import OVER_TCP

TRACES: Final = tuple(name for name, kind in Traces.model_fields.items() if kind.annotation is bool)
SCENARIO_FILE: Final = "scenario.toml"
# Maximum number of flows that a message lists.
MAX_LISTED: Final = 10


class Run(Protocol):
    """A result, or any other object with a scenario and traces."""

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run."""

    @property
    def traces(self) -> dict[str, pd.DataFrame]:
        """Traces as frames, by name."""


class Completing(Protocol):
    """A result, or any other object with a scenario and the flows that arrived in its run."""

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run."""

    @property
    def completions(self) -> pd.DataFrame:
        """A row per flow that arrived: see `Result.completions`."""


class EmptyPictureError(ScenarioError):
    """A picture would be empty; `short` states in a few words what is missing, for the title of a panel."""

    def __init__(self, message: str, short: str) -> None:
        super().__init__(message)
        self.short = short


@dataclass(frozen=True)
class Recorded:
    """Traces and arrived flows of a finished run; titles show `name`, by default the scenario's name."""

    scenario: Scenario
    traces: dict[str, pd.DataFrame]
    name: str = ""
    completions: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*COMPLETIONS]))
    # Flows whose connection ended before all data had arrived; see `Result.died`.
    died: frozenset[str] = frozenset()

    @classmethod
    def from_directory(cls, directory: str | Path) -> "Recorded":
        """Reads the files of `Result.to_csv`; raises ScenarioError if they are missing."""
        directory = Path(directory)
        if not (directory / SCENARIO_FILE).is_file():
            raise ScenarioError(
                f"{directory}: contains no {SCENARIO_FILE}; needs a directory that longpipe run --csv wrote"
            )
        files = {name: directory / f"{name}.csv" for name in TRACES}
        traces = {name: pd.read_csv(path) for name, path in files.items() if path.is_file()}
        if "drops" in traces:
            traces["drops"] = completed(traces["drops"])
        arrived = directory / "completions.csv"
        completions = pd.read_csv(arrived) if arrived.is_file() else pd.DataFrame(columns=[*COMPLETIONS])
        died = _died(directory / "flows.csv")
        return cls(Scenario.from_toml(directory / SCENARIO_FILE), traces, completions=completions, died=died)


def _died(file: Path) -> frozenset[str]:
    """Returns the flows that are marked as died; none if the file is missing or of an earlier version."""
    flows = pd.read_csv(file) if file.is_file() else pd.DataFrame()
    return frozenset(flows["flow"][flows["died"] > 0].astype(str)) if "died" in flows else frozenset()


def trace(run: Run, name: str) -> pd.DataFrame:
    """Returns a trace. If it is missing, raises a ScenarioError that explains how to record it."""
    if isinstance(run, Scenario) or not hasattr(run, "traces"):
        raise ScenarioError(
            f"run: a {type(run).__name__}; needs a result, as from longpipe.simulate, or a Recorded run"
        )
    return TraceFrames(run.traces)[name]


def name_of(run: Run | Completing) -> str:
    """Returns the name of the run for titles."""
    return (run.name if isinstance(run, Recorded) else "") or run.scenario.name


def shown_flow(run: Run, flow: str) -> str:
    """Returns the name of a flow for legends of throughputs, with a mark if its connection ended before its data."""
    return f"{flow}, died" if flow in getattr(run, "died", ()) else flow


def config_of(scenario: Scenario, flow: str) -> dict[str, Any]:
    """Returns a flow's resolved TCP fields."""
    return next(dict(config["tcp"]) for config in scenario.resolved["flows"] if config["name"] == flow)


def flow_names(scenario: Scenario) -> list[str]:
    """Returns the names of all flows in order."""
    return [flow["name"] for flow in scenario.resolved["flows"]]


def check_flows(scenario: Scenario, flows: Sequence[str] | None) -> None:
    """Raises ScenarioError for an unknown flow."""
    names = flow_names(scenario)
    for flow in flows or ():
        if flow not in names:
            raise ScenarioError(f"flow: {flow!r} is not in the run; {nearest(flow, names)}")


def check_port(scenario: Scenario, port: str | None) -> None:
    """Raises ScenarioError for an unknown port."""
    resolved = scenario.resolved
    ports = [port_name(resolved, link) for link in range(len(resolved["links"]))]
    if port is not None and port not in ports:
        raise ScenarioError(f"port: {port!r} is not in the network; {nearest(port, ports)}")


def check_senders(scenario: Scenario, flows: Sequence[str] | None, lacks: str) -> None:
    """Raises EmptyPictureError for a selected flow that has no sender with traces: datagrams and arriving flows.

    `lacks` is what such a flow lacks.
    """
    kinds = {flow["name"]: flow["traffic"]["kind"] for flow in scenario.resolved["flows"]}
    able = [name for name, traffic in kinds.items() if traffic in OVER_TCP and traffic != "flow-arrivals"]
    for flow in flows or ():
        if flow in kinds and flow not in able and kinds[flow] != "stack-path":
            short = f"no {lacks}"
            raise EmptyPictureError(f"flow: {flow!r} has {short}; {nearest('', able, MAX_LISTED)}", short)


class Chosen(NamedTuple):
    """Flows to draw, and a note about omitted flows for the title ("" if there are none)."""

    names: list[str]
    note: str


def chosen(run: Run, flows: Sequence[str] | None, most: int | None, sizes: pd.Series, what: str) -> Chosen:
    """Returns the selected flows or, by default, the `most` largest by `sizes`, largest first (None selects all).

    `what` describes the largest ones in the note, as in "largest windows". Raises ScenarioError for a flow that does
    not exist.
    """
    check_flows(run.scenario, flows)
    return _chosen(flow_names(run.scenario), flows, most, sizes, what)


def chosen_senders(
    run: Run,
    flows: Sequence[str] | None,
    most: int | None,
    sizes: pd.Series,
    what: str,
    *,
    rows: pd.DataFrame,
    lacks: str,
) -> Chosen:
    """Returns the flows to draw as `chosen` does, for a trace of senders, which contains only connections' first paths.

    `drawn` contains the rows that can be drawn; a flow without one has no `lacks`, for example "congestion window". By
    default, further paths and flows without rows are omitted, and the note says so. Raises ScenarioError if one is
    selected, or if no flow has rows.
    """
    check_flows(run.scenario, flows)
    traffics = {flow["name"]: flow["traffic"] for flow in run.scenario.resolved["flows"]}
    paths = {name: traffic["of"] for name, traffic in traffics.items() if traffic["kind"] == "stack-path"}
    for flow in flows or ():
        if flow in paths:
            raise ScenarioError(
                f"flow: {flow!r} is a further path of {paths[flow]!r}; the trace contains only first paths, needs "
                f"{paths[flow]!r}"
            )
    senders = [name for name in traffics if name not in paths]
    having = set(rows["flow"].astype(str))
    able = [name for name in senders if name in having]
    if not able:
        raise EmptyPictureError(
            f"flow: no {lacks} of any flow in the time shown; needs a TCP sender, or a longer time", f"no {lacks}"
        )
    for flow in flows or ():
        if flow not in having:
            raise EmptyPictureError(
                f"flow: {flow!r} has no {lacks} in the time shown; {nearest('', able, MAX_LISTED)}", f"no {lacks}"
            )
    names, note = _chosen(able, flows, most, sizes, what)
    omitted = "without further paths of connections" if paths and not flows else ""
    lacking = len(senders) - len(able)
    undrawn = (
        f"without {lacking} flow{'s that have' if lacking > 1 else ' that has'} no {lacks}"
        if lacking and not flows
        else ""
    )
    return Chosen(names, ", ".join(filter(None, [note, omitted, undrawn])))


def _chosen(names: list[str], flows: Sequence[str] | None, most: int | None, sizes: pd.Series, what: str) -> Chosen:
    if flows or most is None or len(names) <= most:
        return Chosen(list(flows or names), "")
    size_of = {str(name): float(size) for name, size in sizes.items()}
    ranked = sorted(names, key=lambda name: -size_of.get(name, 0.0))
    return Chosen(ranked[:most], f"the {most} of {len(names)} flows with the {what}")


def flows_with_rows(runs: Iterable[Run], rows: Callable[[Run], pd.DataFrame]) -> list[str]:
    """Returns the flows, in order, that exist in all runs and have rows in any; `rows` returns the rows of a run."""
    several = list(runs)
    having = {str(name) for run in several for name in rows(run)["flow"].unique()}
    names_of_runs = [flow_names(run.scenario) for run in several]
    return [name for name in names_of_runs[0] if name in having and all(name in names for names in names_of_runs)]


def shown_s(run: Run, span_s: tuple[float, float] | None) -> tuple[float, float]:
    """Returns the selected time span [s], or the whole run if none is selected."""
    return span_s or (0.0, duration_s(run.scenario))


def edges_s(begin_s: float, end_s: float, interval_s: float) -> npt.NDArray[np.float64]:
    """Returns the edges [s] of equal intervals, the last of which begins before the end.

    The edges are rounded to a picosecond, like the times of traces, so that all events at edges are counted on the same
    side. A product of rounded seconds, such as .29000000000000004, is after an event at .29 s.
    """
    return np.round(np.arange(begin_s, end_s + interval_s / 2, interval_s) * 1e12) / 1e12


def until_end(frame: pd.DataFrame, run: Run, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the rows until the end of the time shown: the steps whose values are drawn."""
    return frame[frame["time_s"] <= shown_s(run, span_s)[1]]


def of_flows(flows: Sequence[str] | None) -> str:
    """Returns the words for titles and messages that name the selected flows, or "" if none are selected."""
    return f" of {', '.join(flows)}" if flows else ""


def rows_of(frame: pd.DataFrame, flows: Sequence[str] | None) -> pd.DataFrame:
    """Returns the rows of the selected flows, or all rows if none are selected."""
    return frame[frame["flow"].astype(str).isin(list(flows))] if flows else frame


def of_flow(frame: pd.DataFrame, flow: str, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns a flow's rows within the time span."""
    return within(frame[frame["flow"] == flow], span_s)


def within(frame: pd.DataFrame, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns the rows from begin to end [s], inclusive."""
    return frame if span_s is None else frame[frame["time_s"].between(*span_s)]


def as_steps(frame: pd.DataFrame, span_s: tuple[float, float]) -> pd.DataFrame:
    """Cuts a step function to a time span [s], with the values in force at its start and end."""
    last_before = frame[frame["time_s"] < span_s[0]].tail(1).assign(time_s=span_s[0])
    inside = within(frame, span_s)
    last = (inside if len(inside) else last_before).tail(1).assign(time_s=span_s[1])
    return pd.concat([part for part in (last_before, inside, last) if len(part)] or [frame.head(0)], ignore_index=True)
