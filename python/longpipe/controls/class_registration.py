"""Registers classes as controllers in the core."""

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from longpipe import _core
from longpipe.controls import classes
from longpipe.controls.class_checks import hooks_of, interval_of
from longpipe.controls.class_pickles import unpickle_class
from longpipe.controls.compiled import compiled, state_type
from longpipe.controls.control import Control
from longpipe.controls.hook_errors import hook_place
from longpipe.controls.policies import PolicyControl
from longpipe.errors import RunError

# Bits of longpipe_control.h that request features of the core.
_RECORDS, _RATES, _SENDING, _PACING, _LOSSES, _OWNS_WINDOW, _DELAYS = (1 << bit for bit in range(7))


def register(digests: Sequence[str], base_settings: Callable[[type[Control], str], str | None]) -> None:
    """Registers in the core the classes among these digests.

    `base_settings` returns the TCP settings, in the core's form, of a connection whose controller is the base of a
    class with a name; None for a class without a base. Raises RunError if a class cannot be loaded here.
    """
    for digest in digests:
        if (known_class := classes.known(digest)) is not None:
            _register(known_class, base_settings)


def _register(known_class: classes.KnownClass, base_settings: Callable[[type[Control], str], str | None]) -> None:
    """Registers a class with the core, after it was unpickled and its hooks were compiled."""
    if known_class.cls is None:
        try:
            known_class.cls = unpickle_class(known_class.content)
        except Exception as error:
            raise RunError(f"{known_class.name}: cannot be loaded here: {type(error).__name__}: {error}") from None
    cls = known_class.cls
    hooks = hooks_of(cls)
    state = state_type(cls.state_fields)
    addresses = {name: _address(cls, name, state, known_class.name) for name in hooks}
    _core.register_class(
        known_class.digest,
        known_class.name,
        _Maker(cls, state),
        addresses,
        interval_of(cls, known_class.name),
        _requests(cls, hooks),
        base_settings(cls, known_class.name),
        cls.steers if issubclass(cls, PolicyControl) else None,
    )


def _requests(cls: type[Control], hooks: Sequence[str]) -> int:
    """Returns the bits of the features that a class needs, from its settings and its hooks."""
    requests = _RECORDS
    requests |= _RATES if cls.measures_rate else 0
    requests |= _SENDING if "on_sent" in hooks or cls.interval is not None else 0
    requests |= _PACING if cls.paces else 0
    requests |= _LOSSES if "on_lost" in hooks else 0
    requests |= _OWNS_WINDOW if cls.owns_window else 0
    return requests | (_DELAYS if cls.measures_delay else 0)


def _address(cls: type[Control], hook: str, state: np.dtype[Any], name: str) -> int:
    """Returns the address of a compiled hook; 0 for a method. Raises RunError if the hook cannot be compiled."""
    method = inspect.getattr_static(cls, hook)
    if not isinstance(method, compiled):
        return 0
    try:
        return method.address(state)
    except Exception as error:
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        location = hook_place(cls, hook)
        raise RunError(f"{location}: {name}.{hook} cannot be compiled by Numba: {first}") from None


class _Maker:
    """Creates the controller of a connection."""

    def __init__(self, cls: type[Control], state: np.dtype[Any]) -> None:
        self._cls = cls
        self._state = state

    def __call__(self, parameters: Sequence[tuple[str, str]], seed: int, ecn: bool) -> tuple[Control, int]:
        """Returns the controller and the address of its state."""
        control = self._cls.__new__(self._cls)
        control._seed, control.ecn = seed, ecn
        states = np.zeros(1, self._state).view(np.recarray)
        # The record is a view, which keeps the array alive.
        control.state = states[0]
        control.__init__(**{name: json.loads(value) for name, value in parameters})  # type: ignore[misc]
        return control, int(states.ctypes.data)
