"""Lee, Lee and Choi, 2001: one transfer over one bottleneck, with increasing bandwidth-delay products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from longpipe_evidence.papers.lbd_01 import page, text
from longpipe_evidence.papers.lbd_01.beyond import reproduce_beyond
from longpipe_evidence.papers.lbd_01.numbers import HALF
from longpipe_evidence.papers.lbd_01.reproduction import reproduce
from longpipe_evidence.papers.lbd_01.transfers import ID, SEED, W_STARS, Transfer, transfers
from longpipe_evidence.papers.lbd_01.variants import AS_REPRODUCED, READINGS, TransferVariant, sensitivity
from longpipe_evidence.papers.paper import Distance, Findings, Paper

if TYPE_CHECKING:
    from longpipe.report.parts import Grid
    from longpipe.scenario import Scenario
    from longpipe.study import Runner
    from longpipe_evidence.papers.report.results import Results
    from longpipe_evidence.papers.tables import Tables


@dataclass(frozen=True, kw_only=True)
class TransferPaper(Paper):
    """A paper about transfers, each of which is run once; some are recorded over time."""

    # The reading under which all transfers are run.
    reading: TransferVariant = AS_REPRODUCED

    @property
    def beyond_seeds(self) -> int | None:
        """Returns 1: nothing is random, so the only replication is that with seed 1."""
        return SEED

    def reproduce(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing transfers, records some over time, and compares results; `seeds` has no effect."""
        return text.of_reproduction(self, reproduce(runner, self.reading))

    def sensitivity(self, seeds: int, runner: Runner, folder: Path) -> Findings:
        """Runs the missing variants; neither `seeds` nor `folder` has an effect."""
        return text.of_sensitivity(sensitivity(runner))

    @property
    def readings(self) -> Mapping[str, Self]:
        """Returns the paper under each other reading of its text, by the reading's name."""
        return {reading.name: replace(self, reading=reading) for reading in READINGS}

    def go_beyond(self, seeds: int, runner: Runner) -> Findings:
        """Runs the missing transfers of the extension; `seeds` has no effect."""
        return text.of_beyond(reproduce_beyond(runner))

    def grids(self, results: Results) -> tuple[Grid, ...]:
        """Returns a page's tables: the published numbers, utilization by buffer, gains."""
        return page.grids(results)

    def variants_grid(self, results: Tables) -> tuple[str, Grid]:
        """Returns a page's table of the variants."""
        return "", page.variants(results)

    def cells(self) -> Mapping[str, Scenario]:
        """Returns the scenario of each transfer of Table 1, by W*, the buffer in W* and the flavor."""
        return {transfer.name: transfer.scenario() for transfer in transfers()}

    def networks(self) -> Mapping[str, Scenario]:
        """Returns the scenarios with the smallest and with the largest W*, each with a buffer of W*/2."""
        return {f"W* = {w}": Transfer(w, HALF, "sack").scenario() for w in (W_STARS[0], W_STARS[-1])}

    def distances(self, results: Tables) -> Iterator[Distance]:
        """Returns the differences between simulated and published values, by quantity."""
        return page.distances(results)


PAPER: Final = TransferPaper(
    id=ID,
    title="The influence of the large bandwidth-delay product on TCP Reno, NewReno and SACK (Lee, Lee, Choi, 2001)",
    conditions=(
        "One run of each configuration: nothing is random. TCP as in ns-2 of 2000, with Reno without a guard against "
        "repeated fast retransmits; access links of 100 Mbit/s; B packets wait behind the one in service."
    ),
    seeds=None,
    claims_title="Claims, judged by one run of each configuration: nothing is random",
)
