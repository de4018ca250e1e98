"""Options that write one text file: `-` is standard output, and other output of the command then goes elsewhere.

All other outputs, which are folders or binary files, reject `-` (`files.check_file`, `files.check_directory`).
"""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import typer

from longpipe.system.files import check_file, claim, write_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STDOUT: Final = "-"
# Standard output, while `apart` diverts other output.
_undiverted: list[TextIO] = []


def json_option(content: str) -> Any:  # noqa: ANN401 - as typer.Option
    """Returns the option --json of a command that writes this content: a text file, or standard output."""
    return typer.Option(None, "--json", metavar="FILE|-", help=f"Write {content} as JSON; - is stdout.")


def is_stdout(target: Path | str | None) -> bool:
    """Returns whether an option names standard output."""
    return target is not None and str(target) == STDOUT


def check_output(option: str, target: Path | str | None) -> None:
    """Raises ScenarioError unless the text file of an option, if it is given, can be written."""
    if is_stdout(target):
        claim(option, Path(STDOUT))
    elif target is not None:
        check_file(option, Path(target))


def write_output(target: Path | str, text: str) -> None:
    """Writes the text file of an option."""
    if is_stdout(target):
        (_undiverted[-1] if _undiverted else sys.stdout).write(text)
    else:
        write_text(Path(target), text)


def write_json(target: Path | str, value: object) -> None:
    """Writes the file of --json with indented lines."""
    import orjson

    write_output(target, orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def write_frame(target: Path, frame: "pd.DataFrame | pa.Table", *, neutral: bool = False) -> None:
    """Writes the table of an option in the format of its suffix; on standard output, the format is CSV."""
    if is_stdout(target):
        write_csv(target, frame, neutral=neutral)
        return
    # Imported here because pandas and pyarrow take a second to load.
    from longpipe.export import write_table

    write_table(frame, target, neutral=neutral)


def write_csv(target: Path, frame: "pd.DataFrame | pa.Table", *, neutral: bool = False) -> None:
    """Writes the table of an option as CSV, whatever the file's suffix."""
    from longpipe.export import encoded

    write_output(target, encoded(frame, ".csv", neutral=neutral).decode())


@contextlib.contextmanager
def apart(target: Path | str | None) -> Iterator[None]:
    """Context in which other output goes to standard error if the text file of an option is standard output."""
    if not is_stdout(target):
        yield
        return
    _undiverted.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _undiverted.pop()
