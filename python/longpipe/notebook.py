"""What Jupyter notebooks show: building blocks of the objects' HTML representations, and progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from longpipe.errors import plain

if TYPE_CHECKING:
    from longpipe.study.progress import Progress

# Time [s] after which a progress bar appears, and minimum time between two of its updates.
PATIENCE_S: Final = 1.0
_UPDATE_INTERVAL_S: Final = 0.2


def escape(text: str) -> str:
    """Returns a text with the special characters of HTML escaped."""
    # Imported here because the table of entities takes 2 ms.
    from html import escape as escaped

    return escaped(text)


def paragraph(lines: Iterable[str]) -> str:
    """Returns lines of text as a paragraph; the first line is bold."""
    first, *following = (escape(plain(line)) for line in lines)
    return f"<p>{'<br>'.join([f'<b>{first}</b>', *following])}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table of texts as HTML."""

    def row(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(plain(str(cell)))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(heads, 'th')}</thead><tbody>{body}</tbody></table>"


def folded(summary: str, text: str) -> str:
    """Returns preformatted text in a collapsed section."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class Bar:
    """Context for a long operation in a notebook: a progress bar that appears after a second and is then removed."""

    def __init__(self, name: str) -> None:
        self._name, self._began_s = name, time.monotonic()
        self._shown_s = -PATIENCE_S
        # Handle of the bar's output cell, and IPython's class of HTML texts; set when the bar appears.
        self._display: Any = None
        self._html: Callable[[str], Any] = str

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.update(self._html(""))

    def update(self, fraction: float) -> None:
        """Shows the completed fraction, 0 to 1."""
        self._show(fraction, "")

    def update_runs(self, now: Progress) -> None:
        """Shows the progress of a campaign."""
        failed = f", {now.failed} failed" if now.failed else ""
        self._show(now.ended / max(now.wanted, 1), f"{now.ended} of {now.wanted} runs{failed}")

    def _show(self, fraction: float, progress: str) -> None:
        """Displays or updates the bar, unless it is too early; `progress` replaces the percentage unless it is ""."""
        now_s = time.monotonic()
        if now_s < self._began_s + PATIENCE_S or now_s < self._shown_s + _UPDATE_INTERVAL_S:
            return
        self._shown_s = now_s
        left = f", {(now_s - self._began_s) * (1 - fraction) / fraction:.0f} s left" if fraction > 0 else ""
        text = escape(f"{self._name}: {progress or f'{fraction:.0%}'}{left}")
        shown = f'<progress value="{fraction:.4f}" max="1"></progress> {text}'
        if self._display is None:
            # Only a notebook has IPython, which is not a dependency of longpipe.
            ipython = import_module("IPython.display")
            self._html = ipython.HTML
            self._display = ipython.display(self._html(shown), display_id=True)
        else:
            self._display.update(self._html(shown))
