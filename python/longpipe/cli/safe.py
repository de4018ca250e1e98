"""Output to terminals: control characters in names are shown as escapes, because a terminal would execute them."""

from collections.abc import Iterable
from typing import Any

import rich.console
import typer
from rich.segment import Segment

from longpipe.errors import plain_lines


class Console(rich.console.Console):
    """Rich's console that escapes all control characters in text except line ends and tabs."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:  # noqa: ANN401 - as in Rich
        """Yields the segments of a renderable; styles and cursor movements come from Rich itself and are kept."""
        for segment in super().render(renderable, options):
            if segment.control is None and (shown := plain_lines(segment.text)) != segment.text:
                yield Segment(shown, segment.style)
            else:
                yield segment


def echo(text: object, *, err: bool = False) -> None:
    """Writes a line to standard output or, if `err`, to standard error."""
    typer.echo(plain_lines(str(text)), err=err)
