"""What a picture declares for the command line, comparisons and overlays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.ports import Use
from longpipe.pictures.recorded import Run

Span = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A quantity of one flow over time, which an overlay draws as a line."""

    # Reads the quantity from a run, its column, and its name.
    read: Callable[[Run, str, Span], pd.DataFrame]
    column: str
    called: str
    # Column of the picture's first trace by which the largest flows are selected, and their description.
    size: str
    largest: str
    # What a flow without a line lacks, and the function that returns the rows of the trace that are drawn.
    lacks: str
    rows: Callable[[Run, Span | None], pd.DataFrame]
    # Whether the quantity is a time, drawn as dots in milliseconds, instead of bytes, drawn as steps.
    in_ms: bool = False


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of picture.

    Only pictures with a `title` can be compared in panels; those with an argument `runs` draw several runs themselves.
    """

    draw: Callable[..., Figure]
    # What one panel shows: a single flow, several flows, a port, or the links of a scenario without a run.
    of: Literal["flow", "flows", "port", "links"]
    # Traces; the first is required, the others add detail.
    traces: tuple[str, ...] = ()
    # Title of a comparison, in which {of} becomes the selected flows.
    title: str = ""
    # Rows of the trace of a picture of a single flow, and what a flow without such rows lacks.
    rows: Callable[[Run, Span | None], pd.DataFrame] | None = None
    lacks: str = ""
    # Whether a flow without a TCP sender has nothing to draw.
    needs_sender: bool = False
    # Line of a flow in an overlay; for an overlay of runs also the sum of all flows or the queue of a port.
    line: Line | None = None
    adds_flows: bool = False
    # Reason for which the flows of one run cannot be lines on common axes; empty for a picture that always does so.
    no_overlay: str = ""
    # Whether flows can be selected; a picture that stacks all of them accepts none.
    selects_flows: bool = True
    # Use of ports, which selects the port that is shown by default.
    use: Use | None = None
    # Size of each flow in a time span at a port, by which a comparison selects flows, and its description.
    sizes: Callable[[Run, Span, str | None], pd.Series] | None = None
    largest: str = ""
    # Returns what the title of a panel adds in a comparison with the given flows.
    remark: Callable[[Axes, Sequence[str]], str] = lambda _panel, _flows: ""

    @property
    def options(self) -> Mapping[str, object]:
        """Returns the parameters of the picture, by name."""
        return signature(self.draw).parameters

    @property
    def draws_runs(self) -> bool:
        """Returns whether the picture draws several runs as lines by itself."""
        return "runs" in self.options
