"""Hooks that are compiled by Numba, if it is installed."""

from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final, overload

import numpy as np

from longpipe import _core

# Types of the records that are passed to hooks, by hook.
_RECORDS: Final = {
    "on_ack": _core.Ack,
    "on_interval": _core.Interval,
    "on_sent": _core.Sent,
    "on_lost": _core.Lost,
}


class compiled:  # noqa: N801 - a decorator
    """Marks a hook `on_ack(state, ack, grant)` for Numba, which compiles it; without Numba, Python executes it.

    The hook has no `self`: `state` contains the numbers in the class's `state_fields`, and `grant` the current window
    and threshold, which the hook may change. A hook may call functions that are compiled by `numba.njit`.
    """

    def __init__(self, function: Callable[[Any, Any, Any], None]) -> None:
        self.function = function

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "compiled": ...
    @overload
    def __get__(self, instance: Any, owner: type) -> Callable[[Any], Any]: ...  # noqa: ANN401
    def __get__(self, instance: Any, owner: type) -> "compiled | Callable[[Any], Any]":
        if instance is None:
            return self

        def call(record: Any) -> _core.Grant:  # noqa: ANN401 - each hook has its own type
            grant = _core.Grant(record.window, getattr(record, "ssthresh", None))
            self.function(instance.state, record, grant)
            return grant

        return call

    def __reduce__(self) -> tuple[type, tuple[Callable[[Any, Any, Any], None]], dict[str, str]]:
        return type(self), (self.function,), {"name": self.name}

    def address(self, state: np.dtype[Any]) -> int:
        """Returns the address of the compiled hook for a state, or 0 if Numba is not installed."""
        if find_spec("numba") is None:
            return 0
        key = str(state)
        if key not in self._addresses:
            self._addresses[key] = self._compile(state)
        entry = self._addresses[key]
        return int(entry.address)

    @cached_property
    def _addresses(self) -> dict[str, Any]:
        return {}

    def _compile(self, state: np.dtype[Any]) -> Any:  # noqa: ANN401 - Numba's
        """Returns the hook compiled by Numba as a C function of three pointers: state, record and result."""
        import numba
        from numba import carray, types

        hook = numba.njit(self.function)
        record = record_type(_RECORDS.get(self.name, _core.Event))
        grant = np.dtype([(name, "f8") for name in _core.compiled_grant_fields()])
        pointers = [types.CPointer(numba.from_dtype(of)) for of in (state, record, grant)]

        def entry(of_state: Any, of_record: Any, of_grant: Any) -> None:  # noqa: ANN401 - pointers
            hook(carray(of_state, 1)[0], carray(of_record, 1)[0], carray(of_grant, 1)[0])

        return numba.cfunc(types.void(*pointers))(entry)


def record_type(record: type[Any]) -> np.dtype[Any]:
    """Returns the layout of a record in memory."""
    numbers, flags = record._fields()
    return np.dtype([*((name, "f8") for name in numbers), *((name, "?") for name in flags)], align=True)


def state_type(fields: Any) -> np.dtype[Any]:  # noqa: ANN401 - depends on the class
    """Returns the layout of a class's state."""
    return np.dtype([(name, "f8") for name in fields or ("unused",)])
