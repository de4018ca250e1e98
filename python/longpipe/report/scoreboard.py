"""What all reproduced documents come to: their claims, and how far their tables are from the published ones."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pandas as pd

from longpipe.analysis.claims import Verdict
from longpipe.papers import PAPERS
from longpipe.papers.lbd_01 import ID, TITLE
from longpipe.report.parts import NOTHING, Cell, Column, Grid, Section, number
from longpipe.report.results import Results
from longpipe.report.tables import distance, of_caption
from longpipe.report.transfers import distances

# Summaries that set published numbers beside means, and their columns: the number, what it is.
COMPARED: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "www-98": {"variation": ("percent",), "effects": ("effect",)}
}
UNITS: Final = {"percent": "%"}


def section(folders: Iterable[Results]) -> Section:
    """The first thing that a reader sees."""
    folders = list(folders)
    return Section("scoreboard", "Scoreboard", parts=(_verdicts(folders), _claims(folders), _distances(folders)))


def summary(folders: Iterable[Results]) -> str:
    """The scoreboard in a sentence or two."""
    claims = [claim["verdict"] for results in folders for claim in results.claims]
    counts = {verdict: claims.count(verdict) for verdict in Verdict}
    return (
        f"Of {len(claims)} published claims {counts[Verdict.HOLDS]} hold, {counts[Verdict.UNDECIDED]} are undecided "
        f"and {counts[Verdict.FAILS]} fail. A claim holds if the 95 % interval of each of its conditions lies within "
        "the limits, and fails if one lies beyond them. Click a heading to sort a table."
    )


def title_of(document: str) -> str:
    """A document's title."""
    return TITLE if document == ID else PAPERS[document].title


def _verdicts(folders: list[Results]) -> Grid:
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
                *(_count(count, verdict.value if count else "") for verdict, count in counts.items()),
                _count(record["seeds"]),
                _count(record["runs"]),
                Cell(title_of(results.document)),
            )
        )
    total = (Cell("all"), _count(sum(totals.values())), *map(_count, totals.values()), *[Cell("")] * 3)
    return Grid("verdicts", "Documents", columns, tuple(rows), (total,))


def _claims(folders: list[Results]) -> Grid:
    columns = (
        Column("claim"),
        Column("what the document concludes"),
        Column("verdict"),
        Column("evidence, with its 95 % interval"),
    )
    rows = []
    for results in folders:
        for claim in results.claims:
            link = f"#{claim['id']}"
            verdict = Cell(claim["verdict"], mark=claim["verdict"])
            rows.append((Cell(claim["id"], link=link), Cell(claim["text"]), verdict, Cell(_decisive(claim))))
    return Grid("all-claims", "Claims", columns, tuple(rows), note="Below, each claim has all of its conditions.")


def _decisive(claim: Mapping[str, Any]) -> str:
    """The condition that decides: of those with the claim's verdict the first, as text with its interval."""
    lines: list[str] = claim["evidence"].split("; ")
    chosen = [i for i, condition in enumerate(claim["conditions"]) if condition["verdict"] == claim["verdict"]]
    if len(lines) != len(claim["conditions"]) or not chosen:
        return str(claim["evidence"])
    more = f" (and {len(chosen) - 1} more like it)" if len(chosen) > 1 else ""
    return lines[chosen[0]] + more


def _distances(folders: list[Results]) -> Grid:
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
    rows = [row for results in folders for row in _of_document(results)]
    note = (
        "Error: replicated mean against the published value. Relative: sum of errors over sum of values. Within: "
        "published values in the 95 % interval of single runs. buf-97 prints curves, no numbers to compare with."
    )
    return Grid("distances", "Distance of every table from the published one", columns, tuple(rows), note=note)


def _of_document(results: Results) -> Iterator[tuple[Cell, ...]]:
    document = results.document
    if document == ID:
        for row in distances(results.frame("numbers")).to_dict("records"):
            unit = "" if row["unit"] == "1" else str(row["unit"])
            yield _distance(document, str(row["quantity"]).replace("_", " "), "", row, unit)
        return
    paper, rows = PAPERS[document], results.frame("tables")
    for caption in paper.captions:
        what = distance(of_caption(rows, caption)) if paper.data else {"values": 0}
        yield _distance(document, f"{caption.kind} {caption.number}", caption.metric, what)
    for name, values in COMPARED.get(document, {}).items():
        frame = results.frame(name)
        for (table, of), group in frame.groupby(["table", "of"], sort=False):
            for value in values:
                compared = pd.DataFrame({"published": group[f"published_{value}"], "mean": group[f"mean_{value}"]})
                numbers = distance(compared.assign(low=float("nan"), high=float("nan"), deterministic=float("nan")))
                yield _distance(
                    document, f"Table {str(table).upper()}", f"{value} ({of})", numbers, UNITS.get(value, "")
                )


def _distance(document: str, table: str, of: str, numbers: Mapping[Any, Any], unit: str = "") -> tuple[Cell, ...]:
    def cell(name: str, *, percent: bool = False) -> Cell:
        value = float(numbers.get(name, float("nan")))
        if value != value:
            return Cell(NOTHING)
        return Cell(f"{100 * value:.0f} %" if percent else number(value), value)

    return (
        Cell(document, link=f"#{document}-tables"),
        Cell(f"{table} [{unit}]" if unit else table),
        Cell(of),
        _count(int(numbers["values"])),
        cell("error"),
        cell("relative", percent=True),
        cell("difference"),
        cell("largest"),
        cell("single"),
        cell("inside", percent=True),
    )


def _count(count: int, mark: str = "") -> Cell:
    return Cell(str(count), float(count), mark)
