"""The folder of a reproduction: its files, and the record of where they come from."""

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from longpipe.files import write_text
from longpipe.provenance import code_digest, machine, software

RECORD: Final = "provenance.json"


class Part(StrEnum):
    """What a folder holds, each made by a command of its own."""

    REPRODUCTION = "reproduction"
    SENSITIVITY = "sensitivity"
    BEYOND = "beyond"


class Folder:
    """Writes one part of a folder: files first, then, with `close`, the record of them."""

    def __init__(self, path: Path, part: Part, document: str, seeds: int, default_seeds: int) -> None:
        self.path = path
        self._part = part
        self._about = {"document": document, "seeds": seeds, "default_seeds": default_seeds, **_here()}
        self._files: list[str] = []

    def text(self, name: str, content: str) -> None:
        """Writes a text file."""
        write_text(self.path / name, content)
        self._files.append(name)

    def figures(self, module: str, subject: object, function: str = "figures") -> None:
        """Draws, as PNG and SVG, the figures that a function of a module makes of `subject`, by name without suffix."""
        # A pool of processes takes a while to load.
        from longpipe.report.drawing import draw

        self._files.extend(draw(module, function, subject, self.path))

    def close(self, **about: Any) -> None:  # noqa: ANN401 - JSON
        """Records what was written, in its order, when, on which machine, and what `about` adds."""
        record = {
            **self._about,
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            **about,
            "files": {name: _digest(self.path / name) for name in self._files},
        }
        write_text(self.path / RECORD, json.dumps({**records(self.path), self._part: record}, indent=2) + "\n")


def records(path: Path) -> dict[str, dict[str, Any]]:
    """The records of a folder by part; empty if it has none."""
    try:
        found = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_current(path: Path, part: Part, document: str, seeds: int | None) -> bool:
    """Whether the folder holds this part as the code and libraries of now would make it, and no file of it has changed.

    `seeds` is None for as many as the document has by default.
    """
    found = records(path).get(part, {})
    wanted = {"document": document, "seeds": seeds or found.get("default_seeds"), **_here()}
    if any(found.get(name) != value for name, value in wanted.items()):
        return False
    return all(_digest(path / name) == digest for name, digest in found["files"].items())


def _here() -> dict[str, Any]:
    return {"code": code_digest(), "software": software()}


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
