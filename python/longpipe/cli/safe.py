"""Output to terminals: control characters in names are shown as escapes, because a terminal would obey them."""

import re
from collections.abc import Iterable
from typing import Any, Final

import rich.console
from rich.segment import Segment

from longpipe.errors import CONTROLS, plain

# A line ends where a line of output ends.
_WITHIN_LINES: Final = re.compile(rf"(?![\n\t]){CONTROLS.pattern}")


class Console(rich.console.Console):
    """Rich's console, which passes on no control character of a text but the end of a line and the tab."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:  # noqa: ANN401 - as Rich has it
        """Yields the segments of a renderable; styles and cursor movements are Rich's own and stay."""
        for segment in super().render(renderable, options):
            if segment.control is None and _WITHIN_LINES.search(segment.text):
                yield Segment(_WITHIN_LINES.sub(lambda found: plain(found[0]), segment.text), segment.style)
            else:
                yield segment
