"""`longpipe design`: plans and runs designed experiments."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from longpipe.cli.toolkit.completers import field_and_level
from longpipe.cli.toolkit.given import needing
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.outputs import apart, check_output, is_stdout, write_csv
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import Execution, SetOption

if TYPE_CHECKING:
    from longpipe.design import Design

COMMAND: Final = needing(
    {
        "--most": "--until",
        "--until": "--run",
        "--executor": "--run",
        "--workers": "--run",
        "--memory": "--run",
        "--store": "--run",
        "--no-store": "--run",
    }
)


ScenarioArgument = Annotated[
    Path, typer.Argument(metavar="FILE.toml", help="Scenario to vary; `longpipe init` writes one.")
]


@dataclass(frozen=True)
class Planning:
    """The options of a design: what varies, and how often each point runs."""

    factors: list[str] | None = typer.Option(
        None,
        "--factor",
        metavar="[NAME:]FIELD=LEVEL,...",
        help="A field and its levels: 'buffer:switch.buffer=1000 cells,3000 cells'; a range of levels: "
        "'switch.buffer=0.1..4 BDP / 5'; a table with a name: 'pep:network.pep=none,split={buffer=\"4 MB\"}'. "
        "Repeat for more; without it, only the seeds vary.",
        autocompletion=field_and_level,
    )
    changes: SetOption = None
    replications: int = typer.Option(1, min=1, help="Number of runs per point.")
    first_seed: int = typer.Option(1, min=0, help="Seed of the first replication; each further one adds 1.")
    independent: bool = typer.Option(
        False,
        "--independent",
        help="Use a separate seed for each run instead of the same seeds at every point.",
        rich_help_panel=MORE,
    )
    one_at_a_time: bool = typer.Option(
        False,
        "--one-at-a-time",
        help="Vary one factor at a time and keep the others at their first level.",
        rich_help_panel=MORE,
    )
    generators: list[str] | None = typer.Option(
        None,
        "--generator",
        metavar="NAME=NAME*NAME",
        help="Run a fraction of a two-level design.",
        rich_help_panel=MORE,
    )
    confounded: list[str] | None = typer.Option(
        None,
        metavar="NAME*NAME",
        help="Divide a two-level design into blocks with different seeds, confounded with this interaction.",
        rich_help_panel=MORE,
    )
    measures: list[str] | None = typer.Option(
        None,
        "--measure",
        metavar="NAME=WHAT",
        help="Additional measure: bulk=flow:bulk.throughput, d=port:A->B.delay, web.p95, share=bulk/throughput, "
        "own=file.py:function. Repeat for more.",
    )

    def plan(self, file: Path) -> "Design":
        """Builds the design; raises ScenarioError for contradictory options or invalid scenarios."""
        # Imported here because the database, pandas and SciPy take a second to load.
        from longpipe.cli.design.plan import plan

        return plan(
            file,
            self.factors or [],
            changes=self.changes or (),
            one_at_a_time=self.one_at_a_time,
            generators=self.generators,
            confounded=self.confounded,
            measures=self.measures or (),
            replications=self.replications,
            first_seed=self.first_seed,
            common=not self.independent,
        )


def design(
    file: ScenarioArgument,
    planning: Planning,
    until: str | None = typer.Option(
        None,
        metavar="METRIC ±MARGIN",
        help="Replicate until the interval of each mean is this narrow: 'efficiency ±0.01', "
        "'throughput ±2 %', 'web.p95 ±50 ms'.",
    ),
    most: int = typer.Option(100, min=1, help="Maximum number of replications with --until.", rich_help_panel=MORE),
    csv: Path | None = typer.Option(
        None, metavar="FILE|-", help="Write one row per run as CSV: the plan, or with --run the results; - is stdout."
    ),
    name: str | None = typer.Option(
        None,
        "--run",
        metavar="STUDY",
        help="Run the design as a study of this name, as in --run buffers; see `longpipe study`.",
    ),
    *,
    execution: Execution,
) -> None:
    """Plan a designed experiment, estimate its cost, and run it with --run.

    longpipe design geo.toml --factor switch.buffer='0.1..2 BDP / 5' --replications 5 --run buffers

    Each run is stored as soon as it is complete: without --no-store, the same command continues after an interruption.
    """
    # Imported here because the database, pandas and SciPy take a second to load.
    from longpipe.cli.design.plan import show_plan
    from longpipe.cli.design.running import run
    from longpipe.study.pilot import measured_cost
    from longpipe.study.until import check_until

    check_output("--csv", csv)
    planned = planning.plan(file)
    if until is not None:
        check_until(planned, until, most)
    with apart(csv):
        if name is not None:
            run(planned, name, execution, csv=csv, until=until, most=most)
            return
        show_plan(planned, measured_cost, until=until, most=most)
        if csv is not None:
            write_csv(csv, planned.frame())
            if not is_stdout(csv):
                echo(f"Plan: {csv}")
