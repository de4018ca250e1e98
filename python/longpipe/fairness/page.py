"""The matrix of pairs as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core
from longpipe.fairness.pairs import ENDED, Pair, table
from longpipe.pictures.pairs import shares
from longpipe.pictures.saving import to_svg
from longpipe.report.frames import download, grid
from longpipe.report.page import render
from longpipe.report.parts import Cell, Column, Downloads, Facts, Grid, Picture, Report, Section
from longpipe.report.svg import Palette, inline

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.scenario import Scenario

ALTERNATE: Final = (
    "The flows start within a second, and take turns to start first from seed to seed. In the scenario of a row, the "
    "control starts first."
)


def page(
    pairs: Sequence[Pair],
    runs: Mapping[str, pd.DataFrame],
    scenarios: Mapping[tuple[str, str, str], Scenario],
    seeds: int,
    command: str,
    changes: Mapping[str, Any],
) -> str:
    """Renders the page as HTML.

    `runs` are the tables of runs by file name, and `scenarios` those of the pairs by path, the sender that starts
    first, and the other sender.
    """
    palette = Palette()
    alternate = any(one != other and (path, other, one) in scenarios for path, one, other in scenarios)
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


def _pairs(pairs: Sequence[Pair], scenarios: Mapping[tuple[str, str, str], Scenario]) -> Grid:
    """Returns the table of pairs, with a link to the scenario of each."""
    found = grid(table(pairs), "table", "All pairs")
    rows = []
    for pair, row in zip(pairs, found.rows, strict=True):
        ways = ((pair.path, pair.row, pair.column), (pair.path, pair.column, pair.row))
        scenario = next(scenarios[way] for way in ways if way in scenarios)
        file = download("pair.toml", scenario.to_toml().encode())
        rows.append((*row, Cell(file.name, link=file.href)))
    return replace(found, columns=(*found.columns, Column("scenario")), rows=tuple(rows))
