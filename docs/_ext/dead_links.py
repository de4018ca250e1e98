"""Reports dead links within the built pages as warnings, which make `make docs` fail."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER: Final = logging.getLogger(__name__)


class _Page(HTMLParser):
    """The anchors of a page, and the targets of its links."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects the anchors and links of a tag."""
        for name, value in attrs:
            if value and name == "id":
                self.names.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def dead_links(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields each dead link in the pages of a folder, as (page, link): its file or its anchor does not exist."""
    pages = {path.resolve(): _Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            name = unquote(parts.fragment)
            if not target.exists() or (name and target in pages and name not in pages[target].names):
                yield str(path.relative_to(folder.resolve())), link


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page, link in dead_links(Path(app.outdir)):
            _LOGGER.warning("%s: %s leads nowhere", page, link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the check with Sphinx."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
