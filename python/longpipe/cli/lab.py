"""`longpipe lab`: the engine in a browser page."""

from pathlib import Path
from typing import Annotated

import typer


def lab(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.toml", help="Scenario to begin with.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 1,
    print_only: Annotated[bool, typer.Option("--print", help="Print the page's address and open nothing.")] = False,
) -> None:
    """Open the lab: the engine in a browser page, with knobs, live pictures and a lesson; no server, no network.

    The page is one file, which can be copied anywhere: the address says where it is.
    """
    from longpipe.lab import address

    found = address(file, seed)
    typer.echo(found, color=False)
    if not print_only:
        import webbrowser

        webbrowser.open(found)
