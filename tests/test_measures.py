"""Measures that a design selects by name."""

import math
from pathlib import Path

import pandas as pd
import pytest

from commands import run
from longpipe import Scenario, ScenarioError, simulate
from longpipe.design import Design, Factor
from longpipe.measures.named import NamedMeasure
from longpipe.store import Store
from longpipe.study import Study, run_until

MIXED = Scenario.example("web-and-bulk").with_(
    **{"duration": "20 s", "network.group": [{"name": "web", "count": 4, "traffic": "web"}, {"name": "bulk"}]}
)
GRAPH = Scenario.from_toml(Path(__file__).parent.parent / "scenarios" / "parking-lot.toml").with_(duration="2 s")
BUFFERS = Factor.over("switch.buffer", ["0.1 BDP", "0.5 BDP"], "buffer")


def measured(text: str) -> float:
    return NamedMeasure.parse(text)(simulate(MIXED))


def test_measures_equal_result_fields() -> None:
    result = simulate(MIXED)
    flows, ports = result.flows.set_index("flow"), result.ports.set_index("port")
    webs = flows.loc[[f"web{i}" for i in range(1, 5)]]
    assert measured("flow:bulk.throughput") == flows.loc["bulk", "throughput_bps"]
    assert measured("flow:web*.throughput") == pytest.approx(webs["throughput_bps"].sum())
    assert measured("flow:*.fairness") == pytest.approx(
        flows["throughput_bps"].sum() ** 2 / 5 / (flows["throughput_bps"] ** 2).sum()
    )
    assert math.isnan(measured("flow:bulk.completion"))
    assert math.isnan(measured("flow:bulk.duration"))
    trunk = ports.loc["switch1->switch2"]
    assert measured("port:switch1->switch2.utilization") == trunk["utilization"]
    assert measured("port:switch1->switch2.peak_queue") == trunk["peak_queue_packets"]
    assert measured("port:switch1->switch2.loss") == trunk["packets_lost_overflow"] / trunk["packets_in"]
    # By Little's law; the transmission of a 1512-byte packet takes 0.24 ms.
    assert measured("port:switch1->switch2.delay") == pytest.approx(
        trunk["mean_queue_packets"] * 20 / trunk["packets_out"]
    )
    assert measured("web.files") == len(result.files)
    assert measured("web.completed") == result.files["completed_s"].notna().mean()
    of_class = result.response_times.set_index("class").loc[2, "median_s"]
    assert measured("web:2.median") == of_class
    assert measured("web.median") == result.waiting["median_s"].item() > 0


def test_duration_starts_with_the_flow_and_completion_with_the_run() -> None:
    starts = {"one": "1 s", "two": "3 s"}
    groups = [{"name": name, "start": {"kind": "fixed", "at": at}} for name, at in starts.items()]
    network = {"kind": "dumbbell", "trunk_rate": "10 Mbit/s", "trunk_delay": "10 ms", "group": groups}
    result = simulate(
        Scenario(
            defaults="1996",
            framing="ip",
            duration="6 s",
            network=network,
            traffic={"kind": "transfer", "size": "100 KB"},
        )
    )
    ends_s = result.flows.completion_s
    assert result.measure("flow:one.start") == result.measure("flow:*.start") == 1
    assert result.measure("flow:two.duration") == ends_s[1] - 3 == pytest.approx(ends_s[0] - 1)
    assert result.measure("flow:*.duration") == max(ends_s[0] - 1, ends_s[1] - 3) < 1
    assert result.measure("two.completion - two.start") == ends_s[1] - 3
    assert result.measure("flow:*.completion") == ends_s[1]


def test_stored_run_has_the_same_measures() -> None:
    store, result = Store(), simulate(MIXED)
    store.keep(result)
    stored = store.require(MIXED, 1)
    for text in (
        "flow:bulk.throughput",
        "flow:bulk.window_used",
        "port:switch1->switch2.delay",
        "web.p95",
        "web:1.p95",
    ):
        of_both = [NamedMeasure.parse(text)(one) for one in (result, stored)]
        assert of_both[0] == of_both[1] or all(map(math.isnan, of_both))
        assert NamedMeasure.parse(str(NamedMeasure.parse(text))) == NamedMeasure.parse(text)


def test_study_has_a_column_per_stored_measure(tmp_path: Path) -> None:
    asked = ["bulk=flow:bulk.throughput", "web.completed"]
    design = Design.full_factorial(MIXED, [BUFFERS], measures=asked)
    study = Study(design, tmp_path / "runs.db", "mixed")
    assert study.runs()["bulk"].isna().all()
    study.run(workers=1)
    frame = study.frame()
    assert list(frame.columns[:6]) == ["point", "buffer", "replication", "seed", "bulk", "web.completed"]
    for row, scenario in zip(frame.to_dict("records"), design.scenarios, strict=True):
        assert row["bulk"] == NamedMeasure.parse(asked[0])(simulate(scenario))
    study.close()
    again = Study.open("mixed", tmp_path / "runs.db")
    again.ask("delay=port:switch1->switch2.delay")
    again.close()
    found = Study.open("mixed", tmp_path / "runs.db")
    assert [one.name for one in found.design.asked] == ["bulk", "web.completed", "delay"]
    pd.testing.assert_frame_equal(found.frame()[list(frame.columns)], frame)
    assert [one.name for one in found.drop("delay").design.asked] == ["bulk", "web.completed"]
    with pytest.raises(ScenarioError, match=r"^measure: 'delay'; accepts bulk, web\.completed$"):
        found.drop("delay")
    pd.testing.assert_frame_equal(found.frame(), frame)
    limited = found.limits()
    assert list(limited.columns[:6]) == ["point", "buffer", "replication", "seed", "flow", "limited_by"]
    first = limited[(limited["point"] == 1) & (limited["seed"] == 1)]
    assert first["limited_by"].tolist() == simulate(found.design.scenarios[0]).limits["limited_by"].tolist()
    # A study that is opened without measures keeps those in the store.
    assert Study(Design.full_factorial(MIXED, [BUFFERS]), tmp_path / "runs.db", "mixed").design.measures == (
        found.design.measures
    )
    found.close()


def test_a_metric_that_is_not_measured_is_rejected_before_the_first_run() -> None:
    study = Study(Design.full_factorial(GRAPH, [Factor.over("tcp.recovery", ["reno", "sack"])]))
    with pytest.raises(ScenarioError, match="metric: 'efficiency'; accepts fairness, throughput_bps"):
        run_until(study, "efficiency", "±0.1")
    with pytest.raises(ScenarioError, match="metric: 'fairnes'; did you mean 'fairness'"):
        run_until(study, "fairnes", "±0.1")
    assert study.status().finished == 0


def test_study_continues_until_the_margin_of_a_named_measure() -> None:
    study = Study(Design.full_factorial(GRAPH, [Factor.over("tcp.recovery", ["reno", "sack"])]))
    found = run_until(study, "flow:long.throughput", "±50 %", workers=1)
    assert found.reached
    assert "flow:long.throughput" in found.runs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bulk=flow:bulk.throghput", "'throghput' of a flow; did you mean 'throughput'? accepts throughput, fairness"),
        (
            "bulk=flw:bulk.throughput",
            "did you mean 'flow'? accepts flow, port, queue, web, datagrams, arriving, video, as in flow:web*.throughput",
        ),
        ("flow.throughput", "accepts flow, port, queue, web, datagrams, arriving, video, as in flow:web*.throughput"),
        ("bulk", "'bulk' is not a measure; accepts efficiency, efficiency_back, fairness"),
        ("share=bulk/(bulk+web)", "or a measure of a flow, as in bulk.throughput; see docs/analysis.md"),
        ("flow:bulk", "'flow:bulk' names no quantity; accepts NAME=flow:FLOW.throughput"),
        ("p95 + 1", "or a measure of a flow, as in call.p95; see docs/analysis.md"),
        ("throughput-bulk.throughput", "a minus sign needs spaces around it"),
        ("flow:bulk.throughput + web.p95", "combines bit/s and s; needs terms with the same unit"),
        ("web.p95 + 1", "a number needs a unit, as in 60 ms"),
        ("x=bulk.p9", "'p9' of 'bulk'; did you mean 'p99'?"),
        ("bulk.throughput - blk.throughput", "no flow 'blk'; did you mean 'bulk'?"),
        ("=web.p95", "accepts NAME=flow:FLOW.throughput"),
        ("bulk=flow:blk.throughput", "measure: 'bulk': no flow 'blk'; did you mean 'bulk'? accepts web1, web2"),
        ("x=flow:web.throughput", "no flow 'web'; 'web*' has all "),
        ("d=port:switch1-switch2.delay", "no port 'switch1-switch2'; did you mean 'switch1->switch2'?"),
        ("buffer=web.p95", "measure: 'buffer' is the name of another column; needs a unique name"),
    ],
)
def test_invalid_measure_is_rejected_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        _ = Design.full_factorial(MIXED, [BUFFERS], measures=[text]).scenarios
    assert message in str(error.value)
    assert len(error.value.problems) == 1


def test_design_over_a_graph_suggests_a_working_command(tmp_path: Path) -> None:
    (tmp_path / "graph.toml").write_text(GRAPH.to_toml())
    design = ["design", "graph.toml", "--factor", "tcp:tcp.recovery=reno,sack", "--replications", "2"]
    done = run(*design, "--run", "g", "--csv", "runs.csv", "--store", "runs.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nan" not in done.stdout
    assert "throughput [Mbit/s]" in done.stdout
    following = done.stdout.splitlines()[-1]
    assert following.startswith("longpipe analyse")
    assert run(*following.split()[1:], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("flow:blk.throughput", "no flow 'blk'; did you mean 'bulk'? accepts web1, web2"),
        ("port:switch1-switch2.delay", "no port 'switch1-switch2'; did you mean 'switch1->switch2'? accepts source1"),
        ("web:9.p95", "no class '9' of files; needs 0, 1, 2, 3, 4 or all"),
    ],
)
def test_unknown_name_is_rejected_before_the_runs_with_the_nearest_one(measure: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        NamedMeasure.parse(measure).check(Scenario.example("web-and-bulk"))
    assert problem in str(refused.value)


@pytest.mark.parametrize("measure", ["web.p95", "web:4.p95", "web:all.median", "web:[0-2].p99"])
def test_measures_cover_existing_file_classes(measure: str) -> None:
    NamedMeasure.parse(measure).check(Scenario.example("web-and-bulk"))
