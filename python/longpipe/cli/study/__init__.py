"""`longpipe study`: continues, inspects, exports and moves studies of a store."""

from pathlib import Path
from typing import Annotated

import typer

from longpipe.cli.design import Planning, ScenarioArgument
from longpipe.cli.toolkit import completers
from longpipe.cli.toolkit.help import App
from longpipe.cli.toolkit.outputs import check_output, is_stdout
from longpipe.cli.toolkit.storing import Computing, MemoryOption, StoreOption, WorkersOption
from longpipe.cli.toolkit.structs import with_structs
from longpipe.errors import ScenarioError
from longpipe.system.files import check_file

SUFFIXES = (".csv", ".parquet", ".arrow", ".feather", ".json")

app = App(no_args_is_help=True, rich_markup_mode="rich")

_Name = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="Name of the study; `longpipe study list` shows all.", autocompletion=completers.study
    ),
]
_Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Use only the runs that meet this condition, such as 'efficiency>0.9'. Repeat for more.",
    ),
]


@app.callback()
def study() -> None:
    """Continue, inspect, export and move studies, which `longpipe design --run` creates."""


@app.command()
@with_structs
def create(
    name: Annotated[str, typer.Argument(metavar="STUDY", help="Name of the study.")],
    file: ScenarioArgument,
    planning: Planning,
    store: StoreOption = None,
) -> None:
    """Register a study without running it; the options are those of `longpipe design`."""
    planned = planning.plan(file)
    from longpipe.cli.study import moving

    moving.create(name, store, planned)


@app.command()
@with_structs
def run(
    name: _Name,
    replications: int | None = typer.Option(
        None, min=1, help="Increase the number of runs per point to this. \\[default: unchanged]"
    ),
    *,
    computing: Computing,
    fresh: bool = typer.Option(False, "--fresh", help="Repeat runs that are finished already."),
    store: StoreOption = None,
) -> None:
    """Run the missing runs of a study, after an interruption or to add replications."""
    # Imported here because the database and pandas take a second to load.
    from longpipe.cli.study import actions

    actions.run(name, store, replications, computing, fresh=fresh)


@app.command()
def status(name: _Name, store: StoreOption = None) -> None:
    """Show the progress of a study, the processes that run it, and failed runs."""
    from longpipe.cli.study import actions

    actions.status(name, store)


@app.command()
def trust(name: _Name, store: StoreOption = None) -> None:
    """Trust the code that a study from another person names: its classes, modules, programs and measures."""
    from longpipe.cli.study import actions

    actions.trust(name, store)


@app.command("list")
def list_(store: StoreOption = None) -> None:
    """List the studies of a store."""
    from longpipe.cli.study import actions

    actions.list_all(store)


@app.command()
def show(
    name: _Name,
    where: _Where = None,
    most: int = typer.Option(40, min=1, help="Maximum number of runs shown."),
    store: StoreOption = None,
) -> None:
    """Show a study: its scenario, factors and seeds, where it ran, and its runs."""
    from longpipe.cli.study import actions

    actions.show(name, store, where or [], most)


@app.command()
def measure(
    name: _Name,
    add: list[str] | None = typer.Option(
        None,
        "--add",
        metavar="NAME=WHAT",
        help="Measure to add, in the form of longpipe design --measure. Repeat for more.",
    ),
    drop: list[str] | None = typer.Option(None, "--drop", metavar="NAME", help="Remove this measure. Repeat for more."),
    store: StoreOption = None,
) -> None:
    """Show or change the additional measures of a study; its runs are kept."""
    from longpipe.cli.study import actions

    actions.measure(name, store, add or [], drop or [])


@app.command()
def export(
    name: str | None = typer.Argument(None, metavar="[STUDY]", help="A study. \\[default: all runs of the store]"),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE|-",
        help="A .csv, .parquet, .arrow, .feather or .json file; - is stdout, as CSV.",
    ),
    bundle: Path | None = typer.Option(
        None,
        metavar="FILE.zip",
        help="Write scenarios, seeds, engine, results and environment as one file for `longpipe study rerun`.",
    ),
    where: _Where = None,
    neutral: bool = typer.Option(
        False,
        "--neutral",
        help="Put an apostrophe before texts that begin with =, +, - or @, which spreadsheets would evaluate.",
    ),
    store: StoreOption = None,
) -> None:
    """Export finished runs as a table with levels, seed, measures, digest, engine and machine, or as a bundle."""
    if bundle is not None:
        if name is None or output is not None or where or neutral:
            raise ScenarioError("--bundle: contains all runs of a study unchanged; needs STUDY and no other option")
        if bundle.suffix != ".zip":
            raise ScenarioError(f"--bundle: {bundle.name}; needs a file that ends in .zip")
        check_file("--bundle", bundle)
        from longpipe.cli.study import bundles

        bundles.export(name, store, bundle)
        return
    if output is None:
        raise ScenarioError(f"--output: missing; needs a file that ends in {', '.join(SUFFIXES)}")
    if output.suffix not in SUFFIXES and not is_stdout(output):
        raise ScenarioError(f"--output: {output.name}; needs a file that ends in {', '.join(SUFFIXES)}")
    check_output("--output", output)
    from longpipe.cli.study import actions

    actions.export(name, store, where or [], output, neutral=neutral)


@app.command()
def script(
    name: _Name,
    slurm: bool = typer.Option(False, "--slurm", help="Script for Slurm: longpipe study script ... | sbatch."),
    array: bool = typer.Option(
        False, "--array", help="An array of jobs with one core each, which start independently."
    ),
    tasks: int = typer.Option(
        64, min=1, help="Number of tasks, each a Dask worker; the first one of an array only stores runs."
    ),
    limit: str = typer.Option("04:00:00", "--time", metavar="HH:MM:SS", help="Time limit of the job."),
    store: StoreOption = None,
) -> None:
    """Print a job script that runs a study on the nodes of a cluster and ends all its processes."""
    if not slurm:
        raise ScenarioError("--slurm: missing; needs --slurm")
    from longpipe.cli.study import scripts

    scripts.script(name, store, array=array, tasks=tasks, limit=limit)


@app.command()
def copy(
    names: list[str] | None = typer.Argument(
        None,
        metavar="[STUDY]...",
        help="Studies to copy. \\[default: all studies and runs of the store]",
        autocompletion=completers.study,
    ),
    to: str = typer.Option(..., "--to", metavar="URL", help="Destination; created if it does not exist."),
    store: StoreOption = None,
) -> None:
    """Copy studies with their runs and traces to another store; the same command continues after an interruption."""
    from longpipe.cli.study import moving

    moving.copy(names or [], store, to)


@app.command()
def merge(
    stores: list[str] = typer.Argument(metavar="URL...", help="Stores whose studies and runs are added."),
    store: StoreOption = None,
) -> None:
    """Add all studies and runs of other stores; runs that are stored already are compared and kept."""
    from longpipe.cli.study import moving

    moving.merge(stores, store)


@app.command()
def rename(name: _Name, new: str = typer.Argument(metavar="NAME", help="New name."), store: StoreOption = None) -> None:
    """Rename a study."""
    from longpipe.cli.study import moving

    moving.rename(name, new, store)


@app.command()
def delete(
    name: _Name,
    keep_runs: bool = typer.Option(False, "--keep-runs", help="Keep the runs of the study in the store."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Delete without confirmation."),
    store: StoreOption = None,
) -> None:
    """Delete a study, and those of its runs that belong to no other study, with their traces."""
    from longpipe.cli.study import moving

    moving.delete(name, store, keep_runs=keep_runs, yes=yes)


@app.command()
def rerun(
    file: Path = typer.Argument(metavar="FILE.zip", help="Bundle of `longpipe study export --bundle`."),
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    trust: bool = typer.Option(
        False, "--trust", help="Run the controllers in the bundle, which execute with your rights."
    ),
) -> None:
    """Repeat every run of a bundle and compare its results bit by bit; exit status 1 if one differs."""
    from longpipe.cli.study import bundles

    bundles.rerun(file, workers, memory, trust=trust)
