"""`longpipe lab`: the engine in a browser page."""

from pathlib import Path
from typing import Final

import typer

from longpipe.cli.toolkit.given import needing
from longpipe.cli.toolkit.storing import SeedOption

COMMAND: Final = needing({"--seed": "FILE.toml", "--base": "--print"})


def lab(
    file: Path | None = typer.Argument(None, metavar="FILE.toml", help="Scenario to open."),
    seed: SeedOption = 1,
    print_only: bool = typer.Option(
        False, "--print", help="Print the path of the page (with FILE.toml its address) and do not open it."
    ),
    base: str | None = typer.Option(
        None,
        metavar="URL",
        help="With --print: address at which you publish the page, as in https://example.org/lab.html.",
    ),
) -> None:
    """Open longpipe in a browser page, with controls, live pictures and a lesson.

    longpipe lab geo.toml --seed 7

    The page needs no network. It is a single file that can be copied anywhere: cp "$(longpipe lab --print)" lab.html. A
    scenario with a part that the page does not have is rejected. A scenario whose trunk varies over time can be run,
    but not changed.
    """
    from longpipe.cli.toolkit.safe import echo
    from longpipe.lab import PAGE, address, outdated
    from longpipe.lab.beyond import modules
    from longpipe.scenario import Scenario

    scenario = None if file is None else Scenario.from_toml(file)
    page = address(scenario, seed, base)
    if print_only and scenario is None and base is None:
        page = str(PAGE)
    if base is None and (why := outdated()) is not None:
        echo(f"warning: {PAGE}: {why}", err=True)
    for name in modules(scenario) if scenario is not None else ():
        echo(f"note: {name} is not in the address; open it in the page, before the run", err=True)
    typer.echo(page, color=False)
    if not print_only:
        import webbrowser

        webbrowser.open(page)
