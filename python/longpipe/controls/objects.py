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
from longpipe.controls.sources import MOST_BYTES, NEEDS, identity, read_source, support_digest
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
    found = _of_source(path) if path.suffix == ".c" else _of_object(path)
    trust.require(file, found.digest, path)
    _learn(found)
    return found


def remember(digest: str, name: str, content: bytes) -> None:
    """Stores an object that came from another machine."""
    if digest not in _known:
        _learn(Object(digest, _cached(content), name, facts(content)))


def content(digest: str) -> bytes | None:
    """Returns the bytes of an object that this process knows, otherwise None."""
    found = _known.get(digest)
    return None if found is None else cached_content(found.path)


def name_of(digest: str) -> str | None:
    """Returns the name of an object's file; None if this process does not know the object."""
    found = _known.get(digest)
    return found.name if found is not None and found.path.is_file() else None


def _learn(found: Object) -> None:
    """Registers an object in this process and in the core."""
    _known[found.digest] = found
    _core.register_module(found.digest, found.path, found.name)


def check_parameters(found: Object, parameters: Mapping[str, object]) -> None:
    """Raises ValueError for a parameter that an object does not have."""
    types = found.facts.parameters
    for name in parameters:
        if name not in types:
            accepts = nearest(name, sorted(types)) if types else "the module has no parameters"
            raise ValueError(f"parameters.{name}: unknown; {accepts}")


def _of_source(path: Path) -> Object:
    source = read_source(path)
    for linux in KERNELS:
        # Other files that are linked with the source are only known after it is compiled.
        key = hashlib.sha256(
            f"{identity([source], linux)} {support_digest()} {_siblings_digest(path)}".encode()
        ).hexdigest()
        if is_stored(compiled := cache_folder(_KIND) / f"{key}.so"):
            found = facts(cached_content(compiled))
            return Object(found.source, compiled, str(path), found)
    built = build([path])
    key = hashlib.sha256(
        f"{identity([source], built.linux)} {support_digest()} {_siblings_digest(path)}".encode()
    ).hexdigest()
    target = cache_folder(_KIND) / f"{key}.so"
    write_bytes(target, built.content)
    return Object(built.facts.source, target, str(path), built.facts)


def _siblings_digest(path: Path) -> str:
    """Returns a digest of the other C files in a source's folder, which may be linked with it."""
    found = sorted(path.parent.glob("tcp_*.c"))
    return " ".join(f"{one.name}:{one.stat().st_size}:{one.stat().st_mtime_ns}" for one in found if one != path)


def _of_object(path: Path) -> Object:
    content = read_bytes(path, NEEDS, max_bytes=64 * MOST_BYTES)
    if not content.startswith((*MAGIC, WASM)):
        raise ScenarioError(
            f"{path}: not a shared object; needs one built by `longpipe cc build`, a C source (.c), or WebAssembly"
        )
    found = facts(content)
    if not found.interface:
        raise ScenarioError(f"{path}: not a congestion controller; needs an object built by `longpipe cc build`")
    if found.interface != INTERFACE:
        needs = f"needs {INTERFACE}: rebuild it with `longpipe cc build`"
        raise ScenarioError(f"{path}: interface version {found.interface}; {needs}")
    return Object(found.source or hashlib.sha256(content).hexdigest(), _cached(content), str(path), found)


def _cached(content: bytes) -> Path:
    return cached(_KIND, content, ".wasm" if content.startswith(WASM) else ".so")
