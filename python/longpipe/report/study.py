"""The report of a study: results, analysis, design and provenance."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd
from pandas.api.types import is_numeric_dtype

from longpipe.analysis.anova import Anova
from longpipe.analysis.checks import AssumptionWarning, check
from longpipe.analysis.intervals import estimate
from longpipe.design.text import to_json
from longpipe.errors import ScenarioError, nearest
from longpipe.measures.readable import INDEXES, Readable, readable
from longpipe.pictures import variation as draw
from longpipe.pictures.saving import to_svg
from longpipe.pictures.sweeps import numeric, sweep
from longpipe.report import design
from longpipe.report.frames import download, grid
from longpipe.report.page import render
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
    number,
    with_margin,
)
from longpipe.report.svg import Palette, inline
from longpipe.store.studies import PROVENANCE
from longpipe.study import Study

# Default responses.
LEVEL: Final = 0.9
# Maximum number of factors of a response curve; with more, only effects are shown.
MAX_CURVED: Final = 2
# Maximum number of rows in the page, because a browser takes seconds to open more; the file has all rows.
MAX_ROWS: Final = 2000


def page(study: Study, responses: Sequence[str] = ()) -> str:
    """Renders a study as an HTML page; `responses` are the measures to analyse, in the format of `Study.resolve`.

    By default these are the measures that its design requests, otherwise efficiency and fairness. Raises ScenarioError
    for a response that is not a measure of its runs.
    """
    for i, response in enumerate(responses := list(responses)):
        study, responses[i] = study.resolve(response)
    runs, palette = study.runs(), Palette()
    finished = runs[runs["state"] == "finished"].reset_index(drop=True)
    measures = _measures(study, finished)
    for response in responses:
        if response not in measures:
            raise ScenarioError(f"--response: {response!r} is not a measure; {nearest(response, measures)}")
    measured = [measure.name for measure in study.design.asked if measure.name in measures]
    response_names = (
        tuple(dict.fromkeys(responses)) or tuple(measured) or tuple(name for name in INDEXES if name in measures)
    )
    analyses = [_analysis(study, finished, response, palette) for response in response_names]
    tables: dict[str, pd.DataFrame] = {"runs": runs, "points": _points(study, finished, measures)}
    for response, (_, fitted) in zip(response_names, analyses, strict=True):
        if fitted is not None:
            tables |= {f"{response}-variation": fitted.variation, f"{response}-effects": fitted.effects(LEVEL)}
    means, every = _results(study, finished, measures, response_names), _runs(study, runs, measures)
    sections = (
        Section("results", "Results", parts=(*_curves(study, response_names, palette), means, every)),
        *_failures(study, runs),
        *(section for section, _ in analyses),
        design.section(study, palette),
        _provenance(study, runs, tables),
    )
    return render(Report(study.name, (_summary(study),), sections), palette)


def _summary(study: Study) -> str:
    status = study.status()
    return (
        f"{status}: {len(study.design.points)} points, each with {study.design.replications} "
        f"{'seed' if study.design.replications == 1 else 'seeds'}. Click a heading to sort a table."
    )


def _measures(study: Study, finished: pd.DataFrame) -> list[str]:
    """Returns the numeric columns with a value in every run."""
    not_measures = {"point", "replication", "seed", *PROVENANCE, *study.design.levels(1)}
    numeric = (str(name) for name in finished.columns if name not in not_measures and is_numeric_dtype(finished[name]))
    return [name for name in numeric if finished[name].notna().any()]


def _points(study: Study, finished: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """Returns one row per point: `point`, levels, `runs`, and each measure's mean with the ends of its interval."""
    by_point = dict(list(finished.groupby("point")))
    rows = []
    for point in range(1, len(study.design.points) + 1):
        row: dict[str, Any] = {"point": point, **study.design.levels(point), "runs": len(by_point.get(point, ()))}
        for measure in measures if point in by_point else ():
            interval = estimate(by_point[point][measure])
            row |= {f"{measure}_mean": interval.mean}
            row |= {f"{measure}_mean_low": interval.mean_low, f"{measure}_mean_high": interval.mean_high}
        rows.append(row)
    return pd.DataFrame(rows)


def _curves(study: Study, response_names: Sequence[str], palette: Palette) -> Iterator[Picture]:
    """Returns each response as curves over a numeric factor, if there is one, a line per level of the other factor."""
    factors = sorted((factor for factor in study.design.factors), key=lambda factor: not numeric(factor.levels))
    names = [factor.name for factor in factors]
    for response in response_names if len(names) <= MAX_CURVED else ():
        try:
            figure = sweep(study, names[0], response, names[1] if len(names) > 1 else None)
        except ScenarioError:
            # Without finished runs there is no curve; the tables report it.
            return
        name = f"curve-{response}"
        drawing = inline(to_svg(figure, name), name, palette)
        yield Picture(name, drawing.title, drawing.alt, drawing.svg)


def _results(study: Study, finished: pd.DataFrame, measures: list[str], response_names: Sequence[str]) -> Grid:
    """Returns the table of means per point, with intervals for the chosen measures."""
    readable_of = {name: readable(name, study.design.asked) for name in measures}
    points = _points(study, finished, measures)
    levels = list(study.design.levels(1))
    further = [name for name in measures if name not in response_names]
    columns = (
        *(Column(name, number=is_numeric_dtype(points[name])) for name in (*levels, "runs")),
        *(Column(f"{readable_of[name].head} ±95\N{NO-BREAK SPACE}%", number=True) for name in response_names),
        *(Column(readable_of[name].head, number=True) for name in further),
    )
    rows = []
    for row in points.to_dict("records"):
        cells = [_cell(row[name]) for name in (*levels, "runs")]
        cells += [_mean(row, readable_of[name], interval=True) for name in response_names]
        cells += [_mean(row, readable_of[name], interval=False) for name in further]
        rows.append(tuple(cells))
    note = "Means over seeds; ± is followed by half of the 95 % interval of the mean."
    return Grid("points", "Means by point", columns, tuple(rows[:MAX_ROWS]), note=note, closed=len(rows) > MAX_ROWS)


def _mean(row: dict[Any, Any], unit: Readable, *, interval: bool) -> Cell:
    name = unit.column
    value = float(row.get(f"{name}_mean", math.nan)) / unit.scale
    if math.isnan(value):
        return Cell(NOTHING)
    margin = (row[f"{name}_mean_high"] - row[f"{name}_mean_low"]) / 2 / unit.scale
    if not interval:
        return Cell(number(value), value)
    return Cell(with_margin(value, margin, 3), value)


def _cell(value: Any) -> Cell:  # noqa: ANN401 - a level
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(str(value))
    return Cell(f"{value:g}", float(value))


def _runs(study: Study, runs: pd.DataFrame, measures: list[str]) -> Grid:
    table = runs.drop(columns=["digest", "message"]).head(MAX_ROWS)
    units = [readable(name, study.design.asked) for name in measures if name in table]
    table = table.assign(**{unit.column: table[unit.column] / unit.scale for unit in units if unit.scale != 1})
    note = f"The first {MAX_ROWS} of {len(runs)}; runs.csv has all." if len(runs) > MAX_ROWS else ""
    heads = {unit.column: unit.head for unit in units}
    table = table.assign(finished_at=table["finished_at"].astype(str))
    shown_runs = grid(table, "runs", "Every run", note=note, heads=heads, digits=4)
    return replace(shown_runs, closed=True)


def _analysis(study: Study, finished: pd.DataFrame, response: str, palette: Palette) -> tuple[Section, Anova | None]:
    """Analyses a response as far as design and finished runs allow; also returns the analysis in the column's unit."""
    name, unit = f"analysis-{response}", readable(response, study.design.asked)
    title = f"What explains {unit.name}"
    try:
        responses = fitted = study.design.anova(finished, response)
        if unit.unit:
            fitted = study.design.anova(finished.assign(**{unit.head: finished[response] / unit.scale}), unit.head)
    except ScenarioError as error:
        return Section(name, title, (f"No analysis of variation: {error}.",)), None
    missing = len(study.runs()) - len(finished)
    lead = (f"Without {missing} runs that are not finished: provisional.",) if missing else ()
    with warnings.catch_warnings():
        # The warning is redundant, because the table of checks reports it.
        warnings.simplefilter("ignore", AssumptionWarning)
        checks = check(fitted)
    low, high = fitted.mean_interval(LEVEL)
    label = f"mean [{unit.unit}]" if unit.unit else "mean"
    facts = Facts(((label, f"{number(fitted.mean)}, {100 * LEVEL:g} % interval {number(low)} to {number(high)}"),))
    tables = (
        grid(fitted.variation.drop(columns="mean_square"), f"{name}-variation", "Allocation of variation"),
        grid(fitted.effects(LEVEL), f"{name}-effects", f"Effects, with {100 * LEVEL:g} % intervals"),
        grid(checks, f"{name}-checks", "Validity of the assumptions"),
    )
    pictures, refused = [], []
    for figure in (draw.main_effects, draw.interactions, draw.variation_explained, draw.residuals):
        try:
            drawing = inline(to_svg(figure(fitted), figure.__name__), f"{name}-{figure.__name__}", palette)
            pictures.append(Picture(f"{name}-figure-{figure.__name__}", drawing.title, drawing.alt, drawing.svg))
        except ScenarioError as error:
            refused.append(f"No figure of {figure.__name__.replace('_', ' ')}: {error}.")
    return Section(name, title, (*lead, *refused), (facts, *pictures, *tables)), responses


def _failures(study: Study, runs: pd.DataFrame) -> Iterator[Section]:
    failed = runs[runs["state"] == "failed"]
    if len(failed):
        table = failed[["point", *study.design.levels(1), "seed", "message"]]
        yield Section("failures", "Failures", parts=(grid(table, "failed-runs", "Runs that failed"),))


def _provenance(study: Study, runs: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> Section:
    """Returns the section on the study's store, engine, seeds and machines, with its files."""
    finished = runs[runs["state"] == "finished"]
    first, last = finished["finished_at"].min(), finished["finished_at"].max()
    machines = ", ".join(f"{name} ({count} runs)" for name, count in finished["machine"].value_counts().items())
    facts = {
        "study": study.name,
        "store": study.store.name,
        "engine": study.engine,
        "scenario": f"{study.design.base.name}, SHA-256 {study.design.base.digest()}",
        "seeds": f"{int(runs['seed'].min())} to {int(runs['seed'].max())}",
        "seeds shared": "by all points" if study.design.common else "no: each run has its own",
        "machines": machines or NOTHING,
        "finished": f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC" if len(finished) else NOTHING,
        "simulated in": f"{number(float(finished['seconds'].sum()), 1)} s of processor time",
        "made": f"{study.status().created_at:%Y-%m-%d %H:%M} UTC",
    }
    scenarios = runs[["point", "digest"]].drop_duplicates().astype({"digest": str})
    table = grid(scenarios, "scenarios", "Scenarios, by the hash of every setting")
    files = {f"{name}.csv": frame.to_csv(index=False) for name, frame in tables.items()}
    files |= {"scenario.toml": study.design.base.to_toml(), "design.json": to_json(study.design)}
    data = Downloads(tuple(download(name, text.encode()) for name, text in files.items()))
    return Section("provenance", "Provenance and data", parts=(Facts(tuple(facts.items())), table, data))
