"""A report as one HTML page that needs no network."""

from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from longpipe.errors import plain_lines
from longpipe.report.parts import Report
from longpipe.report.svg import DARK_CARD, Palette

_TEMPLATES: Final = Path(__file__).parent / "templates"


def render(report: Report, palette: Palette) -> str:
    """Renders the page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_without_controls,
    )
    # Style and script are files of this package and therefore need no escaping.
    script, style = (Markup((_TEMPLATES / name).read_text(encoding="utf-8")) for name in ("page.js", "page.css"))  # noqa: S704
    return environment.get_template("page.html.jinja").render(
        report=report, palette=palette, script=script, style=style, dark_card=DARK_CARD
    )


def _without_controls(value: object) -> object:
    """Shows control characters of a name as escapes; markup is this package's own."""
    return plain_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value
