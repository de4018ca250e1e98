"""The user's protocol stacks (programs and shared objects), by the digest that identifies them in scenarios."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError, in_one_line
from longpipe.inputs import read_bytes
from longpipe.user_code import trust
from longpipe.user_code.object_cache import MAGIC, cached, cached_content

# First word of a command that stands for the interpreter that runs longpipe, because another one may not find
# longpipe.end.
PYTHON: Final = "python"
# Folder that contains `longpipe_end.h`.
INCLUDE: Final = Path(__file__).parent / "include"
_MAX_BYTES: Final = 256 << 20
# Kind under which the cache directory stores the objects.
_KIND: Final = "stacks"


@dataclass(frozen=True)
class OwnObject:
    """A shared object: the user's name for it, and its copy in the cache."""

    name: str
    path: Path


@dataclass(frozen=True)
class OwnProgram:
    """A program: its command, as given and with absolute paths; the files among its words; and its declared version."""

    given: tuple[str, ...]
    words: tuple[str, ...]
    files: tuple[str, ...]
    version: str | None

    @property
    def name(self) -> str:
        """Returns the user's name for the program."""
        return " ".join(self.given)


# The stacks that this process knows, by digest.
_known: dict[str, OwnObject | OwnProgram] = {}


def find_object(file: str, version: str | None = None) -> str:
    """Returns the digest of a shared object, computed from its content, or from its name and its version.

    Raises ScenarioError if the file is no shared object, or if this process knows another one with this version.
    """
    content = read_bytes(
        Path(file), "a shared object that exports longpipe_ends (longpipe_end.h)", max_bytes=_MAX_BYTES
    )
    if not content.startswith(MAGIC):
        raise ScenarioError(f"{file}: not a shared object; needs one that exports longpipe_ends (longpipe_end.h)")
    content_digest = hashlib.sha256(content).hexdigest()
    trust.require(file, content_digest, Path(file))
    digest = content_digest if version is None else _digest_of(b"longpipe object\n", (file, version)).hexdigest()
    path, known = cached(_KIND, content), _known.get(digest)
    # The core loads one object for a digest. The name of its copy is the digest of its content.
    if isinstance(known, OwnObject) and known.path.name != path.name:
        raise ScenarioError(f"{file}: has changed, but is still version {version!r}; needs another version")
    _known[digest] = OwnObject(file, path)
    return digest


def find_program(words: Sequence[str], version: str | None) -> str:
    """Returns the digest of a program, computed from its words and either the files among them or its version.

    Raises ScenarioError if there is no such program.
    """
    if not words:
        raise ScenarioError("empty; needs a program and its arguments")
    if any("\0" in word for word in words):
        raise ScenarioError("a word with a NUL character; needs words without NUL")
    if words[0] != PYTHON and shutil.which(words[0]) is None:
        raise ScenarioError(f"no program {words[0]!r}; needs one on PATH or an executable file")
    paths = {word: str(Path(word).absolute()) for word in words if _is_own_file(word)}
    files = tuple(paths[word] for word in words if word in paths)
    program = OwnProgram(tuple(words), tuple(paths.get(word, word) for word in words), files, version)
    digest = _digest(program)
    trust.require(program.name, digest)
    _known[digest] = program
    return digest


def _digest(program: OwnProgram) -> str:
    digest = _digest_of(b"longpipe program\n", (*program.given, program.version or ""))
    for file in program.files if program.version is None else ():
        digest.update(hashlib.sha256(read_bytes(Path(file), "a program", max_bytes=_MAX_BYTES)).digest())
    return digest.hexdigest()


def _digest_of(kind: bytes, words: Sequence[str]) -> hashlib._Hash:
    """Returns a digest of words, to which more can be added."""
    digest = hashlib.sha256(kind)
    for word in words:
        encoded = os.fsencode(word)
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest


def _is_own_file(word: str) -> bool:
    """Returns whether a word of a command is the path of a file, rather than the name of an installed program."""
    try:
        return Path(word).is_file() and (os.sep in word or shutil.which(word) is None)
    except (OSError, ValueError):
        return False


def name_of(digest: str) -> str | None:
    """Returns the user's name for a stack, or None if this process does not know the stack."""
    return _known[digest].name if digest in _known else None


def register(digest: str) -> None:
    """Registers a stack in the core of this process. Raises ScenarioError if it is missing or has changed."""
    stack = _of(digest)
    if isinstance(stack, OwnObject):
        try:
            _core.register_own_object(digest, stack.path)
        except _core.ScenarioError as error:
            raise ScenarioError(f"traffic.file: {str(error).replace(str(stack.path), stack.name)}") from None
        return
    if missing := [file for file in stack.files if not Path(file).exists()]:
        raise ScenarioError(
            f"traffic.command: {missing[0]} does not exist; needs it on each machine that runs "
            f"{in_one_line(stack.name)}"
        )
    if _digest(stack) != digest:
        needs = "needs the files as they were when the scenario was checked, or traffic.version to identify the program"
        raise ScenarioError(f"traffic.command: {in_one_line(stack.name)} has changed; {needs}")
    first = sys.executable if stack.words[0] == PYTHON else stack.words[0]
    _core.register_own_program(digest, [first, *stack.words[1:]])


def _of(digest: str) -> OwnObject | OwnProgram:
    if digest not in _known:
        raise unknown(digest, "traffic")
    return _known[digest]


def unknown(digest: str, field: str) -> ScenarioError:
    """Returns the error for a field with a stack that this process does not know."""
    return ScenarioError(
        f"{field}: no stack of this machine has the digest {digest[:12]}...; needs its file or program"
    )


def carried(digest: str) -> tuple[Any, ...] | None:
    """Returns the data that another process needs to use a stack: for an object, this includes its content."""
    stack = _known.get(digest)
    if isinstance(stack, OwnObject):
        return ("object", stack.name, cached_content(stack.path))
    return None if stack is None else ("program", stack.given, stack.words, stack.files, stack.version)


def remember(digest: str, data: tuple[Any, ...]) -> None:
    """Makes another process's stack known to this process."""
    if digest in _known:
        return
    kind, *rest = data
    if kind == "object":
        name, content = rest
        _known[digest] = OwnObject(name, cached(_KIND, content))
    else:
        _known[digest] = OwnProgram(*rest)
