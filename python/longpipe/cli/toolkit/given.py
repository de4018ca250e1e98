"""Options that the user wrote, and the rejection of those that would have no effect."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import typer

from longpipe.cli.toolkit.help import Command
from longpipe.errors import ScenarioError


def given(context: typer.Context) -> list[str]:
    """Returns the options and the metavars of the arguments on the command line, even if they repeat defaults."""
    given_params = [
        param
        for param in context.command.params
        if (source := context.get_parameter_source(str(param.name))) is not None and source.name == "COMMANDLINE"
    ]
    return [name for param in given_params for name in _names(param)]


def refuse(context: typer.Context, options: Iterable[str], why: str) -> None:
    """Raises ScenarioError with the reason for the first of these options that is on the command line."""
    unused = set(options)
    if option := next((option for option in given(context) if option in unused), None):
        raise ScenarioError(f"{option}: {why}")


class NeedingCommand(Command):
    """A command that rejects an option without the other option or the argument that it needs."""

    # For example, {"--most": "--until"}: --most alone would have no effect.
    needs: ClassVar[Mapping[str, str]] = {}

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Click's Context, with the name of the base class
        """Runs the command; raises ScenarioError for an option that needs another one."""
        options = given(ctx)
        for option in options:
            if (needed := self.needs.get(option)) is not None and needed not in options:
                raise ScenarioError(f"{option}: needs {self._with_metavar(needed)}")
        return super().invoke(ctx)

    def _with_metavar(self, name: str) -> str:
        """Returns an option with the metavar of its value, or an argument, which is its metavar."""
        metavar = next(param.metavar for param in self.params if name in _names(param)) or ""
        value = metavar.strip("[].")
        return name if value in ("", name) else f"{name} {value}"


def needing(needs: Mapping[str, str]) -> type[NeedingCommand]:
    """Returns a class of commands with these options that need another option or an argument."""
    return type("NeedingCommand", (NeedingCommand,), {"needs": needs})


def _names(param: Any) -> list[str]:  # noqa: ANN401 - Click's Parameter
    """Returns the names of an option, or the metavar of an argument."""
    if param.param_type_name == "option":
        return list(param.opts)
    return [(param.metavar or param.name.upper()).strip("[].")]
