"""Output to terminals: control characters in names are shown as escapes, because a terminal would execute them."""

from collections.abc import Iterable
from typing import Any

import rich.console
import typer
from rich.segment import Segment

from longpipe.errors import plain_lines


class Console(rich.console.Console):
    """Rich's console that escapes control characters except line ends and tabs, and keeps names such as ":bomb:".

    Rich would replace these names by emoji; its list of emoji also takes time to import.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as in Rich
        super().__init__(emoji=False, **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:  # noqa: ANN401 - as in Rich
        """Yields the segments of a renderable; styles and cursor movements come from Rich itself and are kept."""
        for segment in super().render(renderable, options):
            if segment.control is None and (plain_text := plain_lines(segment.text)) != segment.text:
                yield Segment(plain_text, segment.style)
            else:
                yield segment


def echo(text: object, *, err: bool = False) -> None:
    """Writes a line to standard output or, if `err`, to standard error."""
    typer.echo(plain_lines(str(text)), err=err)
