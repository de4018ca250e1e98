"""Classes of congestion controllers by the digest that names them in scenarios."""

import builtins
import difflib
import importlib
import inspect
import io
import json
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

import cloudpickle
import numpy as np

from longpipe import _core
from longpipe.controls.compiled import compiled, state_type
from longpipe.controls.control import Control
from longpipe.controls.identity import identity, is_of_user
from longpipe.controls.intervals import NEEDS, interval_length
from longpipe.controls.policies import PolicyControl
from longpipe.errors import RunError, ScenarioError, nearest, shortened
from longpipe.user_code import execution, file_modules, trust

FIELD: Final = "tcp.congestion.class"
_NEEDS_CLASS: Final = "needs a subclass of longpipe.Control, as 'package.module:Class' or 'file.py:Class'"
# Attributes with which a class requests features, with the types of their values.
_SETTINGS: Final[dict[str, type | tuple[type, ...]]] = {
    "interval": str, "paces": bool, "owns_window": bool, "measures_rate": bool, "measures_delay": bool, "base": str,
    "version": str, "state_fields": (list, tuple),
}  # fmt: skip
# Similarity to a setting's name, as of `difflib`, from which an attribute counts as misspelt.
_SIMILAR: Final = 0.8
# Bits of longpipe_control.h.
_RECORDS, _RATES, _SENDING, _PACING, _LOSSES, _OWNS_WINDOW, _DELAYS = (1 << bit for bit in range(7))


@dataclass
class Known:
    """A class: the name by which the user refers to it, and its pickle, from which it is loaded when it is needed."""

    digest: str
    name: str
    cls: type[Control] | None
    content: bytes

    @property
    def is_policy(self) -> bool:
        """Returns whether the class is loaded and applies a policy of `longpipe.gym`."""
        return self.cls is not None and issubclass(self.cls, PolicyControl)


# The classes that this process knows, by digest.
_known: dict[str, Known] = {}


def find(target: str | type, digest: str | None = None) -> Known:
    """Returns the class with a name, "package.module:Class" or "file.py:Class", or a class itself.

    A digest that this process knows identifies its class. Raises ScenarioError for an object that is not a controller.
    """
    if isinstance(target, str) and digest in _known:
        return _known[digest or ""]
    cls = _imported(target) if isinstance(target, str) else target
    name = target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
    if not isinstance(cls, type) or not issubclass(cls, Control) or cls is Control:
        raise ScenarioError(f"{FIELD}: {name}; {_NEEDS_CLASS}")
    _check(cls, name)
    known_class = Known(identity(cls), name, cls, b"")
    _known[known_class.digest] = known_class
    return known_class


def knows(digest: str) -> bool:
    """Returns whether this process knows the class with this digest."""
    return digest in _known


def name_of(digest: str) -> str:
    """Returns the name of a known class."""
    return _known[digest].name


def content(digest: str) -> bytes | None:
    """Returns the pickle of a known class, which contains the code of its module; None for other digests."""
    known_class = _known.get(digest)
    if known_class is None:
        return None
    if not known_class.content and known_class.cls is not None:
        with _by_value(known_class.cls.__module__):
            try:
                known_class.content = _pickled(known_class.cls)
            except Exception as error:
                raise ScenarioError(
                    f"{FIELD}: {known_class.name}; cannot be sent to another process: {error}"
                ) from None
    return known_class.content


def remember(digest: str, name: str, pickled: bytes) -> None:
    """Stores a class that came from another process."""
    _known.setdefault(digest, Known(digest, name, None, pickled))


def register(digests: Sequence[str], base_settings: Callable[[type[Control], str], str | None]) -> None:
    """Registers in the core the classes among these digests.

    `base_settings` returns the TCP settings, in the core's form, of a connection whose controller is the base of a
    class with a name; None for a class without a base. Raises RunError if a class cannot be loaded here.
    """
    for digest in digests:
        if (known_class := _known.get(digest)) is not None:
            _register(known_class, base_settings)


def check_parameters(known_class: Known, parameters: Mapping[str, object]) -> None:
    """Raises ValueError for parameters that the class does not accept."""
    if known_class.cls is None:
        return
    accepted = dict(inspect.signature(known_class.cls.__init__).parameters)
    accepted.pop("self", None)
    # A class without `__init__` inherits that of `object`, whose signature accepts any arguments.
    if known_class.cls.__init__ is object.__init__:
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
            raise ValueError(f"parameters.{name}: missing; {known_class.name} has no default for it")


def failure(error: BaseException, name: str, hook: str, at_s: float) -> str:
    """Returns a line about an error in a hook, which contains the file and line of the class."""
    digest = next((digest for digest, loaded in _known.items() if loaded.name == name and loaded.cls), "")
    location = execution.place(error.__traceback__)
    if not location:
        location = f"{_place(_known[digest].cls, hook) if digest else name}: "
    text = " ".join(file_modules.with_plain_names(str(error)).split())
    return f"{location}{type(error).__name__}: {text} (in {hook} of {name}, at {at_s:.6f} s)"


def place_in_hook(frame: FrameType | None, what: str) -> str | None:
    """Returns a line about a hook that is being executed, in the format of `failure`; None if `frame` is in no hook."""
    stack = [frame_type for frame_type, _ in traceback.walk_stack(frame)]
    users = list(takewhile(lambda user_frame: execution.is_of_user(user_frame.f_code.co_filename), stack))
    if not users or len(users) == len(stack):
        return None
    code, values = users[-1].f_code, users[-1].f_locals
    arguments = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    control = next((argument for argument in arguments if isinstance(argument, Control)), None)
    if control is None:
        return None
    names = (loaded.name for loaded in _known.values() if loaded.cls is type(control))
    at_s = next((now for argument in arguments if isinstance(now := getattr(argument, "now", None), float)), None)
    place = f"{execution.shown_path(users[0].f_code.co_filename)}:{users[0].f_lineno}"
    when = "" if at_s is None else f", at {at_s:.6f} s"
    return f"{place}: {what} (in {code.co_name} of {next(names, type(control).__qualname__)}{when})"


def _place(cls: type | None, hook: str) -> str:
    method = inspect.getattr_static(cls, hook, None)
    function = getattr(method, "function", method)
    code = getattr(function, "__code__", None)
    return (
        f"{execution.shown_path(code.co_filename)}:{code.co_firstlineno}" if code else getattr(cls, "__qualname__", "")
    )


# Import


def _imported(target: str) -> object:
    """Imports the object that "MODULE:NAME" or "FILE.py:NAME" names. Raises ScenarioError if this fails."""
    place, colon, name = target.partition(":")
    if not (place and colon and name):
        raise ScenarioError(f"{FIELD}: {target!r}; {_NEEDS_CLASS}")
    try:
        load = partial(_from_file, Path(place)) if place.endswith(".py") else partial(_module, place)
        imported: object = execution.execute(load)
    except ScenarioError:
        raise
    except execution.UserCodeError as error:
        raise ScenarioError(f"{FIELD}: {target}; {error}") from None
    except SyntaxError as error:
        location = f"{error.filename}:{error.lineno}"
        raise ScenarioError(f"{FIELD}: {target}; {location}: SyntaxError: {error.msg}") from None
    except Exception as error:
        location = execution.place(error.__traceback__)
        text = file_modules.with_plain_names(str(error))
        raise ScenarioError(f"{FIELD}: {target}; {location}{type(error).__name__}: {text}") from None
    for part in name.split("."):
        if (imported := getattr(imported, part, None)) is None:
            raise ScenarioError(f"{FIELD}: {target}; {place} has no {name}; {_NEEDS_CLASS}")
    return imported


def _module(name: str) -> ModuleType:
    """Imports a module by its name, also from the current folder. Raises an error unless the user trusts it."""
    trust.require(name, trust.digest_of_name(name))
    # The current folder comes first, as with `python -m`; for a console script it is the script's folder.
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        with trust.named_by_user():
            return importlib.import_module(name)
    finally:
        if added:
            sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    try:
        path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{FIELD}: {path}; cannot be read, {(error.strerror or '').lower()}") from None
    return file_modules.load(path)


@contextmanager
def _by_value(module: str | None) -> Iterator[None]:
    """Makes pickles contain the code of a module and of the user's modules that it uses.

    Another machine does not have them.
    """
    roots = {name.partition(".")[0] for name in _modules_used(module)}
    modules = [sys.modules[name] for name in sorted(roots) if name in sys.modules]
    for root in modules:
        cloudpickle.register_pickle_by_value(root)
    try:
        yield
    finally:
        for root in modules:
            cloudpickle.unregister_pickle_by_value(root)


def _modules_used(module: str | None) -> set[str]:
    """Returns the user's modules to which a module refers, directly or not, with itself."""
    used: set[str] = set()
    # A class created by `exec` may have no module.
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in used or name == "__main__" or name not in sys.modules or not is_of_user(name):
            continue
        used.add(name)
        waiting += {_module_of(value) for value in vars(sys.modules[name]).copy().values()}
    return used


def _module_of(value: object) -> str | None:
    try:
        name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    except Exception:
        # An object of the user may compute its attributes.
        return None
    return name if isinstance(name, str) else None


def _pickled(cls: type[Control]) -> bytes:
    """Returns the pickle of a class, after that of its files if hooks can import a module from the class's folder."""
    files = file_modules.files_of(cls.__module__ or "")
    content: bytes = cloudpickle.dumps(cls)
    return pickle.dumps(files) + content if len(files) > 1 else content


class _Unpickler(pickle.Unpickler):
    """Loads functions whose imports find the modules beside the file of their code."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as in the base class
        function = super().find_class(module, name)
        return _function if (module, name) == ("cloudpickle.cloudpickle", "_make_function") else function


def _function(code: CodeType, scope: dict[str, Any], *arguments: Any) -> FunctionType:  # noqa: ANN401 - as in cloudpickle
    """Creates a function, whose imports use `__builtins__` as they are now."""
    scope["__builtins__"] = file_modules.builtins_of(scope.get("__name__", "")) or builtins
    return FunctionType(code, scope, *arguments)


def _unpickled(content: bytes) -> type[Control]:
    stream = io.BytesIO(content)
    loaded = _Unpickler(stream).load()
    if isinstance(loaded, dict):
        file_modules.remember(loaded)
        loaded = _Unpickler(stream).load()
    return loaded  # type: ignore[no-any-return]


# Description


def _hooks(cls: type[Control]) -> list[str]:
    return [
        name
        for name in _core.control_hooks()
        if inspect.getattr_static(cls, name) is not inspect.getattr_static(Control, name)
    ]


def _check(cls: type[Control], name: str) -> None:
    """Raises ScenarioError if a class lacks hooks or attributes that a controller needs."""
    _check_attributes(cls, name)
    hooks = _hooks(cls)
    if issubclass(cls, PolicyControl):
        _interval(cls, name)
    elif cls.interval is None:
        if "on_interval" in hooks:
            raise ScenarioError(f"{FIELD}: {name}; has on_interval; needs an interval, as in interval = '1 RTT'")
        if "on_ack" not in hooks and cls.base is None:
            raise ScenarioError(f"{FIELD}: {name}; has no on_ack; needs one, interval and on_interval, or a base")
    elif "on_interval" not in hooks:
        raise ScenarioError(f"{FIELD}: {name}; has an interval; also needs on_interval")
    else:
        _interval(cls, name)
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
            for setting in difflib.get_close_matches(attribute.lower(), _SETTINGS, cutoff=_SIMILAR):
                if isinstance(value, _SETTINGS[setting]):
                    written = f"{attribute} = {shortened(repr(value), 40)}"
                    raise ScenarioError(
                        f"{FIELD}: {name}; has {written}, which has no effect: did you mean {setting!r}? Needs that "
                        f"name, or a less similar one for an attribute of your own"
                    )


def _interval(cls: type[Control], name: str) -> tuple[str, float] | None:
    text = cls.interval
    if text is None:
        return None
    try:
        return interval_length(text)
    except (ValueError, OverflowError):
        raise ScenarioError(f"{FIELD}: {name}; interval {text!r}; {NEEDS}") from None


def _wants(cls: type[Control], hooks: Sequence[str]) -> int:
    wants = _RECORDS
    wants |= _RATES if cls.measures_rate else 0
    wants |= _SENDING if "on_sent" in hooks or cls.interval is not None else 0
    wants |= _PACING if cls.paces else 0
    wants |= _LOSSES if "on_lost" in hooks else 0
    wants |= _OWNS_WINDOW if cls.owns_window else 0
    return wants | (_DELAYS if cls.measures_delay else 0)


def _register(known_class: Known, base_settings: Callable[[type[Control], str], str | None]) -> None:
    """Registers a class with the core, after it was unpickled and its hooks were compiled."""
    if known_class.cls is None:
        try:
            known_class.cls = _unpickled(known_class.content)
        except Exception as error:
            raise RunError(f"{known_class.name}: cannot be loaded here: {type(error).__name__}: {error}") from None
    cls = known_class.cls
    hooks = _hooks(cls)
    state = state_type(cls.state_fields)
    addresses = {name: _address(cls, name, state, known_class.name) for name in hooks}
    _core.register_class(
        known_class.digest,
        known_class.name,
        _Maker(cls, state),
        addresses,
        _interval(cls, known_class.name),
        _wants(cls, hooks),
        base_settings(cls, known_class.name),
        cls.steers if issubclass(cls, PolicyControl) else None,
    )


def _address(cls: type[Control], hook: str, state: np.dtype[Any], name: str) -> int:
    """Returns the address of a compiled hook; 0 for a method. Raises RunError if the hook cannot be compiled."""
    method = inspect.getattr_static(cls, hook)
    if not isinstance(method, compiled):
        return 0
    try:
        return method.address(state)
    except Exception as error:
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        location = _place(cls, hook)
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
