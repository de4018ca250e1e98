"""Output files: refused before a run if they can't be written, and whole or absent after it."""

import os
import tempfile
from pathlib import Path

from longpipe.errors import ScenarioError


def check_file(field: str, path: Path) -> None:
    """ScenarioError, naming `field`, unless a file can be written at `path`."""
    if path.is_dir():
        raise ScenarioError(f"{field}: {path} is a directory; needs a file name")
    check_directory(field, path.parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise ScenarioError(f"{field}: {path} is read-only; needs a file that can be written")


def check_directory(field: str, path: Path) -> None:
    """Makes the directory where it is missing; ScenarioError, naming `field`, unless files can be written in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        taken = isinstance(error, FileExistsError)
        reason = "not a directory" if taken else (error.strerror or str(error)).lower()
        raise ScenarioError(f"{field}: {path} can't be written ({reason}); needs a directory that can") from None


def write_text(path: Path, text: str) -> None:
    """Writes a file in one step: a reader or a kill never sees half of it."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file in one step: a reader or a kill never sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        # A full disk does not say for which file.
        error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)
