"""A reproduced document as a section of a page."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pandas as pd

from longpipe.report.frames import download, grid
from longpipe.report.parts import Downloads, Facts, Grid, Picture, Section, claims_of
from longpipe.report.svg import Palette
from longpipe_evidence.papers.frozen import Frozen, frozen
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.paper import Paper
from longpipe_evidence.papers.report.cells import cells
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.report.parameters import parameters
from longpipe_evidence.papers.report.results import Results
from longpipe_evidence.papers.report.statements import grid as statement_grid
from longpipe_evidence.papers.statements import statements

MACHINE: Final = {"system": "system", "processor": "processor", "cores": "cores", "memory_gb": "memory [GB]"}


def section(paper: Paper, results: Results, palette: Palette) -> Section:
    """Returns the section of a paper: claims, tables, figures, sensitivity if computed, and data."""
    return Section(
        paper.id,
        f"{paper.id}: {paper.title}",
        (paper.conditions,),
        (claims_of(paper.claims_title, results.claims),),
        (
            *_statements(results),
            *_setup(paper),
            Section(f"{paper.id}-tables", paper.tables_title, parts=paper.grids(results)),
            *_summaries(paper, results),
            Section(f"{paper.id}-figures", "Figures", parts=tuple(_pictures(results, Part.REPRODUCTION, palette))),
            _sensitivity(paper, results),
            *_beyond(paper, results, palette),
            _provenance(paper, results),
        ),
    )


def _statements(results: Results) -> Iterator[Section]:
    if statements(results.document):
        yield Section(f"{results.document}-stated", "Statements of the document", parts=(statement_grid(results),))


def _setup(paper: Paper) -> Iterator[Section]:
    if grids := parameters(paper):
        yield Section(f"{paper.id}-setup", "Parameters", parts=grids)


def _summaries(paper: Paper, results: Results) -> Iterator[Section]:
    if grids := tuple(_grids(results, paper.summaries_of(Part.REPRODUCTION))):
        yield Section(f"{paper.id}-summaries", "Summed up", parts=grids)


def _pictures(results: Results, part: Part, palette: Palette) -> Iterator[Picture]:
    """Returns the figures of one part of a folder."""
    for name, drawing in results.drawings(part, palette):
        yield Picture(f"{results.document}-figure-{name}", drawing.title, drawing.alt, drawing.svg)


def _sensitivity(paper: Paper, results: Results) -> Section:
    """Returns the section on the choices that a paper leaves open, with frozen results if there are no new ones."""
    name, title = f"{paper.id}-sensitivity", "Sensitivity to choices that the paper leaves open"
    own = results.has(Part.SENSITIVITY)
    source = results if own else frozen(paper.id)
    if source is None:
        missing = (
            f"Not computed yet: run longpipe reproduce {paper.id} --sensitivity, and then create the report again."
        )
        return Section(name, title, (missing,))
    lead, variants = paper.variants_grid(source)
    leads = [lead] if lead else []
    if isinstance(source, Frozen):
        record = source.record
        leads.append(
            f"These numbers come with longpipe: {record['command']} computed them on {record['finished']} with engine "
            f"{record['engine']}. The same command computes them again, and the next report shows the new numbers."
        )
    return Section(name, title, tuple(leads), (variants,))


def _beyond(paper: Paper, results: Results, palette: Palette) -> Iterator[Section]:
    """Returns the section with results beyond the paper, if they were computed."""
    if results.has(Part.BEYOND):
        drawn, summed = _pictures(results, Part.BEYOND, palette), _grids(results, paper.summaries_of(Part.BEYOND))
        yield Section(f"{paper.id}-beyond", "Beyond the paper", parts=(*drawn, *summed))


def _provenance(paper: Paper, results: Results) -> Section:
    """Returns the provenance and the data."""
    record = results.records[Part.REPRODUCTION]
    software = dict(record["software"])
    scenarios = results.frame("scenarios")
    facts = {
        "longpipe": software.pop("longpipe"),
        "engine": record["engine"],
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
    return Section(
        f"{results.document}-data",
        "Provenance and data",
        parts=(Facts(tuple(facts.items())), cells(paper), _data(results)),
    )


def _data(results: Results) -> Downloads:
    """Returns the tables of a folder as embedded files."""
    names = [f"{name}.csv" for part in Part for name in results.names(part, ".csv")]
    return Downloads(tuple(download(name, results.content(name)) for name in ("report.json", *names)))


def _grids(results: Results, summaries: Mapping[str, Callable[..., pd.DataFrame]]) -> Iterator[Grid]:
    for name, summarize in summaries.items():
        title = name.replace("_", " ").replace("-", " ").capitalize()
        frame = results.frame(name)
        yield grid(frame, f"{results.document}-{name}", title, note=_first_line(summarize), names=NAMES)


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0].replace("`", "")
