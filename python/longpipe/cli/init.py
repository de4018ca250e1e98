"""`longpipe init`: a scenario to start from, with every default explained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longpipe.errors import ScenarioError
from longpipe.files import check_file, write_text

if TYPE_CHECKING:
    from longpipe.scenario.base import Model


def init(
    file: Annotated[
        Path | None, typer.Argument(help="File to write; - or nothing for the terminal.", show_default=False)
    ] = None,
) -> None:
    """Write a commented scenario with every default, its unit and its source."""
    # Other commands begin faster without it.
    from longpipe.scenario import Scenario

    text = commented_toml(Scenario(name="lan"))
    if file is None or file == Path("-"):
        typer.echo(text, nl=False)
        return
    if file.exists():
        raise ScenarioError(f"FILE: {file} exists; needs the name of a new file")
    check_file("FILE", file)
    write_text(file, text)


def commented_toml(part: Model, path: str = "") -> str:
    """TOML text of a part of a scenario, each field under its description."""
    import tomli_w

    from longpipe.scenario.base import Model

    fields = type(part).model_fields
    values: dict[str, Any] = {name: getattr(part, name) for name in fields}
    text = f"\n[{path}]\n" if path else ""
    for name, value in values.items():
        if not isinstance(value, Model):
            description = fields[name].description
            text += f"# {description}\n" if description else ""
            text += tomli_w.dumps({name: value}) if value is not None else f"# {name}: absent\n"
    for name, value in values.items():
        if isinstance(value, Model):
            text += commented_toml(value, f"{path}.{name}" if path else name)
    return text
