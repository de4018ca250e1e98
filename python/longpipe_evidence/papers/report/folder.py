"""The folder of a reproduced document: its files and their provenance record."""

import hashlib
import json
import shutil
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

import longpipe
import longpipe_evidence
from longpipe.errors import ScenarioError
from longpipe.inputs import load_json, read_bytes
from longpipe.store import engine_version
from longpipe.system.files import write_text
from longpipe.system.locks import give_back, locked, taken
from longpipe.system.provenance import machine, software

RECORD: Final = "provenance.json"

_LOCK: Final = ".lock"
_STAGED: Final = ".partial-"


class Part(StrEnum):
    """A part of a folder; each part is created by a separate command."""

    REPRODUCTION = "reproduction"
    SENSITIVITY = "sensitivity"
    READINGS = "readings"
    BEYOND = "beyond"
    TODAY = "today"


class Folder:
    """Writes one part of a folder atomically: into temporary files, which `close` moves into place with their record.

    Several processes may write the same part at once: the folder then has the files of one of them. If a process is
    killed in `close`, the part has no record and counts as outdated.
    """

    def __init__(self, path: Path, part: Part, document: str, seeds: int, default_seeds: int) -> None:
        self.path = path
        self._part = part
        self._about = {
            "document": document,
            "engine": engine_version(),
            "seeds": seeds,
            "default_seeds": default_seeds,
            **_here(),
        }
        self._files: list[str] = []
        with in_use(path):
            _tidy(path)
            self._staged = path / f"{_STAGED}{uuid.uuid4().hex}"
            self._staged.mkdir()
            self._end = weakref.finalize(self, _remove, self._staged, taken(self._staged / _LOCK))

    def text(self, name: str, content: str) -> None:
        """Writes a text file."""
        write_text(self._staged / name, content)
        self._files.append(name)

    def figures(self, module: str, subject: object, function: str = "figures") -> None:
        """Draws the figures that a module's function returns for `subject` (a dict by file stem) as PNG and SVG."""
        # The process pool is imported here because loading it is slow.
        from longpipe_evidence.papers.report.drawing import draw

        self._files.extend(draw(module, function, subject, self._staged))

    def close(self, **about: Any) -> None:  # noqa: ANN401 - JSON
        """Records the written files in order, with time, machine and the entries of `about`."""
        record = {
            **self._about,
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            **about,
            "files": {name: _digest(self._staged / name) for name in self._files},
        }
        with in_use(self.path):
            parts = records(self.path)
            before = parts.pop(self._part, {}).get("files", {})
            if before:
                self._write_record(parts)
            of_others = {name for other in parts.values() for name in other["files"]}
            for name in {*before} - {*self._files} - of_others:
                (self.path / name).unlink(missing_ok=True)
            for name in self._files:
                (self._staged / name).replace(self.path / name)
            self._write_record({**parts, self._part: record})
        self._end()

    def _write_record(self, parts: dict[str, Any]) -> None:
        # If the process is killed, the next process removes the partial file there.
        write_text(self._staged / RECORD, json.dumps(parts, indent=2) + "\n")
        (self._staged / RECORD).replace(self.path / RECORD)


@contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Locks the folder against other processes that add or remove files."""
    with locked(path / _LOCK):
        yield


def _tidy(path: Path) -> None:
    """Removes temporary files of killed processes."""
    for staged in path.glob(f"{_STAGED}*"):
        if (lock := taken(staged / _LOCK)) is not None:
            _remove(staged, lock)


def _remove(staged: Path, lock: int | None) -> None:
    if lock is not None:
        give_back(lock, staged / _LOCK)
    shutil.rmtree(staged, ignore_errors=True)


def records(path: Path) -> dict[str, dict[str, Any]]:
    """Reads the provenance records of a folder by part; empty if it has none."""
    try:
        loaded = load_json(path / RECORD, "the record of a reproduction")
    except ScenarioError:
        return {}
    parts = loaded if isinstance(loaded, dict) else {}
    return {
        name: part for name, part in parts.items() if isinstance(part, dict) and isinstance(part.get("files"), dict)
    }


def is_current(path: Path, part: Part, document: str, seeds: int | None) -> bool:
    """Returns whether the folder contains this part, created by the current code and libraries, with unchanged files.

    `seeds` is None for the document's default number.
    """
    record = records(path).get(part, {})
    wanted = {"document": document, "seeds": seeds or record.get("default_seeds"), **_here()}
    if any(record.get(name) != value for name, value in wanted.items()):
        return False
    return all(_digest(path / name) == digest for name, digest in record["files"].items())


def _here() -> dict[str, Any]:
    return {"code": _code_digest(), "software": software()}


@cache
def _code_digest() -> str:
    """Returns the SHA-256 of both installed packages including the core, which identifies the code of results."""
    digest = hashlib.sha256()
    for package in (longpipe, longpipe_evidence):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(folder.parent)}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(read_bytes(path, "a file of a reproduction")).hexdigest()
    except ScenarioError:
        return None
