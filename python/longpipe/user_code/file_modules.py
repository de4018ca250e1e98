"""Modules from the user's files, which can import the other modules and packages of their folder, as scripts can.

The folder does not become part of `sys.path`. A module has a name of its own in `sys.modules`, which depends on its
path, its content and the content of what it imports from its folder, so that files of equal names are not mixed up, and
an edited file is another module.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import re
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.user_code import trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

_PREFIX: Final = "longpipe_file_"
_NAME: Final = re.compile(rf"{_PREFIX}\w+")
_PACKAGE: Final = "__init__.py"


@dataclass(frozen=True)
class UserFile:
    """A module: its name for an import, its path, its content, and the modules that it can import from its folder."""

    name: str
    path: Path
    # The module's own code, and for a package the code of its other modules by path.
    text: bytes
    inner: Mapping[str, bytes]
    # Names in `sys.modules`, by the names that the module and its package import.
    siblings: Mapping[str, str]

    @property
    def content(self) -> bytes:
        """The code of the module or package."""
        return b"".join((self.text, *(path.encode() + text for path, text in self.inner.items())))


# The modules that this process knows, by name in `sys.modules`.
_known: dict[str, UserFile] = {}
_lock = threading.RLock()


def load(path: Path) -> ModuleType:
    """Returns the module of a file.

    Raises OSError if the file cannot be read, UntrustedCodeError if it is not trusted, and what its code raises.
    """
    name = _learn(path.resolve())
    digest = sha256()
    for file in files_of(name).values():
        digest.update(len(file.content).to_bytes(8, "little") + file.content)
    trust.require(str(path), digest.hexdigest(), path)
    return _load(name)


def plain_name(module: str) -> str:
    """Returns the name by which a module is imported: that of the file for a module of this kind."""
    top, dot, rest = module.partition(".")
    user_file = _known.get(top)
    return module if user_file is None else user_file.name + dot + rest


def with_plain_names(text: str) -> str:
    """Returns a text, such as an error's, with the names by which modules are imported."""
    return _NAME.sub(lambda match: plain_name(match[0]), text)


def imported_by(module: str) -> dict[str, UserFile]:
    """Returns what a module imports from its folder, directly or not, by name in `sys.modules`."""
    first = module.partition(".")[0]
    files: dict[str, UserFile] = {}
    waiting = [first] if first in _known else []
    while waiting:
        for name in _known[waiting.pop()].siblings.values():
            if name not in files and name != first:
                files[name] = _known[name]
                waiting.append(name)
    return files


def imported_as(module: str, name: str) -> dict[str, UserFile]:
    """Returns what an import of `name` in a module finds in the module's folder, with all that this imports."""
    importer = _known.get(module.partition(".")[0])
    file = None if importer is None else importer.siblings.get(name.partition(".")[0])
    return {} if file is None else files_of(file)


def files_of(module: str) -> dict[str, UserFile]:
    """Returns a module and what it imports from its folder, for `remember` in another process."""
    first = module.partition(".")[0]
    return {first: _known[first], **imported_by(module)} if first in _known else {}


def remember(files: Mapping[str, UserFile]) -> None:
    """Stores modules that came from another process, whose folder may not exist here."""
    for name, file in files.items():
        _known.setdefault(name, file)


def builtins_of(module: str) -> dict[str, Any] | None:
    """Returns built-in names with an `__import__` that finds what a module's folder contains; None if it needs none."""
    first = module.partition(".")[0]
    if first not in _known or not _known[first].siblings:
        return None
    return {**vars(builtins), "__import__": partial(_import, first)}


def _import(
    importer: str,
    name: str,
    scope: Mapping[str, object] | None = None,
    inner: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Replaces `import` in a user's file, so that modules beside the file are those that were read with it."""
    top, dot, rest = name.partition(".")
    file = None if level else _known[importer].siblings.get(top)
    if file is not None:
        _load(file)
        name = file + dot + rest
    return builtins.__import__(name, scope, inner, fromlist or (), level)


def _load(name: str) -> ModuleType:
    """Executes a module of the user's files unless it is loaded. Raises the error of its execution."""
    with _lock:
        if name not in sys.modules:
            file = _known[name]
            folder = [str(file.path.parent)] if file.path.name == _PACKAGE else None
            spec = importlib.util.spec_from_file_location(name, file.path, submodule_search_locations=folder)
            if spec is None:
                raise ImportError(f"{file.path}: needs a name that ends in .py")
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            try:
                _execute(file.text, file.path, module)
            except BaseException:
                del sys.modules[name]
                raise
    return sys.modules[name]


def _execute(text: bytes, path: Path, module: ModuleType) -> None:
    if (builtins := builtins_of(module.__name__)) is not None:
        module.__dict__["__builtins__"] = builtins
    # Compiled here, because Python's cache of bytecode does not notice an edit within a second that keeps the file's
    # size.
    code = compile(text, path, "exec", dont_inherit=True)
    # The code that this code names is as trusted as itself.
    with trust.named_by_user():
        exec(code, module.__dict__)  # noqa: S102 - the user's own code


class _Loader(Loader):
    """Executes a module within a package, which can import the modules beside the package."""

    def __init__(self, text: bytes, path: Path) -> None:
        self._text = text
        self._path = path

    def exec_module(self, module: ModuleType) -> None:
        _execute(self._text, self._path, module)


class _Finder:
    """Finds the modules within packages of this kind, with the content that the package was read with."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, rest = name.partition(".")
        package = _known.get(top)
        if package is None or not rest:
            return None
        place = rest.replace(".", "/")
        for inner in (f"{place}/{_PACKAGE}", f"{place}.py"):
            if (text := package.inner.get(inner)) is not None:
                path = package.path.parent / inner
                folder = [str(path.parent)] if path.name == _PACKAGE else None
                loader = _Loader(text, path)
                return importlib.util.spec_from_file_location(
                    name, path, loader=loader, submodule_search_locations=folder
                )
        return None


sys.meta_path.insert(0, _Finder)


def _learn(path: Path) -> str:
    """Reads a file and what it imports from its folder, and returns its name in `sys.modules`."""
    read: dict[Path, tuple[bytes, dict[str, bytes], dict[str, Path]]] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in read:
            continue
        text = file.read_bytes()
        inner = _inner(file) if file.name == _PACKAGE else {}
        folder = file.parent.parent if file.name == _PACKAGE else file.parent
        imports = frozenset().union(*map(_imports, (text, *inner.values())))
        beside = {name: sibling for name in sorted(imports) if (sibling := _beside(folder, name)) is not None}
        read[file] = text, inner, beside
        waiting += beside.values()
    names = {file: _name(file, _reachable(file, read), read) for file in read}
    for file, (text, inner, beside) in read.items():
        siblings = {name: names[sibling] for name, sibling in beside.items()}
        _known.setdefault(names[file], UserFile(_stem(file), file, text, inner, siblings))
    return names[path]


def _reachable(file: Path, read: Mapping[Path, tuple[Any, Any, Mapping[str, Path]]]) -> list[Path]:
    reachable, waiting = {file}, [file]
    while waiting:
        new = set(read[waiting.pop()][2].values()) - reachable
        reachable |= new
        waiting += new
    return sorted(reachable - {file})


def _name(file: Path, further: Iterable[Path], read: Mapping[Path, tuple[bytes, Mapping[str, bytes], Any]]) -> str:
    digest = sha256()
    for path in (file, *further):
        text, inner, _ = read[path]
        for part in (str(path).encode(), text, *(name.encode() + code for name, code in inner.items())):
            digest.update(len(part).to_bytes(8, "little") + part)
    return f"{_PREFIX}{_stem(file)}_{digest.hexdigest()[:16]}"


def _stem(file: Path) -> str:
    return file.parent.name if file.name == _PACKAGE else file.stem


def _inner(file: Path) -> dict[str, bytes]:
    folder = file.parent
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py")) if path != file
    }


@lru_cache(maxsize=256)
def _imports(text: bytes) -> frozenset[str]:
    """Returns the first parts of the absolute names that code imports, at any place."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        # Reported when the code is executed.
        return frozenset()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return frozenset(name.partition(".")[0] for name in names)


def _beside(folder: Path, name: str) -> Path | None:
    """Returns the file of a module or package in a folder, unless Python has a module of this name."""
    if not name or name == "longpipe" or name in sys.stdlib_module_names:
        return None
    package = folder / name / _PACKAGE
    if package.is_file():
        return None if _is_importable(name, package) else package.resolve()
    module = folder / f"{name}.py"
    return module.resolve() if module.is_file() else None


def _is_importable(name: str, package: Path) -> bool:
    """Returns whether an import finds this package without help, so that a second copy would be loaded."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == package.resolve()
