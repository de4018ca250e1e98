"""The report on a suite, with a section for each part: means, runs and scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

import longpipe
from longpipe.report.frames import cell, download
from longpipe.report.parts import (
    NOTHING,
    Cell,
    Column,
    Downloads,
    Facts,
    Grid,
    Picture,
    Report,
    Section,
    with_margin,
)
from longpipe.store import engine_version
from longpipe_evidence.suites.criteria import card
from longpipe_evidence.suites.outcome import margin

if TYPE_CHECKING:
    import pandas as pd

    from longpipe_evidence.suites.outcome import PartOutcome
    from longpipe_evidence.suites.suite import Suite

_READING: Final = (
    "Means over the seeds; ± is half of the 95 % confidence interval, which is wide with few seeds. "
    f"{NOTHING} means that a run has no value: for example, a 95 % quantile of page load times if more than 5 % of the "
    f"pages were incomplete at the end of the run. Below each table are its runs, in bit/s, s and shares, and the "
    f"scenario in which its rows change fields."
)
# Note on results of a suite whose fields were changed.
UNCHANGED: Final = "The description and the notes are those of the suite without these changes."


def report(suite: Suite, outcomes: Sequence[PartOutcome], seeds: int, changes: Mapping[str, Any]) -> Report:
    """Returns the report, which `longpipe.report` renders as HTML or Markdown."""
    changed = tuple(f"Changed in every run: {field} = {value}." for field, value in changes.items())
    unchanged = (UNCHANGED,) if changes else ()
    lead = (suite.conditions, *changed, *unchanged, _READING)
    about = Facts((("longpipe", longpipe.__version__), ("engine", engine_version()), ("seeds", f"1 to {seeds}")))
    last = Section("about", "Omitted parts, and provenance", suite.left_out, (about,))
    cards = (card(outcomes, suite.judgement),) if any(outcome.part.criteria for outcome in outcomes) else ()
    return Report(suite.title, lead, (*cards, *_sections(outcomes), last))


def file_name(outcome: PartOutcome) -> str:
    """Returns the file stem of a part."""
    return f"part-{outcome.part.id.replace(' ', '-')}"


def _sections(outcomes: Sequence[PartOutcome]) -> Iterator[Section]:
    """Yields a section per part: its table, its pictures and its files."""
    for outcome in outcomes:
        part, name = outcome.part, file_name(outcome)
        files = Downloads(
            (
                download(f"{name}.csv", outcome.runs.to_csv(index=False).encode()),
                download(f"{name}.toml", outcome.design.base.to_toml().encode()),
            )
        )
        table = _table(outcome, f"{name}-means")
        pictures = tuple(
            Picture(
                f"{name}-time-{i}",
                f"Over time{', ' if figure.levels else ''}{figure.levels}",
                figure.alt,
                _inline(figure.svg),
            )
            for i, figure in enumerate(outcome.figures)
        )
        yield Section(name, f"{part.id} {part.title}", (part.note,) if part.note else (), (table, *pictures, files))


def _inline(svg: str) -> Markup:
    """Returns the `svg` element of a figure, without the declarations that precede it in a file."""
    return Markup(svg[svg.index("<svg") :])  # noqa: S704 - drawn here


def _table(outcome: PartOutcome, name: str) -> Grid:
    """Returns the means, each in one cell with its interval's half-width, which saves width on narrow screens."""
    means = outcome.means()
    heads = [head for head in map(str, means.columns) if not head.startswith("± ")]
    columns = tuple(Column(head.replace("_", " "), number=head not in outcome.factors) for head in heads)
    decimals = {head: _decimals(means[head]) for head in heads if head not in outcome.factors}
    rows = tuple(
        tuple(_mean(row, head, decimals[head]) if head in decimals else cell(row[head]) for head in heads)
        for row in means.to_dict("records")
    )
    return Grid(name, "Means", columns, rows)


def _mean(row: Mapping[Any, Any], head: str, decimals: int) -> Cell:
    return Cell(with_margin(row[head], margin(row, head), decimals), row[head])


def _decimals(means: pd.Series) -> int:
    """Returns the number of decimals with which the largest mean of a column has about four digits."""
    largest = means.abs().max()
    return sum(bool(largest < bound) for bound in (1000, 100, 10))
