"""HTML page on the documents' conclusions in 2026: verdicts, designs, variation, conditions, data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe.analysis.claims import Verdict
from longpipe.pictures.saving import to_svg
from longpipe.report.frames import download, grid
from longpipe.report.page import render
from longpipe.report.parts import NOTHING, Cell, Column, Downloads, Grid, Picture, Report, Section, claims_of
from longpipe.report.svg import Palette, inline
from longpipe_evidence.papers.lbd_01.transfers import SEGMENTS
from longpipe_evidence.papers.report.evidence import decisive
from longpipe_evidence.papers.statements import statements
from longpipe_evidence.papers.today.conclusions import ANSWERS, INAPPLICABLE, Answer
from longpipe_evidence.papers.today.experiments import DESIGNS
from longpipe_evidence.papers.today.figures import figures
from longpipe_evidence.papers.today.paths import LOAD, PAGE_SOURCE, PATHS, QUEUE_NAMES, SENDERS, clients
from longpipe_evidence.papers.today.tables import means, variation

if TYPE_CHECKING:
    from longpipe_evidence.papers.today.results import Results

TITLE: Final = "Which conclusions of 1996 to 2001 survive in 2026"
NAMES: Final = {
    **SENDERS,
    **QUEUE_NAMES,
    **{name: path.name for name, path in PATHS.items()},
    "efficiency": "E",
    "fairness": "F",
}


def page(results: Results, by_document: Mapping[str, list[Answer]]) -> str:
    """Renders the page as HTML."""
    count = {
        name: sum(answer.verdict == name for answers in by_document.values() for answer in answers) for name in ANSWERS
    }
    total = sum(count.values())
    record, palette = results.record, Palette()
    lead = (
        f"The five documents conclude {total} things from simulations of TCP over ATM. The same designs over IP, with "
        f"today's senders, queues, links and pages, give new answers: {count[Verdict.HOLDS]} hold, "
        f"{count[Verdict.IN_PART]} hold in part, {count[Verdict.UNDECIDED]} are undecided, {count[Verdict.FAILS]} "
        f"fail, and {count[INAPPLICABLE]} no longer apply.",
        f"{len(results.runs)} runs with {record['seeds']} seeds of each configuration, computed on "
        f"{record['finished']} with engine {record['engine']} by {record['command']}.",
    )
    sections = (
        Section("today-answers", "Answers", parts=(_counts(by_document), _answers(by_document))),
        Section("today-designs", "Designs", parts=(_paths(), _settings(), _designs(results.runs))),
        Section("today-figures", "Figures", parts=tuple(_pictures(results.runs, palette))),
        Section("today-variation", "Analysis of variation", parts=tuple(_variation(results.runs))),
        Section("today-means", "Means", parts=tuple(_means(results.runs))),
        Section("today-evidence", "Evidence", parts=tuple(_evidence(by_document))),
        Section("today-data", "Data", parts=(Downloads((download("runs.csv", _csv(results.runs)),)),)),
    )
    return render(Report(TITLE, lead, sections), palette)


def _counts(by_document: Mapping[str, list[Answer]]) -> Grid:
    """Returns the table of the number of conclusions by document and answer."""
    columns = (Column("document"), Column("conclusions", number=True), *(Column(name, number=True) for name in ANSWERS))
    rows = []
    for document, answers in by_document.items():
        counts = [sum(answer.verdict == name for answer in answers) for name in ANSWERS]
        cells = [Cell(str(number), float(number)) for number in (len(answers), *counts)]
        rows.append((Cell(document), *cells))
    note = (
        "Holds: the 95 % interval of each condition lies within its limits. Fails: an interval lies outside a "
        "limit, so the contrary is measured, and no condition holds. In part: some hold, some fail. Undecided: none "
        "fails, but an interval includes a limit."
    )
    return Grid("today-counts", "Conclusions by document", columns, tuple(rows), note=note, stacked=True)


def _answers(by_document: Mapping[str, list[Answer]]) -> Grid:
    """Returns the table of all conclusions with their answers, reasons and evidence."""
    heads = ("statement", "conclusion", "in 2026", "asked today", "reason, and evidence with its 95 % interval")
    rows = []
    for document, answers in by_document.items():
        stated = {statement.id: statement for statement in statements(document)}
        for answer in answers:
            judged = answer.judged
            cells = (
                Cell(f"{document} {answer.statement}", link=f"#today-{answer.statement}" if judged else ""),
                Cell(stated[answer.statement].text),
                Cell(answer.verdict, mark=_mark(answer.verdict)),
                Cell(judged.text if judged else NOTHING),
                Cell(" ".join(filter(None, (answer.reason, evidence(answer))))),
            )
            rows.append(cells)
    note = "Statements are numbered as in the report of the document, which contains their wording and sections."
    return Grid(
        "today-conclusions", "Every conclusion", tuple(map(Column, heads)), tuple(rows), note=note, stacked=True
    )


def _mark(verdict: str) -> str:
    return "not-testable" if verdict == INAPPLICABLE else verdict.replace(" ", "-")


def evidence(answer: Answer) -> str:
    """Returns the deciding condition of a conclusion with its interval, and how many hold; empty if it has none."""
    if answer.judged is None:
        return ""
    deciding = decisive(answer.judged.record())
    if answer.verdict != Verdict.IN_PART:
        return deciding
    hold = sum(finding.verdict is Verdict.HOLDS for finding in answer.judged.findings)
    return f"{hold} of {len(answer.judged.findings)} conditions hold; against: {deciding}"


def _paths() -> Grid:
    """Returns the table of the links."""
    heads = ("link", "rate", "round trip", "long-lived flows run for", "web clients", "source")
    columns = tuple(Column(head) for head in heads)
    rows = tuple(
        (
            Cell(path.name),
            Cell(path.rate),
            Cell(path.round_trip),
            Cell(path.duration),
            Cell(str(clients(path)), float(clients(path))),
            Cell(path.source),
        )
        for path in PATHS.values()
    )
    return Grid("today-paths", "Links", columns, rows, stacked=True)


def _settings() -> Grid:
    """Returns the table of senders, queues and traffic."""
    rows = (
        ("senders", "Linux 6 with " + ", ".join(SENDERS.values()) + ", from the oldest to the newest"),
        (
            "queues",
            ", ".join(QUEUE_NAMES.values()) + ", each with its RFC's defaults; Selective Drop with R .8, Z .8, "
            "FBA with R .9, Z .8, for long-lived flows only",
        ),
        ("pages", f"{PAGE_SOURCE}. The clients request {LOAD:.0%} of the link's rate, as in www-98"),
        ("files", "39.5 % of 1 to 9 KB, 59.2 % of 10 to 90 KB and 1.3 % of 100 to 900 KB, sizes within as in www-98"),
        ("transfers", f"{SEGMENTS} segments over a round trip of 100 ms, as in lbd-01, with packets of 1500 bytes"),
        ("bursts", "datagrams at the link's rate, on and off for equal times, of a class that is served first"),
    )
    cells = tuple((Cell(name), Cell(text)) for name, text in rows)
    return Grid("today-settings", "Settings", (Column("what"), Column("setting")), cells, stacked=True)


def _level_text(level: object) -> str:
    """Returns a factor's level as on other pages: a name of `NAMES`, or a number without trailing zeros."""
    return NAMES.get(str(level), f"{level:g}" if isinstance(level, float) else str(level))


def _designs(runs: pd.DataFrame) -> Grid:
    """Returns the table of the designs with their factors and numbers of runs."""
    heads = ("design", "in place of", "factors and levels")
    columns = (*(Column(head) for head in heads), Column("runs", number=True))
    rows = []
    for design in DESIGNS.values():
        levels = "; ".join(f"{name} {', '.join(map(_level_text, levels))}" for name, levels in design.levels.items())
        number = int((runs["design"] == design.id).sum())
        cells = (Cell(design.title), Cell(", ".join(design.documents)), Cell(levels), Cell(str(number), float(number)))
        rows.append(cells)
    return Grid("today-factors", "Full factorial designs", columns, tuple(rows), stacked=True)


def _variation(runs: pd.DataFrame) -> Iterator[Grid]:
    for design in DESIGNS.values():
        for response in design.responses:
            frame = variation(runs, design, response)
            title = f"{design.title}: share of the variation of {response} [%]"
            note = "Main effects and interactions of two factors, from all seeds; the seeds are blocks."
            yield grid(frame, f"today-{design.id}-{response}", title, names=NAMES, note=note, digits=1)


def _means(runs: pd.DataFrame) -> Iterator[Grid]:
    for design in DESIGNS.values():
        for frame, response, rows in means(runs, design):
            title = f"{design.title}: mean {response} by {rows}"
            yield grid(frame, f"today-{design.id}-mean-{response}", title, names=NAMES)


def _evidence(by_document: Mapping[str, list[Answer]]) -> Iterator[Any]:
    for document, answers in by_document.items():
        records = [{**answer.judged.record(), "id": f"today-{answer.statement}"} for answer in answers if answer.judged]
        yield claims_of(f"Conditions of {document}, judged by 95 % intervals over seeds", records)


def _pictures(runs: pd.DataFrame, palette: Palette) -> Iterator[Picture]:
    for name, figure in figures(runs).items():
        drawing = inline(to_svg(figure, name), f"today-{name}", palette)
        yield Picture(f"today-figure-{name}", drawing.title, drawing.alt, drawing.svg)


def _csv(runs: pd.DataFrame) -> bytes:
    return runs.to_csv(index=False, float_format="%.6g").encode()
