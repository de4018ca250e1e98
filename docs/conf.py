"""Configures Sphinx: Markdown pages (MyST), notebooks executed during the build, a reference generated from code."""

import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

from docutils.nodes import Element, bullet_list
from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.logging import getLogger

from longpipe.lab import PAGE
from longpipe.scenario.base import Model

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import api_pages
import command_pages
import scenario_pages

LOGGER = getLogger(__name__)
# A link of a page to a part of the lab, as in [low orbit](lab.md#preset=leo).
_LAB_LINK = re.compile(r"\[([^\]]+)\]\(lab\.md#((?:preset|step|exercise)=[^)]+)\)")
# Lists of all pages by page, or by folder of source pages, and Sphinx's options.
_CONTENTS: dict[tuple[Any, ...], str] = {}
# Title and lists of pages of each page.
_TITLES: dict[str, bullet_list] = {}

project = "longpipe"
author = "the longpipe authors"
copyright = "the longpipe authors"  # noqa: A001 - Sphinx's name
release = version = metadata.version("longpipe")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton", "dead_links"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

templates_path = ["_templates"]
html_theme = "furo"
html_title = "longpipe"
html_static_path = ["_static"]
html_css_files = ["longpipe.css"]
html_theme_options = {"source_directory": "docs/"}
html_copy_source = False

# Keeps `--` of options and the quotes of shell commands unchanged.
smartquotes = False
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

# Docstrings put code in single backticks.
default_role = "code"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# No function has type comments, and searching for them takes a twentieth of the time of the build.
autodoc_use_type_comments = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"


def write_reference(app: Sphinx) -> None:
    """Writes the pages that are generated from the code: scenario fields, commands and modules."""
    folder = Path(app.srcdir) / "reference" / "generated"
    pages = scenario_pages.pages() | command_pages.pages() | api_pages.pages()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(folder.glob("*")) - {folder / name for name in pages}:
        stale.unlink()
    for name, text in pages.items():
        page = folder / name
        # An unchanged page keeps its modification time, so that Sphinx does not read it again.
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def shorten_signature(
    _app: Sphinx, _kind: str, _name: str, member: object, _options: object, _signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Shortens the signatures of scenario models to `(**fields)`, because a separate page documents their fields."""
    return ("(**fields)", returns) if isinstance(member, type) and issubclass(member, Model) else None


def lead_back(app: Sphinx, page: str, _template: str, context: dict[str, Any], _document: object) -> None:
    """Links source pages back to the documentation of each member; undocumented helpers get no link."""
    if not page.startswith("_modules/longpipe"):
        return
    known = app.env.get_domain("py").data["objects"]
    modules = page.removeprefix("_modules/").split("/")
    packages = [".".join(modules[:depth]) for depth in range(len(modules), 0, -1)]

    def anchor(found: re.Match[str]) -> str:
        parts = found[1].split(".")
        names = [".".join([package, *parts[i:]]) for i in range(1, len(parts)) for package in packages]
        entry = next((known[name] for name in names if name in known), None)
        if entry is None:
            return ""
        where = app.builder.get_relative_uri(page, entry.docname)
        return f'<a class="viewcode-back" href="{where}#{entry.node_id}">[docs]</a>'

    context["body"] = re.sub(r'<a class="viewcode-back" href="[^"#]*#([^"]+)">.*?</a>', anchor, context["body"])


def share_contents(app: Sphinx, page: str, _template: str, context: dict[str, Any], _document: object) -> None:
    """Makes the list of all pages, which the sidebar shows, from their titles.

    Sphinx copies the sections of all pages for each page, and then removes them, which takes half the time of the
    build. The list is equal on all source pages of a folder, because no source page is in it.
    """
    if "toctree" in context:
        context["toctree"] = partial(_contents, app.env, page, context["toctree"])


def _contents(env: BuildEnvironment, page: str, contents: Callable[..., str], **options: Any) -> str:  # noqa: ANN401 - Sphinx's options
    if not _TITLES:
        _TITLES.update((name, _titles(sections)) for name, sections in env.tocs.items())
    key = (page.rpartition("/")[0] if page.startswith("_modules/") else page, *sorted(options.items()))
    if key not in _CONTENTS:
        sections = _TITLES if options.get("titles_only") else env.tocs
        with patch.object(env, "tocs", sections):
            _CONTENTS[key] = contents(**options)
    return _CONTENTS[key]


def _titles(sections: bullet_list) -> bullet_list:
    """Returns the title of a page and the lists of pages that it contains, as Sphinx does for each list of titles."""
    titles = sections.deepcopy()
    for title in titles.children:
        if isinstance(title, Element) and len(title) > 1:
            if lists := list(title.findall(toctree)):
                title[1][:] = lists
            else:
                title.pop(1)
    return titles


def name_for_all(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: object) -> None:
    """Improves accessibility: sets the level of headings in the contents, and makes scrollable blocks focusable."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )
    if "body" in context:
        found = context["body"].replace("<pre>", '<pre tabindex="0">')
        context["body"] = found.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def link_lab(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Makes links to a part of the lab open it; in the sources they lead to its page, for readers on a code host."""
    source[0] = _LAB_LINK.sub(r'<a href="_static/lab.html#\2">\1</a>', source[0])


def put_lab(app: Sphinx, error: Exception | None) -> None:
    """Copies the lab next to the pages that link to it, or writes a page that explains how to build it."""
    if app.builder.format == "html" and error is None:
        missing = (
            "<!doctype html><title>longpipe lab</title><p>The lab was not built with these pages: make lab docs</p>"
        )
        page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else missing
        (Path(app.outdir) / "_static" / "lab.html").write_text(page, encoding="utf-8")


def check_names(app: Sphinx, error: Exception | None) -> None:
    """Warns, which fails the build, if the theme's drawers differ from those that _templates/page.html labels."""
    if app.builder.format == "html" and error is None:
        text = (Path(app.outdir) / "index.html").read_text(encoding="utf-8")
        for label in ("All pages", "On this page"):
            if f'aria-label="{label}"' not in text:
                LOGGER.warning("_templates/page.html: %r is not in the built page; needs the theme's drawer", label)


def setup(app: Sphinx) -> None:
    """Registers the functions above with Sphinx."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", link_lab)
    # The lab must exist before links are checked, because some of them point to it.
    app.connect("build-finished", put_lab, priority=400)
    app.connect("build-finished", check_names)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("html-page-context", lead_back)
    # Before the theme's own function, which computes the sidebar.
    app.connect("html-page-context", share_contents, priority=400)
    # After the theme's own function.
    app.connect("html-page-context", name_for_all, priority=900)
