"""Every output of one run shows the same throughputs, losses, queues, delays and RTTs.

The outputs are the text of `longpipe run`, `--json`, `--csv`, `Result`, its traces, the store, qlog, the pictures'
data, and a study with its table of means and its report.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from commands import run
from longpipe import Scenario, Study, _core, pictures, simulate
from longpipe.metrics.warm_up import begin_s
from longpipe.pictures import Recorded
from longpipe.pictures.kinds.delay import drop_counts
from longpipe.pictures.kinds.queue import queue_by_flow
from longpipe.pictures.kinds.rtt import rtt_points
from longpipe.pictures.kinds.throughput import throughput_series
from longpipe.report.study import page
from longpipe.result import Result, records
from longpipe.store import Store
from thorough import one_in

TRUNK = "switch1->switch2"
IP = """
framing = "ip"
duration = "6 s"
tcp.profile = "linux-6"
switch.buffer = "60 packets"
[network]
kind = "dumbbell"
trunk_rate = "10 Mbit/s"
trunk_delay = "15 ms"
"""
LOSSY = IP + 'sources = 3\ntrunk_loss = { kind = "bernoulli", probability = 0.002 }\n'
GROUPS = (
    IP
    + """
[[network.group]]
name = "bulk"
count = 2
tcp = { congestion = "bbr" }
[[network.group]]
name = "call"
traffic = { kind = "cbr", rate = "300 kbit/s", payload = "172 B" }
[[network.group]]
name = "stream"
traffic = { kind = "stream", rate = "1 Mbit/s", bursts = { on = "500 ms", off = "500 ms" } }
[[network.group]]
name = "file"
traffic = { kind = "transfer", size = "300 KB" }
[[network.group]]
name = "web"
traffic = "web"
"""
)
TRACES = ("vc_queue", "rtt", "arrivals", "drops", "events", "cwnd", "sequence")
# Names of causes in the trace `drops`, by the ending of the counters of ports.
CAUSES: dict[str, list[str]] = {}
for _cause, _counters, *_ in _core.drop_causes():
    for _counter in _counters:
        CAUSES.setdefault(_counter, []).append(_cause)


def _scenarios() -> dict[str, Scenario]:
    lossy, groups = Scenario.from_toml(LOSSY), Scenario.from_toml(GROUPS)
    cells = {
        "network.sources": 3,
        "network.trunk_rate": "20 Mbit/s",
        "network.vbr": {"period": "10 ms"},
        "switch.scheduler": "priority",
    }
    return {
        "losses": lossy,
        "warm-up": lossy.with_(warm_up="2 s"),
        "automatic-warm-up": lossy.with_(warm_up="automatic", duration="12 s"),
        "groups": groups,
        "fq-codel": groups.with_(**{"switch.policy": "fq-codel", "warm_up": "1 s"}),
        "dualpi2": groups.with_(**{"switch.policy": "dualpi2", "warm_up": "1 s"}),
        "split": Scenario.example("geo-pep").with_(duration="12 s", **{"network.sources": 2}),
        "cells": Scenario(defaults="1996", duration="1 s").with_(**cells),
        "cells-after-warm-up": Scenario(defaults="1996", duration="1 s").with_(**cells, warm_up="400 ms"),
        "time-varying": Scenario.example("starlink").with_(duration="10 s"),
        "outages": lossy.with_(
            **{"network.path": {"outages": {"intervals": [["2 s", "2.3 s"]], "arriving": "drop", "waiting": "drop"}}}
        ),
        "arriving": lossy.with_(
            traffic={"kind": "flow-arrivals", "load": 0.2, "sizes": {"kind": "pareto", "mean": "50 KB", "shape": 1.5}}
        ),
    }


SCENARIOS = _scenarios()


@dataclass(frozen=True)
class Outputs:
    """All outputs of one run."""

    result: Result
    text: str
    summary: Mapping[str, Any]
    folder: Path
    stored: Result
    study: pd.DataFrame
    means: str
    report: str

    @property
    def unit(self) -> str:
        """Unit of the counters of ports."""
        return "packets" if self.result.scenario.framing == "ip" else "cells"

    @property
    def begin_s(self) -> float:
        """The end of the warm-up [s]."""
        return begin_s(self.result.columns)

    @property
    def trunk(self) -> dict[str, Any]:
        """The row of the trunk."""
        rows = records(self.result.part("ports"))
        return next(row for row in rows if row["port"] == TRUNK)

    def late(self, trace: str) -> pd.DataFrame:
        """The rows of a trace after the warm-up."""
        rows = self.result.traces[trace]
        return rows[rows["time_s"] >= self.begin_s]


@pytest.fixture(scope="module", params=one_in(2, [*SCENARIOS]))
def outputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outputs]:
    folder = tmp_path_factory.mktemp("outputs")
    traced = {f"traces.{name}": True for name in TRACES}
    scenario = SCENARIOS[request.param].with_(**traced)
    if scenario.framing == "ip":
        scenario = scenario.with_(**{"traces.delay": True})
    file, store = folder / "a.toml", folder / "a.db"
    file.write_text(scenario.to_toml())
    options = (
        "--json",
        folder / "a.json",
        "--csv",
        folder / "csv",
        "--qlog",
        folder / "qlog",
        "--store",
        store,
        "--all",
    )
    done = run("run", file, *options, environment={"NO_COLOR": "1", "TERM": "dumb"})
    assert done.returncode == 0, done.stderr
    means = run("design", file, "--replications", "1", "--run", "one", "--store", store)
    assert means.returncode == 0, means.stderr
    with closing(Store(store)) as opened:
        stored = opened.load(scenario, 1)
        study = Study.open("one", opened)
        assert stored is not None
        yield Outputs(
            simulate(scenario),
            done.stdout,
            json.loads((folder / "a.json").read_text()),
            folder,
            stored,
            study.frame(),
            means.stdout,
            page(study),
        )


def _row(text: str, name: str, *, before: int = 0) -> list[str]:
    """Returns the words of a line of a table that begins with a name, after its name."""
    lines = [line for line in text.splitlines() if re.match(rf"{re.escape(name)}\s", line)]
    return lines[before][len(name) :].split()


def test_tables_in_all_forms_are_equal(outputs: Outputs) -> None:
    result = outputs.result
    assert outputs.summary["state_hash"] == outputs.stored.state_hash == result.state_hash
    for name in ("flows", "ports", "queues", "datagrams", "vbr", "web", "arrived", "streams", "reductions", "relays"):
        table = pd.DataFrame(getattr(result, name))
        if table.empty:
            continue
        if name in outputs.summary:
            read = pd.DataFrame(outputs.summary[name]).astype(table.dtypes.to_dict())
            pd.testing.assert_frame_equal(read, table, check_dtype=False, check_exact=True, obj=f"{name} in JSON")
        stored = pd.DataFrame(getattr(outputs.stored, name))
        pd.testing.assert_frame_equal(stored, table, check_dtype=False, check_exact=True, obj=f"stored {name}")
        csv = pd.read_csv(outputs.folder / "csv" / f"{name}.csv", keep_default_na=False, na_values=[""])
        pd.testing.assert_frame_equal(csv, table, check_dtype=False, rtol=1e-12, obj=f"{name} in CSV")
    for name in ("efficiency", "fairness"):
        value = getattr(result, name)
        assert outputs.summary[name] == pytest.approx(value, rel=0) or np.isnan(value)


def test_the_text_shows_the_numbers_of_the_tables(outputs: Outputs) -> None:
    result, text, unit = outputs.result, outputs.text, outputs.unit
    for flow in result.flows.to_dict("records"):
        shown = _row(text, str(flow["flow"]))
        sent = flow["sent_segments"]
        assert shown[0] == f"{flow['throughput_bps'] / 1e6:.3f}"
        assert shown[1] == str(sent)
        assert shown[2] == (f"{flow['retransmitted_segments'] / sent:.1%}" if sent else "-")
        assert shown[3:5] == [str(flow["timeouts"]), str(flow["fast_retransmits"])]
    trunk = outputs.trunk
    shown = _row(text, TRUNK)
    lost = sum(count for name, count in trunk.items() if name.startswith(f"{unit}_lost_"))
    assert shown[0] == str(trunk[f"{unit}_in"])
    assert shown[1] == (f"{lost / trunk[f'{unit}_in']:.2%}" if lost else "-")
    assert shown[3:6] == [
        f"{trunk[f'mean_queue_{unit}']:.0f}",
        str(trunk[f"peak_queue_{unit}"]),
        f"{trunk['utilization']:.1%}",
    ]
    if unit == "packets":
        delays = ("mean", "median", "p95", "p99")
        assert _row(text, TRUNK, before=1) == [f"{1e3 * trunk[f'queueing_delay_{name}_s']:.3f}" for name in delays]
    for name in ("efficiency", "fairness"):
        if not np.isnan(value := getattr(result, name)):
            assert _row(text, name)[0] == f"{value:.4f}"


def test_traces_add_up_to_the_counters(outputs: Outputs) -> None:
    result, unit, trunk = outputs.result, outputs.unit, outputs.trunk
    flows = result.flows.set_index("flow").to_dict("index")
    arrived = outputs.late("arrivals").groupby("flow", observed=False)["bytes"].sum().to_dict()
    for name, flow in flows.items():
        # The trace has data when they first arrive, the counter when no earlier data are missing.
        behind = arrived.get(name, 0) - flow["delivered_bytes"]
        assert abs(behind) <= max(flow["highest_sequence_bytes"] - flow["delivered_bytes"], 0)
        if not outputs.begin_s:
            assert behind >= 0
    kinds = outputs.late("events").groupby(["flow", "kind"], observed=False).size().to_dict()
    # Traces of senders do not have those of arriving flows, which share their name.
    own = {flow["name"] for flow in result.scenario.resolved["flows"] if flow["traffic"]["kind"] != "flow-arrivals"}
    for name, flow in flows.items():
        if name in own and (name, "retransmit") in kinds:
            assert kinds[name, "retransmit"] == flow["retransmitted_segments"]
            assert kinds[name, "timeout"] == flow["timeouts"]
            assert kinds[name, "fast-retransmit"] == flow["fast_retransmits"]
    drops = outputs.late("drops")
    if unit == "packets":
        for port in result.ports.to_dict("records"):
            found = drops[drops["port"].astype(str) == port["port"]]["cause"].astype(str).value_counts().to_dict()
            for ending, causes in CAUSES.items():
                if f"packets_lost_{ending}" in port and ending != "on_wire":
                    more = port.get("packets_lost_on_wire", 0) if ending == "outage" else 0
                    counted = sum(found.get(cause, 0) for cause in causes)
                    assert counted == port[f"packets_lost_{ending}"] + more, (port["port"], ending)
            assert found.get("marked", 0) == port["packets_marked"]
        delays = outputs.late("delay")
        own_delays = delays[delays["port"].astype(str) == TRUNK]["delay_s"]
        assert own_delays.mean() == pytest.approx(trunk["queueing_delay_mean_s"])
        assert len(own_delays) == trunk["packets_out"] + trunk.get("packets_lost_on_wire", 0)


def test_pictures_draw_the_counted_data(outputs: Outputs) -> None:
    result, unit, trunk = outputs.result, outputs.unit, outputs.trunk
    end_s = outputs.begin_s + result.measured_s
    span_s = (outputs.begin_s, end_s)
    recorded = Recorded.from_directory(outputs.folder / "csv")
    names = [str(name) for name in result.flows["flow"]]
    for of in (result, recorded):
        series = throughput_series(of, names, result.measured_s / 50, span_s)
        drawn = (series.sum() * result.measured_s / 50 / 8).to_dict()
        arrived = outputs.late("arrivals").groupby("flow", observed=False)["bytes"].sum().to_dict()
        assert drawn == pytest.approx({name: arrived.get(name, 0) for name in names}, abs=1500)
        held = queue_by_flow(of, TRUNK, span_s, most=None).sum(axis=1)
        widths = np.diff(np.append(held.index.to_numpy(), end_s))
        # The trace samples the queue every millisecond.
        assert (held.to_numpy() * widths).sum() / result.measured_s == pytest.approx(
            trunk[f"mean_queue_{unit}"], rel=0.01, abs=0.2
        )
        assert held.max() <= trunk[f"peak_queue_{unit}"]
        drops = outputs.late("drops")
        counts = drop_counts(of, TRUNK, span_s).to_numpy().sum()
        assert counts == (drops["port"].astype(str) == TRUNK).sum()
    figure = pictures.compare({"a": result, "b": result}, "throughput", names[:1], span_s)
    (first, second) = (np.asarray(panel.get_lines()[0].get_ydata(), dtype=float) for panel in figure.axes)
    assert np.array_equal(first, second)
    series = throughput_series(result, names[:1], result.measured_s / 100, span_s)
    assert np.allclose(first, series[names[0]].to_numpy() / 1e6)


def test_round_trips_are_those_of_the_senders(outputs: Outputs) -> None:
    rtt = outputs.result.traces["rtt"]
    for file in sorted((outputs.folder / "qlog").glob("*.sqlog")):
        name = file.stem
        own = rtt[rtt["flow"].astype(str) == name]
        if own.empty:
            continue
        points = rtt_points(outputs.result, name).dropna(subset=["rtt_s"])
        assert points["rtt_s"].to_numpy().tolist() == own["rtt_s"].dropna().tolist()
        events = [json.loads(line) for line in file.read_text().split("\x1e")[2:]]
        smoothed = [one["data"]["smoothed_rtt"] for one in events if "smoothed_rtt" in one.get("data", {})]
        # qlog has milliseconds.
        assert smoothed[-1] == pytest.approx(1e3 * own["srtt_s"].dropna().iloc[-1], abs=0.001)


def test_a_study_has_the_measures_of_the_run(outputs: Outputs) -> None:
    result, unit = outputs.result, outputs.unit
    (row,) = outputs.study.to_dict("records")
    assert row["throughput_bps"] == result.flows["throughput_bps"].sum() == result.total_bps
    switches = [port for port in records(result.part("ports")) if port["kind"] == "switch"]
    lost = sum(count for port in switches for name, count in port.items() if name.startswith(f"{unit}_lost_"))
    assert row[f"{unit}_lost"] == lost
    assert row[f"peak_queue_{unit}"] == max(port[f"peak_queue_{unit}"] for port in switches)
    for name in ("timeouts", "fast_retransmits", "retransmitted_bytes"):
        assert row[name] == result.flows[name].sum()
    trunk = outputs.trunk
    in_all = trunk[f"{unit}_in"] + trunk.get(f"{unit}_duplicated", 0)
    lost = sum(count for name, count in trunk.items() if name.startswith(f"{unit}_lost_"))
    assert result.measure(f"port:{TRUNK}.loss") == pytest.approx(lost / max(in_all, lost))
    first = str(result.flows["flow"].iloc[0])
    assert result.measure(f"flow:{first}.throughput") == result.flows["throughput_bps"].iloc[0]
    assert result.measure(f"flow:{first}.throughput") == outputs.stored.measure(f"flow:{first}.throughput")
    words = outputs.means.split()
    for name in ("efficiency", "fairness"):
        if not np.isnan(value := row[name]):
            assert value == getattr(result, name)
            assert f"{value:.4f}" in words
            assert re.search(rf">{value:.3f}\b", outputs.report), name
