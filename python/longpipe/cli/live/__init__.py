"""`longpipe live`: real programs through a simulated path."""

from typing import Any

import typer
from typer.core import TyperGroup

from longpipe.cli.groups import LazyGroup

# What a path is run by, which is not written.
RUN = "run"


class Live(LazyGroup):
    """Its first argument is a path's file, unless it is the name of another command."""

    home = "longpipe.cli.live.commands"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """The arguments, with the command that is not written before those of a path."""
        named = args[:1] == [] or args[0] in ("--help", *self.list_commands(ctx))
        return TyperGroup.parse_args(self, ctx, args if named else [RUN, *args])


app = typer.Typer(cls=Live, no_args_is_help=True, rich_markup_mode="rich")
