"""Numbers on pages of the documentation, which tests compare with those of the engine."""

from itertools import takewhile
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parent.parent / "docs"


def table_rows(page: str, heading: str) -> list[list[str]]:
    """Returns the cells of the rows of a page's table with a heading, or whose heading starts with the text."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    first = lines.index(heading) if heading in lines else [line.startswith(heading) for line in lines].index(True)
    rows = takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def is_rounded(value: float, text: str) -> bool:
    """Returns whether a number of a page is the value, rounded to the digits of the text."""
    return float(text) == round(value, len(text.partition(".")[2]))
