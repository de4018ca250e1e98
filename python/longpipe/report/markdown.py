"""A report as Markdown: headings, paragraphs, tables and facts. Figures and embedded files have no Markdown form."""

from collections.abc import Iterator, Sequence

from longpipe.report.parts import Facts, Grid, Part, Report, Section


def render(report: Report) -> str:
    """Renders the report as Markdown, with tables in the form of GitHub."""
    blocks = [f"# {report.title}", *map(_text, report.lead)]
    for section in report.sections:
        blocks += _section(section, 2)
    return "\n\n".join(blocks) + "\n"


def _section(section: Section, level: int) -> Iterator[str]:
    yield f"{'#' * level} {_text(section.title)}"
    yield from map(_text, section.lead)
    for part in section.parts:
        yield from _part(part)
    for below in section.sections:
        yield from _section(below, level + 1)


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Grid):
        yield f"**{_text(part.title)}**"
        heads = [" ".join(filter(None, (column.group, column.head))) for column in part.columns]
        rules = ["---:" if column.number else "---" for column in part.columns]
        rows = [[_text(cell.text) for cell in row] for row in (*part.rows, *part.footer)]
        yield "\n".join(map(_row, ([*map(_text, heads)], rules, *rows)))
        if part.note:
            yield _text(part.note)
    elif isinstance(part, Facts):
        yield "\n".join(f"- {_text(name)}: {_text(value)}" for name, value in part.rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Returns text on one line, in which no character has a meaning in Markdown."""
    line = " ".join(text.split())
    for character in "\\`*_|<>[]#":
        line = line.replace(character, f"\\{character}")
    return line
