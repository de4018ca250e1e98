"""`longpipe run`: one scenario, one seed."""

import sys
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from longpipe.cli.progress import Bar
from longpipe.cli.tables import show
from longpipe.errors import ScenarioError
from longpipe.files import check_directory, check_file, write_text
from longpipe.run import simulate
from longpipe.scenario import Scenario


class Trace(StrEnum):
    """What can be recorded over time."""

    CWND = "cwnd"
    QUEUE = "queue"
    SEQUENCE = "sequence"


def run(
    file: Annotated[str, typer.Argument(metavar="FILE.toml", help="Scenario; `longpipe init` writes one.")],
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change a field: switch.buffer='3000 cells'"),
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write the result as JSON; - is stdout.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Write flows.csv, ports.csv and the traces.")] = None,
    trace: Annotated[list[Trace] | None, typer.Option(help="Record this over time; needs --csv.")] = None,
) -> None:
    """Simulate one scenario and show what each flow and each port did."""
    scenario = Scenario.from_toml(Path(file))
    scenario = scenario.with_(**dict(_change(text) for text in changes or []))
    scenario = scenario.with_(**{f"traces.{kind.value}": True for kind in trace or []})
    if trace and csv is None:
        raise ScenarioError("--trace: needs --csv DIR to write to")
    if json not in (None, "-"):
        check_file("--json", Path(str(json)))
    if csv is not None:
        check_directory("--csv", csv)

    with Bar(scenario.name) as bar:
        result = simulate(scenario, seed, bar.update)

    if csv is not None:
        result.to_csv(csv)
    if json == "-":
        sys.stdout.write(result.to_json())
        return
    if json is not None:
        write_text(Path(json), result.to_json())
    show(result, Console(highlight=False))


def _change(text: str) -> tuple[str, object]:
    field, equals, value = text.partition("=")
    if not (field.strip() and equals):
        raise ScenarioError(f"--set: {text!r}; accepts FIELD=VALUE, as in switch.buffer='3000 cells'")
    try:
        return field.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return field.strip(), value.strip()
