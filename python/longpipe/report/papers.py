"""The report of all reproduced documents."""

from collections.abc import Iterable
from typing import Final

from longpipe.report import scoreboard
from longpipe.report.page import render
from longpipe.report.parts import Report
from longpipe.report.results import Results
from longpipe.report.section import section
from longpipe.report.svg import Palette
from longpipe_evidence.papers import PAPERS

TITLE: Final = "Papers on TCP over long, fat pipes, simulated again"


def page(folders: Iterable[Results]) -> str:
    """Renders the page as HTML; if a file is missing, raises ScenarioError with its name and the command to run."""
    folders, palette = list(folders), Palette()
    sections = tuple(section(PAPERS[results.document], results, palette) for results in folders)
    return render(
        Report(TITLE, (scoreboard.summary(folders),), (scoreboard.section(folders), *sections)),
        palette,
    )
