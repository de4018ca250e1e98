"""Results that depend on one part of a scenario alone, kept as long as the part lives."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from longpipe.scenario.base import Model

P = TypeVar("P", bound=Model)
R = TypeVar("R")


def by_identity(function: Callable[[P], R]) -> Callable[[P], R]:
    """Calls a function once for each part; the result must neither be modified nor contain the part.

    Parts are compared by identity, because comparing their values takes as long as most functions. Copies of a scenario
    share the parts that they do not change.
    """
    known: dict[int, R] = {}
    alive: dict[int, weakref.ref[P]] = {}

    def forget(key: int) -> None:
        known.pop(key, None)
        alive.pop(key, None)

    @wraps(function)
    def cached(part: P) -> R:
        key = id(part)
        if key not in alive:
            known[key] = function(part)
            alive[key] = weakref.ref(part, lambda _: forget(key))
        return known[key]

    return cached
