import json
import math
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from commands import run
from longpipe import Result, Scenario, ScenarioError, simulate
from longpipe.metrics.shares import max_min_shares, relative_throughputs
from longpipe.metrics.web import response_times
from longpipe.store import Store, pack


def scenario(**changes: object) -> Scenario:
    base: dict[str, Any] = {"traffic": "web", "start": {"kind": "random", "over": "100 ms"}, "duration": "12 s"}
    return Scenario(defaults="1996", name="web", **base).with_(**{"network.sources": 10, **changes})


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(scenario(), seed=1)


def test_frames_name_every_flow_and_file(result: Result) -> None:
    assert list(result.web["flow"]) == list(result.flows["flow"])
    assert list(result.files["flow"].cat.categories) == list(result.flows["flow"])
    assert result.files.columns.tolist() == ["flow", "class", "size_bytes", "requested_s", "answered_s", "completed_s"]
    by_flow = result.files.groupby("flow", observed=False)
    assert (by_flow.size().to_numpy() == result.web["requests"]).all()
    answered = result.files[result.files["answered_s"].notna()]
    assert answered["size_bytes"].sum() == result.web["scheduled_bytes"].sum()
    assert (by_flow["completed_s"].count().to_numpy() == result.web["completed_files"]).all()


def test_light_load_is_delivered_completely(result: Result) -> None:
    files = result.files[result.files["requested_s"] < 8]
    assert len(files) > 30
    assert files["completed_s"].notna().all()
    # A request and its file take at least one RTT of 30 us.
    assert (files["completed_s"] - files["requested_s"]).min() > 30e-6
    assert (result.flows["delivered_bytes"] <= result.web["scheduled_bytes"]).all()
    assert result.fairness > 0.9


def test_other_traffic_has_no_files() -> None:
    plain = simulate(Scenario(defaults="1996", duration="100 ms"))
    assert len(plain.web) == len(plain.files) == len(plain.response_times) == 0


def test_max_min_shares_of_the_textbook() -> None:
    # Keshav, An Engineering Approach to Computer Networking (1997), section 9.3: capacity 10, demands 2, 2.6, 4 and 5.
    assert max_min_shares([2, 2.6, 4, 5], 10) == pytest.approx([2, 2.6, 2.7, 2.7])
    assert max_min_shares([5, 4, 2, 2.6], 10) == pytest.approx([2.7, 2.7, 2, 2.6])
    assert max_min_shares([1, 2], 10) == pytest.approx([1, 2])
    assert max_min_shares([], 10).size == 0


def test_relative_throughputs_exclude_flows_without_demand() -> None:
    assert relative_throughputs([1, 0, 2], [2, 0, 9], 6) == pytest.approx([0.5, 0.5])


def test_response_times_count_unfinished_files_as_censored() -> None:
    # Remission times of 21 patients (Freireich et al. 1963), in Kaplan and Meier's form; S(23) = 0.448, so that the
    # median is 23, as in textbooks.
    done = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    under_way = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    rows = [{"class": 0, "requested_s": 0.0, "completed_s": float(t)} for t in done]
    rows += [{"class": 0, "requested_s": 40.0 - t, "completed_s": math.nan} for t in under_way]
    found = response_times(pd.DataFrame(rows), 40.0).iloc[0]
    assert (found["files"], found["completed"], found["median_s"]) == (21, 9, 23.0)
    assert math.isnan(found["p95_s"])


def test_response_times_of_finished_files_are_their_quantiles() -> None:
    waits = np.arange(1, 101) / 10
    files = pd.DataFrame({"class": 3, "requested_s": 1.0, "completed_s": 1.0 + waits})
    found = response_times(files, 40.0).iloc[0]
    assert (found["median_s"], found["p95_s"], found["p99_s"]) == pytest.approx((5.0, 9.5, 9.9))


def test_store_keeps_web_statistics(result: Result) -> None:
    with closing(Store()) as store:
        store.save(result.scenario, 1, pack(result))
        again = store.require(result.scenario, 1)
    pd.testing.assert_frame_equal(again.web, result.web, check_dtype=False)
    pd.testing.assert_frame_equal(again.response_times, result.response_times, check_dtype=False)
    assert (again.efficiency, again.fairness) == (result.efficiency, result.fairness)
    with pytest.raises(ScenarioError, match=r"result\.files: not in the store, which keeps only summaries"):
        _ = again.files


def test_the_command_line_shows_response_times(tmp_path: Path) -> None:
    path = tmp_path / "web.toml"
    path.write_text(scenario().to_toml())
    assert "files of class" in run("run", path, "--csv", tmp_path / "out").stdout
    assert len(pd.read_csv(tmp_path / "out" / "files.csv")) > 0
    written = json.loads(run("run", path, "--json", "-").stdout)
    assert {row["class"] for row in written["response_times"]} <= {0, 1, 2, 3, 4}


def test_requests_do_not_depend_on_the_network(result: Result) -> None:
    other = simulate(scenario(**{"switch.buffer": "60 cells", "network.trunk_delay": "20 ms"}), seed=1)
    columns = ["flow", "class", "size_bytes", "requested_s"]
    pd.testing.assert_frame_equal(other.files[columns], result.files[columns])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"traffic.cycle": "10"}, "traffic.cycle: '10' has no unit; accepts "),
        ({"traffic.cycle": "0 s"}, "traffic.cycle: 0 s; needs 1 ms to 100000 s"),
        ({"traffic.request": "0 B"}, "traffic.request: 0 B; needs 1 B to 65000 B"),
        ({"traffic.spacing_from": "1 s"}, "traffic.spacing_to: 500 ms; needs at least spacing_from, 1 s"),
        ({"traffic.cut": "clipping"}, "traffic.cut: 'clipping'; did you mean 'clamping'? accepts rejection, clamping"),
        ({"traffic.kilobyte": 1025}, "traffic.kilobyte: 1025; did you mean '1024'? accepts 1000, 1024"),
        ({"traffic.requests_mean": 0}, "traffic.requests_mean: 0; needs more than 0"),
        ({"traffic.requests_most": 0}, "traffic.requests_most: 0; needs at least 1"),
        (
            {"traffic.class_shares": [0.5, 0.4]},
            "traffic.class_shares: [0.5, 0.4] adds up to 0.9; needs shares that add up to 1",
        ),
        ({"traffic.class_shares": []}, "traffic.class_shares: [] adds up to 0; needs shares that add up to 1"),
        (
            {"traffic.cycle_from": "request"},
            "traffic.cycle_from: 'request'; did you mean 'last-request'? accepts first-request,",
        ),
    ],
)
def test_bad_web_traffic_is_rejected_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(**changes)
    assert len(error.value.problems) == 1
    assert str(error.value).startswith(message)
