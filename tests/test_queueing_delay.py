"""Queueing delays, and packets that ports lost or marked: in counters, pictures and measures."""

from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from typer.testing import CliRunner

from longpipe import Result, Scenario, ScenarioError, _core, pictures, simulate
from longpipe.cli import app
from longpipe.measures.named import NamedMeasure
from longpipe.pictures.kinds.delay import delay_points, drop_counts
from longpipe.result import records
from longpipe.store import Store

TRUNK: Final = "switch1->switch2"
LINK: Final = Scenario(defaults="1996", name="link", duration="10 s").with_(
    **{
        "framing": "ip",
        "network.sources": 2,
        "network.trunk_rate": "10 Mbit/s",
        "network.trunk_delay": "20 ms",
        "network.access_delay": "0 s",
        "network.exit_delay": "0 s",
        "switch.buffer": "100 packets",
        "tcp.profile": "linux-6",
        "tcp.mss": "1448 B",
        "tcp.receiver_window": "auto",
    }
)
QUEUES: Final[dict[str, Any]] = {
    "tail-drop": "tail-drop",
    "codel": {"kind": "codel"},
    "fq-codel": {"kind": "fq-codel"},
    "pie": {"kind": "pie"},
}


@cache
def run(queue: str) -> Result:
    return simulate(LINK.with_(**{"switch.policy": QUEUES[queue], "traces.delay": True, "traces.drops": True}))


@pytest.mark.parametrize("queue", QUEUES)
def test_delays_are_those_of_the_packets_that_left(queue: str) -> None:
    result = run(queue)
    ports = {row["port"]: row for row in records(result.part("ports"))}
    port = ports[TRUNK]
    points = delay_points(result, TRUNK)
    assert len(points) == port["packets_out"]
    assert points["bytes"].sum() == port["bytes_out"]
    waits = np.sort(points["delay_s"].to_numpy())
    assert port["queueing_delay_mean_s"] == pytest.approx(waits.mean())
    for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99)):
        quantile = port[f"queueing_delay_{name}_s"]
        assert quantile in waits
        assert (waits <= quantile).mean() >= share > (waits < quantile).mean()
    # By Little's law, the mean occupancy includes waiting packets and the packet in transmission. The trace lacks
    # packets that a queue discipline dropped or that were still queued at the end, although they also waited.
    held = (points["delay_s"] + points["bytes"] * 8 / 10e6).sum() / 10
    assert 0.97 * port["mean_queue_packets"] < held < 1.0001 * port["mean_queue_packets"]
    assert ports["source1->switch1"]["queueing_delay_mean_s"] is None


@pytest.mark.parametrize("queue", QUEUES)
def test_drops_are_those_that_ports_counted(queue: str) -> None:
    result = run(queue)
    drops = result.traces["drops"]
    counters = {
        name: counters[0] for name, counters, *_ in _core.drop_causes() if name in ("overflow", "aqm", "injected_loss")
    }
    counted = {cause: result.ports[f"packets_lost_{counter}"].sum() for cause, counter in counters.items()}
    seen = drops["cause"].value_counts()
    assert {cause: int(seen[cause]) for cause in counted} == counted
    assert drop_counts(result, TRUNK).to_numpy().sum() == (drops["port"] == TRUNK).sum() > 0


def test_recording_changes_neither_run_nor_digest() -> None:
    plain = simulate(LINK)
    assert run("tail-drop").state_hash == plain.state_hash
    assert "queueing_delay_mean_s" not in plain.ports
    assert "delay" not in LINK.resolve()["traces"]


def test_marks_are_among_the_reasons() -> None:
    marking = {"kind": "step-marking", "threshold": 5}
    changes = {"switch.policy": marking, "tcp.ecn": "classic", "traces.drops": True, "duration": "3 s"}
    result = simulate(LINK.with_(**changes))
    drops = result.traces["drops"]
    assert (drops["cause"] == "marked").sum() == result.ports["packets_marked"].sum() > 0


def test_store_keeps_queueing_delays(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "runs.db")) as store:
        store.keep(run("codel"))
        kept = store.require(run("codel").scenario, 1)
    assert records(kept.part("ports")) == records(run("codel").part("ports"))
    assert list(kept.traces["drops"]["cause"].astype(str)) == list(run("codel").traces["drops"]["cause"].astype(str))
    assert len(kept.traces["delay"]) == len(run("codel").traces["delay"])


def test_measure_of_queueing_delays_needs_the_trace() -> None:
    measure = NamedMeasure.parse(f"p99=port:{TRUNK}.queueing_p99")
    measure.check(run("codel").scenario)
    assert measure(run("codel")) == run("codel").ports.set_index("port").loc[TRUNK, "queueing_delay_p99_s"]
    with pytest.raises(ScenarioError, match=r"needs traces\.delay = true"):
        measure.check(LINK)


def test_cells_have_no_queueing_delays() -> None:
    with pytest.raises(ScenarioError, match=r'traces\.delay: true; needs framing = "ip"'):
        Scenario(defaults="1996").with_(**{"traces.delay": True})


def test_pictures_show_the_selected_port() -> None:
    result = run("codel")
    assert TRUNK in str(pictures.delay(result).get_suptitle())
    assert len(pictures.delay_cdf(result).axes[0].lines) == 3
    both = pictures.delay_cdf({name: run(name) for name in ("tail-drop", "codel")}, port=TRUNK).axes[0].lines
    assert [line.get_label() for line in both] == ["tail-drop", "codel"]
    assert TRUNK in str(pictures.drops(result).get_suptitle())
    for picture in (pictures.delay, pictures.drops, pictures.delay_cdf):
        with pytest.raises(ScenarioError, match="port: 'trunk'"):
            picture(result, port="trunk")


def test_shares_add_up_to_one() -> None:
    result = simulate(LINK.with_(**{"traces.arrivals": True, "duration": "3 s"}))
    (panel,) = pictures.shares(result, interval_s=0.5).axes
    tops = np.sum([[bar.get_height() for bar in bars] for bars in panel.containers], axis=0)
    assert tops.tolist() == pytest.approx([1.0] * 6)


def test_the_terminal_has_a_table_and_pictures(tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    file.write_text(LINK.with_(duration="2 s").to_toml())
    told = CliRunner().invoke(app, ["run", str(file), "--set", "traces.delay=true"])
    assert told.exit_code == 0
    assert "queueing delay at" in told.output
    for kind in ("delay", "delay-cdf", "shares"):
        drawn = CliRunner().invoke(app, ["plot", str(file), kind, "-o", str(tmp_path / f"{kind}.svg")])
        assert drawn.exit_code == 0, drawn.output
    drawn = CliRunner().invoke(app, ["plot", str(file), "drops", "--flow", "flow1", "-o", str(tmp_path / "a.svg")])
    assert drawn.exit_code == 0, drawn.output
    refused = CliRunner().invoke(app, ["plot", str(file), "drops", "--flow", "flow9", "-o", str(tmp_path / "a.svg")])
    assert refused.exit_code != 0
