import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from longpipe.analysis.claims import Claim, Condition, CorrelationCondition, Verdict, judge, mean_by_seed
from longpipe.analysis.intervals import estimate

NONE = pd.DataFrame({"seed": [0]})


def condition(*values: float, above: float = -math.inf, below: float = math.inf) -> Condition:
    return Condition("x", pd.Series(values), above=above, below=below)


def test_the_interval_of_the_mean_is_student_s() -> None:
    values = [0.90, 0.94, 0.91, 0.97, 0.93]
    found = estimate(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.mean_low, found.mean_high) == pytest.approx((expected.low, expected.high))


def test_one_more_run_falls_into_its_interval_95_times_in_100() -> None:
    draws = np.random.default_rng(1).normal(0.5, 0.1, size=(4000, 6))
    ranges = [(estimate(row[:5]), row[5]) for row in draws]
    assert sum(found.low <= last <= found.high for found, last in ranges) / len(ranges) == pytest.approx(0.95, abs=0.01)


def test_single_runs_stay_within_bounds_and_one_run_has_no_interval() -> None:
    found = estimate([0.0, 1.0], bounds=(0.0, 1.0))
    assert (found.low, found.high) == (0.0, 1.0)
    assert found.mean_low < 0 < 1 < found.mean_high
    assert math.isnan(estimate([0.5]).low)


@pytest.mark.parametrize(
    ("tested", "verdict"),
    [
        (condition(0.10, 0.11, 0.12, above=0), Verdict.HOLDS),
        (condition(-0.10, -0.11, -0.12, above=0), Verdict.FAILS),
        (condition(-0.10, 0.11, 0.12, above=0), Verdict.UNDECIDED),
        (condition(0.01, 0.02, 0.01, above=-0.06, below=0.06), Verdict.HOLDS),
        (condition(0.10, 0.11, 0.12, above=-0.06, below=0.06), Verdict.FAILS),
        (condition(0.05, 0.06, 0.07, above=-0.06, below=0.06), Verdict.UNDECIDED),
        (condition(0, 0, 0, below=1), Verdict.HOLDS),
        (condition(0, 0, 0, above=0), Verdict.FAILS),
        (condition(0.10, above=0), Verdict.UNDECIDED),
        (condition(0.10, math.nan, 0.12, above=0), Verdict.UNDECIDED),
    ],
)
def test_condition_depends_only_on_its_interval(tested: Condition, verdict: Verdict) -> None:
    assert tested.verdict() is verdict


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([Verdict.HOLDS, Verdict.HOLDS], Verdict.HOLDS),
        ([Verdict.HOLDS, Verdict.UNDECIDED], Verdict.UNDECIDED),
        ([Verdict.UNDECIDED, Verdict.FAILS], Verdict.FAILS),
        ([Verdict.HOLDS, Verdict.FAILS], Verdict.IN_PART),
        ([Verdict.HOLDS, Verdict.UNDECIDED, Verdict.FAILS], Verdict.IN_PART),
    ],
)
def test_claim_has_the_combined_verdict_of_its_conditions(parts: list[Verdict], verdict: Verdict) -> None:
    examples = {
        Verdict.HOLDS: condition(1.0, 1.1, above=0),
        Verdict.UNDECIDED: condition(-1.0, 1.0, above=0),
        Verdict.FAILS: condition(-1.0, -1.1, above=0),
    }
    claim = Claim("x-1", "text", lambda _: [examples[part] for part in parts], published=False)
    assert judge(claim, NONE, NONE).verdict is verdict


def test_limits_of_longpipe_are_scaled_about_their_neutral_value() -> None:
    ratio = condition(1.15, 1.15, below=1.2)
    assert ratio.scaled(0.5) == ratio
    own = replace(ratio, neutral=1.0)
    assert (own.scaled(0.5).below, own.scaled(2.0).below) == pytest.approx((1.1, 1.4))
    assert own.scaled(0.5).above == -math.inf
    finding = own.finding()
    assert (finding.half, finding.verdict, finding.twice) == (Verdict.FAILS, Verdict.HOLDS, Verdict.HOLDS)
    both = Claim("x-1", "text", lambda _: [own, condition(1.0, 1.1, above=0)], published=False)
    assert judge(both, NONE, NONE).scaled == "With longpipe's own limits at half their size: in part; at twice: holds."
    stated = Claim("x-2", "text", lambda _: [ratio], published=False)
    assert judge(stated, NONE, NONE).scaled == ""


def test_evidence_gives_limits_mean_interval_and_the_published_number() -> None:
    runs = pd.DataFrame({"seed": [1, 2, 3], "efficiency": [0.5, 0.6, 0.7]})
    published = pd.DataFrame({"seed": [0], "efficiency": [0.81]})
    claim = Claim("x-1", "text", lambda frame: [Condition("E", mean_by_seed(frame, "efficiency"), above=0.4)])
    assert judge(claim, runs, published).evidence == ("E > 0.400: 0.600 [0.352, 0.848], published 0.810",)
    assert condition(0.01, 0.01, above=-0.06, below=0.06).evidence() == "-0.060 < x < 0.060: 0.010 [0.010, 0.010]"


def test_an_interval_stays_within_the_range_of_the_quantity() -> None:
    correlations = pd.Series([-1.0, -0.8, -0.9])
    unlimited = Condition("r", correlations, below=-0.8)
    assert unlimited.interval()[0] < -1
    limited = CorrelationCondition("r", correlations, below=-0.8)
    assert limited.interval() == (-1.0, unlimited.interval()[1])
    assert limited.finding().low == -1.0
    assert limited.evidence() == "r < -0.800: -0.900 [-1, -0.652]"
    assert CorrelationCondition("r", correlations[:1]).evidence() == "r > -inf: -1"


def test_a_mean_over_configurations_is_taken_seed_by_seed() -> None:
    runs = pd.DataFrame(
        {"seed": [1, 1, 2, 2, 2], "policy": ["epd", "epd", "epd", "epd", "fba"], "fairness": [0.1, 0.3, 0.5, 0.7, 9.0]}
    )
    assert mean_by_seed(runs, "fairness", policy="epd").to_dict() == pytest.approx({1: 0.2, 2: 0.6})
    with pytest.raises(ValueError, match="no run has policy = red"):
        mean_by_seed(runs, "fairness", policy="red")


def test_mean_by_seed_omits_seeds_with_missing_runs() -> None:
    runs = pd.DataFrame([("lan", 1, 0.2), ("wan", 1, 0.4), ("lan", 2, 0.6)], columns=["network", "seed", "efficiency"])
    assert mean_by_seed(runs, "efficiency").to_dict() == pytest.approx({1: 0.3})
    assert mean_by_seed(runs, "efficiency", network="lan").to_dict() == pytest.approx({1: 0.2, 2: 0.6})
