"""A reproduced document as a section of a page."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pandas as pd

from longpipe.papers.names import NAMES
from longpipe.papers.paper import Paper
from longpipe.papers.sensitivity import BASELINE, errors, watched
from longpipe.report.folder import Part
from longpipe.report.frames import download, grid
from longpipe.report.parts import Cell, Column, Downloads, Facts, Grid, Picture, Section, claims_of, number
from longpipe.report.results import Results
from longpipe.report.svg import Palette
from longpipe.report.tables import table

JUDGED: Final = "Claims, judged by 95 % intervals over seeds (E, F: mean efficiency, fairness)"
# A change of a mean absolute error that a reader should see.
VISIBLE: Final = 0.005
MACHINE: Final = {"system": "system", "processor": "processor", "cores": "cores", "memory_gb": "memory [GB]"}


def section(paper: Paper, results: Results, palette: Palette) -> Section:
    """All that there is of a paper: claims, tables, figures, sensitivity where it has been computed, data."""
    rows = results.frame("tables")
    tables = tuple(table(paper, caption, rows) for caption in paper.captions)
    return Section(
        paper.id,
        f"{paper.id}: {paper.title}",
        (paper.conditions,),
        (claims_of(JUDGED, results.claims),),
        (
            Section(f"{paper.id}-tables", "Published against simulated", parts=tables),
            *_summaries(paper.id, results, paper.summaries),
            figures(results, palette),
            _sensitivity(paper, results),
            *beyond(results, palette, paper.beyond.summaries if paper.beyond else {}),
            provenance(results),
        ),
    )


def figures(results: Results, palette: Palette) -> Section:
    """The figures of a reproduction."""
    return Section(f"{results.document}-figures", "Figures", parts=tuple(pictures(results, Part.REPRODUCTION, palette)))


def pictures(results: Results, part: Part, palette: Palette) -> Iterator[Picture]:
    """The figures of one part of a folder."""
    for name, drawing in results.drawings(part, palette):
        yield Picture(f"{results.document}-figure-{name}", drawing.title, drawing.alt, drawing.svg)


def beyond(
    results: Results, palette: Palette, summaries: Mapping[str, Callable[..., pd.DataFrame]]
) -> Iterator[Section]:
    """What goes past the paper, where it has been run."""
    if results.has(Part.BEYOND):
        drawn, summed = pictures(results, Part.BEYOND, palette), _grids(results, summaries)
        yield Section(f"{results.document}-beyond", "Past the paper", parts=(*drawn, *summed))


def provenance(results: Results) -> Section:
    """What was run, by what, where, and the data."""
    record = results.records[Part.REPRODUCTION]
    software = dict(record["software"])
    scenarios = results.frame("scenarios")
    facts = {
        "longpipe": software.pop("longpipe"),
        "code": f"SHA-256 {record['code'][:16]}…",
        "libraries": ", ".join(f"{name} {version}" for name, version in software.items()),
        "seeds": "1" if record["seeds"] == 1 else f"1 to {record['seeds']}",
        "runs": str(record["runs"]),
        "scenarios": str(len(scenarios)),
        "finished": record["finished_at"],
        "taken": f"{record['seconds']} s, stored runs not counted",
        **{name: str(record["machine"][key]) for key, name in MACHINE.items() if key in record["machine"]},
        "again": f"longpipe reproduce {results.document} --seeds {record['seeds']}",
    }
    shown = grid(
        scenarios.assign(digest=scenarios["digest"].str[:16]),
        f"{results.document}-scenarios",
        "Scenarios, by the hash of every setting",
        note="The first 16 digits of SHA-256 over the fully resolved scenario; scenarios.csv has all 64.",
        heads={"replicated": "draws by seed"},
    )
    return Section(
        f"{results.document}-data", "Provenance and data", parts=(Facts(tuple(facts.items())), shown, data(results))
    )


def not_computed(document: str) -> str:
    """What to say, and to do, where there is no table of sensitivity."""
    return f"Not computed yet: longpipe reproduce {document} --sensitivity, then the report again."


def data(results: Results) -> Downloads:
    """The tables of a folder as files within the page."""
    names = [f"{name}.csv" for part in Part for name in results.names(part, ".csv")]
    return Downloads(tuple(download(name, results.content(name)) for name in ("report.json", *names)))


def _summaries(
    document: str, results: Results, summaries: Mapping[str, Callable[..., pd.DataFrame]]
) -> Iterator[Section]:
    if summaries:
        yield Section(f"{document}-summaries", "Summed up", parts=tuple(_grids(results, summaries)))


def _grids(results: Results, summaries: Mapping[str, Callable[..., pd.DataFrame]]) -> Iterator[Grid]:
    for name, summarize in summaries.items():
        title = name.replace("_", " ").replace("-", " ").capitalize()
        frame = results.frame(name)
        yield grid(frame, f"{results.document}-{name}", title, note=_first_line(summarize), names=NAMES)


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0].replace("`", "")


def _sensitivity(paper: Paper, results: Results) -> Section:
    name = f"{paper.id}-sensitivity"
    title = "Sensitivity to what the paper leaves open"
    if not results.has(Part.SENSITIVITY):
        return Section(name, title, (not_computed(paper.id),))
    found = results.frame("sensitivity-rows")
    seeds = results.records[Part.SENSITIVITY]["seeds"]
    what = "mean absolute error" if paper.data else "mean absolute difference from the paper as reproduced"
    lead = f"One choice changed at a time, {seeds} seeds each: the {what}, and the means of the rows under watch."
    return Section(name, title, (lead,), (_variants(paper, found, name),))


def _variants(paper: Paper, found: pd.DataFrame, name: str) -> Grid:
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
