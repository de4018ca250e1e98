"""C sources of a module of Linux, and the kernel headers that they need."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs import read_bytes

NEEDS: Final = "the C source of a congestion control module of Linux, or a shared object"
MOST_BYTES: Final = 4 << 20

FOLDER: Final = Path(__file__).parent
INCLUDE: Final = FOLDER / "include"
LINUX: Final = FOLDER / "linux"
# Header of the C interface for objects that are not modules of Linux.
CONTROL_HEADER: Final = "longpipe_control.h"

_COMMENT: Final = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
_SYSTEM: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([\w./+-]+)>", re.MULTILINE)
_LOCAL: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([\w./+-]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A C file and the headers in its folder that it includes."""

    path: Path
    # Contents by file name, the C file first.
    files: dict[str, bytes]

    @property
    def text(self) -> str:
        """Returns the code of all files without comments; text within quotes is unchanged."""
        whole = "\n".join(content.decode("utf-8", "replace") for content in self.files.values())
        return _COMMENT.sub(lambda found: found[1] or " ", whole)

    @property
    def system_headers(self) -> set[str]:
        """Returns the names of the kernel headers that the files include."""
        return set(_SYSTEM.findall(self.text))


def read_source(path: Path) -> Source:
    """Reads a C file with its own headers. Raises ScenarioError if it cannot be read."""
    files: dict[str, bytes] = {}
    waiting = [path.name]
    while waiting:
        name = waiting.pop(0)
        beside = path.parent / name
        if name in files or (files and not beside.is_file()):
            continue
        files[name] = content = read_bytes(beside, NEEDS, max_bytes=MOST_BYTES)
        waiting += _LOCAL.findall(content.decode("utf-8", "replace"))
    if b"\0" in files[path.name]:
        raise ScenarioError(f"{path}: not text; needs {NEEDS}")
    return Source(path, files)


def check_module(path: Path, sources: Sequence[Source]) -> None:
    """Raises ScenarioError if C sources, `path` and others, are not a congestion control module of Linux."""
    texts = [source.text for source in sources]
    if any(CONTROL_HEADER in _LOCAL.findall(text) + _SYSTEM.findall(text) for text in texts):
        how = f"cc -shared -fPIC -O2 -I {INCLUDE} {path.name} -o {path.stem}.so"
        raise ScenarioError(f"{path}: uses {CONTROL_HEADER}; compile it with {how}, and specify the object instead")
    if not any("tcp_register_congestion_control" in text for text in texts):
        raise ScenarioError(f"{path}: registers no congestion control in module_init(); needs {NEEDS}")


def lenders(source: Source, missing: set[str]) -> list[Source]:
    """Returns the C files in a source's folder that define functions it needs, such as tcp_vegas.c for tcp_yeah.c."""
    found = []
    for path in sorted(source.path.parent.glob("*.c")):
        if path.name == source.path.name or path.stat().st_size > MOST_BYTES:
            continue
        other = read_source(path)
        exported = set(re.findall(r"\bEXPORT_SYMBOL(?:_GPL)?\s*\(\s*(\w+)\s*\)", other.text))
        if exported & missing and "module_init" in other.text:
            found.append(other)
    return found


@cache
def header_version() -> str:
    """Returns the version of longpipe's header for modules, which is part of their identity."""
    text = (LINUX / "longpipe_linux.h").read_text(encoding="utf-8")
    return str(re.findall(r"^#define LONGPIPE_LINUX_HEADER (\d+)$", text, re.MULTILINE)[0])


@cache
def support_digest() -> str:
    """Returns the digest of the files that are compiled into every module."""
    digest = hashlib.sha256()
    for path in sorted([*INCLUDE.iterdir(), *LINUX.iterdir()]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def identity(sources: list[Source], linux: str) -> str:
    """Returns the SHA-256 of sources, the kernel whose interface they use, and the version of longpipe's header."""
    digest = hashlib.sha256(f"longpipe module, header {header_version()}, Linux {linux}\n".encode())
    for source in sources:
        for name, content in sorted(source.files.items()):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
