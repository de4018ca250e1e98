"""What one run measured, as data frames whose columns carry their units."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from longpipe.analysis import metrics, web
from longpipe.captures import Capture
from longpipe.files import check_directory, write_text
from longpipe.scenario import Dumbbell, Scenario
from longpipe.units import RATE, SIZE, TIME

# What a store keeps of a result beside its traces, by name.
PARTS: Final = ("flows", "ports", "classes", "vbr", "web", "response_times")


@dataclass(frozen=True, eq=False)
class Result:
    """One run of one scenario with one seed.

    `flows` has a row per TCP connection and `ports` a row per directed link, named "a->b" by its nodes; `classes` has a
    row per switch port and service class there, `vbr` one per VBR source, whose delays [s] run from the instant a cell
    is ready to the end of its arrival at the sink. In `ports` cells are those of all classes, queues those of UBR where
    it has circuits; with framing "ip" it counts packets and bytes, and `classes` is empty. `web` has a row per flow
    with web traffic, `files` one per file asked for (flow, class, bytes, and when [s] it was requested, answered by the
    server and complete at the client), `response_times` one per class (see `analysis.web`). `traces` has a frame for
    each trace that the scenario asks for (cwnd, queue, vc_queue, sequence, rtt), `captures` an entry for each packet
    capture. `state_hash` is equal for equal runs. A result from a store has no files.
    """

    scenario: Scenario
    seed: int
    flows: pd.DataFrame
    ports: pd.DataFrame
    classes: pd.DataFrame
    vbr: pd.DataFrame
    web: pd.DataFrame
    files: pd.DataFrame
    response_times: pd.DataFrame
    traces: dict[str, pd.DataFrame]
    state_hash: str
    events: int
    captures: tuple[Capture, ...] = ()
    # The frames as the core gave them, columns by part: what a store keeps.
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_columns(cls, scenario: Scenario, seed: int, columns: Mapping[str, Any]) -> "Result":
        """A result from what the core returns."""
        flows, ports = pd.DataFrame(columns["flows"]), pd.DataFrame(columns["ports"])
        throughput = metrics.throughput_bps(flows, duration_s(scenario))
        flows.insert(1, throughput.name, throughput)
        names = {"flow": pd.Index(flows["flow"]), "port": pd.Index(ports["port"])}
        traces = {kind: _in_time(_named(trace, names)) for kind, trace in columns["traces"].items()}
        files = _named(columns["files"], names)
        waits = columns.get("response_times")
        if waits is None:
            waits = web.response_times(files, duration_s(scenario)).to_dict("list")
        return cls(
            scenario=scenario,
            seed=seed,
            flows=flows,
            ports=ports,
            classes=pd.DataFrame(columns["classes"]),
            vbr=pd.DataFrame(columns["vbr"]),
            web=pd.DataFrame(columns["web"]),
            files=files,
            response_times=pd.DataFrame(waits),
            traces=traces,
            state_hash=columns["state_hash"],
            events=columns["events"],
            columns={"response_times": waits} | {part: columns[part] for part in PARTS if part in columns},
        )

    @cached_property
    def attainable_bps(self) -> float:
        """What VBR leaves of the trunk to full segments [bit/s]; nan for a graph, which has no one trunk."""
        network = self.scenario.network
        if not isinstance(network, Dumbbell):
            return math.nan
        left_bps = RATE.parse(network.trunk_rate) - vbr_bps(network)
        return metrics.attainable_bps(left_bps, SIZE.parse(self.scenario.tcp.mss), self.scenario.framing)

    @cached_property
    def efficiency(self) -> float:
        """Sum of throughputs over what VBR leaves of the trunk; nan for a graph, which has no one trunk."""
        return metrics.efficiency(self.flows["throughput_bps"], self.attainable_bps)

    @cached_property
    def fairness(self) -> float:
        """Jain's index of the throughputs; nan where nothing was delivered.

        Where all flows carry web traffic over a dumbbell, of throughputs over max-min fair shares of what the servers
        wrote (ATM Forum/98-0876 section 7).
        """
        throughputs = self.flows["throughput_bps"].to_numpy()
        if len(self.web) < len(self.flows) or math.isnan(self.attainable_bps):
            return metrics.fairness(throughputs)
        demands = self.web["scheduled_bytes"] * 8 / duration_s(self.scenario)
        return metrics.fairness(web.relative_throughputs(throughputs, demands, self.attainable_bps))

    def summary(self) -> dict[str, Any]:
        """The run without its traces, JSON-ready: nan becomes None."""
        return {
            "scenario": self.scenario.name,
            "digest": self.scenario.digest(),
            "seed": self.seed,
            "duration_s": duration_s(self.scenario),
            "efficiency": _number(self.efficiency),
            "fairness": _number(self.fairness),
            "events": self.events,
            "state_hash": self.state_hash,
            "flows": _records(self.flows),
            "ports": _records(self.ports),
            "classes": _records(self.classes),
            "vbr": _records(self.vbr),
            "web": _records(self.web),
            "response_times": _records(self.response_times),
        }

    def to_json(self) -> str:
        """`summary()` as JSON text."""
        return json.dumps(self.summary(), indent=2, allow_nan=False) + "\n"

    def to_csv(self, directory: str | Path) -> list[Path]:
        """Writes flows.csv, ports.csv, classes.csv, vbr.csv, for web traffic more, one file per trace, scenario.toml.

        ScenarioError if the directory can't be written.
        """
        directory = Path(directory)
        check_directory("directory", directory)
        written = []
        frames = {"flows": self.flows, "ports": self.ports, "classes": self.classes, "vbr": self.vbr, **self.traces}
        if len(self.web):
            frames |= {"web": self.web, "files": self.files, "response_times": self.response_times}
        for name, frame in frames.items():
            written.append(directory / f"{name}.csv")
            write_text(written[-1], frame.to_csv(index=False))
        written.append(directory / "scenario.toml")
        write_text(written[-1], self.scenario.to_toml())
        return written


def duration_s(scenario: Scenario) -> float:
    """Simulated time [s]."""
    return TIME.parse(scenario.duration) / 1e12


def vbr_bps(network: Dumbbell) -> float:
    """Mean rate of the VBR over a dumbbell's trunk [bit/s], in the long run."""
    if network.vbr is None:
        return 0.0
    slowest = min(RATE.parse(network.access_rate), RATE.parse(network.trunk_rate))
    return network.vbr.duty * (slowest if network.vbr.rate is None else RATE.parse(network.vbr.rate))


def _named(columns: Mapping[str, Any], names: Mapping[str, pd.Index]) -> pd.DataFrame:
    categories = {
        column: pd.Categorical.from_codes(np.asarray(columns[column], dtype=np.int64), categories=of)
        for column, of in names.items()
        if column in columns
    }
    return pd.DataFrame({**columns, **categories})


def _in_time(trace: pd.DataFrame) -> pd.DataFrame:
    # The core records each port's rows in order, but may look at one port later than at another.
    return trace.sort_values("time_s", kind="stable", ignore_index=True)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): _number(value) for name, value in row.items()} for row in frame.to_dict(orient="records")]


def _number(value: Any) -> Any:  # noqa: ANN401 - whatever a cell of a frame holds
    return None if isinstance(value, float) and not math.isfinite(value) else value
