"""A property that is computed once, without the lock that `functools.cached_property` takes before Python 3.12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801
    """Decorator for a method whose result replaces it as an attribute of the instance."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self._name, self.__doc__ = function, function.__name__, function.__doc__

    def __get__(self, instance: object, owner: object = None) -> T:
        """Computes the value and stores it in the instance, where later accesses find it."""
        value = instance.__dict__[self._name] = self._function(instance)
        return value
