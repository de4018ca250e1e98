"""What commands and reports ask of a paper, whatever kind of results it has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.papers import PAPERS, package_of

# Who draws what was found has no use for the database, nor for a page.
if TYPE_CHECKING:
    from rich.console import Console

    from longpipe.papers.tables import Tables
    from longpipe.report.folder import Part
    from longpipe.report.parts import Grid
    from longpipe.report.results import Results
    from longpipe.scenario import Scenario
    from longpipe.study import Runner


@dataclass(frozen=True)
class Findings:
    """What a part of a reproduction comes to: files, figures, and what a terminal shows of them."""

    # By name, in the order in which they are written; a reproduction has its numbers in "report.json".
    texts: Mapping[str, str]
    show: Callable[[Console], None]
    # What the folder has, as the last line of a terminal says before its name.
    told: str
    # What the figures are drawn from, by a process of their own; None where there are none.
    drawn: object = None
    # What would tell more, if anything.
    hint: str = ""
    # What the record of the folder says besides.
    record: Mapping[str, Any] = field(default_factory=dict)
    # By the names that the paper has for them, "Table 1", and those that sum up: `published` beside `mean` and more.
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Distance:
    """How far one table, or one quantity, is from what was published: `numbers` are those of `page.distance`."""

    table: str
    of: str
    numbers: Mapping[Any, Any]
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper(ABC):
    """A paper and how to reproduce it.

    Its package has a module `figures`, whose `figures` draws what a reproduction found, and `beyond_figures` what goes
    past the paper: a dict of figures by file name.
    """

    id: str
    title: str
    # What is fixed, what is drawn by seed, what the paper leaves open.
    conditions: str
    # Default number of replications; None where nothing is random and each runs once.
    seeds: int | None = 20
    # Heading of its tables on a page.
    tables_title: str = "Published against simulated"
    # How claims are judged, as the heading of them says.
    judged: str

    def __reduce__(self) -> tuple[Callable[[str], Paper], tuple[str]]:
        """Another process has it from the registry: claims and tables are functions, which can't be sent."""
        return _registered, (self.id,)

    @property
    def package(self) -> str:
        """Where it is defined."""
        return package_of(self.id)

    @property
    def beyond_seeds(self) -> int | None:
        """Replications of what goes past the paper; None if nothing does."""
        return None

    @abstractmethod
    def reproduce(self, seeds: int, runner: Runner) -> Findings:
        """Runs what is missing of its experiments, with seeds 1 to `seeds`, and compares."""

    @abstractmethod
    def sensitivity(self, seeds: int, runner: Runner, folder: Path) -> Findings:
        """Runs what is missing of its variants; `folder` may hold a reproduction, whose differences they explain."""

    def go_beyond(self, seeds: int, runner: Runner) -> Findings:
        """Runs what is missing of what goes past the paper."""
        raise NotImplementedError

    @abstractmethod
    def grids(self, results: Results) -> tuple[Grid, ...]:
        """A page's tables of published beside simulated numbers."""

    @abstractmethod
    def variants_grid(self, results: Tables) -> tuple[str, Grid]:
        """A page's table of the variants, and what to say of it before, if anything."""

    @abstractmethod
    def distances(self, results: Results) -> Iterator[Distance]:
        """How far its tables are from the published ones."""

    def networks(self) -> Mapping[str, Scenario]:
        """A replicated scenario of each of its networks by name, for a table of parameters; empty by default."""
        return {}

    def cells(self) -> Mapping[str, Scenario]:
        """The scenario of each configuration by its name, such as "lan 5 1000 vanilla epd"; empty by default."""
        return {}

    def only(self, table: int) -> Self:
        """The paper with one of its tables alone; ScenarioError if it has no such table."""
        raise ScenarioError(f"--table: {table}; {self.id} is reproduced as a whole")

    def summaries_of(self, part: Part) -> Mapping[str, Callable[..., pd.DataFrame]]:
        """A page's tables that sum a part up, by the name of their file; what makes them says what they are."""
        return {}


def _registered(paper: str) -> Paper:
    return PAPERS[paper]


def published_data(paper: str, name: str) -> pd.DataFrame:
    """A CSV file of a paper's package; tables and levels are names, even where they are digits."""
    with (resources.files(package_of(paper)) / name).open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"table": str, "level": str})
