import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
VALIDATION = DOCS / "validation"
MODELS = ("tcp", "atm", "ip", "classes", "sources", "web", "links", "paths", "satellites", "simulation")
# Pages that `make docs` generates.
GENERATED = "generated"
PAGES = sorted(page for page in DOCS.rglob("*.md") if not {GENERATED, "_build"} & set(page.parts))


@pytest.mark.parametrize("model", MODELS)
def test_page_of_model_ends_with_validation_and_limits(model: str) -> None:
    lines = (DOCS / f"{model}.md").read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert headings[:-2]
    assert headings[-2:] == ["Validation", "Limits"]


def test_contents_list_every_page() -> None:
    listed = {
        (page.parent / entry).resolve()
        for page in PAGES
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for entry in tree.splitlines()
    }
    assert [page for page in PAGES if page.stem != "index" and page.with_suffix("") not in listed] == []


@pytest.mark.parametrize("page", sorted(VALIDATION.glob("*.md")), ids=lambda page: page.stem)
def test_model_links_its_validation_in_one_line(page: Path) -> None:
    if page.stem not in ("index", "how-longpipe-is-tested"):
        text = (DOCS / page.name).read_text(encoding="utf-8")
        [section] = re.findall(r"^##+ Validation\n\n(.*?)\n(?=\n#|\Z)", text, re.DOTALL | re.MULTILINE)
        assert section.strip().count("\n") == 0
        assert f"(validation/{page.name}" in section


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_table_cells_have_at_most_twenty_words(page: Path) -> None:
    assert [cell for cell in _cells(page) if len(cell.split()) > 20] == []


def _cells(page: Path) -> Iterator[str]:
    """Yields the cells of a page's tables, without the addresses of links."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            yield from re.split(r"(?<!\\)\|", re.sub(r"\]\([^)]*\)", "]", line))


def test_counts_reach_those_of_the_page() -> None:
    page = (VALIDATION / "how-longpipe-is-tested.md").read_text(encoding="utf-8")
    documented = {kind: int(count) for kind, count in re.findall(r"^\| ([^|]+) \| (\d+) \|$", page, re.MULTILINE)}
    done = subprocess.run([sys.executable, ROOT / "tests" / "counts.py"], check=True, capture_output=True, text=True)
    counted = {kind: int(count) for count, kind in (line.split(None, 1) for line in done.stdout.splitlines())}
    assert documented.keys() == counted.keys()
    # The page need not change with every test that is added.
    assert {kind: (count, counted[kind]) for kind, count in documented.items() if counted[kind] < 0.95 * count} == {}


def _prose(page: Path) -> str:
    """Returns the text of a page without blocks and spans of code, and without addresses of links."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)|<[^>]*>", "", text)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_numbers_below_one_have_leading_zero(page: Path) -> None:
    assert re.findall(r"(?<![\w./])\.\d\S*", _prose(page)) == []


def test_readme_and_index_begin_with_the_same_paragraph() -> None:
    first = [page.read_text(encoding="utf-8").split("\n\n")[1] for page in (ROOT / "README.md", DOCS / "index.md")]
    assert first[0] == first[1]
