import json
import math
from pathlib import Path

import pandas as pd
import pytest

from longpipe import Result, Scenario, _core, simulate
from longpipe.aal5 import cell_tax, packet_cells
from longpipe.errors import ScenarioError
from longpipe.metrics import atm_forum


@pytest.fixture(scope="module")
def result() -> Result:
    traces = {"cwnd": True, "queue": True, "sequence": True}
    return simulate(Scenario(defaults="1996", name="lan", duration="400 ms").with_(traces=traces), seed=3)


@pytest.mark.parametrize(("payload", "cells"), [(512, 12), (1024, 23), (9180, 193), (0, 2), (128, 4)])
def test_cell_count_of_a_packet_is_computed(payload: int, cells: int) -> None:
    assert packet_cells(payload) == cells


@pytest.mark.parametrize(("mss", "share"), [(512, 0.8050), (1024, 0.8400), (9180, 0.8974)])
def test_share_of_cell_headers_is_computed(mss: int, share: float) -> None:
    assert cell_tax(mss) == pytest.approx(share, abs=6e-5)


@pytest.mark.parametrize(
    ("throughputs", "index"), [([1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([2, 1], 0.9), ([5], 1.0), ([0, 0], math.nan)]
)
def test_jain_fairness_equals_the_definition(throughputs: list[float], index: float) -> None:
    assert atm_forum.fairness(throughputs) == pytest.approx(index, nan_ok=True)


def test_fairness_of_equal_throughputs_is_at_most_1() -> None:
    # (7 x)^2 / (7 * 7 x^2) rounds to 1 + 2^-52 here.
    assert atm_forum.fairness([388445.0960797577] * 7) == 1


def test_single_flow_fills_the_trunk_at_most() -> None:
    alone = simulate(Scenario(defaults="1996", duration="1 s").with_(**{"network.sources": 1}))
    assert 0.97 < alone.efficiency <= 1
    assert alone.fairness == 1
    assert alone.flows["retransmitted_segments"].sum() == 0


@pytest.mark.parametrize(("framing", "wire"), [("ip", 1500), ("aal5", 32 * 53)])
def test_headers_include_timestamps(framing: str, wire: int) -> None:
    # The window exceeds the capacity of the path, but not that of path and buffer.
    changes = {"framing": framing, "network.sources": 1, "switch.buffer": "1 BDP", "tcp.receiver_window": "700 KB"}
    one = Scenario.example("fiber").with_(**changes)
    alone = simulate(one)
    assert alone.attainable_bps == pytest.approx(1e8 * 1448 / wire)
    ports = alone.part("ports")
    busy = dict(zip(ports["port"], ports["utilization"], strict=True))["switch1->switch2"]
    # Without losses, all payload on the trunk is goodput.
    assert busy > 0.9
    assert alone.efficiency == pytest.approx(busy, abs=0.001)


def test_efficiency_refers_to_the_packets_with_the_smallest_header_share() -> None:
    groups: list[dict[str, object]] = [
        {"name": "small", "tcp": {"mss": "100 B"}},
        {"name": "new", "tcp": {"profile": "linux-6"}},
    ]

    def attainable_bps() -> float:
        network = {"kind": "dumbbell", "trunk_rate": "100 Mbit/s", "group": groups}
        fields = {"framing": "ip", "duration": "1 s", "network": network, "switch": {"buffer": "1 MB"}}
        return simulate(Scenario.model_validate({"defaults": "1996", **fields})).attainable_bps

    assert attainable_bps() == pytest.approx(1e8 * 1448 / 1500)
    # Flows in the other direction do not reduce the attainable rate, and datagrams use as much of it as was sent.
    groups[1]["direction"] = "back"
    groups.append({"name": "ping", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}, "tcp": {"mss": "9180 B"}})
    datagrams = 1e6 * 1000 / 1028
    assert attainable_bps() == pytest.approx(datagrams + (1e8 - 1e6) * 100 / 140, rel=1e-4)


def test_efficiency_counts_vbr_and_is_undefined_for_an_idle_trunk() -> None:
    # VBR traffic has a cell for every slot, and uses every slot.
    vbr = simulate(
        Scenario(defaults="1996", duration="1 s").with_(**{"network.vbr": {"duty": 1}, "switch.scheduler": "priority"})
    )
    trunk = list(vbr.part("ports")["port"]).index("switch1->switch2")
    left = 155.52e6 - 424 * vbr.part("ports")["cells_out"][trunk]
    assert vbr.attainable_bps == pytest.approx(512 / 636 * left)
    assert vbr.efficiency == 0
    path = {"rate": [["0 s", "0 bit/s"], ["1 s", "1 Mbit/s"]]}
    alone = simulate(Scenario(defaults="1996", duration="900 ms").with_(**{"network.path": path}))
    assert alone.attainable_bps == 0
    assert math.isnan(alone.efficiency)
    assert alone.summary()["efficiency"] is None
    assert math.isnan(simulate(alone.scenario.with_(traffic="web")).fairness)


def test_throughput_is_bounded_by_window_over_round_trip() -> None:
    scenario = Scenario(defaults="1996", duration="2 s").with_(**{"network.sources": 1, "network.trunk_delay": "50 ms"})
    run = simulate(scenario)
    assert run.flows["throughput_bps"].iloc[0] <= 65_536 * 8 / 0.100


def test_frames_carry_names_and_units(result: Result) -> None:
    assert list(result.flows["flow"]) == [f"flow{i}" for i in range(1, 6)]
    assert {"throughput_bps", "delivered_bytes", "completion_s"} <= set(result.flows)
    assert result.ports["port"].iloc[10] == "switch1->switch2"
    assert result.traces.keys() == {"cwnd", "queue", "sequence"}
    assert list(result.traces["cwnd"]["flow"].cat.categories) == list(result.flows["flow"])
    assert list(result.traces["queue"]["port"].cat.categories) == list(result.ports["port"])


def test_traces_run_forward_in_time_and_respect_limits(result: Result) -> None:
    for trace in result.traces.values():
        assert len(trace) > 0
        assert trace["time_s"].is_monotonic_increasing
        assert trace["time_s"].between(0, 0.4).all()
    assert result.traces["queue"]["queue_cells"].max() <= 1000
    assert result.traces["cwnd"]["cwnd_bytes"].min() >= 512


def test_finite_transfer_completes() -> None:
    run = simulate(Scenario(defaults="1996", duration="2 s").with_(traffic={"kind": "transfer", "size": "100 KB"}))
    assert (run.flows["delivered_bytes"] == 100_000).all()
    assert run.flows["completion_s"].between(0, 2).all()


def test_json_is_valid_and_complete(result: Result) -> None:
    read = json.loads(result.to_json())
    assert (read["scenario"], read["seed"], read["digest"]) == ("lan", 3, result.scenario.digest())
    assert read["engine"] == _core.__engine__
    assert read["flows"][0]["completion_s"] is None
    assert len(read["ports"]) == len(result.ports)


def test_csv_reads_back(result: Result, tmp_path: Path) -> None:
    written = result.to_csv(tmp_path / "new" / "folder")
    names = ("run", "flows", "ports", "classes", "vbr", "cwnd", "queue", "sequence", "reductions")
    assert [path.name for path in written] == [*(f"{name}.csv" for name in names), "scenario.toml"]
    assert set(written) == set((tmp_path / "new" / "folder").iterdir())
    run = pd.read_csv(written[0], dtype=str).iloc[0]
    identity = (result.scenario.digest(), "3", str(_core.__engine__), result.state_hash)
    assert tuple(run[["digest", "seed", "engine", "state_hash"]]) == identity
    pd.testing.assert_frame_equal(pd.read_csv(written[1]), result.flows, check_dtype=False)


def test_graph_has_no_single_trunk() -> None:
    parking_lot = Scenario.from_toml(Path(__file__).parent.parent / "scenarios" / "parking-lot.toml")
    assert math.isnan(simulate(parking_lot.with_(duration="1100 ms")).efficiency)


def test_missing_trace_names_the_option_that_records_it(result: Result) -> None:
    assert sorted(result.traces) == ["cwnd", "queue", "sequence"]
    assert result.traces.get("rtt") is None
    with pytest.raises(ScenarioError, match=r"^traces\.rtt: not recorded; needs traces\.rtt = true, or longpipe run"):
        result.traces["rtt"]


def test_a_scenario_cannot_be_changed_in_place() -> None:
    scenario = Scenario(defaults="1996", duration="400 ms")
    with pytest.raises(
        ScenarioError, match=r"^duration: .*; scenario\.with_\(duration=\.\.\.\) returns a changed copy$"
    ):
        scenario.duration = "1 s"
    with pytest.raises(ScenarioError, match=r"^buffer: .*; scenario\.with_\(\*\*\{'switch\.buffer': \.\.\.\}\)"):
        scenario.switch.buffer = "1 BDP"
    assert scenario == Scenario(defaults="1996", duration="400 ms")


def test_measure_of_missing_flows_is_explained(result: Result) -> None:
    with pytest.raises(ScenarioError, match=r"no datagrams 'call'; there is none$"):
        result.measure("call.p95")
