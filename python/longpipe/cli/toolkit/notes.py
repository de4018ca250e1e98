"""Warnings of Python as lines on stderr."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from longpipe.cli.toolkit.safe import echo

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def notes_shown(kind: type[Warning], word: str = "note") -> Iterator[None]:
    """Prints warnings of a category on stderr, each once, after a word."""
    default_show, printed = warnings.showwarning, set[str]()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, kind):
            default_show(message, category, filename, lineno, file, line)
        elif str(message) not in printed:
            printed.add(str(message))
            echo(f"{word}: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", kind)
        warnings.showwarning = show
        yield
