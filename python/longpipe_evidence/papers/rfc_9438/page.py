"""Page of RFC 9438: printed and simulated tables, variants, errors."""

import math
from collections.abc import Iterator
from typing import Final

import pandas as pd

from longpipe.report.frames import cell, grid
from longpipe.report.parts import NOTHING, Cell, Column, Grid, number
from longpipe_evidence.papers.paper import Distance
from longpipe_evidence.papers.report.cells import anchor
from longpipe_evidence.papers.report.results import Results
from longpipe_evidence.papers.rfc_9438.connections import ID, NAMES, connection
from longpipe_evidence.papers.tables import Tables

# Relative error that is large enough to be highlighted on a page.
LARGE_ERROR: Final = 0.05
TITLES: Final = {
    "1": "Table 1: mean windows at a round trip of 100 ms [segment]",
    "2": "Table 2: mean windows at a round trip of 10 ms [segment]",
    "3": "Table 3: mean windows at the losses printed for 1 to 10 000 Mbit/s [segment]",
}


def grids(results: Results) -> tuple[Grid, ...]:
    """Returns three tables: the printed windows, the simulated ones, and the errors."""
    rows = results.frame("tables")
    return tuple(_table(rows[rows["table"] == table], table) for table in TITLES if table in set(rows["table"]))


def variants(results: Tables) -> Grid:
    """Returns the mean windows of Table 1 under alternative settings."""
    windows = results.frame("sensitivity")
    return grid(windows, f"{ID}-sensitivity-variants", "Variants", note="Mean windows [segment] of Table 1.", digits=4)


def distances(results: Tables) -> Iterator[Distance]:
    """Returns the errors of the simulated windows of each table."""
    rows = results.frame("tables")
    rows = rows[rows["simulated"].notna()]
    for table, of_table in rows.groupby("table"):
        difference = of_table["simulated"] - of_table["published"]
        numbers = {
            "values": len(of_table),
            "error": difference.abs().mean(),
            "relative": of_table["error"].abs().mean(),
            "difference": difference.mean(),
            "largest": difference.abs().max(),
        }
        yield Distance(f"Table {table}", "window", numbers, "segment")


def _table(rows: pd.DataFrame, table: str) -> Grid:
    """Returns a table of the RFC: printed and simulated values."""
    columns = (
        Column("loss", number=True),
        Column("control"),
        Column("printed", number=True),
        Column("simulated", number=True),
        Column("error", number=True),
    )
    lines: list[tuple[Cell, ...]] = []
    for row in rows.to_dict("records"):
        error, simulated = Cell(NOTHING), Cell(NOTHING)
        if not math.isnan(row["simulated"]):
            mark = "far" if abs(row["error"]) > LARGE_ERROR else ""
            error = Cell(f"{number(100 * row['error'], 2)} %", row["error"], mark)
            scenario = anchor(ID, connection({**row, "window": row["published"]}).name)
            simulated = Cell(f"{row['simulated']:.5g}", row["simulated"], link=f"#{scenario}")
        loss, control = Cell(f"{row['loss']:g}", row["loss"]), Cell(NAMES[row["control"]])
        lines.append((loss, control, cell(row["published"]), simulated, error))
    note = f"The error is relative and highlighted beyond ±{100 * LARGE_ERROR:g} %."
    return Grid(f"{ID}-table-{table}", TITLES[table], columns, tuple(lines), note=note)
