"""Tables of an analysis of variation that fit 80 columns."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from longpipe.analysis.anova import COPIES, Anova
from longpipe.analysis.checks import ADVICE, ALPHA, FAILS
from longpipe.analysis.factors import name_of
from longpipe.cli.toolkit.console import show_table
from longpipe.measures.readable import p_text

# Maximum number of effects and pairs shown; --csv writes all.
MAX_ROWS = 60
SIGNIFICANT = 0.05


def show(fitted: Anova, level: float, tables: Mapping[str, pd.DataFrame], console: Console) -> None:
    """Prints the allocation of variation, main effects and checks, then the requested extras."""
    low, high = fitted.mean_interval(level)
    percent = f"{100 * level:g} %"
    console.print(
        f"{fitted.response} over {', '.join(fitted.factors)}: {len(fitted.cells.y)} runs", markup=False, style="bold"
    )
    interval = "" if math.isnan(low) else f" [{_short(low)}, {_short(high)}] at {percent}"
    error = "no error term" if fitted.error_df == 0 else f"s_e {_short(fitted.standard_error)}, {fitted.error_df} df"
    console.print(f"mean {_short(fitted.mean)}{interval}; {error}", markup=False)
    console.print(_describe(fitted), markup=False, style="dim")
    if fitted.copied:
        console.print(COPIES, markup=False, style="yellow", soft_wrap=True)
    for table, heads in (
        (_variation(fitted.variation), 1),
        (_effects(tables["effects"], fitted, f"Main effects, {percent} intervals; bold if without 0", percent), 2),
        (_checks(tables["checks"]), 1),
    ):
        console.print()
        show_table(console, table, heads)
    if "comparisons" in tables:
        console.print()
        show_table(console, _comparisons(tables["comparisons"], percent), 2)
    if "bootstrap" in tables:
        console.print()
        show_table(console, _bootstrap(tables["bootstrap"], fitted, percent), 2)
        console.print()
        show_table(console, _ranks(tables["ranks"]))


def _describe(anova: Anova) -> str:
    interactions = max(len(term) for term in anova.terms)
    model = "main effects" if interactions == 1 else f"interactions of up to {interactions} factors"
    points = math.prod(len(anova.cells.axes[name]) for name in anova.factors)
    full = interactions == len(anova.factors) and len(anova.cells.y) > points
    pooled = "replications" if full else "residual"
    blocks = "" if anova.blocks is None else f", less {anova.blocks} as blocks"
    balance = "" if anova.cells.balanced else "; not balanced: sums of squares of type III need not add up"
    return f"model: {model}; error: {pooled}{blocks}{balance}"


def _variation(variation: pd.DataFrame) -> Table:
    """Returns the table of the allocation of variation."""
    table = _table("Allocation of variation", "component", "sum of\nsquares", "%", "df", "mean\nsquare", "F", "p")
    for row in variation.to_dict("records"):
        table.add_row(
            escape(row["component"]),
            _short(row["sum_of_squares"]),
            "" if math.isnan(row["percent"]) else f"{row['percent']:.2f}",
            str(row["df"]),
            _short(row["mean_square"]),
            _short(row["f"], 3),
            p_text(row["p_value"]),
            style=None if row["component"] not in ("individual values", "overall mean", "total variation") else "dim",
        )
    return table


def _effects(effects: pd.DataFrame, anova: Anova, title: str, percent: str) -> Table:
    """Returns the table of main effects with their intervals; those that certainly differ from 0 are bold."""
    main = {name_of(term) for term in anova.terms if len(term) == 1}
    main_effects = effects[effects["component"].isin(main)]
    table = _table(title, "factor", "level", "effect", "error", f"low\n{percent}", f"high\n{percent}")
    previous = ""
    for row in main_effects.head(MAX_ROWS).to_dict("records"):
        sure = row["low"] > 0 or row["high"] < 0
        numbers = [_short(row[name]) for name in ("effect", "standard_error", "low", "high")]
        name = "" if row["component"] == previous else row["component"]
        table.add_row(escape(name), escape(row["level"]), *numbers, style="bold" if sure else None)
        previous = row["component"]
    return _captioned(table, len(main_effects), "effects")


def _bootstrap(effects: pd.DataFrame, anova: Anova, percent: str) -> Table:
    table = _effects(effects, anova, f"Main effects, {percent} bootstrap-t intervals", percent)
    if not np.isfinite(effects[["low", "high"]].to_numpy()).all():
        few = "replications" if anova.blocks is None else f"blocks ({anova.blocks})"
        line = f"inf: too few {few} to estimate this end"
        table.caption = line if table.caption is None else f"{line}\n{table.caption}"
    return table


def _checks(checks: pd.DataFrame) -> Table:
    """Returns the table of the tests of assumptions, with advice on those that fail."""
    title = f"Assumptions of the tests and intervals; fails if p is below {ALPHA:g}"
    table = _table(title, "assumption", "verdict", "test", "p", "")
    for row in checks.to_dict("records"):
        style = "yellow" if row["verdict"] == FAILS else None
        table.add_row(
            row["assumption"], row["verdict"], row["test"], p_text(row["p_value"]), escape(row["note"]), style=style
        )
    failed = [row["assumption"] for row in checks.to_dict("records") if row["verdict"] == FAILS]
    table.caption = "\n".join(f"{name} fails: {ADVICE[name]}" for name in failed) or None
    for column in (1, 2, 4):
        table.columns[column].justify = "left"
        table.columns[column].no_wrap = False
    return table


def _comparisons(comparisons: pd.DataFrame, percent: str) -> Table:
    table = _table(f"Differences, {percent} for all pairs of a factor at once (Tukey)", "first", "second", "difference",
                   f"low\n{percent}", f"high\n{percent}", "p")  # fmt: skip
    table.columns[1].justify = "left"
    for row in comparisons.head(MAX_ROWS).to_dict("records"):
        numbers = [_short(row[name]) for name in ("difference", "low", "high")]
        style = "bold" if row["differs"] else None
        table.add_row(escape(row["first"]), escape(row["second"]), *numbers, p_text(row["p_value"]), style=style)
    return _captioned(table, len(comparisons), "pairs")


def _ranks(ranks: pd.DataFrame) -> Table:
    table = _table("Rank tests (aligned rank transform)", "component", "df", "F", "p")
    for row in ranks.to_dict("records"):
        style = "bold" if row["p_value"] < SIGNIFICANT else None
        table.add_row(
            escape(row["component"]), str(row["df"]), _short(row["f"], 3), p_text(row["p_value"]), style=style
        )
    return table


def _table(title: str, first: str, *further: str) -> Table:
    table = Table(
        title=title, title_style="bold", caption_style="dim", box=None, pad_edge=False, padding=(0, 2, 0, 0),
        header_style="bold",
    )  # fmt: skip
    table.add_column(first)
    for name in further:
        table.add_column(name, justify="left" if name == "level" else "right", no_wrap=name != "level")
    return table


def _captioned(table: Table, rows: int, what: str) -> Table:
    if rows > MAX_ROWS:
        table.caption = f"{MAX_ROWS} of {rows} {what}; --csv DIR writes all"
    return table


def _short(value: float, digits: int = 4) -> str:
    """Formats a number in at most 9 characters: fixed point between 0.0001 and 100000, otherwise an exponent."""
    if math.isnan(value):
        return ""
    size = abs(value)
    if size == 0 or 1e-4 <= size < 1e5:
        return f"{value:.{max(0, digits - max(0, len(str(int(size))) - 1))}f}"
    return f"{value:.2e}"
