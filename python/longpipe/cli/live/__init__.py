"""`longpipe live`: real programs through a simulated path."""

from typing import Any

import typer
from typer.core import TyperGroup

from longpipe.cli.groups import LazyGroup

# Name of the hidden command behind `longpipe live FILE.toml`; users do not type it.
RUN = "run"


class Live(LazyGroup):
    """Runs `longpipe live FILE.toml` unless the first argument is the name of another command."""

    home = "longpipe.cli.live.commands"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """Inserts the hidden command before a scenario file; without arguments it shows that command's help."""
        if not args:
            args = ["--help"]
        named = args[0] in self.list_commands(ctx)
        return TyperGroup.parse_args(self, ctx, args if named else [RUN, *args])


app = typer.Typer(
    cls=Live,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Run real programs over a simulated path in real time (Linux): longpipe live FILE.toml [--at HOST COMMAND].",
)
