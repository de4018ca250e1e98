"""Papers with replicated experiments: published tables and means over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pandas as pd

from longpipe_evidence.papers import findings, page
from longpipe_evidence.papers.experiments import cell_name
from longpipe_evidence.papers.paper import Distance, Findings
from longpipe_evidence.papers.replication import Replication
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.reproduction import reproduce, reproduce_beyond
from longpipe_evidence.papers.sensitivity import sensitivity

if TYPE_CHECKING:
    from longpipe.report.parts import Grid
    from longpipe.scenario import Scenario
    from longpipe.study import Runner
    from longpipe_evidence.papers.report.results import Results
    from longpipe_evidence.papers.tables import Tables


@dataclass(frozen=True, kw_only=True)
class ReplicatedPaper(Replication):
    """A paper that is reproduced by replicating its experiments with several seeds."""

    def reproduce(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing experiments with seeds 1 to `seeds`, and compares the results with the paper."""
        return findings.of_reproduction(reproduce(self, seeds, runner))

    def sensitivity(self, seeds: int, runner: Runner, folder: Path) -> Findings:
        """Runs the missing variants; if `folder` contains a reproduction, they explain its differences."""
        return findings.of_sensitivity(self, sensitivity(self, seeds, runner), folder)

    def go_beyond(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing experiments of the extension."""
        if self.beyond is None:
            return super().go_beyond(seeds, runner)
        return findings.of_beyond(self.beyond, reproduce_beyond(self, self.beyond, seeds, runner))

    @property
    def readings(self) -> Mapping[str, Self]:
        """Returns the paper under each other reading of its text, by the reading's name."""
        return {reading.name: self.under(reading) for reading in self.other_readings}

    def grids(self, results: Results) -> tuple[Grid, ...]:
        """Returns a page's tables of published and simulated numbers."""
        rows = results.frame("tables")
        return tuple(page.table(self, caption, rows) for caption in self.captions)

    def variants_grid(self, results: Tables) -> tuple[str, Grid]:
        """Returns a page's table of the variants, and the text before it."""
        return page.variants(self, results)

    def distances(self, results: Tables) -> Iterator[Distance]:
        """Returns the differences between its tables and the published ones."""
        return page.distances(self, results)

    def cells(self) -> Mapping[str, Scenario]:
        """Returns the replicated scenario of each table row, and of the parts without a table, by levels."""
        return {
            " ".join(filter(None, (cell_name(self.factors, e.factors), str(e.factors.get("part", ""))))): e.replicated
            for e in self.experiments()
        }

    def networks(self) -> Mapping[str, Scenario]:
        """Returns, for each level of the factor `network`, the first experiment with the strictest policy."""
        scenarios: dict[str, Scenario] = {}
        for experiment in self.experiments():
            name = str(experiment.factors.get("network", self.id))
            if experiment.table and experiment.factors.get("policy") != "tail-drop":
                scenarios.setdefault(name, experiment.replicated)
        return scenarios

    def summaries_of(self, part: Part) -> Mapping[str, Callable[..., pd.DataFrame]]:
        """Returns a page's summary tables of a part by file name; their functions describe them."""
        if part is Part.BEYOND:
            return self.beyond.summaries if self.beyond else {}
        return self.summaries
