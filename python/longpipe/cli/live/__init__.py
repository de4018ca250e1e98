"""`longpipe live`: real programs through a simulated path."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from longpipe.cli.toolkit.groups import LazyGroup
from longpipe.cli.toolkit.help import App
from longpipe.errors import ScenarioError

# Name of the hidden command behind `longpipe live FILE.toml`; users do not type it.
RUN = "run"


class Live(LazyGroup):
    """Runs `longpipe live FILE.toml` unless the first argument is the name of another command."""

    home = "longpipe.cli.live.commands"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """Inserts the hidden command before a scenario file; without arguments it shows that command's help."""
        if not args:
            args = ["--help"]
        elif args[0].startswith("--"):
            # Imported here because it imports the scenario, which other commands do not need.
            from longpipe.live.mahimahi import shell_first

            args = shell_first(args)
        named = args[0] in (commands := self.list_commands(ctx))
        if not named and (close := get_close_matches(args[0], commands, n=1)) and not Path(args[0]).exists():
            raise ScenarioError(f"FILE.toml: no file or command {args[0]!r}; did you mean {close[0]!r}?")
        return TyperGroup.parse_args(self, ctx, args if named else [RUN, *args])


app = App(
    cls=Live,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Run real programs over a simulated path in real time (Linux).",
)
