"""The report of all reproduced documents."""

from collections.abc import Iterable
from typing import Final

from longpipe.report.page import render
from longpipe.report.parts import Report
from longpipe.report.svg import Palette
from longpipe_evidence.papers import PAPERS
from longpipe_evidence.papers.report import scoreboard
from longpipe_evidence.papers.report.results import Results
from longpipe_evidence.papers.report.section import section

TITLE: Final = "Papers on TCP over long, fat pipes, simulated again"


def page(folders: Iterable[Results]) -> str:
    """Renders the page as HTML; if a file is missing, raises ScenarioError with its name and the command to run."""
    folders, palette = list(folders), Palette()
    sections = tuple(section(PAPERS[results.document], results, palette) for results in folders)
    return render(
        Report(TITLE, (scoreboard.summary(folders),), (scoreboard.section(folders), *sections)),
        palette,
    )
