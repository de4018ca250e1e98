"""Actions of `longpipe study`."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
from longpipe.cli.toolkit.outputs import apart, is_stdout, write_frame
from longpipe.cli.toolkit.progress import Bar, Waiting
from longpipe.cli.toolkit.storing import Computing, opened, resumable
from longpipe.cli.toolkit.warnings import changes_shown, note_changes, warn_of_design
from longpipe.design.design import Design
from longpipe.measures.readable import INDEXES, written
from longpipe.store import engine_version, studies
from longpipe.study import Study, StudyError

# Maximum number of failures that `status` lists.
MAX_FAILURES = 10
# Maximum number of levels that `show` lists per factor.
MAX_LEVELS = 12


def run(name: str, url: str | None, replications: int | None, computing: Computing, *, fresh: bool) -> None:
    """Runs the missing runs of a study and shows its progress."""
    with opened(url, create=False) as store:
        study = Study.open(name, store)
        with changes_shown():
            study.renew()
        if replications is not None:
            study.grow(replications)
        warn_of_design(study.design)
        error_of_runs = None
        try:
            with changes_shown(), resumable(study), Bar(name) as bar:
                study.run(fresh=fresh, progress=bar.update, **computing.arguments)
        except StudyError as error:
            # The finished runs are shown first.
            error_of_runs = error
        console = terminal()
        _show_status(study, console)
        # Imported here because pandas is slow to load and inspection does not need it.
        from longpipe.cli.design.means import limits_by_point, means

        if not (runs := study.frame()).empty:
            console.print()
            show_table(console, means(study.design, runs, limits_by_point(study)), len(study.design.factors))
        if error_of_runs is not None:
            raise error_of_runs


def status(name: str, url: str | None) -> None:
    """Shows the progress of a study."""
    with opened(url, readonly=True) as store:
        study = Study.open(name, store)
        _show_status(study, terminal())
        note_changes(study)


def trust(name: str, url: str | None) -> None:
    """Trusts the code that a study names, and lists what was not trusted before."""
    with opened(url, readonly=True) as store:
        granted = Study.open(name, store).trust()
    console = terminal()
    for file in granted:
        console.print(f"trusted with its present content: {file}", markup=False, soft_wrap=True)
    if not granted:
        console.print(f"{name}: names no code that was not trusted before", markup=False, soft_wrap=True)


def list_all(url: str | None) -> None:
    """Lists the studies of a store."""
    console = terminal()
    with opened(url, readonly=True) as store:
        summaries, runs = studies.overview(store), store.count()
        name = store.name
    if not summaries:
        console.print(f"{name}: {runs} runs, no studies; `longpipe design --run STUDY` creates one", markup=False)
        return
    table = _table("study", "finished", "runs", "failed", "changed (UTC)", "engine")
    for study in summaries:
        numbers = (str(study.finished), str(study.runs), str(study.failed or ""))
        table.add_row(escape(study.name), *numbers, f"{study.changed_at:%Y-%m-%d %H:%M}", study.engine)
    show_table(console, table)
    console.print(f"\n{runs} runs in {name}", markup=False, soft_wrap=True)


def show(name: str, url: str | None, where: Sequence[str], most: int) -> None:
    """Shows a study and its runs."""
    console = terminal()
    with opened(url, readonly=True) as store, Waiting(f"reading {name}"):
        study = Study.open(name, store)
        runs = study.columns()
        note_changes(study)
    _show_design(study, runs, console)
    heads = ["point", *study.design.levels(1), "seed"]
    rows = _matching(runs, where)
    measures = _shown_measures(study.design, runs, rows)
    table = _table(*heads, "state", *measures, right=("point", "seed", *measures))
    for i in rows[:most]:
        values = (_number(runs[name][i] / scale) for name, scale in measures.values())
        table.add_row(*(escape(str(runs[head][i])) for head in heads), runs["state"][i], *values)
    if len(rows) > most:
        table.caption = f"{most} of {len(rows)} runs; --most shows more, `longpipe study export` has all"
    show_table(console, table, len(heads))


def _show_design(study: Study, runs: Mapping[str, list[Any]], console: Console) -> None:
    """Prints the scenario, the factors and the seeds of a study, and the engine and the machines of its runs."""
    design = study.design
    console.print(
        f"[bold]{escape(study.name)}[/]: {len(design.points)} points, {design.replications} replications each"
    )
    console.print(f"scenario {design.base.name}, digest {design.base.digest()[:16]}", markup=False)
    for factor in design.factors:
        levels = list(map(str, factor.levels))
        more = f" and {len(levels) - MAX_LEVELS} more" if len(levels) > MAX_LEVELS else ""
        console.print(f"{factor.name}: {', '.join(levels[:MAX_LEVELS])}{more}", markup=False)
    console.print(f"seeds {min(runs['seed'])} to {max(runs['seed'])}", markup=False)
    machines = ", ".join(sorted({machine for machine in runs["machine"] if machine})) or "nowhere yet"
    console.print(f"engine {study.engine}, run on {machines}\n", markup=False)


def _shown_measures(design: Design, runs: Mapping[str, list[Any]], rows: Sequence[int]) -> dict[str, tuple[str, float]]:
    """Returns the measures that some of the rows have, by title: name of the column, and scale of the shown unit."""
    requested = {measure.name: measure for measure in design.asked}
    measures = {}
    for name in requested or INDEXES:
        if name in runs and not all(math.isnan(runs[name][i]) for i in rows):
            measure = requested.get(name)
            title = f"{name} [{measure.unit}]" if measure is not None and measure.unit else name
            measures[title] = (name, 1.0 if measure is None else measure.scale)
    return measures


def measure(name: str, url: str | None, add: Sequence[str], drop: Sequence[str]) -> None:
    """Adds and drops measures of a study, and lists the result."""
    with opened(url, create=False, readonly=not (add or drop)) as store:
        study = Study.open(name, store)
        if drop:
            study.drop(*drop)
        if add:
            study.ask(*add)
        console = terminal()
        for measure in study.design.asked:
            console.print(str(measure), markup=False)
        if not study.design.asked:
            console.print("none except those of every run", style="dim")


def export(name: str | None, url: str | None, where: Sequence[str], output: Path, *, neutral: bool) -> None:
    """Exports the finished runs of a study or of the whole store."""
    from longpipe.analysis.conditions import matching
    from longpipe.study.table import described, table

    with opened(url, readonly=True) as store, Waiting(f"reading {name or store.name}"):
        runs_of_older_engines: dict[str, int] = {}
        if name is None:
            runs = described(studies.all_runs(store))
        else:
            study = Study.open(name, store)
            runs = table(study)
            runs_of_older_engines = study.left_behind()
            note_changes(study)
    exported = runs.take(matching(runs.to_pandas(), where).index.to_numpy()) if where else runs
    with apart(output):
        write_frame(output, exported, neutral=neutral)
        console = terminal()
        if not is_stdout(output):
            console.print(f"{len(exported)} runs: {output}", markup=False, soft_wrap=True)
        for engine, count in runs_of_older_engines.items():
            console.print(
                f"Left out: {count} runs of engine {engine}, which engine {engine_version()} has not repeated; "
                f"`longpipe study run {name}` repeats them",
                markup=False, soft_wrap=True, style="yellow",
            )  # fmt: skip


def _show_status(study: Study, console: Console) -> None:
    """Prints the state of a study's runs, and the first failures."""
    status = study.status()
    console.print(f"[bold]{escape(status.name)}[/]: {status}")
    console.print(f"engine {status.engine}, changed {status.changed_at:%Y-%m-%d %H:%M} UTC", markup=False)
    if status.engine != engine_version():
        console.print(f"This engine is {engine_version()}: the next run repeats all.", style="yellow", markup=False)
    if status.failed:
        runs = study.columns()
        failed = [i for i, state in enumerate(runs["state"]) if state == "failed"]
        for i in failed[:MAX_FAILURES]:
            key = ", ".join(f"{name}={runs[name][i]}" for name in (*study.design.levels(1), "seed"))
            line = f"{key} failed: {runs['message'][i]}"
            console.print(line, style="red", markup=False, soft_wrap=True)
        if len(failed) > MAX_FAILURES:
            console.print(f"and {len(failed) - MAX_FAILURES} more", style="red")


def _matching(runs: Mapping[str, list[Any]], where: Sequence[str]) -> Sequence[int]:
    """Returns the numbers of the rows that satisfy all conditions."""
    if not where:
        return range(len(runs["point"]))
    import pandas as pd

    from longpipe.analysis.conditions import matching

    return [int(i) for i in matching(pd.DataFrame(runs), where).index]


def _number(value: float) -> str:
    return "" if math.isnan(value) else written(value)


def _table(*heads: str, right: Sequence[str] = ("finished", "runs", "failed")) -> Table:
    table = terminal_table(caption_style="dim")
    for head in heads:
        table.add_column(escape(head), justify="right" if head in right else "left")
    return table
