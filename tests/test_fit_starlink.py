"""Tests `longpipe fit --model starlink` with files of synthetic sites whose parameters are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import run
from longpipe import Scenario, ScenarioError, simulate
from longpipe.fit.path_file import write
from longpipe.fit.report import FitReport
from longpipe.fit.starlink import fit_starlink
from longpipe.fit.starlink.losses import fit_losses
from longpipe.fit.starlink.observed import Probes, Transport, observe
from longpipe.fit.starlink.quantiles import INNER, Ends, matched
from longpipe.fit.starlink.slots import shares, slot_of
from longpipe.fit.starlink.transfers import Efficiency, efficiency
from longpipe.fit.whatif import doubts, whatif
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.starlink_draws import PROBABILITIES, parameter_sets
from longpipe_evidence.validate.starlink_sites import drawn_site, intervals, write_site


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns files of throughputs down and up, and of round trips, of a site during three hours."""
    return write_site(drawn_site(3), tmp_path_factory.mktemp("site"), 3.0)


@pytest.fixture(scope="module")
def fitted(files: list[str]) -> FitReport:
    return fit_starlink(files)


def test_intervals_of_a_site_contain_most_true_values(tmp_path: Path) -> None:
    """Of 20 whole days, `longpipe validate starlink-fit` prints the share."""
    found = intervals(11, tmp_path, 6.0)
    assert len(found) >= 20
    assert np.mean([one.is_hit for one in found]) >= 0.8


def test_changes_of_a_fitted_site_are_compared_by_seeds(files: list[str], tmp_path: Path) -> None:
    """With the local time of another side of the Earth, the daily curve is turned around."""
    found = fit_starlink(files[:1], {"network.path.utc_offset": -11.0, "duration": "3 s"})
    assert all(row["value"] >= 0 for row in found.estimates.values())
    write(found, tmp_path / "site.toml")
    compared = whatif(tmp_path / "site.toml", {"tcp.congestion": "bbr"}, 3)
    assert compared.estimates is None
    assert compared.measures[0].changed[0] > 0
    assert list(doubts(compared)) == []
    # Pairs that differ in nothing but the random numbers of a run would have equal RTTs.
    assert compared.measures[1].baseline[1] > 1e-3


def test_a_change_of_the_duration_is_a_doubt(files: list[str], tmp_path: Path) -> None:
    write(fit_starlink(files[:1], {"duration": "2 s"}), tmp_path / "site.toml")
    (said,) = doubts(whatif(tmp_path / "site.toml", {"duration": "1 s"}, 3))
    assert said.startswith("--set duration: only one run of each pair has it")


def test_scenario_of_a_fit_has_the_estimates(fitted: FitReport, tmp_path: Path) -> None:
    write(fitted, tmp_path / "site.toml")
    scenario = Scenario.from_toml((tmp_path / "site.toml").read_text(encoding="utf-8"))
    assert scenario.digest() == fitted.scenario.digest()
    network: Any = scenario.network
    assert isinstance(network.path, Starlink)
    assert network.path.begin == "2023-10-01T00:00:00"
    assert float(network.trunk_rate.split()[0]) == pytest.approx(
        fitted.estimates["down_rate 50%"]["value"] / 1e6, rel=1e-3
    )
    assert simulate(scenario.with_(duration="5 s"), seed=1).total_bps > 1e6


def test_parameters_without_measurements_are_named(files: list[str]) -> None:
    found = fit_starlink(files[:1])
    assert {name.partition(" ")[0] for name in found.estimates} <= {"down_rate", "daily", "noise"}
    said = " ".join(found.undetermined)
    for name in ("base RTTs", "up_rate", "outages", "limits of the queues"):
        assert name in said


def test_known_fields_are_kept(files: list[str], fitted: FitReport) -> None:
    known = {"network.path.change": 0.5, "network.path.utc_offset": -8.0, "network.access_delay": "2 ms"}
    found = fit_starlink(files[2:], known)
    network: Any = found.scenario.network
    assert (network.path.change, network.path.utc_offset, network.access_delay) == (0.5, -8.0, "2 ms")
    assert "change" not in found.estimates
    # A shorter way to the server leaves more of the round trip to the path.
    base_s = fitted.estimates["base_rtt 50%"]["value"]
    assert found.estimates["base_rtt 50%"]["value"] == pytest.approx(base_s + 6e-3, abs=3e-4)


def test_command_prints_and_writes_the_fit(files: list[str], tmp_path: Path) -> None:
    output = tmp_path / "site.toml"
    done = run("fit", "--model", "starlink", *files[:2], "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "down_rate 50%" in done.stdout
    assert "cannot tell which satellites served the site" in done.stdout
    assert run("run", str(output), "--set", 'duration="1 s"').returncode == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "oneweb"), "--model: 'oneweb'; "),
        (("--model", "starlink", "--flow", "1"), "--flow: together with --model"),
        (("--model", "starlink", "--controls", "bbr"), "--controls: together with --model"),
        ((), "FILE: 3 files; needs one, or --model starlink"),
    ],
)
def test_unsuitable_options_are_rejected(files: list[str], options: tuple[str, ...], said: str) -> None:
    done = run("fit", *files, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_files_without_absolute_times_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "ping.txt"
    file.write_text("64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=20.1 ms\n" * 3)
    with pytest.raises(ScenarioError, match="without absolute times; needs them, because the slots are those of UTC"):
        fit_starlink([str(file)])


def test_two_targets_are_rejected(files: list[str], tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(
        Path(files[2]).read_text(encoding="utf-8")[:20_000].replace("192.0.2.1", "192.0.2.9").rpartition("\n")[0]
    )
    with pytest.raises(
        ScenarioError, match=r"round trips to 192\.0\.2\.9 beside those to 192\.0\.2\.1; needs one target"
    ):
        observe([files[2], str(other)])


def test_slots_begin_at_12_seconds_of_a_minute() -> None:
    assert slot_of(np.array([11.9, 12.0, 26.9, 27.0])).tolist() == [-1, 0, 0, 1]
    assert shares(20.0, 35.0) == pytest.approx([7 / 15, 8 / 15])
    assert shares(12.0, 27.0, first=0.0)[0] == pytest.approx(14 / 15)


def test_matched_quantiles_undo_a_known_variation() -> None:
    random = np.random.default_rng(1)
    true = np.array([10.0, 12.0, 20.0, 25.0, 31.0, 40.0, 44.0])
    levels, noise = random.random(200_000), random.uniform(0, 8, 200_000)
    measured = np.quantile(np.interp(levels, PROBABILITIES, true) + noise, INNER)
    found = matched(measured, lambda quantiles: np.interp(levels, PROBABILITIES, quantiles) + noise, Ends.of(true))
    assert found == pytest.approx(true[1:-1], abs=0.15)


def test_outages_follow_from_probes_lost_in_succession() -> None:
    """Outages of 0.8 s on average every 100 s, and a probe each 0.2 s."""
    random = np.random.default_rng(2)
    times = np.arange(0, 100_000, 0.2)
    begins = np.cumsum(random.exponential(100, 1500))
    lengths = random.exponential(0.8, 1500)
    place = np.searchsorted(begins, times, side="right") - 1
    is_lost = (place >= 0) & (times < begins[place] + lengths[place])
    probes = Probes(
        "file", "target", times[~is_lost], np.full(int((~is_lost).sum()), 0.03), None, times[is_lost], False
    )
    found = fit_losses([probes], 0.13, 0.0)
    assert found is not None
    low, high = np.quantile(found.outage_draws, (0.001, 0.999), axis=0)
    assert low[0] < 100.8 < high[0]
    assert low[1] < 0.8 < high[1]
    assert high[1] / low[1] < 1.5


def test_goodput_of_one_cubic_flow_does_not_follow_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longpipe.fit.starlink.transfers.RUNS", 3)
    path = {"kind": "starlink", **{name: parameter_sets()[2023][name] for name in ("down_rate", "up_rate")}}
    scenario = Scenario.example("starlink")
    assert not efficiency(scenario, path, "down", Transport("cubic", 1), 10.0).follows
    bbr = efficiency(scenario, path, "down", Transport("bbr", 1), 10.0)
    assert bbr.follows
    assert 0.6 < bbr.mean < 1


def test_transfers_that_do_not_follow_the_rate_are_not_used(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daily curve of a goodput that does not depend on the rate is not that of the rate."""
    monkeypatch.setattr("longpipe.fit.starlink.path.efficiency", lambda *_: Efficiency(0.2, 0.01, follows=False))
    file = tmp_path / "cubic.json"
    text = Path(files[0]).read_text(encoding="utf-8").replace('"protocol": "UDP"', '"protocol": "TCP"')
    file.write_text(text.replace('"end": {"streams"', '"end": {"sender_tcp_congestion": "cubic", "streams"'))
    found = fit_starlink([str(file)])
    assert list(found.estimates) == ["down_rate"]
    assert found.estimates["down_rate"]["high"] is None
    (said,) = (text for text in found.undetermined if text.startswith("down_rate: "))
    assert "1 connection of cubic would not be much faster on a path with twice the rate" in said


def test_offers_below_the_rate_are_lower_bounds(files: list[str], tmp_path: Path) -> None:
    tests = [json.loads(line) for line in Path(files[0]).read_text(encoding="utf-8").splitlines()]
    for test in tests:
        test["end"]["streams"][0]["udp"]["lost_packets"] = 0
    file = tmp_path / "slow.json"
    file.write_text("\n".join(map(json.dumps, tests)))
    found = fit_starlink([str(file)])
    assert found.estimates["down_rate"]["high"] is None
    assert any("tests of UDP offered less than the path carries" in text for text in found.undetermined)
