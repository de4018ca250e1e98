"""Runs a design as a study for `longpipe design`, and prints the means."""

import math
from pathlib import Path
from typing import Final

from rich.table import Table

from longpipe.cli.design.following import commands
from longpipe.cli.design.means import limits_by_point, means
from longpipe.cli.design.plan import show_plan
from longpipe.cli.toolkit.console import show_table, terminal
from longpipe.cli.toolkit.outputs import is_stdout, write_csv
from longpipe.cli.toolkit.progress import Bar
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, opened, opened_store, resumable
from longpipe.cli.toolkit.warnings import changes_shown
from longpipe.design import Design
from longpipe.study import Study, StudyError, run_until
from longpipe.study.pilot import study_cost
from longpipe.study.until import CONFIRMED_BY, Sequential, margin_text, parse_until
from longpipe.system.memory import cores, share

# Absolute skewness above which more replications are needed than for a normal distribution.
_LARGE_SKEWNESS: Final = 1.0


def run(
    design: Design,
    name: str,
    execution: Execution,
    *,
    csv: Path | None,
    until: str | None,
    most: int,
) -> None:
    """Runs a design as a study and prints the means and, if the runs are kept, suggested commands.

    `until` is the margin up to which replications are added, at most `most` per point; None for a fixed number.
    """
    sequential: Sequential | None = None
    failed: StudyError | None = None
    with opened_store(None, no_store=True) if execution.no_store else opened(execution.store) as store:
        with changes_shown():
            study = Study(design, store, name)
        _note_stored(design, study)
        memory = share(execution.memory, execution.workers or cores())
        try:
            with resumable(study):
                show_plan(design, lambda part: study_cost(store, part, memory), until=until, most=most)
            with changes_shown(), resumable(study), Bar(name) as bar:
                if until is None:
                    study.run(progress=bar.update, **execution.arguments)
                else:
                    sequential = run_until(
                        study, *parse_until(until), most=most, progress=bar.update, **execution.arguments
                    )
        except StudyError as error:
            # The means and the table contain the finished runs.
            failed = error
        runs, design = study.frame(), study.design
        limited = limits_by_point(study)
    if failed is not None and runs.empty:
        raise failed
    if csv is not None:
        write_csv(csv, runs)
    table = means(design, runs, limited, until=None if sequential is None else sequential.metric)
    _show_results(design, table, len(runs), csv)
    console = terminal()
    if sequential is not None:
        outcome = _outcome(sequential, margin_text(design, str(until)))
        console.print(outcome, style="" if sequential.reached else "yellow", markup=False, soft_wrap=True)
    if failed is not None:
        raise failed
    csv_file = None if is_stdout(csv) else csv
    if not execution.no_store and (suggested := list(commands(design, runs, name, csv_file, execution.store))):
        console.print("\n".join(["", "Next:", *suggested]), markup=False, soft_wrap=True)


def _show_results(design: Design, table: Table, runs: int, csv: Path | None) -> None:
    """Prints the table of means, and the file that contains the runs."""
    console = terminal()
    console.print()
    show_table(console, table, len(design.factors))
    if csv is not None and not is_stdout(csv):
        console.print(f"\n{runs} runs: {csv}", markup=False, soft_wrap=True)


def _note_stored(design: Design, study: Study) -> None:
    """Prints how many runs are stored, and that the study has more than the design: a study never loses any."""
    status = study.status()
    if status.finished:
        echo(f"note: {status.finished} of {status.runs} runs are stored and are not repeated", err=True)
    stored = study.design
    counts = {
        "replications per point": (design.replications, stored.replications),
        "points": (len(design.points), len(stored.points)),
    }
    for what, (requested, in_study) in counts.items():
        if in_study > requested:
            note = f"study {study.name!r} has {in_study} {what}, not {requested}: the results include all of them"
            echo(f"note: {note}", err=True)


def _outcome(sequential: Sequential, until: str) -> str:
    """States whether the margin of --until was reached; if not, at how many points, and which --most would suffice.

    It names the point with the widest interval, and its skewness if this increases the number of replications.
    """
    replications, points = sequential.design.replications, len(sequential.precision)
    if sequential.reached:
        return f"{until}: reached at every point after {replications} replications"
    too_wide = points - int(sequential.precision["reached"].sum())
    rest = f"{until}: {too_wide} of {points} points need more than the {replications} replications of --most"
    if not math.isfinite(sequential.wanted):
        return f"{rest}; a mean is 0, so no number of replications reaches a relative margin: use one such as ±0.01"
    # A margin that is reached has to hold again with a tenth more replications.
    enough = math.ceil(sequential.wanted * (1 + CONFIRMED_BY))
    widest = sequential.precision.iloc[int(sequential.precision["wanted"].argmax())]
    factors = [factor.name for factor in sequential.design.factors]
    at = " at " + ", ".join(f"{name}={widest[name]}" for name in factors) if factors else ""
    skewness = float(widest["skewness"])
    why = f", because of a skewness of {skewness:.1f}" if abs(skewness) > _LARGE_SKEWNESS else ""
    advice = f"repeat with --most {enough}, which reuses these runs, or a larger margin"
    return f"{rest}; about {enough} suffice{at}{why}: {advice}"
