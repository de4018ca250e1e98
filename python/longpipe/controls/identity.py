"""Identity of a class in the store: a digest of its code and of all objects it refers to, equal in every process.

Pickles do not have this property: they contain random identifiers, and sets in the order of their hashes.
"""

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.user_code.file_modules import UserFile, imported_as, imported_by, plain_name

# Attributes of a class that do not affect its behavior.
_PLAIN: Final = {
    "__module__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__firstlineno__", "__static_attributes__",
    "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__annotate__", "__annotations_cache__",
    "__qualname__", "__match_args__",
}  # fmt: skip
_LIBRARIES: Final = tuple(
    Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OWN: Final = Path(_core.__file__).resolve().parent


def identity(cls: type) -> str:
    """Returns the digest of a class [64 hex digits], or of the `version` that it declares.

    Raises ScenarioError if the class refers to an object without such a digest.
    """
    version = getattr(cls, "version", None)
    if version is not None:
        return hashlib.sha256(
            f"longpipe class {plain_name(cls.__module__)}:{cls.__qualname__} {version}".encode()
        ).hexdigest()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return hashlib.sha256(f"longpipe class, Python {python}\n".encode() + _Digest(cls).of(cls)).hexdigest()


def is_of_user(module: str | None) -> bool:
    """Returns whether a module is the user's own, not from the standard library, a package or longpipe."""
    loaded = sys.modules.get(module or "")
    if module in (None, "__main__") or loaded is None:
        return module != "builtins"
    file = getattr(loaded, "__file__", None)
    if file is None:
        return False
    path = Path(file).resolve()
    installed = any(part in ("site-packages", "dist-packages") for part in path.parts)
    return not installed and not any(path.is_relative_to(folder) for folder in (*_LIBRARIES, _OWN))


class _Digest:
    """Digest of objects that refer to each other."""

    def __init__(self, cls: type) -> None:
        self._cls = cls
        # Depth of each object whose digest is being computed; a cycle of references leads back to one of them.
        self._open: dict[int, int] = {}
        # Digests that were computed, each with its object, which keeps its id from being reused.
        self._made: dict[int, tuple[object, bytes]] = {}

    def of(self, value: object) -> bytes:
        """Returns the digest of a value: of its content, or of its position if it contains itself."""
        if value is None or isinstance(value, bool | int | complex | str | bytes):
            return _hash(type(value).__name__, repr(value).encode())
        if isinstance(value, float):
            return _hash("float", value.hex().encode())
        if isinstance(value, type(Ellipsis) | type(NotImplemented)):
            return _hash("constant", repr(value).encode())
        key = id(value)
        if (depth := self._open.get(key)) is not None:
            return _hash("cycle", str(depth).encode())
        if key not in self._made:
            self._open[key] = len(self._open)
            self._made[key] = (value, self._of_object(value))
            del self._open[key]
        return self._made[key][1]

    def _of_object(self, value: object) -> bytes:
        if type(value) in (tuple, list, dict, set, frozenset):
            return self._of_container(value)
        for kind, digest in self._kinds.items():
            if isinstance(value, kind):
                return digest(value)
        return self._of_instance(value)

    @cached_property
    def _kinds(self) -> dict[type, Callable[[Any], bytes]]:
        return {
            types.CodeType: self._of_code,
            types.FunctionType: self._of_function,
            types.ModuleType: self._of_module,
            type: self._of_class,
            staticmethod: lambda what: _hash("staticmethod", self.of(what.__func__)),
            classmethod: lambda what: _hash("classmethod", self.of(what.__func__)),
            property: lambda what: _hash("property", *map(self.of, (what.fget, what.fset, what.fdel))),
            functools.partial: lambda what: _hash("partial", *map(self.of, (what.func, what.args, what.keywords))),
            types.MethodType: lambda what: _hash("method", self.of(what.__func__), self.of(what.__self__)),
        }

    def _of_container(self, container: Any) -> bytes:  # noqa: ANN401 - one of four types
        if isinstance(container, dict):
            return _hash("dict", *(self.of(key) + self.of(value) for key, value in container.items()))
        parts = [self.of(element) for element in container]
        return _hash(type(container).__name__, *(sorted(parts) if isinstance(container, set | frozenset) else parts))

    def _of_module(self, module: types.ModuleType) -> bytes:
        content = b""
        if is_of_user(module.__name__) and (file := getattr(module, "__file__", None)):
            content = Path(file).read_bytes()
        inner = imported_by(module.__name__).values()
        return _hash("module", plain_name(module.__name__).encode(), content, *_of_files(inner))

    def _of_class(self, cls: type) -> bytes:
        if not is_of_user(cls.__module__):
            return _hash("class", f"{cls.__module__}:{cls.__qualname__}".encode())
        inside = {name: value for name, value in vars(cls).items() if name not in _PLAIN and not _is_slot(value)}
        parts = [self.of(name) + self.of(inside[name]) for name in sorted(inside)]
        return _hash("class", cls.__name__.encode(), *map(self.of, cls.__bases__), *parts)

    def _of_function(self, function: types.FunctionType) -> bytes:
        """Returns the digest of a function: its code, and the values and modules to which it refers."""
        if not is_of_user(function.__module__):
            return _hash("function", f"{function.__module__}:{function.__qualname__}".encode())
        code = function.__code__
        names = sorted(_names(code))
        used = [self.of(name) + self.of(function.__globals__[name]) for name in names if name in function.__globals__]
        cells = [self.of(_content(cell)) for cell in function.__closure__ or ()]
        parts = (code, function.__defaults__, function.__kwdefaults__)
        late = [file for name in _imports(code) for file in imported_as(function.__module__ or "", name).values()]
        return _hash("function", *map(self.of, parts), *cells, *used, *_of_files(late))

    def _of_code(self, code: types.CodeType) -> bytes:
        shape = (
            code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
            code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars,
        )  # fmt: skip
        table = getattr(code, "co_exceptiontable", b"")
        return _hash("code", code.co_code, table, repr(shape).encode(), *map(self.of, code.co_consts))

    def _of_instance(self, instance: object) -> bytes:
        """Returns the digest of an instance, from what pickle would store. Raises ScenarioError if that is unknown."""
        named = getattr(instance, "__qualname__", None)
        if isinstance(instance, types.BuiltinFunctionType | types.WrapperDescriptorType | types.MethodDescriptorType):
            return _hash("builtin", f"{getattr(instance, '__module__', '')}:{named}".encode())
        try:
            reduced = instance.__reduce_ex__(4)
        except Exception as error:
            raise ScenarioError(
                f"tcp.congestion.class: {self._cls.__qualname__} refers to a {type(instance).__name__} that has no "
                f"digest ({error}); needs a version, as in version = '1'"
            ) from None
        if isinstance(reduced, str):
            return _hash("global", f"{type(instance).__module__}:{reduced}".encode())
        # The contents of lists and tables are given as iterators.
        parts = (list(part) if hasattr(part, "__next__") else part for part in reduced)
        return _hash("instance", *map(self.of, parts))


def _is_slot(value: object) -> bool:
    return isinstance(value, types.GetSetDescriptorType | types.MemberDescriptorType)


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty cell"


def _names(code: types.CodeType) -> set[str]:
    """Returns the names of globals and attributes in a code object and in those within it."""
    inner = (constant for constant in code.co_consts if inspect.iscode(constant))
    return set(code.co_names).union(*map(_names, inner))


def _imports(code: types.CodeType) -> set[str]:
    """Returns the names of the modules that a code object and those within it import."""
    imported = {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname == "IMPORT_NAME"}
    inner = (constant for constant in code.co_consts if inspect.iscode(constant))
    return imported.union(*map(_imports, inner))


def _of_files(files: Iterable[UserFile]) -> list[bytes]:
    return sorted(file.name.encode() + file.content for file in files)


def _hash(kind: str, *parts: bytes) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
