"""`longpipe validate fit`: the random paths, the files and the verdicts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from commands import run as command
from longpipe.errors import ScenarioError
from longpipe_evidence.validate import fit_runs
from longpipe_evidence.validate.fit_criterion import FitCriterion
from longpipe_evidence.validate.fit_judged import judged
from longpipe_evidence.validate.fit_runs import Campaign, collect, missing, window_distance
from longpipe_evidence.validate.linux import MSS, LinuxCase, LinuxRun, seconds
from longpipe_evidence.validate.linux_disciplines import switch_of

SMALL = Campaign(seed=5, paths=2, queues=4, mixed=0, control_paths=1, loss_draws=2, most_s=2.0)


def test_paths_depend_on_the_seed_and_have_each_discipline_equally_often() -> None:
    whole = Campaign()
    assert (whole.paths, whole.queues, whole.control_paths) == (40, 16, 10)
    assert SMALL.case("path", 0) == SMALL.case("path", 0)
    assert SMALL.case("path", 0) != Campaign(seed=6, most_s=2.0).case("path", 0)
    disciplines = [whole.case("queue", number)[0].discipline.split() for number in range(16)]
    assert [words[0] for words in disciplines] == ["codel", "fq_codel", "pie", "red"] * 4
    assert sum("ecn" in words for words in disciplines) == 8
    for number in range(16):
        case = whole.case("queue", number)[0]
        assert switch_of(case.guest["discipline"], 10**7) is not None
        assert seconds(SMALL.case("queue", number)[0].duration) == 2.0


def test_every_control_is_captured_on_the_first_paths_only() -> None:
    assert len([run for run in SMALL.runs("path", 0) if run[1] == 0]) == 12
    assert [run for run in SMALL.runs("path", 1) if run[1] == 0] == [("cubic", 0), ("bbr", 0), ("reno", 0)]
    assert SMALL.case("path", 0, "bbr")[0].capture
    assert not SMALL.case("path", 1, "bbr")[0].capture
    # In further draws, different packets are lost.
    lossy = next(n for n in range(40) if len(Campaign().case("path", n)[0].lose) > 50)
    first, second = (Campaign().case("path", lossy, "bbr", one)[0].lose for one in (0, 1))
    assert first != second


def finished(case: LinuxCase) -> LinuxRun:
    times = [index / 10 for index in range(round(10 * seconds(case.duration)) + 1)]
    zeros: dict[str, Any] = {"flow": 0, "bytes_acked": 0, "srtt_us": 0, "cwnd": 10}
    # One segment is delivered every 100 ms, and none is acknowledged: the first one is missing.
    series = pd.DataFrame({"time_s": times, "delivered": range(len(times)), **zeros})
    return LinuxRun(case, "6.1", series, 0, 0, 0, 0, (0,), (0.0,), pcap=b"capture" if case.capture else None)


def test_an_interrupted_collection_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign(seed=5, paths=1, queues=1, mixed=0, control_paths=0, loss_draws=1, most_s=6.0)

    def interrupted(cases: Sequence[LinuxCase], *, seed: int) -> Iterator[LinuxRun]:
        yield finished(cases[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_runs, "run_each", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect(tmp_path, campaign, print)
    with (tmp_path / "runs.csv").open("a") as opened:
        opened.write("path,0,bb")
    left = [(kind, number, len(runs)) for kind, number, runs in missing(fit_runs.read(tmp_path), campaign)]
    assert left == [("path", 0, 2), ("queue", 0, 1)]
    monkeypatch.setattr(fit_runs, "run_each", lambda cases, seed: map(finished, cases))
    collect(tmp_path, campaign, print)
    assert list(missing(fit_runs.read(tmp_path), campaign)) == []
    captures = sorted(one.name for one in (tmp_path / "captures").iterdir())
    assert captures == ["path-0-cubic.pcap.gz", "queue-0-cubic.pcap.gz"]


def test_linux_goodput_counts_data_that_sack_blocks_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_runs, "run_each", lambda cases, seed: map(finished, cases))
    collect(tmp_path, Campaign(seed=5, paths=1, queues=0, mixed=0, control_paths=0, loss_draws=1, most_s=6.0), print)
    assert set(fit_runs.read(tmp_path)["goodput_mbps"]) == {round(10 * MSS * 8 / 1e6, 4)}


def test_a_folder_of_another_seed_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Campaign(seed=5, paths=1, queues=0, mixed=0, control_paths=0, loss_draws=1, most_s=6.0)
    monkeypatch.setattr(fit_runs, "run_each", lambda cases, seed: map(finished, cases))
    collect(tmp_path, begun, print)
    kept = (tmp_path / "runs.csv").read_bytes()
    for other in (replace(begun, seed=6), replace(begun, most_s=7.0)):
        with pytest.raises(ScenarioError, match=r"of path 0 is .*, with these options .*; needs the --seed and --most"):
            collect(tmp_path, other, print)
    assert (tmp_path / "runs.csv").read_bytes() == kept
    collect(tmp_path, replace(begun, paths=2), print)
    assert len(fit_runs.read(tmp_path)) == 6


def rows(**changes: Any) -> tuple[pd.DataFrame, pd.DataFrame]:  # noqa: ANN401 - the columns' types vary
    """Returns a path (15.14 Mbit/s, 100 ms, 50 packets), and a perfect fit with predictions, changed by `changes`."""
    path = {
        "kind": "path", "number": 0, "draw": 0, "rate": "15140000 bit/s", "round_trip": "100 ms", "buffer": 50,
        "discipline": "pfifo", "duration": "30 s", "police": "-", "jitter": "-", "rates": "-", "others": "-", "loss": 0.0, "drops": 9, "windows": "10 20",
        "goodput_mbps": 14.0, "median_srtt_ms": 120.0,
    }  # fmt: skip
    runs = pd.DataFrame([{**path, "control": control} for control in ("cubic", "bbr", "reno")])
    fit: dict[str, Any] = {
        "kind": "path", "number": 0, "control": "cubic", "queue": "tail-drop", "queue_share": 1.0, "same_queues": "-",
        "sender": "cubic", "sender_share": 0.95, "second": "bic", "second_share": 0.02, "same_senders": "-",
    }  # fmt: skip
    for name, value in {"rate_bps": 15e6, "base_s": 0.1, "buffer": 50.0, "loss": 0.0}.items():
        fit |= {f"{name}_value": value, f"{name}_low": 0.99 * value, f"{name}_high": 1.01 * value}
    for control in ("bbr", "reno"):
        for name, value in {"goodput_mbps": 14.0, "rtt_ms": 120.0}.items():
            fit |= {f"{control}_{name}_{end}": value for end in ("mean", "low", "high")}
            fit[f"{control}_{name}_half"] = 0.1
    for name, one in changes.items():
        if name in path:
            runs[name] = one
        fit[name] = one
    return runs, pd.DataFrame([fit])


def failed(**changes: Any) -> list[str]:  # noqa: ANN401 - the columns' types vary
    return [one.name for one in judged(*rows(**changes)) if one.misses]


def test_a_perfect_fit_meets_every_criterion() -> None:
    assert failed() == []


@pytest.mark.parametrize(
    ("changes", "criterion"),
    [
        ({"rate_bps_value": 15.16e6, "rate_bps_high": 16e6}, "rate within 1 %, or a correct bound"),
        ({"base_s_value": 0.1006, "base_s_high": 0.101}, "base RTT within .5 ms or .5 %"),
        ({"buffer_value": 53.0, "buffer_high": 54.0}, "buffer within 5 % or 2 packets, or a correct bound"),
        ({"buffer_value": 49.0, "buffer_high": math.nan}, "buffer within 5 % or 2 packets, or a correct bound"),
        ({"drops": 0, "buffer_value": 51.0, "buffer_low": 51.0, "buffer_high": math.nan}, "buffer within 5 %"),
        ({"queue": "red"}, "tail drop not mistaken for AQM"),
        ({"rate_bps_low": 15.01e6}, "interval of the rate"),
        ({"loss_low": 0.001, "loss_high": 0.01}, "interval of the loss"),
        ({"sender": "bic"}, "control if its probability is at least 90%"),
        ({"bbr_goodput_mbps_mean": 14.8}, "prediction without random losses"),
        ({"reno_rtt_ms_mean": 105.0}, "prediction without random losses"),
    ],
)
def test_each_deviation_is_counted(changes: dict[str, Any], criterion: str) -> None:
    assert any(name.startswith(criterion) for name in failed(**changes))


def test_a_true_bound_counts_where_the_queue_never_overflowed() -> None:
    found = failed(drops=0, buffer_value=40.0, buffer_low=40.0, buffer_high=math.nan)
    assert found == []


def test_a_lower_bound_of_the_rate_is_right_if_it_is_true() -> None:
    bound: dict[str, Any] = {"rate_bps_high": math.nan, "bbr_goodput_mbps_high": math.nan}
    assert "rate within 1 %, or a correct bound" not in failed(rate_bps_value=3e6, rate_bps_low=3e6, **bound)
    (rate, *_) = judged(*rows(rate_bps_value=3e6, rate_bps_low=3e6, **bound))
    assert rate.note == "lower bounds: 1"
    assert "rate within 1 %, or a correct bound" in failed(rate_bps_value=16e6, rate_bps_low=16e6, **bound)


def test_undetermined_prediction_needs_only_a_true_interval() -> None:
    wide: dict[str, Any] = {"bbr_rtt_ms_mean": 90.0, "bbr_rtt_ms_low": 70.0, "bbr_rtt_ms_high": 150.0, "drops": 0}
    # The buffer is known, so that the prediction is wrong.
    assert "prediction without random losses" in failed(**wide)
    unknown = wide | {"buffer_value": 40.0, "buffer_low": 40.0, "buffer_high": math.nan}
    assert failed(**unknown) == []
    assert "prediction without random losses" in failed(**unknown | {"bbr_rtt_ms_high": 110.0})


def test_control_identical_in_linux_counts_as_correct() -> None:
    runs, fits = rows(sender="linux-reno")
    found = {one.name: one for one in judged(runs, fits)}
    # All three have the same windows.
    assert not found["control if its probability is at least 90%"].misses
    runs.loc[runs["control"] == "reno", "windows"] = "10 25"
    found = {one.name: one for one in judged(runs, fits)}
    assert found["control if its probability is at least 90%"].misses
    assert window_distance("10 20", "10 25") == pytest.approx(math.log(1.25) / 2)


def test_a_fit_needs_its_run() -> None:
    runs, fits = rows()
    with pytest.raises(ScenarioError, match="no run of path 0 cubic, which was fitted"):
        judged(runs[runs["control"] != "cubic"], fits)


def test_a_share_is_required() -> None:
    assert FitCriterion("", 38, 40, 38 / 40, ()).holds
    assert not FitCriterion("", 37, 40, 38 / 40, ()).holds
    assert FitCriterion("", 0, 0, 1.0, ()).holds


def test_judge_and_collect_exclude_each_other(tmp_path: Path) -> None:
    done = command("validate", "fit", str(tmp_path), "--judge", "--collect")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--judge: not together with --collect" in done.stderr


@pytest.mark.parametrize("most", ["abc", "nan"])
def test_maximum_without_a_time_unit_is_rejected(most: str, tmp_path: Path) -> None:
    done = command("validate", "fit", str(tmp_path), "--most", most)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"--most: '{most}'; needs a number of seconds" in done.stderr


def with_losses(linux: list[float], **changes: Any) -> dict[str, FitCriterion]:  # noqa: ANN401 - the types vary
    """Returns the verdicts on a path with random losses, where Linux's runs have these goodputs."""
    runs, fits = rows(loss=0.001, loss_low=0.0005, loss_high=0.002, **changes)
    draws = [runs.assign(draw=draw, goodput_mbps=goodput) for draw, goodput in enumerate(linux)]
    found = judged(pd.concat(draws, ignore_index=True), fits)
    return {one.name: one for one in found}


def test_means_over_random_losses_need_several_runs_of_linux() -> None:
    once = with_losses([11.0])
    mean, single = once["mean prediction with random losses"], once["single runs within the predicted interval"]
    assert (mean.met, mean.of, mean.note) == (0, 0, "paths not judged, with fewer than two runs of Linux: 1")
    assert (single.met, single.of) == (0, 2)


@pytest.mark.parametrize(
    ("linux", "half", "met"),
    [
        # The predicted mean is 14.
        ([13.5, 13.6, 13.4], 0.1, (1, 0)),
        ([13.5, 13.6, 13.4], 0.6, (1, 1)),
        # The prediction is 8 % off, and the interval of Linux's mean is 1 % wide.
        ([12.9, 13.0, 12.9, 13.0], 0.1, (0, 0)),
        # A few runs that differ are no evidence against the prediction.
        ([12.0, 14.0], 0.1, (1, 1)),
        # The predicted mean is a lower bound.
        ([20.0, 20.1, 20.2], math.nan, (0, 1)),
        ([12.9, 13.0, 12.9, 13.0], math.nan, (0, 0)),
    ],
)
def test_means_over_random_losses_count_their_uncertainty(
    linux: list[float], half: float, met: tuple[int, int]
) -> None:
    found = with_losses(linux, **{f"{control}_goodput_mbps_half": half for control in ("bbr", "reno")})
    names = ("mean prediction with random losses", "mean with random losses within its interval")
    assert tuple(found[name].met for name in names) == met


def covered(**changes: Any) -> dict[str, FitCriterion]:  # noqa: ANN401 - the columns' types vary
    """Returns the verdicts on the intervals of a mixed path, which is the perfect fit changed by `changes`."""
    runs, fits = rows(**changes)
    runs["kind"] = fits["kind"] = "mixed"
    fits = fits.assign(**{name: changes.get(name, default) for name, default in MIXED.items()})
    return {one.name: one for one in judged(runs, fits)}


MIXED: dict[str, Any] = {
    "steps": "-", "policer": "-", "jitter_s_value": math.nan, "jitter_s_low": math.nan, "jitter_s_high": math.nan,
    "queue_share": 0.5, "sender_share": 0.5, "bbr_goodput_mbps_low": 13.0, "bbr_goodput_mbps_high": 15.0,
    "reno_goodput_mbps_low": 13.0, "reno_goodput_mbps_high": 15.0,
}  # fmt: skip


def test_coverage_counts_each_interval_that_contains_the_truth() -> None:
    found = covered()
    counts = {name: (one.met, one.of) for name, one in found.items() if name.startswith("coverage")}
    assert counts == {
        "coverage of the rate": (1, 1), "coverage of the base RTT": (1, 1), "coverage of the buffer": (1, 1),
        "coverage of the loss": (1, 1), "coverage of the jitter": (0, 0), "coverage of the predicted goodput": (2, 2),
        "coverage of the predicted median RTT": (2, 2), "coverage together": (8, 8),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "quantity"),
    [
        ({"rate_bps_low": 15.01e6}, "rate"),
        ({"steps": "0:1e6:2e6 5:14.9e6:15.1e6"}, "rate"),
        ({"base_s_low": 0.101, "base_s_high": 0.102}, "base RTT"),
        ({"buffer_low": 51.0, "buffer_high": math.nan}, "buffer"),
        ({"loss_low": 0.001, "loss_high": 0.01}, "loss"),
        ({"jitter_s_low": 0.001, "jitter_s_value": 0.002, "jitter_s_high": 0.003}, "jitter"),
        ({"bbr_goodput_mbps_low": 14.1}, "predicted goodput"),
    ],
)
def test_an_interval_that_misses_the_truth_is_listed(changes: dict[str, Any], quantity: str) -> None:
    assert len(covered(**changes)[f"coverage of the {quantity}"].misses) == 1


def test_rates_are_judged_by_the_period_in_which_they_hold() -> None:
    found = covered(rates="10s:7570000bit/s", steps="0:14.9e6:15.1e6 10.2:7.4e6:7.6e6")
    assert (found["coverage of the rate"].met, found["coverage of the rate"].of) == (2, 2)


@pytest.mark.parametrize(("share", "count"), [(0.98, 0), (0.99, 1)])
def test_only_certain_statements_are_judged(share: float, count: int) -> None:
    wrong = covered(sender="bic", sender_share=share)["statements of at least 98.5%"]
    assert (wrong.of, len(wrong.misses)) == (count, count)


def test_mixed_paths_have_each_complication_equally_often() -> None:
    cases = [Campaign().case("mixed", number)[0] for number in range(60)]
    assert sum(len(case.flows) == 2 for case in cases) == 12
    assert sum(bool(case.police) for case in cases) == 12
    assert sum(case.jitter is not None for case in cases) == 12
    assert sum(bool(case.rates) for case in cases) == 12
    assert sum(case.discipline != "pfifo" for case in cases) == 12
    # A predicted control replaces only that of the captured flow.
    other = Campaign().case("mixed", 0, "bbr")[0]
    assert [flow.control for flow in other.flows] == ["bbr", cases[0].flows[1].control]
    assert not other.capture or cases[0].flows[0].control == "bbr"
