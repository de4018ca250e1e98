"""Jitter and the order of packets are estimated from a capture, and take no control from the candidates."""

from pathlib import Path

import pytest

from longpipe import Scenario, simulate
from longpipe.fit import fit, observe
from longpipe.fit.features import features
from longpipe.fit.reported import estimates, scenario, undetermined
from longpipe.units import RATE


def captured(
    path: Path,
    range_ms: float,
    control: str = "cubic",
    *,
    order: str = "fifo",
    rate: str = "10 Mbit/s",
    delay: str = "20 ms",
    buffer: int = 60,
) -> Path:
    """Returns the capture of a flow over a path, 10 Mbit/s and 40 ms if not given, that delays by up to `range_ms`."""
    half = f"{range_ms / 2:.4f} ms"
    jitter = [{"kind": "jitter", "delay": half, "jitter": half, "order": order}] if range_ms else []
    fields = {
        "framing": "ip",
        "duration": "10 s",
        "network": {
            "kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "trunk_rate": rate,
            "trunk_delay": delay, "access_delay": "0 s", "exit_delay": "0 s", "conditioners": jitter,
        },
        "switch": {"buffer": f"{buffer} packets"},
        "tcp": {"profile": "linux-6", "congestion": control, "mss": "1448 B", "receiver_window": "auto"},
    }  # fmt: skip
    simulate(Scenario.model_validate({"defaults": "1996", **fields}), captures={"host:source1": str(path)})
    return path


@pytest.mark.parametrize("order", ["fifo", "free"])
@pytest.mark.parametrize("range_ms", [2.0, 3.0, 8.0])
def test_jitter_and_order_are_those_of_the_path(tmp_path: Path, range_ms: float, order: str) -> None:
    found = features(observe(captured(tmp_path / "flow.pcapng", range_ms, order=order)))
    assert found.jitter is not None
    assert found.jitter.order == order
    assert found.jitter.conditioner["order"] == order
    assert range_ms / 2e3 in found.jitter.mean_s
    assert 0.0412 in found.base_rtt_s
    assert found.rate_bps is not None
    assert 10e6 in found.rate_bps
    assert found.buffer is not None
    assert 59 in found.buffer
    assert not found.elsewhere.any()


@pytest.mark.parametrize("range_ms", [1.0, 15.0])
def test_long_and_short_jitter_are_within_their_intervals(tmp_path: Path, range_ms: float) -> None:
    found = features(observe(captured(tmp_path / "flow.pcapng", range_ms)))
    assert found.jitter is not None
    assert range_ms / 2e3 in found.jitter.mean_s
    assert 0.0412 in found.base_rtt_s
    assert found.buffer is not None
    assert 59 in found.buffer


@pytest.mark.parametrize(
    ("rate", "delay", "buffer", "range_ms"),
    [
        ("19.749 Mbit/s", "55.97 ms", 135, 9.51),
        ("19.52 Mbit/s", "70.515 ms", 138, 7.13),
        ("16.528 Mbit/s", "71.539 ms", 84, 8.44),
        ("17.926 Mbit/s", "47.447 ms", 160, 7.95),
    ],
)
def test_jitter_causes_no_step_of_the_rate(tmp_path: Path, rate: str, delay: str, buffer: int, range_ms: float) -> None:
    """BBR begins with few packets per round trip, which jitter spreads over idle times of the bottleneck."""
    path = captured(tmp_path / "flow.pcapng", range_ms, "bbr", rate=rate, delay=delay, buffer=buffer)
    found = features(observe(path))
    assert found.rate_bps is not None
    assert found.rate_bps.value == pytest.approx(RATE.parse(rate), rel=0.01)
    assert not found.steps
    assert found.policer is None


def test_path_without_jitter_has_none(tmp_path: Path) -> None:
    assert features(observe(captured(tmp_path / "flow.pcapng", 0.0))).jitter is None


@pytest.mark.parametrize("control", ["cubic", "linux-reno"])
def test_jitter_does_not_exclude_controls(tmp_path: Path, control: str) -> None:
    found = fit(observe(captured(tmp_path / "flow.pcapng", 5.0, control)), ["cubic", "linux-reno", "vegas"])
    assert next(iter(found.control_shares())) == control
    assert found.best.hypothesis.flight_limit is None
    assert estimates(found)["jitter"]["value"] == pytest.approx(0.0025, rel=0.3)
    [trunk] = [link for link in scenario(found).resolved["links"] if link.get("conditioners")]
    assert [one["kind"] for one in trunk["conditioners"]] == ["jitter"]


@pytest.mark.parametrize("control", ["cubic", "linux-reno"])
def test_control_of_packets_that_overtake_is_recognized(tmp_path: Path, control: str) -> None:
    capture = captured(tmp_path / "flow.pcapng", 3.0, control, order="free")
    found = fit(observe(capture), ["cubic", "linux-reno", "vegas"])
    assert next(iter(found.control_shares())) == control
    assert "packets overtake each other" in estimates(found)["jitter"]["known"]


def test_order_is_undetermined_if_jitter_is_shorter_than_a_packet(tmp_path: Path) -> None:
    found = fit(observe(captured(tmp_path / "flow.pcapng", 1.0)), ["cubic"])
    assert found.features.jitter is not None
    assert found.features.jitter.order is None
    assert any(line.startswith("whether packets overtake each other") for line in undetermined(found))
