"""The base class of all papers, by which `longpipe reproduce` and `longpipe report` use any of them.

A paper with replicated experiments derives from `ReplicatedPaper`, which implements every method from declarations;
others derive from `Paper`. Commands write each part of a reproduction, its `Findings`, as files, and pages read them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe_evidence.papers import PAPERS, package_of

# For type checking only, because processes that draw figures need neither the database nor a page.
if TYPE_CHECKING:
    from rich.console import Console

    from longpipe.report.parts import Grid
    from longpipe.scenario import Scenario
    from longpipe.study import Runner
    from longpipe_evidence.papers.report.folder import Part
    from longpipe_evidence.papers.report.results import Results
    from longpipe_evidence.papers.tables import Tables


@dataclass(frozen=True)
class Findings:
    """Output of a part of a reproduction: files, figures, and text for a terminal."""

    # Contents of the files by name, in the order in which they are written. The reproduction itself must have
    # "report.json" with its numbers.
    texts: Mapping[str, str]
    # Prints the text for the terminal.
    show: Callable[[Console], None]
    # Description of the files, for the last line on the terminal.
    contents: str
    # Argument of the function in the module `figures`, called in another process; None if there are no figures.
    figure_data: object = None
    # Command that gives more information, if any.
    hint: str = ""
    # Additional entries of the folder's record.
    record: Mapping[str, Any] = field(default_factory=dict)
    # Tables by their names in the paper, as in "Table 1", and summaries: `published`, `mean` and more.
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Distance:
    """Summary of the differences between simulated and published values of one quantity in one table."""

    # Name of the table as printed, such as "Table 1", or of the quantity if it is in the text.
    table: str
    # Name of the quantity in the table; "" if `table` names it.
    quantity: str
    # Keys: `values`, number of published values; `error`, mean absolute difference; `relative`, relative error;
    # `difference`, mean difference; `largest`, largest absolute difference. Others may follow, as in `page.distance`.
    numbers: Mapping[Any, Any]
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper(ABC):
    """A paper and how to reproduce it.

    Abstract methods must be overridden. The others may be: `readings` if the paper's text permits other settings,
    `beyond_seeds` and `go_beyond` for an extension of the paper, `networks` for a table of parameters, `only` if tables
    can be reproduced one by one, and `summaries_of` for additional tables.

    The paper's package has a module `figures`: its function `figures` draws the results of a reproduction, and
    `beyond_figures` those of the extension. Both return a dict of figures by file name.
    """

    id: str
    title: str
    # Description of fixed, random and unspecified parameters.
    conditions: str
    # Default number of replications; None if nothing is random and each experiment runs once.
    seeds: int | None = 20
    # Heading of the tables on a page.
    tables_title: str = "Published and simulated values"
    # Heading of the claims, which states the rule by which they are judged.
    claims_title: str
    # How its metrics differ from those that `longpipe run` prints for the same scenario; empty if they are equal.
    metrics_note: str = ""

    def __reduce__(self) -> tuple[Callable[[str], Paper], tuple[str]]:
        """Pickles the paper by its id, because claims and tables contain functions."""
        return _registered, (self.id,)

    @property
    def package(self) -> str:
        """Returns the package that defines the paper."""
        return package_of(self.id)

    @property
    def beyond_seeds(self) -> int | None:
        """Returns the number of replications of the extension, or None if there is no extension."""
        return None

    @abstractmethod
    def reproduce(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing experiments with seeds 1 to `seeds`, and compares the results with the paper."""

    @abstractmethod
    def sensitivity(self, seeds: int, runner: Runner, folder: Path) -> Findings:
        """Runs the missing variants; if `folder` contains a reproduction, they explain its differences."""

    @property
    def readings(self) -> Mapping[str, Paper]:
        """Returns the paper under each other reading of its text, by the reading's name; empty by default.

        A reading is a choice of settings that the text permits as much as the paper's own.
        """
        return {}

    def go_beyond(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing experiments of the extension; called only if `beyond_seeds` is not None."""
        raise NotImplementedError

    @abstractmethod
    def grids(self, results: Results) -> tuple[Grid, ...]:
        """Returns a page's tables of published and simulated numbers, read from the files of `reproduce`."""

    @abstractmethod
    def variants_grid(self, results: Tables) -> tuple[str, Grid]:
        """Returns a page's table of the variants, from the files of `sensitivity`, and the text before it, if any."""

    @abstractmethod
    def distances(self, results: Tables) -> Iterator[Distance]:
        """Returns the differences between its tables and the published ones."""

    def networks(self) -> Mapping[str, Scenario]:
        """Returns a replicated scenario per network, by name, for a table of parameters; empty by default."""
        return {}

    @abstractmethod
    def cells(self) -> Mapping[str, Scenario]:
        """Returns the scenario of each configuration by name, such as "lan 5 1000 vanilla epd"."""

    def toml_of(self, scenario: Scenario) -> str:
        """Returns a scenario as TOML text, with a comment if `longpipe run` prints other values than the paper's."""
        if not self.metrics_note:
            return scenario.to_toml()
        call = f'longpipe_evidence.papers.PAPERS["{self.id}"].measure(longpipe.simulate(scenario, seed))'
        lines = [
            f"# {line}" for line in wrap(f"{self.id}: {self.metrics_note} Python returns the paper's numbers:", 100)
        ]
        return "\n".join([*lines, f"#     {call}", "", scenario.to_toml()])

    def only(self, table: int) -> Self:
        """Returns the paper with only one of its tables. Raises ScenarioError if it has no such table."""
        raise ScenarioError(f"--table: {table}; {self.id} can only be reproduced as a whole")

    def summaries_of(self, part: Part) -> Mapping[str, Callable[..., pd.DataFrame]]:
        """Returns the functions that compute additional tables, by file name; their docstrings describe the tables."""
        return {}


def _registered(paper: str) -> Paper:
    return PAPERS[paper]


def published_data(paper: str, name: str) -> pd.DataFrame:
    """Returns a CSV file of a paper's package; tables and levels are text, even if they are digits."""
    with (resources.files(package_of(paper)) / name).open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"table": str, "level": str})
