"""The ports that a picture of a port can show, and the port that it shows by default."""

from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.pictures.recorded import Run, trace

# Pictures of a port, each with what the traces lack if no port can be shown.
_NONE: Final = {
    "queue": "all were empty at every sample; needs a queue, or a shorter vc_queue_interval",
    "delay": "no packet left any port; needs a longer run",
    "drops": "none lost or marked a packet; needs a smaller buffer, or a policy that drops or marks",
}


def use_of_ports(run: Run, kind: str, flows: Sequence[str] | None = None) -> pd.Series:
    """Returns a number for each port that a picture can show, by the port's name; the default port has the largest.

    It is the maximum occupancy for queue, the mean delay for delay, and the number of packets dropped or marked for
    drops, where `flows` selects the packets.
    """
    rows = trace(run, "vc_queue" if kind == "queue" else kind)
    if kind == "drops" and flows:
        rows = rows[rows["flow"].astype(str).isin(list(flows))]
    ports = rows["port"].astype(str)
    if kind == "drops":
        return ports.value_counts()
    if kind == "delay":
        return rows.groupby(ports)["delay_s"].mean()
    return rows.groupby(ports)["queue_packets" if "queue_packets" in rows else "queue_cells"].max()


def default_port(runs: Iterable[Run], kind: str, flows: Sequence[str] | None = None) -> str:
    """Returns the port that all runs show by default: the port with the largest number in any of them.

    Raises ScenarioError if the picture can show no port.
    """
    found = pd.concat([use_of_ports(run, kind, flows) for run in runs])
    if found.empty and kind == "drops" and flows:
        raise ScenarioError(f"flow: no packet of {', '.join(flows)} was lost or marked; needs another flow")
    if found.empty:
        raise ScenarioError(f"port: {_NONE[kind]}")
    return str(found.groupby(level=0).max().idxmax())
