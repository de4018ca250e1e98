"""lbd-01 on a page: the numbers that it prints beside ours, utilization, gains, variants."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from longpipe.papers.lbd_01.transfers import BUFFERS, FLAVORS, FLAVORS_BEYOND, ID
from longpipe.papers.names import NAMES
from longpipe.papers.paper import Distance
from longpipe.report.frames import cell, grid
from longpipe.report.parts import Cell, Column, Grid, number
from longpipe.report.results import Results

# A relative error that a reader should stop at.
LARGE_ERROR: Final = 0.1


def grids(results: Results) -> tuple[Grid, ...]:
    """The numbers printed, utilization by buffer, gains."""
    runs, numbers, gains = (results.frame(name) for name in ("runs", "numbers", "gains"))
    gained = gains.replace({"tcp": NAMES}).pivot_table(
        "gain", index=["tcp", "w_star_packets"], columns="buffer_bdp", sort=False
    )
    return (
        _numbers(numbers),
        *(_utilization(runs, buffer) for buffer in BUFFERS),
        grid(
            gained.rename(columns=lambda buffer: f"B = {buffer:g} W*").reset_index(),
            f"{ID}-gains",
            "Figure 7: gain in utilization over a buffer of W*/4",
            heads={"tcp": "TCP", "w_star_packets": "W*"},
        ),
    )


def variants(results: Results) -> Grid:
    """The numbers under other settings."""
    found = results.frame("sensitivity")
    return grid(found, f"{ID}-sensitivity-variants", "Variants", note="Numbers that the paper prints.")


def distances(results: Results) -> Iterator[Distance]:
    """How far the simulated numbers lie from the published ones, by quantity."""
    for row in _distances(results.frame("numbers")).to_dict("records"):
        unit = "" if row["unit"] == "1" else str(row["unit"])
        yield Distance(str(row["quantity"]).replace("_", " "), "", row, unit)


def _distances(numbers: pd.DataFrame) -> pd.DataFrame:
    """How far the simulated numbers lie from the published ones, a row per quantity; see `papers.page.distance`."""
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


def _numbers(numbers: pd.DataFrame) -> Grid:
    columns = (
        Column("quantity"),
        Column("W*", number=True),
        Column("buffer [W*]", number=True),
        Column("TCP"),
        Column("published", number=True),
        Column("simulated", number=True),
        Column("error", number=True),
        Column("unit"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in numbers.to_dict("records"):
        mark = "far" if abs(one["error"]) > LARGE_ERROR else ""
        error = Cell(f"{number(100 * one['error'], 2)} %", one["error"], mark)
        keys = [Cell(one["quantity"].replace("_", " ")), *(cell(one[k]) for k in ("w_star_packets", "buffer_bdp"))]
        values = [
            cell(NAMES.get(one["tcp"], one["tcp"])),
            *(Cell(f"{one[k]:.6g}", one[k]) for k in ("published", "simulated")),
        ]
        rows.append((*keys, *values, error, Cell("" if one["unit"] == "1" else one["unit"])))
    note = f"The error is relative, set off beyond ±{100 * LARGE_ERROR:g} %. Table 2 is the slope of T_N."
    return Grid(f"{ID}-numbers", "Every number that the paper prints", columns, tuple(rows), note=note)


def _utilization(runs: pd.DataFrame, buffer: float) -> Grid:
    wide = runs[runs["buffer_bdp"] == buffer].pivot_table("utilization", index="w_star_packets", columns="tcp")
    wide = wide[[*FLAVORS, *FLAVORS_BEYOND]].rename_axis(columns=None).reset_index()
    return grid(
        wide,
        f"{ID}-utilization-{buffer:g}".replace(".", "-"),
        f"Figure 2: utilization, B = {buffer:g} W*",
        note=f"The paper prints curves. {' and '.join(NAMES[tcp] for tcp in FLAVORS_BEYOND)} are not in it.",
        heads={"w_star_packets": "W*", **NAMES},
    )
