"""Shared code of tests of reproductions: frr-96 with runs of 60 ms, and the files in every output folder."""

from dataclasses import replace
from typing import Final

from longpipe.papers import frr_96
from longpipe.papers.experiments import Experiment

# Files in addition to tables and figures.
WRITTEN: Final = {"provenance.json", "report.json", "report.txt", "scenarios.csv"}


def experiments() -> list[Experiment]:
    """Returns the paper's experiments, shortened to 60 ms."""
    short = []
    for e in frr_96.experiments():
        single = e.deterministic.with_(duration="60 ms") if e.deterministic else None
        short.append(replace(e, replicated=e.replicated.with_(duration="60 ms"), deterministic=single))
    return short


PAPER = replace(frr_96.PAPER, experiments=experiments, variants=frr_96.PAPER.variants[:2])
