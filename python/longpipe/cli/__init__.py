"""The longpipe command. Each subcommand is a module or subpackage of this package."""

import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar, NoReturn

import typer
from typer.main import get_command

from longpipe.cli import bash
from longpipe.cli.toolkit.groups import Commands
from longpipe.cli.toolkit.notes import notes_shown
from longpipe.cli.toolkit.safe import Console
from longpipe.cli.usage import error_line, option_line
from longpipe.errors import RunError, ScenarioError, SchemaWarning, plain, shortened
from longpipe.result.captures import CaptureError
from longpipe.system.files import kept_apart
from longpipe.system.interrupts import INTERRUPTED, clear_interruption, exit_on_interrupt, interrupted_exit

HELP = (
    "Simulate TCP, QUIC and your own congestion control over satellites, access links and routers.\n\n"
    "[bold]longpipe init geo.toml --example geo && longpipe run geo.toml[/]"
)
EPILOG = "Exit status: 0 success, 1 failure, 2 invalid input, 130 interrupted, 143 terminated."

FAILED, BAD_INPUT = 1, 2

# The base class of all Typer errors about a command line.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class _Commands(Commands):
    groups: ClassVar = {
        "Run and look": ("run", "plot", "lab", "live", "satellites"),
        "Measure and fit": ("read", "fit", "whatif"),
        "Decide": ("advise", "fairness", "attack", "ci"),
        "Experiments": ("design", "study", "analyse"),
        "Evidence": (),
        "Tools": ("init", "fields", "cc", "homework", "doctor", "version", "help"),
    }
    rare = ("--install-completion", "--show-completion", "version", "help")


app = typer.Typer(cls=_Commands, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        from longpipe import _core
        from longpipe.scenario.schema import schema_version

        typer.echo(f"longpipe {_core.__version__}\nengine {_core.__engine__}\nscenario schema {schema_version()}")
        raise typer.Exit


@app.callback(help=HELP, epilog=EPILOG)
def longpipe(
    _version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the versions of package, engine and scenario schema, and exit.",
    ),
) -> None:
    """Defines the global options, which precede the command."""


@app.command("version")
def version() -> None:
    """Show the versions of package, engine and scenario schema."""
    _show_version(is_requested=True)


@app.command("help")
def help_(
    command: list[str] | None = typer.Argument(
        None, metavar="[COMMAND]...", help="A command, as in run or study export."
    ),
    everything: bool = typer.Option(False, "--all", help="Show rarely needed options, too."),
) -> None:
    """Show the help of a command."""
    words = [*(command or []), "--help", *(["--all"] if everything else [])]
    _command()(words, prog_name="longpipe", standalone_mode=False)


@cache
def _command() -> Any:  # noqa: ANN401 - Click's Command, which Typer does not export
    """Returns the command line, whose commands and options a process builds once, however many lines it runs."""
    return get_command(app)


def _run() -> int | None:
    """Runs the command and returns its exit status if it exits early. Raises errors of the command line.

    Raises KeyboardInterrupt if a signal has caused another error, for example in code of a library.
    """
    # A script or a test may run several commands in one process.
    clear_interruption()
    try:
        with bash.joined_words(), kept_apart(), notes_shown(SchemaWarning, "warning"):
            status: int | None = _command()(prog_name="longpipe", standalone_mode=False)
    except Exception:
        if interrupted_exit() is not None:
            raise KeyboardInterrupt from None
        raise
    if status == INTERRUPTED:
        # Typer converts a KeyboardInterrupt within a command to this status.
        raise KeyboardInterrupt
    return status


def main() -> NoReturn:
    """Runs the command line; every error is one line per problem on stderr, never a traceback."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True)

    def print_errors(problems: Iterable[str], status: int) -> NoReturn:
        for problem in problems:
            errors.print("[bold red]error:[/]", end=" ")
            errors.print(plain(problem), markup=False)
        sys.exit(status)

    try:
        status = _run()
    except UsageError as error:
        # A command without arguments shows its help, which is not reported as an error.
        print_errors(filter(None, [error_line(error)]), BAD_INPUT)
    except ScenarioError as error:
        print_errors([*error.problems, *option_line(error, sys.argv[1:])], BAD_INPUT)
    except (CaptureError, RunError) as error:
        print_errors(str(error).split("\n"), FAILED)
    except OSError as error:
        file_prefix = f"{error.filename}: " if error.filename else ""
        print_errors([f"{file_prefix}{(error.strerror or str(error)).lower()}"], FAILED)
    except (KeyboardInterrupt, typer.Abort):
        exit_on_interrupt()
        status, line = interrupted_exit() or (INTERRUPTED, "interrupted")
        errors.print(line)
        sys.exit(status)
    except Exception as error:
        if os.environ.get("LONGPIPE_TRACEBACK"):
            raise
        errors.print(f"run failed: {type(error).__name__}: {plain(shortened(str(error)))}", markup=False)
        errors.print("LONGPIPE_TRACEBACK=1 shows where.")
        sys.exit(FAILED)
    sys.exit(status or 0)
