"""Options with a quantity accept a plain number in the unit that they state, and a number with a unit."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from commands import run
from longpipe.cli import app
from longpipe.cli.toolkit.quantities import (
    DEGREES,
    PACKETS,
    number_of,
    number_of_bytes,
    seconds,
    share,
    whole_number_of,
)

# Metavars and units in the help of options whose values have a unit.
OF_QUANTITIES = re.compile(r"TIME|KM|DEG|BYTES|PACKETS|SHARE|PROBABILITY")
UNIT = re.compile(r"\[(s|ms|km|degree|bytes|packets|bit/s|Mbit/s)\]")


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - Typer's
    """Yields all commands with their names."""
    if not hasattr(command, "list_commands"):
        yield " ".join(words), command
        return
    context = typer.Context(command)
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), (*words, name))


def test_no_option_with_a_unit_accepts_only_plain_numbers() -> None:
    found = dict(commands(get_command(app)))
    assert {"run", "satellites", "validate linux path"} <= found.keys()
    plain = [
        f"{name} {param.opts[0]}"
        for name, command in found.items()
        for param in command.params
        if (described := param.type_descriptor).annotation in (int, float)
        and described.parameter_info.parser is None
        and (OF_QUANTITIES.fullmatch(param.metavar or "") or UNIT.search(getattr(param, "help", None) or ""))
    ]
    assert plain == []


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (seconds, "60", 60.0),
        (seconds, "60 s", 60.0),
        (seconds, "10 min", 600.0),
        (number_of_bytes, "1500", 1500),
        (number_of_bytes, "9 KB", 9000),
        (share, ".05", 0.05),
        (share, "5 %", 0.05),
        (number_of(DEGREES), "25", 25.0),
        (number_of(DEGREES), "25 deg", 25.0),
        (whole_number_of(PACKETS), "60 packets", 60),
    ],
)
def test_numbers_have_the_stated_unit_or_their_own(parse: Callable[[str], float], text: str, value: float) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "needs"),
    [
        (seconds, "60 km", "needs a number of seconds, or a time with its unit"),
        (seconds, "nan", "needs a number of seconds"),
        (number_of_bytes, "9 km", "needs a number of bytes, or a size with its unit"),
        (share, "-5 %", "needs a number of at least 0, or a percentage"),
        (share, "5 % of it", "needs a number of at least 0, or a percentage"),
        (number_of(DEGREES), "25 km", "needs a number of degrees"),
        (whole_number_of(PACKETS), "1.5 packets", "needs a whole number of packets"),
    ],
)
def test_other_quantities_are_rejected(parse: Callable[[str], float], text: str, needs: str) -> None:
    with pytest.raises(typer.BadParameter, match=needs):
        parse(text)


def test_satellites_accept_times_with_a_unit() -> None:
    words = ("satellites", "kuiper-630", "London", "Paris")
    plain = run(*words, "--duration", "20", "--step", "1", "--elevation", "30")
    written = run(*words, "--duration", "20 s", "--step", "1000 ms", "--elevation", "30 degrees")
    assert plain.returncode == written.returncode == 0
    assert plain.stdout == written.stdout
    refused = run(*words, "--step", "1 km")
    assert refused.stderr == (
        "error: --step: '1 km'; needs a number of seconds, or a time with its unit, as in '250 ms'\n"
    )
