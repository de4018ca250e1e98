"""Pickles of classes, which contain the user's code for processes that cannot import it."""

import builtins
import io
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

from longpipe.controls.control import Control
from longpipe.controls.identity import is_of_user
from longpipe.user_code import file_modules


def pickle_class(cls: type[Control]) -> bytes:
    """Returns the pickle of a class, which contains the code of its module and of the user's modules that it uses.

    If hooks can import a module from the folder of the class, the pickle of the folder's files comes first.
    """
    with _by_value(cls.__module__):
        files = file_modules.files_of(cls.__module__ or "")
        content: bytes = cloudpickle.dumps(cls)
        return pickle.dumps(files) + content if len(files) > 1 else content


def unpickle_class(content: bytes) -> type[Control]:
    """Returns the class of a pickle, after the files that come with it were registered for its imports."""
    stream = io.BytesIO(content)
    loaded = _Unpickler(stream).load()
    if isinstance(loaded, dict):
        file_modules.remember(loaded)
        loaded = _Unpickler(stream).load()
    return loaded  # type: ignore[no-any-return]


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


class _Unpickler(pickle.Unpickler):
    """Loads functions whose imports find the modules beside the file of their code."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as in the base class
        function = super().find_class(module, name)
        return _function if (module, name) == ("cloudpickle.cloudpickle", "_make_function") else function


def _function(code: CodeType, scope: dict[str, Any], *arguments: Any) -> FunctionType:  # noqa: ANN401 - as in cloudpickle
    """Creates a function, whose imports use `__builtins__` as they are now."""
    scope["__builtins__"] = file_modules.builtins_of(scope.get("__name__", "")) or builtins
    return FunctionType(code, scope, *arguments)
