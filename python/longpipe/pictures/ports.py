"""The ports that a picture of a port can show, and the port that it shows by default."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from longpipe.pictures.recorded import EmptyPictureError, Run, of_flows, rows_of


@dataclass(frozen=True, kw_only=True)
class Use:
    """The use of ports in a picture of a port, which shows the port with the largest use by default."""

    # Returns the rows of the picture's trace in a time span, and the use of each port in such rows by the port's name.
    rows: Callable[[Run, tuple[float, float] | None], pd.DataFrame]
    by_port: Callable[[pd.DataFrame], pd.Series]
    # Whether only the packets of selected flows count; if false, those of all flows at the ports that these flows use.
    of_flows: bool = False
    # What the traces lack if no port can be shown; and if none of selected flows can, whose names precede the words.
    none: str
    none_of_flows: str
    # Title of a run in which there is nothing to draw.
    short: str


def use_of_ports(
    run: Run, use: Use, flows: Sequence[str] | None = None, span_s: tuple[float, float] | None = None
) -> pd.Series:
    """Returns the use of each port that a picture can show, by the port's name; see `Use`."""
    rows = use.rows(run, span_s)
    own = rows_of(rows, flows)
    if use.of_flows:
        return use.by_port(own)
    return use.by_port(rows[rows["port"].isin(own["port"].unique())] if flows else rows)


def default_port(
    runs: Iterable[Run],
    use: Use,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
) -> str:
    """Returns the port that all runs show by default: the port with the largest number in any of them.

    With `flows`, it is a port that as many of the flows as possible use, unless only their packets count. Raises
    EmptyPictureError if the picture can show no port.
    """
    several = list(runs)
    found = pd.concat([use_of_ports(run, use, flows, span_s) for run in several])
    if found.empty and flows:
        raise EmptyPictureError(f"flow: no packet{of_flows(flows)} {use.none_of_flows}", use.short)
    if found.empty:
        raise EmptyPictureError(f"port: {use.none}", use.short)
    if flows and len(flows) > 1 and not use.of_flows:
        used = (rows_of(use.rows(run, span_s), flows).astype({"port": str, "flow": str}) for run in several)
        counts = pd.concat([rows.groupby("port")["flow"].nunique() for rows in used]).groupby(level=0).max()
        found = found[found.index.isin(counts.index[counts == counts.max()])]
    return str(found.groupby(level=0).max().idxmax())
