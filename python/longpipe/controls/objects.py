"""Shared objects and WebAssembly modules, by the digest that identifies them in scenarios.

Copies are in the user's cache directory.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from longpipe import _core
from longpipe.controls.compiler import KERNELS, build
from longpipe.controls.facts import INTERFACE, WASM, Facts, facts
from longpipe.controls.sources import (
    MAX_BYTES,
    NEEDS,
    Source,
    exporting_modules,
    identity,
    read_source,
    support_digest,
)
from longpipe.errors import ScenarioError, nearest
from longpipe.inputs import read_bytes
from longpipe.system.files import write_bytes
from longpipe.user_code import trust
from longpipe.user_code.object_cache import MAGIC, cache_folder, cached, cached_content, is_stored

# Kind of the objects in the cache directory.
_KIND: Final = "modules"


@dataclass(frozen=True)
class Object:
    """A shared object or a WebAssembly module: its file in the cache, the user's name for it, and its facts."""

    digest: str
    path: Path
    name: str
    facts: Facts


# The objects that this process knows, by digest.
_known: dict[str, Object] = {}


def find(file: str) -> Object:
    """Returns the object of a file, for a C source the compiled one, from the cache if possible.

    Raises ScenarioError for a file of another type, and for a source that does not compile.
    """
    path = Path(file)
    module = _of_source(path) if path.suffix == ".c" else _of_object(path)
    trust.require(file, module.digest, path)
    _learn(module)
    return module


def remember(digest: str, name: str, content: bytes) -> None:
    """Stores an object that came from another machine."""
    if digest not in _known:
        _learn(Object(digest, _cached(content), name, facts(content)))


def content(digest: str) -> bytes | None:
    """Returns the bytes of an object that this process knows, otherwise None."""
    module = _known.get(digest)
    return None if module is None else cached_content(module.path)


def name_of(digest: str) -> str | None:
    """Returns the name of an object's file; None if this process does not know the object."""
    module = _known.get(digest)
    return module.name if module is not None and module.path.is_file() else None


def _learn(module: Object) -> None:
    """Registers an object in this process and in the core."""
    _known[module.digest] = module
    _core.register_module(module.digest, module.path, module.name)


def check_parameters(module: Object, parameters: Mapping[str, object]) -> None:
    """Raises ValueError for a parameter that an object does not have."""
    types = module.facts.parameters
    for name in parameters:
        if name not in types:
            accepts = nearest(name, sorted(types)) if types else "the module has no parameters"
            raise ValueError(f"parameters.{name}: unknown; {accepts}")


def _of_source(path: Path) -> Object:
    """Returns the object compiled from a C source, from the cache if it contains one."""
    # Which of the exporting modules are linked with the source is only known after it is compiled. The name of the
    # cached object therefore depends on all of them.
    sources = [read_source(path), *exporting_modules(path)]
    for linux in KERNELS:
        if is_stored(compiled := _cached_object(sources, linux)):
            stated = facts(cached_content(compiled))
            return Object(stated.source, compiled, str(path), stated)
    built = build([path])
    target = _cached_object(sources, built.linux)
    write_bytes(target, built.content)
    return Object(built.facts.source, target, str(path), built.facts)


def _cached_object(sources: list[Source], linux: str) -> Path:
    """Returns the cache file of an object that is compiled for a kernel from sources that it may contain."""
    key = hashlib.sha256(f"{identity(sources, linux)} {support_digest()}".encode()).hexdigest()
    return cache_folder(_KIND) / f"{key}.so"


def _of_object(path: Path) -> Object:
    """Returns a shared object or WebAssembly module that the user has built.

    Raises ScenarioError if it is unsuitable.
    """
    content = read_bytes(path, NEEDS, max_bytes=64 * MAX_BYTES)
    if not content.startswith((*MAGIC, WASM)):
        raise ScenarioError(
            f"{path}: not a shared object; needs one built by `longpipe cc build`, a C source (.c), or WebAssembly"
        )
    stated = facts(content)
    if not stated.interface:
        raise ScenarioError(f"{path}: not a congestion controller; needs an object built by `longpipe cc build`")
    if stated.interface != INTERFACE:
        needs = f"needs {INTERFACE}: rebuild it with `longpipe cc build`"
        raise ScenarioError(f"{path}: interface version {stated.interface}; {needs}")
    return Object(stated.source or hashlib.sha256(content).hexdigest(), _cached(content), str(path), stated)


def _cached(content: bytes) -> Path:
    return cached(_KIND, content, ".wasm" if content.startswith(WASM) else ".so")
