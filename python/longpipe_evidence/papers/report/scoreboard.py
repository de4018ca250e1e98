"""The scoreboard of all reproduced documents: claims, and distances of tables from the published ones."""

import math
from collections.abc import Iterable

from longpipe.analysis.claims import Verdict
from longpipe.report.parts import NOTHING, Cell, Column, Grid, Section, number
from longpipe_evidence.papers import PAPERS
from longpipe_evidence.papers.paper import Distance
from longpipe_evidence.papers.report.evidence import decisive
from longpipe_evidence.papers.report.parameters import differences
from longpipe_evidence.papers.report.results import Results


def section(folders: Iterable[Results]) -> Section:
    """Returns the first section of the report."""
    folders = list(folders)
    return Section(
        "scoreboard",
        "Scoreboard",
        parts=(_verdicts(folders), _claims(folders), _distances(folders), _settings(folders)),
    )


def summary(folders: Iterable[Results]) -> str:
    """Summarizes the scoreboard in one or two sentences."""
    claims = [claim["verdict"] for results in folders for claim in results.claims]
    counts = {verdict: claims.count(verdict) for verdict in Verdict}
    return (
        f"Of {len(claims)} published claims {counts[Verdict.HOLDS]} hold, {counts[Verdict.IN_PART]} hold in part, "
        f"{counts[Verdict.UNDECIDED]} are undecided and {counts[Verdict.FAILS]} fail. A condition holds if its 95 % "
        "interval lies within the limits, and fails if it lies outside them; a claim holds if all of its conditions "
        "hold, in part if some fail and others hold, and fails if some fail and none holds. Click a heading to sort a "
        "table."
    )


def _verdicts(folders: list[Results]) -> Grid:
    """Returns the table of the number of claims by document and verdict."""
    columns = (
        Column("document"),
        Column("claims", number=True),
        *(Column(verdict.value, number=True) for verdict in Verdict),
        Column("seeds", number=True),
        Column("runs", number=True),
        Column("title"),
    )
    rows, totals = [], dict.fromkeys(Verdict, 0)
    for results in folders:
        counts = {verdict: sum(claim["verdict"] == verdict for claim in results.claims) for verdict in Verdict}
        totals = {verdict: totals[verdict] + count for verdict, count in counts.items()}
        record = results.records["reproduction"]
        rows.append(
            (
                Cell(results.document, link=f"#{results.document}"),
                _count(len(results.claims)),
                *(_count(count, _mark(verdict) if count else "") for verdict, count in counts.items()),
                _count(record["seeds"]),
                _count(record["runs"]),
                Cell(PAPERS[results.document].title),
            )
        )
    total = (Cell("all"), _count(sum(totals.values())), *map(_count, totals.values()), *[Cell("")] * 3)
    return Grid("verdicts", "Documents", columns, tuple(rows), (total,), stacked=True)


def _claims(folders: list[Results]) -> Grid:
    """Returns the table of all claims with their verdicts and the decisive evidence."""
    columns = (
        Column("claim"),
        Column("conclusion of the document"),
        Column("verdict"),
        Column("evidence, with its 95 % interval"),
    )
    rows = []
    for results in folders:
        for claim in results.claims:
            link = f"#{claim['id']}"
            verdict = Cell(claim["verdict"], mark=_mark(claim["verdict"]))
            rows.append((Cell(claim["id"], link=link), Cell(claim["text"]), verdict, Cell(decisive(claim))))
    note = "Below, each claim is listed with all of its conditions."
    return Grid("all-claims", "Claims", columns, tuple(rows), note=note, stacked=True)


def _mark(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _settings(folders: list[Results]) -> Grid:
    return differences(results.document for results in folders)


def _distances(folders: list[Results]) -> Grid:
    """Returns the table of the errors of each printed table."""
    columns = (
        Column("document"),
        Column("table"),
        Column("of"),
        Column("values", number=True),
        Column("mean absolute error", number=True),
        Column("relative", number=True),
        Column("mean difference", number=True),
        Column("largest error", number=True),
        Column("single run's error", number=True),
        Column("within 95 % of runs", number=True),
    )
    rows = [
        _distance(results.document, distance)
        for results in folders
        for distance in PAPERS[results.document].distances(results)
    ]
    note = (
        "Error: difference between the replicated mean and the published value. Relative: sum of errors divided by sum "
        "of values. Within: "
        "published values in the 95 % interval of single runs. buf-97 prints curves, without numbers to compare with."
    )
    return Grid("distances", "Distance of every table from the published one", columns, tuple(rows), note=note)


def _distance(document: str, distance: Distance) -> tuple[Cell, ...]:
    """Returns a row of the table of errors."""

    def cell(name: str, *, percent: bool = False) -> Cell:
        value = float(distance.numbers.get(name, float("nan")))
        if math.isnan(value):
            return Cell(NOTHING)
        return Cell(f"{100 * value:.0f} %" if percent else number(value), value)

    return (
        Cell(document, link=f"#{document}-tables"),
        Cell(f"{distance.table} [{distance.unit}]" if distance.unit else distance.table),
        Cell(distance.quantity),
        _count(int(distance.numbers["values"])),
        cell("error"),
        cell("relative", percent=True),
        cell("difference"),
        cell("largest"),
        cell("single"),
        cell("inside", percent=True),
    )


def _count(count: int, mark: str = "") -> Cell:
    return Cell(str(count), float(count), mark)
