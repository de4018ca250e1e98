"""Help of commands that fits two screens: examples first, and rarely needed options only with `--help --all`."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import typer
from typer.core import TyperCommand

Function = TypeVar("Function", bound=Callable[..., Any])
# Panel of the options that only `--help --all` shows; an option is in it by `rich_help_panel=MORE`.
MORE: Final = "More options"
ALL: Final = "--all"
# Key of a context, whose value is whether `--all` follows `--help`.
_SHOWS_ALL: Final = "longpipe.help.all"


def without_all(ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
    """Returns the arguments of a command without the `--all` of `--help --all`, which the context then contains."""
    own_arguments = args[: args.index("--")] if "--" in args else args
    if "--help" not in own_arguments or ALL not in own_arguments:
        return args
    ctx.meta[_SHOWS_ALL] = True
    return [arg for arg in args if arg != ALL]


def shows_all(ctx: Any) -> bool:  # noqa: ANN401 - Click's Context
    """Returns whether the help of this context shows all options."""
    return bool(ctx.meta.get(_SHOWS_ALL))


@contextmanager
def shortened_help(command: Any, ctx: Any, rare: Iterable[Any]) -> Iterator[None]:  # noqa: ANN401 - Click's classes
    """Hides the rare options and commands unless the help shows all; `--help` then says how many are hidden."""
    shown_parts = [] if shows_all(ctx) else [part for part in rare if not part.hidden]
    option = command.get_help_option(ctx)
    text = option.help
    if shown_parts:
        option.help = f"Show this help and exit; with --all, also {len(shown_parts)} rarely needed entries."
    for part in shown_parts:
        part.hidden = True
    try:
        yield
    finally:
        option.help = text
        for part in shown_parts:
            part.hidden = False


def formatted(text: str) -> str:
    """Returns a help text with one line per paragraph, so that Rich wraps it, and examples in bold type."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text.strip()))
    return "\n\n".join(f"[bold]{line}[/]" if line.startswith("longpipe ") else line for line in paragraphs)


class Command(TyperCommand):
    """A command whose help shows the options of the panel `MORE` only with `--help --all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """Parses the arguments; `--all` beside `--help` is no option of the command."""
        return super().parse_args(ctx, without_all(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Click's Context and HelpFormatter
        """Prints the help."""
        text = self.help
        rare = [param for param in self.params if getattr(param, "rich_help_panel", None) == MORE]
        self.help = formatted(text or "")
        try:
            with shortened_help(self, ctx, rare):
                super().format_help(ctx, formatter)
        finally:
            self.help = text


class App(typer.Typer):
    """A Typer application whose commands have the class `Command` by default."""

    def command(
        self,
        name: str | None = None,
        *,
        cls: type[TyperCommand] | None = Command,
        **settings: Any,  # noqa: ANN401 - as in Typer
    ) -> Callable[[Function], Function]:
        """Registers a function as a command."""
        return super().command(name, cls=cls, **settings)
