"""A replicated paper's tables on a page: published beside simulated, how far apart they are, and the variants."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.papers.names import NAMES
from longpipe.papers.paper import Distance
from longpipe.papers.rounding import DECIMALS, LARGE_DIFFERENCE, difference, rounded
from longpipe.papers.seeds import told
from longpipe.papers.sensitivity import BASELINE, errors, watched
from longpipe.report.folder import Part
from longpipe.report.parts import MINUS, NOTHING, Cell, Column, Grid, number

if TYPE_CHECKING:
    from longpipe.papers.experiments import Caption
    from longpipe.papers.replication import Replication
    from longpipe.report.results import Results

# A change of a mean absolute error that a reader should see.
VISIBLE: Final = 0.005

Record = Mapping[Hashable, Any]


def caption_name(paper: Replication, caption: Caption) -> str:
    """The id of a table within the page."""
    return f"{paper.id}-{caption.kind.lower()}-{caption.number}-{caption.metric}"


def of_caption(rows: pd.DataFrame, caption: Caption) -> pd.DataFrame:
    """The rows of one printed table."""
    return rows[(rows["table"] == caption.table) & (rows["metric"] == caption.metric)]


def table(paper: Replication, caption: Caption, rows: pd.DataFrame) -> Grid:
    """A printed table: for each of its columns published, replicated mean with interval, difference.

    Where a paper prints no numbers, the single run stands in for what was published.
    """
    rows = of_caption(rows, caption)
    varying = [name for name in paper.factors if name != paper.columns and len(rows[name].unique()) > 1]
    levels = {level: name for level, name in paper.column_names.items() if (rows[paper.columns] == level).any()}
    printed = "published" if paper.data else "deterministic"
    columns = [Column(paper.factors[name], number=pd.api.types.is_numeric_dtype(rows[name])) for name in varying]
    for name in levels.values():
        columns += [Column("publ." if paper.data else "once", name, number=True)]
        columns += [Column("mean", name, number=True), Column("diff.", name, number=True)]
    by_configuration: dict[tuple[Any, ...], dict[Any, Record]] = {}
    for record in rows.to_dict("records"):
        entries = by_configuration.setdefault(tuple(record[name] for name in varying), {})
        entries[record[paper.columns]] = record
    found = []
    for values, entries in by_configuration.items():
        cells = [_level(value) for value in values]
        for level in levels:
            cells += _entry(entries[level], printed) if level in entries else [Cell(NOTHING)] * 3
        found.append(tuple(cells))
    return Grid(
        caption_name(paper, caption),
        f"{caption.kind} {caption.number}: {caption.title}",
        tuple(columns),
        tuple(found),
        tuple(_footer(rows, paper, list(levels), printed)),
        label=len(varying),
        note=_note(rows, paper),
    )


def distance(rows: pd.DataFrame) -> dict[str, float]:
    """How far the replicated means lie from the published values.

    `values` compared; `error`, mean absolute; `relative`, sum of errors over sum of values; `difference`, mean;
    `largest`, absolute; `inside`, the share of published values within the 95 % interval of single runs; `single`, the
    mean absolute error of the single run.
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


def distances(paper: Replication, results: Results) -> Iterator[Distance]:
    """How far each printed table, and each summary that has published numbers, is from what was published."""
    rows = results.frame("tables")
    for caption in paper.captions:
        numbers = distance(of_caption(rows, caption)) if paper.data else {"values": 0}
        yield Distance(f"{caption.kind} {caption.number}", caption.metric, numbers)
    for name, units in paper.compared.items():
        for (table, of), group in results.frame(name).groupby(["table", "of"], sort=False):
            for value, unit in units.items():
                compared = pd.DataFrame({"published": group[f"published_{value}"], "mean": group[f"mean_{value}"]})
                numbers = distance(compared.assign(low=float("nan"), high=float("nan"), deterministic=float("nan")))
                yield Distance(f"Table {str(table).upper()}", f"{value} ({of})", numbers, unit)


def variants(paper: Replication, results: Results) -> tuple[str, Grid]:
    """What stands before the table of variants, and that table."""
    seeds = results.records[Part.SENSITIVITY]["seeds"]
    what = "mean absolute error" if paper.data else "mean absolute difference from the paper as reproduced"
    lead = f"One choice changed at a time, {seeds} seeds each: the {what}, and the means of the rows under watch."
    return lead, _variants_grid(paper, results.frame("sensitivity-rows"), f"{paper.id}-sensitivity")


def _variants_grid(paper: Replication, found: pd.DataFrame, name: str) -> Grid:
    parts = ((errors(found, paper.series), "error, "), (watched(paper, found), "mean, "))
    columns, by_variant = [Column("variant")], {str(v): [Cell(str(v))] for v in found["variant"].unique()}
    for frame, what in parts:
        for labels in frame.columns:
            *group, metric = map(str, labels)
            columns.append(Column(metric, what + " ".join(group), number=True))
            base = float(frame[labels][BASELINE.name])
            for variant, value in frame[labels].items():
                change = value - base if what.startswith("error") else 0.0
                mark = "worse" if change > VISIBLE else "better" if change < -VISIBLE else ""
                by_variant[str(variant)].append(Cell(number(value), float(value), mark))
    note = f"Green: an error smaller by more than {VISIBLE:g} than as reproduced; red: larger by more."
    return Grid(name + "-variants", "Variants", tuple(columns), tuple(map(tuple, by_variant.values())), note=note)


def _level(value: Any) -> Cell:  # noqa: ANN401 - whatever a level is
    if isinstance(value, str):
        return Cell(NAMES.get(value, value))
    return Cell(f"{value:g}", float(value))


def _entry(record: Record, printed: str) -> list[Cell]:
    first, mean = float(record[printed]), float(record["mean"])
    margin = (float(record["mean_high"]) - float(record["mean_low"])) / 2
    off = difference(mean, first)
    mark = "far" if abs(off) > LARGE_DIFFERENCE else ""
    return [
        Cell(two(first), first),
        Cell(two(mean) + ("" if margin != margin else f" ±{two(margin)}"), mean),
        Cell(signed(off), mean - first, mark),
    ]


def _footer(rows: pd.DataFrame, paper: Replication, levels: list[Any], printed: str) -> list[tuple[Cell, ...]]:
    averages, errors, single = [], [], []
    for level in levels:
        of_level = rows[rows[paper.columns] == level]
        first, mean = of_level[printed].mean(), of_level["mean"].mean()
        averages += [Cell(two(first)), Cell(two(mean)), Cell(signed(difference(mean, first)))]
        errors += [Cell(""), Cell(number((of_level["mean"] - of_level["published"]).abs().mean())), Cell("")]
        once = (of_level["deterministic"] - of_level["published"]).abs().mean()
        single += [Cell(""), Cell(number(once)), Cell("")]
    lines = [(Cell("average"), *averages)]
    if paper.data:
        lines.append((Cell("mean absolute error"), *errors))
        if rows["deterministic"].notna().any():
            lines.append((Cell("of the single run"), *single))
    return lines


def _note(rows: pd.DataFrame, paper: Replication) -> str:
    # Folders that were written before rows said it have no column of seeds.
    seeds = told(rows, paper.factors, NAMES) if "seeds" in rows else "seeds"
    if paper.data is None:
        return (
            f"once: the single run, all sources at once, nothing random. mean ± half its 95 % interval: over {seeds}. "
            "diff.: mean less single run."
        )
    found = distance(rows)
    return (
        f"publ.: printed in the paper. mean ± half its 95 % interval: over {seeds}. diff.: mean less "
        f"published, set off beyond ±{LARGE_DIFFERENCE:g}. Mean absolute error {number(found['error'])}"
        + ("." if found["single"] != found["single"] else f", of the single run {number(found['single'])}.")
    )


def two(value: float) -> str:
    """A number with two decimals, as the papers print theirs."""
    if value != value:
        return NOTHING
    return f"{rounded(value):z.{DECIMALS}f}".replace("-", MINUS)


def signed(value: float) -> str:
    """A rounded difference with its sign; none has none."""
    return ("+" if value > 0 else "") + two(value)
