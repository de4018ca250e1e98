"""Intervals of `longpipe whatif`: draws of paths that fit a capture, and intervals for single runs and for means."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import gamma

from commands import run
from longpipe import Scenario, simulate
from longpipe.cli.whatif import _cell, _interval
from longpipe.fit import fit, observe
from longpipe.fit.candidates import Hypothesis
from longpipe.fit.draws import drawn, loss_probability
from longpipe.fit.model_error import ERRORS, model_error
from longpipe.fit.path_file import write
from longpipe.fit.reported import estimates, report
from longpipe.fit.whatif import ComparedMeasure, mean_of_path, single_run, whatif


def test_losses_have_the_gamma_distribution_of_a_poisson_number() -> None:
    random = np.random.default_rng(0)
    found = [loss_probability(5, 10_000, random) for _ in range(2000)]
    for share in (0.025, 0.5, 0.975):
        assert np.mean(np.array(found) < gamma(5, scale=1e-4).ppf(share)) == pytest.approx(share, abs=0.02)


def test_a_capture_without_losses_leaves_rare_losses_possible() -> None:
    random = np.random.default_rng(0)
    found = np.array([loss_probability(0, 10_000, random) for _ in range(2000)])
    assert 0.5 < np.mean(found == 0) < 0.8
    # With a probability of 95 %, at most 3 losses were to be expected.
    assert np.mean(found > 3e-4) < 0.05


@pytest.mark.parametrize(("runs", "distribution"), [(8, "normal"), (40, "exponential"), (100, "exponential")])
def test_a_further_run_is_inside_the_interval_in_95_percent(runs: int, distribution: str) -> None:
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        values = getattr(random, distribution)(size=runs + 1) + 10
        low, high = single_run(values[1:])
        inside += low <= values[0] <= high
    assert inside / 2000 == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("of_path", [0.2, 1.0, 3.0])
def test_the_mean_of_the_path_is_inside_its_interval(of_path: float) -> None:
    """The interval is longer than necessary if the variance between paths is small."""
    random = np.random.default_rng(2)
    inside = 0
    for _ in range(1000):
        truth, *draws = random.normal(0, of_path, 41)
        middle, half = mean_of_path(np.array(draws) + random.normal(0, 1, (2, 40)))
        inside += abs(truth - middle) <= half
    assert inside / 1000 >= 0.935


def test_half_of_the_drawn_paths_delay_packets_at_hosts() -> None:
    path = Hypothesis(
        rate_bps=6e6, base_rtt_s=0.08, buffer_packets=50, policy={"kind": "tail-drop"}, loss="none", control="bbr",
        mss=1448, headers=52, timestamps=True, duration_s=8.0,
    )  # fmt: skip
    random = np.random.default_rng(0)
    found = [drawn(path.scenario(), {"estimates": {}}, random) for _ in range(400)]
    assert 160 < sum("network.send_jitter" in changes for changes in found) < 240
    own = path.scenario(**{"network.send_jitter": "1 ms"})
    assert not any("network.send_jitter" in drawn(own, {"estimates": {}}, random) for _ in range(20))


def test_intervals_of_a_fitted_path_include_the_error_of_the_model(tmp_path: Path) -> None:
    capture, file = tmp_path / "p.pcapng", tmp_path / "p.toml"
    path = Hypothesis(
        rate_bps=6e6, base_rtt_s=0.03, buffer_packets=30, policy={"kind": "tail-drop"}, loss="none", control="cubic",
        mss=1448, headers=52, timestamps=True, duration_s=6.0,
    )  # fmt: skip
    simulate(path.scenario(), captures={"host:source1": capture})
    beside = write(report(fit(observe(capture), ["cubic"])), file)
    goodput, rtt, _ = whatif(file, {"tcp.congestion": "bbr"}, 3).measures
    of_goodput, of_rtt = ERRORS["bbr"]
    assert goodput.changed[1] >= of_goodput * goodput.changed[0]
    assert goodput.runs[0] <= (1 - of_goodput) * goodput.changed[0] < (1 + of_goodput) * goodput.changed[0]
    assert (1 + of_goodput) * goodput.changed[0] <= goodput.runs[1]
    assert goodput.difference[1] >= goodput.changed[1]
    assert rtt.runs[1] >= (1 + of_rtt) * rtt.changed[0]
    assert model_error(path.scenario(), "losses") == 0.0
    # Without a fit, the scenario is exact.
    beside.unlink()
    assert whatif(file, {"tcp.congestion": "bbr"}, 3).measures[0].changed[1] < of_goodput * goodput.changed[0]


def test_more_runs_over_a_known_path_narrow_its_mean() -> None:
    random = np.random.default_rng(3)
    few, many = (mean_of_path(random.normal(0, 1, (1, count)))[1] for count in (40, 4000))
    assert many == pytest.approx(few / 10, rel=0.2)


def test_a_buffer_that_never_overflowed_is_drawn_above_its_bound(tmp_path: Path) -> None:
    capture = tmp_path / "p.pcapng"
    path = Hypothesis(
        rate_bps=6e6, base_rtt_s=0.08, buffer_packets=500, policy={"kind": "tail-drop"},
        loss={"kind": "bernoulli", "probability": 0.0025}, control="cubic", mss=1448, headers=52, timestamps=True,
        duration_s=8.0,
    )  # fmt: skip
    simulate(path.scenario(), captures={"host:source1": capture})
    found = fit(observe(capture), ["cubic"])
    row = estimates(found)["buffer"]
    assert estimates(found)["loss"]["count"] == found.random_losses > 0
    assert row["high"] is None
    # This is four bandwidth-delay products of 40 packets each.
    assert row["prior_high"] == pytest.approx(160, abs=2)
    random = np.random.default_rng(0)
    scenario = report(found).scenario
    sizes = [drawn(scenario, {"estimates": estimates(found)}, random)["switch.buffer"] for _ in range(50)]
    packets = [int(str(size).split()[0]) for size in sizes]
    assert row["value"] <= min(packets) < max(packets) <= row["prior_high"]


SEVERAL = """
framing = "ip"
duration = "6 s"
warm_up = "1 s"
tcp.profile = "linux-6"
switch.buffer = "1 BDP"
start = { kind = "random", over = "500 ms" }
[network]
kind = "dumbbell"
access_rate = "100 Mbit/s"
trunk_rate = "20 Mbit/s"
trunk_delay = "10 ms"
group = [
  { name = "bulk", count = 4 },
  { name = "web", traffic = { kind = "flow-arrivals", load = 0.3, sizes = { kind = "web-search" } } },
]
"""


def test_goodput_of_several_flows_is_measured_after_the_warm_up(tmp_path: Path) -> None:
    file, picture = tmp_path / "several.toml", tmp_path / "p.svg"
    file.write_text(SEVERAL, encoding="utf-8")
    found = whatif(file, {"switch.buffer": "2 BDP"}, 3, ["bulk=flow:bulk*.throughput", "total=throughput"])
    assert (found.begin_s, found.flows) == (1.0, ("bulk1", "bulk2", "bulk3", "bulk4"))
    goodput, _, _, bulk, _ = found.measures
    assert goodput.baseline[0] == pytest.approx(bulk.baseline[0], rel=0.01)
    asked = ["--measure", "total=throughput", "--measure", "bulk=flow:bulk*.throughput", "--seeds", "3", "-o", picture]
    done = run("whatif", file, "--set", "tcp.congestion=linux-reno", *asked)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("3 pairs of runs; goodput and RTT without the warm-up of 1 s")
    assert lines[1] == "goodput and RTT of 4 flows (bulk1, bulk2, bulk3 and 1 more), without web"
    assert "single changed runs: Student's t interval" in done.stdout
    table = lines[2 : lines.index(next(line for line in lines if line.startswith("single")))]
    # Every cell is whole: the columns that do not fit follow below.
    assert sum(line.startswith("difference") for line in table) == 2
    assert max(map(len, table)) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in done.stdout
    assert all(re.search(r" ±[\d.]+$", line) for line in table if line.startswith(("changed", "difference")))


def test_interval_bounds_have_enough_digits_to_differ() -> None:
    both = (18.998644, 5.4e-5)
    one = ComparedMeasure("goodput", "bit/s", None, both, both, (0.0, 5.4e-5), (18.99859, 18.9987))
    scaled = replace(one, unit="")
    assert _cell(scaled, both) == "18.998644 ±0.000054"
    assert _interval(scaled) == "18.99859 to 18.99870"
    large = replace(scaled, changed=(12645.5, 320.0))
    assert _cell(large, (12645.5, 320.0)) == "12646 ±320"
    assert _cell(large, (-0.4, 320.0), "+") == "+0 ±320"


def over_codel(rate: str, **network: object) -> Scenario:
    """Returns a Reno flow over an AQM with a target of 5 ms, of 52 ms of RTT."""
    fields = {
        "framing": "ip",
        "duration": "15 s",
        "network": {"kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "trunk_rate": rate,
                    "trunk_delay": "25 ms", "access_delay": "0 s", "exit_delay": "0 s", **network},
        "switch": {"buffer": "1000 packets", "policy": {"kind": "codel", "arithmetic": "linux"}},
        "tcp": {"profile": "linux-6", "congestion": "linux-reno", "mss": "1448 B", "receiver_window": "auto"},
    }  # fmt: skip
    return Scenario.model_validate({"defaults": "1996", **fields})


def test_draws_contain_the_aqm_of_a_token_bucket() -> None:
    """CoDel over a token bucket, Linux's tbf, acts as over a link whose target is longer by a packet."""
    link = over_codel("15.8 Mbit/s")
    bucket = {"kind": "tbf", "rate": "15.8 Mbit/s", "burst": "1600 B"}
    shaped = simulate(over_codel("1 Gbit/s", conditioners=[bucket])).flows["throughput_bps"][0]
    random = np.random.default_rng(0)
    drawn_paths = [drawn(link, {"estimates": {}}, random) for _ in range(200)]
    longer = [one["switch.policy.target"] for one in drawn_paths if "switch.policy.target" in one]
    assert 70 < len(longer) < 130
    assert set(longer) == {f"{5_000_000_000 + 1500 * 8 * 10**12 // 15_800_000} ps"}
    alike = simulate(link.with_(**{"switch.policy.target": longer[0]})).flows["throughput_bps"][0]
    assert alike == pytest.approx(shaped, rel=0.003)
    assert simulate(link).flows["throughput_bps"][0] < 0.992 * shaped
