"""Verdicts on the documents' conclusions, as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.padding import Padding

from longpipe_evidence.papers.statements import statements
from longpipe_evidence.papers.text import STYLES as VERDICT_STYLES
from longpipe_evidence.papers.today.conclusions import ANSWERS, INAPPLICABLE, Answer
from longpipe_evidence.papers.today.page import evidence

if TYPE_CHECKING:
    from rich.console import Console

STYLES: Final[dict[str, str]] = {
    **{str(verdict): style for verdict, style in VERDICT_STYLES.items()},
    INAPPLICABLE: "dim",
}


def show(by_document: Mapping[str, list[Answer]], console: Console) -> None:
    """Prints each conclusion with its verdict, evidence and reason, and the number of conclusions by verdict."""
    for document, answers in by_document.items():
        console.print(document, style="bold", highlight=False)
        stated = {statement.id: statement.text for statement in statements(document)}
        for answer in answers:
            verdict = f"[{STYLES[answer.verdict]}]{answer.verdict}[/]"
            console.print(f"{answer.statement:<4} {verdict}  {escape(stated[answer.statement])}", highlight=False)
            for line in filter(None, (evidence(answer), answer.reason)):
                console.print(Padding(escape(line), (0, 0, 0, 5)), style="dim", highlight=False)
    counts = {
        name: sum(answer.verdict == name for answers in by_document.values() for answer in answers) for name in ANSWERS
    }
    total = sum(counts.values())
    console.print(
        f"\n{total} conclusions: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + ".",
        highlight=False,
    )
