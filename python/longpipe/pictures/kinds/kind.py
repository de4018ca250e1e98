"""What a picture declares for the command line, comparisons and overlays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.ports import PortMeasure
from longpipe.pictures.recorded import Run

Span = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A quantity of one flow over time, which an overlay draws as a line."""

    # Returns a frame with the columns "time_s" and `column` of a flow, by its name, in a time span.
    read: Callable[[Run, str, Span], pd.DataFrame]
    column: str
    # Name of the quantity on the axis and in the title.
    label: str
    # Column of the picture's first trace by whose maximum the largest flows are selected, and their description in a
    # note, as in "the 8 of 20 flows with the LARGEST".
    size: str
    largest: str
    # Rows of the trace that are drawn, and what a flow without such rows lacks, as in "no LACKS of any flow".
    rows: Callable[[Run, Span | None], pd.DataFrame]
    lacks: str
    # Whether the quantity is a time, drawn as dots in milliseconds, instead of bytes, drawn as steps.
    in_ms: bool = False


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of picture.

    `compare` draws only kinds with a `title`, each run in a panel of its own. A kind whose function `draw` has a
    parameter `runs` draws several runs in one panel by itself.
    """

    draw: Callable[..., Figure]
    # What one panel shows: one flow, several flows, one port, or the links of a scenario, which needs no run.
    of: Literal["flow", "flows", "port", "links"]
    # Traces of a run that it reads: the first is required, the others add detail.
    traces: tuple[str, ...] = ()
    # Title of a comparison; {of} is replaced by the selected flows, as in " of flow1, flow2".
    title: str = ""
    # For a picture of one flow: the rows of its trace that are drawn, and what a flow without such rows lacks.
    rows: Callable[[Run, Span | None], pd.DataFrame] | None = None
    lacks: str = ""
    # Whether a flow without a TCP sender has nothing to draw.
    needs_sender: bool = False
    # Line of one flow in an overlay of flows or of runs.
    line: Line | None = None
    # Whether the line of a run in an overlay of runs is a sum over flows: their throughput, or the queue of a port.
    adds_flows: bool = False
    # Reason why the flows of one run cannot be lines on common axes; empty for a picture that draws them so by default.
    no_overlay: str = ""
    # Whether flows can be selected; a picture that stacks all of them accepts none.
    selects_flows: bool = True
    # For a picture of a port: the number per port that selects the port shown by default.
    port_measure: PortMeasure | None = None
    # Number per flow in a time span at a port (if the picture has one) by whose sum over all runs a comparison selects
    # the largest flows, and their description, as in "the 8 of 20 flows with the LARGEST in all runs".
    sizes: Callable[[Run, Span, str | None], pd.Series] | None = None
    largest: str = ""
    # Returns a remark for the title of a panel in a comparison of the given flows, or "".
    remark: Callable[[Axes, Sequence[str]], str] = lambda _panel, _flows: ""

    @property
    def options(self) -> Mapping[str, object]:
        """Returns the parameters of the picture, by name."""
        return signature(self.draw).parameters

    @property
    def draws_runs(self) -> bool:
        """Returns whether the picture draws several runs as lines by itself."""
        return "runs" in self.options
