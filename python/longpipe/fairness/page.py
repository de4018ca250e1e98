"""The matrix of pairs as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longpipe import _core
from longpipe.fairness.pairs import Pair, table
from longpipe.pictures.pairs import shares
from longpipe.pictures.saving import to_svg
from longpipe.report.frames import download, grid
from longpipe.report.page import render
from longpipe.report.parts import Downloads, Facts, Picture, Report, Section
from longpipe.report.svg import Palette, inline

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.scenario import Scenario


def page(
    pairs: Sequence[Pair],
    runs: Mapping[str, pd.DataFrame],
    scenario: Scenario,
    seeds: int,
    command: str,
    changes: Mapping[str, Any],
) -> str:
    """Renders the page as HTML; `runs` are the tables of runs by file name."""
    palette = Palette()
    drawing = inline(to_svg(shares(pairs), "shares"), "shares", palette)
    files = [download(name, frame.to_csv(index=False).encode()) for name, frame in runs.items()]
    files.append(download("pair.toml", scenario.to_toml().encode()))
    changed = tuple(f"Changed in every run: {field} = {value}." for field, value in changes.items())
    lead = (
        "Two flows share a link. share: the fraction of their total throughput that the control's flow gets. harm to "
        "beside: the fraction of its throughput alone that the flow of the control in the column beside loses. loss: "
        "packets that the bottleneck lost. p95: the 95 % quantile of queueing delays at the bottleneck. ± is half of "
        "the 95 % confidence interval over the seeds.",
        *changed,
    )
    sections = (
        Section("shares", "Shares", (), (Picture("matrix", drawing.title, drawing.alt, drawing.svg),)),
        Section("pairs", "Pairs", (), (grid(table(pairs), "table", "All pairs"), Downloads(tuple(files)))),
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
