"""Entry points by which other packages extend the command line.

- `longpipe.commands`: `NAME = "MODULE"`. The command `NAME` is the module's `app`, or its function `NAME`.
- `longpipe.configurations`: `NAME = "MODULE:FUNCTION"`. The function returns the scenario file of a configuration of a
  document, for `longpipe init --example "DOCUMENT: CONFIGURATION"`, and raises ScenarioError for an unknown one.
- `longpipe.replays`: `NAME = "MODULE:FUNCTION"`. The function returns the words of a command that repeats scenarios in
  the implementation `NAME`, from a mapping of file names to scenarios; None if it does not support one of them.
"""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

COMMANDS: Final = "longpipe.commands"
CONFIGURATIONS: Final = "longpipe.configurations"
REPLAYS: Final = "longpipe.replays"


@cache
def extensions(group: str) -> dict[str, str]:
    """Returns the entry points of a group in the installed distributions: the object by name, as in "module:function".

    Reads the files itself, because `importlib.metadata` loads Python's e-mail parser, which takes a fifth of the CPU
    time of `longpipe --help`. Of two entry points with equal names, the one that comes first on `sys.path` counts.
    """
    entries: dict[str, str] = {}
    for folder in map(Path, sys.path):
        for file in sorted(folder.glob("*.dist-info/entry_points.txt")):
            _, _, section = file.read_text(encoding="utf-8").partition(f"[{group}]\n")
            lines = section.partition("\n[")[0].splitlines()
            pairs = (line.split("=", 1) for line in lines if "=" in line)
            entries = {name.strip(): target.strip() for name, target in pairs} | entries
    return entries


def load(target: str) -> Any:  # noqa: ANN401 - any object
    """Returns the object of an entry point: a module, or a member of a module."""
    name, _, member = target.partition(":")
    module = import_module(name)
    return getattr(module, member) if member else module
