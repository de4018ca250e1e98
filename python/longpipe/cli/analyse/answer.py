"""Actions of `longpipe analyse`: reads a table, analyses it, writes tables and figures."""

import json as json_module
import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from longpipe.analysis.anova import Anova, anova
from longpipe.analysis.bootstrap import bootstrap
from longpipe.analysis.checks import AssumptionWarning, check
from longpipe.analysis.comparisons import tukey
from longpipe.analysis.conditions import matching
from longpipe.analysis.factors import check_level
from longpipe.analysis.ranks import aligned_ranks
from longpipe.cli.analyse.tables import show
from longpipe.cli.toolkit.console import print_written, terminal
from longpipe.cli.toolkit.outputs import is_stdout, write_output
from longpipe.cli.toolkit.progress import Waiting
from longpipe.cli.toolkit.storing import factors_of_study
from longpipe.errors import ScenarioError
from longpipe.inputs.frame import column_named, in_base_units, read_frame
from longpipe.measures.columns import with_expression
from longpipe.measures.readable import readable
from longpipe.pictures import variation as draw
from longpipe.pictures.saving import save
from longpipe.system.files import write_text


@dataclass(frozen=True)
class Question:
    """Options of `longpipe analyse`."""

    response: str
    unit: str | None
    factors: tuple[str, ...]
    level: float
    order: int | None
    blocks: str | None
    where: tuple[str, ...]
    compare: tuple[tuple[str, ...], ...]
    robust: bool
    saturated: bool


def columns(option: str, text: str) -> tuple[str, ...]:
    """Splits names at commas; raises ScenarioError, which names the option, if a name is empty."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ScenarioError(f"{option}: {text!r}; accepts names separated by commas, as in tcp,buffer")
    return names


def run(file: Path, question: Question, *, json: str | None, csv: Path | None, figures: Path | None) -> None:
    """Analyses a file and prints the result; `json` is a file, or "-" to write only JSON to stdout."""
    check_level(question.level)
    if not file.exists() and factors_of_study(str(file), None):
        export = f"longpipe study export {file} -o {file}.csv"
        raise ScenarioError(f"{file}: a study; needs the table of its runs: {export}")
    frame = read_frame(file, "a CSV file with a header")
    question = _heads(question, frame)
    frame = with_expression(frame, question.response)
    frame, unit = in_base_units(frame, question.response)
    frame = matching(frame, question.where).reset_index(drop=True)
    shown_response = readable(question.response, unit=question.unit or unit)
    with Waiting(f"analyzing {file}"):
        fitted = _anova(frame, question.response, question)
        tables = _tables(fitted, question)
        report = _report(fitted, question, tables)
    if csv is not None:
        for name, table in {**tables, "residuals": fitted.residuals}.items():
            write_text(csv / f"{name}.csv", table.to_csv(index=False))
    if json is not None:
        write_output(json, report)
    if figures is None and is_stdout(json):
        return
    if shown_response.unit:
        frame = frame.assign(**{shown_response.head: frame[question.response] / shown_response.scale})
        fitted = _anova(frame, shown_response.head, question)
    if figures is not None:
        _draw(fitted, question, figures)
    if not is_stdout(json):
        console = terminal()
        show(fitted, question.level, _tables(fitted, question) if shown_response.unit else tables, console)
        print_written(console, JSON=json, Tables=csv, Figures=figures)


def _heads(question: Question, frame: pd.DataFrame) -> Question:
    """Completes column names that were given without their unit."""
    return replace(
        question,
        response=column_named(frame, question.response),
        factors=tuple(column_named(frame, name) for name in question.factors),
        blocks=None if question.blocks is None else column_named(frame, question.blocks),
        compare=tuple(tuple(column_named(frame, name) for name in names) for names in question.compare),
    )


def _anova(frame: pd.DataFrame, response: str, question: Question) -> Anova:
    return anova(
        frame,
        response,
        question.factors,
        order=question.order,
        blocks=question.blocks,
        saturated=question.saturated,
    )


def _tables(fitted: Anova, question: Question) -> dict[str, pd.DataFrame]:
    """Returns the tables of the analysis by name: variation, effects, checks, and those that the question requests."""
    level, max_order = question.level, len(question.factors)
    with warnings.catch_warnings():
        # The warning is redundant, because the table of checks reports it.
        warnings.simplefilter("ignore", AssumptionWarning)
        tables = {"variation": fitted.variation, "effects": fitted.effects(level, max_order), "checks": check(fitted)}
    if question.compare:
        tables["comparisons"] = pd.concat([tukey(fitted, *names, level=level) for names in question.compare])
    if question.robust:
        tables["bootstrap"] = bootstrap(fitted, level=level, order=max_order)
        tables["ranks"] = aligned_ranks(fitted)
    return tables


def _report(fitted: Anova, question: Question, tables: dict[str, pd.DataFrame]) -> str:
    """Returns the analysis as JSON text."""
    low, high = fitted.mean_interval(question.level)
    report = {
        "response": fitted.response,
        "factors": list(fitted.factors),
        "blocks": fitted.blocks,
        "rows": len(fitted.cells.y),
        "balanced": fitted.cells.balanced,
        "level": question.level,
        "mean": fitted.mean,
        "mean_low": _number(low),
        "mean_high": _number(high),
        "standard_error": _number(fitted.standard_error),
        "error_df": fitted.error_df,
        **{name: [_numbers(row) for row in table.to_dict("records")] for name, table in tables.items()},
    }
    return json_module.dumps(report, indent=2, allow_nan=False) + "\n"


def _numbers(row: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): _number(value) for name, value in row.items()}


def _number(value: Any) -> Any:  # noqa: ANN401 - any value of a cell
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _draw(fitted: Anova, question: Question, directory: Path) -> None:
    save(draw.main_effects(fitted, question.level), directory / "main-effects")
    save(draw.variation_explained(fitted), directory / "variation")
    save(draw.residuals(fitted), directory / "residuals")
    if any(len(term) == 2 for term in fitted.terms):
        save(draw.interactions(fitted), directory / "interactions")
