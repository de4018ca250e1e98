"""The statements of reproduced documents with their verdicts, for a page and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.markup import escape

from longpipe.cli.toolkit.console import terminal_table
from longpipe.report.parts import Cell, Column, Grid
from longpipe_evidence.papers.report.evidence import decisive
from longpipe_evidence.papers.statements import counts, statements

if TYPE_CHECKING:
    from rich.console import Console

    from longpipe_evidence.papers.report.results import Results


def grid(results: Results) -> Grid:
    """Returns a table with a row per statement: its place in the document, verdict, claims and their evidence."""
    verdicts = _verdicts(results)
    evidence = {claim["id"]: decisive(claim) for claim in results.claims}
    notes = {claim["id"]: str(claim.get("note", "")) for claim in results.claims}
    columns = (
        Column("statement"),
        Column("where"),
        Column("statement of the document"),
        Column("verdict"),
        Column("judged by"),
        Column("evidence, with its 95 % interval, and reasons"),
    )
    rows = []
    for one in statements(results.document):
        verdict = one.verdict(verdicts) or "no verdict"
        deciding = [claim for claim in one.claims if verdicts.get(claim) == verdict]
        words = [f"{evidence[claim]}." for claim in deciding[:1] if evidence.get(claim)]
        words += [notes.get(claim, "") for claim in deciding[:1]] + [one.reason]
        words += [f"{claim} {verdicts.get(claim, 'is not judged')}." for claim in one.beside]
        link = f"#{(deciding or one.claims)[0]}" if one.claims else ""
        rows.append(
            (
                Cell(one.id),
                Cell(one.place),
                Cell(one.text),
                Cell(verdict, mark=verdict.replace(" ", "-")),
                Cell(", ".join(one.claims) or "\N{EN DASH}", link=link),
                Cell(" ".join(filter(None, words))),
            )
        )
    note = (
        "A statement has the worst verdict of its claims; the evidence is that of the first claim with this verdict. "
        "Claims listed after it are judged under other settings and do not affect the verdict."
    )
    return Grid(f"{results.document}-statements", "Statements", columns, tuple(rows), note=note, stacked=True)


def show(folders: Iterable[Results], console: Console) -> None:
    """Prints how many statements of each document have each verdict, and lists those without a verdict."""
    table = terminal_table()
    missing: list[str] = []
    for number, results in enumerate(results for results in folders if statements(results.document)):
        verdicts = _verdicts(results)
        found = counts(results.document, verdicts)
        if number == 0:
            table.add_column("document")
            for name in ("statements", *found):
                table.add_column(name, justify="right")
        table.add_row(results.document, str(sum(found.values())), *map(str, found.values()))
        of_paper = statements(results.document)
        missing += [f"{results.document} {one.id}" for one in of_paper if one.verdict(verdicts) is None]
    console.print(table, highlight=False)
    console.print(f"Statements without a verdict: {escape(', '.join(missing)) or 'none'}.", highlight=False)


def _verdicts(results: Results) -> dict[str, str]:
    return {str(claim["id"]): str(claim["verdict"]) for claim in results.claims}
