"""Groups whose commands are imported and built when they are used."""

import inspect
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, ClassVar, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class OnDemand(MutableMapping[str, Any]):
    """Commands by name.

    Each is imported and built on first use, because building all of them takes as long as a short run. The command
    `name` is the function `name` of the module `longpipe.cli.name`, or the module's `app`. A module may define a
    command class as `COMMAND`.
    """

    def __init__(self, names: tuple[str, ...], built: dict[str, Any]) -> None:
        self._built = dict.fromkeys(names) | built

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Click's Command, which Typer does not export
        if (command := self._built[name]) is None:
            command = self._built[name] = _command(name)
        return command

    def __setitem__(self, name: str, command: object) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._built)

    def __len__(self) -> int:
        return len(self._built)


def _command(name: str) -> Any:  # noqa: ANN401 - Click's Command
    module = import_module(f"longpipe.cli.{name}")
    parent = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    # With a callback, Typer makes it a group even if it has a single command.
    parent.callback()(_nothing)
    if (group := getattr(module, "app", None)) is not None:
        parent.add_typer(group, name=name)
    else:
        parent.command(name, cls=getattr(module, "COMMAND", None))(getattr(module, name))
    return cast(TyperGroup, get_command(parent)).commands[name]


def _listed(name: str) -> Any:  # noqa: ANN401 - Click's Command
    """Returns a command with its help text alone, because building all options takes half of the time of a list."""
    module = import_module(f"longpipe.cli.{name}")
    if hasattr(module, "app"):
        return _command(name)
    return TyperCommand(name, help=inspect.getdoc(getattr(module, name)), rich_markup_mode="rich")


def _nothing() -> None:
    """Serves as a callback, with which Typer makes even a single command a group."""


class Commands(TyperGroup):
    """The commands of `longpipe`, in the order of the help."""

    names: ClassVar[tuple[str, ...]]

    def __init__(self, *, commands: Any = None, **attributes: Any) -> None:  # noqa: ANN401 - as in Typer
        super().__init__(**attributes)
        self.commands = OnDemand(self.names, dict(commands or {}))
        self._own = frozenset(commands or {})
        self._lists = False

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Click's Context and HelpFormatter
        """Prints the help, which lists the commands."""
        self._lists = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._lists = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - Click's Context and Command
        """Returns a command, or None for an unknown name."""
        if self._lists and cmd_name in self.names and cmd_name not in self._own:
            return _listed(cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's Context, which Typer does not export
        """Returns the names of the commands without importing them."""
        return list(self.commands)


class LazyGroup(TyperGroup):
    """A group with the commands of `app` in the module `home`."""

    home: ClassVar[str]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's Context
        """Returns the names of the commands."""
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - Click's Context and Command
        """Returns a command, or None for an unknown name."""
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            self.commands = cast(TyperGroup, get_command(import_module(self.home).app)).commands
