"""Progress bars on terminals, shown after one second; elsewhere a line per minute for campaigns."""

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from longpipe.cli.safe import Console
from longpipe.errors import plain

# Import for type checking only: studies take a second to load, and most operations end before their bar is shown.
if TYPE_CHECKING:
    from rich.progress import Progress as Display
    from rich.progress import ProgressColumn

    from longpipe.study import Progress

PATIENCE_S = 1.0
REPORT_S = 60.0


class _Shown:
    """Context of a long operation; `_show` displays the bar on a terminal after a delay."""

    def __init__(self, name: str, **fields: Any) -> None:  # noqa: ANN401 - further fields of the columns
        self._name = name
        self._fields = fields
        self._began_s = time.monotonic()
        self._console = Console(stderr=True)
        self._display: Display | None = None

    def _columns(self) -> Sequence["ProgressColumn"]:
        raise NotImplementedError

    def _show(self, completed: float, total: float, **fields: Any) -> None:  # noqa: ANN401 - as in `add_task`
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
    """Context of work of unknown length; after a second it shows the current activity on a terminal."""

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
    """Context of one run; `update` is its progress callback."""

    def _columns(self) -> Sequence["ProgressColumn"]:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

        name = TextColumn("{task.description}", markup=False)
        return name, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()

    def update(self, fraction: float) -> None:
        """Shows the completed fraction of the work [0, 1]."""
        self._show(fraction, 1.0)


class Bar(_Shown):
    """Context of a campaign; `update` is its progress callback and shows runs, rate, remaining time and failures."""

    def __init__(self, name: str) -> None:
        super().__init__(name, runs="", failed="")
        self._began: Progress | None = None
        self._told_s = self._began_s

    def _columns(self) -> Sequence["ProgressColumn"]:
        from rich.progress import BarColumn, TextColumn

        name = TextColumn("{task.description}", markup=False)
        return name, BarColumn(), TextColumn("{task.fields[runs]}"), TextColumn("[red]{task.fields[failed]}")

    def update(self, now: "Progress") -> None:
        """Shows the progress of the campaign."""
        # A campaign that grows starts again with its stored runs.
        if self._began is None or now.stored != self._began.stored:
            self._began, self._since_s = now, time.monotonic()
        runs, failed = self._runs(now), f"{now.failed} failed" if now.failed else ""
        self._show(now.ended, now.wanted, runs=runs, failed=failed)
        if not self._console.is_terminal and time.monotonic() > self._told_s + REPORT_S:
            self._told_s = time.monotonic()
            told = [f"{self._name}: {runs}", failed] if failed else [f"{self._name}: {runs}"]
            self._console.print(", ".join(told), markup=False, highlight=False, soft_wrap=True)

    def _runs(self, now: "Progress") -> str:
        counts = f"{now.ended} of {now.wanted} runs"
        ran, seconds = now.done + now.failed, time.monotonic() - self._since_s
        if not ran:
            return counts
        # Imported only here, because at this point the caller of a campaign has already loaded studies.
        from longpipe.design.cost import duration_text

        left_s = (now.wanted - now.ended) * seconds / ran
        return f"{counts}, {_rate(ran / seconds)}, {duration_text(left_s)} left"


def _rate(per_s: float) -> str:
    unit, per = next(((u, per_s * s) for u, s in (("s", 1), ("min", 60)) if per_s * s >= 1), ("h", per_s * 3600))
    return f"{per:.0f} runs/{unit}" if per >= 10 else f"{per:.1f} runs/{unit}"
