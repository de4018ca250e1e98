"""lbd-01 as a section of a page: one transfer over ever longer pipes."""

from typing import Final

import pandas as pd

from longpipe.papers.lbd_01 import BUFFERS, CONDITIONS, FLAVORS, FLAVORS_BEYOND, ID, TITLE
from longpipe.papers.names import NAMES
from longpipe.report.document import beyond, figures, provenance
from longpipe.report.folder import Part
from longpipe.report.frames import cell, grid
from longpipe.report.parts import Cell, Column, Grid, Section, claims_of, number
from longpipe.report.results import Results
from longpipe.report.svg import Palette

JUDGED: Final = "Claims, judged by one run of each configuration: nothing is random"
# A relative error that a reader should stop at.
LARGE_ERROR: Final = 0.1


def section(results: Results, palette: Palette) -> Section:
    """All that there is of lbd-01."""
    runs, numbers = results.frame("runs"), results.frame("numbers")
    tables = (
        _numbers(numbers),
        *(_utilization(runs, buffer) for buffer in BUFFERS),
        grid(
            results.frame("gains").replace({"tcp": NAMES}).pivot_table(
                "gain", index=["tcp", "w_star_packets"], columns="buffer_bdp", sort=False
            ).rename(columns=lambda buffer: f"B = {buffer:g} W*").reset_index(),
            f"{ID}-gains",
            "Figure 7: gain in utilization over a buffer of W*/4",
            heads={"tcp": "TCP", "w_star_packets": "W*"},
        ),
    )  # fmt: skip
    return Section(
        ID,
        f"{ID}: {TITLE}",
        (CONDITIONS,),
        (claims_of(JUDGED, results.claims),),
        (
            Section(f"{ID}-tables", "Published against simulated", parts=tables),
            figures(results, palette),
            _sensitivity(results),
            *beyond(results, palette, {}),
            provenance(results),
        ),
    )


def distances(numbers: pd.DataFrame) -> pd.DataFrame:
    """How far the simulated numbers lie from the published ones, a row per quantity; see `tables.distance`."""
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


def _sensitivity(results: Results) -> Section:
    name, title = f"{ID}-sensitivity", "Sensitivity to what the paper leaves open"
    if not results.has(Part.SENSITIVITY):
        return Section(
            name, title, (f"Not computed yet: longpipe reproduce {ID} --sensitivity, then the report again.",)
        )
    found = grid(results.frame("sensitivity"), f"{name}-variants", "Variants", note="Numbers that the paper prints.")
    return Section(name, title, parts=(found,))
