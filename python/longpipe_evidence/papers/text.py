"""Output of `longpipe reproduce`: tables of published and simulated values, claims with verdicts, and variants.

Differences are shown in terminals that are at least 96 columns wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pandas.api.types import is_numeric_dtype
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from longpipe.analysis.claims import Judgement, Verdict
from longpipe.cli.toolkit.console import terminal_table
from longpipe.report.parts import NOTHING
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.rounding import LARGE_DIFFERENCE, difference, rounded
from longpipe_evidence.papers.seeds import seeds_text
from longpipe_evidence.papers.sensitivity import errors, watched

if TYPE_CHECKING:
    from longpipe_evidence.papers.experiments import Caption
    from longpipe_evidence.papers.replication import Replication
    from longpipe_evidence.papers.reproduction import Reproduction

# Width of texts in reports [characters].
REPORT_WIDTH: Final = 100

STYLES = {Verdict.HOLDS: "green", Verdict.IN_PART: "yellow", Verdict.UNDECIDED: "yellow", Verdict.FAILS: "red"}
# Minimum width of a terminal [characters] that shows differences.
WIDTH_WITH_DIFFERENCES = 96
# Maximum number of rows of a printed table; longer ones are only written to a file.
MAX_ROWS = 60

Record = Mapping[Hashable, Any]


def text_of(show: Callable[[Console], None]) -> str:
    """Returns the printed output, as a report contains it."""
    text = StringIO()
    show(Console(file=text, width=REPORT_WIDTH))
    return text.getvalue()


def show(reproduction: Reproduction, console: Console) -> None:
    """Prints every table of the paper with the replicated values, then the claims."""
    paper = reproduction.paper
    console.print(paper.title, style="bold", highlight=False)
    console.print(paper.conditions, style="dim", highlight=False)
    for caption in paper.captions:
        console.print()
        differences = paper.data is not None and console.width >= WIDTH_WITH_DIFFERENCES
        console.print(_table(reproduction, caption, differences=differences), highlight=False)
    if reproduction.claims:
        console.print()
        show_claims(reproduction.claims, console, paper.claims_title)
    for name, frame in reproduction.summaries.items():
        console.print()
        if len(frame) > MAX_ROWS:
            console.print(f"{name.capitalize()}: {len(frame)} rows, in {name}.csv", highlight=False)
        else:
            console.print(_summary(name, frame), highlight=False)


def show_frames(frames: Mapping[str, pd.DataFrame], console: Console) -> None:
    """Prints tables with their names."""
    for name, frame in frames.items():
        console.print(_summary(name, frame), highlight=False)


def show_sensitivity(
    paper: Replication, rows_of_variants: pd.DataFrame, summaries: Mapping[str, pd.DataFrame], console: Console
) -> None:
    """Prints the errors of every variant, by series and by column, selected rows, and summaries."""
    metrics = " and ".join(paper.metrics)
    error = "error" if paper.data else "difference from the baseline,"
    overview = _Variants(f"Mean absolute {error} of {metrics}; their means in the selected rows")
    overview.add(errors(rows_of_variants, paper.series), 3)
    overview.add(watched(paper, rows_of_variants), 2)
    console.print(overview.table(), highlight=False)
    for level, rows in rows_of_variants.groupby(paper.series, sort=False):
        by_column = _Variants(f"{str(level).capitalize()}: mean absolute {error} of {metrics}, by {paper.columns}")
        by_column.add(errors(rows, paper.columns), 3)
        console.print()
        console.print(by_column.table(), highlight=False)
    for name, frame in summaries.items():
        console.print()
        console.print(_summary(name, frame), highlight=False)


def _table(reproduction: Reproduction, caption: Caption, *, differences: bool) -> Table:
    """Returns a printed table: a row per configuration, with a column per level of the paper's columns.

    The entries are those of `_entry`. If the paper prints numbers, averages and errors follow.
    """
    paper, metric = reproduction.paper, caption.metric
    rows = reproduction.rows[(reproduction.rows["table"] == caption.table) & (reproduction.rows["metric"] == metric)]
    has_single_run = bool(rows["deterministic"].notna().any())
    table = _plain_table(_title(paper, caption, rows, has_single_run=has_single_run))
    varying = [name for name in paper.factors if name != paper.columns and len(rows[name].unique()) > 1]
    factors = {name: paper.factors[name] for name in varying}
    columns = {level: name for level, name in paper.column_names.items() if (rows[paper.columns] == level).any()}
    groups = list(rows.groupby(list(factors), sort=False))
    configurations = [tuple(map(_level, levels)) for levels, _ in groups]
    widths = [max(map(len, column)) for column in zip(factors.values(), *configurations, strict=True)]
    table.add_column(f"\n{_aligned(factors.values(), widths)}", no_wrap=True)
    for name in columns.values():
        head = f"{name}\n{'publ' if paper.data else 'once':>4} {'mean':>4}{'±95%':<4}"
        table.add_column(f"{head} {'diff':>4}" if differences else head, no_wrap=True)
    for configuration, (_, group) in zip(configurations, groups, strict=True):
        entries = {record[paper.columns]: record for record in group.to_dict("records")}
        table.add_row(
            _aligned(configuration, widths),
            *(_entry(entries[level], differences=differences) for level in columns),
        )
    seeds = seeds_text(rows, paper.factors, NAMES)
    if not paper.data:
        table.caption = f"once: the single run; mean ±95%: of {seeds}"
        return table
    averages = {record[paper.columns]: record for record in reproduction.averages(caption).to_dict("records")}
    table.add_row("average", *(_entry(averages[level], differences=differences) for level in columns), style="bold")
    for column, label in (("mean", "error"), *((("deterministic", "single run"),) if has_single_run else ())):
        errors_by_level = [_error(rows[rows[paper.columns] == level], column) for level in columns]
        table.add_row(label, *(f"{'':>5}{_short(error, 3)}" for error in errors_by_level), style="dim")
    table.caption = (
        f"publ: published; mean ±95%: its interval, of {seeds}\n"
        f"{'diff: mean - published; ' if differences else ''}"
        "error: mean absolute error of the means"
        f"{'; single run: that of the single run' if has_single_run else ''}"
    )
    return table


def _title(paper: Replication, caption: Caption, rows: pd.DataFrame, *, has_single_run: bool) -> str:
    """Returns the caption of a printed table, followed by its mean absolute errors if the paper prints numbers."""
    title = f"{caption.kind} {caption.number}: {caption.title}"
    if paper.data:
        title += f"; mean absolute error {_short(_error(rows, 'mean'), 3)}"
        if has_single_run:
            title += f", of the single run {_short(_error(rows, 'deterministic'), 3)}"
    return title


def _aligned(texts: Iterable[str], widths: Iterable[int]) -> str:
    """Returns texts in a line, each right-aligned in its width [characters]."""
    return " ".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))


def _error(rows: pd.DataFrame, column: str) -> float:
    """Returns the mean absolute difference of a column from the published values."""
    return float((rows[column] - rows["published"]).abs().mean())


def _entry(record: Record, *, differences: bool) -> str:
    """Returns the entry of a configuration: the published value, the mean with its interval, and the difference.

    If the paper prints no number, the entry contains the value of the single run instead.
    """
    reference = record["deterministic"] if math.isnan(record["published"]) else record["published"]
    deviation = difference(record["mean"], reference)
    margin = (record["mean_high"] - record["mean_low"]) / 2
    interval = "" if math.isnan(margin) else f"±{_short(margin, 2):.3}"
    signed = f"{'-' if deviation < 0 else '+'}{_short(abs(deviation), 2)}"
    if abs(deviation) > LARGE_DIFFERENCE:
        signed = f"[bold yellow]{signed}[/]"
    entry = f"{_short(reference, 2):>4} {_short(record['mean'], 2):>4}{interval:<4}"
    return f"{entry} {signed}" if differences else entry


def show_claims(claims: Iterable[Judgement], console: Console, title: str) -> None:
    """Prints each claim with its verdict and evidence, under a title that describes how they are judged."""
    console.print(title, style="bold", highlight=False)
    for claim in claims:
        verdict = f"[{STYLES[claim.verdict]}]{claim.verdict:<9}[/]"
        console.print(f"{claim.id} {verdict} {escape(claim.text)}", highlight=False)
        for line in claim.evidence:
            console.print(Padding(escape(line), (0, 0, 0, 6)), style="dim", highlight=False)
        for line in filter(None, (claim.note, claim.scaled)):
            console.print(Padding(escape(line), (0, 0, 0, 6)), style="dim italic", highlight=False)


def _summary(name: str, frame: pd.DataFrame) -> Table:
    """Returns a frame as a table under its name."""
    table = _plain_table(name[:1].upper() + name[1:])
    for column in frame.columns:
        head = escape(str(column).replace("_", "\n"))
        table.add_column(head, justify="right" if is_numeric_dtype(frame[column]) else "left")
    for row in frame.itertuples(index=False):
        table.add_row(*(_plain(cell) if isinstance(cell, float) else escape(str(cell)) for cell in row))
    return table


def _plain_table(title: str) -> Table:
    """Returns an empty table with a title."""
    return terminal_table(
        title=escape(title), title_justify="left", title_style="bold", caption_justify="left", caption_style="dim"
    )


class _Variants:
    """A table with a row per variant, filled column by column."""

    def __init__(self, title: str) -> None:
        self._table = _plain_table(title)
        self._table.add_column("variant", no_wrap=True)
        self._rows: dict[str, list[str]] = {}

    def add(self, frame: pd.DataFrame, digits: int) -> None:
        """Adds one column for each name in the frame's columns without their last level, the metric."""
        for name in dict.fromkeys(column[:-1] for column in frame.columns):
            heading = " ".join(str(level) for level in name)
            self._table.add_column(heading.replace(" ", "\n"), justify="right")
            values = frame[[column for column in frame.columns if column[:-1] == name]]
            for variant, numbers in zip(values.index, values.to_numpy(), strict=True):
                cell = " ".join(f"{_short(number, digits):>4}" for number in numbers)
                self._rows.setdefault(str(variant), []).append(cell)

    def table(self) -> Table:
        """Returns the table with all columns added so far."""
        for variant, cells in self._rows.items():
            self._table.add_row(variant, *cells)
        return self._table


def _plain(value: float) -> str:
    """Formats a number with at most three decimals; NaN is a dash."""
    return NOTHING if math.isnan(value) else f"{value:.3f}".rstrip("0").rstrip(".")


def _level(level: object) -> str:
    """Returns the name of a factor's level in the output."""
    return NAMES.get(level, level) if isinstance(level, str) else str(level)


def _short(value: float, digits: int) -> str:
    """Formats a number without the zero before its decimal point, halves rounded up: .81, 1.00; NaN is a dash."""
    if math.isnan(value):
        return NOTHING
    return f"{rounded(value, digits):.{digits}f}".removeprefix("0")
