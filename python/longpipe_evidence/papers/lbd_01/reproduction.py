"""`longpipe reproduce lbd-01`: simulates the paper's TCP transfers, compares its numbers, judges its claims."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from longpipe.analysis.claims import Judgement, judge
from longpipe.study.progress import Progress
from longpipe_evidence.papers.lbd_01.claims import Recorded, claims
from longpipe_evidence.papers.lbd_01.courses import Course
from longpipe_evidence.papers.lbd_01.numbers import FIGURE_6, WATCHED, Courses, falls_again, numbers, slopes, stall
from longpipe_evidence.papers.lbd_01.transfers import (
    BASE,
    FLAVORS,
    FLAVORS_BEYOND,
    ID,
    METRICS,
    SEED,
    Transfer,
    measure,
    row,
    transfers,
)
from longpipe_evidence.papers.lbd_01.variants import AS_REPRODUCED, TransferVariant
from longpipe_evidence.papers.reproduction import head, plain

# For type checking only, because processes that draw figures do not need the database.
if TYPE_CHECKING:
    from longpipe.study import Runner


@dataclass(frozen=True)
class TransferReproduction:
    """Results of `reproduce`.

    `runs` has a row per configuration: `w_star_packets`, `buffer_bdp`, `tcp` and the results of `measure`, the paper's
    72 configurations first. `numbers` contains every number that the paper prints: `published`, `simulated`, `error`
    (relative). `courses` contains the transfers recorded over time.
    """

    seconds: float
    runs: pd.DataFrame
    numbers: pd.DataFrame
    courses: Courses
    claims: tuple[Judgement, ...]

    def to_json(self) -> str:
        """Returns the reproduction as JSON text; intervals, which do not exist for one run, are null."""
        tables = {"figure-2": FLAVORS, "beyond": FLAVORS_BEYOND}
        report = {
            **head(ID, BASE.engine, 1, self.seconds),
            "tables": [
                {"table": name, "rows": [self._row(row) for row in rows.to_dict("records")]}
                for name, flavors in tables.items()
                for rows in [self.runs[self.runs["tcp"].isin(flavors)]]
            ],
            "numbers": [
                {str(name): plain(value) for name, value in row.items()} for row in self.numbers.to_dict("records")
            ],
            "claims": [claim.record() for claim in self.claims],
        }
        return json.dumps(report, indent=2, allow_nan=False) + "\n"

    def _row(self, values: dict[Any, Any]) -> dict[str, Any]:
        """Returns a row of `runs` as JSON: its factors, and each metric beside the published value, if there is one."""
        factors = {name: plain(values[name]) for name in ("w_star_packets", "buffer_bdp", "tcp")}
        printed = self.numbers[
            (self.numbers["quantity"] == "completion_time")
            & (self.numbers["w_star_packets"] == values["w_star_packets"])
            & (self.numbers["buffer_bdp"] == values["buffer_bdp"])
            & (self.numbers["tcp"] == values["tcp"])
        ]["published"]
        published = {"completion_time_s": float(printed.iloc[0])} if len(printed) else {}
        return factors | {name: _metric(values[name], published.get(name)) for name in METRICS}


def _metric(value: Any, published: float | None) -> dict[str, Any]:  # noqa: ANN401 - int or float
    """Returns a metric of one run in the form that metrics of replicated runs have."""
    measured = plain(value)
    no_intervals = dict.fromkeys(("low", "high", "mean_low", "mean_high"))
    return {"published": published, "deterministic": measured, "mean": measured, **no_intervals}


def reproduce(runner: Runner, variant: TransferVariant = AS_REPRODUCED) -> TransferReproduction:
    """Runs the missing transfers of the paper, records some over time, and compares the results with the paper."""
    began_s = time.monotonic()
    planned = [*transfers(), *transfers(FLAVORS_BEYOND)]
    run_count = len(planned) + len(WATCHED)
    runs = measured(planned, runner.telling(lambda now: runner.progress(replace(now, wanted=run_count))), variant)
    courses: dict[Transfer, Course] = {}
    for number, transfer in enumerate(WATCHED, start=1):
        courses[transfer] = Course.of(transfer, **variant.changes(transfer))
        runner.progress(Progress(run_count, len(planned), number))
    of_paper = runs[runs["tcp"].isin(FLAVORS)]
    recoveries = {tcp: courses[transfer].recovery_s for tcp, transfer in FIGURE_6.items()}
    conclusions = claims(
        Recorded(
            slopes=slopes(courses),
            recoveries=recoveries,
            estimate_packets=courses[FIGURE_6["newreno"]].estimate_packets,
            falls_again=falls_again(courses),
            newreno_stall=stall(courses),
            sack_full={w_star: courses[Transfer(w_star, 0.5, "sack")].pipe_full_s for w_star in (20, 80)},
            sack_second_loss=courses[Transfer(20, 0.5, "sack")].second_loss_s,
        )
    )
    return TransferReproduction(
        seconds=time.monotonic() - began_s,
        runs=runs,
        numbers=numbers(runs, courses),
        courses=courses,
        claims=tuple(judge(claim, of_paper, of_paper) for claim in conclusions),
    )


def scenarios() -> pd.DataFrame:
    """Returns the scenarios of `reproduce`, a row each: `scenario`, `digest`, `replicated`, `seeds`."""
    planned = [transfer.scenario() for transfer in (*transfers(), *transfers(FLAVORS_BEYOND))]
    return pd.DataFrame(
        {"scenario": scenario.name, "digest": scenario.digest(), "replicated": False, "seeds": SEED}
        for scenario in planned
    )


def measured(planned: list[Transfer], runner: Runner, variant: TransferVariant = AS_REPRODUCED) -> pd.DataFrame:
    """Runs the missing transfers. Returns a row of results for each transfer."""
    jobs = [(transfer.scenario(**variant.changes(transfer)), SEED) for transfer in planned]
    runner.complete(jobs)
    return pd.DataFrame(
        row(transfer, measure(runner.require(*job))) for transfer, job in zip(planned, jobs, strict=True)
    )
