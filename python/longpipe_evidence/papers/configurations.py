"""Configurations of papers as scenario files: `longpipe init --example "PAPER: CONFIGURATION"`."""

from collections.abc import Iterable

from longpipe.errors import ScenarioError, nearest, shortened
from longpipe_evidence.papers import IDS, PAPERS


def configuration(name: str) -> str:
    """Returns the scenario of a paper's configuration as TOML text, from "PAPER: NAME".

    Raises a ScenarioError that names `--example` for an unknown paper or configuration.
    """
    paper, _, cell = (part.strip() for part in name.partition(":"))
    if paper not in IDS:
        raise ScenarioError(f"--example: {paper!r}; {nearest(paper, IDS)}")
    cells = PAPERS[paper].cells()
    named = next((scenario for name, scenario in cells.items() if _alike(name.split(), cell.split())), None)
    if named is None:
        needs = f"needs one of {len(cells)} configurations, as in {next(iter(cells))!r}"
        raise ScenarioError(f"--example: {paper}: {shortened(repr(cell), 60)}; {needs}; {_continued(cell, cells)}")
    return PAPERS[paper].toml_of(named)


def _alike(words: list[str], levels: list[str]) -> bool:
    """Returns whether the words of two names are equal, numbers by value: 0 and 0.0."""
    return len(words) == len(levels) and all(map(_equal, words, levels))


def _equal(word: str, text: str) -> bool:
    try:
        return word == text or float(word) == float(text)
    except ValueError:
        return False


def _continued(cell: str, cells: Iterable[str]) -> str:
    """Returns a clause with the words that may follow the longest valid beginning of a configuration's name."""
    given, names = cell.split(), [name.split() for name in cells]
    valid = max(k for k in range(len(given) + 1) if any(_alike(name[:k], given[:k]) for name in names))
    following = dict.fromkeys(
        name[valid] if len(name) > valid else "nothing" for name in names if _alike(name[:valid], given[:valid])
    )
    place = f"next word after {' '.join(given[:valid])!r}" if valid else "first word"
    return f"{place}: {', '.join(following)}"
