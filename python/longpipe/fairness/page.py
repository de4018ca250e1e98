"""The matrix of pairs as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.fairness.pairs import ENDED, Pair, PairKey, table
from longpipe.pictures.pairs import shares
from longpipe.pictures.saving import to_svg
from longpipe.report.frames import download, grid
from longpipe.report.page import render
from longpipe.report.parts import Cell, Column, Downloads, Facts, Grid, Picture, Report, Section
from longpipe.report.svg import Palette, inline

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.scenario import Scenario

# Note on a page whose pairs alternate which flow starts first.
ALTERNATE: Final = (
    "The flows start within a second, and take turns to start first from seed to seed. In the scenario of a row, the "
    "control starts first."
)


def page(
    pairs: Sequence[Pair],
    runs: Mapping[str, pd.DataFrame],
    scenarios: Mapping[PairKey, Scenario],
    seeds: int,
    command: str,
    changes: Mapping[str, Any],
) -> str:
    """Renders the page as HTML.

    `runs` are the tables of runs by file name, `command` is the command that repeats the page, and `changes` are the
    scenario fields that differ from the defaults in every run.
    """
    palette = Palette()
    # Whether some pair of different senders has scenarios in which either of them starts first.
    alternate = any(
        key.first != key.second and PairKey(key.path, key.second, key.first) in scenarios for key in scenarios
    )
    drawing = inline(to_svg(shares(pairs), "shares"), "shares", palette)
    files = [download(name, frame.to_csv(index=False).encode()) for name, frame in runs.items()]
    changed = tuple(f"Changed in every run: {field} = {value}." for field, value in changes.items())
    lead = (
        "Two flows share a link. share: the fraction of their total throughput that the control's flow gets. harm to "
        "beside: the fraction of its throughput alone that the flow of the control in the column beside loses. loss: "
        "packets that the bottleneck lost. p95: the 95 % quantile of queueing delays at the bottleneck. ± is half of "
        "the 95 % confidence interval over the seeds.",
        "In a pair of equal controls, the flow that starts first is in the column control, and the flow that starts "
        "later in the column beside. scenario: the pair as a TOML file for longpipe run.",
        *([ALTERNATE] if alternate else []),
        *([ENDED] if any(pair.died for pair in pairs) else []),
        *changed,
    )
    sections = (
        Section("shares", "Shares", (), (Picture("matrix", drawing.title, drawing.alt, drawing.svg),)),
        Section("pairs", "Pairs", (), (_pairs(pairs, scenarios), Downloads(tuple(files)))),
        Section(
            "about",
            "Provenance",
            (),
            (
                Facts(
                    (
                        ("repeat", command),
                        ("seeds", f"1 to {seeds}"),
                        ("longpipe", _core.__version__),
                        ("engine", str(_core.__engine__)),
                    )
                ),
            ),
        ),
    )
    return render(Report("Congestion controls in competition", lead, sections), palette)


def _pairs(pairs: Sequence[Pair], scenarios: Mapping[PairKey, Scenario]) -> Grid:
    """Returns the table of pairs with a link to the scenario of each, in which the row's sender starts first if any."""
    without_links = grid(table(pairs), "table", "All pairs")
    rows = []
    for pair, row in zip(pairs, without_links.rows, strict=True):
        keys = (PairKey(pair.path, pair.row, pair.column), PairKey(pair.path, pair.column, pair.row))
        scenario = next(scenarios[key] for key in keys if key in scenarios)
        file = download("pair.toml", scenario.to_toml().encode())
        rows.append((*row, Cell(file.name, link=file.href)))
    return replace(without_links, columns=(*without_links.columns, Column("scenario")), rows=tuple(rows))
