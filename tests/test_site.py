import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / "docs/how-to").glob("*.md"),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Pages that are written when the site is built; their links are checked at that time.
GENERATED = ROOT / "docs/reference/generated"


def _names(page: Path) -> set[str]:
    """Returns the anchors of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, name = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(GENERATED):
            continue
        assert target.exists(), link
        # Parts of the lab have no headings; docs/conf.py makes these links open the lab.
        is_part_of_lab = target.name == "lab.md" and re.match(r"(preset|step|exercise)=", name)
        assert not name or is_part_of_lab or name in _names(target), link


def test_links_that_lead_nowhere_are_found_in_the_built_site(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    from dead_links import dead_links

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text('<p id="one">x</p><a href="../c.html#two">y</a><a href="#one">z</a>')
    links = ("a/b.html#one", "a/b.html#two", "gone.html", "https://example.org/#no", "mailto:x", "a/")
    (tmp_path / "c.html").write_text("".join(f'<a href="{link}">x</a>' for link in links))
    found = set(dead_links(tmp_path))
    assert found == {("a/b.html", "../c.html#two"), ("c.html", "a/b.html#two"), ("c.html", "gone.html")}
