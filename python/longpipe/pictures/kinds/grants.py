"""Time for which data wait for a transmission at a port with medium access, and the port's requests."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.errors import nearest
from longpipe.pictures.changes import mark_changes
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.ports import PortMeasure, default_port, measured_ports
from longpipe.pictures.recorded import EmptyPictureError, Run, check_port, name_of, shown_s, trace, within
from longpipe.pictures.style import BLUE, GREEN, GREY, MAX_SHAPES, VERMILION, legend, panels

# Look of the transmissions of each action of the trace: legend text, color and mark.
_TRANSMISSIONS: Final = {
    "transmission": ("granted transmission", BLUE, "."),
    "attempt": ("transmission without a grant", GREEN, "."),
    "collision": ("collision", VERMILION, "x"),
    "retransmission": ("retransmission", VERMILION, "+"),
}
# Look of requests, which are marked at the lower edge.
_REQUESTS: Final = {"request": ("request", GREY), "lost-request": ("lost request", VERMILION)}
_EDGE_SIZE: Final = 6
TOTAL_WAIT: Final = PortMeasure(
    rows=lambda run, span_s: _transmissions(within(trace(run, "grants"), span_s)),
    per_port=lambda rows: rows.groupby(rows["port"].astype(str))["waited_s"].sum(),
    no_port="no port with medium access sent data in the time shown; needs access or return_access, or a longer time",
    no_port_of_flows="",
    empty_title="no transmission",
)


def _transmissions(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["action"].astype(str).isin(list(_TRANSMISSIONS))]


def grant_points(run: Run, port: str | None = None, span_s: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns the events of a port with medium access: `time_s`, `action`, `bytes`, `rate_bps` and `waited_s`.

    `action` is "request", "lost-request", "grant", "transmission", "retransmission" below IP, or, without a grant,
    "attempt" and "collision";
    `bytes` are those requested, granted or sent, `rate_bps` is the requested rate, and `waited_s` is the time for
    which data had waited when the transmission began. Default: the port whose data waited longest in total.

    Raises ScenarioError for an unknown port, and EmptyPictureError if the port sent no data in the time span.
    """
    rows = within(trace(run, "grants"), span_s)
    rows = rows[rows["port"].astype(str) == _port_of(run, port, span_s)]
    return rows[["time_s", "action", "bytes", "rate_bps", "waited_s"]].reset_index(drop=True)


def _port_of(run: Run, port: str | None, span_s: tuple[float, float] | None) -> str:
    check_port(run.scenario, port)
    if port is None:
        return default_port([run], TOTAL_WAIT, None, span_s)
    if port not in (granting_ports := sorted(map(str, measured_ports(run, TOTAL_WAIT, None, span_s).index))):
        hint = nearest(port, granting_ports) if granting_ports else "needs access or return_access there"
        raise EmptyPictureError(
            f"port: {port!r} sent no data by medium access in the time shown; {hint}", TOTAL_WAIT.empty_title
        )
    return port


@with_literal_texts
def grants(
    run: Run, span_s: tuple[float, float] | None = None, *, port: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draws the time for which data waited before each transmission of a port with medium access, and its requests.

    Transmissions that follow others without a pause are at 0. Reads `traces.grants`. Default: the port whose data
    waited longest in total.
    """
    port = _port_of(run, port, span_s)
    points = grant_points(run, port, span_s)
    figure, (panel,) = panels(
        1, f"{name_of(run)}: waiting time for a transmission at {port}", shown_s(run, span_s), height=3.6, ax=ax
    )
    actions = points["action"].astype(str)
    for action, (label, color, mark) in _TRANSMISSIONS.items():
        of_action = points[actions == action]
        if len(of_action):
            panel.plot(
                of_action["time_s"],
                1e3 * of_action["waited_s"],
                mark,
                color=color,
                ms=4,
                label=label,
                rasterized=len(of_action) > MAX_SHAPES,
            )
    for action, (label, color) in _REQUESTS.items():
        times_s = points["time_s"][actions == action]
        if len(times_s):
            (marks,) = panel.plot(
                times_s,
                np.zeros(len(times_s)),
                "|",
                color=color,
                ms=_EDGE_SIZE,
                label=label,
                transform=panel.get_xaxis_transform(),
            )
            marks.set_clip_on(False)
    mark_changes(panel, run, span_s)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("waiting time [ms]")
    legend(figure, [panel], ax)
    return figure


PICTURES = {
    "grants": Kind(
        draw=grants,
        of="port",
        traces=("grants",),
        title="waiting time for a transmission",
        no_overlay="grants marks the events of one port",
        selects_flows=False,
        port_measure=TOTAL_WAIT,
    )
}
