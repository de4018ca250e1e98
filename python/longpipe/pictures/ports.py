"""The ports that a picture of a port can show, and the port that it shows by default."""

from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from longpipe.pictures.recorded import EmptyPictureError, Run, of_flows, rows_of, trace, within

# Pictures of a port, each with what the traces lack if no port can be shown.
_NONE: Final = {
    "queue": "all were empty at every sample; needs a queue, or a shorter vc_queue_interval",
    "delay": "no packet left any port in the time shown; needs a longer time",
    "drops": "none lost or marked a packet in the time shown; needs a smaller buffer, or a policy that drops or marks",
}
# What the traces lack if selected flows, whose names precede these words, have no port that can be shown.
_NONE_OF_FLOWS: Final = {
    "queue": "was in a buffer at any sample; needs another flow",
    "delay": "left any port in the time shown; needs another flow",
    "drops": "was lost or marked in the time shown; needs another flow",
}
# Pictures of a port, each with the title of a run in which there is nothing to draw.
SHORT: Final = {"queue": "always empty", "delay": "no packet", "drops": "none"}


def use_of_ports(
    run: Run, kind: str, flows: Sequence[str] | None = None, span_s: tuple[float, float] | None = None
) -> pd.Series:
    """Returns a number for each port that a picture can show, by the port's name; the default port has the largest.

    It is the maximum occupancy for queue, the mean delay for delay, and the number of packets dropped or marked for
    drops, where `flows` selects the packets. For queue and delay, `flows` selects the ports that their packets or ACKs
    used; the number counts the packets of all flows.
    """
    rows = _rows(run, kind, span_s)
    own = rows_of(rows, flows)
    if kind == "drops":
        return own["port"].astype(str).value_counts()
    rows = rows[rows["port"].isin(own["port"].unique())] if flows else rows
    by_port = rows.groupby(rows["port"].astype(str))
    if kind == "delay":
        return by_port["delay_s"].mean()
    return by_port["queue_packets" if "queue_packets" in rows else "queue_cells"].max()


def _rows(run: Run, kind: str, span_s: tuple[float, float] | None) -> pd.DataFrame:
    """Returns a picture's trace within the time span; queues include earlier samples, which hold until the next."""
    return trace(run, "vc_queue") if kind == "queue" else within(trace(run, kind), span_s)


def default_port(
    runs: Iterable[Run],
    kind: str,
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
) -> str:
    """Returns the port that all runs show by default: the port with the largest number in any of them.

    With `flows`, queue and delay show a port that as many of the flows as possible use. Raises EmptyPictureError if the
    picture can show no port.
    """
    several = list(runs)
    found = pd.concat([use_of_ports(run, kind, flows, span_s) for run in several])
    if found.empty and flows:
        raise EmptyPictureError(f"flow: no packet{of_flows(flows)} {_NONE_OF_FLOWS[kind]}", SHORT[kind])
    if found.empty:
        raise EmptyPictureError(f"port: {_NONE[kind]}", SHORT[kind])
    if flows and len(flows) > 1 and kind != "drops":
        used = (rows_of(_rows(run, kind, span_s), flows).astype({"port": str, "flow": str}) for run in several)
        counts = pd.concat([rows.groupby("port")["flow"].nunique() for rows in used]).groupby(level=0).max()
        found = found[found.index.isin(counts.index[counts == counts.max()])]
    return str(found.groupby(level=0).max().idxmax())
