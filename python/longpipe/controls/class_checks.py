"""Checks whether a class can be a controller, and which parameters it accepts."""

import difflib
import inspect
from collections.abc import Mapping
from itertools import takewhile
from typing import Final

from longpipe import _core
from longpipe.controls.class_imports import FIELD
from longpipe.controls.control import Control
from longpipe.controls.intervals import NEEDS, interval_length
from longpipe.controls.policies import PolicyControl
from longpipe.errors import ScenarioError, nearest, shortened

# Attributes with which a class requests features, with the types of their values.
SETTINGS: Final[dict[str, type | tuple[type, ...]]] = {
    "interval": str, "paces": bool, "owns_window": bool, "measures_rate": bool, "measures_delay": bool, "base": str,
    "version": str, "state_fields": (list, tuple),
}  # fmt: skip
# Similarity to a setting's name, as of `difflib`, from which an attribute counts as misspelt.
_SIMILAR: Final = 0.8


def check_class(cls: type[Control], name: str) -> None:
    """Raises ScenarioError if a class lacks hooks or attributes that a controller needs."""
    _check_attributes(cls, name)
    hooks = hooks_of(cls)
    if issubclass(cls, PolicyControl):
        interval_of(cls, name)
    elif cls.interval is None:
        if "on_interval" in hooks:
            raise ScenarioError(f"{FIELD}: {name}; has on_interval; needs an interval, as in interval = '1 RTT'")
        if "on_ack" not in hooks and cls.base is None:
            raise ScenarioError(f"{FIELD}: {name}; has no on_ack; needs one, interval and on_interval, or a base")
    elif "on_interval" not in hooks:
        raise ScenarioError(f"{FIELD}: {name}; has an interval; also needs on_interval")
    else:
        interval_of(cls, name)
    for attribute in dir(cls):
        if attribute.startswith("on_") and attribute not in _core.control_hooks():
            accepts = nearest(attribute, _core.control_hooks())
            raise ScenarioError(f"{FIELD}: {name}; has {attribute}, which is not a hook; {accepts}")


def _check_attributes(cls: type[Control], name: str) -> None:
    """Raises ScenarioError for an attribute that is probably a misspelt setting of `Control`.

    Attributes of the user's own are permitted, so only one whose name resembles a setting's, and whose value has
    the setting's type, is rejected. Names that begin with an underscore are never settings.
    """
    for cls_or_base in takewhile(lambda base: base is not Control, cls.__mro__):
        for attribute, value in vars(cls_or_base).items():
            if attribute.startswith("_") or hasattr(Control, attribute):
                continue
            for setting in difflib.get_close_matches(attribute.lower(), SETTINGS, cutoff=_SIMILAR):
                if isinstance(value, SETTINGS[setting]):
                    written = f"{attribute} = {shortened(repr(value), 40)}"
                    raise ScenarioError(
                        f"{FIELD}: {name}; has {written}, which has no effect: did you mean {setting!r}? Needs that "
                        f"name, or a less similar one for an attribute of your own"
                    )


def check_parameters(cls: type[Control], class_name: str, parameters: Mapping[str, object]) -> None:
    """Raises ValueError for parameters that the class does not accept."""
    accepted = dict(inspect.signature(cls.__init__).parameters)
    accepted.pop("self", None)
    # A class without `__init__` inherits that of `object`, whose signature accepts any arguments.
    if cls.__init__ is object.__init__:
        accepted = {}
    named = {
        name: argument
        for name, argument in accepted.items()
        if argument.kind in (argument.KEYWORD_ONLY, argument.POSITIONAL_OR_KEYWORD)
    }
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        for name in parameters.keys() - named.keys():
            accepts = nearest(name, named) if named else "the class has no parameters"
            raise ValueError(f"parameters.{name}: unknown; {accepts}")
    for name, argument in named.items():
        if argument.default is argument.empty and name not in parameters:
            raise ValueError(f"parameters.{name}: missing; {class_name} has no default for it")


def hooks_of(cls: type[Control]) -> list[str]:
    """Returns the names of the hooks that a class defines."""
    return [
        name
        for name in _core.control_hooks()
        if inspect.getattr_static(cls, name) is not inspect.getattr_static(Control, name)
    ]


def interval_of(cls: type[Control], name: str) -> tuple[str, float] | None:
    """Returns the length of the monitor intervals of a class, as a kind and a number; None for a class without them.

    Raises ScenarioError for an invalid length.
    """
    text = cls.interval
    if text is None:
        return None
    try:
        return interval_length(text)
    except (ValueError, OverflowError):
        raise ScenarioError(f"{FIELD}: {name}; interval {text!r}; {NEEDS}") from None
