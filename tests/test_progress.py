import time
from io import StringIO

import pytest
from rich.console import Console

from longpipe.cli.toolkit import progress
from longpipe.cli.toolkit.progress import Bar
from longpipe.study import Progress


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_campaign_without_a_terminal_reports_progress_each_minute(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Bar("sweep") as bar:
        bar.update(Progress(wanted=1000, stored=100))
        for done in range(1, 151):
            clock.now_s = 1.0 * done
            bar.update(
                Progress(wanted=1000, stored=100, done=done - 3 if done > 100 else done, failed=3 * (done > 100))
            )
    # The first line is printed as soon as the range of the remaining time is known; here the range has no width.
    assert capsys.readouterr().err == (
        "sweep: 108 of 1000 runs, 1.0 runs/s, 15 min left\n"
        "sweep: 169 of 1000 runs, 1.0 runs/s, 14 min left\n"
        "sweep: 230 of 1000 runs, 1.0 runs/s, 13 min left, 3 failed\n"
    )


def test_the_remaining_time_has_a_range(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("sweep") as bar:
        bar.update(Progress(wanted=100, stored=0))
        for done in range(1, 11):
            clock.now_s += 5.0 + 4 * (-1) ** done
            bar.update(Progress(wanted=100, stored=0, done=done, bound="at most"))
    # The margin is that of a ratio estimator: t with 7 degrees of freedom, a deviation of 4/5 of the mean, and 8
    # finished groups before 92 remaining ones.
    margin = 2.36 * (8 * 8 * 16 / 7 * (1 + 8 / 92)) ** 0.5 / 40
    low, high = 460 / (1 + margin), 460 * (1 + margin)
    assert capsys.readouterr().err == (
        f"sweep: 8 of at most 100 runs, 12 runs/min, at most 8 min left ({low / 60:.0f} to {high / 60:.0f} min)\n"
    )


def test_earlier_limit_replaces_the_remaining_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("advise") as bar:
        bar.update(Progress(wanted=1000, stored=0))
        for done, limit_s in ((100, 120.0), (200, 1000.0)):
            clock.now_s += 100
            bar.update(Progress(wanted=1000, stored=0, done=done, bound="at least", limit_s=limit_s))
    assert capsys.readouterr().err == (
        "advise: 100 of at least 1000 runs, 1.0 runs/s, the budget ends the runs in 2 min\n"
        "advise: 200 of at least 1000 runs, 1.0 runs/s, at least 13 min left\n"
    )


@pytest.mark.parametrize(
    ("left", "bound", "expected"),
    [
        (5.5e-15, "at least", "30 runs/min"),
        (5.5e-15, "", "30 runs/min, 0 s left"),
        (0.6, "at least", "30 runs/min, at least 1 s left"),
        (2.4, "about", "30 runs/min, about 5 s left"),
    ],
)
def test_remaining_times_are_whole_seconds(
    left: float, bound: str, expected: str, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Bar("advise") as bar:
        bar.update(Progress(wanted=96, stored=0))
        clock.now_s = 2 * 96
        bar.update(Progress(wanted=96, stored=0, done=96, worked=96.0, left=left, bound=bound))
    found = f"{bound} 96" if bound else "96"
    assert capsys.readouterr().err == f"advise: 96 of {found} runs, {expected}\n"


@pytest.mark.parametrize(
    ("done", "seconds", "expected"),
    [
        (5000, 100, "50 runs/s, 2 min left"),
        (90, 180, "30 runs/min, 5.5 h left"),
        (1, 1800, "2.0 runs/h, 208 days left"),
    ],
)
def test_rate_is_shown_in_a_suitable_unit(
    done: int, seconds: float, expected: str, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Bar("sweep") as bar:
        bar.update(Progress(wanted=10_000, stored=0))
        clock.now_s = seconds
        bar.update(Progress(wanted=10_000, stored=0, done=done))
    assert capsys.readouterr().err == f"sweep: {done} of 10000 runs, {expected}\n"


def test_a_terminal_shows_runs_rate_time_left_and_failures(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "Console", lambda **options: Console(**options, force_terminal=True, width=100))
    with Bar("sweep") as bar:
        bar.update(Progress(wanted=60, stored=20))
        clock.now_s = 10.0
        bar.update(Progress(wanted=60, stored=20, done=9, failed=1))
    shown = capsys.readouterr().err
    assert "sweep" in shown
    assert "30 of 60 runs, 1.0 runs/s, 30 s left" in shown
    assert "1 failed" in shown


@pytest.mark.parametrize(("terminal", "said"), [(True, True), (False, False)])
def test_work_of_unknown_length_is_named_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, said: bool
) -> None:
    shown = StringIO()
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=shown, force_terminal=terminal))
    with progress.Waiting("drawing"):
        time.sleep(0.3)
    assert ("drawing" in shown.getvalue()) is said
