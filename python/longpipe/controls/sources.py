"""C sources of a module of Linux: the files that belong to it, its identity, and the digest of longpipe's own files."""

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
MAX_BYTES: Final = 4 << 20

FOLDER: Final = Path(__file__).parent
INCLUDE: Final = FOLDER / "include"
LINUX: Final = FOLDER / "linux"
# Header of the C interface for objects that are not modules of Linux.
CONTROL_HEADER: Final = "longpipe_control.h"

# A comment, or a text in quotes, which is group 1 and may contain the characters that begin a comment.
_COMMENT: Final = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
_SYSTEM: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([\w./+-]+)>", re.MULTILINE)
_LOCAL: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([\w./+-]+)"', re.MULTILINE)
# An export of the kernel's modules: EXPORT_SYMBOL(name) or EXPORT_SYMBOL_GPL(name).
_EXPORT: Final = re.compile(r"\bEXPORT_SYMBOL(?:_GPL)?\s*\(\s*(\w+)\s*\)")


@dataclass(frozen=True)
class Source:
    """A C file and the headers in its folder that it includes."""

    path: Path
    # Contents by file name, the C file first.
    files: dict[str, bytes]

    @property
    def text(self) -> str:
        """Returns the code of all files without comments; text within quotes is unchanged."""
        with_comments = "\n".join(content.decode("utf-8", "replace") for content in self.files.values())
        return _COMMENT.sub(lambda match: match[1] or " ", with_comments)

    @property
    def system_headers(self) -> set[str]:
        """Returns the names of the kernel headers that the files include."""
        return set(_SYSTEM.findall(self.text))


def read_source(path: Path) -> Source:
    """Reads a C file and the headers in its folder that it includes, directly or not.

    Raises ScenarioError if the C file cannot be read; a header that does not exist is an error of the compiler.
    """
    files: dict[str, bytes] = {}
    names = [path.name]
    while names:
        name = names.pop(0)
        file = path.parent / name
        if name in files or (files and not file.is_file()):
            continue
        files[name] = content = read_bytes(file, NEEDS, max_bytes=MAX_BYTES)
        names += _LOCAL.findall(content.decode("utf-8", "replace"))
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


def exporting_modules(path: Path, missing: set[str] | None = None) -> list[Source]:
    """Returns the other modules in a C file's folder that export one of the functions `missing`, or any by default.

    The compiler links them with the file: tcp_yeah.c, for example, needs functions of tcp_vegas.c. A file that exports
    functions without being a module is part of the kernel, for which longpipe's header stands. Unreadable files are
    omitted.
    """
    modules = []
    for other in sorted(path.parent.glob("*.c")):
        if other.name == path.name:
            continue
        try:
            # Most files of a kernel's folder are skipped without a search for comments, which takes long.
            content = read_bytes(other, NEEDS, max_bytes=MAX_BYTES)
            if b"EXPORT_SYMBOL" not in content or b"module_init" not in content:
                continue
            source = read_source(other)
        except ScenarioError:
            continue
        exported = set(_EXPORT.findall(source.text))
        if "module_init" in source.text and (exported if missing is None else exported & missing):
            modules.append(source)
    return modules


@cache
def header_version() -> str:
    """Returns the version of longpipe's header for modules, which changes if a change of the header changes results."""
    text = (LINUX / "longpipe_linux.h").read_text(encoding="utf-8")
    return str(re.findall(r"^#define LONGPIPE_LINUX_HEADER (\d+)$", text, re.MULTILINE)[0])


@cache
def support_digest() -> str:
    """Returns the digest of longpipe's files that are compiled into every module.

    It decides whether a cached object can be used, but is not part of a module's identity in stored runs, because most
    changes of these files, such as an additional helper, leave results as they are.
    """
    digest = hashlib.sha256()
    for path in sorted([*INCLUDE.iterdir(), *LINUX.iterdir()]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def identity(sources: list[Source], linux: str) -> str:
    """Returns the identity of a module in stored runs.

    It is the SHA-256 of its sources, of the kernel whose interface they use, and of the version of longpipe's header.
    """
    digest = hashlib.sha256(f"longpipe module, header {header_version()}, Linux {linux}\n".encode())
    for source in sources:
        for name, content in sorted(source.files.items()):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
