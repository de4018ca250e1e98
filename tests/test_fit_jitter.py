"""Jitter is estimated from a capture, and takes no control from the candidates."""

from pathlib import Path

import pytest

from longpipe import Scenario, simulate
from longpipe.fit import fit, observe
from longpipe.fit.features import features
from longpipe.fit.reported import estimates, scenario


def captured(path: Path, range_ms: float, control: str = "cubic") -> Path:
    """Returns the capture of a flow of 10 Mbit/s and 40 ms, whose packets are delayed by up to `range_ms`."""
    half = f"{range_ms / 2} ms"
    jitter = [{"kind": "jitter", "delay": half, "jitter": half, "order": "fifo"}] if range_ms else []
    fields = {
        "framing": "ip",
        "duration": "10 s",
        "network": {
            "kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "trunk_rate": "10 Mbit/s",
            "trunk_delay": "20 ms", "access_delay": "0 s", "exit_delay": "0 s", "conditioners": jitter,
        },
        "switch": {"buffer": "60 packets"},
        "tcp": {"profile": "linux-6", "congestion": control, "mss": "1448 B", "receiver_window": "auto"},
    }  # fmt: skip
    simulate(Scenario.model_validate(fields), captures={"host:source1": str(path)})
    return path


@pytest.mark.parametrize("range_ms", [1.0, 3.0, 8.0, 15.0])
def test_jitter_of_a_path_is_within_its_interval(tmp_path: Path, range_ms: float) -> None:
    found = features(observe(captured(tmp_path / "flow.pcapng", range_ms)))
    assert found.jitter is not None
    assert range_ms / 2e3 in found.jitter.mean_s
    assert 0.0412 in found.base_rtt_s
    assert found.buffer is not None
    assert 59 in found.buffer
    assert not found.elsewhere.any()


def test_a_path_without_jitter_has_none(tmp_path: Path) -> None:
    assert features(observe(captured(tmp_path / "flow.pcapng", 0.0))).jitter is None


@pytest.mark.parametrize("control", ["cubic", "linux-reno"])
def test_jitter_takes_no_control_off_the_list(tmp_path: Path, control: str) -> None:
    found = fit(observe(captured(tmp_path / "flow.pcapng", 5.0, control)), ["cubic", "linux-reno", "vegas"])
    assert next(iter(found.control_shares())) == control
    assert found.best.hypothesis.flight_limit is None
    assert estimates(found)["jitter"]["value"] == pytest.approx(0.0025, rel=0.3)
    [trunk] = [link for link in scenario(found).resolved["links"] if link.get("conditioners")]
    assert [one["kind"] for one in trunk["conditioners"]] == ["jitter"]
