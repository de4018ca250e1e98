"""`longpipe validate linux tables`: regenerates the tables of Linux's behavior."""

from pathlib import Path

import typer

from longpipe.errors import ScenarioError, nearest
from longpipe.system.files import check_directory, write_bytes


def tables(
    folder: Path = typer.Argument(help="Folder for the tables."),
    table: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Only this table: controls, modules, losses, transfers, phases, queues, paths, shared-paths, "
        "varying-paths.",
    ),
) -> None:
    """Regenerate the tables of tests/data/linux by running Linux itself. Repeated runs write identical files.

    Takes two minutes for controls, an hour for all. Needs Debian's package user-mode-linux.
    """
    from longpipe.cli.toolkit.safe import Console
    from longpipe_evidence.validate.linux_tables import TABLES, content

    if table is not None and table not in TABLES:
        raise ScenarioError(f"--table: {table!r}; {nearest(table, TABLES)}")
    check_directory("FOLDER", folder)
    console = Console(stderr=True, highlight=False)
    for name, make in TABLES.items():
        if table in (None, name):
            for file, frame in make(console.print).items():
                write_bytes(folder / file, content(file, frame))
