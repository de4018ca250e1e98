"""`longpipe reproduce`: a paper's tables, simulated again and judged."""

from pathlib import Path
from typing import Annotated

import typer

from longpipe.errors import ScenarioError
from longpipe.files import check_directory, check_file

DEFAULT_VARIANT_SEEDS = 2


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper: frr-96, gr-97, buf-97, www-98, lbd-01.")],
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of replications. [default: the paper's own, 10 or 20; "
            f"{DEFAULT_VARIANT_SEEDS} with --sensitivity; lbd-01 has nothing random and one run of each]",
            show_default=False,
        ),
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write the numbers as JSON; - is stdout.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where tables, figures and runs go. [default: results/PAPER]", show_default=False
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is stored already.")] = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Show what each choice that the paper leaves open decides.")
    ] = False,
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Go past what the paper did instead: buf-97, lbd-01.")
    ] = False,
) -> None:
    """Simulate a paper's experiments; show its tables beside ours, and what becomes of its claims.

    Finished runs are kept in DIR/runs.sqlite: after an interruption the same command goes on from there.
    """
    if sensitivity and json is not None:
        raise ScenarioError("--json: not with --sensitivity, which writes sensitivity.csv")
    if beyond and (sensitivity or json is not None):
        raise ScenarioError("--beyond: not with --sensitivity or --json; it writes CSV files and figures")
    if json not in (None, "-"):
        check_file("--json", Path(str(json)))

    # The database, SciPy and Matplotlib take a second to load; other commands need not wait for them.
    from longpipe.cli import lbd_01, reproduction
    from longpipe.papers.lbd_01 import ID

    chosen = None if paper == ID else reproduction.find(paper)
    out = out or Path("results") / paper
    check_directory("--out", out)
    if chosen is None:
        if beyond:
            lbd_01.run_beyond(out, fresh=fresh)
        elif sensitivity:
            lbd_01.run_sensitivity(out, fresh=fresh)
        else:
            lbd_01.run(out, fresh=fresh, json=json)
    elif beyond:
        reproduction.run_beyond(chosen, seeds, out, fresh=fresh)
    elif sensitivity:
        reproduction.run_sensitivity(chosen, seeds or DEFAULT_VARIANT_SEEDS, out, fresh=fresh)
    else:
        reproduction.run(chosen, seeds or chosen.seeds, out, fresh=fresh, json=json)
