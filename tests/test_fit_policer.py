"""Policers are recognized from captures, and a fit is compared with the goodput of its capture."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import run
from longpipe import Scenario, simulate
from longpipe.fit import observe
from longpipe.fit.check import checked
from longpipe.fit.features import features
from longpipe.fit.path_file import read
from longpipe.fit.policer import FittedPolicer
from longpipe.fit.recorded import fit_recorded
from longpipe.measured import read as read_measured
from longpipe.units import RATE, SIZE


def captured(path: Path, control: str, **network: object) -> Path:
    """Returns the capture of a flow over a path with an RTT of 48 ms."""
    fields = {
        "kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "access_delay": "2 ms", "trunk_rate": "100 Mbit/s",
        "trunk_delay": "20 ms", "exit_delay": "2 ms", **network,
    }  # fmt: skip
    tcp = {"profile": "linux-6", "congestion": control, "mss": "1448 B", "receiver_window": "auto"}
    scenario = {"framing": "ip", "duration": "6 s", "network": fields, "switch": {"buffer": "100 ms"}, "tcp": tcp}
    simulate(Scenario.model_validate({"defaults": "1996", **scenario}), captures={"host:source1": str(path)})
    return path


def recognized(path: Path) -> FittedPolicer | None:
    return features(observe(path)).policer


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize(("rate", "burst"), [("5 Mbit/s", "60 KB"), ("16 Mbit/s", "300 KB"), ("30 Mbit/s", "1 MB")])
def test_a_policer_is_recognized_with_its_rate_and_burst(tmp_path: Path, control: str, rate: str, burst: str) -> None:
    conditioners = [{"kind": "policer", "rate": rate, "burst": burst}]
    found = recognized(captured(tmp_path / "flow.pcapng", control, conditioners=conditioners))
    assert found is not None
    assert found.is_good
    assert found.rate_bps == pytest.approx(RATE.parse(rate), rel=0.02)
    assert found.burst_bytes == pytest.approx(SIZE.parse(burst), rel=0.05)


@pytest.mark.parametrize("probability", [0.001, 0.003, 0.01, 0.03, 0.1])
@pytest.mark.parametrize("control", ["cubic", "bbr"])
def test_random_losses_are_not_a_policer(tmp_path: Path, control: str, probability: float) -> None:
    loss = {"kind": "bernoulli", "probability": probability}
    assert recognized(captured(tmp_path / "flow.pcapng", control, trunk_rate="20 Mbit/s", trunk_loss=loss)) is None


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize(
    "network",
    [
        {"trunk_rate": "10 Mbit/s"},
        {"conditioners": [{"kind": "tbf", "rate": "16 Mbit/s", "burst": "50 KB"}]},
    ],
    ids=["tail drop", "shaper"],
)
def test_overflowing_queue_is_not_a_policer(tmp_path: Path, control: str, network: dict[str, object]) -> None:
    assert recognized(captured(tmp_path / "flow.pcapng", control, **network)) is None


def test_the_scenario_has_the_policer_and_its_goodput(tmp_path: Path) -> None:
    conditioners = [{"kind": "policer", "rate": "16 Mbit/s", "burst": "300 KB"}]
    capture = captured(tmp_path / "flow.pcapng", "cubic", conditioners=conditioners)
    path = tmp_path / "path.toml"
    done = run("fit", str(capture), "-o", str(path), "--controls", "cubic,linux-reno")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stdout
    assert "the losses look like a policer of about 16 Mbit/s, burst 299 KB; the scenario has it" in done.stdout
    assert "goodput without the first third: " in done.stdout
    links = Scenario.from_toml(path).resolved["links"]
    ((written,),) = [link["conditioners"] for link in links if "conditioners" in link]
    assert written["rate_bps"] == pytest.approx(16e6, rel=0.01)
    assert "# the losses look like a policer" in path.read_text()
    told = read(path)
    assert told is not None
    assert told["policer"]["is_good"]
    assert told["goodput"]["simulated_bps"] == pytest.approx(told["goodput"]["observed_bps"], rel=0.03)


def test_a_scenario_with_another_goodput_than_its_file_causes_a_warning(tmp_path: Path) -> None:
    """Ten times the delivered data: the scenario is the same, but its goodput is a tenth of the file's."""
    log = tmp_path / "flow.json"
    interval = {"bits_per_second": 9.5e6, "retransmits": 0, "rtt": 60_000, "snd_cwnd": 90_000}
    rows = [
        {
            "streams": [
                {"socket": 5, "start": k, "end": k + 1, "seconds": 1, "bytes": 1_187_500, "sender": True, **interval}
            ]
        }
        for k in range(9)
    ]
    start = {"connected": [{"socket": 5}], "tcp_mss_default": 1448, "test_start": {"protocol": "TCP", "num_streams": 1}}
    log.write_text(json.dumps({"start": start, "intervals": rows, "end": {}}))
    found = fit_recorded(read_measured(str(log)))
    assert found.goodput is None
    alike = checked(found)
    assert alike.goodput is not None
    more = {**found.series, "delivered_bytes": (10 * np.array(found.series["delivered_bytes"])).tolist()}
    far = checked(replace(found, series=more))
    assert far.goodput is not None
    assert far.goodput.observed_bps == pytest.approx(10 * alike.goodput.observed_bps)
    assert far.warnings[-1].startswith(
        "goodput: the fitted path's differs by -90% from the observed; errors of up to 5%"
    )
