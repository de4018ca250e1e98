"""Imports the classes that scenarios name, as "package.module:Class" or "file.py:Class"."""

import importlib
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.user_code import execution, file_modules, trust

FIELD: Final = "tcp.congestion.class"
NEEDS_CLASS: Final = "needs a subclass of longpipe.Control, as 'package.module:Class' or 'file.py:Class'"


def import_class(target: str) -> object:
    """Imports the object that "MODULE:NAME" or "FILE.py:NAME" names. Raises ScenarioError if this fails."""
    place, colon, name = target.partition(":")
    if not (place and colon and name):
        raise ScenarioError(f"{FIELD}: {target!r}; {NEEDS_CLASS}")
    try:
        load = partial(_from_file, Path(place)) if place.endswith(".py") else partial(_module, place)
        imported: object = execution.execute(load)
    except ScenarioError:
        raise
    except execution.UserCodeError as error:
        raise ScenarioError(f"{FIELD}: {target}; {error}") from None
    except SyntaxError as error:
        location = f"{error.filename}:{error.lineno}"
        raise ScenarioError(f"{FIELD}: {target}; {location}: SyntaxError: {error.msg}") from None
    except Exception as error:
        location = execution.place(error.__traceback__)
        text = file_modules.with_plain_names(str(error))
        raise ScenarioError(f"{FIELD}: {target}; {location}{type(error).__name__}: {text}") from None
    for part in name.split("."):
        if (imported := getattr(imported, part, None)) is None:
            raise ScenarioError(f"{FIELD}: {target}; {place} has no {name}; {NEEDS_CLASS}")
    return imported


def _module(name: str) -> ModuleType:
    """Imports a module by its name, also from the current folder. Raises an error unless the user trusts it."""
    trust.require(name, trust.digest_of_name(name))
    # The current folder comes first, as with `python -m`; for a console script it is the script's folder.
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        with trust.named_by_user():
            return importlib.import_module(name)
    finally:
        if added:
            sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    """Imports a file. Raises ScenarioError if it cannot be read."""
    try:
        path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{FIELD}: {path}; cannot be read, {(error.strerror or '').lower()}") from None
    return file_modules.load(path)
