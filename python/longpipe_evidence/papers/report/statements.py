"""The statements of reproduced documents with their verdicts, for a page and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from longpipe.analysis.claims import Verdict, scaled_text
from longpipe.cli.toolkit.console import terminal_table
from longpipe.report.parts import Cell, Column, Grid
from longpipe_evidence.papers.report.evidence import lines
from longpipe_evidence.papers.statements import NO_VERDICT, Cause, Judged, Statement, counts, statements

if TYPE_CHECKING:
    from rich.console import Console

    from longpipe_evidence.papers.report.results import Results


def grid(results: Results) -> Grid:
    """Returns a table with a row per statement: its place in the document, verdict, claims and their evidence."""
    claims = {str(claim["id"]): claim for claim in results.claims}
    judged = _judged(results)
    columns = (
        Column("statement"),
        Column("where"),
        Column("statement of the document"),
        Column("verdict"),
        Column("judged by"),
        Column("conditions with their 95 % intervals, and reasons"),
    )
    rows = []
    for statement in statements(results.document):
        verdict = statement.verdict(judged)
        own = [claims[claim] for claim in statement.claims if claim in claims]
        words = [*_conditions(own), *(str(claim.get("note", "")) for claim in own), *_reasons(statement, own, verdict)]
        words += [
            f"{claim}: {claims[claim]['verdict'] if claim in claims else 'not judged'}." for claim in statement.beside
        ]
        rows.append(
            (
                Cell(statement.id),
                Cell(statement.place),
                Cell(statement.text),
                Cell(verdict, mark=verdict.replace(" ", "-")),
                Cell(
                    ", ".join(statement.claims) or "\N{EN DASH}",
                    link=f"#{statement.claims[0]}" if statement.claims else "",
                ),
                Cell(" ".join(filter(None, words))),
            )
        )
    note = (
        "A statement holds if all conditions of its claims hold, is undecided if none fails, holds in part if some "
        "hold and others fail, and fails if some fail and none holds. Claims listed after the conditions are judged "
        "under other settings and do not affect the verdict."
    )
    return Grid(f"{results.document}-statements", "Statements", columns, tuple(rows), note=note, stacked=True)


def _conditions(claims: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the conditions of a statement by verdict, each with its evidence."""
    lines_by_verdict: dict[str, list[str]] = {verdict: [] for verdict in ("holds", "undecided", "fails")}
    for claim in claims:
        for condition, line in zip(claim["conditions"], lines(claim), strict=True):
            lines_by_verdict[condition["verdict"]].append(line)
    for verdict, of_verdict in lines_by_verdict.items():
        if of_verdict:
            yield f"{verdict.capitalize()} ({len(of_verdict)}): {'; '.join(of_verdict)}."


def _reasons(statement: Statement, claims: Iterable[Mapping[str, Any]], verdict: str) -> Iterator[str]:
    yield scaled_text(condition for claim in claims for condition in claim["conditions"])
    if verdict == Verdict.FAILS and statement.cause:
        yield f"Cause: {statement.cause}."
    yield statement.reason


def show(folders: Iterable[Results], console: Console) -> None:
    """Prints how many statements of each document have each verdict, and the cause of each failure.

    Lists statements with limits of longpipe's own at half and twice their size, failures without a cause, and
    statements without a verdict.
    """
    table = terminal_table()
    failures, scaled, totals = list[tuple[str, Statement]](), list[str](), dict[str, int]()
    missing: list[str] = []
    for number, results in enumerate(results for results in folders if statements(results.document)):
        judged, claims = _judged(results), {str(claim["id"]): claim for claim in results.claims}
        counted = counts(results.document, judged)
        if number == 0:
            table.add_column("document")
            for name in ("statements", *counted):
                table.add_column(name, justify="right")
        table.add_row(results.document, str(sum(counted.values())), *map(str, counted.values()))
        totals = {name: totals.get(name, 0) + count for name, count in counted.items()}
        for statement in statements(results.document):
            name, verdict = f"{results.document} {statement.id}", statement.verdict(judged)
            if verdict == Verdict.FAILS:
                failures.append((name, statement))
            if verdict == NO_VERDICT:
                missing.append(name)
            elif text := scaled_text(c for claim in statement.claims for c in claims[claim]["conditions"]):
                scaled.append(f"{name} {verdict}. {text}")
    table.add_row("all", str(sum(totals.values())), *map(str, totals.values()))
    console.print(table, highlight=False)
    for text in scaled:
        console.print(escape(text), highlight=False)
    for name, failure in failures:
        console.print(f"{escape(name)} fails: {failure.cause or 'no cause'}. {escape(failure.reason)}", highlight=False)
    causes = ", ".join(f"{cause} {sum(failure.cause is cause for _, failure in failures)}" for cause in Cause)
    without = ", ".join(name for name, failure in failures if failure.cause is None)
    console.print(f"Causes of the failures: {causes}; without a cause: {escape(without) or 'none'}.", highlight=False)
    console.print(f"Statements without a verdict: {escape(', '.join(missing)) or 'none'}.", highlight=False)


def _judged(results: Results) -> Judged:
    return {str(claim["id"]): [c["verdict"] for c in claim["conditions"]] for claim in results.claims}
