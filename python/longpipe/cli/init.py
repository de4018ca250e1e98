"""`longpipe init`: writes an example scenario, or all fields with explanations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longpipe.cli.toolkit.completers import among
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError
from longpipe.examples import EXAMPLES, example
from longpipe.extensions import CONFIGURATIONS, extensions, load
from longpipe.system.files import check_file, write_text

if TYPE_CHECKING:
    from longpipe.scenario.base import Model


def init(
    file: Path | None = typer.Argument(None, help="File to write; - or omitted for standard output."),
    name: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="NAME",
            help=f"Example to start from: {', '.join(EXAMPLES)}; or a configuration of a paper, as in "
            "'frr-96: lan 5 1000 vanilla epd'.",
            autocompletion=among(EXAMPLES),
        ),
    ] = None,
) -> None:
    """Write a scenario file to start from: an example, or all fields.

    longpipe init geo.toml --example geo

    Without --example, the file has all fields with their defaults, units and sources.

    The defaults describe a CUBIC flow of Linux over 100 Mbit/s and 40 ms; the example lan-96 is the ATM LAN of 1996.
    """
    text = _all_fields() if name is None else _configuration(name) if ":" in name else example(name)
    if file is None or file == Path("-"):
        typer.echo(text, nl=False)
        return
    if file.exists():
        raise ScenarioError(f"FILE: {file} exists; needs the name of a new file")
    check_file("FILE", file)
    write_text(file, text)
    echo(f"Scenario: {file}")


def _configuration(name: str) -> str:
    """Returns the scenario of a document's configuration as TOML text, from "DOCUMENT: NAME"."""
    loaders = extensions(CONFIGURATIONS)
    if not loaders:
        raise ScenarioError(f"--example: {name!r}; no package with configurations of documents is installed")
    return str(load(next(iter(loaders.values())))(name))


def _all_fields() -> str:
    """Returns the default scenario as commented TOML text."""
    # Imported here so that other commands start faster.
    from longpipe.scenario import Scenario
    from longpipe.scenario.defaults import SCHEMA

    return (
        f"# Version of the defaults of absent fields.\nschema = {SCHEMA}\n{commented_toml(Scenario(name='scenario'))}"
    )


def commented_toml(part: Model, path: str = "", alternatives: str = "") -> str:
    """Returns the TOML text of a part of a scenario, with a comment above each field, and below it its nested parts.

    `path` is the dotted name of the part, "" for the scenario itself. `alternatives` is a comment line that precedes
    the name of the part and lists the kinds that it can have.
    """
    import tomli_w

    from longpipe.scenario.base import Model
    from longpipe.scenario.reference import accepts

    fields = type(part).model_fields
    values: dict[str, Any] = {name: getattr(part, name) for name in fields}

    def accepted(name: str) -> str:
        return " ".join(accepts(fields[name].annotation, fields[name].metadata))

    text = f"\n{alternatives}[{path}]\n" if path else ""
    for name, value in values.items():
        if not isinstance(value, Model):
            if description := fields[name].description:
                text += f"# {description}\n"
            if name != "kind":
                text += f"# Accepts {accepted(name)}.\n"
            text += tomli_w.dumps({name: value}) if value is not None else f"# {name}: absent\n"
    for name, value in values.items():
        if isinstance(value, Model):
            nested_path = f"{path}.{name}" if path else name
            kinds = accepted(name)
            text += commented_toml(value, nested_path, "" if kinds == "a table" else f"# One of {kinds}.\n")
    return text
