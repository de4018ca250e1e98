"""Command groups whose module is imported when one of their commands is used."""

from importlib import import_module
from typing import Any, ClassVar, cast

from typer.core import TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """A group with the commands of `app` in the module `home`."""

    home: ClassVar[str]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's Context, which Typer does not export
        """Names of the commands."""
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - Click's Context and Command
        """Returns a command, or None for an unknown name."""
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            self.commands = cast(TyperGroup, get_command(import_module(self.home).app)).commands
