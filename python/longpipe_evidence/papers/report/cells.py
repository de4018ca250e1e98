"""A table of a document's configurations on a page: each scenario as a TOML file, and as a command that writes it."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from longpipe.report.parts import Cell, Column, Grid

if TYPE_CHECKING:
    from longpipe_evidence.papers.paper import Paper


# Number of digits of a scenario's hash that the table shows.
DIGITS: Final = 16


def anchor(paper: str, name: str) -> str:
    """Returns the id of the row of a configuration."""
    return f"{paper}-cell-{re.sub(r'[^0-9A-Za-z]+', '-', name)}"


def cells(paper: Paper) -> Grid:
    """Returns a table with a row per configuration: its scenario as a file, and the commands that write and run it."""
    value_note = "prints other values, see the note" if paper.metrics_note else ""
    columns = (Column("configuration"), Column("hash"), Column("write it, then run it", value_note))
    rows = []
    for name, scenario in paper.cells().items():
        text = base64.b64encode(paper.toml_of(scenario).encode()).decode()
        command = f"longpipe init cell.toml --example '{paper.id}: {name}'; longpipe run cell.toml"
        rows.append(
            (
                Cell(name, link=f"data:application/toml;base64,{text}", anchor=anchor(paper.id, name)),
                Cell(scenario.digest()[:DIGITS]),
                Cell(command),
            )
        )
    notes = [paper.metrics_note, "The file names the call in Python that returns the paper's numbers."]
    table_note = (
        f"A name links to the scenario as a TOML file. The hash is the first {DIGITS} digits of SHA-256 over the fully "
        "resolved scenario; scenarios.csv has all 64 and the single runs. Details that the paper leaves open are drawn "
        "from the seed, as in --seed 2."
    )
    note = " ".join([*(notes if paper.metrics_note else []), table_note])
    return Grid(f"{paper.id}-scenarios", "Scenarios", columns, tuple(rows), note=note, closed=len(rows) > 1)
