"""Code shared by tests of reproductions: frr-96 with 60 ms runs, lbd-01, and the files of every output folder."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest

from longpipe.store import Store
from longpipe.study import Runner
from longpipe.system.locks import locked
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers import frr_96, lbd_01
from longpipe_evidence.papers.experiments import Experiment
from longpipe_evidence.papers.report import drawing
from longpipe_evidence.papers.report.folder import Part

# Files in addition to tables and figures.
WRITTEN: Final = {"provenance.json", "report.json", "report.txt", "scenarios.csv"}


@cache
def experiments() -> list[Experiment]:
    """Returns the paper's experiments, shortened to 60 ms; built once, because that takes half a second."""
    short = []
    for e in frr_96.experiments():
        single = e.deterministic.with_(duration="60 ms") if e.deterministic else None
        short.append(replace(e, replicated=e.replicated.with_(duration="60 ms"), deterministic=single))
    return short


PAPER = replace(frr_96.PAPER, experiments=experiments, other_readings=(), variants=frr_96.PAPER.variants[:2])


@contextmanager
def drawn_here() -> Iterator[None]:
    """Context in which figures are drawn in this process, not in two others that would have to load Matplotlib."""

    def draw(module: str, function: str, subject: object, directory: Path) -> list[str]:
        return [name for _, names in drawing._share(module, function, subject, directory, 0, 1) for name in names]

    with patch.object(drawing, "draw", draw):
        yield


def short_frr_96(factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with short runs of frr-96 with two seeds, which tests only read and copy.

    It contains the store of the runs, `runs.db`, the output folder `frr-96`, and `reproduction`, a copy of the output
    folder without the sensitivity analysis.
    """

    def make(folder: Path) -> None:
        (folder / "frr-96").mkdir()
        with drawn_here(), closing(Store(folder / "runs.db")) as store:
            parts.run(PAPER, Part.REPRODUCTION, 2, folder / "frr-96", Runner(store))
            shutil.copytree(folder / "frr-96", folder / "reproduction")
            parts.run(PAPER, Part.SENSITIVITY, 1, folder / "frr-96", Runner(store))

    return _made_once(factory, "frr-96", make)


def whole_lbd_01(factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the output folder `lbd-01` and the store of its runs, `runs.db`.

    Tests only read and copy it.
    """

    def make(folder: Path) -> None:
        (folder / "lbd-01").mkdir()
        with drawn_here(), closing(Store(folder / "runs.db")) as store:
            parts.run(lbd_01.PAPER, Part.REPRODUCTION, None, folder / "lbd-01", Runner(store))

    return _made_once(factory, "lbd-01", make)


def _made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Returns a folder that the test session's first process creates; other processes wait for it."""
    own = factory.getbasetemp()
    base = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, partial = base / f"made-{name}", base / f"making-{name}"
    with locked(base / f"{name}.lock"):
        if not folder.exists():
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            make(partial)
            partial.rename(folder)
    return folder
