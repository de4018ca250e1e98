"""Errors of the command line itself: one line with the option, its value and what is accepted."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longpipe.errors import ScenarioError

# Accepted values, by the beginning of the message of Typer's type check.
_NEEDS: Final = {
    "Input should be a valid integer": "a whole number",
    "Input should be a valid number": "a number",
    "Input should be a valid boolean": "true or false",
}
_CHOICES: Final = re.compile(r"is not one of (.*?)\.?$")
_BOUND: Final = re.compile(
    r"Input should be (greater than or equal to|less than or equal to|greater than|less than) (\S+)"
)
_BOUNDS: Final = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "more than",
    "less than": "less than",
}
_NO_COMMAND: Final = re.compile(r"No such command '(\S+)'\.?$")
_EXTRA: Final = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)\.?$", re.DOTALL)
# Commands by words that users of other programs try.
_CALLED: Final = {
    "compare": "plot --compare",
    "example": "init",
    "examples": "init",
    "new": "init",
    "replicate": "design",
    "simulate": "run",
    "sweep": "design",
}


# Options of commands by words that users try; of each group of options, a command has at most one.
_OPTIONS: Final = {"--measure": (("--measure",),), "--seeds": (("--seed", "--first-seed"), ("--replications",))}


def error_line(error: Any, arguments: Sequence[str] | None = None) -> str:  # noqa: ANN401 - Typer exports no class for it
    """Formats an error of Typer as one line: option or argument, its value, and what is accepted.

    Returns no line if help was shown instead.
    """
    words = sys.argv[1:] if arguments is None else arguments
    command = error.ctx.command_path if getattr(error, "ctx", None) else "longpipe"
    if likely := _likely(error):
        return f"{error.option_name}: no such option of {command}; did you mean {' or '.join(likely)}?"
    if possible := getattr(error, "possibilities", None):
        nearest = difflib.get_close_matches(error.option_name, possible, n=1, cutoff=0)[0]
        return f"{error.option_name}: no such option of {command}; did you mean {nearest!r}?"
    if name := getattr(error, "option_name", None):
        if "No such option" in error.message:
            hint = _as_field(name, error.ctx) or _of_program(name, error.ctx, words)
            return f"{name}: no such option; {hint}`{command} --help` lists the options"
        return f"{name}: no value given; needs {_metavar(name, words) or 'a value'}{_described(name, words)}"
    if (param := getattr(error, "param", None)) is None:
        message = error.format_message()
        problem = _lowered(message).replace(". Did", "; did")
        if match := _NO_COMMAND.match(message):
            problem += f"; did you mean '{_CALLED[match[1]]}'?" if match[1] in _CALLED else ""
        elif match := _EXTRA.match(message):
            why = _quoted(match[1], words) or _after_flag(match[1], words, error.ctx) or "needs no further argument"
            problem = f"{match[1]!r}: {why}"
        return f"{problem}; `{command} --help` shows what is accepted" if problem else ""
    name = param.opts[0] if param.param_type_name == "option" else (param.metavar or param.name.upper()).strip("[].")
    if hasattr(error, "param_type"):
        return f"{name}: missing; `{command} --help` describes it"
    value = _given(param, words)
    return f"{name}: {'' if value is None else f'{value!r}; '}{_needs(error.message)}"


def _after_flag(argument: str, arguments: Sequence[str], context: Any) -> str:  # noqa: ANN401 - Click's Context
    """Returns the clause on the flag that the argument follows, or ""."""
    index = arguments.index(argument) if argument in arguments else 0
    flags = {name for param in context.command.params if getattr(param, "is_flag", False) for name in param.opts}
    option = arguments[index - 1] if index else ""
    if option not in flags:
        return ""
    return f"follows {option}, which has no value"


def option_line(error: ScenarioError, arguments: Sequence[str]) -> list[str]:
    """Returns a line with the options that make a scenario valid; empty if there are none, or without `--set`."""
    if not (error.remedies and _sets_fields(_command(arguments))):
        return []
    # Imported here because few errors have remedies.
    from longpipe.scenario.remedies import as_options

    return [f"add {' '.join(as_options(error.remedies))}"]


def _command(arguments: Sequence[str]) -> Any:  # noqa: ANN401 - Click's Command
    """Returns the command on the command line."""
    # Imported here because the module imports this one.
    from typer.main import get_command

    from longpipe.cli import app

    command: Any = get_command(app)
    for word in arguments:
        if word in (commands := getattr(command, "commands", {})):
            command = commands[word]
    return command


def _sets_fields(command: Any) -> bool:  # noqa: ANN401 - Click's Command
    """Returns whether a command has the option `--set`."""
    return any("--set" in param.opts for param in command.params)


def _metavar(option: str, arguments: Sequence[str]) -> str:
    """Returns the metavar of an option of the command on the command line, or "" if it has none."""
    params = _command(arguments).params
    return next((param.metavar for param in params if option in param.opts and param.metavar), "")


def _described(option: str, arguments: Sequence[str]) -> str:
    """Returns the first sentence of the help of an option of the command on the command line, or "" if it has none."""
    params = _command(arguments).params
    text = next((param.help or "" for param in params if option in param.opts), "").replace("\\[", "[")
    sentence = re.split(r"[.;] |\.$", text, maxsplit=1)[0]
    return f": {_lowered(sentence)}" if sentence else ""


def _likely(error: Any) -> list[str]:  # noqa: ANN401 - see `error_line`
    """Returns the options, of the command or else of `longpipe design`, that a word of other programs may mean."""
    groups = _OPTIONS.get(getattr(error, "option_name", ""), ())
    if not groups or "No such option" not in error.message:
        return []
    of_command = {name for param in error.ctx.command.params for name in param.opts}
    likely = [next((word for word in group if word in of_command), None) for group in groups]
    return [
        repr(word) if word else f"{group[-1]} of longpipe design" for word, group in zip(likely, groups, strict=True)
    ]


def _as_field(option: str, context: Any) -> str:  # noqa: ANN401 - Click's Context
    """Returns the clause that sets a field of the scenario, if the option is named like one and `--set` is accepted."""
    if not _sets_fields(context.command):
        return ""
    # Imported here because only this error needs the fields.
    from longpipe.scenario.reference import all_fields

    word = option.lstrip("-").replace("-", "_")
    names = [field.name for field in all_fields() if field.name == word or field.name.endswith(f".{word}")]
    return f"did you mean --set {min(names, key=len)}=VALUE? " if names else ""


def _of_program(option: str, context: Any, arguments: Sequence[str]) -> str:  # noqa: ANN401 - Click's Context
    """Returns the clause on quotes or `--`, if the option belongs to a program, as in live FILE.toml ping -c 3."""
    index = arguments.index(option) if option in arguments else 0
    if "--at" in arguments[:index]:
        at_index = index - 1 - arguments[:index][::-1].index("--at")
        options = {name for param in context.command.params for name in param.opts}
        words = [*takewhile(lambda word: word not in options, arguments[at_index + 1 :])]
        return f"a command with options needs quotes: --at {words[0]} {shlex.quote(' '.join(words[1:]))}; "
    words = [word for word in arguments[:index] if not word.startswith("-")]
    if (shell := next((word for word in words if word.startswith("mm-")), None)) is not None:
        return f"{shell} and its options need to be first: live {shell}; "
    if len(words) < 3 or not any("-- COMMAND" in (param.metavar or "") for param in context.command.params):
        return ""
    return f"an option of {words[-1]!r} needs -- before: {' '.join(words[:-1])} -- {words[-1]} {option}; "


def _quoted(extra: str, arguments: Sequence[str]) -> str:
    """Returns the clause on quotes if the first of these words follows FIELD=VALUE, otherwise an empty text."""
    word = extra.split(" ")[0]
    for option, value, after in zip(arguments, arguments[1:], arguments[2:], strict=False):
        if option.startswith("--") and "=" in value and after == word:
            return f"follows {value!r}; needs quotes around a value with spaces, as in {option} '{value} {word}'"
    return ""


def _needs(message: str) -> str:
    """Returns what Typer's message about an invalid value says is accepted, in longpipe's form."""
    if match := _CHOICES.search(message):
        return f"accepts {match[1].replace(chr(39), '')}"
    if match := _BOUND.search(message):
        return f"needs {_BOUNDS[match[1]]} {match[2]}"
    return next((f"needs {needs}" for begin, needs in _NEEDS.items() if message.startswith(begin)), _lowered(message))


def _given(param: Any, arguments: Sequence[str]) -> str | None:  # noqa: ANN401 - see `error_line`
    """Returns the last value of an option, as typed by the user."""
    last = None
    for index, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option in param.opts:
            last = value if equals else next(iter(arguments[index + 1 : index + 2]), None)
    return last


def _lowered(message: str) -> str:
    """Returns a message that starts with a small letter, without a full stop."""
    text = message.removeprefix("Value error, ").rstrip(".")
    return text[:1].lower() + text[1:]
