"""Tables of a replicated paper on a page: published and simulated values, errors, and variants."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.report.parts import MINUS, NOTHING, Cell, Column, Grid, number
from longpipe_evidence.papers.experiments import cell_name
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.paper import Distance
from longpipe_evidence.papers.reasons import Footnotes
from longpipe_evidence.papers.report.cells import anchor
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.rounding import LARGE_DIFFERENCE, difference, rounded
from longpipe_evidence.papers.seeds import seeds_text
from longpipe_evidence.papers.sensitivity import BASELINE, errors, watched

if TYPE_CHECKING:
    from longpipe_evidence.papers.experiments import Caption
    from longpipe_evidence.papers.replication import Replication
    from longpipe_evidence.papers.tables import Tables

# Change in a mean absolute error that is large enough to be highlighted.
VISIBLE: Final = 0.005
# Number of the paper's standard errors above which a difference is highlighted.
MANY_ERRORS: Final = 3.0

Record = Mapping[Hashable, Any]


def caption_name(paper: Replication, caption: Caption) -> str:
    """Returns the id of a table within the page."""
    return f"{paper.id}-{caption.kind.lower()}-{caption.number}-{caption.metric}"


def of_caption(rows: pd.DataFrame, caption: Caption) -> pd.DataFrame:
    """Returns the rows of one printed table."""
    return rows[(rows["table"] == caption.table) & (rows["metric"] == caption.metric)]


def table(paper: Replication, caption: Caption, rows: pd.DataFrame) -> Grid:
    """Returns a printed table: published value, replicated mean with interval, and difference for each column.

    If a paper prints no numbers, each column contains only the mean.
    """
    rows = of_caption(rows, caption)
    varying = [name for name in paper.factors if name != paper.columns and len(rows[name].unique()) > 1]
    levels = {level: name for level, name in paper.column_names.items() if (rows[paper.columns] == level).any()}
    columns = [Column(paper.factors[name], number=pd.api.types.is_numeric_dtype(rows[name])) for name in varying]
    for name in levels.values():
        heads = ("publ.", "mean", "diff.") if paper.data else ("mean",)
        columns += [Column(head, name, number=True) for head in heads]
    by_configuration: dict[tuple[Any, ...], dict[Any, Record]] = {}
    for record in rows.to_dict("records"):
        entries = by_configuration.setdefault(tuple(record[name] for name in varying), {})
        entries[record[paper.columns]] = record
    name, notes, lines = caption_name(paper, caption), Footnotes(paper.reasons), []
    cells_per_level = 3 if paper.data else 1
    for values, entries in by_configuration.items():
        cells = [_level(value) for value in values]
        for level in levels:
            cells += (
                _entry(entries[level], paper, notes, name) if level in entries else [Cell(NOTHING)] * cells_per_level
            )
        lines.append(tuple(cells))
    return Grid(
        name,
        f"{caption.kind} {caption.number}: {caption.title}",
        tuple(columns),
        tuple(lines),
        tuple(_footer(rows, paper, list(levels))),
        label=len(varying),
        note=_note(rows, paper, caption),
        footnotes=tuple(notes.texts),
    )


def distance(rows: pd.DataFrame) -> dict[str, float]:
    """Returns the deviations of the replicated means from the published values.

    Keys: `values`, the number of compared values; `error`, the mean absolute error; `relative`, the sum of errors
    divided by the sum of values; `difference`, the mean difference; `largest`, the largest absolute difference;
    `inside`, the share of published values within the 95 % interval of single runs; `single`, the mean absolute error
    of the single run.
    """
    rows = rows.dropna(subset=["published", "mean"])
    difference = rows["mean"] - rows["published"]
    inside = (rows["low"] <= rows["published"]) & (rows["published"] <= rows["high"])
    return {
        "values": len(rows),
        "error": float(difference.abs().mean()),
        "relative": float(difference.abs().sum() / rows["published"].abs().sum()),
        "difference": float(difference.mean()),
        "largest": float(difference.abs().max()),
        "inside": float(inside.mean()) if rows["low"].notna().any() else float("nan"),
        "single": float((rows["deterministic"] - rows["published"]).abs().mean()),
    }


def distances(paper: Replication, results: Tables) -> Iterator[Distance]:
    """Returns the errors of each printed table, and of each summary that has published numbers."""
    rows = results.frame("tables")
    for caption in paper.captions if paper.data else ():
        numbers = distance(of_caption(rows, caption))
        yield Distance(f"{caption.kind} {caption.number}", caption.metric, numbers)
    for name, units in paper.compared.items():
        for (table, value_of), group in results.frame(name).groupby(["table", "of"], sort=False):
            for value, unit in units.items():
                compared = pd.DataFrame({"published": group[f"published_{value}"], "mean": group[f"mean_{value}"]})
                numbers = distance(compared.assign(low=float("nan"), high=float("nan"), deterministic=float("nan")))
                yield Distance(f"Table {str(table).upper()}", f"{value} ({value_of})", numbers, unit)


def variants(paper: Replication, results: Tables) -> tuple[str, Grid]:
    """Returns the table of variants, and the text that precedes it."""
    seeds = results.records[Part.SENSITIVITY]["seeds"]
    what = "mean absolute error" if paper.data else "mean absolute difference from the baseline"
    lead = f"One choice changed at a time, {seeds} seeds each: the {what}, and the means of the selected rows."
    return lead, _variants_grid(paper, results.frame("sensitivity-rows"), f"{paper.id}-sensitivity")


def _variants_grid(paper: Replication, rows_of_variants: pd.DataFrame, name: str) -> Grid:
    """Returns the table with a row per variant: errors by series, then means of the selected rows."""
    parts = ((errors(rows_of_variants, paper.series), "error, "), (watched(paper, rows_of_variants), "mean, "))
    columns, by_variant = [Column("variant")], {str(v): [Cell(str(v))] for v in rows_of_variants["variant"].unique()}
    for frame, what in parts:
        for labels in frame.columns:
            *group, metric = map(str, labels)
            columns.append(Column(metric, what + " ".join(group), number=True))
            base = float(frame[labels][BASELINE.name])
            for variant, value in frame[labels].items():
                change = value - base if what.startswith("error") else 0.0
                mark = "worse" if change > VISIBLE else "better" if change < -VISIBLE else ""
                by_variant[str(variant)].append(Cell(number(value), float(value), mark))
    note = f"Green: an error smaller than the baseline's by more than {VISIBLE:g}; red: larger by more than this."
    return Grid(name + "-variants", "Variants", tuple(columns), tuple(map(tuple, by_variant.values())), note=note)


def _level(value: Any) -> Cell:  # noqa: ANN401 - any type of level
    """Returns the cell of a factor's level: its name on the page, or its number."""
    if isinstance(value, str):
        return Cell(NAMES.get(value, value))
    return Cell(f"{value:g}", float(value))


def _entry(record: Record, paper: Replication, notes: Footnotes, name: str) -> list[Cell]:
    """Returns the cells of one configuration: published value, replicated mean, and difference.

    A large difference is highlighted and has a footnote with its reason, added to `notes`; `name` is the table's id. If
    the paper prints no numbers, only the mean is returned.
    """
    mean, decimals = float(record["mean"]), paper.decimals
    margin = (float(record["mean_high"]) - float(record["mean_low"])) / 2
    interval = "" if math.isnan(margin) else f" ±{decimal(margin, decimals)}"
    # The mean is a link to its scenario.
    scenario = anchor(paper.id, cell_name(paper.factors, record))
    shown = Cell(decimal(mean, decimals) + interval, mean, link=f"#{scenario}")
    if not paper.data:
        return [shown]
    published = float(record["published"])
    deviation = difference(mean, published, decimals)
    text, mark, link = signed(deviation, decimals), "", ""
    error = paper.standard_errors.get((str(record["table"]), str(record["metric"])))
    is_large = abs(deviation) > LARGE_DIFFERENCE
    if error is not None:
        text += f" ({abs(mean - published) / error:.1f} s_e)"
        is_large = is_large or abs(mean - published) > MANY_ERRORS * error
    if is_large:
        number = notes.number(record)
        text, mark, link = f"{text} [{number}]", "far", f"#{name}-reason-{number}"
    return [Cell(decimal(published, decimals), published), shown, Cell(text, mean - published, mark, link)]


def _footer(rows: pd.DataFrame, paper: Replication, levels: list[Any]) -> list[tuple[Cell, ...]]:
    """Returns the lines below a table: averages of each column and, if the paper prints numbers, their errors."""
    averages, errors, biases, single_errors = [], [], [], []
    decimals = paper.decimals
    for level in levels:
        of_level = rows[rows[paper.columns] == level]
        mean = of_level["mean"].mean()
        if not paper.data:
            averages.append(Cell(decimal(mean, decimals)))
            continue
        published, deviations = of_level["published"].mean(), of_level["mean"] - of_level["published"]
        deviation = signed(difference(mean, published, decimals), decimals)
        averages += [Cell(decimal(published, decimals)), Cell(decimal(mean, decimals)), Cell(deviation)]
        errors += [Cell(""), Cell(number(deviations.abs().mean())), Cell("")]
        biases += [Cell(""), Cell(""), Cell(signed(deviations.mean(), 3))]
        error_of_single = (of_level["deterministic"] - of_level["published"]).abs().mean()
        single_errors += [Cell(""), Cell(number(error_of_single)), Cell("")]
    lines = [(Cell("average"), *averages)]
    if paper.data:
        lines += [(Cell("mean absolute error"), *errors), (Cell("bias: mean difference"), *biases)]
        if rows["deterministic"].notna().any():
            lines.append((Cell("error of the single run"), *single_errors))
    return lines


def _note(rows: pd.DataFrame, paper: Replication, caption: Caption) -> str:
    """Returns the explanation below a table: its columns, the limits of highlighting, and its errors."""
    seeds = seeds_text(rows, paper.factors, NAMES)
    if paper.data is None:
        return f"mean ± half its 95 % interval: over {seeds}. The paper prints a curve without numbers."
    distances = distance(rows)
    error = paper.standard_errors.get((caption.table, caption.metric))
    of_single = ""
    if not math.isnan(distances["single"]):
        of_single = f", error of the single run {number(distances['single'])}"
    of_paper = "" if error is None else f" or {MANY_ERRORS:g} times the paper's own standard error s_e of {error:g}"
    return (
        f"publ.: printed in the paper. mean ± half its 95 % interval: over {seeds}. diff.: mean minus published value, "
        f"highlighted with a reason beyond ±{LARGE_DIFFERENCE:g}{of_paper}, limits of longpipe's own. Mean "
        f"absolute error {number(distances['error'])}, bias {signed(distances['difference'], 3)}"
        f"{of_single}."
    )


def decimal(value: float, decimals: int) -> str:
    """Formats a number with the paper's number of decimals."""
    if math.isnan(value):
        return NOTHING
    return f"{rounded(value, decimals):z.{decimals}f}".replace("-", MINUS)


def signed(value: float, decimals: int) -> str:
    """Formats a rounded difference with its sign; zero has none."""
    return ("+" if value > 0 else "") + decimal(value, decimals)
