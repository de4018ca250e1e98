"""Summary tables of the reproduction of ATM Forum/97-0616: knees, denominators, start-up."""

from collections.abc import Callable, Mapping
from typing import Final

import pandas as pd

from longpipe.analysis.intervals import estimate
from longpipe.analysis.knee import knee
from longpipe_evidence.papers.buf_97.links import LINKS

CONFIGURATION: Final = ["network", "sources", "buffer_cells", "buffer_rtt"]


def knees(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the knee of each curve [cells; round trips; BDP], and the efficiency at 0.5, 1 and 2 or 3 round trips."""
    chosen = runs[runs["table"].notna()]
    rows = []
    for (network, sources), curve in chosen.groupby(["network", "sources"], sort=False):
        means = curve.groupby(["buffer_rtt", "buffer_cells"])["efficiency"].mean().reset_index()
        knee_cells = knee(means["buffer_cells"], means["efficiency"])
        by_rtt = means.set_index("buffer_rtt")["efficiency"]
        rows.append(
            {
                "network": network,
                "sources": sources,
                "knee_cells": knee_cells,
                "knee_rtt": knee_cells / LINKS[str(network)].round_trip_cells,
                "knee_bdp": knee_cells / LINKS[str(network)].bdp_cells,
                "efficiency_at_half": by_rtt[0.5],
                "efficiency_at_1": by_rtt[1.0],
                "efficiency_at_most": by_rtt.iloc[-1],
            }
        )
    return pd.DataFrame(rows)


def denominators(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns mean efficiency with buffers of at least 0.5 RTT: of 149.76 Mbit/s, and 155.52 over 135 Mbit/s."""
    sufficient = runs[runs["buffer_rtt"] >= 0.5]
    efficiencies = {
        "149.76": sufficient[sufficient["table"].notna()].groupby("network", sort=False)["efficiency"],
        "149.76_over_135": sufficient[sufficient["table"].notna()].groupby("network", sort=False)["printed_efficiency"],
        "155.52_over_135": sufficient[sufficient["part"] == "155.52"].groupby("network", sort=False)[
            "printed_efficiency"
        ],
    }
    return pd.DataFrame({name: groups.mean() for name, groups in efficiencies.items()}).reset_index()


def start_up(_rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns mean efficiency with buffers of at least 0.5 RTT: in the first fifth of a run, the rest, and overall."""
    keys = [*CONFIGURATION, "seed"]
    whole = runs[runs["table"].notna()].set_index(keys)["efficiency"]
    first = runs[runs["part"] == "start-up"].set_index(keys)["efficiency"]
    both = pd.DataFrame({"first_fifth": first, "whole": whole}).dropna()
    # Efficiency of the whole run is a fifth of that of the first fifth plus four fifths of that of the rest.
    both["rest"] = (5 * both["whole"] - both["first_fifth"]) / 4
    rows = []
    for (network, sources), group in both.groupby(["network", "sources"], sort=False):
        numbers = {name: estimate(group[name]) for name in ("first_fifth", "rest", "whole")}
        rows.append(
            {"network": network, "sources": sources, **{name: interval.mean for name, interval in numbers.items()}}
        )
    return pd.DataFrame(rows)


SUMMARIES: Final[Mapping[str, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]]] = {
    "knees": knees,
    "denominators": denominators,
    "start-up": start_up,
}
