"""Page of lbd-01: published and simulated numbers, utilization, gains, variants."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from longpipe.report.frames import cell, grid
from longpipe.report.parts import Cell, Column, Grid, number
from longpipe_evidence.papers.lbd_01.numbers import HALF
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, FLAVORS, FLAVORS_BEYOND, ID, Transfer
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.paper import Distance
from longpipe_evidence.papers.report.cells import anchor
from longpipe_evidence.papers.report.results import Results
from longpipe_evidence.papers.tables import Tables

# Relative error that is large enough to be highlighted on a page.
LARGE_ERROR: Final = 0.1

# Names of the quantities of published.csv on a page.
QUANTITIES: Final = {
    "completion_time": "completion time t_c",
    "utilization_difference_reno_minus_newreno": "utilization, Reno minus NewReno",
    "utilization_difference_sack_reno": "utilization, Reno minus SACK",
    "completion_time_difference_sack_reno": "completion time, SACK minus Reno",
    "completion_time_difference_newreno_reno": "completion time, NewReno minus Reno",
    "ssthresh_estimate": "estimate of the threshold",
    "slow_start_losses": "packets lost in slow start",
    "first_loss_time": "first loss",
    "last_loss_time": "last loss of the first overflow",
    "first_fast_retransmit_time": "first fast retransmit",
    "second_fast_retransmit_time": "second fast retransmit",
    "retransmission_timeout_time": "timeout",
    "buffer_gain": "buffer gain BG",
    "recovery_duration": "duration of the recovery",
    "recovered_time": "all losses repaired",
    "avoidance_time": "start of congestion avoidance",
    "pipe_full_time": "pipe full",
    "second_loss_time": "second loss",
}


def grids(results: Results) -> tuple[Grid, ...]:
    """Returns the tables of published numbers, utilization by buffer, and gains."""
    runs, numbers, gains = (results.frame(name) for name in ("runs", "numbers", "gains"))
    gained = gains.replace({"tcp": NAMES}).pivot_table(
        "gain", index=["tcp", "w_star_packets"], columns="buffer_bdp", sort=False
    )
    return (
        _slopes(numbers),
        _numbers(numbers),
        *(_utilization(runs, buffer) for buffer in BUFFERS),
        grid(
            gained.rename(columns=lambda buffer: f"B = {buffer:g} W*").reset_index(),
            f"{ID}-gains",
            "Figure 7: gain in utilization over a buffer of W*/4",
            heads={"tcp": "TCP", "w_star_packets": "W*"},
        ),
    )


def variants(results: Tables) -> Grid:
    """Returns the numbers under alternative settings."""
    numbers = results.frame("sensitivity")
    return grid(numbers, f"{ID}-sensitivity-variants", "Variants", note="Numbers that the paper prints.")


def distances(results: Tables) -> Iterator[Distance]:
    """Returns the errors of the simulated numbers, by quantity."""
    for row in _distances(results.frame("numbers")).to_dict("records"):
        unit = "" if row["unit"] == "1" else str(row["unit"])
        yield Distance(str(row["quantity"]).replace("_", " "), "", row, unit)


def _distances(numbers: pd.DataFrame) -> pd.DataFrame:
    """Returns the errors of the simulated numbers, a row per quantity; see `papers.page.distance`."""
    difference = numbers["simulated"] - numbers["published"]
    table = numbers.assign(error=difference.abs(), difference=difference, size=numbers["published"].abs())
    groups = table.groupby("quantity", sort=False)
    return pd.DataFrame(
        {
            "values": groups.size(),
            "error": groups["error"].mean(),
            "relative": groups["error"].sum() / groups["size"].sum(),
            "difference": groups["difference"].mean(),
            "largest": groups["error"].max(),
            "unit": groups["unit"].first(),
        }
    ).reset_index()


def _slopes(numbers: pd.DataFrame) -> Grid:
    """Returns Table 2 as printed in the paper."""
    rows = numbers[numbers["quantity"] == "slope_tn"]
    columns = [Column("W*", number=True)]
    flavors = list(rows["tcp"].unique())
    for tcp in flavors:
        columns += [Column(head, NAMES[tcp], number=True) for head in ("publ.", "simulated", "diff.")]
    lines = []
    for w_star, group in rows.groupby("w_star_packets", sort=False):
        cells = [Cell(str(w_star), float(str(w_star)))]
        for tcp in flavors:
            row = group[group["tcp"] == tcp].iloc[0]
            off = float(row["simulated"] - row["published"])
            mark = "far" if abs(float(row["error"])) > LARGE_ERROR else ""
            published, simulated = float(row["published"]), float(row["simulated"])
            link = _link(Transfer(int(str(w_star)), HALF, tcp))
            cells += [
                Cell(f"{published:.3f}", published),
                Cell(f"{simulated:.3f}", simulated, link=link),
                Cell(f"{off:+z.3f}", off, mark),
            ]
        lines.append(tuple(cells))
    note = (
        f"Differences above {100 * LARGE_ERROR:g} % of the published value are highlighted; the limit is longpipe's "
        f"own."
    )
    title = "Table 2: slope of T_N in congestion avoidance [1/s]"
    return Grid(f"{ID}-table-2", title, tuple(columns), tuple(lines), note=note)


def _numbers(numbers: pd.DataFrame) -> Grid:
    """Returns the table of the numbers that the paper prints, except those of Table 2."""
    columns = (
        Column("quantity"),
        Column("W*", number=True),
        Column("buffer [W*]", number=True),
        Column("TCP"),
        Column("published", number=True),
        Column("simulated", number=True),
        Column("difference", number=True),
        Column("unit"),
    )
    rows: list[tuple[Cell, ...]] = []
    for number_row in numbers[numbers["quantity"] != "slope_tn"].to_dict("records"):
        off = number_row["simulated"] - number_row["published"]
        mark = "far" if abs(number_row["error"]) > LARGE_ERROR else ""
        keys = [
            Cell(QUANTITIES[number_row["quantity"]]),
            *(cell(number_row[k]) for k in ("w_star_packets", "buffer_bdp")),
        ]
        # Differences between two transfers name no TCP.
        single = isinstance(number_row["tcp"], str)
        link = (
            _link(Transfer(number_row["w_star_packets"], number_row["buffer_bdp"], number_row["tcp"])) if single else ""
        )
        values = [
            cell(NAMES.get(number_row["tcp"], number_row["tcp"])),
            Cell(number(number_row["published"], 5), number_row["published"]),
            Cell(number(number_row["simulated"], 5), number_row["simulated"], link=link),
        ]
        unit = Cell("" if number_row["unit"] == "1" else number_row["unit"])
        rows.append((*keys, *values, Cell(number(off, 4), off, mark), unit))
    note = (
        f"Differences above {100 * LARGE_ERROR:g} % of the published value are highlighted; the limit is longpipe's "
        f"own."
    )
    return Grid(f"{ID}-numbers", "Numbers that the text prints", columns, tuple(rows), note=note)


def _link(transfer: Transfer) -> str:
    """Returns the link to the scenario of a transfer."""
    return f"#{anchor(ID, transfer.name)}"


def _utilization(runs: pd.DataFrame, buffer: float) -> Grid:
    """Returns the table of utilizations by W* and TCP, at one size of the buffer [W*]."""
    wide = runs[runs["buffer_bdp"] == buffer].pivot_table("utilization", index="w_star_packets", columns="tcp")
    wide = wide[[*FLAVORS, *FLAVORS_BEYOND]].rename_axis(columns=None).reset_index()
    return grid(
        wide,
        f"{ID}-utilization-{buffer:g}".replace(".", "-"),
        f"Figure 2: utilization, B = {buffer:g} W*",
        note=f"The paper prints curves. {' and '.join(NAMES[tcp] for tcp in FLAVORS_BEYOND)} are not included.",
        heads={"w_star_packets": "W*", **NAMES},
    )
