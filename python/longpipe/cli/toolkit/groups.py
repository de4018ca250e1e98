"""Groups whose commands are imported and built when they are used."""

import inspect
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, ClassVar, Final, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from longpipe.cli.toolkit.help import Command, shortened_help, shows_all, without_all
from longpipe.cli.toolkit.structs import with_structs
from longpipe.extensions import COMMANDS, extensions

# Group of commands of other packages that name no group.
OTHERS: Final = "Other packages"


class OnDemand(MutableMapping[str, Any]):
    """Commands by name: those of `longpipe.cli` in the order of `names`, followed by those of other packages.

    Each is imported and built on first use, because building all of them takes as long as a short run. The command
    `name` is the function `name` of the module `longpipe.cli.name`, or the module's `app`. A module may define a
    command class as `COMMAND`. Modules of other packages are the entry points `longpipe.commands`, which are searched
    only for a list of commands or for a name that is not in `names`.
    """

    def __init__(self, names: tuple[str, ...], built: dict[str, Any]) -> None:
        self._modules = {name: f"longpipe.cli.{name}" for name in names}
        self._own = tuple(built)
        self._built = built

    def module(self, name: str) -> str | None:
        """Returns the module of a command that is not built yet; None if it is built or unknown."""
        return None if name in self._built else self._modules.get(name) or extensions(COMMANDS).get(name)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Click's Command, which Typer does not export
        if (module := self.module(name)) is not None:
            self._built[name] = _command(name, module)
        return self._built[name]

    def __setitem__(self, name: str, command: object) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name}: commands cannot be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._modules, *self._own, *extensions(COMMANDS), *self._built)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _command(name: str, home: str) -> Any:  # noqa: ANN401 - Click's Command
    """Returns the command `name` that the module `home` defines, as a function or as a group."""
    module = import_module(home)
    parent = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    # With a callback, Typer makes it a group even if it has a single command.
    parent.callback()(_nothing)
    if (group := getattr(module, "app", None)) is not None:
        parent.add_typer(group, name=name)
    else:
        parent.command(name, cls=getattr(module, "COMMAND", Command))(with_structs(getattr(module, name)))
    return cast(TyperGroup, get_command(parent)).commands[name]


def _listed(name: str, home: str) -> Any:  # noqa: ANN401 - Click's Command
    """Returns a command with its help text alone, because building all options takes half of the time of a list."""
    module = import_module(home)
    if hasattr(module, "app"):
        return _command(name, home)
    return TyperCommand(name, help=inspect.getdoc(getattr(module, name)), rich_markup_mode="rich")


def _nothing() -> None:
    """Serves as a callback, with which Typer makes even a single command a group."""


class Commands(TyperGroup):
    """The commands of `longpipe`, in groups by purpose."""

    # Names of commands by the title of their group, in the order of the help. A module of another package names its
    # group in `GROUP`; without it, its commands are in the group `OTHERS`.
    groups: ClassVar[Mapping[str, tuple[str, ...]]]
    # Options and commands that only `--help --all` shows.
    rare: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, commands: Any = None, **attributes: Any) -> None:  # noqa: ANN401 - as in Typer
        super().__init__(**attributes)
        names = tuple(name for group in self.groups.values() for name in group)
        own_commands = dict(commands or {})
        self.commands = self._on_demand = OnDemand(
            tuple(name for name in names if name not in own_commands), own_commands
        )
        self._listed: dict[str, Any] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """Parses the arguments; `--help --all` without a command is the help with all options and commands."""
        only_options = all(arg.startswith("-") for arg in args)
        return super().parse_args(ctx, without_all(ctx, args) if only_options else args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Click's Context and HelpFormatter
        """Prints the help, which lists the commands by group."""
        self._listed = {name: self._summary(name) for name in self.commands}
        rare = [param for param in self.get_params(ctx) if not set(param.opts).isdisjoint(self.rare)]
        rare += [command for name, command in self._listed.items() if name in self.rare]
        epilog, self.epilog = self.epilog, self.epilog if shows_all(ctx) else None
        try:
            with shortened_help(self, ctx, rare):
                super().format_help(ctx, formatter)
        finally:
            self._listed, self.epilog = {}, epilog

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - Click's Context and Command
        """Returns a command, or None for an unknown name."""
        return self._listed.get(cmd_name) or super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's Context, which Typer does not export
        """Returns the names of the commands; in a list of commands, those of a group follow each other."""
        titles = [*self.groups, OTHERS]
        names = list(self._listed or self.commands)
        return sorted(names, key=lambda name: titles.index(self._group(name))) if self._listed else names

    def _group(self, name: str) -> str:
        """Returns the title of the group of a command in the list."""
        title: str = self._listed[name].rich_help_panel
        return title

    def _summary(self, name: str) -> Any:  # noqa: ANN401 - Click's Command
        """Returns a command with its help text and its group."""
        module = self._on_demand.module(name)
        command: Any = self.commands[name] if module is None else _listed(name, module)
        title = next((title for title, names in self.groups.items() if name in names), None)
        group = None if module is None else getattr(import_module(module), "GROUP", None)
        command.rich_help_panel = title or (group if group in self.groups else OTHERS)
        return command


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
