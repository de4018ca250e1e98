"""The port that a picture of a single port shows by default: the one with the longest queue, delay or most drops."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from longpipe.pictures.recorded import EmptyPictureError, Run, of_flows, rows_of


@dataclass(frozen=True, kw_only=True)
class PortMeasure:
    """A number per port, such as its longest queue, by which a picture selects the port that it shows by default."""

    # Returns the rows of the picture's trace in a time span [s].
    rows: Callable[[Run, tuple[float, float] | None], pd.DataFrame]
    # Computes the number of each port, by the port's name, from such rows. A port without rows is not in the result.
    per_port: Callable[[pd.DataFrame], pd.Series]
    # With selected flows, the number is that of their own packets if true, and otherwise that of all packets at the
    # ports that these flows use.
    only_selected_flows: bool = False
    # Ends of the error messages "port: ..." and "flow: no packet of FLOWS ..." for a picture that can show no port.
    no_port: str
    no_port_of_flows: str
    # Title of the panel of a run that has no such port.
    empty_title: str


def measured_ports(
    run: Run, measure: PortMeasure, flows: Sequence[str] | None = None, span_s: tuple[float, float] | None = None
) -> pd.Series:
    """Returns the measure of each port that a picture can show, by the port's name."""
    rows = measure.rows(run, span_s)
    rows_of_flows = rows_of(rows, flows)
    if measure.only_selected_flows:
        return measure.per_port(rows_of_flows)
    return measure.per_port(rows[rows["port"].isin(rows_of_flows["port"].unique())] if flows else rows)


def default_port(
    runs: Iterable[Run],
    measure: PortMeasure,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
) -> str:
    """Returns the port that all runs show by default: the port whose measure is the largest in any of them.

    If several `flows` are selected and the measure includes other flows, only the ports that are used by the largest
    number of the selected flows are candidates. Raises EmptyPictureError if the picture can show no port.
    """
    several = list(runs)
    measured = pd.concat([measured_ports(run, measure, flows, span_s) for run in several])
    if measured.empty and flows:
        raise EmptyPictureError(f"flow: no packet{of_flows(flows)} {measure.no_port_of_flows}", measure.empty_title)
    if measured.empty:
        raise EmptyPictureError(f"port: {measure.no_port}", measure.empty_title)
    if flows and len(flows) > 1 and not measure.only_selected_flows:
        used = (rows_of(measure.rows(run, span_s), flows).astype({"port": str, "flow": str}) for run in several)
        flows_at_port = pd.concat([rows.groupby("port")["flow"].nunique() for rows in used]).groupby(level=0).max()
        shared_most = flows_at_port.index[flows_at_port == flows_at_port.max()]
        measured = measured[measured.index.isin(shared_most)]
    return str(measured.groupby(level=0).max().idxmax())
