"""Words of comments, docstrings and documentation that readers outside of this project do not understand.

`python tests/test_language.py` prints how many each part of the repository contains.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
SUFFIXES: Final = {".md", ".py", ".rs", ".ts", ".html"}
# Each has a standard term: in flight, retransmitted, declared lost, again, rarely, a number.
REFUSED: Final = re.compile(
    r"\b(the same of|likewise|so many|so long as it|anew|seldom|somebody|nobody|hears|heeds?|goes by|under way"
    r"|taken to be|sent again|what is told|none too|by halves|a way of its own|in the open|by force|in vain|ever before"
    r"|tells? of|told of|tells? apart|told apart|for want of|anybody|whoever|hardly|spoilt|gone astray|hands? over"
    r"|(?:links?|paths?) that (?:moves?|stands?)|(?:ports?|queues?) that (?:acts?|judges?))\b",
    re.IGNORECASE,
)
# Spelling is American (docs/style.md); released changes keep theirs.
BRITISH: Final = re.compile(
    r"\w*(?:artefact|behaviour|catalogue|centre\b|colour|favour|honour|labelled(?!by)|licence|modelled|modelling|(?<!get_)neighbour"
    r"|recognis)\w*|\b(?:analysed|analysing|summarise[sd]?)\b",
    re.IGNORECASE,
)
# Names that contain one of the words, such as a Unix user.
EXCUSED: Final = {("tests/postgresql.py", "nobody")}
# Identifiers that were replaced by standard names, with the folder in which they must not be used again.
REPLACED: Final = (
    ("_Again", "python"), ("Acting", "crates"), ("Agenda", "crates"), ("Ahead", "crates/network"), ("astray", "crates"),
    ("attends", "crates"), ("by_records", "crates"), ("calm", "crates"), ("Certain", "crates"), ("certainty", "crates"),
    ("elsewhere", "crates/events"), ("Foreign", "crates"), ("ForeignPacket", "crates"), ("goes_by_records", "crates"),
    ("grain", "crates"), ("Grant", "crates/tcp"), ("heed_each_ack", "crates"), ("in_the_open", "crates"),
    ("judge", "crates"), ("lead", "crates/network"), ("Ledger", "crates"), ("ledger", "crates"),
    ("look_whether_calm", "crates"), ("lost_forced", "python"), ("lost_refused", "python"), ("may_be_calm", "crates"),
    ("Motion", "crates"), ("Moving", "crates"), ("notable", "crates"), ("Onward", "crates"), ("Opener", "crates"),
    ("outlive", "crates"), ("PacketsInTheOpen", "crates"), ("Pause", "crates/tcp/src/congestion/bbr"),
    ("Peak", "crates/tcp/src/congestion/bbr"), ("Pipe", "crates/tcp/src/congestion/bbr"), ("plain", "crates/tcp/src"),
    ("plainly", "crates"), ("Policer", "crates/tcp/src/congestion/bbr"), ("promise", "crates"), ("Promises", "crates"),
    ("quiet_until", "crates"), ("Rare", "crates"), ("Record", "crates/tcp"), ("Regulation", "crates"),
    ("Reins", "crates"), ("Relay", "crates"), ("relay", "crates"), ("remember", "crates/tcp/src/recovery"),
    ("Served", "crates"), ("Shortest", "crates/tcp/src/congestion/bbr"), ("simple", "crates/tcp/src"),
    ("spoilt", "crates"), ("steady", "crates/tcp/src"), ("take_plain", "crates"), ("tells", "crates/tcp/src"),
    ("Told", "crates"), ("turn", "crates/events"), ("Uncertain", "crates"), ("under_way", "crates/tcp"),
    ("UnderWay", "crates"),
)  # fmt: skip
# Comments and texts, in which some of these names are ordinary words.
COMMENT: Final = re.compile(r"//.*|(?<![\w\"'])#.*|\"(?:\\.|[^\"\\])*\"")
WORD: Final = re.compile(r"\w+")
PARTS: Final = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benches", "crates", "docs", "lab/src", "lab/tests", "python", "tests",
)  # fmt: skip


@cache
def lines(part: str) -> list[tuple[str, int, str]]:
    """Returns file, number and text of each line in a file or folder, except this file and generated documentation."""
    place = ROOT / part
    files = [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.suffix in SUFFIXES)
    return [
        (file.relative_to(ROOT).as_posix(), number, line)
        for file in files
        if file != Path(__file__).resolve() and "_build" not in file.parts
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    ]


def refused(part: str) -> Iterator[str]:
    """Yields each refused phrase in a file or folder as FILE:LINE: PHRASE."""
    for file, number, line in lines(part):
        for found in REFUSED.finditer(line):
            if (file, found[0]) not in EXCUSED:
                yield f"{file}:{number}: {found[0]}"


@cache
def identifiers(part: str) -> dict[str, list[tuple[str, int]]]:
    """Returns the files and lines of each word of the code in a file or folder."""
    found: dict[str, list[tuple[str, int]]] = {}
    for file, number, line in lines(part):
        for word in set(WORD.findall(COMMENT.sub("", line))):
            found.setdefault(word, []).append((file, number))
    return found


def replaced(name: str, part: str) -> Iterator[str]:
    """Yields each use of a replaced identifier in code, other than within a longer one, as FILE:LINE: NAME."""
    # Read the whole top folder, because many parts are within one.
    for file, number in identifiers(part.partition("/")[0]).get(name, ()):
        if file.startswith(f"{part}/"):
            yield f"{file}:{number}: {name}"


@pytest.mark.parametrize("part", PARTS)
def test_comments_and_documentation_use_standard_terms(part: str) -> None:
    assert list(refused(part)) == []


@pytest.mark.parametrize(("name", "part"), REPLACED)
def test_replaced_identifiers_are_not_used_again(name: str, part: str) -> None:
    assert list(replaced(name, part)) == []


@pytest.mark.parametrize("part", [part for part in PARTS if part != "CHANGELOG.md"])
def test_spelling_is_american(part: str) -> None:
    # Built pages may be older than their sources.
    written = [row for row in lines(part) if "generated/" not in row[0] and not row[0].endswith("lab/page.html")]
    assert [f"{file}:{number}: {word[0]}" for file, number, text in written if (word := BRITISH.search(text))] == []


def _unreleased() -> list[str]:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    [section] = re.findall(r"^## \[Unreleased\]\n(.*?)^## ", text, flags=re.MULTILINE | re.DOTALL)
    return str(section).splitlines()


def test_unreleased_changes_have_at_most_thirty_words_each() -> None:
    bullets = [re.sub(r"\]\([^)]*\)", "]", line[2:]) for line in _unreleased() if line.startswith("- ")]
    cells = [cell for line in _unreleased() if line.startswith("| ") for cell in line.split("|")]
    assert [text for text in bullets + cells if len(text.split()) > 30] == []
    assert not [line for line in _unreleased() if line.startswith("  ")]


def test_changelog_has_no_line_twice() -> None:
    # A merge once restored 346 lines of history.
    bullets = [
        line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if line.startswith("- ")
    ]
    assert [line for line in bullets if bullets.count(line) > 1] == []


if __name__ == "__main__":
    for one in PARTS:
        pairs = [found for name, part in REPLACED if part.startswith(one) for found in replaced(name, part)]
        print(f"{one}: {len(list(refused(one)))} phrases, {len(pairs)} names")  # noqa: T201 - this is the output
