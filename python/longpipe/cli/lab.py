"""`longpipe lab`: the engine in a browser page."""

from pathlib import Path
from typing import Annotated, Final

import typer

from longpipe.cli.toolkit.given import needing

COMMAND: Final = needing({"--seed": "FILE.toml"})


def lab(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.toml", help="Scenario to open.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random stream; only with FILE.toml.")] = 1,
    print_only: Annotated[
        bool,
        typer.Option("--print", help="Print the path of the page (with FILE.toml its address) and do not open it."),
    ] = False,
) -> None:
    """Open the lab: longpipe in a browser page, with controls, live pictures and a lesson; needs no network.

    The page is a single file that can be copied anywhere: cp "$(longpipe lab --print)" lab.html. A scenario with a
    part that the page does not have, such as a time-varying path, is rejected.
    """
    from longpipe.cli.toolkit.safe import echo
    from longpipe.lab import PAGE, address, outdated
    from longpipe.lab.beyond import modules
    from longpipe.scenario import Scenario

    scenario = None if file is None else Scenario.from_toml(file)
    found = address(scenario, seed)
    if print_only and scenario is None:
        found = str(PAGE)
    if (why := outdated()) is not None:
        echo(f"warning: {PAGE}: {why}", err=True)
    for name in modules(scenario) if scenario is not None else ():
        echo(f"note: {name} is not in the address; open it in the page, before the run", err=True)
    typer.echo(found, color=False)
    if not print_only:
        import webbrowser

        webbrowser.open(found)
