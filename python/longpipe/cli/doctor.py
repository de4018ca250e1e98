"""`longpipe doctor`: reports installed and missing components."""

import typer
from rich.table import Table

from longpipe.cli.toolkit.console import show_table, terminal

BROKEN = 1


def doctor() -> None:
    """Show installed versions, missing optional parts, and how to install them.

    Exit status 0 unless something that longpipe requires is missing or broken.
    """
    from longpipe.doctor import Part, examine

    parts = examine()
    console = terminal()
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()

    def add(part: Part) -> None:
        mark = "[green]ok[/]" if part.problem is None else "[red]broken[/]" if part.required else "[yellow]missing[/]"
        table.add_row(mark, part.name, part.version, part.use)
        if part.problem is not None:
            table.add_row("", "", "", part.problem.replace("[", r"\["))

    for required, title in ((True, "required"), (False, "optional")):
        table.add_row("", f"[bold]{title}[/]", "", "")
        for part in parts:
            if part.required is required:
                add(part)
    show_table(console, table, 3)
    broken = [part.name for part in parts if part.required and part.problem is not None]
    if broken:
        console.print(f"[bold red]broken:[/] {', '.join(broken)}")
        raise typer.Exit(BROKEN)
