"""A progress bar that appears on a terminal after a second, and nowhere else."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

PATIENCE_S = 1.0


class Bar:
    """Context of one run, with `update` as its progress callback."""

    def __init__(self, name: str) -> None:
        self._began_s = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(name, total=1.0)
        self._shown = False

    def update(self, fraction: float) -> None:
        """Shows that this fraction of the work is done [0, 1]."""
        late = time.monotonic() - self._began_s > PATIENCE_S
        if not self._shown and late and self._progress.console.is_terminal:
            self._progress.start()
            self._shown = True
        self._progress.update(self._task, completed=fraction)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._shown:
            self._progress.stop()
