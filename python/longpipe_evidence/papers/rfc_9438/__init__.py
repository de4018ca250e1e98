"""RFC 9438: mean windows of Reno, HSTCP and CUBIC by loss rate; extension: figure 8 of BBR's paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from longpipe.errors import ScenarioError
from longpipe_evidence.papers.paper import Distance, Findings, Paper
from longpipe_evidence.papers.rfc_9438 import page, text
from longpipe_evidence.papers.rfc_9438.beyond import reproduce_beyond
from longpipe_evidence.papers.rfc_9438.connections import ID, simulated
from longpipe_evidence.papers.rfc_9438.reproduction import reproduce
from longpipe_evidence.papers.rfc_9438.variants import sensitivity

if TYPE_CHECKING:
    from longpipe.report.parts import Grid
    from longpipe.scenario import Scenario
    from longpipe.study import Runner
    from longpipe_evidence.papers.report.results import Results
    from longpipe_evidence.papers.tables import Tables


@dataclass(frozen=True, kw_only=True)
class TablePaper(Paper):
    """A document with tables by loss rate, in which each number is the result of one run."""

    tables: tuple[str, ...]

    @property
    def beyond_seeds(self) -> int | None:
        """Returns 1: the sweep of loss rates has its own seeds, which are not an option."""
        return 1

    def reproduce(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing connections, and compares the results with the RFC; `seeds` has no effect."""
        return text.of_reproduction(self, reproduce(runner, self.tables))

    def sensitivity(self, seeds: int, runner: Runner, folder: Path) -> Findings:
        """Runs the missing variants; neither `seeds` nor `folder` has an effect."""
        return text.of_sensitivity(sensitivity(runner))

    def go_beyond(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing points of the sweep of loss rates; `seeds` has no effect."""
        return text.of_beyond(reproduce_beyond(runner))

    def cells(self) -> Mapping[str, Scenario]:
        """Returns the scenario of each simulated number, by controller, RTT and loss rate."""
        return {number.name: number.scenario() for number in simulated()}

    def grids(self, results: Results) -> tuple[Grid, ...]:
        """Returns a page's tables: printed and simulated windows."""
        return page.grids(results)

    def variants_grid(self, results: Tables) -> tuple[str, Grid]:
        """Returns a page's table of the variants."""
        return "", page.variants(results)

    def distances(self, results: Tables) -> Iterator[Distance]:
        """Returns the differences of each table from the printed one."""
        return page.distances(results)

    def only(self, table: int) -> Self:
        """Returns the document with only one of its tables, without claims.

        Raises ScenarioError if it has no such table.
        """
        if str(table) not in self.tables:
            raise ScenarioError(f"--table: {table}; {self.id} accepts {', '.join(self.tables)}")
        return replace(self, tables=(str(table),))


PAPER: Final = TablePaper(
    id=ID,
    title="CUBIC for fast and long-distance networks (RFC 9438, August 2023), Tables 1 to 3",
    conditions=(
        "One run of each connection: nothing is random. An exact share of the segments is lost, no segment queues, "
        "every segment is acknowledged, and RACK and PRR repair losses; CUBIC has neither HyStart nor fast "
        "convergence. For loss rates below one in two million segments, only the printed value is shown."
    ),
    seeds=None,
    claims_title="Claims, judged by one run of each connection: nothing is random",
    tables=("1", "2", "3"),
)
