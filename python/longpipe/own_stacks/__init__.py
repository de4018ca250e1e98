"""Protocol stacks of the user, by the digest that names them in scenarios: programs, and shared objects."""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from platformdirs import user_cache_path

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.files import write_bytes
from longpipe.inputs import read_bytes

# First word of a command for the interpreter that runs longpipe, because another one may not find longpipe.end.
PYTHON: Final = "python"
# Folder of `longpipe_end.h`.
INCLUDE: Final = Path(__file__).parent / "include"
_MOST_BYTES: Final = 256 << 20
_MAGIC: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")


@dataclass(frozen=True)
class OwnObject:
    """A shared object: the name by which its user knows it, and its copy in the cache."""

    name: str
    path: Path


@dataclass(frozen=True)
class OwnProgram:
    """A program: the name by which its user knows it, its words with absolute paths, and its declared version."""

    name: str
    words: tuple[str, ...]
    version: str | None


# Stacks that this process knows, by digest.
_known: dict[str, OwnObject | OwnProgram] = {}


def find_object(file: str) -> str:
    """Returns the digest of a shared object. Raises ScenarioError if the file is none."""
    content = read_bytes(Path(file), "a shared object that exports longpipe_ends (longpipe_end.h)", most=_MOST_BYTES)
    if not content.startswith(_MAGIC):
        raise ScenarioError(f"{file}: no shared object; needs one that exports longpipe_ends (longpipe_end.h)")
    digest = hashlib.sha256(content).hexdigest()
    _known[digest] = OwnObject(file, _cached(digest, content))
    return digest


def find_program(words: Sequence[str], version: str | None) -> str:
    """Returns the digest of a program: of its words and the files among them, or of its words and its version.

    Raises ScenarioError if there is no such program.
    """
    if not words:
        raise ScenarioError("empty; needs a program and its arguments")
    if any("\0" in word for word in words):
        raise ScenarioError("a word with a NUL character; needs words without it")
    if words[0] != PYTHON and shutil.which(words[0]) is None:
        raise ScenarioError(f"no program {words[0]!r}; needs one on PATH or an executable file")
    absolute = tuple(str(Path(word).absolute()) if _is_own_file(word) else word for word in words)
    digest = _digest(words, absolute, version)
    _known[digest] = OwnProgram(" ".join(words), absolute, version)
    return digest


def _digest(words: Sequence[str], files: Sequence[str], version: str | None) -> str:
    digest = hashlib.sha256(b"longpipe program\n")
    for word in (*words, version or ""):
        encoded = os.fsencode(word)
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    for word in files if version is None else ():
        if _is_own_file(word):
            digest.update(hashlib.sha256(read_bytes(Path(word), "a program", most=_MOST_BYTES)).digest())
    return digest.hexdigest()


def _is_own_file(word: str) -> bool:
    """Returns whether a word of a command is the path of a file, as opposed to the name of an installed program."""
    try:
        return Path(word).is_file() and (os.sep in word or shutil.which(word) is None)
    except (OSError, ValueError):
        return False


def name_of(digest: str) -> str:
    """Returns the user's name for a stack. Raises ScenarioError if this process does not know it."""
    return _of(digest).name


def register(digest: str) -> None:
    """Makes a stack known to the core of this process. Raises ScenarioError if it is not there as it was."""
    found = _of(digest)
    if isinstance(found, OwnObject):
        try:
            _core.register_own_object(digest, found.path)
        except _core.ScenarioError as error:
            raise ScenarioError(f"traffic.file: {str(error).replace(str(found.path), found.name)}") from None
        return
    missing = [word for word in found.words if Path(word).is_absolute() and not Path(word).exists()]
    if missing:
        raise ScenarioError(
            f"traffic.command: {missing[0]} is not there; needs it on each machine that runs {found.name}"
        )
    first = sys.executable if found.words[0] == PYTHON else found.words[0]
    _core.register_own_program(digest, [first, *found.words[1:]])


def _of(digest: str) -> OwnObject | OwnProgram:
    found = _known.get(digest)
    if found is None:
        raise ScenarioError(
            f"traffic: no stack of this machine has the digest {digest[:12]}...; needs its file or program"
        )
    return found


def carried(digest: str) -> tuple[Any, ...] | None:
    """Returns what another process needs in order to know a stack: for an object its content."""
    found = _known.get(digest)
    if isinstance(found, OwnObject):
        return ("object", found.name, _content(found.path))
    return None if found is None else ("program", found.name, found.words, found.version)


def remember(digest: str, told: tuple[Any, ...]) -> None:
    """Makes a stack of another process known to this one."""
    if digest in _known:
        return
    kind, name, *rest = told
    if kind == "object":
        _known[digest] = OwnObject(name, _cached(digest, rest[0]))
    else:
        _known[digest] = OwnProgram(name, *rest)


def _cached(digest: str, content: bytes) -> Path:
    """Stores an object in the cache, because a file that is loaded must not change."""
    target = _folder() / f"{digest}.so"
    if not target.is_file():
        write_bytes(target, content)
    return target


@lru_cache(maxsize=8)
def _content(path: Path) -> bytes:
    """Returns the bytes of a cached object, always as the same value, so that a pickle contains it once."""
    return path.read_bytes()


def _folder() -> Path:
    folder = user_cache_path("longpipe") / "stacks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"longpipe-stacks-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder
