"""A suite's results as one HTML page: a section for each part, with its means, its runs and its scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longpipe import _core
from longpipe.report.frames import download, grid
from longpipe.report.page import render
from longpipe.report.parts import Downloads, Facts, Report, Section
from longpipe.report.svg import Palette

if TYPE_CHECKING:
    from longpipe.suites.outcome import PartOutcome
    from longpipe.suites.suite import Suite


def page(suite: Suite, outcomes: Sequence[PartOutcome], seeds: int, changes: Mapping[str, Any]) -> str:
    """The page as text."""
    changed = tuple(f"Changed in every run: {field} = {value}." for field, value in changes.items())
    lead = (suite.conditions, *changed, "Means of the seeds; ± is half of the interval that holds the mean with 95 %.")
    about = Facts((("longpipe", _core.__version__), ("engine", str(_core.__engine__)), ("seeds", f"1 to {seeds}")))
    last = Section("about", "What is not here, and where this comes from", suite.left_out, (about,))
    return render(Report(suite.title, lead, (*_sections(outcomes), last)), Palette())


def file_name(outcome: PartOutcome) -> str:
    """What the files of a part are called, without a suffix."""
    return f"part-{outcome.part.id.replace(' ', '-')}"


def _sections(outcomes: Sequence[PartOutcome]) -> Iterator[Section]:
    for outcome in outcomes:
        part, name = outcome.part, file_name(outcome)
        files = Downloads(
            (
                download(f"{name}.csv", outcome.runs.to_csv(index=False).encode()),
                download(f"{name}.toml", outcome.design.base.to_toml().encode()),
            )
        )
        table = grid(outcome.means(), f"{name}-means", "Means")
        yield Section(name, f"{part.id} {part.title}", (part.note,) if part.note else (), (table, files))
