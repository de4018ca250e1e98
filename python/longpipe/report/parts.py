"""What a page consists of, before it is HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from markupsafe import Markup

# As typeset.
NOTHING: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"
# Letters that may stay in a narrow column.
FEW_WORDS: Final = 24
# What rounding leaves of zero.
TINY: Final = 1e-12


class Part:
    """What a section consists of; templates know it by its `kind`, "grid" for a Grid."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__.lower()


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, the number it is sorted by, what sets it apart (a CSS class), where it leads."""

    text: str
    value: float | None = None
    mark: str = ""
    link: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table; neighbours of one group share a heading."""

    head: str
    group: str = ""
    number: bool = False


@dataclass(frozen=True)
class Grid(Part):
    """A table that sorts by any column; `footer` rows, which have a label first, stay below."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footer: tuple[tuple[Cell, ...], ...] = ()
    # How many columns the first cell of a footer takes.
    label: int = 1
    note: str = ""
    # A long one is closed until a reader opens it.
    closed: bool = False
    # Of words: on a narrow screen a row is a paragraph.
    stacked: bool = False

    @property
    def wide(self) -> set[int]:
        """Columns with text that takes a few words' room."""
        return {i for i in range(len(self.columns)) if any(len(row[i].text) > FEW_WORDS for row in self.rows)}

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings that columns share, each with how many; empty if none do."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and column.group and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found if any(name for name, _ in found) else []


@dataclass(frozen=True)
class Picture(Part):
    """A figure as inline SVG, with the words that stand for it."""

    id: str
    title: str
    alt: str
    svg: Markup


@dataclass(frozen=True)
class Facts(Part):
    """Names and values, as in a colophon."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Download:
    """A file within the page: its name, its size in words, its content as a data: link."""

    name: str
    size: str
    href: str


@dataclass(frozen=True)
class Downloads(Part):
    """The data of a section."""

    files: tuple[Download, ...]


@dataclass(frozen=True)
class Span:
    """A condition drawn: where limits, interval, mean and the published value lie, 0 to 1 of the width."""

    accepted: tuple[float, float]
    interval: tuple[float, float] | None
    mean: float
    compared: float | None
    words: str


@dataclass(frozen=True)
class Finding:
    """One condition of a claim, as text and drawn."""

    quantity: str
    wanted: str
    mean: Cell
    interval: str
    compared: str
    verdict: str
    span: Span | None


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict and the conditions behind it."""

    id: str
    text: str
    verdict: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Claims(Part):
    """The claims of one document."""

    title: str
    # What the conditions are compared with besides the limits: "published", "single run"; empty if with nothing.
    source: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, parts, and the sections below it."""

    id: str
    title: str
    lead: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    sections: tuple["Section", ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole page."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]


def claims_of(title: str, records: Sequence[Mapping[str, Any]]) -> Claims:
    """Claims from the records that `Judgement.record` makes."""
    found = tuple(
        Claim(one["id"], one["text"], one["verdict"], tuple(map(_finding, one["conditions"]))) for one in records
    )
    compared = {c["source"] for one in records for c in one["conditions"] if c["compared"] is not None}
    return Claims(title, ", ".join(sorted(compared)), found)


def number(value: float, digits: int = 3, *, decimals: int | None = None) -> str:
    """A number with as many decimals as tell something, at most `digits`, none from 1000 on; or all of `decimals`."""
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"
    if abs(value) >= 1000:
        text = f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    elif TINY < abs(value) < 0.5 * 10**-digits:
        text = f"{value:.1e}".replace("e-0", "e-")
    elif decimals is not None:
        text = f"{value:z.{decimals}f}"
    else:
        text = f"{value:z.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:z.0f}"
    return text.replace("-", MINUS)


def _finding(condition: Mapping[str, Any]) -> Finding:
    above, below, mean, low, high, compared = (
        math.nan if condition[name] is None else float(condition[name])
        for name in ("above", "below", "mean", "low", "high", "compared")
    )
    wanted = " and ".join(
        f"{sign} {number(limit)}" for sign, limit in ((">", above), ("<", below)) if not math.isnan(limit)
    )
    interval = ""
    if not math.isnan(low):
        interval = "exact" if low == high == mean else f"{number(low)} to {number(high)}"
    words = f"{condition['quantity']}: {number(mean)}" + (f", interval {interval}" if interval else "")
    words += f"; wanted {wanted}" + ("" if math.isnan(compared) else f"; {condition['source']} {number(compared)}")
    return Finding(
        condition["quantity"],
        wanted,
        Cell(number(mean), mean),
        interval,
        "" if math.isnan(compared) else number(compared),
        condition["verdict"],
        None if math.isnan(mean) else _span(above, below, mean, low, high, compared, words),
    )


def _span(above: float, below: float, mean: float, low: float, high: float, compared: float, words: str) -> Span:
    shown = [value for value in (above, below, mean, low, high, compared) if not math.isnan(value)]
    margin = 0.15 * (max(shown) - min(shown)) or 1.0
    least, most = min(shown) - margin, max(shown) + margin

    def place(value: float) -> float:
        return (value - least) / (most - least)

    return Span(
        (0.0 if math.isnan(above) else place(above), 1.0 if math.isnan(below) else place(below)),
        None if math.isnan(low) else (place(low), place(high)),
        place(mean),
        None if math.isnan(compared) else place(compared),
        words,
    )
