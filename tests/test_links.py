"""Links in README.md and docs/ lead to files in a clone, or are next to the command that creates the target."""

import re
import subprocess
from pathlib import Path

import pytest

from longpipe import pictures
from longpipe.examples import EXAMPLES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# Files that `make docs` creates, relative to `docs/`.
MADE = ("reference/generated/",)


def kept() -> set[Path]:
    """Returns the files of a clone."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a clone")
    return {ROOT / name for name in done.stdout.split("\0") if name}


def test_every_link_leads_to_an_existing_or_generated_file() -> None:
    files = kept()
    folders = {folder for file in files for folder in file.parents}
    dead = []
    for page in (page for page in PAGES if page in files):
        for block in CODE.sub(lambda code: code[0] if code[0] == "`make docs`" else "", page.read_text()).split("\n\n"):
            for found in LINK.finditer(block):
                target = (found[1] or found[2]).partition("#")[0]
                if not target or "://" in target or target.startswith("mailto:"):
                    continue
                place = (page.parent / target).resolve()
                made = any(place.is_relative_to(ROOT / "docs" / one.rstrip("/")) for one in MADE)
                if not (place in files or place in folders or (made and "`make docs`" in block)):
                    dead.append(f"{page.relative_to(ROOT)}: {target}")
    assert not dead


def test_every_example_is_in_the_lists() -> None:
    for page in ("README.md", "docs/scenarios.md"):
        words = set(re.findall(r"[\w-]+", (ROOT / page).read_text()))
        assert set(EXAMPLES) <= words, page


def test_names_in_the_pages_are_found_as_written() -> None:
    # `make docs` creates further pages, which are named after modules.
    written = "\n".join(page.read_text() for page in PAGES if "generated" not in page.parts)
    named = set(re.findall(r"(?<!from longpipe\.)\bpictures\.((?!md\b|py\b)\w+)", written))
    assert {"window_steps", "rtt_points"} <= named
    assert [name for name in sorted(named) if not callable(getattr(pictures, name, None))] == []
