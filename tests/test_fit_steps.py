"""Tests `longpipe fit` on a path with a time-varying rate: it finds the steps of the captured scenario."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import run
from longpipe import Scenario
from longpipe.cli.fit import _show
from longpipe.fit import fit, observe
from longpipe.fit.departures import BusyIntervals, in_pieces
from longpipe.fit.draws import drawn
from longpipe.fit.features import features
from longpipe.fit.observed import ObservedFlow
from longpipe.fit.path_file import write
from longpipe.fit.rates import rate_steps, served_bits
from longpipe.fit.reported import report
from longpipe.fit.whatif import whatif
from longpipe.units import TIME

STEPS = [["0 s", "8 Mbit/s"], ["2 s", "4 Mbit/s"], ["4 s", "9 Mbit/s"]]
# Two-way delay of the path without transmission times.
RTT_S = 0.04


def captured(folder: Path, control: str, steps: list[list[str]], **changes: object) -> ObservedFlow:
    """Returns the observation of a simulated flow over a path with these rates and a buffer of 60 packets."""
    path = {"rate": steps, "between": "hold"} if len(steps) > 1 else {}
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": "6 s",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "trunk_rate": steps[0][1],
            "trunk_delay": "20 ms",
            "return_delay": "20 ms",
            **({"path": path} if path else {}),
        },
        "switch": {"buffer": "60 packets"},
        "tcp": {"profile": "linux-6", "congestion": control},
    }
    (folder / "moving.toml").write_text(Scenario(defaults="1996", **fields).with_(**changes).to_toml())
    capture = folder / "moving.pcapng"
    done = run("run", str(folder / "moving.toml"), "--capture", f"host:source1={capture}")
    assert done.returncode == 0, done.stderr
    return observe(capture)


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> ObservedFlow:
    return captured(tmp_path_factory.mktemp("moving"), "cubic", STEPS)


def test_steps_of_the_rate_are_found_within_two_round_trips(moving: ObservedFlow) -> None:
    found = features(moving)
    assert [one.rate_bps.value for one in found.steps] == pytest.approx([8e6, 4e6, 9e6], rel=1e-3)
    assert [one.at_s for one in found.steps] == pytest.approx([0, 2, 4], abs=2 * RTT_S)
    assert all(one.earliest_s <= one.at_s for one in found.steps)
    assert found.buffer is not None
    # The packet in transmission does not count.
    assert found.buffer.value == 59


def test_a_constant_rate_has_no_steps(tmp_path: Path) -> None:
    found = features(captured(tmp_path, "linux-reno", STEPS[:1]))
    assert found.steps == ()
    assert found.rate_bps is not None
    assert found.rate_bps.value == pytest.approx(8e6, rel=1e-4)
    assert found.buffer is not None
    assert found.buffer.value == 59


def test_other_traffic_at_the_bottleneck_is_suspected(
    moving: ObservedFlow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "either the link varies, or other traffic shared it, which a fit does not model"
    assert not any(said in line for line in report(fit(moving, ("cubic",))).doubts)
    shared: dict[str, object] = {
        "network.sources": 2, "network.access_rate": "1 Gbit/s", "network.trunk_delay": "15 ms",
        "network.return_delay": "15 ms", "switch.buffer": "100 packets", "start": {"kind": "random", "over": "1 s"},
    }  # fmt: skip
    fitted = report(fit(captured(tmp_path, "cubic", STEPS[:1], **shared), ("cubic",)))
    assert any(said in line for line in fitted.doubts)
    # Doubts come before the numbers, in the file and in the command's output.
    beside = write(fitted, tmp_path / "p.toml")
    lines = (tmp_path / "p.toml").read_text().splitlines()
    head = " ".join(line.removeprefix("# ").strip() for line in lines)
    assert 0 < head.index("warning: the rate changes") < head.index(said) < head.index("rate: ")
    assert said in json.loads(beside.read_text())["doubts"][0]
    _show(fitted)
    printed = capsys.readouterr().out
    assert printed.index("the rate changes") < printed.index("estimate (95 % interval)")


def test_the_scenario_has_the_steps_and_predictions_vary_all_rates(moving: ObservedFlow, tmp_path: Path) -> None:
    fitted = report(fit(moving, ("cubic",)))
    path = fitted.scenario.model_dump()["network"]["path"]
    assert [rate for _, rate in path["rate"]] == ["8 Mbit/s", "4 Mbit/s", "9 Mbit/s"]
    file = tmp_path / "p.toml"
    written = json.loads(write(fitted, file).read_text())
    assert [row["rate_bps"] for row in written["rate_steps"]] == pytest.approx([8e6, 4e6, 9e6], rel=1e-3)
    assert "# rate from 2" in file.read_text() or "# rate from 1.9" in file.read_text()
    # The base RTT varies, too: each draw shifts all delays equally.
    shifts = set()
    for seed in range(3):
        changes: Any = drawn(fitted.scenario, written, np.random.default_rng(seed))["network.path"]
        pairs = zip(changes["delay"], path["delay"], strict=True)
        (shift,) = {TIME.parse(new) - TIME.parse(old) for (_, new), (_, old) in pairs}
        shifts.add(shift)
    assert len(shifts) == 3
    goodput = whatif(file, {"switch.buffer": "30 packets"}, 3).measures[0]
    assert goodput.observed is not None
    assert goodput.baseline[0] == pytest.approx(goodput.observed, rel=0.05)
    assert goodput.baseline[1] > 0


def intervals(rates: list[float], bits: float = 12_000.0) -> BusyIntervals:
    lengths = bits / np.array(rates)
    begin = np.append(0.0, np.cumsum(lengths)[:-1])
    zeros = np.zeros(len(rates))
    return BusyIntervals(begin, lengths, np.full(len(rates), bits), zeros.astype(np.int64), zeros)


def test_noise_of_single_intervals_is_not_a_step() -> None:
    random = np.random.default_rng(7)
    noisy = (1e7 * np.exp(random.normal(0, 0.2, 4000))).tolist()
    assert rate_steps(intervals(noisy), 12_000, 0.0) == ()
    stepped = noisy[:2000] + [rate / 2 for rate in noisy[2000:]]
    found = rate_steps(intervals(stepped), 12_000, 0.0)
    assert len(found) == 2
    assert found[1].rate_bps.value / found[0].rate_bps.value == pytest.approx(0.5, rel=0.03)
    assert found[1].at_s == pytest.approx(2000 * 12_000 / 1e7, rel=0.05)


def test_rate_shorter_than_an_rtt_is_not_a_step() -> None:
    """ACKs that the machine delays for some milliseconds arrive in a burst afterwards."""
    constant = (1.6e7 * np.exp(np.random.default_rng(3).normal(0, 0.002, 4000))).tolist()
    burst = [*constant[:2000], *[rate * 1.5 for rate in constant[2000:2024]], *constant[2024:]]
    # 24 packets take 12 instead of 18 ms.
    assert len(rate_steps(intervals(burst), 12_000, 0.005)) == 3
    assert rate_steps(intervals(burst), 12_000, 0.015) == ()
    stepped = [*burst[:3000], *[rate / 2 for rate in burst[3000:]]]
    assert len(rate_steps(intervals(stepped), 12_000, 0.015)) == 2


def test_pause_of_a_host_is_not_a_step() -> None:
    """On a busy machine, `longpipe live` or a program under it pauses for a few milliseconds."""
    constant = (1.6e7 * np.exp(np.random.default_rng(4).normal(0, 0.002, 4000))).tolist()

    def slower(packets: int) -> list[float]:
        return [
            *constant[:2000],
            *[rate * 0.95 for rate in constant[2000 : 2000 + packets]],
            *constant[2000 + packets :],
        ]

    # 80 packets take 63 instead of 60 ms, and 400 packets 316 instead of 300 ms.
    assert rate_steps(intervals(slower(80)), 12_000, 0.005) == ()
    assert len(rate_steps(intervals(slower(400)), 12_000, 0.005)) == 3


def test_pieces_do_not_cross_pauses() -> None:
    busy = intervals([1e6] * 10)
    apart = BusyIntervals(
        busy.begin_s, busy.length_s, busy.bits, np.array([0] * 4 + [1] * 6, dtype=np.int64), busy.jitter_s
    )
    assert in_pieces(apart, 36_000).bits.tolist() == [36_000] * 3


def test_the_bits_served_follow_the_rates() -> None:
    times = np.array([0.5, 1.0, 2.0])
    assert served_bits([(0.0, 10.0), (1.0, 20.0)], times).tolist() == [5.0, 10.0, 30.0]
