"""Progress bars on terminals, shown after one second; elsewhere a line per minute for campaigns."""

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from longpipe.cli.toolkit.safe import Console
from longpipe.errors import plain

# Import for type checking only: studies take a second to load, and most operations end before their bar is shown.
if TYPE_CHECKING:
    from rich.progress import Progress as Display
    from rich.progress import ProgressColumn

    from longpipe.study import Progress
    from longpipe.study.remaining import Remaining

PATIENCE_S = 1.0
REPORT_S = 60.0
TICK_S = 1.0
# Time and number of finished runs after which a campaign that takes more than a minute prints its first line, if the
# output is no terminal. They suffice to estimate the range of its duration.
FIRST_REPORT_S = 5.0
FEWEST_RUNS = 8


class _Shown:
    """Context for a long operation; `_show` displays the bar on a terminal after a delay."""

    def __init__(self, name: str, **fields: Any) -> None:  # noqa: ANN401 - further fields of the columns
        self._name = name
        self._fields = fields
        self._began_s = time.monotonic()
        self._console = Console(stderr=True)
        self._display: Display | None = None

    def _columns(self) -> Sequence["ProgressColumn"]:
        raise NotImplementedError

    def _show(self, completed: float, total: float, **fields: Any) -> None:  # noqa: ANN401 - as in `add_task`
        """Updates the display, which appears after `PATIENCE_S` in a terminal."""
        late = time.monotonic() - self._began_s > PATIENCE_S
        if self._display is None and late and self._console.is_terminal:
            from rich.progress import Progress as Display

            self._display = Display(*self._columns(), console=self._console, transient=True)
            self._task = self._display.add_task(self._name, total=None, **self._fields)
            self._display.start()
        if self._display is not None:
            self._display.update(self._task, completed=completed, total=total, **fields)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop()


class Waiting:
    """Context for work of unknown length; after a second it shows the current activity on a terminal."""

    def __init__(self, doing: str) -> None:
        self._console = Console(stderr=True)
        self._status = self._console.status(plain(doing))
        self._timer = threading.Timer(PATIENCE_S, self._status.start)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._status.stop()


class RunBar(_Shown):
    """Context for one run; `update` is its progress callback."""

    def _columns(self) -> Sequence["ProgressColumn"]:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

        name = TextColumn("{task.description}", markup=False)
        return name, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()

    def update(self, fraction: float) -> None:
        """Shows the completed fraction of the work [0, 1]."""
        self._show(fraction, 1.0)


class Bar(_Shown):
    """Context for a campaign; `update` is its progress callback and shows runs, rate, remaining time and failures."""

    def __init__(self, name: str) -> None:
        super().__init__(name, runs="", failed="")
        self._remaining: Remaining | None = None
        self._told_s: float | None = None
        self._now: Progress | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        # Runs may take longer than the interval of the lines.
        self._clock = threading.Thread(target=self._tick, name="longpipe-progress", daemon=True)

    def __enter__(self) -> Self:
        self._clock.start()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._clock.join()
        super().__exit__(kind, error, traceback)

    def _tick(self) -> None:
        while not self._ended.wait(TICK_S):
            with self._lock:
                if self._now is not None:
                    self._tell(self._now)

    def _columns(self) -> Sequence["ProgressColumn"]:
        from rich.progress import BarColumn, TextColumn

        name = TextColumn("{task.description}", markup=False)
        return name, BarColumn(), TextColumn("{task.fields[runs]}"), TextColumn("[red]{task.fields[failed]}")

    def update(self, now: "Progress") -> None:
        """Shows the progress of the campaign."""
        # Imported here because at this point the caller of a campaign has already loaded studies.
        from longpipe.study.remaining import Remaining

        with self._lock:
            if self._remaining is None:
                self._remaining = Remaining(time.monotonic)
            self._remaining.update(now)
            self._now = now
            self._tell(now)

    def _tell(self, now: "Progress") -> None:
        runs, failed = self._runs(now), f"{now.failed} failed" if now.failed else ""
        self._show(now.ended, now.wanted, runs=runs, failed=failed)
        if not self._console.is_terminal and self._is_time(now):
            self._told_s = time.monotonic()
            parts = [f"{self._name}: {runs}", failed] if failed else [f"{self._name}: {runs}"]
            self._console.print(", ".join(parts), markup=False, highlight=False, soft_wrap=True)

    def _is_time(self, now: "Progress") -> bool:
        """Returns whether a line is due: the first as soon as the duration can be estimated, then one per minute."""
        if self._told_s is not None:
            return time.monotonic() > self._told_s + REPORT_S
        since_s = time.monotonic() - self._began_s
        left = self._remaining.left() if self._remaining is not None else None
        is_long = left is not None and left.expected_s > REPORT_S and now.done + now.failed >= FEWEST_RUNS
        return since_s > REPORT_S or (is_long and since_s > FIRST_REPORT_S)

    def _runs(self, now: "Progress") -> str:
        """Returns the progress of a campaign: numbers of runs, rate, and remaining time."""
        # Imported here because at this point the caller of a campaign has already loaded studies.
        from longpipe.design.cost import duration_text

        bound = f"{now.bound} " if now.bound else ""
        counts = f"{now.ended} of {bound}{now.wanted} runs"
        left_s = self._remaining.left() if self._remaining is not None else None
        if left_s is None:
            return counts
        if left_s.expected_s > now.limit_s:
            limit = duration_text(round(now.limit_s))
            return f"{counts}, {_rate(left_s.runs_per_s)}, the budget ends the runs in {limit}"
        # Fractions of a second are too uncertain to show; less than half a second says nothing about a minimum.
        if now.bound == "at least" and left_s.high_s < 0.5:
            return f"{counts}, {_rate(left_s.runs_per_s)}"
        left, low, high = (
            duration_text(round(seconds)) for seconds in (left_s.expected_s, left_s.low_s, left_s.high_s)
        )
        has_range = low != high and round(left_s.low_s) > 0
        between = f" ({low.removesuffix(high[high.index(' ') :])} to {high})" if has_range else ""
        return f"{counts}, {_rate(left_s.runs_per_s)}, {bound}{left} left{between}"


def _rate(per_s: float) -> str:
    unit, per = next(((u, per_s * s) for u, s in (("s", 1), ("min", 60)) if per_s * s >= 1), ("h", per_s * 3600))
    return f"{per:.0f} runs/{unit}" if per >= 10 else f"{per:.1f} runs/{unit}"
