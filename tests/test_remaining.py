"""Remaining time of campaigns: its estimate and its range, computed from runs of different lengths."""

import numpy as np
import pytest

from longpipe.study import Progress
from longpipe.study.remaining import Left, Remaining


def left_of(work: list[float], seconds: list[float], ended: int, **more: object) -> Left:
    """Returns the estimate after `ended` of the runs; `seconds` contains the duration of each run."""
    now_s = 0.0
    remaining = Remaining(lambda: now_s)
    remaining.update(Progress(len(work), 0))
    for done in range(1, ended + 1):
        now_s += seconds[done - 1]
        parts = sum(work[:done]), sum(work[done:])
        remaining.update(Progress(len(work), 0, done, worked=parts[0], left=parts[1], **more))  # type: ignore[arg-type]
    found = remaining.left()
    assert found is not None
    return found


def test_runs_count_by_their_work() -> None:
    """Ten runs take 1 s each; then ten take five times as long, in proportion to their work."""
    found = left_of([0.1] * 10 + [0.5] * 10, [1.0] * 10, 10)
    assert (found.expected_s, found.low_s, found.high_s) == pytest.approx((50.0, 50.0, 50.0))
    assert found.runs_per_s == pytest.approx(1.0)


def test_without_work_runs_count_equally() -> None:
    found = left_of([0.0] * 20, [2.0] * 5, 5)
    assert found.expected_s == pytest.approx(30.0)


@pytest.mark.parametrize(("spread", "ended"), [(0.3, 12), (0.8, 40)])
def test_the_range_holds_the_remaining_time_as_often_as_stated(spread: float, ended: int) -> None:
    rng = np.random.default_rng(1)
    held, ratios = 0, []
    for _ in range(200):
        work = rng.uniform(0.5, 2.0, 100)
        # The ratio of seconds to work varies lognormally from run to run.
        seconds = 3.0 * work * np.exp(rng.normal(0, spread, 100))
        found, actual = left_of(list(work), list(seconds), ended), seconds[ended:].sum()
        held += found.low_s <= actual <= found.high_s
        ratios.append(found.expected_s / actual)
    # If the true coverage is 95 %, it is at least 90 % here with a probability of 0.999.
    assert held >= 180
    # The range is within a factor of 1.5, as can be expected from 12 runs.
    assert np.quantile(ratios, [0.05, 0.95]) == pytest.approx([1.0, 1.0], abs=0.5)


def test_few_runs_have_no_range_of_remaining_time() -> None:
    now_s = 0.0
    remaining = Remaining(lambda: now_s)
    assert remaining.left() is None
    remaining.update(Progress(10, 0))
    for done in (1, 2, 3):
        now_s += done
        remaining.update(Progress(10, 0, done))
    assert remaining.left() == Left(14.0, 14.0, 14.0, 0.5)
    # The campaign is extended after a pause, which is not part of any run's time.
    now_s += 100
    remaining.update(Progress(30, 3))
    assert remaining.left() == Left(54.0, 54.0, 54.0, 0.5)


def test_decisions_that_determine_the_number_of_runs_widen_the_range() -> None:
    found = left_of([1.0] * 20, [1.0] * 10, 10, spread=(0.5, 3.0))
    assert (found.expected_s, found.low_s, found.high_s) == pytest.approx((10.0, 5.0, 30.0))


def test_runs_in_progress_are_half_done() -> None:
    """Two workers end runs of 2 s alternately, one each second."""
    found = left_of([1.0] * 20, [2.0, *[1.0] * 19], 4, executing=2)
    assert found.expected_s == pytest.approx(15.0, rel=0.01)


def test_waiting_does_not_count_as_run_time() -> None:
    now_s = 0.0
    remaining = Remaining(lambda: now_s)
    remaining.update(Progress(10, 0))
    for done, (passed_s, waited_s) in enumerate([(61.0, 60.0), (1.0, 60.0), (31.0, 90.0)], 1):
        now_s += passed_s
        remaining.update(Progress(10, 0, done - 1, waited_s=waited_s))
        remaining.update(Progress(10, 0, done, waited_s=waited_s))
    assert remaining.left() == Left(7.0, 7.0, 7.0, 1.0)
    # The remaining time decreases while no run ends.
    now_s += 2.0
    assert remaining.left() == Left(5.0, 5.0, 5.0, 1.0)


def test_range_of_irregular_runs_does_not_begin_at_zero() -> None:
    found = left_of([1.0] * 40, [0.01, 9.0] * 8, 16)
    assert 0 < found.low_s < found.expected_s < found.high_s
