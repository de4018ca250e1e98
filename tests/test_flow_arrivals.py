"""Flows that arrive and leave: resolved fields, errors, completion times, slowdowns, tables, pictures, and storage."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import run
from longpipe import Design, Factor, Result, Scenario, ScenarioError, Study, pictures, simulate
from longpipe.metrics.slowdowns import slowdowns
from longpipe.result import records
from longpipe.scenario.sizes import FixedSizes, ParetoSizes, WebSearchSizes
from longpipe.store import Store
from longpipe.store.packing import pack
from longpipe.verdicts.demands import demands_bps

PARETO = {"kind": "flow-arrivals", "load": 0.5, "sizes": "pareto"}
WINDOW = {"receiver_window": "1 MB", "initial_window": "1000 segments"}


def _scenario(traffic: object = PARETO, **fields: Any) -> Scenario:  # noqa: ANN401 - parts of a scenario
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s"}
    switch = {"buffer": "1000 packets"}
    return Scenario(
        defaults="1996",
        **{"framing": "ip", "duration": "10 s", "network": network, "switch": switch, "traffic": traffic, **fields},
    )


def _arrived(result: Result) -> dict[str, dict[str, Any]]:
    """Returns the rows of the table `arrived`, by flow."""
    return {row["flow"]: row for row in records(result.part("arrived"))}


def _file(directory: Path, rows: str) -> dict[str, Any]:
    (directory / "flows.csv").write_text(f"time,bytes\n{rows}")
    return {"kind": "flow-arrivals", "file": str(directory / "flows.csv")}


@pytest.mark.parametrize(
    ("traffic", "problem"),
    [
        (
            "flow-arrivals",
            "traffic.load: absent; needs load, rate or file\n"
            "traffic.sizes: absent; needs fixed, pareto, web-search or file",
        ),
        (
            {"sizes": "normal"},
            "traffic.sizes: 'normal'; accepts fixed, pareto, web-search, file\n"
            "traffic.load: absent; needs load, rate or file",
        ),
        ({"load": 0.5}, "traffic.sizes: absent; needs fixed, pareto, web-search or file"),
        ({**PARETO, "rate": 3}, "traffic.rate: 3 together with load, 0.5; needs one of them"),
        ({"load": 1, "file": "x"}, "traffic.load: set; not together with a file, which contains times and sizes"),
        ({"load": 0, "sizes": "pareto"}, "traffic.load: 0; needs more than 0.0"),
        ({"load": 0.5, "sizes": "normal"}, "traffic.sizes: 'normal'; accepts fixed, pareto, web-search, file"),
        ({"load": 0.5, "sizes": {"kind": "pareto", "shape": 1}}, "traffic.sizes.shape: 1; needs more than 1.0"),
        (
            {"rate": 1e9, "sizes": "pareto"},
            "traffic.rate: 1e+09, a flow every 1e-09 s; needs one every 10 ns, a billionth of the duration, to "
            "100000 s",
        ),
        (
            {"rate": 1e-301, "sizes": "pareto"},
            "traffic.rate: 1e-301, a flow every inf s; needs one every 10 ns, a billionth of the duration, to 100000 s",
        ),
        (
            {"load": 5e-324, "sizes": {"kind": "fixed", "size": "1000 GB"}},
            "traffic.load: 4.94066e-324, a flow every inf s; needs one every 10 ns, a billionth of the duration, to "
            "100000 s",
        ),
        (
            {**PARETO, "sizes": "web"},
            "traffic.sizes: 'web'; use pareto for pages of about 100 KB; clients that request pages are traffic = "
            "'web'; accepts fixed, pareto, web-search, file",
        ),
        ({**PARETO, "flows": 10**30}, "traffic.flows: 1000000000000000000000000000000; needs at most 1000000000"),
    ],
)
def test_bad_arrivals_are_rejected_in_one_line_per_field(traffic: object, problem: str) -> None:
    if isinstance(traffic, dict):
        traffic = {"kind": "flow-arrivals", **traffic}
    with pytest.raises(ScenarioError) as refused:
        _scenario(traffic).resolve()
    assert str(refused.value) == problem


def test_absent_fields_are_reported_together_with_other_mistakes() -> None:
    with pytest.raises(ScenarioError) as refused:
        _scenario({"kind": "flow-arrivals", "sizes": "pareto"}, switch={"buffer": "x"})
    assert [line.partition(":")[0] for line in refused.value.problems] == ["switch.buffer", "traffic.load"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"framing": "aal5", "switch": {"buffer": "100 cells"}},
            "traffic of flow 'flow1': flow-arrivals; needs framing = 'ip'",
        ),
        (
            {"tcp": {"profile": "linux-6", "careful_resume": "previous"}},
            "traffic of flow 'flow1': flow-arrivals with tcp.careful_resume = 'previous'; needs off or saved",
        ),
    ],
)
def test_invalid_arriving_flows_are_rejected_in_one_line(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        _scenario(**fields).resolve()
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("2,100\n1,100\n", ":3: time 1 s after 2 s; needs nondecreasing times"),
        ("1,0\n", ":2: bytes 0; needs at least 1"),
        ("1,x\n", ":2: bytes 'x'"),
    ],
)
def test_a_bad_file_of_arrivals_is_rejected_with_its_line(tmp_path: Path, rows: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        _scenario(_file(tmp_path, rows)).resolve()
    assert problem in str(refused.value)


def test_a_bad_file_of_sizes_is_rejected_with_its_line(tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.csv"
    for text, problem in [
        ("bytes,share\n100,.5\n", "ends with share 0.5; needs 1"),
        ("bytes,share\n100,.5\n50,1\n", ":3: 50 bytes, share 1; needs sizes and shares that never fall"),
        ("bytes,share\n100,1.5\n", ":2: share '1.5'; needs a number from 0 to 1"),
        ("size,share\n100,1\n", ":1: size, share; needs a header with bytes and share"),
        ("bytes,share\n0,1\n", "traffic.sizes: 0 bytes for every flow; needs a larger size, or rate in place of load"),
    ]:
        sizes.write_text(text)
        with pytest.raises(ScenarioError) as refused:
            _scenario({"kind": "flow-arrivals", "load": 0.5, "sizes": {"kind": "file", "file": str(sizes)}}).resolve()
        assert problem in str(refused.value)


def test_means_of_sizes_agree_with_sums_and_integrals() -> None:
    assert FixedSizes(size="1001 B").means(500) == (1001, 3)
    # The mean is the sum of the trapezoids under the distribution in DCTCP's figure.
    size, segments = WebSearchSizes().means(1)
    assert size == pytest.approx(1_711_250)
    assert segments == pytest.approx(1_711_250.5)
    # E[ceil(S/m)] as a sum of P(S > k m).
    least = 100_000 * (2.5 - 1) / 2.5
    survival = (least / np.maximum(1460.0 * np.arange(1_000_000), least)) ** 2.5
    size, segments = ParetoSizes(mean="100 KB", shape=2.5).means(1460)
    assert size == 100_000
    assert segments == pytest.approx(survival.sum(), rel=1e-6)


def test_a_load_is_the_share_of_the_slowest_link_with_headers() -> None:
    traffic = _scenario({"kind": "flow-arrivals", "load": 0.25, "sizes": {"kind": "fixed", "size": "1024 B"}})
    # Two packets of 552 bytes are sent per gap.
    assert traffic.resolve()["flows"][0]["traffic"]["arrivals"]["gap_ps"] == 2 * 552 * 8 * 10**12 // 2_500_000


def test_lone_flows_have_a_slowdown_of_one(tmp_path: Path) -> None:
    """All packets of a flow leave at once; any link may be the slowest one so far."""
    rates = {"access_rate": "100 Mbit/s", "trunk_rate": "10 Mbit/s", "trunk_delay": "3 ms", "return_rate": "1 Gbit/s"}
    sizes = (1, 511, 512, 513, 5120, 200_000)
    traffic = _file(tmp_path, "".join(f"{k},{size}\n" for k, size in enumerate(sizes)))
    for changes in ({}, {"trunk_rate": "1 Gbit/s"}, {"access_rate": "5 Mbit/s"}):
        network = {"kind": "dumbbell", "sources": 1, **rates, **changes}
        result = simulate(_scenario(traffic, network=network, tcp=WINDOW))
        assert list(result.completions["size_bytes"]) == [*sizes]
        assert result.completions["slowdown"].to_numpy() == pytest.approx(np.ones(len(sizes)), abs=1e-6)


@pytest.fixture(scope="module")
def crowd() -> Result:
    """Runs the flows of two groups in competition with a greedy flow."""
    fixed = {"kind": "flow-arrivals", "load": 0.1, "sizes": {"kind": "fixed", "size": "2 KB"}, "most_active": 2}
    group = [{"name": "bulk"}, {"name": "web", "traffic": {**PARETO, "load": 0.3}}, {"name": "small", "traffic": fixed}]
    network = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "group": group}
    traces = {"arrivals": True, "drops": True, "delay": True, "cwnd": True}
    scenario = _scenario("greedy", network=network, switch={"buffer": "30 packets"}, traces=traces, duration="4 s")
    return simulate(scenario, seed=3)


def test_tables_agree_with_each_other(crowd: Result) -> None:
    arrived, delivered = _arrived(crowd), dict(zip(crowd.flows["flow"], crowd.flows["delivered_bytes"], strict=True))
    assert list(arrived) == list(crowd.arrived["flow"]) == ["web", "small"]
    rows = crowd.completions
    for name, own in rows.groupby("flow", observed=True):
        counted = arrived[str(name)]
        assert counted["arrived"] == len(own)
        assert counted["completed"] == own["completion_s"].notna().sum()
        assert counted["arrived_bytes"] == own["size_bytes"].sum()
        complete = own["size_bytes"][own["completion_s"].notna()].sum()
        assert complete <= delivered[str(name)] <= counted["arrived_bytes"]
    done = rows[rows["completion_s"].notna()]
    assert (done["completion_s"] > done["arrival_s"]).all()
    assert (done["slowdown"] >= 1 - 1e-9).all()
    table = slowdowns(rows)
    whole = table[(table["flow"] == "web") & (table["size"] == "all")].iloc[0]
    times_s = (done["completion_s"] - done["arrival_s"])[done["flow"] == "web"]
    assert [whole[name] for name in ("median_time_s", "p95_time_s")] == pytest.approx([*times_s.quantile([0.5, 0.95])])
    assert whole["mean"] == pytest.approx(done["slowdown"][done["flow"] == "web"].mean())
    assert table[table["size"] != "all"].groupby("flow")["flows"].sum().to_dict() == {
        name: row["arrived"] for name, row in arrived.items()
    }


def test_flows_beyond_the_most_active_are_reported(crowd: Result) -> None:
    small = _arrived(crowd)["small"]
    waited = small["waited"]
    assert small["peak_active"] == 2
    assert waited > 0
    assert [line for line in crowd.warnings if line.startswith("small: ")] == [
        f"small: {waited} of {small['arrived']} flows waited until one of 2 others had ended, which "
        "is included in their completion times; needs traffic.most_active larger than 2, or a lower load"
    ]


def test_traces_of_ports_and_of_arrivals_have_the_name_of_the_flow(crowd: Result) -> None:
    traces, delivered = crowd.traces, crowd.flows.set_index("flow")["delivered_bytes"]
    bytes_ = traces["arrivals"].groupby("flow", observed=True)["bytes"].sum()
    assert set(bytes_.index) == {"bulk", "web", "small"}
    assert (bytes_ >= delivered[bytes_.index]).all()
    assert set(traces["drops"]["flow"].unique()) >= {"bulk", "web"}
    assert {"bulk", "web", "small"} == set(traces["delay"]["flow"].unique())
    # The windows of successive connections do not form a curve.
    assert set(traces["cwnd"]["flow"].unique()) == {"bulk"}


def test_an_interval_needs_200_flows_and_covers_the_mean(tmp_path: Path) -> None:
    result = simulate(_scenario({**PARETO, "load": 0.6, "sizes": {"kind": "fixed", "size": "5 KB"}}, tcp=WINDOW))
    whole = result.slowdowns.set_index("size").loc["all"]
    assert whole["flows"] > 200
    assert 1 < whole["low"] < whole["mean"] < whole["high"]
    few = simulate(_scenario(_file(tmp_path, "".join(f"{k / 100},1\n" for k in range(199)))))
    assert few.slowdowns["low"].isna().all()


def test_equal_seeds_give_equal_flows_and_other_seeds_others() -> None:
    one, again, other = (simulate(_scenario(), seed) for seed in (1, 1, 2))
    assert one.state_hash == again.state_hash != other.state_hash
    assert one.completions.equals(again.completions)


def test_the_number_of_flows_and_the_stop_end_the_arrivals() -> None:
    assert list(simulate(_scenario({**PARETO, "flows": 7})).arrived["arrived"]) == [7]
    stopped = simulate(_scenario(stop={"kind": "at", "at": "5 s"}))
    assert stopped.completions["arrival_s"].max() < 5
    assert list(stopped.arrived["completed"]) == list(stopped.arrived["arrived"])


def test_warm_up_excludes_flows_that_arrive_in_it() -> None:
    whole, rest = simulate(_scenario()), simulate(_scenario(warm_up="4 s"))
    late = whole.completions[whole.completions["arrival_s"] >= 4].reset_index(drop=True)
    assert rest.completions.equals(late)
    (arrived,) = records(rest.part("arrived"))
    assert arrived["arrived"] == len(late) == rest.slowdowns["flows"].iloc[-1]
    assert arrived["completed"] == late["completion_s"].notna().sum() < len(late)
    assert arrived["arrived_bytes"] == late["size_bytes"].sum() < whole.arrived["arrived_bytes"][0]
    assert rest.state_hash == whole.state_hash
    # The demand includes the data that arrived before and were delivered after the warm-up.
    early = _arrived(simulate(_scenario(duration="4 s")))
    for flow, demand in zip(rest.flows["flow"], demands_bps(rest.scenario, rest.columns), strict=True):
        left = early[flow]["arrived_bytes"] - rest.part("warm_up")["delivered_before_bytes"][0]
        assert demand == pytest.approx(8 * (late["size_bytes"].sum() + left) / 6)
    assert 0 < simulate(_scenario(warm_up="automatic")).measured_s <= 10


def test_a_store_keeps_the_tables(tmp_path: Path) -> None:
    scenario = _scenario()
    with closing(Store(tmp_path / "runs.db")) as store:
        result = simulate(scenario)
        store.save(scenario, 1, pack(result))
        loaded = store.load(scenario, 1)
    assert loaded is not None
    for name in ("arrived", "slowdowns"):
        assert loaded.to_json() == result.to_json()
        assert getattr(loaded, name).equals(getattr(result, name))
    with pytest.raises(
        ScenarioError, match=r"^result\.completions: not in the store, .* needs longpipe\.simulate, or result\.arr"
    ):
        _ = loaded.completions
    assert loaded.files.empty
    assert loaded.chunks.empty


def count(result: Result) -> int:
    """A measure that needs a list which stores do not keep."""
    return len(result.completions)


def test_measure_that_needs_completions_is_rejected_in_a_study(tmp_path: Path) -> None:
    design = Design.full_factorial(_scenario(), [Factor.over("switch.buffer", ["100 packets"])], measures=[count])
    with closing(Study(design, tmp_path / "runs.db", "waits")) as study:
        study.run(workers=1)
        with pytest.raises(ScenarioError, match=r"^result\.completions: not in the store, which keeps only"):
            study.frame()


def test_a_limit_of_arrivals_that_is_not_reached_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "few.toml"
    path.write_text(_scenario({**PARETO, "flows": 10**6}, duration="1 s").to_toml(), encoding="utf-8")
    result = simulate(Scenario.from_toml(path))
    line = f"flow1: {_arrived(result)['flow1']['arrived']} of at most 1000000 flows arrived before the end"
    assert result.few_arrivals == (line,)
    assert line in result.warnings
    assert f"arrived    {line}\n" in run("run", str(path), "--no-store").stdout
    assert simulate(_scenario({**PARETO, "flows": 1}, duration="1 s")).few_arrivals == ()


def test_arriving_flows_have_a_limit_and_a_demand(crowd: Result) -> None:
    alone = simulate(_scenario({**PARETO, "load": 0.2, "sizes": {"kind": "fixed", "size": "20 KB"}}))
    assert [one.limited_by for one in alone.flow_limits] == ["application"]
    demands = dict(zip(crowd.flows["flow"], crowd.demands_bps, strict=True))
    assert demands["web"] == crowd.completions.query("flow == 'web'")["size_bytes"].sum() * 8 / 4


def test_measures_name_the_tables_of_arriving_flows(crowd: Result) -> None:
    whole = crowd.slowdowns.query("size == 'all'").set_index("flow")
    assert crowd.measure("arriving:web.slowdown") == whole.loc["web", "mean"]
    assert crowd.measure("small.time") == whole.loc["small", "mean_time_s"]
    with pytest.raises(ScenarioError, match="no arriving 'bulk'; accepts web, small"):
        crowd.measure("arriving:bulk.slowdown")


def test_captures_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="capture: with flow-arrivals"):
        simulate(_scenario(), captures={"host:source1": tmp_path / "x.pcapng"})


def test_the_picture_has_a_line_for_each_class_of_sizes(crowd: Result) -> None:
    figure = pictures.slowdowns(crowd, ["web"])
    classes = crowd.slowdowns.query("flow == 'web' and completed > 0")
    assert [len(panel.lines) for panel in figure.axes] == [len(classes)] * 2
    assert len(pictures.slowdowns({"a": crowd, "b": crowd}).axes[0].lines) == 2
    assert len(pictures.completion_points(crowd)) == crowd.arrived["completed"].sum()
    with pytest.raises(ScenarioError, match="traffic: no arriving flow is complete"):
        pictures.slowdowns(simulate(_scenario("greedy", duration="1 s")))


def test_commands_show_and_write_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "web.toml"
    file.write_text(_scenario(duration="3 s").to_toml())
    shown = run("run", str(file), "--no-store", "--csv", str(tmp_path / "out"))
    assert shown.returncode == 0, shown.stderr
    assert "slowdown of" in shown.stdout
    assert "times from arrival to completion, of complete flows" in shown.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"arrived.csv", "completions.csv", "slowdowns.csv"} <= names
    drawn = run("plot", str(tmp_path / "out"), "slowdowns", "-o", str(tmp_path / "slowdowns.svg"))
    assert drawn.returncode == 0, drawn.stderr
