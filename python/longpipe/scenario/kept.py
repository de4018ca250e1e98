"""Cache of resolved scenarios, because resolving one takes as long as building it, and most are used repeatedly."""

import hashlib
import json
import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from longpipe.inputs import reads
from longpipe.scenario.canonical import canonical_json
from longpipe.system.gc_pause import without_collections

S = TypeVar("S")

# Maximum number of nodes, links and flows in the cache; the latest scenario remains in it even if it is larger.
MAX_PARTS: Final = 100_000

# What a scenario was resolved to: the fields, or their canonical JSON, compressed with zlib.
Origin = dict[str, Any] | bytes


@dataclass
class Resolved:
    """A resolved scenario; `fields` are shared and must not be modified."""

    fields: dict[str, Any]

    @property
    def parts(self) -> int:
        """Returns the number of nodes, links and flows."""
        return sum(len(self.fields[name]) for name in ("nodes", "links", "flows"))

    @cached_property
    def json(self) -> str:
        """Returns canonical JSON, as the core reads it."""
        with without_collections():
            return canonical_json(self.fields)


class Kept(Generic[S]):
    """Cache of live scenarios by identity, because comparing two scenarios takes as long as resolving them.

    A scenario that was resolved from files is not resolved again, because the files may have changed.
    """

    def __init__(self, resolve: Callable[[S], dict[str, Any]]) -> None:
        """Creates a cache with the function that resolves a scenario."""
        self._resolve = resolve
        # Ordered by last use; the most recently used is last.
        self._resolved: dict[int, Resolved] = {}
        self._parts = 0
        self._origins: dict[int, Origin] = {}
        self._digests: dict[int, str] = {}
        self._alive: dict[int, weakref.ref[S]] = {}

    def put(self, scenario: S) -> Resolved:
        """Resolves a scenario, stores it, and evicts the least recently used ones while the limit is exceeded."""
        key = id(scenario)
        with without_collections():
            resolved = self._made(scenario)
        self._watch(scenario)
        self._drop(key)
        self._resolved[key] = resolved
        self._parts += resolved.parts
        while self._parts > MAX_PARTS and len(self._resolved) > 1:
            self._drop(next(iter(self._resolved)))
        return resolved

    def keep(self, scenario: S, origin: Origin, digest: str | None = None) -> None:
        """Sets what a scenario is resolved to, and its digest if it is known."""
        self._watch(scenario)
        self._drop(id(scenario))
        self._origins[id(scenario)] = origin
        if digest is not None:
            self._digests[id(scenario)] = digest

    def origin(self, scenario: S) -> Origin | None:
        """Returns what a scenario was resolved to if that depends on files or on a store, otherwise None."""
        return self._origins.get(id(scenario))

    def get(self, scenario: S) -> Resolved:
        """Returns the resolved scenario."""
        if (resolved := self._resolved.get(id(scenario))) is None:
            resolved = self.put(scenario)
        return resolved

    def digest(self, scenario: S) -> str:
        """Returns the SHA-256 of the canonical JSON; it is kept after the resolved scenario is evicted."""
        if (digest := self._digests.get(id(scenario))) is None:
            digest = hashlib.sha256(self.get(scenario).json.encode()).hexdigest()
            self._digests[id(scenario)] = digest
        return digest

    def _made(self, scenario: S) -> Resolved:
        origin = self._origins.get(id(scenario))
        if isinstance(origin, bytes):
            return Resolved(json.loads(zlib.decompress(origin)))
        if origin is not None:
            return Resolved(origin)
        before = reads.count()
        fields = self._resolve(scenario)
        if reads.count() != before:
            self._origins[id(scenario)] = fields
        return Resolved(fields)

    def _watch(self, scenario: S) -> None:
        key = id(scenario)
        self._alive[key] = weakref.ref(scenario, lambda _: self._forget(key))

    def _drop(self, key: int) -> None:
        if (dropped := self._resolved.pop(key, None)) is not None:
            self._parts -= dropped.parts

    def _forget(self, key: int) -> None:
        self._drop(key)
        self._origins.pop(key, None)
        self._digests.pop(key, None)
        self._alive.pop(key, None)
