"""Arguments that look like options, or that are options of another program."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer import Context
from typer.main import get_command

from commands import run
from longpipe import ScenarioError
from longpipe.cli import app
from longpipe.live.mahimahi import chain


def test_southern_latitude_is_not_taken_for_an_option() -> None:
    done = run("satellites", "iridium", "-33.4,-70.6", "-34.6,-58.4", "--duration", "1", "--step", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "-33.4,-70.6" in done.stdout


def test_unknown_option_of_mm_link_is_named() -> None:
    with pytest.raises(ScenarioError, match=r"mm-link: '--faster'; accepts --uplink-queue, "):
        chain(["mm-link", "--faster", "up", "down"])


def commands_of(command: Any, name: str = "longpipe") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - Click's Command
    yield name, command
    names = command.list_commands(Context(command)) if hasattr(command, "list_commands") else ()
    for word in names:
        inner = command.get_command(Context(command), word)
        yield from commands_of(inner, f"{name} {word}")


def test_help_texts_lose_no_brackets() -> None:
    lost = {}
    for name, command in commands_of(get_command(app)):
        texts = [command.help, command.epilog, *(getattr(param, "help", None) for param in command.params)]
        for text in filter(None, texts):
            # Tags that rich interprets, which begin with a small letter, other than those of a style.
            words = re.findall(r"(?<!\\)\[([a-z][^\[\]]*)\]", text)
            if found := [word for word in words if word not in ("bold", "dim")]:
                lost[name] = found
    assert lost == {}
    assert "longpipe[stacks]" in run("suite", "--help").stdout
