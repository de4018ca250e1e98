"""Building blocks of a report, independent of HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from markupsafe import Markup

from longpipe.measures.readable import written

# Typographic characters for a missing value and for a negative sign.
NOTHING: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"
# Maximum number of letters in a narrow column.
FEW_WORDS: Final = 24
# Magnitude below which a number counts as zero, because of rounding errors.
TINY: Final = 1e-12


class Part:
    """A part of a section. Templates select by its `kind`, such as "grid" for a Grid."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__.lower()


@dataclass(frozen=True)
class Cell:
    """A table cell: text, sort key, CSS class and link target."""

    text: str
    value: float | None = None
    mark: str = ""
    link: str = ""
    # Anchor to which other cells link.
    anchor: str = ""


@dataclass(frozen=True)
class Column:
    """A table column. Adjacent columns of one group share a heading."""

    head: str
    group: str = ""
    number: bool = False


@dataclass(frozen=True)
class Grid(Part):
    """A sortable table. The `footer` rows, which start with a label, stay at the bottom."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footer: tuple[tuple[Cell, ...], ...] = ()
    # Number of columns that the first cell of a footer spans.
    label: int = 1
    note: str = ""
    # Numbered explanations of cells, which link to them.
    footnotes: tuple[str, ...] = ()
    # Whether a long table is collapsed initially.
    closed: bool = False
    # Whether the table contains text; on a narrow screen its rows become paragraphs.
    stacked: bool = False

    @property
    def wide(self) -> set[int]:
        """Columns whose text needs the width of several words."""
        return {i for i in range(len(self.columns)) if any(len(row[i].text) > FEW_WORDS for row in self.rows)}

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Group headings with their numbers of columns; empty if there are no groups."""
        headings: list[tuple[str, int]] = []
        for column in self.columns:
            if headings and column.group and headings[-1][0] == column.group:
                headings[-1] = (column.group, headings[-1][1] + 1)
            else:
                headings.append((column.group, 1))
        return headings if any(name for name, _ in headings) else []


@dataclass(frozen=True)
class Picture(Part):
    """A figure as inline SVG with a text alternative."""

    id: str
    title: str
    alt: str
    svg: Markup


@dataclass(frozen=True)
class Facts(Part):
    """A list of names and values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Download:
    """An embedded file: name, formatted size, and content as a data: link."""

    name: str
    size: str
    href: str


@dataclass(frozen=True)
class Downloads(Part):
    """The data of a section."""

    files: tuple[Download, ...]


@dataclass(frozen=True)
class Span:
    """Drawing of a condition: positions of limits, interval, mean and published value, as fractions of the width."""

    accepted: tuple[float, float]
    interval: tuple[float, float] | None
    mean: float
    compared: float | None
    words: str


@dataclass(frozen=True)
class Finding:
    """One condition of a claim, as text and as a drawing."""

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
    # Thresholds chosen by longpipe, and the explanation of a deviation.
    note: str = ""


@dataclass(frozen=True)
class Claims(Part):
    """The claims of one document."""

    title: str
    # Reference in addition to the limits: "published", "single run", or empty.
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
    """Builds claims from the records of `Judgement.record`."""
    entries = tuple(
        Claim(
            record["id"],
            record["text"],
            record["verdict"],
            tuple(map(_finding, record["conditions"])),
            " ".join(filter(None, (record.get("note"), record.get("scaled")))),
        )
        for record in records
    )
    compared = {c["source"] for record in records for c in record["conditions"] if c["compared"] is not None}
    return Claims(title, ", ".join(sorted(compared)), entries)


def number(value: float, digits: int = 3, *, decimals: int | None = None) -> str:
    """Formats a number with at most `digits` significant decimals (none from 1000 on), or with exactly `decimals`."""
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


def with_margin(value: float, margin: float, decimals: int) -> str:
    """Formats a mean and the half-width of its interval, which is nan if it is unknown, with the same decimals."""
    if math.isnan(value):
        return NOTHING
    return written(value, margin, decimals).replace("-", MINUS)


def _finding(condition: Mapping[str, Any]) -> Finding:
    """Returns the evidence of a judged condition: its text and its position beside the limits."""
    above, below, mean, low, high, compared = (
        math.nan if condition[name] is None else float(condition[name])
        for name in ("above", "below", "mean", "low", "high", "compared")
    )
    expectation = " and ".join(
        f"{sign} {number(limit)}" for sign, limit in ((">", above), ("<", below)) if not math.isnan(limit)
    )
    interval = ""
    if not math.isnan(low):
        interval = "exact" if low == high == mean else f"{number(low)} to {number(high)}"
    words = f"{condition['quantity']}: {number(mean)}" + (f", interval {interval}" if interval else "")
    words += f"; wanted {expectation}" + ("" if math.isnan(compared) else f"; {condition['source']} {number(compared)}")
    return Finding(
        condition["quantity"],
        expectation,
        Cell(number(mean), mean),
        interval,
        "" if math.isnan(compared) else number(compared),
        condition["verdict"],
        None if math.isnan(mean) else _span(above, below, mean, low, high, compared, words),
    )


def _span(above: float, below: float, mean: float, low: float, high: float, compared: float, words: str) -> Span:
    """Returns the positions of limits, interval and mean on a common axis from 0 to 1."""
    values = [value for value in (above, below, mean, low, high, compared) if not math.isnan(value)]
    margin = 0.15 * (max(values) - min(values)) or 1.0
    lowest, highest = min(values) - margin, max(values) + margin

    def position(value: float) -> float:
        return (value - lowest) / (highest - lowest)

    return Span(
        (0.0 if math.isnan(above) else position(above), 1.0 if math.isnan(below) else position(below)),
        None if math.isnan(low) else (position(low), position(high)),
        position(mean),
        None if math.isnan(compared) else position(compared),
        words,
    )
